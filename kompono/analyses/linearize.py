"""linearize(model, at=..., inputs=[...], outputs=[...]) -> LinearModel: small motions about a state.

    dz/dt = A z + B u,      y = C z + D u

in minimal coordinates: z are deviations of independent coordinates and speeds and of states of one's own (see
`tangent`), u deviations of inputs, y deviations of channels. Loops and redundant conditions are projected exactly.
Modes stay as they are: what is held is a condition.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from kompono.analyses.equilibrium import check_fit
from kompono.analyses.point import Point, find_point, in_joint_coordinates, listed
from kompono.analyses.slopes import Slopes
from kompono.analyses.tangent import Tangent, find_tangent
from kompono.errors import RunError, suggest
from kompono.given import numbers
from kompono.interruption import heeded
from kompono.model.subsystem import Subsystem
from kompono.result import matching
from kompono.simulation import Simulation

if TYPE_CHECKING:
    from kompono.analyses.modes import Modes

STEADY = 1e-6  # accelerations, relative to speeds and 1, and changes of A that count as none
AHEAD = 1e-2  # [rad or m] how far along the motion A is looked at again


@dataclass(frozen=True, eq=False)
class LinearModel:
    """State space with names: `A` (z, z), `B` (z, u), `C` (y, z), `D` (y, u), all in SI units.

    `states`, `inputs` and `outputs` name z, u and y, `rest` are the values of the outputs at the state. `steady` says
    whether nothing accelerates there and A is the same all along the motion; if not, it holds for this moment, and its
    eigenvalues tell nothing of stability. About a steady motion choose coordinates that do not turn with it: those of
    a bicycle's frame, not of its wheels (`cut`, `independent`).
    """

    tangent: Tangent
    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    rest: np.ndarray
    steady: bool

    @property
    def point(self) -> Point:
        """Where it was linearized."""
        return self.tangent.point

    @property
    def states(self) -> tuple[str, ...]:
        """Names of z: coordinates, speeds, states of one's own."""
        return self.tangent.names

    @cached_property
    def eigenvalues(self) -> np.ndarray:
        """Of A [1/s], complex, smallest first."""
        values = np.linalg.eigvals(self.A)
        return values[np.lexsort((values.imag, np.round(np.abs(values), 9)))]

    def response(self, frequencies: Any) -> np.ndarray:
        """C (i w - A)^-1 B + D (frequencies, y, u), complex, at frequencies [Hz]."""
        found = []
        asked = np.atleast_1d(np.asarray(frequencies, dtype=object)).ravel()
        for frequency in numbers(asked.tolist(), (-1,), "frequencies", error=RunError, fix="Give numbers [Hz]."):
            matrix = 2j * np.pi * frequency * np.eye(len(self.A)) - self.A
            found.append(self.C @ np.linalg.solve(matrix, self.B.astype(complex)) + self.D)
        return np.array(found).reshape(-1, len(self.outputs), len(self.inputs))

    def modes(self) -> Modes:
        """Frequencies, damping and shapes."""
        from kompono.analyses.modes import find_modes

        return find_modes(self)

    def to_control(self) -> Any:
        """The same as `control.StateSpace` of python-control, which wants `_` for the dots in names."""
        try:
            import control
        except ImportError:
            raise RunError("python-control is not installed.", fix="pip install control") from None
        kinds = {"states": self.states, "inputs": self.inputs, "outputs": self.outputs}
        named = {kind: [name.replace(".", "_") for name in names] for kind, names in kinds.items()}
        return control.ss(self.A, self.B, self.C, self.D, name=self.point.simulation.name, **named)

    def to_xarray(self) -> Any:
        """The same as a data set of xarray, with names as coordinates."""
        try:
            import xarray
        except ImportError:
            raise RunError("xarray is not installed.", fix="pip install 'kompono[xarray]'") from None
        named = {"state": list(self.states), "rate": list(self.states), "input": list(self.inputs)}
        named["output"] = list(self.outputs)
        places = {"A": ("rate", "state"), "B": ("rate", "input"), "C": ("output", "state"), "D": ("output", "input")}
        arrays = {name: (axes, getattr(self, name)) for name, axes in places.items()}
        return xarray.Dataset(arrays, coords=named, attrs={"model": self.point.simulation.name})

    def __repr__(self) -> str:
        sizes = f"{len(self.states)} states, {len(self.inputs)} inputs, {len(self.outputs)} outputs"
        return f"<LinearModel of {self.point.simulation.name}: {sizes}>"


