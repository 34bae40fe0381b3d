"""A line without a network: frames go to a keeper in this process as bytes, to try a part before it is served."""

from __future__ import annotations

from kompono.elsewhere.serve import Opener


class DirectLine:
    """What a `Line` of the network is to its customer."""

    def __init__(self, opener: Opener, hello: bytes, name: str = "part") -> None:
        self.keeper, self.welcome = opener(name, hello, "here")
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

    def close(self) -> None:
        """Nothing is left to be done."""


def direct(opener: Opener) -> object:
    """What `Remote(..., connect=...)` wants, for a part in this process."""
    return lambda hello: DirectLine(opener, hello)
