"""WebAssembly: from the object LLVM writes to a module that can be loaded, and what a module may want from outside.

LLVM writes objects for a linker. With one object there is nothing to link: functions are numbered as they will be,
memory and the pointer of the stack are imported, and sealed code has no data, because numbers are in a table (see
`lifted`). What is missing are exports; what is too much are the sections for the linker, which have names. Code that
may have data (tables of a large model) finds it where the object says, from address 0 on: that is where it is kept.
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
_CUSTOM, _TYPES, _IMPORTS, _FUNCTIONS, _EXPORTS, _CODE, _DATA, _DATA_COUNT = 0, 1, 2, 3, 7, 10, 11, 12
_ORDER = (_TYPES, _IMPORTS, _FUNCTIONS, _EXPORTS, _DATA_COUNT, _CODE, _DATA)  # of sections in a module
_FUNCTION_SYMBOL, _DATA_SYMBOL, _GLOBAL_SYMBOL, _SYMBOLS = 0, 1, 2, 8
_UNDEFINED, _NAMED = 0x10, 0x40  # flags of a symbol
_FUNCTION_INDEX, _GLOBAL_INDEX = 0, 7  # kinds of places that are as they will be
_ADDRESSES = (3, 4, 5)  # of data: so are these, if data stay where the object has them


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

    def signed(self) -> int:
        """A signed LEB128."""
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value - (1 << shift) if byte & 0x40 else value

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


def module(data: bytes, wanted: Iterable[str], *, with_data: bool = False) -> bytes:
    """A module with these functions for all to call, from an object; `with_data` it may have tables."""
    kept: dict[int, bytes] = {}
    symbols: dict[str, int] = {}
    for kind, content in _sections(data):
        if kind == _CUSTOM:
            custom = _Bytes(content)
            name = custom.name()
            if name == "linking":
                symbols = _defined(custom, with_data)
            elif name.startswith("reloc."):
                _check_places(custom, with_data)
        elif kind in (_TYPES, _IMPORTS, _FUNCTIONS, _CODE) or (with_data and kind in (_DATA, _DATA_COUNT)):
            kept[kind] = content
        elif kind != _DATA_COUNT:
            raise CompileError(f"WebAssembly with a section {kind} needs a linker.")
    entries = [(name, symbols[name]) for name in wanted]
    table = [_spell(len(name)) + name.encode() + b"\0" + _spell(index) for name, index in entries]
    kept[_EXPORTS] = _spell(len(table)) + b"".join(table)
    return _MAGIC + b"".join(_section(kind, kept[kind]) for kind in _ORDER if kind in kept)


def imported(data: bytes) -> list[str]:
    """The names of functions a module wants from outside."""
    found = []
    for kind, content in _sections(data):
        if kind == _IMPORTS:
            source = _Bytes(content)
            for _ in range(source.number()):
                source.name()  # of who has it
                name = source.name()
                (what,) = source.take(1)
                if what == 0:
                    source.number()
                    found.append(name)
                elif what == 2:  # memory
                    if source.number() & 1:
                        source.number()
                    source.number()
                elif what == 1:  # a table
                    source.take(1)
                    if source.number() & 1:
                        source.number()
                    source.number()
                else:
                    source.take(2)
    return found


def data_end(data: bytes) -> int:
    """Bytes from address 0 on that a module fills with data of its own."""
    last = 0
    for kind, content in _sections(data):
        if kind == _DATA:
            source = _Bytes(content)
            for _ in range(source.number()):
                source.number()  # active, of memory 0
                source.take(1)  # i32.const
                offset = source.signed()
                source.take(1)  # end
                size = source.number()
                source.take(size)
                last = max(last, offset + size)
    return last


def _defined(custom: _Bytes, with_data: bool) -> dict[str, int]:
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
            if what == _DATA_SYMBOL and with_data:
                content.name()
                if not flags & _UNDEFINED:
                    for _ in range(3):  # where it is
                        content.number()
                continue
            if what not in (_FUNCTION_SYMBOL, _GLOBAL_SYMBOL):
                raise CompileError(f"WebAssembly with a symbol of kind {what} needs a linker.")
            index = content.number()
            if not flags & _UNDEFINED or flags & _NAMED:
                name = content.name()
                if what == _FUNCTION_SYMBOL and not flags & _UNDEFINED:
                    found[name] = index
    return found


def _check_places(custom: _Bytes, with_data: bool) -> None:
    """Refuse what a linker would have to fill in."""
    custom.number()  # section
    for _ in range(custom.number()):
        (kind,) = custom.take(1)
        if kind not in (_FUNCTION_INDEX, _GLOBAL_INDEX, *(_ADDRESSES if with_data else ())):
            raise CompileError(f"WebAssembly with a place of kind {kind} needs a linker.")
        custom.number()
        custom.number()
        if kind in _ADDRESSES:
            custom.signed()  # further on in the data
