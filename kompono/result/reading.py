"""What every reader of files begins and ends with: is this a file at all, does what it declares fit, is it what it was.

Whatever a library says about a broken file, and however it says it, becomes one `FileError` that names the file.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from kompono.errors import FileError, KomponoError, RunWarning, warn

BLOCK = 1 << 20  # bytes read at once


def checked_path(path: Any) -> Path:
    """The path of a regular file that can be opened; a FileError says what else it is."""
    try:
        found = Path(path)
        kind = os.stat(found).st_mode
    except TypeError:
        raise FileError(f"{path!r} is no name of a file.", fix="Give a path, e.g. 'run.h5'.") from None
    except FileNotFoundError:
        raise FileError(f"there is no file {str(path)!r}.") from None
    except (OSError, ValueError) as cause:
        raise FileError(f"cannot open {str(path)!r}: {getattr(cause, 'strerror', None) or cause}.") from cause
    if stat.S_ISDIR(kind):
        raise FileError(f"{str(path)!r} is a folder.", fix="Name the file of a result in it.")
    if not stat.S_ISREG(kind):  # a pipe would make us wait, a device never end
        raise FileError(f"{str(path)!r} is no regular file.", fix="Copy what it gives into a file first.")
    return found


@contextmanager
def blamed(path: Path, kind: str) -> Iterator[None]:
    """Turn whatever goes wrong inside into a FileError about a file of this kind."""
    try:
        yield
    except KomponoError:
        raise
    except PermissionError as cause:
        raise FileError(f"{str(path)!r} may not be read by you: {cause.strerror or cause}.") from cause
    except Exception as cause:  # libraries fail on broken files in their own ways
        reason = " ".join(str(cause).split())[:200].rstrip(".") or "no reason given"
        text = f"{str(path)!r} is damaged, cut off, or no {kind}: {type(cause).__name__}: {reason}."
        raise FileError(text) from cause


def digest_of(file: BinaryIO, start: int, end: int, digest: Any = None) -> Any:
    """A SHA-256 that has seen the bytes from `start` to `end` of a file."""
    digest = digest or hashlib.sha256()
    file.seek(start)
    left = end - start
    while left > 0:
        data = file.read(min(BLOCK, left))
        if not data:
            raise EOFError("the file became shorter while it was read")
        digest.update(data)
        left -= len(data)
    return digest


def cut_off(path: Path, size: int, expected: int) -> FileError:
    """The error for a file that does not hold as many bytes as it was written with."""
    if size < expected:
        return FileError(f"{str(path)!r} is cut off: it holds {size} of {expected} bytes.", fix="Write it again.")
    more = f"{size - expected} bytes more than the {expected} it was written with"
    return FileError(f"{str(path)!r} was changed: it holds {more}.")


def changed(path: Path) -> FileError:
    """The error for a file whose bytes are not those that were written."""
    text = f"{str(path)!r} is damaged: its content does not fit its checksum."
    return FileError(text, fix="Copy it again from where it is whole, or repeat the run.")


def unverified(path: Path) -> None:
    """Warn of a file without an end mark."""
    text = f"{str(path)!r} has no end mark and no checksum (an earlier version or another program wrote it)"
    warn(f"{text}; whether it is whole cannot be told.", RunWarning)


def check_room(path: Path, rows: int, columns: int) -> None:
    """Refuse a table that does not fit into the memory of this machine, before anything is allocated."""
    needed = 8 * max(rows, 1) * max(columns, 1)
    room = _memory()
    if needed > room:
        text = f"{str(path)!r} declares {rows} rows of {columns} columns, {needed / 1e9:.3g} GB"
        raise FileError(f"{text}; this machine has {room / 1e9:.3g} GB of memory.")


def _memory() -> int:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 1 << 38
