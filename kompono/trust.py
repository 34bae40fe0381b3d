"""Whether anybody but this user can have written a file: what is executed or believed must not come from others.

As ssh does with its keys: a folder must belong to this user and be writable by nobody else, and so must all folders
above it, up to the root, which may belong to root as well; in one with the sticky bit, such as /tmp, others cannot
replace what is ours. A file is looked at through the very descriptor it is read from, and links are not followed, so
there is no moment to exchange it. Where files have no owners of this kind (Windows), the folders of a user are trusted.
"""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_PLAIN = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_WAIT_FOR_NOBODY = getattr(os, "O_NONBLOCK", 0)  # a pipe in place of a file would hold us up


class Untrusted(Exception):
    """Somebody else may have written it; the message says what and why."""


def user() -> int | None:
    """The user this process acts for, where there are users."""
    return os.geteuid() if hasattr(os, "geteuid") else None


def home() -> Path:
    """The folder of this user; one of their own among temporary files if there is none, as in some containers."""
    try:
        return Path.home()
    except RuntimeError:
        return Path(tempfile.gettempdir()) / f"kompono-{user()}"


def make_folder(path: Path) -> None:
    """Make a folder, and those above it that are missing, for this user alone."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    for folder in reversed(missing):
        folder.mkdir(mode=0o700, exist_ok=True)


def own_folder(path: Path) -> Path:
    """Where a folder really is, if only this user can change what is in it; Untrusted or OSError otherwise."""
    real = Path(os.path.realpath(path))
    found, me = real.stat(), user()
    if not stat.S_ISDIR(found.st_mode):
        raise NotADirectoryError(f"{real} is no folder")
    if me is None:
        return real
    if found.st_uid != me:
        raise Untrusted(f"{real} belongs to another user ({found.st_uid}, not {me})")
    if found.st_mode & _OTHERS_WRITE:
        raise Untrusted(f"{real} can be written by others (try: chmod go-w {real})")
    for above in real.parents:
        found = above.stat()
        if found.st_uid not in (0, me):
            raise Untrusted(f"{above}, above {real}, belongs to another user ({found.st_uid})")
        if found.st_mode & _OTHERS_WRITE and not found.st_mode & stat.S_ISVTX:
            raise Untrusted(f"{above}, above {real}, can be written by others (try: chmod go-w {above})")
    return real


def open_own(path: Path, flags: int = os.O_RDONLY, *, secret: bool = False) -> int:
    """A descriptor of a file that only this user can have written (and read, if `secret`); Untrusted otherwise."""
    if path.is_symlink():
        raise Untrusted(f"{path} is a link")
    try:
        file = os.open(path, flags | _PLAIN | _WAIT_FOR_NOBODY)
    except FileNotFoundError:
        raise
    except OSError as error:  # a link that was put there just now, a socket, a file we may not read
        raise Untrusted(f"{path} cannot be opened ({error.strerror})") from None
    try:
        _check(path, os.fstat(file), secret)
    except BaseException:
        os.close(file)
        raise
    return file


def make_own(path: Path) -> int:
    """A descriptor of a new file that only this user can read and write."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | _PLAIN, 0o600)


def _check(path: Path, found: os.stat_result, secret: bool) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise Untrusted(f"{path} is no plain file")
    me = user()
    if me is None:
        return
    if found.st_uid != me:
        raise Untrusted(f"{path} belongs to another user ({found.st_uid}, not {me})")
    if found.st_mode & _OTHERS_WRITE:
        raise Untrusted(f"{path} can be written by others (try: chmod go-w {path})")
    if secret and found.st_mode & _OTHERS:
        raise Untrusted(f"{path} can be read by others (try: chmod 600 {path})")


def read_all(file: int) -> bytes:
    """All that is in a file, which is closed then."""
    with os.fdopen(file, "rb") as content:
        return content.read()


def write_all(file: int, data: bytes) -> None:
    """Write into a file, which is closed then."""
    with os.fdopen(file, "wb") as content:
        content.write(data)
