"""The file of a run that is going on: an HDF5 part without rows, and a log of what the run has recorded so far.

The first record of the log, `HEAD`, says what the channels are and what is needed to go on with the run; each further
one, `PART`, holds rows and where the run was then. Whoever reads the file gets all rows up to the last whole record,
with a status that is not ok. When the run is over, the result takes the place of all this; if it was interrupted, the
log follows the result (the file is `interrupted`), so that it can go on.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kompono.ending import Ending
from kompono.errors import FileError
from kompono.result.beside import written_beside
from kompono.result.hdf5_file import BLOCK, Beginning, fill, read_beginning
from kompono.result.log import Log, LogReader
from kompono.result.reading import blamed, check_room, checked_path
from kompono.result.record import Record
from kompono.result.unwrap import continuous_quaternions, unwrap

HEAD, PART = b"HEAD", b"PART"


class LoggedChannel(NamedTuple):
    """A channel as the log has it: before angles are made continuous."""

    name: str
    unit: str
    angle: bool


@dataclass
class Stored:
    """What a file says of a run that is not over.

    `head` is plain data; `rows` (n, width) are (time, state..., inputs...), `values` (n, k) its computed channels, as
    parts; `words` and `arrays` tell where the run was at the end of the last part. `rest` bytes behind it are no part.
    """

    head: dict[str, Any]
    rows: list[np.ndarray] = field(default_factory=list)
    values: list[np.ndarray] = field(default_factory=list)
    events: list[np.ndarray] = field(default_factory=list)
    words: dict[str, Any] = field(default_factory=dict)
    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    rest: int = 0
    state: str = "running"
    end: int = 0
    last: bytes = b""

    def take_rows(self) -> np.ndarray:
        """All rows, which are then in no other place."""
        rows = np.concatenate(self.rows)
        self.rows.clear()
        self.values.clear()
        return rows


def begin(path: Path, head: Mapping[str, Any], words: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Log:
    """A file with a first part, in place of what was there; the log to go on with."""
    with written_beside(path) as place:
        start(place, Record(np.zeros(0), (), np.zeros((0, 0)), _notes(head, 0.0)), "running", head, words, arrays)
    return go_on(path)


def conclude(
    path: Path, record: Record, head: Mapping[str, Any], words: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
) -> None:
    """The file of a run that was interrupted: its result, and what is needed to go on with it."""
    with written_beside(path) as place:
        start(place, record, "interrupted", head, words, arrays)


def start(place: Path, record: Record, state: str, head: Any, words: Any, arrays: Any) -> None:
    """Write an HDF5 part and the first two records of a log behind it."""
    fill(place, record, state)
    with open(place, "r+b") as file:
        log = Log(file, _first(place))
        log.append(HEAD, head, {})
        log.append(PART, words, arrays)


def go_on(path: Path) -> Log:
    """The log of a running file, to append to; what is behind its last whole record is taken away."""
    file = open(path, "r+b")  # noqa: SIM115 (it stays open as long as the run)
    try:
        _lock(path, file)
        stored = read_stored(path, light=True)
        file.truncate(stored.end)
        return Log(file, stored.last)
    except BaseException:
        file.close()
        raise


def _lock(path: Path, file: Any) -> None:
    """Be the only one who writes to a log, as long as the file is open; where locks are not known, hope for it."""
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise FileError(f"the run in {str(path)!r} is going on: another process writes to it.") from None
    except OSError:  # some network file systems
        return


def read_stored(path: str | Path, *, light: bool = False) -> Stored:
    """What a file says of a run that is not over; with `light` without rows and channels."""
    path = checked_path(path)
    with blamed(path, "HDF5 file of a run that is not over"), open(path, "rb") as file:
        beginning = read_beginning(path, file)
        if beginning is None or beginning.state == "complete":
            text = f"the run in {str(path)!r} is over; there is nothing to go on with."
            raise FileError(text, fix="Only a run that was interrupted or killed can be resumed, from its HDF5 file.")
        return _stored(path, beginning, LogReader(file, beginning.size, _first(path)), light)


def _stored(path: Path, beginning: Beginning, reader: LogReader, light: bool) -> Stored:
    stored = None
    for kind, words, arrays in reader:
        if stored is None:
            if kind != HEAD:
                break
            stored = Stored(words, state=beginning.state)
            continue
        stored.words, kept = words, dict(arrays)
        rows, values, events = (kept.pop(name, None) for name in ("rows", "values", "events"))
        stored.arrays = kept
        for found, wanted in ((rows, stored.rows), (values, stored.values), (events, stored.events)):
            if found is not None and not light:
                wanted.append(found)
    if stored is None or not stored.words:
        raise FileError(f"{str(path)!r} is cut off before the first part of its run.", fix="Begin the run again.")
    stored.rest, stored.end, stored.last = reader.rest, reader.end, reader.last
    return stored


def read_unfinished(path: Path) -> Record:
    """The result so far of a run that is not over."""
    stored = read_stored(path)
    columns = [LoggedChannel(*entry) for entry in stored.head["channels"]]
    wanted = list(stored.head["wanted"])
    count = sum(map(len, stored.rows))
    check_room(path, count, len(columns))
    times = np.concatenate([rows[:, 0] for rows in stored.rows]) if count else np.zeros(0)
    table = np.concatenate(stored.values) if count else np.zeros((0, len(columns)))
    table = continuous_quaternions(unwrap(times, table, columns), columns)  # type: ignore[arg-type]
    names = tuple(columns[i].name for i in wanted)
    notes = _notes(stored.head, float(times[-1]) if count else 0.0, stored.rest)
    return Record(times, names, np.ascontiguousarray(table[:, wanted]), notes)


def _notes(head: Mapping[str, Any], reached: float, rest: int = 0) -> dict[str, Any]:
    """The notes of a result so far; a record that was being written is no news, more than that is damage."""
    message = f"the run was not over when this was written: it had reached {reached:.9g} of {head['until']:.9g} s"
    if rest:
        message += f"; {rest} bytes behind that are a part that was not written to its end, or damaged"
    units = {name: unit for name, unit, _ in (head["channels"][i] for i in head["wanted"])}
    status = {"ok": False, "message": message, "time": reached, "kind": Ending.UNFINISHED}
    return {
        "units": units, "status": status, "statistics": dict(head["statistics"]), "model": head["model"],
        "scene": head["scene"],
    }  # fmt: skip


def _first(path: Path) -> bytes:
    """What the first record of a log is chained to: the beginning of the file."""
    with open(path, "rb") as file:
        return hashlib.sha256(file.read(BLOCK)).digest()
