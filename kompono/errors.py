"""Errors that name the component, the cause and a likely fix.

A wrong model raises where it was written; a failed run is not an exception but a status in the result.
"""

from __future__ import annotations

import difflib
import sys
import warnings
from collections.abc import Iterable


class KomponoError(Exception):
    """Base of all errors: `path` says where, the message what, `fix` what to try."""

    def __init__(self, message: str, *, path: str = "", fix: str = "") -> None:
        self.path = path
        self.fix = fix
        where = f"{path}: " if path else ""
        advice = f" {fix}" if fix else ""
        super().__init__(f"{where}{message}{advice}")


class ModelError(KomponoError):
    """The model as declared cannot be right (mass, axis, port, name)."""


class TranslationError(KomponoError):
    """The model is well formed, but no equations of motion follow from it."""


class AssemblyError(KomponoError):
    """No start state satisfies the loop conditions and drives."""


class CompileError(KomponoError):
    """Native code could not be made."""


class SealedError(KomponoError):
    """A sealed file, a key or the store of trusted authors is not what it should be, and is not used."""


class RunError(KomponoError):
    """The run was asked for something it cannot do (method, step, channel)."""


class ModelWarning(UserWarning):
    """Allowed, but probably not meant."""


class RunWarning(UserWarning):
    """A run did not end as planned, or its result deserves a second look."""


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the line of the user that called us, however deep inside we are."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "kompono":
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def nearest(name: str, known: Iterable[str]) -> str:
    """A sentence that offers the known names closest to `name`, empty if none is close."""
    matches = difflib.get_close_matches(name, list(known), n=3, cutoff=0.5)
    return f"Did you mean {' or '.join(repr(m) for m in matches)}?" if matches else ""
