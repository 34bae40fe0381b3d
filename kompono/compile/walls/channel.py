"""The words of a channel between an owner and a worker process.

Each side looks at words of the other in memory both have; what one writes and the other waits for has a cache line of
its own. Beside that, the owner has words the worker never sees: which thread asks, and whether the worker is lost.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import tempfile

# words of the owner alone
LOCK, BROKEN, SHARED, SOCKET, LOOKS = 0, 8, 16, 17, 18
WORDS = 24
# words of both
REQUEST, ANSWER, ASLEEP, WHICH, MODE, READY, WAITING = 0, 8, 16, 24, 25, 32, 40
GIVEN = 64  # where the column of arguments begins
COLUMN = 1 << 22  # doubles there may be in a column, on all lanes; pages nobody touches take no memory
TAKEN = GIVEN + COLUMN  # where the column of results begins
SIZE = 8 * (TAKEN + COLUMN)  # bytes

LOST, SILENT, TRAPPED = 1, 2, 3  # values of BROKEN: the worker is gone, or gives no answer; a module trapped


class Words:
    """Words of eight bytes that stay where they are; on a line of their own."""

    def __init__(self, count: int) -> None:
        self._memory = (ctypes.c_int64 * (count + 8))()
        self.address = -(-ctypes.addressof(self._memory) // 64) * 64
        self.words = (ctypes.c_int64 * count).from_address(self.address)

    def __getitem__(self, index: int) -> int:
        return self.words[index]

    def __setitem__(self, index: int, value: int) -> None:
        self.words[index] = value


class Shared:
    """Memory without a name, so that nothing is left of it when the last process that has it ends."""

    def __init__(self) -> None:
        if hasattr(os, "memfd_create"):
            self.file = os.memfd_create("kompono", os.MFD_CLOEXEC)
            os.ftruncate(self.file, SIZE)
        else:
            with tempfile.TemporaryFile() as file:
                file.truncate(SIZE)
                self.file = os.dup(file.fileno())
        self._map = mmap.mmap(self.file, SIZE)
        self._start = ctypes.c_char.from_buffer(self._map)
        self.address = ctypes.addressof(self._start)
        self.words = (ctypes.c_int64 * GIVEN).from_address(self.address)

    def text(self) -> str:
        """What a worker wrote where results come otherwise."""
        data = ctypes.string_at(self.address + 8 * TAKEN, 2000)
        return data.partition(b"\0")[0].decode(errors="replace")

    def close(self) -> None:
        """Give the memory back; nobody may use it any more."""
        os.close(self.file)
        del self._start, self.words
        self._map.close()
