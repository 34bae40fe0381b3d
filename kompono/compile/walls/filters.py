"""What the kernel lets a worker do (Linux): programs of seccomp, which end the process at any other call.

There are two, because machine code of a stranger must not even be linked outside the wall: damaged objects crash the
linker. While code is linked, memory may be asked for; while it runs, nothing may but to read and write the one socket,
which leads to the process that started it, and to end. No file can be opened, no process started or signalled.
"""

from __future__ import annotations

import platform
import struct
import sys

_LOAD, _JUMP_EQUAL, _JUMP_ABOVE, _RETURN = 0x20, 0x15, 0x35, 0x06  # of words, with constants
_ALLOW, _KILL = 0x7FFF0000, 0x80000000  # the process
_NUMBER, _ARCHITECTURE, _FIRST = 0, 4, 16  # offsets in the description of a call; of its first argument, low half
_OTHER_TABLE = 0x40000000  # numbers of the 32-bit interface of x86-64 begin here

# name of the machine: its number, and those of calls
_MACHINES = {
    "x86_64": (0xC000003E, {
        "read": 0, "write": 1, "mmap": 9, "mprotect": 10, "munmap": 11, "brk": 12, "rt_sigprocmask": 14,
        "mremap": 25, "madvise": 28, "exit": 60, "prctl": 157, "futex": 202, "exit_group": 231,
        "getpid": 39, "gettid": 186, "clock_gettime": 228, "getrandom": 318, "rt_sigreturn": 15,
    }),
    "aarch64": (0xC00000B7, {
        "read": 63, "write": 64, "mmap": 222, "mprotect": 226, "munmap": 215, "brk": 214, "rt_sigprocmask": 135,
        "mremap": 216, "madvise": 233, "exit": 93, "prctl": 167, "futex": 98, "exit_group": 94,
        "getpid": 172, "gettid": 178, "clock_gettime": 113, "getrandom": 278, "rt_sigreturn": 139,
    }),
}  # fmt: skip
_RUNNING = ("exit", "exit_group")
_LINKING = (
    *_RUNNING, "mmap", "mprotect", "munmap", "brk", "mremap", "madvise", "prctl", "futex", "getpid", "gettid",
    "clock_gettime", "getrandom", "rt_sigprocmask", "rt_sigreturn",
)  # fmt: skip


def available() -> bool:
    """Whether this system can lock a process up."""
    return sys.platform == "linux" and platform.machine() in _MACHINES


def linking(socket: int) -> bytes:
    """While machine code is linked; `socket` is the only file that may be read or written."""
    return _program(_LINKING, socket)


def running(socket: int) -> bytes:
    """While it runs."""
    return _program(_RUNNING, socket)


def _program(names: tuple[str, ...], socket: int) -> bytes:
    """Instructions of eight bytes: code, jump if true, jump if false, constant."""
    architecture, numbers = _MACHINES[platform.machine()]
    allowed = [numbers[name] for name in names]
    lines: list[tuple[int, int, int, int]] = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_JUMP_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
        (_JUMP_ABOVE, 0, 1, _OTHER_TABLE),
        (_RETURN, 0, 0, _KILL),
    ]
    for number in allowed:
        lines += [(_JUMP_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ALLOW)]
    lines += [
        (_JUMP_EQUAL, 2, 0, numbers["read"]),
        (_JUMP_EQUAL, 1, 0, numbers["write"]),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _FIRST),
        (_JUMP_EQUAL, 0, 1, socket),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _KILL),
    ]
    return b"".join(struct.pack("<HBBI", *line) for line in lines)
