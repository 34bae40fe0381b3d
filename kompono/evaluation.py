"""evaluate(model, at=...) -> Evaluation: all channels at one state, without a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from kompono.errors import ModelWarning, RunError, suggest, warn
from kompono.given import number, shown
from kompono.interruption import heeded
from kompono.model.subsystem import Subsystem
from kompono.options import check_known, with_kinds
from kompono.request import OF_CONCERN, Concern, Request
from kompono.result import UnknownChannel, matching
from kompono.simulation import Simulation
from kompono.solve.assemble import remarks


class Evaluation(Mapping[str, float]):
    """Channels by name at one state: `evaluation["pin.force.z"]` a number, `evaluation.vector("pin.force")` an array.

    `units` maps names to SI units, `time` [s] is when, `moved` says which of the values asked for had to move, and by
    how much, to close the loops.
    """

    def __init__(
        self, values: Mapping[str, float], units: Mapping[str, str], time: float, moved: Mapping[str, float], model: str
    ) -> None:
        self._values = dict(values)
        self.names = tuple(self._values)
        self.units, self.time, self.moved, self.model = dict(units), time, dict(moved), model

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
    at: Mapping[str, float] | None = None,
    *,
    time: float = 0.0,
    engine: str = "relative",
    channels: str | Iterable[str] = "*",
    inputs: Mapping[str, Any] | None = None,
    parameters: Mapping[str, float] | None = None,
    **options: Any,
) -> Evaluation:
    """All channels of a model at one state, without a run: positions, accelerations, reactions, energies.

    `at` gives coordinates and speeds by channel name, as `initial` of `simulate` does: `{"pin.angle": 0.3,
    "pin.angle.rate": 2.0}`; what it leaves open is as declared. Loops are closed as at the start of a run, with a
    warning where that moves what was given. `time` [s] is what expressions of time, drives and tables of inputs see.
    Further options are those of `Simulation` (cut, independent, projection, ...). To evaluate often, make a
    `Simulation(model)` once and pass it instead.
    """
    request = Request.of(locals(), Request(initial=at, native=False))
    time = number(time, "the time", error=RunError, fix="Give seconds.")
    if isinstance(model, Simulation):
        if options or engine not in (Request.engine, model.engine):
            raise RunError("engine and its options were chosen when the Simulation was made.", fix="Leave them out.")
        return _evaluate(model, request, time)
    check_known(options, OF_CONCERN[Concern.SOLUTION], "argument")
    request = Request.of(options, request)
    return _evaluate(Simulation.of(model, request), request, time)


def _evaluate(simulation: Simulation, request: Request, time: float) -> Evaluation:
    values, feed = simulation.parameters(request.parameters), simulation.feed(request.inputs)
    assembly = simulation.assemble(request.initial, parameters=values, feed=feed, time=time)
    for remark in remarks(assembly):
        warn(remark, ModelWarning)
    values = simulation.completed(values, assembly.state, feed, simulation.entry.step, time)
    started = simulation.started(assembly.state, values, feed, time)
    known = simulation.program.channels
    columns = matching(request.channels, known)
    routine = simulation.translation.select(columns)
    with simulation.kernel.begun(started) as state:
        feed.sample(time, lambda name: simulation.channel(time, state, feed.at(time), values, name))
        if simulation.settler is not None and simulation.program.opaque:
            state = simulation.settler.start(time, state, feed.at(time), values)
        (numbers,) = simulation.kernel.evaluate(routine, time, state, feed.at(time), values)
    if routine == "outputs":
        numbers = np.asarray(numbers)[columns]
    chosen = [known[i] for i in columns]
    bad = [channel.name for channel, x in zip(chosen, numbers, strict=True) if not np.isfinite(x)]
    if bad:
        more = f" and {len(bad) - 1} more" if len(bad) > 1 else ""
        warn(f"{bad[0]}{more}: not a finite number at this state.", ModelWarning)
    return Evaluation(
        {channel.name: float(x) for channel, x in zip(chosen, numbers, strict=True)},
        {channel.name: channel.unit for channel in chosen},
        time,
        assembly.moved,
        simulation.name,
    )
