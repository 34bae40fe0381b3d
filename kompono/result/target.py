"""Where a file is to be written: what would stop us is found before the work, and a failure afterwards says what is
left.
"""

from __future__ import annotations

import functools
import os
import stat
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

from kompono.errors import RunError
from kompono.given import shown

F = TypeVar("F", bound=Callable[..., Any])


class NotWritten(RunError, OSError):
    """A file could not be written: no folder, no permission, no room."""


def check_target(path: str | Path, suffixes: Sequence[str] = (), what: str = "write", *, stream: bool = False) -> Path:
    """The path of a file that can be written here: known suffix, a folder that lets us, no folder itself.

    Folders on the way that are missing are not made yet. Pipes and devices are only for what is written as a `stream`,
    from its beginning to its end; some libraries would remove them.
    """
    target = Path(path)
    try:
        special = _is_special(target) and stream
        if target.is_dir():
            raise NotWritten(f"cannot write {str(path)!r}: it is a folder.", fix="Name a file in it.")
        if suffixes and not special and target.suffix.lower() not in suffixes:
            raise RunError(f"cannot {what} into {str(path)!r}.", fix=f"Choose a name with {', '.join(suffixes)}.")
        if not special and target.exists() and not target.is_file():
            raise NotWritten(f"cannot write {str(path)!r}: it is no file.", fix="Choose another name.")
        if os.path.lexists(target) and not target.is_symlink() and not os.access(target, os.W_OK):
            raise NotWritten(f"cannot write {str(path)!r}: the file is write-protected.", fix="Choose another name.")
        if not special:
            _probe(target)
    except (OSError, ValueError) as error:
        if isinstance(error, RunError):
            raise
        raise NotWritten(f"cannot write {str(path)!r}: {_reason(error)}.", fix="Choose another place.") from error
    return target


def _is_special(target: Path) -> bool:
    """Whether a pipe or a device is there; OSError if no such name can exist."""
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        return False
    return stat.S_ISCHR(mode) or stat.S_ISFIFO(mode)


def _probe(target: Path) -> None:
    """Make a file without a name where the target, or the first folder made for it, will be."""
    folder = next(place for place in target.absolute().parents if os.path.lexists(place))
    if not folder.is_dir():
        raise NotADirectoryError(0, f"{str(folder)!r} is no folder")
    with tempfile.TemporaryFile(dir=folder):
        pass


def _reason(error: BaseException) -> str:
    return str(getattr(error, "strerror", None) or error)


def keeps_result(function: F) -> F:
    """The same method `function(self, path)`: if the file cannot be written, the error says that nothing is lost."""

    @functools.wraps(function)
    def call(self: Any, path: str | Path) -> Any:
        if not isinstance(path, str | os.PathLike):
            raise RunError(f"{shown(path)} is no name of a file.", fix='Use e.g. "run.h5".')
        try:
            return function(self, path)
        except OSError as error:
            if isinstance(error, RunError):
                raise
            fix = "The result is still in memory: write it to another place."
            failure = NotWritten(f"cannot write {str(path)!r}: {_reason(error)}.", fix=fix)
            failure.errno, failure.result = error.errno, self  # type: ignore[attr-defined]
            raise failure from error

    return cast(F, call)
