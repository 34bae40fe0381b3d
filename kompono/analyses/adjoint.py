"""Gradients of one cost by many parameters: a run, and one way back along its steps.

The way back costs three to five runs, however many parameters there are (`translate/adjoint`,
`compile/loop_adjoint`). It is the transposed of the very steps of rk4 or dopri5 (`stored`), with projections and
events, so that it agrees with forward derivatives: to rounding for equal steps, to the tolerance for chosen ones, whose
lengths are held as they were. Contact and friction change in Python, on the way back as on the way there (`law_pulls`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from kompono.analyses.law_jumps import LawChange, one_by_one
from kompono.analyses.law_pulls import PulledChanges
from kompono.analyses.sensitivities import Varied, check_events, timed
from kompono.analyses.stored import Storing
from kompono.compile import compile_program
from kompono.compile.block import ChunkEnd
from kompono.ending import Ending
from kompono.errors import RunError, RunWarning, warn
from kompono.result import Result, Status, matching
from kompono.result.unwrap import unwrap
from kompono.solve.integrate import Trajectory
from kompono.solve.settings import Settings
from kompono.translate.adjoint import PULL, ModelAdjoint

METHODS = ("rk4", "dopri5")


def no_adjoint(asked: Varied, settings: Settings) -> str:
    """Why a run has no adjoint gradient; nothing if it has."""
    program = asked.simulation.program
    if settings.method not in METHODS:
        return f"adjoint gradients go back along steps of {' or '.join(METHODS)}, not of {settings.method}"
    if program.laws and getattr(asked.simulation.settler, "steps", False):
        return "contact='steps' makes its steps over everything that happens, and has no derivatives"
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
        self._selected, self._order, self._shares = selected, order, shares
        scales = np.array([abs(value) or 1.0 for value in asked.present.values()])
        self._storing = Storing(asked.simulation, asked.names, scales)

    def run(self, asked: Varied, settings: Settings, inputs: Any) -> tuple[float, np.ndarray, Result]:
        """Cost, its gradient by the names, and the run at the values of `asked`."""
        simulation = asked.simulation
        feed, values = simulation.feed(inputs), simulation.parameters(dict(asked.values))
        if any(source.is_callable for source in feed.sources):
            raise RunError("callable inputs have no derivatives.", fix="Give numbers or tables.")
        start, slopes = asked.start(), asked.start_slopes()
        stored = self._storing.run(start, slopes, values, feed, settings)
        kept, size = stored.trajectory, len(start)
        check_events(one_by_one(kept.statistics.get("events", []), simulation.program))
        result = self._result(stored.shown(settings), settings, values)
        if not kept.ended.ok:
            return np.nan, np.full(len(asked.names), np.nan), result
        if kept.ended is Ending.ENDED and self._shares[timed(simulation.program, self._selected)].any():
            raise RunError(
                "an event ends the run, and the cost depends on time or inputs themselves, not on the state alone.",
                fix="Let the cost be a State of the model.",
            )
        last = kept.rows[-1]
        state = np.concatenate([last[1 : 1 + size], np.zeros(size + len(self.places))])
        given = (float(last[0]), state, last[1 + size :], values)
        found = np.asarray(self._kernel.evaluate(self._cost, *given)[0])
        state[size:] = found[1:]
        back = self._kernel.back(settings.method, state, parameters=values, inputs=feed.table())
        for rows, change in self._storing.pieces(stored, settings):
            if back.follow(rows) is not ChunkEnd.OK:
                raise RunError(
                    "the way back is not smooth: a position is singular, or a number is lost.",
                    fix="Ask for forward derivatives: gradient='forward'.",
                )
            if change is not None:
                self._pull(change, back.state[size:], feed.at)
        gradient, shares = np.split(back.state[size:], [size])
        parameters = iter(shares)
        own = [next(parameters) if name in simulation.program.parameters else 0.0 for name in asked.names]
        return float(found[0]), np.array(own) + gradient @ slopes, result

    def _pull(self, change: LawChange, gradient: np.ndarray, inputs_at: Callable[[float], np.ndarray]) -> None:
        """Take the gradient, and what parameters have got of it, back through a change of laws."""
        settler, values = self.asked.simulation.settler, change.at[2]
        assert settler is not None
        size, count = settler.program.state_size, len(self.places)
        routine, units = PULL + "project", np.hstack([np.eye(size), np.zeros((size, count))])

        def projected(time: float, state: np.ndarray, parameters: np.ndarray) -> np.ndarray:
            if routine not in self._kernel.program.routines:
                return units
            rows, inputs = np.hstack([np.tile(state, (size, 1)), units]), np.tile(inputs_at(time), (size, 1))
            return self._kernel.map(routine, np.full(size, time), rows, inputs, parameters)[:, size:]

        scales = [abs(values[place]) or 1.0 for place in self.places]
        changes = PulledChanges(settler, inputs_at, projected, self.places, scales)
        before, shares = changes.pulled(change, gradient[:size])
        gradient[:size], gradient[size:] = before, gradient[size:] + shares

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
