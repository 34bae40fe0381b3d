"""equilibrium(model, near=..., hold=...) -> Equilibrium: where a machine stays at rest.

Several equilibria are found from several starts. Each says whether it is stable, which needs no more than the slopes
that led to it, and which coordinates are neutral, so that it is one of many.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kompono.analyses.evaluation import Evaluation, at_point
from kompono.analyses.held_laws import held_matrix, holding, overlap, settled, sliding
from kompono.analyses.point import Point, find_point, in_joint_coordinates, listed
from kompono.analyses.rest import Task, search
from kompono.analyses.slopes import Slopes
from kompono.analyses.tangent import Tangent, find_tangent, null_space
from kompono.errors import ModelWarning, RunError, warn
from kompono.interruption import heeded
from kompono.model.subsystem import Subsystem
from kompono.options import with_kinds
from kompono.simulation import Simulation

STABLE = 1e-7  # growth that counts as none, relative to the largest eigenvalue
ROUNDS = 10  # choices of modes
PLACED = 'Start it where its contacts are closed, go on from a run that came to rest, or ask with contact="soft".'


@dataclass(frozen=True, eq=False)
class Equilibrium:
    """A state of rest. `residual` [SI] is the largest acceleration left, `steps` how many it took, `trimmed` the inputs
    and parameters found, `by` the method that arrived.
    """

    point: Point
    residual: float
    steps: int
    by: str
    held: tuple[str, ...]
    trimmed: Mapping[str, float]

    @property
    def state(self) -> np.ndarray:
        """The state itself: coordinates, speeds, modes, states of one's own."""
        return self.point.state

    @cached_property
    def at(self) -> dict[str, float]:
        """Coordinates, speeds and states by name, as `initial` of a run takes them."""
        return self.point.start_values()

    @cached_property
    def evaluation(self) -> Evaluation:
        """All channels there: reactions, forces, positions."""
        return at_point(self.point)

    @cached_property
    def _tangent(self) -> Tangent:
        return find_tangent(self.point)

    @cached_property
    def eigenvalues(self) -> np.ndarray:
        """Of small motions about it [1/s], complex, smallest first; what is held moves with the rest."""
        values = np.linalg.eigvals(self._tangent.rates())
        return values[np.argsort(np.abs(values))]

    @cached_property
    def neutral(self) -> tuple[str, ...]:
        """Coordinates the machine can move in and stay at rest: the solution is one of many. Friction that sticks
        lets it stay wherever its forces suffice.
        """
        return tuple(dict.fromkeys((*self._flat(), *self.sticking)))

    @cached_property
    def sticking(self) -> tuple[str, ...]:
        """Coordinates that friction alone holds."""
        if not self.point.simulation.program.laws:
            return ()
        turning = self.point.coordinate_rates()
        free, held = (null_space(held_matrix(self.point, friction)) for friction in (False, True))
        only = turning @ (free - held @ (held.T @ free))
        moved = np.abs(only).max(axis=1, initial=0.0) > 1e-6
        return tuple(
            name for name, moves in zip(self.point.simulation.program.coordinates, moved, strict=True) if moves
        )

    def _flat(self) -> tuple[str, ...]:
        """Coordinates along which no force grows."""
        tangent = self._tangent
        count, place = len(tangent.coordinates), self.point.place
        if not count:
            return ()
        slopes = Slopes(self.point, "derivative").along(tangent.basis[:, :count])
        _, values, right = np.linalg.svd(slopes[place.v])
        flat = right[int(np.sum(values > 1e-9 * max(1.0, values.max(initial=0.0)))) :]
        moved = np.abs(flat).max(axis=0, initial=0.0) > 1e-6
        return tuple(name for name, free in zip(tangent.names, moved, strict=False) if free)

    @property
    def stability(self) -> str:
        """ "stable", "neutral" (it stays where it is pushed to), or "unstable"."""
        values = self.eigenvalues
        largest = np.abs(values).max(initial=0.0)
        if np.real(values).max(initial=0.0) > max(STABLE * largest, 1e-9):
            return "unstable"
        return "neutral" if self.neutral else "stable"

    @property
    def stable(self) -> bool:
        """Whether small disturbances do not grow."""
        return self.stability != "unstable"

    def __repr__(self) -> str:
        name = self.point.simulation.name
        return f"<Equilibrium of {name}: {self.stability}, accelerations below {self.residual:.1e}>"

    def __str__(self) -> str:
        program = self.point.simulation.program
        values = zip(program.coordinates, self.state[self.point.place.q], strict=True)
        rows = [f"{name:<40} {value:>16.9g}" for name, value in (*values, *self.trimmed.items())]
        neutral = f"neutral: {', '.join(self.neutral)}" if self.neutral else ""
        head = f"{self.point.simulation.name} at rest, {self.stability}; accelerations below {self.residual:.1e}"
        return "\n".join([head, *rows, *([neutral] if neutral else [])])


