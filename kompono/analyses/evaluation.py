"""evaluate(model, at=...) -> Evaluation: all channels at one state, and the equations of motion, without a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from kompono.analyses.mechanics import Mechanics, find_mechanics
from kompono.analyses.point import Point, find_point
from kompono.errors import ModelWarning, RunError, suggest, warn
from kompono.given import shown
from kompono.interruption import heeded
from kompono.model.subsystem import Subsystem
from kompono.options import with_kinds
from kompono.result import UnknownChannel, matching
from kompono.simulation import Simulation


class Evaluation(Mapping[str, float]):
    """Channels by name at one state: `evaluation["pin.force.z"]` a number, `evaluation.vector("pin.force")` an array.

    `units` maps names to SI units, `time` [s] is when, `moved` says which of the values asked for had to move, and by
    how much, to close the loops. `mechanics` are the equations of motion there: mass matrix, conditions, multipliers.
    """

    def __init__(self, values: Mapping[str, float], units: Mapping[str, str], point: Point) -> None:
        self._values = dict(values)
        self.names, self.point = tuple(self._values), point
        self.units, self.time, self.moved = dict(units), point.time, dict(point.moved)
        self.model = point.simulation.name

    @cached_property
    def mechanics(self) -> Mechanics:
        """Mass matrix, conditions, multipliers and accelerations, in joint coordinates."""
        if not self.point.simulation.entry.by_joints:
            raise RunError("the equations of motion are told in joint coordinates.", fix="Use engine='relative'.")
        return find_mechanics(self.point)

    def __getitem__(self, name: str) -> float:
        """The value of one channel."""
        if not isinstance(name, str) or name not in self._values:
            raise UnknownChannel(f"there is no channel {shown(name)}.", fix=suggest(name, self.names))
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def vector(self, path: str) -> np.ndarray:
        """The components of one quantity as an array: x, y, z (3,), or e0 to e3 (4,) of an orientation."""
        for parts in (("x", "y", "z"), ("e0", "e1", "e2", "e3")):
            if all(f"{path}.{part}" in self._values for part in parts):
                return np.array([self._values[f"{path}.{part}"] for part in parts])
        stems = {name.rpartition(".")[0] for name in self.names if name.endswith((".x", ".e0"))}
        raise UnknownChannel(f"there is no vector {path!r}.", fix=suggest(path, stems))

    def select(self, patterns: str | Iterable[str]) -> dict[str, float]:
        """The channels that match a glob pattern (or any of several)."""
        return {self.names[i]: self._values[self.names[i]] for i in matching(patterns, self.names)}

    def __repr__(self) -> str:
        return f"<Evaluation of {self.model} at {self.time:g} s: {len(self.names)} channels>"

    def __str__(self) -> str:
        width = max((len(name) for name in self.names), default=0)
        rows = [f"{name:<{width}}  {value:>14.7g} {self.units[name]}" for name, value in self._values.items()]
        return "\n".join([f"{self.model} at {self.time:g} s", *rows])


@heeded
@with_kinds
def evaluate(
    model: Subsystem | Simulation,
    at: Mapping[str, float] | Any = None,
    *,
    time: float = 0.0,
    channels: str | Iterable[str] = "*",
    inputs: Mapping[str, Any] | None = None,
    parameters: Mapping[str, float] | None = None,
    **options: Any,
) -> Evaluation:
    """All channels of a model at one state, without a run: positions, accelerations, reactions, energies.

    `at` gives coordinates and speeds by channel name, as `initial` of `simulate` does: `{"pin.angle": 0.3,
    "pin.angle.rate": 2.0}`; what it leaves open is as declared; or it is what another analysis found, an equilibrium.
    Loops are closed as at the start of a run, with a
    warning where that moves what was given. `time` [s] is what expressions of time, drives and tables of inputs see.
    Further options are those of `Simulation` (engine, cut, independent, projection, ...). To evaluate often, make a
    `Simulation(model)` once and pass it instead.
    """
    return at_point(find_point(model, at, time, inputs, parameters, options), channels)


def at_point(point: Point, channels: str | Iterable[str] = "*") -> Evaluation:
    """Channels at a point."""
    known = point.simulation.program.channels
    columns = matching(channels, known)
    routine = point.simulation.translation.select(columns)
    (numbers,) = point.evaluate(routine)
    if routine == "outputs":
        numbers = np.asarray(numbers)[columns]
    chosen = [known[i] for i in columns]
    bad = [channel.name for channel, x in zip(chosen, numbers, strict=True) if not np.isfinite(x)]
    if bad:
        more = f" and {len(bad) - 1} more" if len(bad) > 1 else ""
        warn(f"{bad[0]}{more}: not a finite number at this state.", ModelWarning)
    values = {channel.name: float(x) for channel, x in zip(chosen, numbers, strict=True)}
    return Evaluation(values, {channel.name: channel.unit for channel in chosen}, point)
