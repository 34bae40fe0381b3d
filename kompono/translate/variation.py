"""The program of a model together with the derivatives of its motion with respect to some parameters and starts.

Behind the state y come columns S_k = dy/dp_k, as states of its own, so that every native loop steps them as it steps
the rest: S' = f_y S + f_p. What else happens to a state is differentiated as well. A projection takes S to P_y S + P_p,
a sample to K_y S + K_p. An event at the time t_e, where its guard h crosses zero, moves with the parameters,

    t_e' = - (h_y S + h_p) / (h_t + h_y f-),    S+ = R_y (S + f- t_e') + R_p + R_t t_e' - f+ t_e'

with the reset R: behind it S is the derivative at a fixed time again. Where the event switches conditions, R also
brings speeds to what is held from there on. Behind an event that ends the run S is the derivative of what the run ends
with, without the last term.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np

from kompono.translate.held import along
from kompono.translate.laws.naming import sizes
from kompono.translate.program import Program, Routine
from kompono.translate.repeated import solver_of
from kompono.translate.routines import Routines
from kompono.translate.slopes import routine_of, symbolic
from kompono.translate.symbolic import Vector


@dataclass(frozen=True)
class ModelVariation:
    """A program, and which of its parameters (None: a start value) the columns are derivatives by, times `scales`."""

    near: Program
    places: tuple[int | None, ...]
    scales: tuple[float, ...]

    def program(self) -> Program:
        """The same model with columns behind its state."""
        names = [f"column{k}.{i}" for k in range(len(self.places)) for i in range(self.near.state_size)]
        program = replace(self.near, states=(*self.near.states, *names))
        makers: dict[str, Callable[[], Routine]] = {
            "derivative": lambda: self._moved("derivative"),
            "outputs": lambda: self._moved("outputs"),
        }
        for name in self.near.routines:
            if name in ("project",) or name.startswith("tick_"):
                makers[name] = lambda name=name: self._moved(name)
            elif name == "gap":
                makers[name] = lambda name=name: self._same(name)
            elif name == "guards":
                makers[name] = self._guards
            elif name.startswith("switch_"):
                makers[name] = lambda name=name: self._switched(name, int(name.removeprefix("switch_")))
        return replace(program, routines=Routines(makers))

    def directions(self) -> np.ndarray:
        """How parameters change along the columns (parameters, columns)."""
        found = np.zeros((len(self.near.parameters), len(self.places)))
        for k, (place, scale) in enumerate(zip(self.places, self.scales, strict=True)):
            if place is not None:
                found[place, k] = scale
        return found

    def add_channels(self, program: Program, selected: str) -> str:
        """Offer a routine of channels and their derivatives, from one of the model; its name."""
        name = f"moved_{selected}"
        routines: Any = program.routines
        routines.add(name, lambda: self._moved(selected, name))
        return name

    # -- expressions

    def _symbols(self) -> tuple[Vector, Vector, Vector]:
        """The column of inputs of a routine, that of the model's own, and the seeds (state and parameters, columns)."""
        routine = self.near.routines["derivative"]
        _, size, inputs, parameters = (count for _, count in routine.inputs)
        x = ca.SX.sym("x", 1 + size * (1 + len(self.places)) + inputs + parameters)
        columns = ca.reshape(x[1 + size : 1 + size * (1 + len(self.places))], size, len(self.places))
        rest = x[1 + size * (1 + len(self.places)) :]
        units = ca.SX(parameters, len(self.places))
        for k, (place, scale) in enumerate(zip(self.places, self.scales, strict=True)):
            if place is not None:
                units[place, k] = scale
        return x, ca.vertcat(x[: 1 + size], rest), ca.vertcat(columns, units)

    def _known(self, own: Vector) -> Vector:
        """State and parameters among a model's own inputs."""
        size, inputs = self.near.state_size, len(self.near.inputs)
        return ca.vertcat(own[1 : 1 + size], own[1 + size + inputs :])

    def _pushed(self, value: Vector, own: Vector, seeds: Vector, shares: bool = False) -> Vector:
        """Derivatives of a value along the seeds, column by column; `shares` as of `along`."""
        return ca.densify(ca.vec(along(value, self._known(own), seeds, shares)[1]))

    def _routine(self, name: str, x: Vector, outputs: dict[str, Vector]) -> Routine:
        sizes = self.near.routines["derivative"].inputs
        whole = (sizes[0], ("state", sizes[1][1] * (1 + len(self.places))), *sizes[2:])
        return routine_of(name, whole, x, outputs, self.near.kernels)  # type: ignore[arg-type]

    def _moved(self, routine: str, name: str = "") -> Routine:
        """A routine whose first output is followed by its derivatives; others stay as they are."""
        x, own, seeds = self._symbols()
        product = self.near.routines[routine]
        first, *others = symbolic(self.near.kernels, product, own)
        labels = [label for label, _ in product.outputs]
        told = routine not in ("derivative", "project") and not routine.startswith("tick_")
        values = [ca.vertcat(first, self._pushed(first, own, seeds, told)), *others]
        return self._routine(name or routine, x, dict(zip(labels, values, strict=True)))

    def _same(self, routine: str) -> Routine:
        x, own, _ = self._symbols()
        product = self.near.routines[routine]
        labels = [label for label, _ in product.outputs]
        return self._routine(routine, x, dict(zip(labels, symbolic(self.near.kernels, product, own), strict=True)))

    def _guards(self) -> Routine:
        """Guards as they are; the rate of the state that may come with them is that of the columns as well."""
        x, own, seeds = self._symbols()
        product = self.near.routines["guards"]
        values = dict(
            zip([label for label, _ in product.outputs], symbolic(self.near.kernels, product, own), strict=True)
        )
        if "rate" in values:
            values["rate"] = ca.vertcat(values["rate"], self._pushed(values["rate"], own, seeds))
        return self._routine("guards", x, values)

    def _switched(self, routine: str, number: int) -> Routine:
        """A reset at an event whose time depends on the parameters."""
        x, own, seeds = self._symbols()
        size, routines, kernels = self.near.state_size, self.near.routines, self.near.kernels
        reset = reset_of(self.near, routine, own)
        before = symbolic(kernels, routines["derivative"], own)[0]
        after = symbolic(kernels, routines["derivative"], ca.vertcat(own[0], reset, own[1 + size :]))[0]
        guard = symbolic(kernels, routines["guards"], own)[0][number]
        moved = self._pushed(guard, own, seeds)
        flow = ca.vertcat(1, before)
        speed = along(guard, own[: 1 + size], flow)[1]
        later = -moved / speed  # (columns)
        passing = along(reset, own[: 1 + size], flow)[1]
        columns = ca.reshape(self._pushed(reset, own, seeds), size, len(self.places))
        columns = columns + ca.mtimes(passing if number in self.near.stops else passing - after, later.T)
        return self._routine(routine, x, {"state": ca.vertcat(reset, ca.densify(ca.vec(columns)))})


