"""Which code is ours: what a translation runs of Kompono is known by its source, as long as nobody replaced it."""

from __future__ import annotations

import functools
import sys
import types
from importlib import import_module
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

from kompono import written
from kompono.garbage import uncollected

_HERE = str(written.ROOT)
_FOLDERS = ("spatial", "model", "library", "translate")
_MODULES = tuple(f"kompono.{folder}" for folder in _FOLDERS)
_LAWS = ("spatial", "model", "library")  # where laws of elements are written
_CONSTANTS = (bool, int, float, str, tuple)


@functools.cache
def sources() -> str:
    """A hash of the stages up to translation, and of the assembly it asks for a start."""
    return written.digest((*_FOLDERS, "foreign", "sealed", "solve", "starting.py"))


def is_ours(kind: type) -> bool:
    """Whether a class was written in one of the stages up to translation, and still has the methods written there."""
    return written_by_us(kind) and all(_untouched(base) for base in kind.__mro__ if written_by_us(base))


def written_by_us(kind: type) -> bool:
    """Whether a class was written in one of the stages up to translation."""
    return kind.__module__.startswith(_MODULES)


def altered() -> str | None:
    """The constants of the modules laws are written in, which may be set from outside; None if a function was."""
    found: list[Any] = []
    for module in _law_modules():
        name = module.__name__
        for key, value in vars(module).items():
            if isinstance(value, types.FunctionType):
                if not (_from_here(value) or _foreign(value)):
                    return None
            elif not key.startswith("__") and type(value) in _CONSTANTS:
                found.append((name, key, value))
            elif isinstance(value, np.ndarray | ca.DM):
                found.append((name, key, np.asarray(value).tolist()))
    return repr(found)


@functools.cache
def _law_modules() -> tuple[types.ModuleType, ...]:
    """All of them, imported: a name must not depend on which of them somebody has used so far."""
    paths = [Path(path).relative_to(written.ROOT).with_suffix("") for folder in _LAWS for path in written.files(folder)]
    names = [".".join(("kompono", *path.parts)).removesuffix(".__init__") for path in paths]
    with uncollected():
        return tuple(import_module(name) for name in names)


def _untouched(kind: type) -> bool:
    """Whether all members of a class that are code come from our files."""
    return all(_from_here(member) for name, member in vars(kind).items() if name != "__repr__")


def _from_here(member: Any) -> bool:
    if isinstance(member, property):
        return all(_from_here(part) for part in (member.fget, member.fset, member.fdel))
    function = getattr(member, "__func__", member)
    if not isinstance(function, types.FunctionType):
        return True
    file = function.__code__.co_filename
    return file.startswith(_HERE) or (file == "<string>" and function.__name__.startswith("__"))  # of a dataclass


def _foreign(function: types.FunctionType) -> bool:
    """Whether a function comes from a library we use."""
    library = function.__module__.partition(".")[0]
    return library in ("numpy", "casadi") or library in sys.stdlib_module_names
