"""Engines that trace the motion of the whole model at one state, for all routines that need it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import casadi as ca

from kompono.model.element import Element
from kompono.translate.declared.networks import Network
from kompono.translate.declared.open_networks import open_network
from kompono.translate.declared.open_signals import said
from kompono.translate.engines.posed import PosedEngine
from kompono.translate.laws.softened import mode_rates
from kompono.translate.motion.conditions import Closure
from kompono.translate.program import Channel, Routine
from kompono.translate.symbolic import Scalar, Vector

if TYPE_CHECKING:
    from kompono.translate.declared.elaborate import Elaborated
    from kompono.translate.elimination.blocks import Elimination
    from kompono.translate.elimination.unknowns import Solution
    from kompono.translate.laws.answer import LawAnswer
    from kompono.translate.motion.kinematics import Kinematics
    from kompono.translate.motion.loads import Loads
    from kompono.translate.tracer import Tracer


@dataclass(frozen=True)
class Present:
    """What is traced once for the state the routines are given."""

    tracer: Tracer
    kinematics: Kinematics
    closures: dict[Element, Closure]
    loads: Loads
    elimination: Elimination
    solution: Solution
    acting: LawAnswer | None = None  # what laws with modes do


class TracedEngine(PosedEngine):
    """A new engine also says what is `present` (accelerations and multipliers at a state), and what `speed_rates`
    follow.
    """

    @cached_property
    @abstractmethod
    def present(self) -> Present:
        """Kinematics, loads, factors and accelerations at the state, shared by all routines that need them."""

    @property
    def moving(self) -> Present:
        """The same as far as the derivative needs it."""
        return self.present

    @abstractmethod
    def speed_rates(self, solution: Solution) -> Vector:
        """v_dot (nv) of a solution."""

    # -- routines

    def routines(self) -> dict[str, Callable[[], Routine]]:
        """All routines by name, each traced when first asked for."""
        made = {"derivative": self.derivative, "outputs": self.outputs, **self.placing_routines()}
        if self.model.events or self.law_rows.size:
            made["guards"] = self.guards
            for k in range(len(self.model.events)):
                made[f"switch_{k}"] = lambda k=k: self.switch(k)
        for k in range(len(self.ticks)):
            made[f"tick_{k}"] = lambda k=k: self.tick(k)
        if self.law_rows.size:
            made |= {"law_view": self._law_view, "law_respond": self._law_respond, "law_free": self._law_free}
        if self.opens:
            made |= {"open_derivative": self._open_derivative, "open_guards": self._open_guards}
        if self.iterated:
            made["iterated"] = self.networks_done
        if self.model.soft:
            made["soft_shares"] = self.soft_shares
        return made

    @property
    def iterated(self) -> tuple[Network, ...]:
        """Networks that are solved by iteration."""
        return tuple(network for network in self.model.networks if network.iterated)

    def networks_done(self) -> Routine:
        """Whether the iteration of each such network ends, 1 or 0."""
        tracer = self.present.tracer
        return tracer.routine("iterated", [("done", self._done(tracer, self.model))])

    def _done(self, tracer: Tracer, model: Elaborated) -> Vector:
        networks = [(open_network(model, network), model.path(network)) for network in self.iterated]
        return ca.vertcat(*[tracer.call(lambda n=n: n.done, path=path, free=True) for n, path in networks])

    @property
    def opens(self) -> bool:
        """Whether nothing acts while all gaps are open, so that routines need not look: those called `open_...`."""
        return self.law_rows.waits

    def soft_shares(self) -> Routine:
        """h^2 k a of laws that are forces, as far as their stiffness is given."""
        from kompono.translate.laws.soft_seen import soft_shares

        return self.present.tracer.routine("soft_shares", [("shares", soft_shares(self.present.kinematics))])

    def derivative(self) -> Routine:
        """state -> rate."""
        return self._derivative

    @cached_property
    def _derivative(self) -> Routine:
        acting = self.moving.acting if not self.model.states else None  # rates of states may use forces
        return self.moving.tracer.routine("derivative", [("rate", self._rates(acting.moving() if acting else None))])

    def _open_derivative(self) -> Routine:
        """state -> rate while all gaps are open."""
        return self.moving.tracer.routine("open_derivative", [("rate", self._open_rates())])

    def _open_rates(self) -> Vector:
        acting = self.moving.acting
        assert acting is not None
        return self._rates(acting.pushed(ca.SX(self.law_rows.size, 1)))

    def _rates(self, solution: Solution | None = None) -> Vector:
        moving = self.moving
        return ca.vertcat(
            self._coordinate_rates(moving.kinematics),
            ca.SX(self.speed_rates(moving.solution if solution is None else solution)),
            mode_rates(self.model, moving.kinematics),
            self._state_rates(moving.solution if solution is None else solution),
        )

    def _state_rates(self, solution: Solution) -> Vector:
        """Rates of the model's own states; they may use results."""
        from kompono.translate.engines.channels import ChannelWriter
        from kompono.translate.motion.signals import bind_signals
        from kompono.translate.motion.states import state_rates

        if not self.model.states:
            return ca.SX(0, 1)
        now = self.moving
        writer = ChannelWriter(now.kinematics, now.loads, now.closures, solution)
        bind_signals(now.tracer, now.kinematics, writer.acceleration, writer.readings)
        rates = state_rates(now.tracer, self.model)
        bind_signals(now.tracer, now.kinematics)
        return rates

    def opened_derivative(self) -> Routine:
        """The same without calls of closed functions, so that it can be differentiated."""
        return self._derivative

    @cached_property
    def _traced_channels(self) -> tuple[tuple[Channel, ...], Vector]:
        from kompono.translate.engines.channels import trace_channels
        from kompono.translate.laws.soft_seen import soft_channels

        now = self.present
        channels, values = trace_channels(now.kinematics, now.loads, now.closures, now.solution)
        named, found = soft_channels(now.kinematics)
        return (*channels, *named), ca.densify(ca.vertcat(*values, *found))

    @property
    def channels(self) -> tuple[Channel, ...]:
        """All channels of the result."""
        return self._traced_channels[0]

    def outputs(self, name: str = "outputs", columns: Sequence[int] | None = None) -> Routine:
        """All channels, or those in some columns."""
        values = self._traced_channels[1]
        chosen = values if columns is None else ca.vertcat(*[values[i] for i in columns])
        return self.present.tracer.routine(name, [("channels", chosen)])

    def guards(self) -> Routine:
        """Expressions whose rise through zero is an event; they may use results."""
        from kompono.translate.laws.answer import trace_guards, trace_slopes

        values = self._event_guards()
        if self.moving.acting is None:
            return self.present.tracer.routine("guards", [("values", ca.vertcat(*values))])
        values += trace_guards(self.law_rows, self.moving.tracer, self.moving.acting)
        named = [("values", ca.vertcat(*values)), ("rate", self._rates())]  # forces are known then, so are rates
        slopes = trace_slopes(self.law_rows, self.moving.tracer, self.moving.acting)
        return self.moving.tracer.routine("guards", [*named, *self._told_slopes(slopes), *self._told_off()])

    def _told_off(self) -> list[tuple[str, Vector]]:
        """How far the state is off what is held, where that can be said beside guards."""
        return []

    def _told_slopes(self, slopes: list[Scalar]) -> list[tuple[str, Vector]]:
        return [("slopes", ca.vertcat(*slopes))] if self.law_rows.has_slopes else []

    def _event_guards(self) -> list[Vector]:
        self._bind_results()
        call, path = self.present.tracer.call, self.model.path
        return [
            call(lambda e=event: said(self.model, e)[0], path=path(event), free=True) for event in self.model.events
        ]

    def _open_guards(self) -> Routine:
        """The same while all gaps are open."""
        from kompono.translate.laws.answer import trace_open_guards, trace_open_slopes

        acting = self.moving.acting
        assert acting is not None
        values = [*self._event_guards(), *trace_open_guards(self.law_rows, acting)]
        named = [("values", ca.vertcat(*values)), ("rate", self._open_rates())]
        slopes = trace_open_slopes(self.law_rows, acting)
        off = [(name, ca.SX.ones(told.shape)) for name, told in self._told_off()]  # nobody looked
        return self.moving.tracer.routine("open_guards", [*named, *self._told_slopes(slopes), *off])

    def _bind_results(self) -> None:
        from kompono.translate.engines.channels import ChannelWriter
        from kompono.translate.motion.signals import bind_results

        now = self.present
        writer = ChannelWriter(now.kinematics, now.loads, now.closures, now.solution)
        bind_results(now.tracer, now.kinematics, writer.acceleration, writer.readings)

    def _law_view(self) -> Routine:
        """What the laws are at a state: gap, rate and free acceleration of the rows, free measured reactions, and five
        numbers of each unit (see `Unit.numbers`).
        """
        acting = self.moving.acting
        assert acting is not None
        numbers = ca.vertcat(*[acting.numbers[k] for k in self.law_rows.numbered()])
        named = [("gap", acting.gap), ("rate", acting.rate), ("w", acting.w0), ("measures", acting.n0)]
        return self.moving.tracer.routine("law_view", [*named, ("numbers", numbers)])

    def _law_free(self) -> Routine:
        """Rates of the speeds without any force of a law, for time stepping."""
        acting = self.moving.acting
        assert acting is not None
        rates = self.speed_rates(acting.pushed(ca.SX.zeros(self.law_rows.size)))
        return self.moving.tracer.routine("law_free", [("rate", ca.SX(rates))])

    def _law_respond(self) -> Routine:
        """What forces on the rows do, conditions being held: accelerations of the rows, measured reactions, speeds. The
        forces come behind the parameters.
        """
        from kompono.translate.laws.answer import respond_routine

        acting = self.moving.acting
        assert acting is not None
        return respond_routine(self.moving.tracer, self.law_rows, acting, self.speed_rates)

    def tick(self, number: int) -> Routine:
        """state -> state after an instant when some modes are sampled; all follow from the old values, and results."""
        from kompono.translate.engines.channels import ChannelWriter
        from kompono.translate.motion.signals import bind_signals
        from kompono.translate.motion.states import reads_of, sampled_values

        now, state = self.present, ca.SX(self.present.tracer.values["state"])
        writer = ChannelWriter(now.kinematics, now.loads, now.closures, now.solution)
        bind_signals(now.tracer, now.kinematics, writer.acceleration, writer.readings)
        due = [self.sample_rates[k] for k in self.ticks[number]]
        for mode, value in sampled_values(now.tracer, self.model, due):
            place = next(i for i, known in enumerate(self.model.modes) if known is mode)
            state[self.nq + self.nv + place] = value
        named = [("state", state), *reads_of(now.tracer, self.model, due)]
        bind_signals(now.tracer, now.kinematics)
        return now.tracer.routine(f"tick_{number}", named)

    def switch(self, number: int) -> Routine:
        """state -> state after an event; new values may use results."""
        self._bind_results()
        tracer, event = self.present.tracer, self.model.events[number]
        state = ca.SX(tracer.values["state"])
        for (mode, _), value in zip(event.changes, said(self.model, event)[1:], strict=True):
            place = next(i for i, known in enumerate(self.model.memory) if known is mode)
            new = tracer.call(lambda value=value: value, path=self.model.path(event), free=True)
            state[self.nq + self.nv + place] = new
        return tracer.routine(f"switch_{number}", [("state", state)])
