"""Parquet: one column per channel, the notes in the metadata, and a seal between the data and the footer.

    "PAR1" | columns | seal | footer | length of the footer | "PAR1"

Offsets in a Parquet file are counted from its beginning, so readers do not notice the seal: `KOMPONO2`, the number of
rows and of bytes of the file, and a SHA-256 of all its other bytes. It is checked before anything is decoded. The
metadata say that there must be one; files from before there were seals are read with a warning.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from kompono.errors import FileError
from kompono.result.beside import written_beside
from kompono.result.extras import extra
from kompono.result.reading import (
    blamed,
    changed,
    check_room,
    checked_path,
    cut_off,
    digest_of,
    unverified,
)  # fmt: skip
from kompono.result.record import Record, dump, parse

MAGIC, MARK = b"PAR1", b"KOMPONO2"
SEAL = struct.Struct("<8sQQ32s")  # mark, rows, bytes of the file, SHA-256
TAIL = struct.Struct("<I4s")  # length of the footer, magic
TIGHTEST = 50  # rows of rising times that may hide in a byte
KEY, SEALED = "kompono", "kompono-seal"  # of the metadata


def write_parquet(path: str | Path, record: Record) -> None:
    """One double column per channel, `time` first; notes in the schema's metadata."""
    arrow, parquet = extra("pyarrow", "parquet"), extra("pyarrow.parquet", "parquet")
    columns = [record.time, *record.table.T]
    arrays = [arrow.array(np.ascontiguousarray(column)) for column in columns]
    table = arrow.Table.from_arrays(arrays, names=["time", *record.names])
    table = table.replace_schema_metadata({KEY: dump(record.notes), SEALED: "2"})
    with written_beside(path) as place:
        parquet.write_table(table, place)
        with open(place, "r+b") as file:
            _seal(file, len(record.time))


def read_parquet(path: str | Path) -> Record:
    """The inverse of `write_parquet`."""
    parquet, path = extra("pyarrow.parquet", "parquet"), checked_path(path)
    with blamed(path, "Parquet file of results"), open(path, "rb") as file:
        rows = _check_seal(path, file)
        file.seek(0)
        opened = parquet.ParquetFile(file)
        _check_sizes(path, opened, rows, os.fstat(file.fileno()).st_size)
        table = opened.read()
        if len(table) != opened.metadata.num_rows:
            raise FileError(f"{str(path)!r} is damaged: it has not as many rows as it declares.")
        columns = [column.to_numpy() for column in table.columns]
        values = np.stack(columns[1:], axis=1) if columns[1:] else np.empty((len(table), 0))
        notes = parse(path, (table.schema.metadata or {}).get(KEY.encode(), b"{}"))
    if rows is None:
        unverified(path)
    return Record(columns[0], tuple(table.column_names[1:]), values, notes)


def _footer(file: BinaryIO, size: int) -> tuple[int, bytes] | None:
    """Where the footer begins, and it and all that follows; None if there is none."""
    if size < len(MAGIC) + TAIL.size:
        return None
    file.seek(size - TAIL.size)
    length, magic = TAIL.unpack(file.read(TAIL.size))
    start = size - TAIL.size - length
    if magic != MAGIC or start < len(MAGIC):
        return None
    file.seek(start)
    return start, file.read()


def _seal(file: BinaryIO, rows: int) -> None:
    size = file.seek(0, os.SEEK_END)
    found = _footer(file, size)
    if found is None:
        raise OSError("what was written is no Parquet file")
    start, footer = found
    digest = digest_of(file, 0, start)
    digest.update(SEAL.pack(MARK, rows, size + SEAL.size, b""))
    digest.update(footer)
    file.seek(start)
    file.write(SEAL.pack(MARK, rows, size + SEAL.size, digest.digest()) + footer)


def _check_seal(path: Path, file: BinaryIO) -> int | None:
    """The number of rows a file was sealed with, None if it has no seal; an error if the seal is broken."""
    size = file.seek(0, os.SEEK_END)
    found = _footer(file, size)
    if found is None:
        raise FileError(f"{str(path)!r} is cut off, or no Parquet file.")
    start, footer = found
    if start < len(MAGIC) + SEAL.size:
        return None
    file.seek(start - SEAL.size)
    mark, rows, expected, given = SEAL.unpack(file.read(SEAL.size))
    if mark != MARK:
        return None
    if expected != size:
        raise cut_off(path, size, expected)
    digest = digest_of(file, 0, start - SEAL.size)
    digest.update(SEAL.pack(mark, rows, expected, b""))
    digest.update(footer)
    if digest.digest() != given:
        raise changed(path)
    return rows


def _check_sizes(path: Path, opened: Any, rows: int | None, size: int) -> None:
    """Whether columns are those of a result, and what is declared of them fits the file."""
    types, about, schema = extra("pyarrow.types", "parquet"), opened.metadata, opened.schema_arrow
    if rows is None and SEALED.encode() in (schema.metadata or {}):
        raise changed(path)
    if schema.names[:1] != ["time"]:
        raise FileError(f"{str(path)!r} is not a table of results: its first column is not 'time'.")
    for field in schema:
        if not (types.is_floating(field.type) or types.is_integer(field.type)):
            raise FileError(f"{str(path)!r} is not a table of results: {field.name!r} is of type {field.type}.")
    if rows not in (None, about.num_rows):
        raise FileError(f"{str(path)!r} is damaged: it has not as many rows as its seal says.")
    if not 0 <= about.num_rows <= TIGHTEST * size:
        raise FileError(f"{str(path)!r} is damaged: it declares {about.num_rows} rows in {size} bytes.")
    check_room(path, about.num_rows, len(schema.names))
