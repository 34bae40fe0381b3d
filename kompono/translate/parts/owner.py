"""The engine of a model with closed parts: in joint coordinates, by what its parts answer."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import casadi as ca

from kompono.translate.parts.compartment import Compartment, Twin
from kompono.translate.parts.moment import Moment
from kompono.translate.program import Routine
from kompono.translate.tracer import Tracer


class PartedEngine(Twin):
    """State and names are those of the model with all parts opened; motion comes from the parts as they are."""

    def __init__(self, compartment: Compartment, kernels: dict[str, ca.Function], *, shared: bool) -> None:
        super().__init__(
            compartment.whole, compartment.twin_topology, kernels, shared=shared, close=compartment.close
        )
        compartment.adopt(self)
        self.compartment = compartment
        self.places = compartment.places(self)

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
        if self.compartment.settles:
            settled = now.violated("rate")
            now = now.at(now.corrected(settled, settled.resolve(ca.SX(0, 1)), "rate"))
            condensed = now.forces_after(settled)
        else:
            condensed = now.forces()
        rates = now.rates(condensed, condensed.resolve(ca.SX(0, 1)))
        return tracer.routine("derivative", [("rate", self._scattered(rates))])

    def project(self) -> Routine:
        """state -> state on the conditions, here and inside all parts."""
        tracer, now = self._moment()
        near = ca.SX.ones(2)
        now = now.at(now.normalized())
        if self.compartment.settles or self.closing:
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
