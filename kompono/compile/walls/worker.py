"""The program of a worker process: take machine code, lock yourself up, answer.

It is run as a file and imports llvmlite alone: no threads, a start of a tenth of a second, and nothing of its user in
its memory but what it is sent. Messages on its socket are a line of JSON and the bytes it announces:

    {"objects": [sizes], "symbols": [[place, name], ...], "locks": [sizes]}

The first message brings the loop that answers and, where there are walls, the programs of the two locks (see
`filters`), of which the first is closed before any other code is looked at. Code that cannot be linked is told in
memory both processes have, where results come otherwise.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import signal
import sys
from typing import Any

READY, TAKEN = 32, 64 + (1 << 22)  # words of the memory (see `channel`)
SERVE = "kompono.serve"
MORE = 1
MOST = 4096  # functions
HEAP = 1 << 31  # bytes a locked worker may have
_NO_NEW_PRIVILEGES, _SECCOMP, _FILTER = 38, 22, 2


class Reader:
    """Messages on a socket. Bytes of nothing before one are calls to wake up that came too late."""

    def __init__(self, file: int) -> None:
        self.file, self._rest = file, b""

    def _more(self) -> None:
        data = os.read(self.file, 1 << 20)
        if not data:
            os._exit(0)  # nobody is there any more
        self._rest += data

    def message(self) -> tuple[dict[str, Any], list[bytes]]:
        """The next message and its parts."""
        while b"\n" not in self._rest.lstrip(b"\0"):
            self._more()
        line, _, self._rest = self._rest.lstrip(b"\0").partition(b"\n")
        head = json.loads(line)
        return head, [self._take(size) for size in (*head["locks"], *head["objects"])]

    def _take(self, size: int) -> bytes:
        while len(self._rest) < size:
            self._more()
        data, self._rest = self._rest[:size], self._rest[size:]
        return data


class Linker:
    """Objects to addresses; what it linked stays."""

    def __init__(self) -> None:
        import llvmlite.binding as llvm

        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        target = llvm.Target.from_triple(llvm.get_process_triple())
        self._machine = target.create_target_machine(opt=2, reloc="pic", codemodel="small", jit=True)
        self._linker = llvm.create_lljit_compiler(self._machine, use_jit_link=True, suppress_errors=True)
        self._llvm, self._kept = llvm, []

    def link(self, objects: list[bytes], names: list[str]) -> list[int]:
        """The addresses of some functions of these objects."""
        builder = self._llvm.JITLibraryBuilder().add_current_process()
        for name in names:
            builder.export_symbol(name)
        for data in objects:
            builder.add_object_img(data)
        library = builder.link(self._linker, f"kompono.{len(self._kept)}")
        self._kept.append(library)
        return [library[name] for name in names]


def lock(program: bytes) -> None:
    """Let the kernel end this process if it does what the program does not allow; there is no way back."""

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("lines", ctypes.c_char_p))

    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl.argtypes = [ctypes.c_int, *[ctypes.c_void_p] * 4]
    if libc.prctl(_NO_NEW_PRIVILEGES, 1, None, None, None):
        raise OSError(ctypes.get_errno(), "no_new_privs")
    if libc.prctl(_SECCOMP, _FILTER, ctypes.addressof(Program(len(program) // 8, program)), None, None):
        raise OSError(ctypes.get_errno(), "seccomp")


def limit() -> None:
    """Memory, and no image of it on disk."""
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_DATA, (HEAP, HEAP))


def serve(reader: Reader, memory: int) -> None:
    """Take code and answer until the owner is gone."""
    words = (ctypes.c_int64 * 64).from_address(memory)
    linker = Linker()
    head, parts = reader.message()
    locks = parts[: len(head["locks"])]
    (answer,) = linker.link(parts[len(locks) :], [SERVE])
    table = (ctypes.c_void_p * MOST)()
    given = (ctypes.c_int64 * 3)(memory, ctypes.addressof(table), reader.file)
    loop = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(answer)
    if locks:
        limit()
        lock(locks[0])
    while True:
        head, objects = reader.message()
        places = head["symbols"]
        try:
            for (place, _), address in zip(places, linker.link(objects, [n for _, n in places]), strict=True):
                table[place] = address
        except RuntimeError as error:
            text = str(error).encode()[:1900]
            ctypes.memmove(memory + 8 * TAKEN, text + b"\0", len(text) + 1)
            words[READY] = -1
        else:
            if len(locks) > 1:
                lock(locks[1])
                locks = locks[:1]
            words[READY] += 1
        if loop(given) != MORE:
            os._exit(0)


def main() -> None:
    """Arguments: the numbers of the socket and of the memory, its size, where llvmlite is."""
    socket, file, size = map(int, sys.argv[1:4])
    sys.path.append(sys.argv[4])
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    memory = mmap.mmap(file, size)
    os.close(file)
    start = ctypes.c_char.from_buffer(memory)
    nowhere = os.open(os.devnull, os.O_RDWR)
    serve_from = Reader(socket)
    import llvmlite.binding  # noqa: F401 (while errors can still be seen)

    os.dup2(nowhere, 2)
    os.close(nowhere)
    serve(serve_from, ctypes.addressof(start))


if __name__ == "__main__":
    main()
