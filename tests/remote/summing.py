"""A small part for tests: it keeps a sum and a product of all numbers it was sent, and tells them after each."""

from __future__ import annotations

import struct
import threading

from kompono.errors import RunError
from kompono.remote import Refused

RELEASED = threading.Event()
STATE = struct.Struct("<ddQ")


class Summing:
    """Frames are doubles; the order of additions shows in the last bits."""

    def __init__(self, start: float) -> None:
        self.total, self.product, self.evaluations = start, 1.0, 0

    def answer(self, frame: bytes) -> bytes:
        """Sum and product so far."""
        if frame == b"fail":
            raise ZeroDivisionError("secret 42")
        if frame == b"inside":
            raise RunError("strut.spring has no stiffness.")
        if len(frame) % 8 or not frame:
            raise Refused("frames are doubles.")
        for (value,) in struct.iter_unpack("<d", frame):
            self.total += value
            self.product *= 1.0 + value / 3.0
            self.evaluations += 1
        return struct.pack("<dd", self.total, self.product)

    def snapshot(self) -> bytes:
        """All of it."""
        return STATE.pack(self.total, self.product, self.evaluations)

    def restore(self, data: bytes) -> None:
        """Back."""
        self.total, self.product, self.evaluations = STATE.unpack(data)


def opener(part: str, hello: bytes, customer: str) -> tuple[Summing, bytes]:
    """The hello frame is the start."""
    if len(hello) != 8:
        raise Refused("a hello is one double.")
    return Summing(struct.unpack("<d", hello)[0]), f"{part} for {customer}".encode()


class Stuck(Summing):
    """Answers the first frame only."""

    def answer(self, frame: bytes) -> bytes:
        """Not before it is released, the second time."""
        if self.evaluations:
            RELEASED.wait()
        return super().answer(frame)


def stuck(part: str, hello: bytes, customer: str) -> tuple[Summing, bytes]:
    """A part that does not come back."""
    return Stuck(0.5), b""
