"""Libraries made without a linker: they load, export what they shall, and know what they need."""

from __future__ import annotations

import ctypes
import platform
import struct
import sys
from pathlib import Path

import pytest

from kompono.compile.assembler import emit
from kompono.compile.fmi import PLATFORMS, _machine
from kompono.compile.linker import elf_library, pe_library
from kompono.errors import CompileError

TEXT = """
declare double @llvm.sin.f64(double)
declare i64 @strlen(ptr)
@word = private constant [6 x i8] c"seven\\00"
@table = internal global [2 x ptr] [ptr @word, ptr @hidden]
@count = internal global i64 0
define internal double @hidden(double %x) nounwind noinline {
  %y = call double @llvm.sin.f64(double %x)
  ret double %y
}
define i64 @length() nounwind {
  %word = load volatile ptr, ptr @table
  %n = call i64 @strlen(ptr %word)
  ret i64 %n
}
define double @through(double %x) nounwind {
  %place = getelementptr ptr, ptr @table, i64 1
  %f = load volatile ptr, ptr %place
  %y = call double %f(double %x)
  ret double %y
}
define i64 @counted() nounwind {
  %old = load i64, ptr @count
  %new = add i64 %old, 1
  store i64 %new, ptr @count
  ret i64 %new
}
define double @deep(i64 %i) nounwind {
  %room = alloca [4000 x double]
  %place = getelementptr double, ptr %room, i64 %i
  store volatile double 3.0, ptr %place
  %y = load volatile double, ptr %place
  ret double %y
}
"""
NAMES = ("counted", "deep", "length", "through")


def made(name: str) -> bytes:
    target = PLATFORMS[name]
    return emit(f'target triple = "{target.triple}"\n{TEXT}', _machine(target), loops=True)


@pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() not in ("x86_64", "aarch64"), reason="loads a library for Linux"
)
def test_it_loads_and_runs(tmp_path: Path) -> None:
    file = tmp_path / "tiny.so"
    file.write_bytes(elf_library(made(f"{platform.machine()}-linux"), "tiny.so", NAMES))
    library = ctypes.CDLL(str(file))
    for name in ("through", "deep"):
        getattr(library, name).restype = ctypes.c_double
    assert library.length() == 5
    assert library.through(ctypes.c_double(0.5)) == pytest.approx(0.479425538604203, abs=1e-15)
    assert [library.counted() for _ in range(3)] == [1, 2, 3]
    assert library.deep(ctypes.c_int64(3999)) == 3.0
    assert not hasattr(library, "hidden")


@pytest.mark.parametrize(("name", "machine"), [("x86_64-linux", "EM_X86_64"), ("aarch64-linux", "EM_AARCH64")])
def test_tools_can_read_it(name: str, machine: str, tmp_path: Path) -> None:
    reader = pytest.importorskip("elftools.elf.elffile")
    file = tmp_path / "tiny.so"
    file.write_bytes(elf_library(made(name), "tiny.so", NAMES))
    with file.open("rb") as stream:
        found = reader.ELFFile(stream)
        assert found["e_machine"] == machine
        symbols = list(found.get_section_by_name(".dynsym").iter_symbols())
        assert {s.name for s in symbols if s["st_shndx"] not in ("SHN_UNDEF",)} == set(NAMES)
        assert {"sin", "strlen"} <= {s.name for s in symbols if s["st_shndx"] == "SHN_UNDEF"}
        loaded = [s for s in found.iter_segments() if s["p_type"] == "PT_LOAD"]
        assert [s["p_flags"] for s in loaded] == [4, 5, 6]  # nothing is both written and run


def test_a_dll_names_what_it_gives_and_needs() -> None:
    data = pe_library(made("x86_64-windows"), "tiny.dll", NAMES)
    assert data[:2] == b"MZ"
    head = struct.unpack_from("<I", data, 60)[0]
    assert struct.unpack_from("<4sH", data, head) == (b"PE\0\0", 0x8664)
    assert [name for name in NAMES if name.encode() + b"\0" not in data] == []
    assert b"ucrtbase.dll\0" in data
    assert b"strlen\0" in data
    assert b"__chkstk" not in data  # a frame of 32 kB calls our own


def test_what_is_missing_is_named() -> None:
    for link, name in ((elf_library, "x86_64-linux"), (pe_library, "x86_64-windows")):
        with pytest.raises(CompileError, match="no function absent"):
            link(made(name), "tiny", ["absent"])


def test_an_object_of_another_kind_is_refused() -> None:
    with pytest.raises(CompileError, match="no ELF object"):
        elf_library(made("x86_64-windows"), "tiny.so", NAMES)
    with pytest.raises(CompileError, match="no COFF object"):
        pe_library(made("aarch64-linux"), "tiny.dll", NAMES)
