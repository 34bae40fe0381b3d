"""What the kernel lets the process of an isolated FMU do (Linux): a program of seccomp that refuses all other calls.

A library is loaded, and may read files as Python or a solver beside it needs them. Nothing may be written, no process
started or signalled, no connection opened: what it computes goes back to who asked, and nowhere else. A call that is
refused fails as if the user had no right to it.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import sys

_LOAD, _EQUAL, _ABOVE, _ANY, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _REFUSE, _UNKNOWN = 0x7FFF0000, 0x00050001, 0x00050026  # EPERM; ENOSYS: the C library then asks for `clone`
_NUMBER, _ARCHITECTURE, _FIRST, _SECOND, _THIRD = 0, 4, 16, 24, 32  # offsets; of arguments their low halves
_OTHER_TABLE = 0x40000000
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_THREAD = 0x10000  # of the flags of `clone`: a thread of this process
HEAP = 4 << 30  # bytes

# name of the machine: its number, those of calls that may be made, and of calls with rules of their own
_MACHINES = {
    "x86_64": (0xC000003E, {
        "read": 0, "write": 1, "close": 3, "stat": 4, "fstat": 5, "lstat": 6, "poll": 7, "lseek": 8, "mmap": 9,
        "mprotect": 10, "munmap": 11, "brk": 12, "rt_sigaction": 13, "rt_sigprocmask": 14, "rt_sigreturn": 15,
        "pread64": 17, "readv": 19, "writev": 20, "access": 21, "pipe": 22, "select": 23, "sched_yield": 24,
        "mremap": 25, "madvise": 28, "dup": 32, "dup2": 33, "nanosleep": 35, "getpid": 39, "exit": 60, "uname": 63,
        "getdents": 78, "getcwd": 79, "chdir": 80, "readlink": 89, "gettimeofday": 96, "getrlimit": 97,
        "getrusage": 98, "sysinfo": 99, "times": 100, "getuid": 102, "getgid": 104, "geteuid": 107, "getegid": 108,
        "getppid": 110, "sigaltstack": 131, "arch_prctl": 158, "gettid": 186, "time": 201, "futex": 202,
        "sched_getaffinity": 204, "getdents64": 217, "set_tid_address": 218, "clock_gettime": 228,
        "clock_getres": 229, "clock_nanosleep": 230, "exit_group": 231, "newfstatat": 262, "readlinkat": 267,
        "faccessat": 269, "pselect6": 270, "ppoll": 271, "set_robust_list": 273, "dup3": 292, "pipe2": 293,
        "getcpu": 309, "getrandom": 318, "statx": 332, "rseq": 334, "faccessat2": 439,
    }, {"open": 2, "openat": 257, "clone": 56, "clone3": 435}),
    "aarch64": (0xC00000B7, {
        "getcwd": 17, "dup": 23, "dup3": 24, "faccessat": 48, "chdir": 49, "close": 57, "pipe2": 59,
        "getdents64": 61, "lseek": 62, "read": 63, "write": 64, "readv": 65, "writev": 66, "pread64": 67,
        "pselect6": 72, "ppoll": 73, "readlinkat": 78, "newfstatat": 79, "fstat": 80, "exit": 93, "exit_group": 94,
        "set_tid_address": 96, "futex": 98, "set_robust_list": 99, "nanosleep": 101, "clock_gettime": 113,
        "clock_getres": 114, "clock_nanosleep": 115, "sched_getaffinity": 123, "sched_yield": 124,
        "sigaltstack": 132, "rt_sigaction": 134, "rt_sigprocmask": 135, "rt_sigreturn": 139, "times": 153,
        "uname": 160, "getrusage": 165, "getcpu": 168, "gettimeofday": 169, "getpid": 172, "getppid": 173,
        "getuid": 174, "geteuid": 175, "getgid": 176, "getegid": 177, "gettid": 178, "sysinfo": 179, "brk": 214,
        "munmap": 215, "mremap": 216, "mmap": 222, "mprotect": 226, "madvise": 233, "getrandom": 278, "statx": 291,
        "rseq": 293, "faccessat2": 439,
    }, {"openat": 56, "clone": 220, "clone3": 435}),
}  # fmt: skip


def available() -> bool:
    """Whether this system can lock a process up."""
    return sys.platform == "linux" and platform.machine() in _MACHINES


def _program() -> bytes:
    architecture, calls, others = _MACHINES[platform.machine()]
    lines = [
        (_LOAD, 0, 0, _ARCHITECTURE), (_EQUAL, 1, 0, architecture), (_RETURN, 0, 0, _REFUSE),
        (_LOAD, 0, 0, _NUMBER), (_ABOVE, 0, 1, _OTHER_TABLE), (_RETURN, 0, 0, _REFUSE),
        (_EQUAL, 0, 1, others["clone3"]), (_RETURN, 0, 0, _UNKNOWN),
    ]  # fmt: skip
    for name, place in (("open", _SECOND), ("openat", _THIRD)):
        if name in others:
            lines += [
                (_EQUAL, 0, 4, others[name]), (_LOAD, 0, 0, place), (_ANY, 0, 1, _WRITING), (_RETURN, 0, 0, _REFUSE),
                (_RETURN, 0, 0, _ALLOW),
            ]  # fmt: skip
    lines += [
        (_EQUAL, 0, 4, others["clone"]), (_LOAD, 0, 0, _FIRST), (_ANY, 1, 0, _THREAD), (_RETURN, 0, 0, _REFUSE),
        (_RETURN, 0, 0, _ALLOW),
    ]  # fmt: skip
    for number in calls.values():
        lines += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ALLOW)]
    lines.append((_RETURN, 0, 0, _REFUSE))
    return b"".join(struct.pack("<HBBI", *line) for line in lines)


def lock() -> None:
    """Lock this process up; there is no way back."""
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_DATA, (HEAP, HEAP))
    program = _program()

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("lines", ctypes.c_char_p))

    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl.argtypes = [ctypes.c_int, *[ctypes.c_void_p] * 4]
    if libc.prctl(38, 1, None, None, None):  # no new privileges
        raise OSError(ctypes.get_errno(), "no_new_privs")
    if libc.prctl(22, 2, ctypes.addressof(Program(len(program) // 8, program)), None, None):
        raise OSError(ctypes.get_errno(), "seccomp")
