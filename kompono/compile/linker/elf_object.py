"""Read an ELF object as LLVM writes it: what goes into memory, symbols, and where addresses must be filled in."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

from kompono.errors import CompileError

X86_64, AARCH64 = 62, 183  # machines
WRITE, ALLOC, EXECUTE = 1, 2, 4  # flags of sections
_SYMBOLS, _RELOCATIONS, _NO_BITS = 2, 4, 8  # kinds of sections


@dataclass
class Section:
    """A part of a file: with the ALLOC flag it goes into memory, at `address`, which is also its place in our files."""

    name: str
    flags: int
    data: bytearray
    align: int = 1
    kind: int = 1
    link: str = ""
    info: int = 0
    entry: int = 0
    relocations: list[tuple[int, int, int, int]] = field(default_factory=list)  # offset, symbol, kind, addend
    address: int = 0

    @property
    def end(self) -> int:
        """Behind its last byte."""
        return self.address + len(self.data)


@dataclass(frozen=True)
class Symbol:
    """A name: where it is in which section (by number; 0: in another library)."""

    name: str
    section: int
    value: int
    size: int
    is_global: bool


@dataclass(frozen=True)
class ElfObject:
    """An object file: sections by number."""

    machine: int
    sections: dict[int, Section]
    symbols: list[Symbol]


def read_elf(data: bytes) -> ElfObject:
    """What an object has. Tables for exceptions are left out: none passes our functions."""
    if data[:6] != b"\x7fELF\x02\x01":
        raise CompileError("LLVM made no ELF object of 64 bits.")
    (machine,) = struct.unpack_from("<H", data, 18)
    (table,), (width, count, names) = struct.unpack_from("<Q", data, 40), struct.unpack_from("<HHH", data, 58)
    heads = [struct.unpack_from("<IIQQQQIIQQ", data, table + i * width) for i in range(count)]

    def text(base: int, offset: int) -> str:
        return data[base + offset : data.index(b"\0", base + offset)].decode()

    sections: dict[int, Section] = {}
    symbols: list[Symbol] = []
    for i, (name, kind, flags, _, offset, size, link, _, align, _) in enumerate(heads):
        label = text(heads[names][4], name)
        if flags & ALLOC and size and not label.startswith(".eh_frame"):
            body = bytearray(size) if kind == _NO_BITS else bytearray(data[offset : offset + size])
            sections[i] = Section(label, flags & (WRITE | ALLOC | EXECUTE), body, max(align, 1))
        if kind == _SYMBOLS:
            for k in range(offset, offset + size, 24):
                place, info, _, where, value, length = struct.unpack_from("<IBBHQQ", data, k)
                symbols.append(Symbol(text(heads[link][4], place), where, value, length, info >> 4 > 0))
    for _, kind, _, _, offset, size, _, target, _, _ in heads:
        if kind == _RELOCATIONS and target in sections:
            for k in range(offset, offset + size, 24):
                place, word, addend = struct.unpack_from("<QQq", data, k)
                sections[target].relocations.append((place, word >> 32, word & 0xFFFFFFFF, addend))
    return ElfObject(machine, sections, symbols)