@heeded
def linearize(
    model: Subsystem | Simulation,
    at: Mapping[str, float] | Any = None,
    *,
    inputs: Iterable[str] | None = None,
    outputs: Iterable[str] = (),
    coordinates: Iterable[str] = (),
    time: float = 0.0,
    values: Mapping[str, Any] | None = None,
    parameters: Mapping[str, float] | None = None,
    **options: Any,
) -> LinearModel:
    """Small motions of a model about a state: `at` an equilibrium, coordinates and speeds by name, or the declared
    start.

    `inputs` names inputs and tunable parameters that become u (all inputs, if none are named), `outputs` channels (or
    patterns) that become y. `coordinates` are preferred as independent. `values` feed inputs, as `inputs` of
    `simulate`. Further options are those of `Simulation`.
    """
    point = in_joint_coordinates(find_point(model, at, time, values, parameters, options))
    check_fit(point)
    program = point.simulation.program
    names = program.inputs if inputs is None else listed(inputs)
    known = (*program.inputs, *program.parameters)
    for name in names:
        if name not in known:
            raise RunError(f"there is no input or parameter {name!r}.", fix=suggest(name, known))
    tangent = find_tangent(point, coordinates)
    rates = Slopes(point, "derivative")
    channels = [column for name in listed(outputs) for column in matching(name, program.channels)]
    channels = list(dict.fromkeys(channels))
    read, rest = (None, np.zeros(0))
    if channels:
        read, rest = _reading(point, channels)
    count, size = len(names), len(tangent.chosen)
    matrix = rates.along(tangent.basis)[tangent.chosen]
    return LinearModel(
        tangent,
        matrix,
        _by_inputs(rates, names)[tangent.chosen] if count else np.zeros((size, 0)),
        read.along(tangent.basis)[_order(channels)] if read else np.zeros((0, size)),
        _by_inputs(read, names)[_order(channels)] if read and count else np.zeros((len(channels), count)),
        tuple(names),
        tuple(program.channels[column].name for column in channels),
        rest,
        _steady(tangent, matrix),
    )


def _order(columns: list[int]) -> list[int]:
    """Where each channel asked for is among those computed."""
    computed = sorted(columns)
    return [computed.index(column) for column in columns]


def _reading(point: Point, columns: list[int]) -> tuple[Slopes, np.ndarray]:
    routine = point.simulation.translation.select(sorted(columns))
    if routine == "outputs" and len(columns) != len(point.simulation.program.channels):
        raise RunError("outputs of a model this large cannot be told apart.", fix="Leave outputs out.")
    values = np.asarray(point.evaluate(routine)[0])
    return Slopes(point, routine), values[_order(columns)]


def _by_inputs(slopes: Slopes, names: Iterable[str]) -> np.ndarray:
    """d output / d (inputs and parameters by name), in their order."""
    program = slopes.point.simulation.program
    columns = []
    for name in names:
        if name in program.inputs:
            columns.append(slopes.of_inputs()[:, program.inputs.index(name)])
        else:
            columns.append(slopes.of_parameters()[:, program.parameters.index(name)])
    return np.array(columns).T


def _steady(tangent: Tangent, rates: np.ndarray) -> bool:
    """Whether nothing accelerates and A stays what it is along the motion."""
    point = tangent.point
    rate, place = point.rate, point.place
    speed = np.abs(point.state[place.v]).max(initial=0.0)
    if np.abs(np.concatenate([rate[place.v], rate[place.s]])).max(initial=0.0) > STEADY * max(1.0, speed):
        return False
    if not speed:
        return True
    names = [point.simulation.program.coordinates[k] for k in tangent.coordinates]
    later = point.with_state(point.state + AHEAD / speed * rate).closed()
    there = find_tangent(later, names)
    change = np.abs(there.rates() - rates).max(initial=0.0) if there.chosen == tangent.chosen else np.inf
    return bool(change <= STEADY * max(1.0, np.abs(rates).max(initial=0.0)))
