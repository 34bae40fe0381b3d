"""Hosts: who keeps a part. A host opens a session for each run."""

from __future__ import annotations

import threading
from typing import Any, Protocol

import numpy as np

from kompono.elsewhere.keeper import Keeper
from kompono.elsewhere.session import Carrier, Here, Session


class Host(Protocol):
    """Keeps the state of a part, wherever that is. A part is as its owner has it (`translate.parts.away.AwayPart`)."""

    def open(self, part: Any, lanes: int) -> Session:
        """A session for one run on so many lanes."""
        ...

    def start(self, part: Any, session: Session, given: np.ndarray) -> np.ndarray:
        """The handle (lanes,) of the start, from what was assembled (size, lanes)."""
        ...


class InProcess:
    """Keeps a closed part in this very process: the same frames, and nothing travels."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def open(self, part: Any, lanes: int) -> Session:
        """A session with a keeper of its own."""
        from kompono.translate.parts.far import kept_part

        with self._lock:
            kept, functions = kept_part(part.near)
        keeper = Keeper(kept, functions, np.zeros(kept.size), lanes=lanes)
        return Session(self.carrier(keeper), part.path, kept.size, lanes)

    def start(self, part: Any, session: Session, given: np.ndarray) -> np.ndarray:
        """x as it was assembled."""
        return session.start(given)

    def carrier(self, keeper: Keeper) -> Carrier:
        """How frames get there."""
        return Here(keeper)


def remote_hosts(model: Any) -> dict[str, Host]:
    """The hosts of parts that say themselves where they are, by path."""
    return {model.path(part): part._remote_host for part in model.subsystems if hasattr(type(part), "_remote_host")}
