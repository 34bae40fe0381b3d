"""Files of the user's own that nobody else may write, and private ones that nobody else may read (see `kompono.trust`).

They lie in the folder `KOMPONO_CONFIG`, or where the system keeps settings.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from kompono.errors import SealedError
from kompono.trust import Untrusted, home, make_folder, make_own, open_own, own_folder, write_all

_LARGEST = 1 << 20


def directory() -> Path:
    """Where keys and trusted authors are kept."""
    chosen = os.environ.get("KOMPONO_CONFIG")
    if chosen:
        return Path(chosen)
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA", home() / "AppData" / "Roaming")) / "kompono"
    if sys.platform == "darwin":
        return home() / "Library" / "Application Support" / "kompono"
    return Path(os.environ.get("XDG_CONFIG_HOME") or home() / ".config") / "kompono"


def read(path: Path, *, private: bool) -> bytes | None:
    """The content of a file, None if it is not there; refused if others may write it (or, if private, read it)."""
    try:
        _check_folder(path.parent)
        with os.fdopen(open_own(path, secret=private), "rb") as source:
            data = source.read(_LARGEST + 1)
    except FileNotFoundError:
        return None
    except Untrusted as error:
        message = f"cannot be read, for others may change it or know it: {error}."
        raise SealedError(message, path=str(path), fix="Look who put it there.") from error
    except OSError as error:
        raise SealedError(f"cannot be read: {error.strerror}.", path=str(path)) from error
    if len(data) > _LARGEST:
        raise SealedError("is far too long.", path=str(path))
    return data


def write(path: Path, data: bytes, *, new: bool = False) -> None:
    """Put a file, readable for its owner alone, in the place of what is there; `new`: refused if something is."""
    try:
        make_folder(path.parent)
        _check_folder(path.parent)
        if new:
            write_all(make_own(path), data)
            return
        beside = path.with_name(f".{path.name}-{os.urandom(8).hex()}")
        try:
            write_all(make_own(beside), data)
            os.replace(beside, path)
        finally:
            beside.unlink(missing_ok=True)
    except FileExistsError as error:
        fix = "It is not replaced; move it away if you mean it."
        raise SealedError("is there already.", path=str(path), fix=fix) from error
    except OSError as error:
        fix = "KOMPONO_CONFIG names another folder."
        raise SealedError(f"cannot be written: {error.strerror}.", path=str(path), fix=fix) from error


def _check_folder(folder: Path) -> None:
    """Whoever may write in a folder may exchange the files in it."""
    try:
        own_folder(folder)
    except Untrusted as error:
        raise SealedError(
            f"others may write in this folder, so nothing in it is used: {error}.", path=str(folder),
            fix=f"Try: chmod 700 '{folder}', or name another with KOMPONO_CONFIG.",
        ) from error  # fmt: skip
