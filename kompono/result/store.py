"""To and from disk: CSV for everyone, Parquet and HDF5 with units, status and statistics.

A file holds a `Record`: times, one column per channel, and notes (plain JSON data). Doubles survive bit by bit in all
three formats; CSV does not keep the notes.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kompono.errors import RunError
from kompono.result.extras import extra


class Record(NamedTuple):
    """What a file holds: times (n,) [s], names of k channels, their values (n, k), and notes."""

    time: np.ndarray
    names: tuple[str, ...]
    table: np.ndarray
    notes: Mapping[str, Any]


def write_csv(path: str | Path, record: Record) -> None:
    """A header `time,<channels>`, then one row per time; the shortest digits that give each double back."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerow(["time", *record.names])
        for time, row in zip(record.time.tolist(), record.table, strict=True):
            file.write(",".join(map(repr, [time, *row.tolist()])) + "\n")


def read_csv(path: str | Path) -> Record:
    """The inverse of `write_csv`; notes are empty."""
    with open(path, newline="", encoding="utf-8") as file:
        rows = csv.reader(file)
        names = tuple(next(rows, ()))
        if names[:1] != ("time",):
            raise RunError(f"{path} is not a table of results: its first column is not 'time'.")
        numbers = np.array([_numbers(row, len(names), f"{path}:{rows.line_num}") for row in rows], dtype=float)
    numbers = numbers.reshape(-1, len(names))  # gives a file without rows its columns
    return Record(numbers[:, 0], names[1:], numbers[:, 1:], {})


def _numbers(row: list[str], count: int, where: str) -> list[float]:
    try:
        numbers = [float(cell) for cell in row]
    except ValueError as cause:
        raise RunError(f"{where}: {cause}.") from cause
    if len(numbers) != count:
        raise RunError(f"{where}: {len(numbers)} numbers where the header has {count} names.")
    return numbers


def write_parquet(path: str | Path, record: Record) -> None:
    """One double column per channel, `time` first; notes in the schema's metadata."""
    arrow, parquet = extra("pyarrow", "parquet"), extra("pyarrow.parquet", "parquet")
    columns = [record.time, *record.table.T]
    arrays = [arrow.array(np.ascontiguousarray(column)) for column in columns]
    table = arrow.Table.from_arrays(arrays, names=["time", *record.names])
    parquet.write_table(table.replace_schema_metadata({"kompono": _dump(record.notes)}), path)


def read_parquet(path: str | Path) -> Record:
    """The inverse of `write_parquet`."""
    table = extra("pyarrow.parquet", "parquet").read_table(path)
    if table.column_names[:1] != ["time"]:
        raise RunError(f"{path} is not a table of results: its first column is not 'time'.")
    columns = [column.to_numpy() for column in table.columns]
    values = np.stack(columns[1:], axis=1) if columns[1:] else np.empty((len(table), 0))
    notes = (table.schema.metadata or {}).get(b"kompono", b"{}")
    return Record(columns[0], tuple(table.column_names[1:]), values, json.loads(notes))


def write_hdf5(path: str | Path, record: Record) -> None:
    """Datasets `time` (n,), `values` (n, k), `names` (k,) and `notes` (JSON text)."""
    h5py = extra("h5py", "hdf5")
    with h5py.File(path, "w") as file:
        file["time"] = record.time
        file["values"] = record.table
        file.create_dataset("names", data=list(record.names), shape=(len(record.names),), dtype=h5py.string_dtype())
        file["notes"] = _dump(record.notes)


def read_hdf5(path: str | Path) -> Record:
    """The inverse of `write_hdf5`."""
    with extra("h5py", "hdf5").File(path, "r") as file:
        missing = [name for name in ("time", "values", "names", "notes") if name not in file]
        if missing:
            raise RunError(f"{path} is not a file of results: it has no {missing[0]!r}.")
        names = tuple(file["names"].asstr()[:])
        return Record(file["time"][:], names, file["values"][:], json.loads(file["notes"].asstr()[()]))


READERS = {".csv": read_csv, ".parquet": read_parquet, ".h5": read_hdf5, ".hdf5": read_hdf5}


def read(path: str | Path) -> Record:
    """The record in a file, by its suffix."""
    suffix = Path(path).suffix.lower()
    if suffix not in READERS:
        raise RunError(f"{path}: unknown kind of file.", fix=f"Known suffixes: {', '.join(READERS)}.")
    return READERS[suffix](path)


def _dump(notes: Mapping[str, Any]) -> str:
    """Notes as JSON; numpy scalars and arrays become plain numbers and lists, anything else its text."""
    return json.dumps(notes, default=lambda value: value.tolist() if hasattr(value, "tolist") else str(value))
