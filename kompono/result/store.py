"""To and from disk: CSV for everyone, Parquet and HDF5 with the scene as well.

A file holds a `Record`: times, one column per channel, and notes. Doubles survive bit by bit in all three formats. All
are written beside their place and renamed, and have an end mark: the number of rows and a checksum. What does not fit
its own is refused.
"""

from __future__ import annotations

import os
from pathlib import Path

from kompono.errors import FileError
from kompono.result.csv_file import read_csv, write_csv
from kompono.result.hdf5_file import read_hdf5, write_hdf5
from kompono.result.parquet_file import read_parquet, write_parquet
from kompono.result.record import Record, check_notes

__all__ = ["READERS", "Record", "read", "write_csv", "write_hdf5", "write_parquet"]

READERS = {".csv": read_csv, ".parquet": read_parquet, ".h5": read_hdf5, ".hdf5": read_hdf5}


def read(path: str | Path) -> Record:
    """The record in a file, by its suffix."""
    if not isinstance(path, str | os.PathLike):
        raise FileError(f"{path!r} is no name of a file.", fix="Give a path, e.g. 'run.h5'.")
    suffix = os.path.splitext(os.fsdecode(path))[1].lower()
    if suffix not in READERS:
        raise FileError(f"{str(path)!r}: unknown kind of file.", fix=f"Known suffixes: {', '.join(READERS)}.")
    record = READERS[suffix](path)
    check_notes(Path(path), record.notes)
    return record
