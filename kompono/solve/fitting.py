"""The outcome of a run when memory ends while its channels are computed: fewer rows, and a status that says so."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from kompono.ending import Ending
from kompono.solve.endings import NO_ROOM
from kompono.solve.outcome import Outcome, Outputs, channels, check_step, conclude

if TYPE_CHECKING:
    from kompono.solve.integrate import Settings, Trajectory


def concluded(
    kernel: Any, trajectory: Trajectory, outputs: Outputs, settings: Settings, parameters: np.ndarray
) -> tuple[Outcome, tuple[int, ...]]:
    """The outcome of a run and which of the computed channels it has: those wanted; none if not even two rows fit.

    Where memory ends, each second row is let go of, as often as need be, but not the last.
    """
    every, given = 1, trajectory
    while True:
        try:
            table = channels(kernel, outputs, trajectory.rows, parameters, known=trajectory.table)
            outcome = conclude(kernel, trajectory, outputs, table, settings, parameters)
            check_step(kernel, outcome, settings, parameters)
            return outcome, outputs.wanted
        except MemoryError:
            count = len(trajectory.rows)
            if count < 3:
                break
            every *= 2
            rows = trajectory.rows[(count - 1) % 2 :: 2]  # a view: nothing more is needed
            known = None if trajectory.table is None else trajectory.table[(count - 1) % 2 :: 2]
            ended = _ended(given, f"only each {every}th row is kept")
            trajectory = replace(trajectory, rows=rows, table=known, **ended)
    times = given.rows[:, 0]
    lost = _ended(given, "only the times are kept")
    return Outcome(times, np.empty((len(times), 0)), **lost, time=given.time, blame=given.rows[-1]), ()


def _ended(trajectory: Trajectory, what: str) -> dict[str, Any]:
    before = f"{trajectory.message}; " if trajectory.message else ""
    return {"ended": Ending.NO_ROOM, "message": f"{before}{NO_ROOM}: {what},"}