@dataclass(frozen=True)
class SumVariation(ModelVariation):
    """One column for all parameters at once: `together` are their places and sizes. Steps that are chosen for it, too,
    are short enough for each of them.
    """

    places: tuple[int | None, ...] = (None,)
    scales: tuple[float, ...] = (1.0,)
    together: tuple[tuple[int, float], ...] = ()

    def directions(self) -> np.ndarray:
        """How parameters change along the column (parameters, 1)."""
        found = np.zeros((len(self.near.parameters), 1))
        for place, scale in self.together:
            found[place, 0] = scale
        return found

    def _symbols(self) -> tuple[Vector, Vector, Vector]:
        x, own, seeds = super()._symbols()
        for place, scale in self.together:
            seeds[self.near.state_size + place, 0] = scale
        return x, own, seeds


@dataclass(frozen=True)
class LaneVariation(ModelVariation):
    """The same for columns that run side by side on lanes: all lanes are one code, so which of the parameters at the
    places `varied` a column is the derivative by is told by numbers behind the parameters, column by column.
    """

    varied: tuple[int, ...] = ()

    @property
    def _seeds(self) -> int:
        return len(self.varied) * len(self.places)

    def program(self) -> Program:
        """The same model with columns behind its state and seeds behind its parameters."""
        program = super().program()
        return replace(program, parameters=(*program.parameters, *(f"<seed>.{k}" for k in range(self._seeds))))

    def _symbols(self) -> tuple[Vector, Vector, Vector]:
        x, own, seeds = super()._symbols()
        given = ca.SX.sym("seeds", len(self.varied), len(self.places))
        units = ca.SX(seeds.shape[0] - self.near.state_size, len(self.places))
        for row, place in enumerate(self.varied):
            units[place, :] = given[row, :]
        return ca.vertcat(x, ca.vec(given)), own, ca.vertcat(seeds[: self.near.state_size, :], units)

    def _routine(self, name: str, x: Vector, outputs: dict[str, Vector]) -> Routine:
        sizes = self.near.routines["derivative"].inputs
        state = ("state", sizes[1][1] * (1 + len(self.places)))
        whole = (sizes[0], state, sizes[2], (sizes[3][0], sizes[3][1] + self._seeds))
        return routine_of(name, whole, x, outputs, self.near.kernels)  # type: ignore[arg-type]


def reset_of(program: Program, routine: str, own: Vector) -> Vector:
    """The state behind an event, projected where a condition depends on what is switched, as loops do: while laws hold
    nothing. If they act they settle then, and who runs the derivatives hears of that.
    """
    size, routines, kernels = program.state_size, program.routines, program.kernels
    name = "open_project" if program.laws else "project"
    reset = symbolic(kernels, routines[routine], own)[0]
    changed = [1 + k for k in range(size) if not ca.is_equal(reset[k], own[1 + k])]
    if name not in routines or not ca.depends_on(symbolic(kernels, routines[name], own)[0], own[changed]):
        return reset
    return symbolic(kernels, routines[name], ca.vertcat(own[0], reset, own[1 + size :]))[0]


def no_variation(program: Program, routines: Sequence[str] = ("derivative", "project", "guards")) -> tuple[str, str]:
    """The component a model cannot be differentiated for, and why; nothing where it can."""
    if program.hidden:
        return program.hidden[0], "what is sealed, or an FMU, only answers"
    if program.opaque or program.away:
        return (program.opaque[0][0] if program.opaque else next(iter(program.away.values()))[0]), "it runs elsewhere"
    if program.controllers:
        return program.controllers[0].path, "a Python callable has no derivatives"
    for name in routines:
        if name in program.routines and not hasattr(program.routines[name], "loops"):
            for call in program.routines[name].calls:
                found = [f.name() for f in program.kernels[call.kernel].find_functions()]
                known = {made.respond for name in found if (made := sizes(name)) is not None}
                if any(not (solver_of(name) or sizes(name) or name in known) for name in found):
                    return "", "closed parts only answer"
        elif name in program.routines:
            return "", "a large model is translated by types of components"
    return "", ""
