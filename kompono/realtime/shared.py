"""Live runs over shared memory: for processes on the same computer that want it fast.

A file that both sides map holds two slots, each with one packet as it would go over the wire (see
`kompono.realtime.packet`): outputs from byte 0, inputs from the next multiple of 64 bytes behind the largest output
packet. Whoever writes just writes; a reader who meets a half-written packet sees a wrong checksum and looks again.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import re
import tempfile
import time as clock
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from kompono.errors import RunError
from kompono.given import shown
from kompono.realtime.link import Client, Link
from kompono.realtime.packet import HEADER, HELLO, MAGIC, BadPacket, decode, encode, size_of

ATTEMPTS = 20  # looks at a slot that is being written
PAUSE = 1e-4  # s between looks of a client that waits


def memory_file(name: str) -> Path:
    """The file behind a name: in memory where the system has a place for that, of this user only."""
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9_.-]{1,100}", name):
        raise RunError(f"{shown(name)} is no name of a shared memory.", fix="Use letters, digits, '-' and '_'.")
    folder = Path("/dev/shm")
    who = os.getuid() if hasattr(os, "getuid") else 0
    return (folder if folder.is_dir() else Path(tempfile.gettempdir())) / f"kompono-{who}-{name}"


def _slots(inputs: int, outputs: int) -> tuple[int, int]:
    """Where the inputs begin, and the size of the whole [bytes]."""
    second = -(-size_of(outputs) // 64) * 64
    return second, second + size_of(inputs)


class SharedMemory(Link):
    """An observer that offers outputs and takes inputs in shared memory under a `name`."""

    def __init__(
        self, name: str, *, outputs: str | Iterable[str], inputs: Iterable[str] | None = None, wait: float = 0.0
    ) -> None:
        super().__init__(outputs=outputs, inputs=inputs, wait=wait, checksum=True, exact=False)
        self.path = memory_file(name)
        self._seen = b""

    @property
    def name(self) -> str:
        """What it is called in reports."""
        return f"shared memory {self.path.name}"

    def _connect(self) -> None:
        self._second, size = _slots(len(self._places), len(self._columns))
        self._seen = b""
        self._file = _own_file(self.path)
        os.ftruncate(self._file, 0)
        os.ftruncate(self._file, size)
        self._memory = mmap.mmap(self._file, size)

    def _arrived(self) -> Iterator[bytes]:
        for _ in range(ATTEMPTS):
            data = self._memory[self._second :]
            if data[:4] != MAGIC or data == self._seen:
                return
            if _whole(data, self.mailbox.mark, self.mailbox.counts):
                break
        self._seen = data
        yield data

    def _put(self, data: bytes) -> None:
        self._memory[: len(data)] = data

    def _disconnect(self) -> None:
        with contextlib.suppress(OSError):
            self.path.unlink()
        self._memory.close()
        os.close(self._file)


class SharedMemoryClient(Client):
    """The other side of `SharedMemory`."""

    def __init__(self, name: str, *, inputs: Sequence[str], outputs: Sequence[str], timeout: float = 10.0) -> None:
        super().__init__(inputs=inputs, outputs=outputs, timeout=timeout, checksum=True, exact=False)
        self.path = memory_file(name)
        self._seen = b""

    def _connect(self) -> None:
        self._second, size = _slots(len(self.inputs), len(self.outputs))
        begun = clock.monotonic()
        while not (self.path.exists() and self.path.stat().st_size > 0):
            if clock.monotonic() - begun > self.timeout:
                raise TimeoutError(f"no simulation offers the shared memory {self.path.name!r}")
            clock.sleep(0.01)
        with self.path.open("r+b") as file:
            if os.fstat(file.fileno()).st_size != size:
                raise RunError("the simulation offers other numbers of inputs and outputs.", fix="Give the same names.")
            self._memory = mmap.mmap(file.fileno(), size)
        before = self._memory[self._second :]
        self._sent = HEADER.unpack_from(before)[6] if before[:4] == MAGIC else 0
        self._put(encode(HELLO, self._mark, self._sent, 0.0))

    def _hello(self) -> None:
        """Said once, at the beginning: in a slot it would hide inputs. So numbers go on where others ended."""

    def _get(self, timeout: float) -> bytes | None:
        begun = clock.monotonic()
        while True:
            data = self._memory[: self._second]
            new = data[: HEADER.size] != self._seen and data[:4] == MAGIC
            if new and _whole(data, self.mailbox.mark, self.mailbox.counts):
                self._seen = data[: HEADER.size]
                return data
            if clock.monotonic() - begun >= timeout:
                return None
            clock.sleep(PAUSE)

    def _put(self, data: bytes) -> None:
        self._memory[self._second : self._second + len(data)] = data

    def _disconnect(self) -> None:
        self._memory.close()


def _whole(data: bytes, mark: int, counts: dict[int, int]) -> bool:
    """Whether a slot holds no half-written packet."""
    try:
        decode(data, mark, counts, exact=False)
    except BadPacket as reason:
        return str(reason) != "checksum"
    return True


def _own_file(path: Path) -> int:
    """A file of this user that no other run has, made if it is not there; one that a dead run left is taken."""
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
    try:
        file = os.open(path, flags, 0o600)
    except OSError as error:
        raise RunError(f"cannot make the shared memory {path}: {error}.") from None
    if hasattr(os, "getuid") and os.fstat(file).st_uid != os.getuid():
        os.close(file)
        raise RunError(f"the shared memory {path} belongs to somebody else.", fix="Use another name.")
    if not _lock(file) or not path.exists() or path.stat().st_ino != os.fstat(file).st_ino:
        os.close(file)
        raise RunError(f"another run uses the shared memory {path.name!r}.", fix="Use another name.")
    return file


def _lock(file: int) -> bool:
    """Keep other runs away from a file; where the system cannot, nobody does."""
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
