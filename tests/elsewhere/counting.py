"""How often parts elsewhere are asked at events."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kompono.solve.settling import Settler

Passes = set[tuple[str, tuple[int, ...]]]


def counted_passes(monkeypatch: pytest.MonkeyPatch) -> Passes:
    """Round trips of each part at the events of runs from now on, by what happened."""
    settle, found = Settler.__call__, Passes()

    def counted(self: Any, time: float, state: np.ndarray, *given: Any) -> Any:
        sessions = self.kernel.sessions(state) if self.program.opaque else []
        before = [session.round_trips for session in sessions]
        made, happened = settle(self, time, state, *given)
        struck = any(self.program.events[number].endswith("strikes") for number in happened)
        asked = tuple(session.round_trips - count for session, count in zip(sessions, before, strict=True))
        if sessions:
            what = "strikes" if struck else "changes" if len(given[2]) else "starts"
            found.add((what, asked))
        return made, happened

    monkeypatch.setattr(Settler, "__call__", counted)
    return found
