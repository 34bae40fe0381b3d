"""Hosts: who keeps a part. A host opens a session for each run."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from kompono.elsewhere.session import FrameCarrier, Here, KeptSession, PartSession

if TYPE_CHECKING:
    from kompono.elsewhere.keeper import Keeper


class Host(Protocol):
    """Keeps the state of a part, wherever that is. A part is as its owner has it (`translate.parts.away.AwayPart`)."""

    lasts: bool  # whether what it keeps can outlive a run, which goes on later
    is_here: bool  # whether it is this process
    may_be_lost: bool  # whether the run may lose it and go on later from where it was shortly before

    def open(self, part: Any, lanes: int, kept: KeptSession | None = None) -> PartSession:
        """A session for one run on so many lanes; it goes on from what was `kept` of another, if it lasts."""
        ...

    def start(self, part: Any, session: PartSession, given: np.ndarray) -> np.ndarray:
        """The handle (lanes,) of the start, from what was assembled (size, lanes)."""
        ...


class InProcess:
    """Keeps a closed part in this very process: the same frames, and nothing travels."""

    lasts, may_be_lost, is_here = True, False, True

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def open(self, part: Any, lanes: int, kept: KeptSession | None = None) -> PartSession:
        """A session with a keeper of its own."""
        from kompono.elsewhere.keeper import Keeper
        from kompono.translate.parts.far import kept_part

        with self._lock:
            inside, functions = kept_part(part.near)
        keeper = Keeper(inside, functions, np.zeros(inside.size), lanes=lanes)
        if kept is not None:
            keeper.restore(kept.line)
        return PartSession(self.carrier(keeper), part.path, inside.size, lanes, kept)

    def start(self, part: Any, session: PartSession, given: np.ndarray) -> np.ndarray:
        """x as it was assembled."""
        return session.start(given)

    def carrier(self, keeper: Keeper) -> FrameCarrier:
        """How frames get there."""
        return Here(keeper)
