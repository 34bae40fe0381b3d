"""A name for everything a translation depends on, so that it can be found again instead of being made again.

The declarations are walked: classes, numbers, frames, members in their order, and all expressions at once as one CasADi
function, in which symbols count by place, not by name. Kompono's own code enters by its source. Code of the user that
runs while a model is traced (the methods of joints, forces and constraints derived from ours) enters by its bytecode
and by the values of everything it refers to, code of installed libraries by the size and date of its file. Whatever
cannot be followed (open files, generators, objects of foreign libraries) makes a model nameless: it is translated each
time, as if there were no cache.
"""

from __future__ import annotations

import functools
import hashlib
import sys
import types
from dataclasses import is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

from kompono.model.body import Carrier, MassProperties
from kompono.model.element import Element
from kompono.model.subsystem import Subsystem

_PLAIN = (type(None), bool, int, float, complex, str, bytes)
_LOOKS = (Carrier, MassProperties)  # what has a shape that only viewers read
_IGNORED = ("__doc__", "__module__", "__dict__", "__weakref__", "__annotations__", "__qualname__", "run_defaults")


class Nameless(Exception):
    """Something a translation may depend on cannot be followed."""


def fingerprint(model: Subsystem, options: Any) -> str:
    """The name (hexadecimal) of a model with options; equal only for what gives equal programs, else Nameless."""
    walker = _Walker()
    walker.visit(model)
    walker.visit(options)
    content = repr((_sources(), ca.CasadiMeta.version(), walker.words)).encode() + walker.expressions().encode()
    return hashlib.sha256(content).hexdigest()


