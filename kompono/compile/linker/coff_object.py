"""Read a COFF object as LLVM writes it for Windows."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

from kompono.errors import CompileError

CODE, ZEROS, WRITABLE = 0x20, 0x80, 0x80000000  # flags of sections
_LEFT_OUT = 0x800 | 0x02000000  # to be removed, to be discarded
_MANY_RELOCATIONS = 0x01000000
_X86_64 = 0x8664


@dataclass
class Section:
    """A section of the object."""

    name: str
    flags: int
    data: bytearray
    relocations: list[tuple[int, int, int]] = field(default_factory=list)  # offset, symbol, kind
    address: int = 0

    @property
    def align(self) -> int:
        """Its address is a multiple of this."""
        return 1 << max((self.flags >> 20 & 15) - 1, 0)


@dataclass(frozen=True)
class Symbol:
    """A symbol of the object: in section 0 it is another library's."""

    name: str
    section: int
    value: int
    is_global: bool


def read_coff(data: bytes) -> tuple[dict[int, Section], dict[int, Symbol]]:
    """Sections by number (from 1), symbols by place."""
    if struct.unpack_from("<H", data)[0] != _X86_64:
        raise CompileError("LLVM made no COFF object of x86-64.")
    count, _, table, symbol_count = struct.unpack_from("<HIII", data, 2)
    strings = table + 18 * symbol_count

    def text(raw: bytes) -> str:
        if raw[:4] == bytes(4):
            start = strings + struct.unpack("<I", raw[4:])[0]
            return data[start : data.index(b"\0", start)].decode()
        return raw.rstrip(b"\0").decode()

    sections: dict[int, Section] = {}
    for i in range(count):
        head = 20 + 40 * i
        size, place, listed = struct.unpack_from("<III", data, head + 16)
        (number,), (flags,) = struct.unpack_from("<H", data, head + 32), struct.unpack_from("<I", data, head + 36)
        if flags & _LEFT_OUT or not size:
            continue
        body = bytearray(size) if flags & ZEROS else bytearray(data[place : place + size])
        first = 0
        if flags & _MANY_RELOCATIONS:
            first, number = 1, struct.unpack_from("<I", data, listed)[0]
        relocations = [struct.unpack_from("<IIH", data, listed + 10 * k) for k in range(first, number)]
        sections[i + 1] = Section(text(data[head : head + 8]), flags, body, relocations)
    symbols: dict[int, Symbol] = {}
    i = 0
    while i < symbol_count:
        raw = data[table + 18 * i : table + 18 * i + 18]
        value, where, _, kind, more = struct.unpack("<IhHBB", raw[8:])
        symbols[i] = Symbol(text(raw[:8]), where, value, kind == 2)
        i += 1 + more
    return sections, symbols
