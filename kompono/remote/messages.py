"""What is sent: frames with the little around them that makes a session. All integers little-endian.

    customer -> supplier
      Open     first on every stream: part, session, hello frame, and the newest snapshot if there is one
      Ask      number (1, 2, ... in a session), the highest number whose reply was seen, frame
      BYE      the session is over
    supplier -> customer
      Welcome  how far the session is, what the part is, limits, welcome frame
      Reply    number, reply frame, now and then a snapshot of the state after it
      refusal  a sentence; the stream ends

The first byte is the kind. A refusal and the first ten bytes of Open are the same in all versions, so that both sides
can say so when their versions differ.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

VERSION = 1
OPEN, ASK, BYE, WELCOME, REPLY, REFUSAL = 1, 2, 3, 4, 5, 255
NEW, LIVE, RESTORED = range(3)  # what a welcome is to
UNLIMITED = -1  # evaluations that are left
_MAGIC = b"KOMPONO"
_OPEN = struct.Struct("<B7sH")
_ASK = struct.Struct("<BQQ")
_WELCOME = struct.Struct("<BBQQdq")
_REPLY = struct.Struct("<BQI")
_LENGTH = struct.Struct("<I")
_SENTENCE = 500  # characters of one


class Malformed(Exception):
    """Bytes that are no message; the text says why."""


@dataclass(frozen=True)
class Open:
    """The first message of a customer."""

    part: str
    session: bytes  # 16
    hello: bytes
    origin: bytes = b""  # session the snapshot is of
    snapshot: bytes = b""

    def pack(self) -> bytes:
        """As bytes."""
        return _OPEN.pack(OPEN, _MAGIC, VERSION) + _fields(
            self.part.encode(), self.session, self.hello, self.origin, self.snapshot
        )


@dataclass(frozen=True)
class Welcome:
    """The first message of a supplier."""

    kind: int  # NEW, LIVE or RESTORED
    at: int  # number of the last frame the session has answered
    largest: int  # bytes of a message
    rate: float  # evaluations per second; inf: unlimited
    left: int  # evaluations, or UNLIMITED
    digest: bytes  # of the part
    frame: bytes

    def pack(self) -> bytes:
        """As bytes."""
        head = _WELCOME.pack(WELCOME, self.kind, self.at, self.largest, self.rate, self.left)
        return head + _fields(self.digest, self.frame)


def pack_ask(number: int, seen: int, frame: bytes) -> bytes:
    """A frame to be answered."""
    return _ASK.pack(ASK, number, seen) + frame


def pack_reply(number: int, frame: bytes, snapshot: bytes = b"") -> bytes:
    """The reply to it."""
    return _REPLY.pack(REPLY, number, len(frame)) + frame + snapshot


def pack_refusal(sentence: str) -> bytes:
    """Why not."""
    return bytes([REFUSAL]) + printable(sentence).encode()


def unpack_open(data: bytes) -> Open:
    """The first message of a customer."""
    if len(data) < _OPEN.size or data[:8] != bytes([OPEN]) + _MAGIC:
        raise Malformed("a session was to be opened first.")
    _, _, version = _OPEN.unpack_from(data)
    if version != VERSION:
        raise Malformed(f"the customer's Kompono speaks version {version} of the protocol, this server {VERSION}.")
    part, session, hello, origin, snapshot = _split(data, _OPEN.size, 5)
    if len(session) != 16 or len(origin) not in (0, 16) or bool(origin) != bool(snapshot):
        raise Malformed("a session is 16 bytes, a snapshot is of a session.")
    try:
        return Open(part.decode("ascii"), session, hello, origin, snapshot)
    except UnicodeDecodeError:
        raise Malformed("a part has a name in ASCII.") from None


def unpack_ask(data: bytes) -> tuple[int, int, bytes] | None:
    """Number, highest number seen, frame; None if it is BYE."""
    if data == bytes([BYE]):
        return None
    if len(data) < _ASK.size or data[0] != ASK:
        raise Malformed("a frame was expected.")
    _, number, seen = _ASK.unpack_from(data)
    return number, seen, data[_ASK.size :]


def unpack_welcome(data: bytes) -> Welcome:
    """The first message of a supplier that is no refusal."""
    if len(data) < _WELCOME.size or data[0] != WELCOME:
        raise Malformed("a welcome was expected.")
    _, kind, at, largest, rate, left = _WELCOME.unpack_from(data)
    digest, frame = _split(data, _WELCOME.size, 2)
    if kind not in (NEW, LIVE, RESTORED) or len(digest) != 32 or not rate > 0:
        raise Malformed("a welcome was expected.")
    return Welcome(kind, at, largest, rate, left, digest, frame)


def unpack_reply(data: bytes) -> tuple[int, bytes, bytes]:
    """Number, frame, snapshot (empty: none)."""
    if len(data) < _REPLY.size or data[0] != REPLY:
        raise Malformed("a reply was expected.")
    _, number, length = _REPLY.unpack_from(data)
    end = _REPLY.size + length
    if end > len(data):
        raise Malformed("a reply was cut.")
    return number, data[_REPLY.size : end], data[end:]


def refusal_in(data: bytes) -> str | None:
    """The sentence of a refusal, as it may be shown on a terminal; None if it is none."""
    return printable(data[1:].decode("utf-8", "replace")) if data[:1] == bytes([REFUSAL]) else None


def printable(text: str) -> str:
    """A sentence of bounded length without control characters."""
    return "".join(c if c.isprintable() else " " for c in text[:_SENTENCE]).strip() or "no reason was given."


def _fields(*fields: bytes) -> bytes:
    return b"".join(_LENGTH.pack(len(field)) + field for field in fields)


def _split(data: bytes, start: int, count: int) -> list[bytes]:
    found = []
    for _ in range(count):
        if start + _LENGTH.size > len(data):
            raise Malformed("a message was cut.")
        (length,) = _LENGTH.unpack_from(data, start)
        start += _LENGTH.size
        found.append(data[start : start + length])
        start += length
    if start != len(data):
        raise Malformed("a message was cut, or has more than it should.")
    return found
