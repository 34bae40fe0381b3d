"""HDF5: datasets `time`, `values`, `names`, `notes`, behind 512 bytes that say in words what must be there.

    kompono hdf5 2
    rows 1001
    channels 12
    state complete
    bytes 123456
    sha256 <of these lines and of all bytes behind them>

HDF5 calls such a beginning the user block; every reader skips it. The size and the checksum are compared before the
library sees a byte, because it trusts what a file declares. Files without the beginning (of earlier versions, or of
others) are first read by another process (`probe.py`), and with a warning. Of no file links to others, storage outside
or virtual datasets are followed, nor is more allocated than is stored.

A file in the state `running` is one of a run that is not over, or was killed: what follows the HDF5 part is its log
(`unfinished.py`). `interrupted` is one that was asked to end: its result is there, and a log to go on from.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from kompono.errors import FileError
from kompono.result.beside import written_beside
from kompono.result.extras import extra
from kompono.result.probe import survives
from kompono.result.reading import blamed, changed, check_room, checked_path, cut_off, digest_of, unverified
from kompono.result.record import Record, dump, parse

BLOCK = 512  # bytes of the beginning
LARGE = 1000  # numbers from which on a table is compressed
SIGNATURE = b"\x89HDF\r\n\x1a\n"
TIGHTEST = 1100  # times that a compressed dataset may become larger: no deflate reaches that
STATES = ("complete", "running", "interrupted")  # the last two are followed by a log
_BEGINNING = re.compile(
    rb"kompono hdf5 2\nrows (\d{1,18})\nchannels (\d{1,9})\nstate (\w+)\nbytes (\d{1,18})\nsha256 ([0-9a-f]{64})\n *\n"
)


class Beginning(NamedTuple):
    """What the beginning of a file says: rows, channels, the state of its run, bytes up to the end of the HDF5 part."""

    rows: int
    channels: int
    state: str
    size: int

    def words(self) -> bytes:
        """The lines that the checksum covers."""
        text = f"kompono hdf5 2\nrows {self.rows}\nchannels {self.channels}\nstate {self.state}\nbytes {self.size}\n"
        return text.encode()


def write_hdf5(path: str | Path, record: Record) -> None:
    """Datasets `time` (n,), `values` (n, k), `names` (k,) and `notes` (JSON text)."""
    extra("h5py", "hdf5")
    with written_beside(path) as place:
        fill(place, record, "complete")


def fill(place: Path, record: Record, state: str) -> int:
    """Write the HDF5 part of a file and its beginning; the size of both [bytes]."""
    h5py = extra("h5py", "hdf5")
    with h5py.File(place, "w", userblock_size=BLOCK) as file:
        file["time"] = record.time
        packed = {"compression": "gzip", "compression_opts": 4, "shuffle": True} if record.table.size > LARGE else {}
        file.create_dataset("values", data=record.table, **packed)
        file.create_dataset("names", data=list(record.names), shape=(len(record.names),), dtype=h5py.string_dtype())
        file["notes"] = dump(record.notes)
    with open(place, "r+b") as file:
        size = file.seek(0, os.SEEK_END)
        begin = Beginning(len(record.time), len(record.names), state, size)
        digest = digest_of(file, BLOCK, size, hashlib.sha256(begin.words())).hexdigest()
        file.seek(0)
        file.write((begin.words() + f"sha256 {digest}\n".encode()).ljust(BLOCK - 1) + b"\n")
    return size


def read_hdf5(path: str | Path) -> Record:
    """The record in a file: that of a complete run, or what a run that is not over has written so far."""
    path = checked_path(path)
    with blamed(path, "HDF5 file of results"), open(path, "rb") as file:
        begin = read_beginning(path, file)
        if begin is not None and begin.state == "running":
            from kompono.result.unfinished import read_unfinished  # it reads this part by `read_datasets`

            return read_unfinished(path)
        if begin is None:
            survives(path)
        record = read_datasets(path)
        if begin is not None and record.table.shape != (begin.rows, begin.channels):
            raise FileError(f"{str(path)!r} is damaged: it has not as many rows and channels as its beginning says.")
    if begin is None:
        unverified(path)
    return record


def read_beginning(path: Path, file: BinaryIO) -> Beginning | None:
    """What the beginning of a file says, after its HDF5 part was compared with it; None for files without one."""
    head, size = file.read(BLOCK), file.seek(0, os.SEEK_END)
    if head.startswith(SIGNATURE):
        return None
    match = _BEGINNING.fullmatch(head)
    if match is None:
        if len(head) < BLOCK and b"kompono hdf5".startswith(head[:12]):
            raise cut_off(path, size, BLOCK)
        raise FileError(f"{str(path)!r} is damaged, or no HDF5 file of results.")
    begin = Beginning(int(match[1]), int(match[2]), match[3].decode(), int(match[4]))
    if begin.state not in STATES:
        raise changed(path)
    if size < begin.size or (begin.state == "complete" and size > begin.size):
        raise cut_off(path, size, begin.size)
    if digest_of(file, BLOCK, begin.size, hashlib.sha256(begin.words())).hexdigest() != match[5].decode():
        raise changed(path)
    return begin


def read_datasets(path: Path) -> Record:
    """The datasets of a file, looked at before they are read."""
    h5py, size = extra("h5py", "hdf5"), os.path.getsize(path)
    with h5py.File(path, "r") as file:
        time, values, names, notes = (
            _dataset(path, file, name, h5py, size) for name in ("time", "values", "names", "notes")
        )
        for data, dimensions in ((time, 1), (values, 2)):
            if data.ndim != dimensions or data.dtype.kind not in "fiu":
                raise FileError(f"{str(path)!r} is no file of results: {data.name!r} is no table of numbers.")
        for data, shape in ((names, (values.shape[1],)), (notes, ())):
            if data.shape != shape or h5py.check_string_dtype(data.dtype) is None:
                raise FileError(f"{str(path)!r} is no file of results: {data.name!r} is no text for each channel.")
        if len(time) != len(values):
            raise FileError(f"{str(path)!r} is damaged: it has {len(time)} times and {len(values)} rows.")
        check_room(path, *values.shape)
        numbers = [np.asarray(data[...], dtype=float) for data in (time, values)]
        return Record(numbers[0], tuple(names.asstr()[...].tolist()), numbers[1], parse(path, notes.asstr()[()]))


def _dataset(path: Path, file: Any, name: str, h5py: Any, size: int) -> Any:
    """A dataset of the file that is stored in it, and of which as much is stored as is declared."""
    link = file.get(name, getlink=True)
    if link is None:
        raise FileError(f"{str(path)!r} is not a file of results: it has no {name!r}.")
    if type(link) is not h5py.HardLink:
        text = f"{str(path)!r}: {name!r} is a link to elsewhere, which is not followed."
        raise FileError(text, fix="Copy what it links to into one file (h5repack).")
    data = file[name]
    if not isinstance(data, h5py.Dataset):
        raise FileError(f"{str(path)!r} is no file of results: {name!r} is no dataset.")
    if data.external or data.is_virtual:
        raise FileError(f"{str(path)!r}: {name!r} is stored in other files, which are not read.")
    declared, stored = data.size * data.dtype.itemsize, data.id.get_storage_size()
    packed = data.id.get_create_plist().get_nfilters() > 0
    if stored > size or declared > stored * (TIGHTEST if packed else 1):
        raise FileError(f"{str(path)!r} is damaged: {name!r} declares {declared} bytes, {stored} of {size} are stored.")
    return data
