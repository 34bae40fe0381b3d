"""Addresses inside ELF code: how each kind of place is filled in, and the stubs through which imports are called.

Numbers of kinds are those of the ABIs of x86-64 (R_X86_64_*) and AArch64 (R_AARCH64_*).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from kompono.compile.linker.elf_object import AARCH64, X86_64
from kompono.errors import CompileError

GLOB_DAT = {X86_64: 6, AARCH64: 1025}  # the loader writes the address of a symbol
RELATIVE = {X86_64: 8, AARCH64: 1027}  # the loader adds where the library begins
_ABSOLUTE = {X86_64: 1, AARCH64: 257}
_LOW = {277: 0, 278: 0, 284: 1, 285: 2, 286: 3, 299: 4}  # low bits of an address, scaled by the access


@dataclass(frozen=True)
class Place:
    """A place to fill in: in which bytes, at which address it will be, and what it is about."""

    data: bytearray
    offset: int
    address: int
    kind: int
    target: int  # address of the symbol
    addend: int
    slot: int | None  # address of the word that holds the address of an import


def is_absolute(machine: int, kind: int) -> bool:
    """Whether this is a whole address, for the loader to fill in."""
    return kind == _ABSOLUTE[machine]


def fill_in(machine: int, place: Place) -> None:
    """Write what is known before the library is loaded."""
    (_x86 if machine == X86_64 else _arm)(place)


def _x86(place: Place) -> None:
    data, offset, kind = place.data, place.offset, place.kind
    if kind in (2, 4):  # PC32, PLT32
        value = place.target
    elif kind in (9, 41, 42) and place.slot is not None:  # GOTPCREL, GOTPCRELX, REX_GOTPCRELX of an import
        value = place.slot
    elif kind in (9, 41, 42) and data[offset - 2] == 0x8B:  # of our own: mov becomes lea
        data[offset - 2], value = 0x8D, place.target
    else:
        raise CompileError(f"the object has a relocation {kind} of x86-64, which we do not know.")
    struct.pack_into("<i", data, offset, value + place.addend - place.address)


def _arm(place: Place) -> None:
    kind, target, here = place.kind, place.target + place.addend, place.address
    (old,) = struct.unpack_from("<I", place.data, place.offset)
    if kind in (282, 283):  # JUMP26, CALL26
        new = old & ~0x3FFFFFF | ((target - here) >> 2 & 0x3FFFFFF)
    elif kind in (275, 276):  # ADR_PREL_PG_HI21
        new = _page(old, (target >> 12) - (here >> 12))
    elif kind == 311 and place.slot is not None:  # ADR_GOT_PAGE
        new = _page(old, (place.slot >> 12) - (here >> 12))
    elif kind == 312 and place.slot is not None:  # LD64_GOT_LO12_NC
        new = old & ~(0xFFF << 10) | (place.slot & 0xFFF) >> 3 << 10
    elif kind in _LOW:
        new = old & ~(0xFFF << 10) | (target & 0xFFF) >> _LOW[kind] << 10
    elif kind == 261:  # PREL32
        new = target - here & 0xFFFFFFFF
    else:
        raise CompileError(f"the object has a relocation {kind} of AArch64, which we do not know.")
    struct.pack_into("<I", place.data, place.offset, new)


def _page(instruction: int, pages: int) -> int:
    """An adrp of so many pages."""
    return instruction & ~0x60FFFFE0 | (pages & 3) << 29 | (pages >> 2 & 0x7FFFF) << 5


def stub(machine: int, at: int, slot: int) -> bytes:
    """Sixteen bytes that go on wherever a slot says."""
    if machine == X86_64:  # jmp *slot(%rip)
        return b"\xff\x25" + struct.pack("<i", slot - at - 6) + b"\xcc" * 10
    pages, low = (slot >> 12) - (at >> 12), slot & 0xFFF  # adrp x16; ldr x17, [x16, low]; br x17; nop
    return struct.pack("<IIII", _page(0x90000010, pages), 0xF9400211 | (low >> 3) << 10, 0xD61F0220, 0xD503201F)