@functools.cache
def _sources() -> str:
    """A hash of the stages up to translation."""
    digest = hashlib.sha256()
    root = Path(__file__).parents[1]
    for folder in ("spatial", "model", "library", "translate"):
        for path in sorted((root / folder).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()


class _Walker:
    """Collects words (plain data) and expressions, each object once, in the order they are met."""

    def __init__(self) -> None:
        self.words: list[Any] = []
        self._expressions: list[ca.SX] = []
        self._numbers: dict[int, int] = {}
        self._alive: list[Any] = []  # so that no id is used twice

    def expressions(self) -> str:
        """All expressions as one function of all symbols in them."""
        column = ca.veccat(*[ca.densify(expression) for expression in self._expressions])
        symbols = ca.symvar(column)
        return ca.Function("all", [ca.vertcat(*symbols)] if symbols else [], [column]).serialize()

    def visit(self, value: Any) -> None:
        """Write down a value and all it refers to."""
        if isinstance(value, _PLAIN):
            self.words.append((type(value).__name__, value))
        elif isinstance(value, np.ndarray | np.generic):
            array = np.asarray(value)
            if array.dtype == object:
                raise Nameless("an array of objects")
            self.words.append((str(array.dtype), array.shape, array.tobytes()))
        elif isinstance(value, ca.SX | ca.DM):
            pattern = value.sparsity()
            self.words.append(("expression", value.shape, tuple(pattern.row()), tuple(pattern.colind())))
            self._expressions.append(ca.SX(value))
        elif id(value) in self._numbers:
            self.words.append(("again", self._numbers[id(value)]))
        else:
            self._numbers[id(value)] = len(self._numbers)
            self._alive.append(value)
            self._compound(value)

    def _compound(self, value: Any) -> None:
        if isinstance(value, list | tuple):
            self._sequence(type(value).__name__, value)
        elif isinstance(value, dict):
            self._sequence("dict", [part for item in value.items() for part in item])
        elif isinstance(value, set | frozenset):
            self._sequence("set", sorted(value, key=repr))
        elif isinstance(value, Enum):
            self.words.append((type(value).__qualname__, value.name))
        elif isinstance(value, type):
            self._class(value)
        elif isinstance(value, types.FunctionType | types.MethodType):
            self._function(value)
        elif isinstance(value, types.BuiltinFunctionType | types.ModuleType | np.ufunc):
            self._foreign(value)
        elif isinstance(value, property | staticmethod | classmethod | functools.cached_property):
            for part in ("fget", "fset", "__func__", "func"):
                self.visit(getattr(value, part, None))
        elif isinstance(value, Element) or is_dataclass(value) or _ours(type(value)) or hasattr(value, "__dict__"):
            self._instance(value)
        else:
            raise Nameless(f"a {type(value).__name__}")

    def _sequence(self, kind: str, values: Any) -> None:
        self.words.append((kind, len(values)))
        for part in values:
            self.visit(part)

    def _instance(self, value: Any) -> None:
        if not (isinstance(value, Element) or is_dataclass(value) or _ours(type(value)) or _written_here(type(value))):
            raise Nameless(f"a {type(value).__name__}")
        slots = [name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())]
        held = {name: getattr(value, name) for name in slots if hasattr(value, name)} | getattr(value, "__dict__", {})
        if isinstance(value, _LOOKS):
            held.pop("shape", None)
        self.visit(type(value))
        self._sequence("instance", [part for name in sorted(held) for part in (name, held[name])])

    def _class(self, value: type) -> None:
        """Our classes by name, for their source is known; those of a user by all their methods."""
        self.words.append(("class", value.__module__, value.__qualname__, *_installed(value)))
        if _ours(value) or not (_written_here(value) or issubclass(value, Element)):
            return
        for base in value.__bases__:
            self.visit(base)
        ignored = (*_IGNORED, "__init__", *(("figures",) if issubclass(value, Subsystem) else ()))
        for name, member in sorted(vars(value).items()):
            if name not in ignored:
                self.visit(name)
                self.visit(member)

    def _function(self, value: Any) -> None:
        function = getattr(value, "__func__", value)
        self.visit(getattr(value, "__self__", None))
        if _ours(function) or not _written_here(function):
            self.words.append(("function", function.__module__, function.__qualname__, *_installed(function)))
            return
        self._code(function.__code__, function.__globals__)
        for part in (function.__defaults__, function.__kwdefaults__):
            self.visit(part)
        for cell in function.__closure__ or ():
            self.visit(cell.cell_contents)

    def _code(self, code: types.CodeType, scope: dict[str, Any]) -> None:
        """Bytecode, constants, and the present values of the globals it names."""
        self.words.append(("code", code.co_code, code.co_names, code.co_varnames))
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self._code(constant, scope)
            else:
                self.visit(constant)
        for name in code.co_names:
            if name in scope:
                self.visit(scope[name])

    def _foreign(self, value: Any) -> None:
        """Modules and functions of libraries by name; a module of the user by its plain contents."""
        self.words.append(("foreign", getattr(value, "__module__", ""), value.__name__, *_installed(value)))
        if isinstance(value, types.ModuleType) and _user_file(getattr(value, "__file__", None)):
            for name, member in sorted(vars(value).items()):
                if not name.startswith("__") and isinstance(member, (*_PLAIN, np.ndarray, ca.SX, ca.DM, tuple, list)):
                    self.visit(name)
                    self.visit(member)
                elif isinstance(member, types.FunctionType):
                    self.visit(member)


def _ours(thing: Any) -> bool:
    return str(getattr(thing, "__module__", "")).split(".")[0] == "kompono"


def _installed(thing: Any) -> tuple[int, ...]:
    """Size and date of the file of an installed library that something comes from; nothing for ours and the user's."""
    module = thing if isinstance(thing, types.ModuleType) else sys.modules.get(getattr(thing, "__module__", None) or "")
    path = getattr(module, "__file__", None)
    if path is None or _ours(thing) or _user_file(path):
        return ()
    status = Path(path).stat()
    return status.st_size, status.st_mtime_ns


def _written_here(thing: Any) -> bool:
    """Whether a class or function is of the user, not of an installed library."""
    module = sys.modules.get(thing.__module__ or "")
    return module is None or thing.__module__ == "__main__" or _user_file(getattr(module, "__file__", None))


def _user_file(path: str | None) -> bool:
    if path is None:
        return False
    return "site-packages" not in path and not path.startswith((sys.base_prefix, str(Path(sys.base_prefix) / "lib")))