@heeded
@with_kinds
def equilibrium(
    model: Subsystem | Simulation,
    near: Mapping[str, float] | None = None,
    *,
    hold: Iterable[str] = (),
    trim: Iterable[str] = (),
    stable: bool = False,
    time: float = 0.0,
    inputs: Mapping[str, Any] | None = None,
    parameters: Mapping[str, float] | None = None,
    **options: Any,
) -> Equilibrium:
    """Where a model stays at rest, from the declared start or from coordinates `near` it (by name, as `initial`).

    `hold` names coordinates that stay as they are, whatever force that takes. `trim` names inputs and tunable
    parameters that are unknown, too: as many as coordinates are held, and then nothing accelerates at all. With
    `stable` a position that would be left at the least disturbance is not taken. `time` [s] is what expressions of time
    see. Further options are those of `Simulation`. RunError where no equilibrium is found.
    """
    point = in_joint_coordinates(find_point(model, near, time, inputs, parameters, options)).at_rest()
    check_fit(point)
    _refuse_motion(point)
    result = _rest_with_modes(point, listed(hold), listed(trim), stable)
    if stable and not result.stable:
        raise RunError(
            f"only an unstable equilibrium was found (it grows at {np.real(result.eigenvalues).max():.3g} 1/s).",
            fix="Give another position near=..., or leave out stable=True.",
        )
    return result


def _rest_with_modes(point: Point, hold: tuple[str, ...], trim: tuple[str, ...], stable: bool) -> Equilibrium:
    """Rest with what laws hold, all that touches at first; modes are chosen again there until they are those."""
    point = holding(point)
    for _ in range(ROUNDS):
        if path := sliding(point):
            raise RunError("friction does not hold it there: it slides.", path=path, fix=PLACED)
        task = Task(point, hold, trim)

        def made(there: Point, steps: int = 0, by: str = "", task: Task = task) -> Equilibrium:
            residual = float(np.abs(task.residual(there)).max(initial=0.0))
            return Equilibrium(there, residual, steps, by, task.held, task.values(there))

        try:
            result = made(*search(task, point, lambda there, made=made: not stable or made(there).stable))
        except RunError as error:
            _explain(point, error)
            raise
        if not point.simulation.program.laws:
            return result
        if path := overlap(result.point):
            raise RunError("it would rest inside of what it touches.", path=path, fix=PLACED)
        point = settled(result.point).at_rest()
        if np.array_equal(point.state[point.place.modes], result.state[point.place.modes]):
            return result
    raise RunError("what holds and what slides changes from one position of rest to the next.", fix=PLACED)


def _explain(point: Point, error: RunError) -> None:
    """Say more where laws are why nothing rests."""
    units = point.simulation.program.laws
    gaps = [unit for unit in units if unit.level == "position"]
    if gaps and not any(point.state[point.place.modes][unit.modes[0]] > 0 for unit in gaps):
        raise RunError("no gap is closed, and nothing else keeps it.", path=gaps[0].path, fix=PLACED) from error


def check_fit(point: Point) -> None:
    """Say what is held because it is sampled; RunError where nobody here knows what laws hold."""
    program = point.simulation.program
    if program.rates:
        every = program.rates[0][0]
        warn(f"what is sampled (every {every:g} s) keeps its value here: it answers to nothing.", ModelWarning)
    if program.laws and (program.opaque or program.away or program.hidden or "law_view" not in program.routines):
        raise RunError(
            "contact and friction inside of parts that only answer are not known here.",
            path=program.laws[0].path,
            fix='Ask with contact="soft", or open the parts.',
        )


def _refuse_motion(point: Point) -> None:
    speeds = np.abs(point.state[point.place.v])
    if speeds.max(initial=0.0) > 1e-9:
        name = point.simulation.program.speeds[int(np.argmax(speeds))]
        raise RunError(
            f"prescribed motions move it: {name} is {speeds.max():.3g} at {point.time:g} s.",
            fix="Ask at a time when drives stand still, or leave the drive out.",
        )
