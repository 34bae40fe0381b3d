"""A supplier whose part is asked over lines in the same process, and what happened on these lines."""

from __future__ import annotations

import struct
from typing import Any

from kompono import Remote, Sealed
from kompono.elsewhere.direct import DirectLine
from kompono.elsewhere.serve import opener
from kompono.errors import RemoteError
from kompono.sealed import load_sealed

PARTS = {
    "actuator": ["gain", "command", "stroke"],
    "linkage": ["half"],
    "conveyor": ["belt", "limit", "push", "place"],
}  # what is public


class Watched(DirectLine):
    """A line that remembers what crossed, and breaks after so many frames."""

    def __init__(self, *given: Any, breaks: int | None = None, kept: bytes | None = None) -> None:
        super().__init__(*given, kept=kept)
        self.frames: list[bytes] = []
        self.replies: list[bytes] = []
        self.breaks, self.closed = breaks, False

    def post(self, frame: bytes) -> int:
        if self.breaks is not None and self.round_trips >= self.breaks:
            raise RemoteError("nobody answers.")
        self.frames.append(frame)
        ticket = super().post(frame)
        self.replies.append(self._replies[ticket])
        return ticket

    def close(self) -> None:
        self.closed = True

    def numbers(self) -> set[float]:
        """All doubles that crossed."""
        return {x for data in (*self.frames, *self.replies) for (x,) in struct.iter_unpack("<d", data)}


class Supplier:
    """One part on offer."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.opener = opener(load_sealed(path))
        self.lines: list[Watched] = []
        self.breaks: int | None = None

    def connect(self, hello: bytes, kept: bytes | None = None) -> Watched:
        """A new line, or one that goes on."""
        self.lines.append(Watched(self.opener, hello, breaks=self.breaks, kept=kept))
        return self.lines[-1]

    def remote(self, **values: Any) -> Remote:
        """The part, remote."""
        return Remote("supplier.example:7443/part", connect=self.connect, **values)

    def sealed(self, **values: Any) -> Sealed:
        """The part, from its file."""
        return Sealed(self.path, **values)
