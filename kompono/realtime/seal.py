"""Packets that only who has the key can make, and that act once.

A keyed packet has flag 2 instead of a checksum, the upper half of its sequence number (64 bits then) at offset 20, and
behind its values 32 bytes more:

    offset             type       meaning
    32 + 8 count       u64        session of the sender, chosen at random when it begins
    32 + 8 count + 8   u64        session of the receiver, 0 while that is not known
    32 + 8 count + 16  16 bytes   first half of HMAC-SHA256("to simulation" or "from simulation", then all bytes before)

A client says hello; the simulation answers with a hello that tells its own session, to which the client says hello
again. Only then it is heard: what was recorded of another run does not know this run's session, and what was recorded
of this one is not newer than the last of its sender.
"""

from __future__ import annotations

import hmac
import os
import struct
from pathlib import Path

from kompono.errors import RunError
from kompono.realtime.packet import HELLO, BadPacket, Mailbox, Packet
from kompono.trust import Untrusted, open_own, read_all

SESSIONS = struct.Struct("<QQ")
TAG = 16
SHORTEST = 16  # bytes of a key
TO, FROM = b"to simulation", b"from simulation"


def checked_key(key: bytes | str | None) -> bytes | None:
    """A key as bytes; RunError if it is too short to be one."""
    if key is None:
        return None
    data = key.encode() if isinstance(key, str) else key
    if not isinstance(data, bytes | bytearray) or len(data) < SHORTEST:
        fix = "Use e.g. key=secrets.token_bytes(32), the same on both sides."
        raise RunError(f"a key is at least {SHORTEST} bytes.", fix=fix)
    return bytes(data)


def key_from_file(path: str | Path) -> bytes:
    """The key in a file that only this user can read, without white space around it."""
    try:
        data = read_all(open_own(Path(path), secret=True)).strip()
    except (OSError, Untrusted) as reason:
        raise RunError(f"no key: {reason}.", fix=f"Make one: (umask 077; openssl rand -hex 32 > {path}).") from None
    if len(data) < SHORTEST:
        raise RunError(f"no key: {path} holds {len(data)} bytes, not {SHORTEST} or more.")
    return data


class Seal:
    """What one side needs: the key, its session, and that of the other side once it is known."""

    size = SESSIONS.size + TAG

    def __init__(self, key: bytes, sends: bytes) -> None:
        self._key, self._sends, self._takes = key, sends, FROM if sends == TO else TO
        self.own = int.from_bytes(os.urandom(8), "little") or 1
        self.other = 0

    def close(self, data: bytes, other: int | None = None) -> bytes:
        """The packet with its seal."""
        data += SESSIONS.pack(self.own, self.other if other is None else other)
        return data + self._tag(self._sends, data)

    def open(self, data: bytes, end: int) -> tuple[int, int]:
        """Sessions of sender and receiver, from `end` on; BadPacket if the seal does not fit."""
        signed = end + SESSIONS.size
        if not hmac.compare_digest(data[signed : signed + TAG], self._tag(self._takes, data[:signed])):
            raise BadPacket("key")
        return SESSIONS.unpack_from(data, end)

    def _tag(self, way: bytes, data: bytes) -> bytes:
        return hmac.digest(self._key, way + data, "sha256")[:TAG]


class SealedMailbox(Mailbox):
    """Takes what fits the key and was made for this session, once; `asked` is the session of who said a first hello."""

    def __init__(self, mark: int, counts: dict[int, int], seal: Seal) -> None:
        super().__init__(mark, counts, seal=seal)
        self._sealed, self.asked = seal, 0
        self._newest: dict[int, int] = {}  # sequence numbers by session; only who has the key gets in

    def _fresh(self, packet: Packet) -> bool:
        sender, receiver = packet.sessions
        if receiver != self._sealed.own:
            if packet.kind == HELLO:
                self.asked = sender
            else:
                self.ignored["session"] += 1
            return False
        ahead = packet.sequence - self._newest.get(sender, packet.sequence - 1)
        if ahead <= 0:
            self.ignored["stale"] += 1
            return False
        self._newest[sender] = packet.sequence
        self._sealed.other = sender
        self._count(packet, ahead - 1)
        return True

    def forget(self) -> None:
        """Nothing: old packets stay old."""
