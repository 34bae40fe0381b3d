"""Sealed files in a folder of this user's own: written beside and renamed, believed only with the right seal.

A file begins with a checksum keyed by the user's secret (HMAC-SHA256 over its name and content); without the key none
can be made, and one that is damaged, renamed or of another key is removed and made again. Nothing is read from, or
written to, a folder that others can write. The folder has a limit: what was not used for longest goes first. A file
that a killed process left half-written counts like others, and goes after ten minutes.
"""

from __future__ import annotations

import contextlib
import hmac
import os
import re
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from kompono.compile import secret
from kompono.trust import Untrusted, make_folder, make_own, open_own, own_folder, read_all, write_all

LIMIT = 2 << 30  # bytes
_MAGIC = b"kompono2"
_HEADER = len(_MAGIC) + 32
_KEPT = re.compile(r"[0-9a-f]{64}\.(o|routine)")
_PART = re.compile(r"\.kompono-[0-9a-f]{16}")
_PART_BEFORE = re.compile(r"\.[a-z0-9_]{8}")  # of earlier versions, if it begins as theirs did
_ABANDONED = 600.0  # s after which nobody writes a file any more
_RECENT = 60.0  # s within which a use need not be noted again
_ROOM = 0.9  # of the limit is left after files had to go, so that this is not needed at once again

ADVICE = "Set KOMPONO_CACHE to a folder of your own, and KOMPONO_CACHE_KEY to a file in one."

_said: set[str] = set()
_unseen = float("inf")  # bytes written since the folder was last measured; the first write measures it


class Usage(NamedTuple):
    """What is in a folder: files that are kept, those that killed processes left, and their bytes."""

    files: int
    bytes: int
    leftovers: int
    leftover_bytes: int


class _Found(NamedTuple):
    path: Path
    used: float
    bytes: int
    leftover: bool


def read(folder: Path, name: str) -> bytes | None:
    """What was kept under a name, if it is there, whole, and ours."""
    try:
        path, key = own_folder(folder) / name, secret.find()
    except FileNotFoundError:
        return None
    except (OSError, Untrusted) as reason:
        say(f"no native code is kept: {reason}.")
        return None
    try:
        file = open_own(path)
        _note_use(file)
        content = read_all(file)
    except FileNotFoundError:
        return None
    except (OSError, Untrusted) as reason:
        say(f"native code is made again: {reason}.", "")
        return None
    data = content[_HEADER:]
    if key is not None and hmac.compare_digest(content[:_HEADER], _seal(key, name, data)):
        return data
    with contextlib.suppress(OSError):  # then it will be overwritten, or made again each time
        path.unlink(missing_ok=True)
    return None


def write(folder: Path, name: str, data: bytes) -> None:
    """Keep something under a name."""
    if _HEADER + len(data) > limit():
        return
    try:
        make_folder(folder)
        real = own_folder(folder)
        content = _seal(secret.find_or_make(), name, data) + data
        _put(real, name, content)
    except (OSError, Untrusted) as reason:
        say(f"no native code is kept: {reason}.")
        return
    _measure_now_and_then(real, len(content))


def _put(folder: Path, name: str, content: bytes) -> None:
    """Write beside and rename: nobody ever sees half a file."""
    part, path = folder / f".kompono-{os.urandom(8).hex()}", folder / name
    try:
        write_all(make_own(part), content)
        if path.is_dir() and not path.is_symlink():
            path.rmdir()  # a rename cannot replace it
        os.replace(part, path)
    except FileNotFoundError:
        return  # somebody cleared the folder just now
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _seal(key: bytes, name: str, data: bytes) -> bytes:
    digest = hmac.new(key, f"{name}\0".encode(), "sha256")
    digest.update(data)
    return _MAGIC + digest.digest()


def _note_use(file: int) -> None:
    """Let the time of change be the time of last use; times of access are not kept by every system."""
    with contextlib.suppress(OSError, NotImplementedError, TypeError):
        if abs(time.time() - os.fstat(file).st_mtime) > _RECENT:
            os.utime(file)


def usage(folder: Path) -> Usage:
    """What is in a folder."""
    found = list(_look(folder))
    left = [one.bytes for one in found if one.leftover]
    return Usage(len(found) - len(left), sum(one.bytes for one in found) - sum(left), len(left), sum(left))


def trouble(folder: Path) -> str:
    """Why nothing is read from a folder; empty if all is well or it is not there yet."""
    try:
        own_folder(folder)
        secret.find()
    except FileNotFoundError:
        return ""
    except (OSError, Untrusted) as reason:
        return str(reason)
    return ""


def clear(folder: Path) -> int:
    """Remove everything that is kept and all leftovers, and nothing else; the number of files."""
    found = list(_look(folder))
    _remove(found)
    return len(found)


def tidy(folder: Path, most: int) -> None:
    """Remove leftovers, and what was not used for longest if there are more than `most` bytes.

    Processes may do it at the same time: they choose the same files, and a file that one still reads stays readable.
    """
    now = time.time()
    found = sorted(_look(folder), key=lambda one: one.used)
    abandoned = [one for one in found if one.leftover and now - one.used > _ABANDONED]
    _remove(abandoned)
    total = sum(one.bytes for one in found) - sum(one.bytes for one in abandoned)
    if total <= most:
        return
    for one in found:
        if total <= _ROOM * most:
            return
        if not one.leftover:
            _remove([one])
            total -= one.bytes


def _measure_now_and_then(folder: Path, written: int) -> None:
    global _unseen
    _unseen += written
    if _unseen > limit() / 20:
        _unseen = 0
        tidy(folder, limit())


def _look(folder: Path) -> Iterator[_Found]:
    """The files of the store; whatever else lies in the folder is not ours to count or remove."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            kept = _KEPT.fullmatch(entry.name)
            if kept or _PART.fullmatch(entry.name) or _was_part(entry):
                with contextlib.suppress(OSError):
                    found = entry.stat(follow_symlinks=False)
                    yield _Found(Path(entry.path), found.st_mtime, found.st_size, not kept)


def _was_part(entry: os.DirEntry[str]) -> bool:
    if not _PART_BEFORE.fullmatch(entry.name):
        return False
    with contextlib.suppress(OSError, Untrusted):
        return read_all(open_own(Path(entry.path)))[: len(_MAGIC)] == b"kompono1"
    return False


def _remove(found: list[_Found]) -> None:
    for one in found:
        with contextlib.suppress(OSError):
            one.path.unlink(missing_ok=True)


def limit() -> int:
    """The bytes a folder may hold: `KOMPONO_CACHE_LIMIT`, such as 500M or 4G; 0 keeps nothing."""
    given = os.environ.get("KOMPONO_CACHE_LIMIT", "").strip()
    if not given:
        return LIMIT
    read = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", given, re.IGNORECASE)
    if read is None:
        say(f"KOMPONO_CACHE_LIMIT={given!r} is no size, such as 500M or 4G; {LIMIT >> 30}G holds.", "")
        return LIMIT
    return int(float(read[1]) * 1024 ** " KMGT".index(read[2].upper() or " "))


def say(message: str, advice: str = ADVICE) -> None:
    """Warn, once in a process."""
    if message not in _said:
        _said.add(message)
        warnings.warn(f"{message} {advice}".strip(), stacklevel=2)
