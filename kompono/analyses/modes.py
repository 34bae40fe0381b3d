"""modes(model, at=...) -> Modes: frequencies, damping and shapes of small motions, and who moves in each.

A mode is a pair of complex eigenvalues of A, or a real one. Its energy shares are the kinetic energies of the bodies
in that motion, averaged over a period, summed by the component they belong to. What is inside sealed parts has no
share: nobody knows its masses.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kompono.analyses.linearize import LinearModel, linearize
from kompono.analyses.mechanics import lumps, mass_matrix, solids, twists, unknown_masses
from kompono.analyses.point import Point
from kompono.analyses.swing import swing
from kompono.errors import RunError
from kompono.given import shown
from kompono.kinds import count
from kompono.model.subsystem import Subsystem
from kompono.result import Result
from kompono.run_end import state_names
from kompono.simulation import Simulation

STILL = 1e-6  # [rad/s], relative to the fastest: slower ones are counted as rest


@dataclass(frozen=True, eq=False)
class Mode:
    """One motion exp(s t). `frequency` [Hz] is that of the damped vibration (0: it creeps), `natural` [Hz] |s| / 2 pi,
    `damping` -Re s / |s| (negative: it grows, nan: rest). `shape` maps coordinates, speeds and states to complex
    amplitudes, the largest coordinate is 1. `shares` maps components to their part of the kinetic energy.
    """

    eigenvalue: complex
    shape: dict[str, complex]
    shares: dict[str, float]
    state: np.ndarray  # the same for the whole state

    @property
    def frequency(self) -> float:
        return abs(self.eigenvalue.imag) / (2 * np.pi)

    @property
    def natural(self) -> float:
        return abs(self.eigenvalue) / (2 * np.pi)

    @property
    def damping(self) -> float:
        size = abs(self.eigenvalue)
        return -self.eigenvalue.real / size if size else float("nan")


class Modes(Sequence[Mode]):
    """Modes of a model, slowest first: rest and creep, then vibrations."""

    def __init__(self, linear: LinearModel, found: Sequence[Mode]) -> None:
        self.linear, self._found = linear, tuple(found)

    def __getitem__(self, index: Any) -> Any:
        return self._found[index]

    def __len__(self) -> int:
        return len(self._found)

    def __iter__(self) -> Iterator[Mode]:
        return iter(self._found)

    @property
    def frequencies(self) -> np.ndarray:
        """Of all modes [Hz]."""
        return np.array([mode.frequency for mode in self._found])

    @property
    def dampings(self) -> np.ndarray:
        """Damping ratios of all modes."""
        return np.array([mode.damping for mode in self._found])

    @property
    def stable(self) -> bool:
        """Whether no mode grows."""
        largest = max((abs(mode.eigenvalue) for mode in self._found), default=0.0)
        return all(mode.eigenvalue.real <= max(1e-7 * largest, 1e-9) for mode in self._found)

    def swing(self, number: int, amplitude: float | None = None, cycles: int = 3) -> Result:
        """The machine swinging in one mode, as a result to look at: `.view()`, `.animate("mode.gif")`. `amplitude` is
        the deviation of the coordinate that is 1 in the shape [m, rad]; None makes the motion a tenth of the machine.
        """
        cycles = count("cycles", cycles)
        if not isinstance(number, int) or not -len(self) <= number < len(self):
            raise RunError(f"there is no mode {shown(number)}.", fix=f"There are 0 to {len(self) - 1}.")
        mode = self._found[number]
        return swing(self.linear.point, mode.state, mode.frequency, amplitude, cycles)

    def __repr__(self) -> str:
        return f"<Modes of {self.linear.point.simulation.name}: {len(self)}>"

    def __str__(self) -> str:
        head = f"{self.linear.point.simulation.name}: {len(self)} modes"
        head += "" if self.linear.steady else " (of this moment: the machine accelerates)"
        rows = [f"{'':>3}  {'Hz':>12}  {'damping':>9}  {'growth 1/s':>11}  moves"]
        for number, mode in enumerate(self._found):
            shape = sorted(mode.shape.items(), key=lambda item: -abs(item[1]))
            moving = ", ".join(name for name, size in shape[:2] if abs(size) > 0.05)
            shares = ", ".join(f"{path} {share:.0%}" for path, share in _largest(mode.shares))
            rows.append(
                f"{number:>3}  {mode.frequency:>12.6g}  {mode.damping:>9.4f}  {mode.eigenvalue.real:>11.4g}  "
                + "; ".join(part for part in (moving, shares) if part)
            )
        return "\n".join([head, *rows])


def _largest(shares: dict[str, float]) -> list[tuple[str, float]]:
    return [item for item in sorted(shares.items(), key=lambda item: -item[1])[:3] if item[1] > 0.01]


def modes(model: Subsystem | Simulation, at: Any = None, **options: Any) -> Modes:
    """Frequencies, damping ratios, shapes and energy shares of small motions about a state; arguments are those of
    `linearize`. To vibrate about rest, give what `equilibrium` found.
    """
    return linearize(model, at, **options).modes()


def find_modes(linear: LinearModel) -> Modes:
    """The modes of a linear model."""
    values, vectors = np.linalg.eig(linear.A) if len(linear.A) else (np.zeros(0), np.zeros((0, 0)))
    fastest = np.abs(values).max(initial=0.0)
    energies = _Energies(linear.point)
    found = []
    for value, vector in zip(values, vectors.T, strict=True):
        if value.imag < -STILL * fastest:
            continue  # the other one of a pair
        found.append(_mode(linear, energies, complex(value), vector.astype(complex)))
    found.sort(key=lambda mode: (mode.frequency > 0, round(abs(mode.eigenvalue), 12), mode.eigenvalue.real))
    return Modes(linear, found)


def _mode(linear: LinearModel, energies: _Energies, value: complex, vector: np.ndarray) -> Mode:
    count = len(linear.tangent.coordinates)
    places = vector[:count] if np.abs(vector[:count]).max(initial=0.0) > 1e-12 else vector
    vector = vector / places[int(np.argmax(np.abs(places)))] if np.abs(places).any() else vector
    whole = linear.tangent.basis @ vector
    program = linear.point.simulation.program
    shape = {
        name: complex(size)
        for name, size in zip(state_names(program), whole, strict=True)
        if name not in program.speeds
    }
    shape = {name: size for name, size in shape.items() if name not in program.modes}
    speeds = whole[linear.point.place.v]
    if not np.abs(speeds).max(initial=0.0) and np.abs(whole).any():  # a displacement that stays: who would move
        turning = linear.point.coordinate_rates()
        speeds = np.linalg.pinv(turning) @ whole[linear.point.place.q]
    return Mode(value, shape, energies.shares(speeds), whole)


class _Energies:
    """Kinetic energies of components at complex speeds (their average over a period, up to a factor)."""

    def __init__(self, point: Point) -> None:
        self.point = point
        simulation = point.simulation
        model = simulation.translation.model
        self.known = not unknown_masses(point)
        self.paths = [model.path(body) for body in model.bodies]
        self.matrix = mass_matrix(point) if self.known else np.zeros((len(simulation.program.speeds),) * 2)
        self.solids = solids(point)
        self.still = twists(point, np.zeros(len(self.matrix)))

    def shares(self, speeds: np.ndarray) -> dict[str, float]:
        """The share of each component (the part of the model, or the body, at the top) in the kinetic energy."""
        total = float(np.real(speeds.conj() @ self.matrix @ speeds))
        if total <= 0:
            return {}
        found: dict[str, float] = {}
        moving = [twists(self.point, part) - self.still for part in (np.real(speeds), np.imag(speeds))]
        for number, (path, (mass, inertia)) in enumerate(zip(self.paths, self.solids, strict=True)):
            energy = 0.0
            for part in moving:
                velocity, spin = part[number, :3], part[number, 3:]
                energy += float(mass * velocity @ velocity + spin @ inertia @ spin)
            top = path.split(".")[0]
            found[top] = found.get(top, 0.0) + energy / total
        for place, inertia, path in lumps(self.point):
            top = path.split(".")[0]
            found[top] = found.get(top, 0.0) + inertia * float(np.abs(speeds[place])) ** 2 / total
        return found
