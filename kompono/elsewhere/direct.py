"""A line without a network: frames go to a keeper in this process as bytes, to try a part before it is served."""

from __future__ import annotations

import hashlib

from kompono.elsewhere.serve import Opener
from kompono.errors import RemoteError


class DirectLine:
    """What a `Line` of the network is to its customer."""

    def __init__(self, opener: Opener, hello: bytes, name: str = "part", kept: bytes | None = None) -> None:
        self.keeper, self.welcome = opener(name, hello, "here")
        self._mark = hashlib.sha256(self.welcome).digest()
        if kept is not None:
            if not kept.startswith(self._mark):
                raise RemoteError("the part was changed since this run began.", fix="Start the run anew.")
            self.keeper.restore(kept[len(self._mark) :])
        self.round_trips = 0
        self._replies: dict[int, bytes] = {}

    def post(self, frame: bytes) -> int:
        """Send a frame; the ticket its reply is collected with."""
        ticket = self.round_trips = self.round_trips + 1
        self._replies[ticket] = self.keeper.answer(frame)
        return ticket

    def collect(self, ticket: int) -> bytes:
        """The reply to a frame."""
        return self._replies.pop(ticket)

    def ask(self, frame: bytes) -> bytes:
        """Send a frame and wait for the reply."""
        return self.collect(self.post(frame))

    def keep(self) -> bytes:
        """What a later line (`kept=`) goes on from."""
        return self._mark + self.keeper.snapshot()

    def close(self) -> None:
        """Nothing is left to be done."""


def direct(opener: Opener) -> object:
    """What `Remote(..., connect=...)` wants, for a part in this process."""
    return lambda hello, kept=None: DirectLine(opener, hello, kept=kept)
