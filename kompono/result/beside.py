"""Files that are whole or not there: written beside their place, brought to disk, and then renamed.

Whoever looks at the place meanwhile, or after a crash, sees what was there before; a write that fails leaves it alone.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

ENDING = ".part"  # before the suffix of a file that is being written
LONGEST = 100  # characters of the name of a file that are kept in the name of the one beside it


@contextmanager
def written_beside(path: str | Path) -> Iterator[Path]:
    """A place to write to; what is there when the block ends without an error becomes the file `path`.

    Permissions of a file that is replaced stay, links are followed. What is no file (a pipe, a terminal) cannot be
    renamed to and is written as it is.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        if target.is_dir():
            raise IsADirectoryError("it is a folder")
        yield target
        return
    beside = _reserved(target)
    try:
        yield beside
        publish(beside, target)
    except BaseException:
        with suppress(OSError):
            beside.unlink()
        raise


def write_text(path: str | Path, text: str) -> None:
    """Write a text (UTF-8) as a whole."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: str | Path, data: bytes) -> None:
    """Write bytes as a whole."""
    with written_beside(path) as place:
        place.write_bytes(data)


def publish(beside: Path, target: Path) -> None:
    """Let a file that is written take its place, for good: it is on disk before its name is."""
    sync(beside)
    os.replace(beside, target)
    with suppress(OSError):  # some systems cannot open folders
        sync(target.parent)


def sync(path: Path) -> None:
    """Have the content of a file, or the names in a folder, brought to disk."""
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def _reserved(target: Path) -> Path:
    """An empty file beside the target, with its permissions or those of a new one, under a name nobody else has."""
    beside = target.with_name(f".{target.stem[:LONGEST]}.{secrets.token_hex(4)}{ENDING}{target.suffix[-LONGEST:]}")
    try:
        number = os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
    except OSError as error:
        raise type(error)(error.errno, os.strerror(error.errno or 0), str(target)) from None
    try:
        with suppress(OSError):
            os.chmod(beside, stat.S_IMODE(target.stat().st_mode))
    finally:
        os.close(number)
    return beside
