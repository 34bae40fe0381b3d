"""What engines of a model with closed parts share, however the whole is moved: state, results, events and samples."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import casadi as ca

from kompono.errors import TranslationError
from kompono.translate.declared.networks import Network
from kompono.translate.engines.traced import TracedEngine
from kompono.translate.motion.signals import bind_results, samples_with_results, uses_results
from kompono.translate.motion.states import reads_of
from kompono.translate.parts.compartment import Compartment, CompartmentState
from kompono.translate.parts.linked import moment_of
from kompono.translate.parts.moment import Moment
from kompono.translate.parts.report import PartedWriter, report_whole
from kompono.translate.parts.sealed import sealed_in
from kompono.translate.parts.ticks import sampled
from kompono.translate.parts.tying import as_tied
from kompono.translate.program import TIED, Channel, Routine
from kompono.translate.symbolic import Vector
from kompono.translate.tracer import Tracer

Told = list[tuple[str, Vector]]


class ByParts(TracedEngine):
    """State and names are those of the model with all parts opened; motion comes from the parts as they are."""

    compartment: Compartment
    places: list[int]

    @property
    def opens(self) -> bool:
        """Parts are asked whatever their gaps are."""
        return False

    @property
    def loosens(self) -> bool:
        """They bring back what they hold by themselves."""
        return False

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """Places in the state of each closed part."""
        found = (tuple(part.inside.places(self)) for part in self.compartment.parts)
        return tuple(group for group in found if group)

    def _moment(self) -> tuple[Tracer, Moment]:
        tracer, _ = self._start()
        state = ca.SX(tracer.values["state"])
        x = ca.vertcat(ca.SX(0, 1), *[state[place, :] for place in self.places])
        return tracer, moment_of(self.compartment, tracer, self.compartment.unpack(x))

    def _settled_tied(self) -> tuple[Tracer, Moment, Moment]:
        """As `_settled`, while parts hand on all rows of their laws."""
        tracer, before = self._moment()
        before = as_tied(before)
        return tracer, before, before.settled()[0]

    def _scattered(self, values: CompartmentState) -> Vector:
        """A column in the order of this engine from one in the order of the compartment."""
        packed = self.compartment.pack(values)
        places = {place: k for k, place in enumerate(self.places)}
        return ca.vertcat(ca.SX(0, 1), *[packed[places[k]] for k in range(len(self.places))])

    # -- results

    @cached_property
    def _settled(self) -> tuple[Tracer, Moment, Moment]:
        """This state as it is, and with speeds that meet all conditions."""
        tracer, before = self._moment()
        return tracer, before, before.settled()[0]

    @cached_property
    def _traced_channels(self) -> tuple[tuple[Channel, ...], Vector]:
        _, before, now = self._settled
        now = now.at(now.values)  # symbols mean this state
        channels, values = report_whole(now, before)
        return channels, ca.densify(ca.vertcat(*values))

    def outputs(self, name: str = "outputs", columns: Sequence[int] | None = None) -> Routine:
        told = self._tied_channels if name.startswith(TIED) else (self._settled[0], self._traced_channels[1])
        chosen = told[1] if columns is None else ca.vertcat(*[told[1][i] for i in columns])
        return told[0].routine(name, [("channels", chosen)])

    @cached_property
    def _tied_channels(self) -> tuple[Tracer, Vector]:
        """The same while parts hand on all rows of their laws."""
        tracer, before, now = self._settled_tied()
        _, values = report_whole(now.at(now.values), before)
        return tracer, ca.densify(ca.vertcat(*values))

    def _now(self) -> tuple[Tracer, Moment]:
        """With speeds that meet all conditions, and symbols that mean this state."""
        tracer, _, now = self._settled
        return tracer, now.at(now.values)

    def _law_guards(self, now: Moment) -> tuple[list[Vector], list[Vector]]:
        """Guards of laws and their slopes."""
        return [], []

    def guards(self) -> Routine:
        return self._guards_of("guards", *self._settled)

    def _guards_of(self, name: str, tracer: Tracer, before: Moment, now: Moment) -> Routine:
        now = self._with_results(now.at(now.values))
        found, (values, slopes) = now.guards(), self._law_guards(now)
        named = [("values", ca.vertcat(*[found[event] for event in self.model.events], *values))]
        if slopes and self.law_rows.has_slopes:
            named.append(("slopes", ca.vertcat(*slopes)))
        return tracer.routine(name, self._with_beside(named, before, now))

    def _with_beside(self, named: Told, before: Moment, now: Moment) -> Told:
        """Guards, and what else is known where they are looked at, at a state and with speeds that meet all
        conditions.
        """
        return named

    @property
    def looks_inside(self) -> bool:
        """Whether all parts can be opened."""
        return not sealed_in(self.compartment)

    @property
    def iterated(self) -> tuple[Network, ...]:
        """Own ones, and those inside parts that can be opened for an answer to what went wrong."""
        model = self.model if self.looks_inside else self.compartment.model
        return tuple(network for network in model.networks if network.iterated)

    def networks_done(self) -> Routine:
        if self.looks_inside:
            return super().networks_done()
        tracer, now = self._now()
        return now.tracer.routine("iterated", [("done", self._done(tracer, self.compartment.model))])

    def switch(self, number: int) -> Routine:
        return self._switch_of(f"switch_{number}", number, *self._settled)

    def _switch_of(self, name: str, number: int, tracer: Tracer, _: Moment, now: Moment) -> Routine:
        event = self.model.events[number]
        state = ca.SX(tracer.values["state"])
        for mode, value in self._with_results(now.at(now.values)).switched(event):
            place = next(i for i, known in enumerate(self.model.memory) if known is mode)
            state[self.nq + self.nv + place] = value
        return tracer.routine(name, [("state", state)])

    def tick(self, number: int) -> Routine:
        return self._tick_of(f"tick_{number}", number, *self._settled)

    def _tick_of(self, name: str, number: int, tracer: Tracer, _: Moment, settled: Moment) -> Routine:
        now = self._with_results(settled.at(settled.values))
        own = self.compartment.model
        if len(own.controllers) < len(self.model.controllers):
            inside = next(one for one in self.model.controllers if all(one is not known for known in own.controllers))
            raise TranslationError(
                "a closed part cannot ask Python.", path=self.model.path(inside),
                fix="Declare the controller in an owner, and connect it, or leave the part open.",
            )  # fmt: skip
        due = [self.sample_rates[k] for k in self.ticks[number]]
        named = [("state", self._scattered(sampled(now, due))), *reads_of(tracer, own, due)]
        settled.at(now.values)  # symbols mean the present again
        return tracer.routine(name, named)

    @cached_property
    def _uses_results(self) -> bool:
        """Whether own events or samples use results; those of parts do not."""
        own = self.compartment.model
        return bool(uses_results(own) or samples_with_results(own))

    def _with_results(self, now: Moment) -> Moment:
        """A moment at which own events and samples may use results, if some do."""
        if self._uses_results:
            writer = PartedWriter(now, now.forces(whole=True), ca.SX(0, 1))
            bind_results(now.tracer, now.kinematics, writer.acceleration, writer.readings)
        return now
