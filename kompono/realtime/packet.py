"""The packets that a live run and its other side exchange, over UDP as over shared memory: one layout, checked.

All little-endian. A header of 32 bytes, then `count` doubles, then, if flag 1 is set, a checksum:

    offset  type      meaning
    0       4 bytes   "KOMP"
    4       u8        version: 1
    5       u8        kind: 0 hello, 1 inputs (to the simulation), 2 outputs (from it), 3 the sender leaves
    6       u8        flags: 1 a checksum follows the values, 2 a seal does (see `seal`)
    7       u8        0
    8       u32       count of values
    12      u32       sequence number: grows by one with each packet of a sender, begins anew after a hello, wraps
    16      u32       mark of the layout: CRC-32 of the names of inputs and outputs
    20      u32       0
    24      f64       simulated time [s]
    32      f64 ...   values, in the order of the names
    32 + 8 count  u32 CRC-32 (zlib's, as in Ethernet) of all bytes before

What is not exactly so is counted and ignored, whoever sent it.
"""

from __future__ import annotations

import struct
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

MAGIC, VERSION, CHECKSUM, SEALED = b"KOMP", 1, 1, 2
HELLO, INPUTS, OUTPUTS, OVER = range(4)
HEADER = struct.Struct("<4sBBBBIIIId")
TAIL = struct.Struct("<I")
MOST = 8000  # values: what a UDP packet can hold
WRAP = 1 << 32


class BadPacket(Exception):
    """A packet that is not as it must be; the message is one word for the counters."""


@dataclass(frozen=True)
class Packet:
    """A checked packet."""

    kind: int
    sequence: int
    time: float
    values: np.ndarray
    sessions: tuple[int, int] = (0, 0)


class AnySeal(Protocol):
    """What closes and opens keyed packets; `size` is what it adds [bytes]."""

    size: int

    def close(self, data: bytes, other: int | None = None) -> bytes:
        """The packet with its seal."""
        ...

    def open(self, data: bytes, end: int) -> tuple[int, int]:
        """Sessions of sender and receiver, or BadPacket."""
        ...


def layout_mark(inputs: Sequence[str], outputs: Sequence[str]) -> int:
    """A number by which both sides know that they mean the same values in the same order."""
    return zlib.crc32("\n".join([*inputs, "", *outputs]).encode())


def size_of(count: int) -> int:
    """Bytes of a packet of so many values, with checksum."""
    return HEADER.size + 8 * count + TAIL.size


def encode(
    kind: int,
    mark: int,
    sequence: int,
    time: float,
    values: Sequence[float] | np.ndarray = (),
    *,
    checksum: bool = True,
    seal: AnySeal | None = None,
    other: int | None = None,
) -> bytes:
    """The bytes of a packet; with a seal it needs no checksum, and `other` is the session it is for."""
    numbers = np.asarray(values, dtype="<f8")
    flags = SEALED if seal is not None else CHECKSUM if checksum else 0
    upper = sequence // WRAP if seal is not None else 0
    head = HEADER.pack(MAGIC, VERSION, kind, flags, 0, numbers.size, sequence % WRAP, mark, upper, time)
    data = head + numbers.tobytes()
    if seal is not None:
        return seal.close(data, other)
    return data + TAIL.pack(zlib.crc32(data)) if checksum else data


def decode(
    data: bytes,
    mark: int,
    counts: dict[int, int],
    *,
    checksum: bool = True,
    exact: bool = True,
    seal: AnySeal | None = None,
) -> Packet:
    """A packet from bytes, or BadPacket.

    counts: how many values each kind that is welcome must have. checksum: refuse packets without one. exact: the bytes
    are the packet and nothing else. seal: refuse packets that it does not fit.
    """
    if len(data) < HEADER.size:
        raise BadPacket("length")
    magic, version, kind, flags, zero, count, sequence, layout, more, time = HEADER.unpack_from(data)
    if magic != MAGIC:
        raise BadPacket("magic")
    if version != VERSION:
        raise BadPacket("version")
    if (flags == SEALED) != (seal is not None):
        raise BadPacket("key")
    if kind not in counts or flags not in (0, CHECKSUM, SEALED) or zero or (more and seal is None):
        raise BadPacket("kind")
    if layout != mark:
        raise BadPacket("layout")
    end = HEADER.size + 8 * count
    size = end + (seal.size if seal is not None else TAIL.size if flags & CHECKSUM else 0)
    if count != counts[kind] or len(data) < size or (exact and len(data) > size):
        raise BadPacket("length")
    sessions = (0, 0)
    if seal is not None:
        sessions = seal.open(data, end)
    elif flags & CHECKSUM:
        if TAIL.unpack_from(data, end)[0] != zlib.crc32(data[:end]):
            raise BadPacket("checksum")
    elif checksum:
        raise BadPacket("checksum")
    values = np.frombuffer(data, dtype="<f8", count=count, offset=HEADER.size).astype(float)
    if not (np.isfinite(time) and np.all(np.isfinite(values))):
        raise BadPacket("not finite")
    return Packet(kind, sequence + more * WRAP, time, values, sessions)


class Mailbox:
    """Takes what arrives, checks it, and counts: `accepted`, `lost` (gaps in the numbers) and `ignored` by reason.

    A number that is more than `jump` ahead of the last is not believed (None: any is).
    """

    def __init__(
        self, mark: int, counts: dict[int, int], *, checksum: bool = True, exact: bool = True,
        jump: int | None = None, seal: AnySeal | None = None,
    ) -> None:  # fmt: skip
        self.mark, self.counts, self.checksum, self.exact, self.seal = mark, counts, checksum, exact, seal
        self.jump = WRAP // 2 if jump is None else jump
        self.accepted = self.lost = self.greeted = 0
        self.ignored: Counter[str] = Counter()
        self._last: int | None = None

    def take(self, data: bytes) -> Packet | None:
        """The packet, if it is good and newer than those before."""
        try:
            packet = decode(data, self.mark, self.counts, checksum=self.checksum, exact=self.exact, seal=self.seal)
        except BadPacket as reason:
            self.ignored[str(reason)] += 1
            return None
        return packet if self._fresh(packet) else None

    def _fresh(self, packet: Packet) -> bool:
        """Whether it is newer than those before; a hello begins anew."""
        ahead = 1
        if self._last is not None and packet.kind != HELLO:
            ahead = (packet.sequence - self._last) % WRAP
            if not 0 < ahead < WRAP // 2:
                self.ignored["stale"] += 1
                return False
            if ahead > self.jump:
                self.ignored["jump"] += 1
                return False
        self._last = packet.sequence
        self._count(packet, ahead - 1)
        return True

    def _count(self, packet: Packet, lost: int) -> None:
        self.lost += lost
        self.greeted += packet.kind == HELLO
        self.accepted += packet.kind in (INPUTS, OUTPUTS)

    def forget(self) -> None:
        """Whatever comes next is new: the sender is gone."""
        self._last = None

    def report(self) -> dict[str, object]:
        """The counts."""
        return {"accepted": self.accepted, "lost": self.lost, "ignored": dict(self.ignored)}
