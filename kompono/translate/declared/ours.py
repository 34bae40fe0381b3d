"""Which code is ours: what a translation runs of Kompono is known by its source, as long as nobody replaced it."""

from __future__ import annotations

import functools
import operator
import sys
import types
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from kompono import written
from kompono.garbage import uncollected

_HERE = str(written.ROOT)
_FOLDERS = ("spatial", "model", "library", "translate")
_MODULES = tuple(f"kompono.{folder}" for folder in _FOLDERS)
_LAWS = ("spatial", "model", "library")  # where laws of elements are written
_CONSTANTS = (bool, int, float, str, tuple)
_code = operator.attrgetter("__code__")


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
        constants = _constants(module)
        if constants is None:
            return None
        for key, value in constants:
            told = np.asarray(value).tolist() if isinstance(value, np.ndarray | ca.DM) else value
            found.append((module.__name__, key, told))
    return repr(found)


class _Looked(NamedTuple):
    """What was in a module when it was looked at; as long as it is the same, so are its constants."""

    names: list[str]
    values: list[Any]
    functions: list[types.FunctionType]
    codes: list[types.CodeType]
    constants: list[tuple[str, Any]]


_looked: dict[types.ModuleType, _Looked] = {}


def _constants(module: types.ModuleType) -> list[tuple[str, Any]] | None:
    """The constants of a module by name; None if a function of it was replaced. They are looked for once."""
    names, values = list(vars(module)), list(vars(module).values())
    known = _looked.get(module)
    if known and names == known.names and all(map(operator.is_, values, known.values)):
        codes = map(_code, known.functions)
        if all(map(operator.is_, codes, known.codes)):
            return known.constants
    functions = [value for value in values if isinstance(value, types.FunctionType)]
    if not all(_from_here(function) or _foreign(function) for function in functions):
        return None
    constants = [
        (name, value)
        for name, value in zip(names, values, strict=True)
        if (type(value) in _CONSTANTS and not name.startswith("__")) or isinstance(value, np.ndarray | ca.DM)
    ]
    _looked[module] = _Looked(names, values, functions, [_code(one) for one in functions], constants)
    return constants


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
