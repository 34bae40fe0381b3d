"""A COFF object as a DLL for Windows on x86-64.

Functions the object lacks come from one library of the system. One of them no library has: `__chkstk`, which touches
the stack page by page before a function takes more than one page of it, because Windows gives a stack page by page.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass

from kompono.compile.linker.coff_object import CODE, WRITABLE, Section, Symbol, read_coff
from kompono.errors import CompileError

PAGE, FILE, BASE = 0x1000, 0x200, 0x180000000
_CODE, _CONSTANT, _DATA, _DISCARDED = 0x60000020, 0x40000040, 0xC0000040, 0x42000040  # flags of what is loaded
_EXPORTS, _IMPORTS, _UNWINDING, _RELOCATIONS, _ADDRESSES = 0, 1, 3, 5, 12  # directories
_OWN = {
    "__chkstk": bytes.fromhex(
        "51 50"  # push rcx; push rax (the size, to be kept)
        "48 3D 00 10 00 00 48 8D 4C 24 18 72 18"  # cmp rax, 4096; lea rcx, [rsp + 24]; jb last
        "48 81 E9 00 10 00 00 48 85 09"  # page: sub rcx, 4096; test [rcx], rcx
        "48 2D 00 10 00 00 48 3D 00 10 00 00 77 E8"  # sub rax, 4096; cmp rax, 4096; ja page
        "48 29 C1 48 85 09 58 59 C3"  # last: sub rcx, rax; test [rcx], rcx; pop rax; pop rcx; ret
    )
}


@dataclass
class _Loaded:
    """A section of the DLL."""

    name: str
    flags: int
    address: int
    data: bytearray


def pe_library(data: bytes, name: str, exports: Iterable[str], needed: str = "ucrtbase.dll") -> bytes:
    """The object `data` as the DLL `name` that exports these functions and takes what it lacks from `needed`."""
    return _Linking(data, needed).image(name, sorted(exports))


class _Linking:
    """One object on its way to a DLL."""

    def __init__(self, data: bytes, needed: str) -> None:
        sections, self.symbols = read_coff(data)
        self.sections = {k: s for k, s in sections.items() if s.name not in (".llvm_addrsig", ".drectve")}
        self.needed = needed
        used = {i for s in self.sections.values() for _, i, _ in s.relocations}
        outside = {self.symbols[i].name for i in used if self.symbols[i].section == 0}
        self.imports = sorted(outside - set(_OWN))
        self.own = sorted(outside & set(_OWN))
        self.doors: dict[str, int] = {}
        self.loaded: list[_Loaded] = []
        self.directories = [(0, 0)] * 16

    def image(self, name: str, exports: list[str]) -> bytes:
        """The file."""
        self._place()
        self._import()
        self._export(name, exports)
        self._relocate()
        return self._written()

    def _add(self, name: str, flags: int, data: bytearray) -> _Loaded:
        last = self.loaded[-1] if self.loaded else None
        address = PAGE if last is None else last.address + _up(len(last.data), PAGE)
        self.loaded.append(_Loaded(name, flags, address, data))
        return self.loaded[-1]

    @property
    def _next(self) -> int:
        """The address of the section that is added next."""
        return self.loaded[-1].address + _up(len(self.loaded[-1].data), PAGE)

    def _place(self) -> None:
        """Code with the ways out of it, constants, data, and how to unwind the stack."""

        def group(section: Section) -> str:
            if section.name == ".pdata":
                return ".pdata"
            return ".text" if section.flags & CODE else ".data" if section.flags & WRITABLE else ".rdata"

        for label, flags in ((".text", _CODE), (".rdata", _CONSTANT), (".data", _DATA), (".pdata", _CONSTANT)):
            members = [s for s in self.sections.values() if group(s) == label]
            if not members:
                continue
            made = self._add(label, flags, bytearray())
            for section in members:
                made.data.extend(bytes(-len(made.data) % section.align))
                section.address = made.address + len(made.data)
                made.data.extend(section.data)
            if label == ".text":
                for word, code in [(word, bytes(6)) for word in self.imports] + [(w, _OWN[w]) for w in self.own]:
                    made.data.extend(b"\xcc" * (-len(made.data) % 16))
                    self.doors[word] = made.address + len(made.data)
                    made.data.extend(code)
            if label == ".pdata":
                self.directories[_UNWINDING] = made.address, len(made.data)

    def _import(self) -> None:
        """Descriptor and its end, names to look up, addresses the loader fills in, the names themselves."""
        count, address = len(self.imports), self._next
        data = bytearray(40 + 16 * (count + 1))
        lookup, slots = 40, 40 + 8 * (count + 1)
        for k, word in enumerate(self.imports):
            for table in (lookup, slots):
                struct.pack_into("<Q", data, table + 8 * k, address + len(data))
            data.extend(b"\0\0" + word.encode() + b"\0" * (2 - len(word) % 2))
        struct.pack_into("<IIIII", data, 0, address + lookup, 0, 0, address + len(data), address + slots)
        data.extend(self.needed.encode() + b"\0")
        self.directories[_IMPORTS] = address, 40
        self.directories[_ADDRESSES] = address + slots, 8 * (count + 1)
        code = next(one for one in self.loaded if one.name == ".text")
        for k, word in enumerate(self.imports):  # jmp *slot(%rip)
            door = self.doors[word]
            jump = b"\xff\x25" + struct.pack("<i", address + slots + 8 * k - door - 6)
            code.data[door - code.address : door - code.address + 6] = jump
        self._add(".idata", _DATA, data)

    def _where(self, symbol: Symbol) -> int:
        if symbol.section == 0:
            return self.doors[symbol.name]
        return self.sections[symbol.section].address + symbol.value

    def _export(self, name: str, exports: list[str]) -> None:
        known = {s.name: s for s in self.symbols.values() if s.section in self.sections and s.is_global}
        missing = [word for word in exports if word not in known]
        if missing:
            raise CompileError(f"the object has no function {missing[0]}.")
        count, address = len(exports), self._next
        data = bytearray(40 + 10 * count)
        functions, pointers, ordinals = 40, 40 + 4 * count, 40 + 8 * count
        for k, word in enumerate(exports):
            struct.pack_into("<I", data, functions + 4 * k, self._where(known[word]))
            struct.pack_into("<I", data, pointers + 4 * k, address + len(data))
            struct.pack_into("<H", data, ordinals + 2 * k, k)
            data.extend(word.encode() + b"\0")
        tables = address + functions, address + pointers, address + ordinals
        struct.pack_into("<IIHHIIIIIII", data, 0, 0, 0, 0, 0, address + len(data), 1, count, count, *tables)
        data.extend(name.encode() + b"\0")
        self.directories[_EXPORTS] = address, len(data)
        self._add(".edata", _CONSTANT, data)

    def _relocate(self) -> None:
        """Fill addresses in, and list those that change if the DLL is loaded elsewhere."""
        absolute: list[int] = []
        for section in self.sections.values():
            loaded = next(one for one in reversed(self.loaded) if one.address <= section.address)
            for offset, i, kind in section.relocations:
                here, target = section.address + offset, self._where(self.symbols[i])
                _fill_in(loaded.data, here - loaded.address, here, target, kind)
                if kind == 1:
                    absolute.append(here)
        data = bytearray()
        for page in sorted({address // PAGE for address in absolute} or {1}):
            entries = [0xA000 | address % PAGE for address in absolute if address // PAGE == page] or [0]
            entries += [0] * (len(entries) % 2)
            data.extend(struct.pack(f"<II{len(entries)}H", page * PAGE, 8 + 2 * len(entries), *entries))
        self.directories[_RELOCATIONS] = self._next, len(data)
        self._add(".reloc", _DISCARDED, data)

    def _written(self) -> bytes:
        head = bytearray(64)
        head[:2] = b"MZ"
        struct.pack_into("<I", head, 60, 64)
        code = sum(len(one.data) for one in self.loaded if one.flags == _CODE)
        head += b"PE\0\0" + struct.pack("<HHIIIHH", 0x8664, len(self.loaded), 0, 0, 0, 240, 0x2022)
        head += struct.pack("<HBBIIIII", 0x20B, 14, 0, code, 0, 0, 0, PAGE)
        head += struct.pack("<QIIHHHHHHIIIIHH", BASE, PAGE, FILE, 6, 0, 0, 0, 6, 0, 0, self._next, PAGE, 0, 2, 0x160)
        head += struct.pack("<QQQQII", 0x100000, 0x1000, 0x100000, 0x1000, 0, 16)
        head += b"".join(struct.pack("<II", *entry) for entry in self.directories)
        first, body = _up(len(head) + 40 * len(self.loaded), FILE), bytearray()
        for one in self.loaded:
            size, label = _up(len(one.data), FILE), one.name.encode()
            row = (label, len(one.data), one.address, size, first + len(body), 0, 0, 0, 0, one.flags)
            head += struct.pack("<8sIIIIIIHHI", *row)
            body += one.data + bytes(size - len(one.data))
        struct.pack_into("<I", head, 64 + 24 + 60, first)  # size of the headers
        return bytes(head + bytes(first - len(head)) + body)


def _fill_in(data: bytearray, place: int, here: int, target: int, kind: int) -> None:
    """Kinds are those of x86-64 (IMAGE_REL_AMD64_*)."""
    (old,) = struct.unpack_from("<i", data, place)
    if kind == 1:  # ADDR64
        struct.pack_into("<q", data, place, BASE + target + struct.unpack_from("<q", data, place)[0])
    elif kind == 3:  # ADDR32NB
        struct.pack_into("<i", data, place, old + target)
    elif 4 <= kind <= 9:  # REL32 to REL32_5
        struct.pack_into("<i", data, place, old + target - here - 4 - (kind - 4))
    else:
        raise CompileError(f"the object has a relocation {kind} of x86-64 for Windows, which we do not know.")


def _up(value: int, to: int) -> int:
    return -(-value // to) * to
