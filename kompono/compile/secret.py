"""The key by which this user's cache knows its own files: 32 random bytes that nobody else can read.

It lies apart from the cache, in a folder of the user's own, so whoever can put files into a cache still cannot make
one that is accepted. A key that was lost, or that others could read, is replaced; all that was kept with it is then
made again.
"""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

from kompono.trust import Untrusted, home, make_folder, make_own, open_own, own_folder, read_all, user, write_all

_SIZE = 32


def place() -> Path:
    """Where the key lies; `KOMPONO_CACHE_KEY` names another file."""
    chosen = os.environ.get("KOMPONO_CACHE_KEY")
    if chosen:
        return Path(chosen)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", home() / "AppData" / "Local")) / "kompono" / "cache.key"
    if sys.platform == "darwin":
        return home() / "Library" / "Application Support" / "kompono" / "cache.key"
    return Path(os.environ.get("XDG_STATE_HOME") or home() / ".local" / "state") / "kompono" / "cache.key"


def find() -> bytes | None:
    """The key, if there is a good one; Untrusted if it is somebody else's."""
    try:
        path = own_folder(place().parent) / place().name
        data = read_all(open_own(path, secret=True))
    except FileNotFoundError:
        return None
    except Untrusted:
        if not _leaky(place()):
            raise
        return None
    return data if len(data) == _SIZE else None


def find_or_make() -> bytes:
    """The key; a new one if there is none that is good."""
    known = find()
    if known is not None:
        return known
    make_folder(place().parent)
    path = own_folder(place().parent) / place().name
    if path.is_symlink() or path.exists():
        known = find()  # another process may have made it just now
        if known is not None:
            return known
        path.unlink(missing_ok=True)
    new = path.with_name(f".{path.name}-{os.urandom(8).hex()}")
    try:
        write_all(make_own(new), os.urandom(_SIZE))
        try:
            os.link(new, path)  # fails if another process was quicker: then its key is the one
        except FileExistsError:
            pass
        except OSError:  # no links on this file system
            os.replace(new, path)
    finally:
        with contextlib.suppress(OSError):
            new.unlink(missing_ok=True)
    made = find()
    if made is None:
        raise Untrusted(f"{path} is taken away as soon as it is made")
    return made


def _leaky(path: Path) -> bool:
    """Whether it is a file of ours in our own folder that others could read, so that a new one may take its place."""
    try:
        own_folder(path.parent)
        found = path.lstat()
    except (OSError, Untrusted):
        return False
    return found.st_uid == user() and not path.is_dir()
