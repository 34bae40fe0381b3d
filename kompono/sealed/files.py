"""Files of the user's own that nobody else may write, and private ones that nobody else may read.

They lie in the folder `KOMPONO_CONFIG`, or where the system keeps settings. Owner and mode are checked each time, on
what was opened, and links are not followed; systems without such modes (Windows) rely on the folder's own rights.
"""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from pathlib import Path

from kompono.errors import SealedError

_LARGEST = 1 << 20
_BINARY, _NO_LINK, _NO_WAIT = (getattr(os, name, 0) for name in ("O_BINARY", "O_NOFOLLOW", "O_NONBLOCK"))


def directory() -> Path:
    """Where keys and trusted authors are kept."""
    chosen = os.environ.get("KOMPONO_CONFIG")
    if chosen:
        return Path(chosen)
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA", Path.home() / "AppData" / "Roaming")) / "kompono"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "kompono"
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "kompono"


def read(path: Path, *, private: bool) -> bytes | None:
    """The content of a file, None if it is not there; refused if others may write it (or, if private, read it)."""
    try:
        handle = os.open(path, os.O_RDONLY | _BINARY | _NO_LINK | _NO_WAIT)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SealedError(f"cannot be read: {error.strerror}.", path=str(path)) from error
    with open(handle, "rb") as source:
        _check(os.fstat(handle), path, private)
        _check_folder(path.parent)
        data = source.read(_LARGEST + 1)
    if len(data) > _LARGEST:
        raise SealedError("is far too long.", path=str(path))
    return data


def write(path: Path, data: bytes, *, new: bool = False) -> None:
    """Put a file, readable for its owner alone, in the place of what is there; `new`: refused if something is."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        _check_folder(path.parent)
        if new:
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, 0o600), "wb") as target:
                target.write(data)
            return
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".")  # mode 600
        try:
            with open(handle, "wb") as target:
                target.write(data)
            os.replace(name, path)
        finally:
            Path(name).unlink(missing_ok=True)
    except FileExistsError as error:
        fix = "It is not replaced; move it away if you mean it."
        raise SealedError("is there already.", path=str(path), fix=fix) from error
    except OSError as error:
        fix = "KOMPONO_CONFIG names another folder."
        raise SealedError(f"cannot be written: {error.strerror}.", path=str(path), fix=fix) from error


def _check(found: os.stat_result, path: Path, private: bool) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise SealedError("is no file.", path=str(path))
    if not hasattr(os, "geteuid"):
        return
    if found.st_uid != os.geteuid():
        raise SealedError("belongs to another user, so it is not used.", path=str(path), fix="Look who put it there.")
    if found.st_mode & (0o077 if private else 0o022):
        word = "read or change" if private else "change"
        raise SealedError(f"others may {word} it, so it is not used.", path=str(path), fix=f"Try: chmod 600 '{path}'")


def _check_folder(folder: Path) -> None:
    """Whoever may write in a folder may exchange the files in it."""
    if not hasattr(os, "geteuid"):
        return
    found = os.stat(folder)
    if found.st_uid not in (os.geteuid(), 0) or found.st_mode & 0o022:
        raise SealedError(
            "others may write in this folder, so nothing in it is used.", path=str(folder),
            fix=f"Try: chmod 700 '{folder}', or name another with KOMPONO_CONFIG.",
        )  # fmt: skip
