"""Gradients of one cost by many parameters: a run, and one way back along its steps.

The way back costs three to five runs, however many parameters there are (`translate/adjoint`,
`compile/loop_adjoint`). It is the transposed of the very steps of rk4, with projections and events, so that it agrees
with forward derivatives to rounding. Of runs that are long only some states are kept, and the steps between them are
made again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from kompono.analyses.sensitivities import Varied, check_events, unread
from kompono.compile import compile_program
from kompono.compile.block import ChunkEnd
from kompono.errors import RunError, RunWarning, warn
from kompono.result import Result, Status, matching
from kompono.result.unwrap import unwrap
from kompono.solve.integrate import Problem, Trajectory, integrate
from kompono.solve.settings import Settings
from kompono.translate.adjoint import ModelAdjoint

METHOD = "rk4"
MOST = 1 << 25  # numbers of stored steps at most (256 MB); longer runs are cut into pieces


def no_adjoint(asked: Varied, settings: Settings) -> str:
    """Why a run has no adjoint gradient; nothing if it has."""
    program = asked.simulation.program
    if settings.method != METHOD:
        return f"adjoint gradients go back along steps of {METHOD}, not of {settings.method}"
    if program.laws:
        return f"contact and friction by events ({program.laws[0].path}) have forward derivatives only"
    if program.rates:
        return "adjoint gradients do not go back through samples"
    if "kick" in program.routines:
        return "adjoint gradients do not know the discrete engine"
    return ""


class Adjoint:
    """A varied model with the gradient of a weighted sum of channels at the end."""

    def __init__(self, asked: Varied, weights: Mapping[str, float], cache: bool = True) -> None:
        program = asked.simulation.program
        self.asked, self.weights = asked, dict(weights)
        self.places = tuple(program.parameters.index(name) for name in asked.names if name in program.parameters)
        self._model = ModelAdjoint(program, self.places)
        self._kernel: Any = compile_program(self._model.program(), cache=cache)
        self._columns = [matching(name, program.channels)[0] for name in self.weights]
        order = sorted(set(self._columns))
        selected = asked.simulation.translation.select(order)
        count = dict(program.routines[selected].outputs)["outputs"] if selected == "outputs" else len(order)
        shares = np.zeros(count)
        for column, weight in zip(self._columns, self.weights.values(), strict=True):
            shares[column if count != len(order) else order.index(column)] += weight
        self._cost = self._model.add_cost(self._kernel.program, selected, shares.tolist())
        self._selected, self._order = selected, order

    def run(self, asked: Varied, settings: Settings, inputs: Any) -> tuple[float, np.ndarray, Result]:
        """Cost, its gradient by the names, and the run at the values of `asked`."""
        simulation = asked.simulation
        feed, values = simulation.feed(inputs), simulation.parameters(dict(asked.values))
        if any(source.is_callable for source in feed.sources):
            raise RunError("callable inputs have no derivatives.", fix="Give numbers or tables.")
        start = asked.start()
        width, count = 2 + len(start), round(settings.span / settings.step)
        stride = max(1, int(np.ceil(count * width / MOST)))
        kept = _run(simulation, start, values, feed, replace(settings, every=stride))
        check_events(kept.statistics.get("events", []))
        result = self._result(kept, settings, values)
        if not kept.ended.ok:
            return np.nan, np.full(len(asked.names), np.nan), result
        last = kept.rows[-1]
        state = np.concatenate([last[1 : width - 1], np.zeros(width - 2 + len(self.places))])
        given = (float(last[0]), state, last[width - 1 :], values)
        found = np.asarray(self._kernel.evaluate(self._cost, *given)[0])
        state[width - 2 :] = found[1:]
        back = self._kernel.back(state, parameters=values, inputs=feed.table())
        for rows in self._pieces(kept, stride, settings, (simulation, values, feed)):
            status = back.follow(rows)
            if status is not ChunkEnd.OK:
                raise RunError(
                    "the way back is not smooth: a position is singular, or a number is lost.",
                    fix="Ask for forward derivatives: gradient='forward'.",
                )
        gradient, shares = np.split(back.state[width - 2 :], [width - 2])
        parameters = iter(shares)
        own = [next(parameters) if name in simulation.program.parameters else 0.0 for name in asked.names]
        return float(found[0]), np.array(own) + gradient @ asked.start_slopes(), result

    def _pieces(self, kept: Trajectory, stride: int, settings: Settings, run: Any) -> Any:
        """Stored rows (time, kind, state) of the run, piece by piece from its end on."""
        simulation, values, feed = run
        events = kept.statistics.get("events", [])
        width = 1 + simulation.program.state_size
        if stride == 1:
            yield _marked(kept.rows[:, :width], events, simulation.program.events)
            return
        for first, last in reversed(list(zip(kept.rows[:-1], kept.rows[1:], strict=True))):
            if last[0] <= first[0]:
                continue
            piece = replace(settings, begin=float(first[0]), until=float(last[0]), every=1)
            again = _run(simulation, first[1:width].copy(), values, feed, piece)
            yield _marked(again.rows[:, :width], again.statistics.get("events", []), simulation.program.events)

    def _result(self, trajectory: Trajectory, settings: Settings, values: np.ndarray) -> Result:
        simulation, program = self.asked.simulation, self.asked.simulation.program
        rows, size = trajectory.rows, self.asked.simulation.program.state_size
        table = simulation.kernel.map(self._selected, rows[:, 0], rows[:, 1 : 1 + size], rows[:, 1 + size :], values)
        table = table if table.shape[1] == len(self._order) else table[:, self._order]
        channels = [program.channels[k] for k in self._order]
        status = Status(trajectory.ended.ok, trajectory.message, trajectory.time, trajectory.ended)
        if not status.ok:
            warn(f"{simulation.name} did not run as planned: {status.message}", RunWarning)
        about = {"method": settings.method, "engine": simulation.engine, "step": settings.step}
        return Result(
            rows[:, 0], [c.name for c in channels], unwrap(rows[:, 0], table, channels),
            units={c.name: c.unit for c in channels}, status=status,
            statistics={**about, **trajectory.statistics}, model=simulation.name,
        )  # fmt: skip


def _run(simulation: Any, start: np.ndarray, values: np.ndarray, feed: Any, settings: Settings) -> Trajectory:
    return integrate(Problem(simulation.kernel, start, values, feed, unread), settings, None)


def _marked(rows: np.ndarray, events: list[tuple[float, str]], names: tuple[str, ...]) -> np.ndarray:
    """Rows with their kinds: -1 behind a piece of a step, the number of the event behind one."""
    kinds = np.full(len(rows), -1.0)
    jumps = np.flatnonzero(np.diff(rows[:, 0]) == 0.0) + 1
    if len(jumps) != len(events):
        raise RunError(
            f"{len(events)} events, and {len(jumps)} stored: some happen together.", fix="Use gradient='forward'."
        )
    kinds[jumps] = [names.index(name) for _, name in events]
    return np.column_stack([rows[:, :1], kinds, rows[:, 1:]])
