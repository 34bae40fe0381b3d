"""WebAssembly: from the object LLVM writes to a module that can be loaded, and what a module may want from outside.

LLVM writes objects for a linker. With one object there is nothing to link: functions are numbered as they will be,
memory and the pointer of the stack are imported, and there is no data, because numbers are in a table (see `lifted`).
What is missing are exports; what is too much are the sections for the linker, which have names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kompono.errors import CompileError

MEMORY, STACK = "__linear_memory", "__stack_pointer"
UNARY = (
    "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "exp", "log",
    "erf", "log1p", "expm1", "floor", "ceil", "fabs", "sqrt",
)  # fmt: skip
BINARY = ("pow", "copysign", "fmin", "fmax", "atan2", "hypot", "fmod", "remainder")
ARITIES = dict.fromkeys(UNARY, 1) | dict.fromkeys(BINARY, 2)  # functions a module may import, by their arguments
_MAGIC = b"\0asm\1\0\0\0"
_CUSTOM, _TYPES, _IMPORTS, _FUNCTIONS, _EXPORTS, _CODE = 0, 1, 2, 3, 7, 10
_FUNCTION_SYMBOL, _SYMBOLS = 0, 8
_UNDEFINED, _NAMED = 0x10, 0x40  # flags of a symbol
_FUNCTION_INDEX, _GLOBAL_INDEX = 0, 7  # kinds of places that are as they will be


class _Bytes:
    """Bytes read one thing after the other."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def number(self) -> int:
        """An unsigned LEB128."""
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def take(self, size: int) -> bytes:
        """So many bytes."""
        self.at += size
        return self.data[self.at - size : self.at]

    def name(self) -> str:
        """A length and as many letters."""
        return self.take(self.number()).decode()

    @property
    def left(self) -> bool:
        """Whether there is more."""
        return self.at < len(self.data)


def _spell(value: int) -> bytes:
    """An unsigned LEB128."""
    found = bytearray()
    while value >= 0x80:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


def _section(kind: int, content: bytes) -> bytes:
    return bytes([kind]) + _spell(len(content)) + content


def _sections(data: bytes) -> Iterator[tuple[int, bytes]]:
    source = _Bytes(data)
    if source.take(8) != _MAGIC:
        raise CompileError("the code generator wrote no WebAssembly.")
    while source.left:
        (kind,) = source.take(1)
        yield kind, source.take(source.number())


def module(data: bytes, wanted: Iterable[str]) -> bytes:
    """A module with these functions for all to call, from an object."""
    kept: dict[int, bytes] = {}
    symbols: dict[str, int] = {}
    for kind, content in _sections(data):
        if kind == _CUSTOM:
            custom = _Bytes(content)
            name = custom.name()
            if name == "linking":
                symbols = _defined(custom)
            elif name.startswith("reloc."):
                _check_places(custom)
        elif kind in (_TYPES, _IMPORTS, _FUNCTIONS, _CODE):
            kept[kind] = content
        elif kind != 12:  # the number of data segments
            raise CompileError(f"WebAssembly with a section {kind} needs a linker.")
    entries = [(name, symbols[name]) for name in wanted]
    table = [_spell(len(name)) + name.encode() + b"\0" + _spell(index) for name, index in entries]
    kept[_EXPORTS] = _spell(len(table)) + b"".join(table)
    return _MAGIC + b"".join(_section(kind, kept[kind]) for kind in sorted(kept))


def _defined(custom: _Bytes) -> dict[str, int]:
    """Functions of an object by name."""
    found: dict[str, int] = {}
    custom.number()  # version
    while custom.left:
        (kind,) = custom.take(1)
        content = _Bytes(custom.take(custom.number()))
        if kind != _SYMBOLS:
            continue
        for _ in range(content.number()):
            (what,) = content.take(1)
            flags = content.number()
            if what not in (_FUNCTION_SYMBOL, 2):
                raise CompileError(f"WebAssembly with a symbol of kind {what} needs a linker.")
            index = content.number()
            if not flags & _UNDEFINED or flags & _NAMED:
                name = content.name()
                if what == _FUNCTION_SYMBOL and not flags & _UNDEFINED:
                    found[name] = index
    return found


def _check_places(custom: _Bytes) -> None:
    """Refuse what a linker would have to fill in."""
    custom.number()  # section
    for _ in range(custom.number()):
        (kind,) = custom.take(1)
        if kind not in (_FUNCTION_INDEX, _GLOBAL_INDEX):
            raise CompileError(f"WebAssembly with a place of kind {kind} needs a linker.")
        custom.number()
        custom.number()
