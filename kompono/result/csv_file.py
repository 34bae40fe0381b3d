"""CSV: a table for everyone, then two lines that begin with `#`, the notes and the end mark.

    time,pin.angle
    0.0,0.5
    # kompono notes {"units": ..., "status": ..., "statistics": ..., "model": ...}
    # kompono end: 1 rows, 1 channels, sha256 <of all bytes before this line>

The end mark is the last line, so a file that is cut off has none, wherever the cut is. A table without one (of another
program, or of an earlier version) is read, but its result is not ok: nobody knows whether it is whole.
"""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from kompono.errors import FileError
from kompono.result.beside import written_beside
from kompono.result.reading import blamed, changed, check_room, checked_path, unverified
from kompono.result.record import Record, dump, parse

NOTES = "# kompono notes "
END = b"# kompono end: "
LAST = 200  # bytes at the end of a file among which its end mark is found
ROWS = 1000  # put into text at once
UNKNOWN = "the file has no end mark; nobody knows whether it is whole"
_MARK = re.compile(rb"# kompono end: (\d{1,18}) rows, (\d{1,9}) channels, sha256 ([0-9a-f]{64})\n")


def write_csv(path: str | Path, record: Record) -> None:
    """A header `time,<channels>`, then one row per time: the shortest digits that give each double back."""
    notes = {name: value for name, value in record.notes.items() if name != "scene"}
    with written_beside(path) as place, open(place, "wb") as file:
        digest = hashlib.sha256()
        for text in (_header(record.names), *_rows(record), f"{NOTES}{dump(notes)}\n"):
            data = text.encode("utf-8")
            digest.update(data)
            file.write(data)
        end = f"{len(record.time)} rows, {len(record.names)} channels, sha256 {digest.hexdigest()}\n"
        file.write(END + end.encode())


def read_csv(path: str | Path) -> Record:
    """The inverse of `write_csv`, without a scene; a table without an end mark has a status that is not ok."""
    path = checked_path(path)
    with blamed(path, "table of results"):
        check_room(path, path.stat().st_size // 8, 1)
        data = path.read_bytes()
        found = data.rfind(END, max(0, len(data) - LAST))
        mark = _MARK.fullmatch(data, found) if found >= 0 else None
        if mark and hashlib.sha256(memoryview(data)[:found]).hexdigest() != mark[3].decode():
            raise changed(path)
        record = _parsed(path, data[:found] if mark else data, bool(mark))
        if mark and (len(record.time), len(record.names)) != (int(mark[1]), int(mark[2])):
            raise FileError(f"{str(path)!r} is damaged: it has not as many rows and channels as its end mark says.")
    return record if mark else _unmarked(path, record)


def _parsed(path: Path, data: bytes, marked: bool) -> Record:
    stream = io.StringIO(data.decode("utf-8"), newline="")
    header = csv.reader(stream, strict=True)
    names = tuple(next(header, ()))
    if names[:1] != ("time",):
        raise FileError(f"{str(path)!r} is not a table of results: its first column is not 'time'.")
    numbers, notes, line = [], {}, header.line_num
    for text in stream:
        line += 1
        if text.startswith("#"):
            if not marked or not text.startswith(NOTES) or stream.read(1):
                raise FileError(f"{str(path)!r} is cut off or damaged: line {line} is a mark, but not the end of it.")
            notes = parse(path, text.removeprefix(NOTES))
        elif not text.endswith("\n"):
            raise FileError(f"{str(path)!r} is cut off: it ends within line {line}.", fix="Write it again.")
        else:
            numbers.append(_numbers(text, len(names), f"{path}:{line}"))
    table = np.array(numbers, dtype=float).reshape(-1, len(names))  # gives a file without rows its columns
    return Record(table[:, 0], names[1:], table[:, 1:], notes)


def _numbers(text: str, count: int, where: str) -> list[float]:
    cells = text.rstrip("\r\n").split(",")
    if len(cells) != count:
        raise FileError(f"{where}: {len(cells)} numbers where the header has {count} names.")
    try:
        if "_" in text or not text.isascii():  # float would take 1_0 for 10
            raise ValueError(f"{text.strip()!r} are no numbers")
        return [float(cell) for cell in cells]
    except ValueError as cause:
        raise FileError(f"{where}: {cause}.") from cause


def _unmarked(path: Path, record: Record) -> Record:
    unverified(path)
    end = float(record.time[-1]) if len(record.time) else 0.0
    return record._replace(notes={"status": {"ok": False, "message": UNKNOWN, "time": end}})


def _header(names: tuple[str, ...]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(["time", *names])
    return text.getvalue()


def _rows(record: Record) -> Iterator[str]:
    for start in range(0, len(record.time), ROWS):
        part = slice(start, start + ROWS)
        rows = np.column_stack([record.time[part], record.table[part]]).tolist()
        yield "".join(",".join(map(repr, row)) + "\n" for row in rows)
