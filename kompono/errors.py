"""Errors that name the component, the cause and a likely fix.

A wrong model raises where it was written; a failed run is not an exception but a status in the result.
"""

from __future__ import annotations

import difflib
import os
import sys
import warnings
from collections.abc import Iterable
from types import FrameType
from typing import Any, ClassVar, Self

OFFERED = 5  # names where none is close
_DECLARING = ("kompono.errors", "kompono.given", "kompono.model", "kompono.library", "kompono.spatial")
_BETWEEN = ("kompono", "contextlib")  # roots of modules between a line of the user's and what it warns of
_WRAPPERS = ("call", "wrapped")  # names of functions around a `function`


class KomponoError(Exception):
    """Base of all errors: `path` says where, the message what, `fix` what to try.

    An error without a path names what was called (a class under construction, a function), and the `line` of the user
    that called it; `named` says whether somebody gave it a path.
    """

    usual_fix: ClassVar[str] = ""
    names_call: ClassVar[bool] = True  # whether the message begins with what was called
    by_the_user: ClassVar[bool] = True  # whether a line of the user's is to blame

    def __init__(self, message: str, *, path: str = "", fix: str = "") -> None:
        self.message, self.fix, self.named = message, fix or self.usual_fix, bool(path)
        called, self.line = _origin(path) if self.by_the_user else ("", "")
        self._tell(path or called)

    def _tell(self, path: str) -> None:
        self.path = path
        where = f"{path}: " if path and (self.named or self.names_call) else ""
        advice = f" {self.fix}" if self.fix else ""
        line = f" ({self.line})" if self.line else ""
        super().__init__(f"{where}{self.message}{advice}{line}")

    def at(self, path: str) -> Self:
        """This error with a path, if it has none of the model."""
        if not self.named and path:
            self.named = True
            self._tell(path)
        return self

    def advised(self, fix: str) -> Self:
        """This error with what to try, if nothing was said."""
        if not self.fix:
            self.fix = fix
            self._tell(self.path)
        return self

    def __reduce__(self) -> Any:
        return _revived, (type(self), self.args, self.__dict__)


def _revived(kind: type[KomponoError], arguments: tuple[str, ...], state: dict[str, Any]) -> KomponoError:
    """An error that came from another process, word by word."""
    error = kind.__new__(kind, *arguments)
    error.__dict__.update(state)
    return error


def _origin(path: str) -> tuple[str, str]:
    """What of ours the user called, and in which line, as seen from the maker of an error.

    A path inside the model says more than the line of the run that met it; on the command line there is no line.
    """
    frame, called, declaring = sys._getframe(2), "", True
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        root = module.partition(".")[0]
        if module.startswith("kompono.edges.cli"):
            break
        if root == "kompono" and not module.startswith("kompono.examples"):
            called, declaring = _called(frame) or called, declaring and module.startswith(_DECLARING)
        elif root not in sys.stdlib_module_names:
            if not called or (path and not declaring):
                return called, ""
            return called, f"{os.path.basename(frame.f_code.co_filename)}, line {frame.f_lineno}"
        frame = frame.f_back
    return "", ""


def _called(frame: FrameType) -> str:
    """The name of what a frame runs, as the user wrote it."""
    name, known = frame.f_code.co_name, frame.f_locals
    if name == "__call__" and isinstance(known.get("cls"), type):
        return known["cls"].__name__
    if name in ("__init__", "__post_init__") and "self" in known and not isinstance(known["self"], KomponoError):
        return type(known["self"]).__name__
    if name in _WRAPPERS and callable(known.get("function")):
        return known["function"].__qualname__.removesuffix(".__init__")
    if name == "__getitem__":
        return f"{type(known.get('self')).__name__}[...]"
    private = name.startswith(("<", "_")) and not name.startswith("__")
    return "" if private else frame.f_code.co_qualname.rpartition("<locals>.")[2]


class ModelError(KomponoError):
    """The model as declared cannot be right (mass, axis, port, name)."""


class TranslationError(KomponoError):
    """The model is well formed, but no equations of motion follow from it."""


class AssemblyError(KomponoError):
    """No start state satisfies the loop conditions and drives."""


class CompileError(KomponoError):
    """Native code could not be made."""

    usual_fix = "Try native=False with a SciPy method, and report it with the model."


class SealedError(KomponoError):
    """A sealed file, a key or the store of trusted authors is not what it should be, and is not used."""


class RemoteError(KomponoError):
    """A part at a supplier's cannot be reached or is not given; a certificate or an address is not as it should be."""

    by_the_user = False


class RunError(KomponoError):
    """The run was asked for something it cannot do (method, step, channel)."""


class NoForces(RunError):
    """No contact forces fit what holds and what slides (Painleve); a run ends there, with all results up to it."""


class FileError(RunError):
    """A file that is not what it should be: cut off, damaged, of another kind, or out of reach."""


class ModelWarning(UserWarning):
    """Allowed, but probably not meant."""


class RunWarning(UserWarning):
    """A run did not end as planned, or its result deserves a second look."""


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the line of the user that called us, however deep inside we are."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _BETWEEN:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def suggest(name: object, known: Iterable[str]) -> str:
    """A sentence that offers the known names closest to `name`, or the first few."""
    names = list(known)
    close = nearest(name, names) if isinstance(name, str) else ""
    more = ", ..." if len(names) > OFFERED else "."
    return close or (f"There are {', '.join(names[:OFFERED])}{more}" if names else "There are none.")


def nearest(name: str, known: Iterable[str]) -> str:
    """A sentence that offers the known names closest to `name`, empty if none is close."""
    names = list(known)
    alike = [each for each in names if each.casefold() == name.casefold()]  # but for small and large letters
    matches = alike or difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    return f"Did you mean {' or '.join(repr(m) for m in matches)}?" if matches else ""


def either(names: Iterable[str]) -> str:
    """Names to choose from: `a, b or c`."""
    *most, last = names
    return f"{', '.join(most)} or {last}" if most else last
