"""Where the network and what it carries meet: frames are bytes that only the two ends understand.

At the supplier a *servant* is one instance of a part in one run of one customer. It is deterministic: the same frames
in the same order from the same start give the same replies. At the customer a `Line` (line.py) is what asks it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from kompono.errors import RemoteError


class LinkLost(RemoteError):
    """The supplier could not be reached, or did not answer, for as long as was to be waited."""

    @property
    def reason(self) -> str:
        """Why."""
        return self.message


class Refused(RemoteError):
    """The supplier, or the check of its certificate, said no; to try again does not help."""

    @property
    def reason(self) -> str:
        """Why."""
        return self.message


class Servant(Protocol):
    """One instance of a part, with its state."""

    evaluations: int  # so far; the supplier's limits count them

    def answer(self, frame: bytes) -> bytes:
        """The reply to a frame; `Refused` with a sentence for the customer if it is not understood."""
        ...

    def snapshot(self) -> bytes:
        """The state after the last frame, or before the first; about as many bytes each time."""
        ...

    def restore(self, data: bytes) -> None:
        """Take over the state of a snapshot."""
        ...


# Part name, hello frame and customer name to a new servant and the welcome frame.
Opener = Callable[[str, bytes, str], tuple[Servant, bytes]]


@dataclass(frozen=True)
class Served:
    """A part on offer."""

    opener: Opener
    digest: bytes  # 32 bytes, a hash of all the replies depend on: the same while a run may go on
