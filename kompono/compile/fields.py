"""Eight-byte fields that Python and native code share: names in an order, pointers, whole numbers and reals; from
Python a structure, from inside native code attributes that read and `set` that writes.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, ClassVar

from kompono.compile.emit import INT, POINTER, REAL, Array, Code, Value

_TYPES: dict[str, Any] = {POINTER: ctypes.c_void_p, INT: ctypes.c_int64, REAL: ctypes.c_double}


class Fields:
    """`names` in their order; those that are neither `pointers` nor `reals` are whole numbers."""

    def __init__(self, names: Sequence[str], pointers: Sequence[str], reals: Sequence[str]) -> None:
        self.index = {name: i for i, name in enumerate(names)}
        self._kinds = dict.fromkeys(names, INT) | dict.fromkeys(pointers, POINTER) | dict.fromkeys(reals, REAL)

    def kind(self, name: str) -> str:
        """The type of a field in native code."""
        return self._kinds[name]

    def declared(self) -> list[tuple[str, Any]]:
        """As `ctypes` declares them."""
        return [(name, _TYPES[self._kinds[name]]) for name in self.index]


class NativeFields:
    """The fields at a pointer, from inside native code."""

    fields: ClassVar[Fields]

    def __init__(self, code: Code, pointer: str = "%block") -> None:
        self._code, self._pointer = code, pointer

    def _place(self, name: str) -> str:
        place = f"getelementptr i64, ptr {self._pointer}, i64 {self.fields.index[name]}"
        return self._code.let(POINTER, place).name

    def __getattr__(self, name: str) -> Value:
        kind = self.fields.kind(name)
        return self._code.let(kind, f"load {kind}, ptr {self._place(name)}")

    def set(self, name: str, value: Value | float) -> None:
        """Write a field."""
        kind = self.fields.kind(name)
        text = self._code.value(value, kind)
        self._code.say(f"store {kind} {text}, ptr {self._place(name)}")

    def array(self, name: str, kind: str = REAL) -> Array:
        """The array a field points to."""
        return Array(self._code, getattr(self, name).name, kind)
