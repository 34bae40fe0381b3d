"""Errors that name the component, the cause and a likely fix.

A wrong model raises where it was written; a failed run is not an exception but a status in the result.
"""

from __future__ import annotations

import difflib
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


class RunError(KomponoError):
    """The run was asked for something it cannot do (method, step, channel)."""


class ModelWarning(UserWarning):
    """Allowed, but probably not meant."""


def nearest(name: str, known: Iterable[str]) -> str:
    """A sentence that offers the known names closest to `name`, empty if none is close."""
    matches = difflib.get_close_matches(name, list(known), n=3, cutoff=0.5)
    return f"Did you mean {' or '.join(repr(m) for m in matches)}?" if matches else ""
