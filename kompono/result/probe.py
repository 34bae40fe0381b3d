"""A first look at an HDF5 file nobody vouches for, in a process of its own.

On some damaged files the HDF5 library does not fail but runs forever, or takes its process with it. A file with a
checksum that fits is safe from that; of any other it is first seen whether another process survives it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from kompono.errors import FileError, KomponoError
from kompono.result.reading import blamed

PATIENCE = 10.0  # [s] for any file, and
RATE = 2e7  # [bytes/s] for large ones
_CHILD = "import sys; from kompono.result.probe import look; sys.exit(look(sys.argv[1]))"


def survives(path: Path) -> None:
    """Raise a FileError unless another process can read the datasets of a file."""
    if not sys.executable:
        return
    home = str(Path(__file__).parents[2])
    others = os.environ.get("PYTHONPATH")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([home, others] if others else [home])}
    try:
        done = subprocess.run(
            [sys.executable, "-c", _CHILD, str(path.absolute())],
            capture_output=True, stdin=subprocess.DEVNULL, env=environment, text=True, errors="replace",
            timeout=PATIENCE + path.stat().st_size / RATE,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise FileError(f"{str(path)!r} is damaged: the HDF5 library does not come to an end with it.") from None
    if done.returncode < 0 or done.returncode > 1:
        raise FileError(f"{str(path)!r} is damaged: the HDF5 library breaks down on it.")
    if done.returncode:
        raise FileError(done.stdout.strip() or f"{str(path)!r} cannot be read.")


def look(path: str) -> int:
    """Read the datasets of a file; 1 and a sentence on the standard output if that fails."""
    from kompono.result.hdf5_file import read_datasets

    try:
        with blamed(Path(path), "HDF5 file of results"):
            read_datasets(Path(path))
    except KomponoError as error:
        print(error)
        return 1
    return 0
