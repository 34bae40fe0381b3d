"""An ELF object as a shared library for Linux.

Three segments: what is read (tables of the loader, constants), code (with a stub for each imported function), what is
written (data, addresses of imports, the list the loader begins with). The place of a byte in the file is its address.
Behind them come the headers of the sections, which no loader needs, but `nm`, `objdump` and debuggers do.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence

from kompono.compile.linker.elf_object import AARCH64, ALLOC, EXECUTE, WRITE, X86_64, ElfObject, Section, read_elf
from kompono.compile.linker.elf_relocation import GLOB_DAT, RELATIVE, Place, fill_in, is_absolute, stub
from kompono.errors import CompileError

_PAGE = {X86_64: 0x1000, AARCH64: 0x10000}  # AArch64 kernels may use pages of 64 kB
_HEAD, _SEGMENTS = 64, 5
_STRINGS, _RELA, _HASH, _DYNAMIC, _DYNSYM = 3, 4, 5, 6, 11  # kinds of sections


def elf_library(
    data: bytes, name: str, exports: Iterable[str], needed: Sequence[str] = ("libm.so.6", "libc.so.6")
) -> bytes:
    """The object `data` as the library `name` that exports these functions and takes what it lacks from `needed`."""
    return _Linking(read_elf(data), name, set(exports), needed).image()


class _Linking:
    """One object on its way to a library."""

    def __init__(self, found: ElfObject, name: str, exports: set[str], needed: Sequence[str]) -> None:
        self.object, self.machine, symbols = found, found.machine, found.symbols
        used = {r[1] for section in found.sections.values() for r in section.relocations}
        self.imports = [i for i, s in enumerate(symbols) if i in used and s.section == 0 and s.name]
        self.exports = [i for i, s in enumerate(symbols) if s.section in found.sections and s.name in exports]
        missing = exports - {symbols[i].name for i in self.exports}
        if missing:
            raise CompileError(f"the object has no function {min(missing)}.")
        self.strings = bytearray(b"\0")
        self.labels = {i: self._word(symbols[i].name) for i in (*self.imports, *self.exports)}
        self.soname, self.needed = self._word(name), [self._word(library) for library in needed]
        self._make_sections()

    def _word(self, text: str) -> int:
        self.strings.extend(text.encode() + b"\0")
        return len(self.strings) - len(text) - 1

    def _make_sections(self) -> None:
        """All sections in order; their sizes are right, their contents come when addresses are known."""
        ours, count = self.object.sections.values(), len(self.labels) + 1
        absolute = sum(is_absolute(self.machine, r[2]) for section in ours for r in section.relocations)
        self.dynsym = Section(".dynsym", ALLOC, bytearray(24 * count), 8, _DYNSYM, ".dynstr", 1, 24)
        self.dynstr = Section(".dynstr", ALLOC, self.strings, 1, _STRINGS)
        self.hash = Section(".hash", ALLOC, bytearray(4 * (3 + count)), 8, _HASH, ".dynsym", 0, 4)
        self.rela = Section(
            ".rela.dyn", ALLOC, bytearray(24 * (len(self.imports) + absolute)), 8, _RELA, ".dynsym", 0, 24
        )
        self.plt = Section(".plt", ALLOC | EXECUTE, bytearray(16 * len(self.imports)), 16)
        self.got = Section(".got", ALLOC | WRITE, bytearray(8 * len(self.imports)), 16, entry=8)
        self.dynamic = Section(
            ".dynamic", ALLOC | WRITE, bytearray(16 * (len(self.needed) + 11)), 8, _DYNAMIC, ".dynstr", 0, 16
        )
        read = [self.dynsym, self.dynstr, self.hash, self.rela, *(s for s in ours if not s.flags & (WRITE | EXECUTE))]
        run = [*(s for s in ours if s.flags & EXECUTE), self.plt]
        write = [*(s for s in ours if s.flags & WRITE), self.got, self.dynamic]
        self.groups = read, run, write

    @property
    def sections(self) -> list[Section]:
        """All that go into memory."""
        return [section for group in self.groups for section in group]

    def image(self) -> bytes:
        """The file."""
        place = _HEAD + 56 * _SEGMENTS
        for number, group in enumerate(self.groups):
            place = _up(place, _PAGE[self.machine]) if number else place
            for section in group:
                section.address = place = _up(place, section.align)
                place = section.end
        slots = {i: self.got.address + 8 * k for k, i in enumerate(self.imports)}
        self.doors = {i: self.plt.address + 16 * k for k, i in enumerate(self.imports)}
        for k, i in enumerate(self.imports):
            self.plt.data[16 * k : 16 * k + 16] = stub(self.machine, self.doors[i], slots[i])
        self._relocate(slots)
        self._name()
        self._tell_loader()
        return self._written()

    def _address(self, i: int) -> int:
        symbol = self.object.symbols[i]
        if symbol.section == 0:
            return self.doors[i]
        return self.object.sections[symbol.section].address + symbol.value

    def _relocate(self, slots: dict[int, int]) -> None:
        order = list(self.labels)
        entries = [(slots[i], (order.index(i) + 1) << 32 | GLOB_DAT[self.machine], 0) for i in self.imports]
        for section in self.object.sections.values():
            for offset, i, kind, addend in section.relocations:
                here = section.address + offset
                if is_absolute(self.machine, kind):
                    entries.append((here, RELATIVE[self.machine], self._address(i) + addend))
                else:
                    place = Place(section.data, offset, here, kind, self._address(i), addend, slots.get(i))
                    fill_in(self.machine, place)
        self.rela.data[:] = b"".join(struct.pack("<QQq", *entry) for entry in entries)

    def _name(self) -> None:
        """Symbols, and a table of one bucket to find them in."""
        numbers = {id(section): k for k, section in enumerate(self.sections, 1)}
        rows = [bytes(24)]
        for i, label in self.labels.items():
            symbol = self.object.symbols[i]
            where = 0, 0
            if symbol.section:
                where = numbers[id(self.object.sections[symbol.section])], self._address(i)
            rows.append(struct.pack("<IBBHQQ", label, 0x12, 0, *where, symbol.size))
        self.dynsym.data[:] = b"".join(rows)
        count = len(rows)
        chain = [0, *(k + 1 if k + 1 < count else 0 for k in range(1, count))]
        self.hash.data[:] = struct.pack(f"<{3 + count}I", 1, count, 1 if count > 1 else 0, *chain)

    def _tell_loader(self) -> None:
        size = {s.name: len(s.data) for s in (self.dynstr, self.rela)}
        entries = [*((1, word) for word in self.needed), (14, self.soname), (4, self.hash.address)]
        entries += [(5, self.dynstr.address), (6, self.dynsym.address), (10, size[".dynstr"]), (11, 24)]
        entries += [(7, self.rela.address), (8, size[".rela.dyn"]), (9, 24), (24, 0), (0, 0)]  # 24: bind all at once
        self.dynamic.data[:] = b"".join(struct.pack("<QQ", *entry) for entry in entries)

    def _written(self) -> bytes:
        sections = self.sections
        words, places = bytearray(b"\0"), {}
        for name in (*(section.name for section in sections), ".shstrtab"):
            places[name] = len(words)
            words.extend(name.encode() + b"\0")
        names = Section(".shstrtab", 0, words, 1, _STRINGS, address=sections[-1].end)
        table = _up(names.end, 8)
        image = bytearray(table)
        for section in (*sections, names):
            image[section.address : section.end] = section.data
        index = {section.name: k for k, section in enumerate(sections, 1)}
        image += bytes(64)
        for s in (*sections, names):
            address = s.address if s.flags & ALLOC else 0
            image += struct.pack(
                "<IIQQQQIIQQ", places[s.name], s.kind, s.flags, address, s.address, len(s.data), index.get(s.link, 0),
                s.info, s.align, s.entry,
            )  # fmt: skip
        count = len(sections) + 2
        ident = b"\x7fELF\x02\x01\x01" + bytes(9)
        head = (ident, 3, self.machine, 1, 0, _HEAD, table, 0, _HEAD, 56, _SEGMENTS, 64, count, count - 1)
        image[:_HEAD] = struct.pack("<16sHHIQQQIHHHHHH", *head)
        image[_HEAD : _HEAD + 56 * _SEGMENTS] = self._segments()
        return bytes(image)

    def _segments(self) -> bytes:
        (read, run, write), page = self.groups, _PAGE[self.machine]
        spans = [(1, 4, 0, read[-1].end, page), (1, 5, _floor(run[0].address, page), run[-1].end, page)]
        spans += [(1, 6, _floor(write[0].address, page), write[-1].end, page)]
        spans += [(2, 6, self.dynamic.address, self.dynamic.end, 8), (0x6474E551, 6, 0, 0, 16)]  # no stack with code
        return b"".join(
            struct.pack("<IIQQQQQQ", kind, flags, begin, begin, begin, end - begin, end - begin, align)
            for kind, flags, begin, end, align in spans
        )


def _up(value: int, to: int) -> int:
    return -(-value // to) * to


def _floor(value: int, to: int) -> int:
    return value // to * to
