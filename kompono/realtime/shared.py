"""Live runs over shared memory: for processes on the same computer that want it fast.

A file in memory holds two slots, each with one packet as it would go over the wire (see `kompono.realtime.packet`):
outputs from byte 0, inputs from the next multiple of 64 bytes behind the largest output packet. Whoever writes just
writes; a reader who meets a half-written packet sees a wrong checksum and looks again. The other side may map the file;
here it is read and written, because a process that touches a mapped file after somebody cut it is killed.
"""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
import time as clock
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from kompono.errors import RunError
from kompono.given import shown
from kompono.realtime.link import Client, Link
from kompono.realtime.packet import HEADER, HELLO, MAGIC, BadPacket, decode, encode, size_of
from kompono.trust import Untrusted, make_own, open_own, user

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


class Memory:
    """A file as memory of a fixed size: what is missing reads as nothing, and is there again after the next write."""

    def __init__(self, file: int, size: int) -> None:
        self.file, self.size, self.cut = file, size, 0

    def read(self, begin: int, end: int) -> bytes:
        """The bytes from `begin` to `end`; fewer if the file was cut."""
        if hasattr(os, "pread"):
            return os.pread(self.file, end - begin, begin)
        os.lseek(self.file, begin, os.SEEK_SET)
        return os.read(self.file, end - begin)

    def write(self, begin: int, data: bytes) -> None:
        """Put bytes at `begin`; a file that was cut is made whole first, for those who map it."""
        if os.fstat(self.file).st_size < self.size:
            self.cut += 1
            os.ftruncate(self.file, self.size)
        if hasattr(os, "pwrite"):
            os.pwrite(self.file, data, begin)
        else:
            os.lseek(self.file, begin, os.SEEK_SET)
            os.write(self.file, data)

    def close(self) -> None:
        """Let go of the file."""
        os.close(self.file)


class SharedMemory(Link):
    """An observer that offers outputs and takes inputs in shared memory under a `name`."""

    def __init__(
        self, name: str, *, outputs: str | Iterable[str], inputs: Iterable[str] | None = None, wait: float = 0.0
    ) -> None:
        super().__init__(outputs=outputs, inputs=inputs, wait=wait, checksum=True, exact=False)
        self.path = memory_file(name)
        self._seen = b""
        self.cut = self.unsent = 0

    @property
    def name(self) -> str:
        """What it is called in reports."""
        return f"shared memory {self.path.name}"

    def _connect(self) -> None:
        self._second, size = _slots(len(self._places), len(self._columns))
        self._seen = b""
        self.cut = self.unsent = 0
        self._memory = Memory(_own_file(self.path), size)
        try:
            os.ftruncate(self._memory.file, 0)
            if hasattr(os, "posix_fallocate"):  # so that it is really there, and not only promised
                os.posix_fallocate(self._memory.file, 0, size)
            else:
                os.ftruncate(self._memory.file, size)
        except OSError as error:
            self._disconnect()
            raise RunError(f"cannot make the shared memory {self.path}: {error}.") from None

    def _arrived(self) -> Iterator[bytes]:
        for _ in range(ATTEMPTS):
            data = self._memory.read(self._second, self._memory.size)
            if data[:4] != MAGIC or data == self._seen:
                return
            if _whole(data, self.mailbox.mark, self.mailbox.counts):
                break
        self._seen = data
        yield data

    def _put(self, data: bytes) -> None:
        try:
            self._memory.write(0, data)
        except OSError:  # no room in memory any more
            self.unsent += 1

    def _disconnect(self) -> None:
        self.cut = self._memory.cut
        with contextlib.suppress(OSError):
            if _is_at(self._memory.file, self.path):  # else it is another's by now
                self.path.unlink()
        self._memory.close()

    def report(self) -> dict[str, Any]:
        """What was sent, accepted, lost, ignored by reason; how often it could not be sent and was found cut."""
        return {**super().report(), "unsent": self.unsent, "cut": self.cut}


class SharedMemoryClient(Client):
    """The other side of `SharedMemory`; takes only a file that nobody but this user can read and write."""

    def __init__(self, name: str, *, inputs: Sequence[str], outputs: Sequence[str], timeout: float = 10.0) -> None:
        super().__init__(inputs=inputs, outputs=outputs, timeout=timeout, checksum=True, exact=False)
        self.path = memory_file(name)
        self._seen = b""

    def _connect(self) -> None:
        self._second, size = _slots(len(self.inputs), len(self.outputs))
        file = self._find()
        if os.fstat(file).st_size != size:
            os.close(file)
            raise RunError("the simulation offers other numbers of inputs and outputs.", fix="Give the same names.")
        self._memory = Memory(file, size)
        before = self._memory.read(self._second, size)
        self._sent = HEADER.unpack_from(before)[6] if before[:4] == MAGIC and len(before) >= HEADER.size else 0
        self._put(encode(HELLO, self._mark, self._sent, 0.0))

    def _find(self) -> int:
        """The file of the simulation, once it is there and has its size."""
        begun = clock.monotonic()
        while clock.monotonic() - begun <= self.timeout:
            with contextlib.suppress(FileNotFoundError):
                try:
                    file = open_own(self.path, os.O_RDWR, secret=True)
                except Untrusted as reason:
                    raise RunError(f"the shared memory is not believed: {reason}.", fix="Use another name.") from None
                if os.fstat(file).st_size > 0:
                    return file
                os.close(file)
            clock.sleep(0.01)
        raise TimeoutError(f"no simulation offers the shared memory {self.path.name!r}")

    def _hello(self) -> None:
        """Said once, at the beginning: in a slot it would hide inputs. So numbers go on where others ended."""

    def _get(self, timeout: float) -> bytes | None:
        begun = clock.monotonic()
        while True:
            data = self._memory.read(0, self._second)
            new = data[: HEADER.size] != self._seen and data[:4] == MAGIC
            if new and _whole(data, self.mailbox.mark, self.mailbox.counts):
                self._seen = data[: HEADER.size]
                return data
            if clock.monotonic() - begun >= timeout:
                return None
            clock.sleep(PAUSE)

    def _put(self, data: bytes) -> None:
        self._memory.write(self._second, data)

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
    try:
        file = _open_or_make(path)
    except (OSError, Untrusted) as reason:
        raise RunError(f"cannot make the shared memory {path}: {reason}.", fix="Use another name.") from None
    if not _lock(file) or not _is_at(file, path):
        os.close(file)
        raise RunError(f"another run uses the shared memory {path.name!r}.", fix="Use another name.")
    return file


def _open_or_make(path: Path) -> int:
    try:
        return open_own(path, os.O_RDWR, secret=True)
    except FileNotFoundError:
        pass
    except Untrusted:
        if path.lstat().st_uid != (user() or 0):
            raise
        path.unlink()  # ours, but others could open it, and may have
    try:
        return make_own(path)
    except FileExistsError:  # another run, just now
        return open_own(path, os.O_RDWR, secret=True)


def _is_at(file: int, path: Path) -> bool:
    """Whether an open file still is what the path leads to."""
    try:
        there, here = path.stat(follow_symlinks=False), os.fstat(file)
    except OSError:
        return False
    return (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino)


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
