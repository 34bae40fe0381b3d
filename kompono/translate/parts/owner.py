"""The engines of a model with closed parts: by what its parts answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import casadi as ca

from kompono.errors import RunError
from kompono.model.subsystem import Subsystem
from kompono.translate.absolute import AbsoluteEngine
from kompono.translate.elaborate import Elaborated
from kompono.translate.engine import Engine
from kompono.translate.parts.compartment import Compartment
from kompono.translate.parts.moment import Moment
from kompono.translate.parts.report import report_whole
from kompono.translate.parts.sealed import sealed_in
from kompono.translate.parts.twins import PlacedTwin, Twin
from kompono.translate.program import Channel, Routine
from kompono.translate.relative import Close, RelativeEngine
from kompono.translate.tracer import Tracer


class ByParts(Engine):
    """State and names are those of the model with all parts opened; motion comes from the parts as they are."""

    compartment: Compartment
    places: list[int]

    def _moment(self) -> tuple[Tracer, Moment]:
        tracer, _ = self._start()
        state = ca.SX(tracer.values["state"])
        x = ca.vertcat(ca.SX(0, 1), *[state[place, :] for place in self.places])
        return tracer, Moment(self.compartment, tracer, self.compartment.unpack(x))

    def _scattered(self, moment: Any) -> Any:
        """A column in the order of this engine from one in the order of the compartment."""
        packed = self.compartment.pack(moment)
        places = {place: k for k, place in enumerate(self.places)}
        return ca.vertcat(ca.SX(0, 1), *[packed[places[k]] for k in range(len(self.places))])

    @cached_property
    def _derivative(self) -> Routine:
        tracer, now = self._moment()
        now, settled = now.settled()
        condensed = now.forces() if settled is None else now.forces_after(settled)
        rates = now.rates(condensed, condensed.resolve(ca.SX(0, 1)))
        return tracer.routine("derivative", [("rate", self._scattered(rates))])

    def project(self) -> Routine:
        """state -> state on the conditions, here and inside all parts."""
        tracer, now = self._moment()
        near = ca.SX.ones(2)
        now = now.at(now.normalized())
        if self.compartment.keeps:
            for level in ("residual", "speed"):
                for _ in range(2):
                    condensed = now.violated(level)
                    now = now.at(now.corrected(condensed, condensed.resolve(ca.SX(0, 1)), level))
                now = now.at(now.normalized())
            near = condensed.near()
        return tracer.routine("project", [("state", self._scattered(now.values)), ("near", near)])

    def gap(self) -> Routine:
        tracer, now = self._moment()
        return tracer.routine("gap", [("gap", now.gap())])

    # -- results

    @cached_property
    def _settled(self) -> tuple[Tracer, Moment, Moment]:
        """This state as it is, and with speeds that meet all conditions."""
        tracer, before = self._moment()
        return tracer, before, before.settled()[0]

    @cached_property
    def _traced_channels(self) -> tuple[tuple[Channel, ...], Any]:
        _, before, now = self._settled
        now = now.at(now.values)  # symbols mean this state
        channels, values = report_whole(now, before)
        return channels, ca.densify(ca.vertcat(*values))

    def outputs(self, name: str = "outputs", columns: Sequence[int] | None = None) -> Routine:
        values = self._traced_channels[1]
        chosen = values if columns is None else ca.vertcat(*[values[i] for i in columns])
        return self._settled[0].routine(name, [("channels", chosen)])

    def guards(self) -> Routine:
        tracer, _, now = self._settled
        found = now.at(now.values).guards()
        return tracer.routine("guards", [("values", ca.vertcat(*[found[id(event)] for event in self.model.events]))])

    def switch(self, number: int) -> Routine:
        tracer, _, now = self._settled
        event = self.model.events[number]
        state = ca.SX(tracer.values["state"])
        for mode, value in now.at(now.values).switched(event):
            place = next(i for i, known in enumerate(self.model.modes) if known is mode)
            state[self.nq + self.nv + place] = value
        return tracer.routine(f"switch_{number}", [("state", state)])


class PartedEngine(ByParts, Twin):
    """In joint coordinates."""

    def __init__(self, compartment: Compartment, kernels: dict[str, ca.Function], *, shared: bool) -> None:
        Twin.__init__(
            self, compartment.whole, compartment.twin_topology, kernels, shared=shared, close=compartment.close
        )
        compartment.adopt(self)
        self.places = compartment.places(self)

    def opened_derivative(self) -> Routine:
        return RelativeEngine(self.model, self.topology, self.kernels, shared=False, close=self._close).derivative()


class PartedAbsoluteEngine(ByParts, PlacedTwin):
    """With every body placed by itself."""

    def __init__(self, compartment: Compartment, kernels: dict[str, ca.Function], *, shared: bool) -> None:
        PlacedTwin.__init__(
            self, compartment.whole, compartment.twin_topology, kernels, shared=shared, close=compartment.close
        )
        compartment.adopt(self)
        self.places = compartment.places(self)

    def opened_derivative(self) -> Routine:
        return AbsoluteEngine(self.model, self.topology, self.kernels, shared=False, close=self._close).derivative()


class Parted:
    """A model divided at the borders of its closed parts; `way` is engine, projection and metric."""

    def __init__(
        self, model: Elaborated, parts: list[Subsystem], way: tuple[str, str, str], cut: Iterable[str],
        independent: Iterable[str], close: Close | None,
    ) -> None:  # fmt: skip
        _check_way(", ".join(model.path(part) for part in parts), *way)
        self._compartment = Compartment(
            model, parts, cut=cut, independent=independent, close=close, placed=way[0] == "absolute"
        )
        self.topology = self._compartment.twin_topology
        self.sealed = bool(sealed_in(self._compartment))

    def engine(self, kernels: dict[str, ca.Function], shared: bool) -> Engine:
        """An engine for it."""
        kind = PartedAbsoluteEngine if self._compartment.placed else PartedEngine
        return kind(self._compartment, kernels, shared=shared)


def _check_way(names: str, engine: str, projection: str, metric: str) -> None:
    if engine == "discrete":
        raise RunError(
            f"closed parts ({names}) answer with accelerations; engine='discrete' asks for forces of springs alone.",
            fix="Use engine='relative' or 'absolute', or leave the parts open.",
        )
    if engine == "absolute" and (projection, metric) != ("distributed", "mass"):
        raise RunError(
            f"closed parts ({names}) are projected part by part and by their masses.",
            fix=f"Leave projection={projection!r} and metric={metric!r} out, or leave the parts open.",
        )
