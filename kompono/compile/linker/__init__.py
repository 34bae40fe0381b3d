"""Object files to loadable libraries, without a linker: LLVM writes objects, this places them and fills addresses in.

One object becomes one library that exports some of its functions and takes the rest from the C library: `elf_library`
for Linux (x86-64 and AArch64), `pe_library` for Windows (x86-64). That is all an FMU needs, and much less than a linker
can do: no archives, no versions of symbols, no storage of threads, no exceptions. What an object has and we do not know
is refused by name.
"""

from __future__ import annotations

from kompono.compile.linker.elf import elf_library
from kompono.compile.linker.pe import pe_library

__all__ = ["elf_library", "pe_library"]
