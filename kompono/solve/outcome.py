"""From recorded states to channels: what a run leaves behind, before anybody gives it a name or explains its end."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from kompono.result import matching
from kompono.result.unwrap import continuous_quaternions, unwrap, with_companions

if TYPE_CHECKING:
    from kompono.solve.integrate import Settings, Trajectory
    from kompono.translate.program import Channel

OPEN = 1e-6  # a loop condition violated by more than this is lost, whatever the units
GROWN = 1e15  # a coordinate or speed above this, in any unit, is no motion any more


@dataclass(frozen=True)
class Outputs:
    """The routine that computes channels, which ones it computes, and the positions of those wanted and of the drift;
    the others are there to make angles and quaternions continuous.
    """

    routine: str
    computed: tuple[Channel, ...]
    wanted: tuple[int, ...]
    drift: int


@dataclass
class Outcome:
    """Channels `table` (n, k) at `times` (n,) [s] and how the run ended.

    `blame` is the record (time, state..., inputs...) a failure must be explained by: the last one, or, if the run came
    to its end but a loop is open, the first of those.
    """

    times: np.ndarray
    table: np.ndarray
    ok: bool = True
    message: str = ""
    time: float = 0.0
    blame: np.ndarray | None = None
    statistics: dict[str, Any] = field(default_factory=dict)


def select_outputs(translation: Any, patterns: str | Iterable[str]) -> Outputs:
    """The channels a run shall give, and those computed with them because they are needed to make them continuous."""
    known = translation.program.channels
    columns, drift = matching(patterns, known), matching("drift.position", known)
    needed = with_companions(known, [*columns, *drift])
    places = {column: place for place, column in enumerate(needed)}
    return Outputs(
        translation.select(needed),
        tuple(known[i] for i in needed),
        tuple(places[i] for i in columns),
        places[drift[0]],
    )


def channels(kernel: Any, outputs: Outputs, rows: np.ndarray, parameters: np.ndarray, lanes: int = 1) -> np.ndarray:
    """All computed channels at recorded rows: (n, k), with several lanes (lanes, n, k)."""
    end = 1 + lanes * kernel.program.state_size
    times, states, inputs = rows[:, 0], rows[:, 1:end], rows[:, end:]
    table = (
        kernel.map(outputs.routine, times, states, inputs, parameters)
        if lanes == 1
        else kernel.map(outputs.routine, times, states, inputs, parameters, lanes=lanes)
    )
    if lanes > 1:
        table = np.ascontiguousarray(table.reshape(len(rows), -1, lanes).transpose(2, 0, 1))
    return continuous_quaternions(unwrap(times, table, outputs.computed), outputs.computed)


def conclude(kernel: Any, trajectory: Trajectory, outputs: Outputs, table: np.ndarray, settings: Settings) -> Outcome:
    """The outcome of a run whose channels are computed: `table` (n, k) at the rows of the trajectory."""
    rows = trajectory.rows
    blame = None if trajectory.ok else rows[-1]
    grown = np.flatnonzero(np.abs(rows[:, 1 : 1 + kernel.program.state_size]).max(axis=1, initial=0.0) > GROWN)
    if trajectory.ok and len(grown):
        message = "the motion grew without bound; take a smaller step or method='dopri5',"
        trajectory = replace(trajectory, ok=False, message=message, time=float(rows[grown[0], 0]))
        blame = rows[grown[0]]
    elif trajectory.ok and settings.stabilize and "project" in kernel.program.routines:
        open_rows = np.flatnonzero(table[:, outputs.drift] > OPEN)
        blame = rows[open_rows[0]] if len(open_rows) else None
    return Outcome(
        rows[:, 0],
        table[:, list(outputs.wanted)],
        trajectory.ok,
        trajectory.message,
        trajectory.time,
        blame,
        trajectory.statistics,
    )
