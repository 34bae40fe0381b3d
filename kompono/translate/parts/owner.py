"""The engines of a model with closed parts: by what its parts answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import casadi as ca

from kompono.errors import ModelWarning, RunError, TranslationError, warn
from kompono.model.joint import Joint
from kompono.model.subsystem import Subsystem
from kompono.request import Request
from kompono.translate.declared.elaborate import Elaborated
from kompono.translate.declared.networks import Network
from kompono.translate.engines.absolute import AbsoluteEngine
from kompono.translate.engines.registry import EngineEntry, Feature
from kompono.translate.engines.relative import Close, RelativeEngine
from kompono.translate.engines.solved import SolvedEngine
from kompono.translate.laws.answer import forced_routine
from kompono.translate.laws.rows import LawRows
from kompono.translate.laws.stress import shared_across
from kompono.translate.motion.signals import bind_results, samples_with_results, uses_results
from kompono.translate.motion.states import reads_of
from kompono.translate.parts.compartment import Compartment, CompartmentState, models_in
from kompono.translate.parts.law_events import Lawless, look
from kompono.translate.parts.law_guards import law_guards
from kompono.translate.parts.moment import Moment
from kompono.translate.parts.report import PartedWriter, report_whole
from kompono.translate.parts.sealed import sealed_in
from kompono.translate.parts.ticks import sampled
from kompono.translate.parts.twins import PlacedTwin, Twin
from kompono.translate.program import Channel, Routine
from kompono.translate.symbolic import Vector
from kompono.translate.tracer import Tracer


class ByParts(SolvedEngine):
    """State and names are those of the model with all parts opened; motion comes from the parts as they are."""

    compartment: Compartment
    places: list[int]
    unit_order: list[int]  # of units of laws among those of all compartments
    by_rows: bool  # whether parts are asked at events of laws, because one of them cannot be opened

    @property
    def opens(self) -> bool:
        """Parts are asked whatever their gaps are."""
        return False

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """Places in the state of each closed part."""
        found = (tuple(part.inside.places(self)) for part in self.compartment.parts)
        return tuple(group for group in found if group)

    def _stack(self, compartment: Compartment, by_rows: bool = False) -> None:
        """Take the units of all parts, in the order of the open model; those of sealed parts are behind them."""
        self.unit_order = compartment.laws.order(LawRows(self.model))
        self.by_rows = by_rows or bool(sealed_in(compartment))
        self._tell_shared(compartment)
        if self.by_rows:
            stacked = compartment.laws.within(self.unit_order, self.model.modes, len(self.model.events))
            self.law_rows = stacked  # type: ignore[assignment]

    def _tell_shared(self, compartment: Compartment) -> None:
        """Warn where friction follows a reaction that is not unique, in a loop through the border of a part."""
        followed = [joint for joint in LawRows(self.model).measured if isinstance(joint, Joint)]
        if not followed:
            return
        tree = self._by_joints if isinstance(self, PlacedTwin) else self
        assert isinstance(tree, RelativeEngine)
        shared = shared_across(self.model, tree.topology, tree.live, models_in(compartment))
        for joint in dict.fromkeys(joint for joint in followed if joint in shared):
            path = self.model.path(joint)
            warn(
                f"friction follows the force of {path}, which a loop through the border of a closed part shares with "
                "other joints: of all reactions that fit, some are zero there, not those of least norm. In a plane, "
                "with loads in it, that is the same; else leave the part open, or use joints that hold no more than "
                "they must.",
                ModelWarning,
            )

    def _moment(self) -> tuple[Tracer, Moment]:
        tracer, _ = self._start()
        state = ca.SX(tracer.values["state"])
        x = ca.vertcat(ca.SX(0, 1), *[state[place, :] for place in self.places])
        return tracer, Moment(self.compartment, tracer, self.compartment.unpack(x))

    def _scattered(self, values: CompartmentState) -> Vector:
        """A column in the order of this engine from one in the order of the compartment."""
        packed = self.compartment.pack(values)
        places = {place: k for k, place in enumerate(self.places)}
        return ca.vertcat(ca.SX(0, 1), *[packed[places[k]] for k in range(len(self.places))])

    @cached_property
    def _derivative(self) -> Routine:
        tracer, now = self._moment()
        now, settled = now.settled()
        known = settled is not None and not self.compartment.law_rows.of_joints
        condensed = now.forces_after(settled) if known and settled is not None else now.forces()
        rates = now.rates(condensed, condensed.resolve(ca.SX(0, 1)), ca.SX(0, 1))
        return tracer.routine("derivative", [("rate", self._scattered(rates))])

    def _projection(self, name: str, *, held: bool) -> Routine:
        """state -> state on the conditions, here and inside all parts, and on what laws hold."""
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
        return tracer.routine(name, [("state", self._scattered(now.values)), ("near", near)])

    @property
    def port_paths(self) -> tuple[str, ...]:
        """Ports of parts that follow, in the order of `ports`."""
        return tuple(link.moved_by._name for link in self.compartment.topology.links if link.crosses)

    def routines(self) -> dict[str, Callable[[], Routine]]:
        return super().routines() | ({"ports": self.ports} if self.port_paths else {})

    def ports(self) -> Routine:
        """How far what ports do and bear is from settled, relative; more than `pairs.UNSETTLED` is too much."""
        tracer, now = self._moment()
        condensed = now.settled()[0].forces()
        condensed.resolve(ca.SX(0, 1))
        told = {pair.path: pair.unsettled[-1] for pair in condensed.condensation.elimination.pairs if pair.unsettled}
        values = [ca.SX(told.get(path, 0)) for path in self.port_paths]
        return tracer.routine("ports", [("values", ca.vertcat(*values))])

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
    def _traced_channels(self) -> tuple[tuple[Channel, ...], Vector]:
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
        now = self._with_results(now.at(now.values))
        found = now.guards()
        values = [found[event] for event in self.model.events]
        if self.law_rows.size:
            condensed = now.forces()
            none = ca.SX(0, 1)
            told = law_guards(condensed, condensed.resolve(none), none)
            values += [told[k] for k in self.unit_order]
        return tracer.routine("guards", [("values", ca.vertcat(*values))])

    @property
    def iterated(self) -> tuple[Network, ...]:
        """Own ones; those inside parts are the parts' affair."""
        return tuple(network for network in self.compartment.model.networks if network.done is not None)

    def networks_done(self) -> Routine:
        tracer, now = self._now()
        done = [tracer.call(lambda n=n: n.done, path=self.model.path(n), free=True) for n in self.iterated]
        return now.tracer.routine("iterated", [("done", ca.vertcat(*done))])

    # -- laws at events

    def _now(self) -> tuple[Tracer, Moment]:
        """With speeds that meet all conditions, and symbols that mean this state."""
        tracer, _, now = self._settled
        return tracer, now.at(now.values)

    def _law_view(self) -> Routine:
        if not self.by_rows:
            return super()._law_view()
        tracer, now = self._now()
        gap, rate, numbers = look(now)
        by_unit = ca.vertsplit(numbers, 5)
        numbers = ca.vertcat(*[by_unit[k] for k in self.unit_order])
        w, measures = Lawless(now).free(ca.SX(0, 1))
        named = [("gap", gap), ("rate", rate), ("w", w), ("measures", measures), ("numbers", numbers)]
        return tracer.routine("law_view", named)

    def _law_free(self) -> Routine:
        if not self.by_rows:
            return super()._law_free()
        tracer, now = self._now()
        return tracer.routine("law_free", [("rate", self._speeds(Lawless(now).free_rates(ca.SX(0, 1))))])

    def _law_respond(self) -> Routine:
        if not self.by_rows:
            return super()._law_respond()
        tracer, now = self._now()
        z, none, lawless = ca.SX.sym("z", self.law_rows.size), ca.SX(0, 1), Lawless(now)
        w, measures = lawless.moved(none, z)
        return forced_routine(tracer, z, w, measures, self._speeds(lawless.moved_rates(none, z)))

    def _speeds(self, rates: Vector) -> Vector:
        """Speeds in the order of this engine from a state of the compartment."""
        places = {place: k for k, place in enumerate(self.places)}
        return ca.vertcat(ca.SX(0, 1), *[rates[places[k]] for k in range(self.nq, self.nq + self.nv)])

    def switch(self, number: int) -> Routine:
        tracer, _, now = self._settled
        event = self.model.events[number]
        state = ca.SX(tracer.values["state"])
        for mode, value in self._with_results(now.at(now.values)).switched(event):
            place = next(i for i, known in enumerate(self.model.memory) if known is mode)
            state[self.nq + self.nv + place] = value
        return tracer.routine(f"switch_{number}", [("state", state)])

    def tick(self, number: int) -> Routine:
        tracer, _, now = self._settled
        now = self._with_results(now.at(now.values))
        own = self.compartment.model
        if len(own.controllers) < len(self.model.controllers):
            inside = next(one for one in self.model.controllers if all(one is not known for known in own.controllers))
            raise TranslationError(
                "a closed part cannot ask Python.", path=self.model.path(inside),
                fix="Declare the controller in an owner, and connect it, or leave the part open.",
            )  # fmt: skip
        due = [self.sample_rates[k] for k in self.ticks[number]]
        named = [("state", self._scattered(sampled(now, due))), *reads_of(tracer, own, due)]
        self._settled[2].at(now.values)  # symbols mean the present again
        return tracer.routine(f"tick_{number}", named)

    def _with_results(self, now: Moment) -> Moment:
        """A moment at which own events and samples may use results, if some do."""
        if uses_results(now.compartment.model) or samples_with_results(now.compartment.model):
            writer = PartedWriter(now, now.forces(whole=True), ca.SX(0, 1))
            bind_results(now.tracer, now.kinematics, writer.acceleration, writer.readings)
        return now


class PartedEngine(ByParts, Twin):
    """In joint coordinates."""

    def __init__(self, compartment: Compartment, kernels: dict[str, ca.Function], *, shared: bool) -> None:
        Twin.__init__(
            self, compartment.whole, compartment.twin_topology, kernels, shared=shared, close=compartment.close
        )
        compartment.adopt(self)
        self.places = compartment.places(self)
        self._stack(compartment)

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
        self._stack(compartment)

    @cached_property
    def by_joints(self) -> Twin | None:
        """The same in joint coordinates, where its start is assembled; None if it can be opened for that."""
        return self.compartment.joined

    def opened_derivative(self) -> Routine:
        return AbsoluteEngine(self.model, self.topology, self.kernels, shared=False, close=self._close).derivative()


class Parted:
    """A model divided at the borders of its closed parts, for an engine."""

    def __init__(
        self, model: Elaborated, parts: list[Subsystem], entry: EngineEntry, request: Request, close: Close | None,
        away: Sequence[Subsystem] = (),
    ) -> None:  # fmt: skip
        _check_way(", ".join(model.path(part) for part in parts), entry, request)
        self._compartment = Compartment(
            model,
            parts,
            cut=request.cut,
            independent=request.independent,
            close=close,
            placed=not entry.by_joints,
            away=away,
        )
        self.topology = self._compartment.twin_topology
        self.parts = self._compartment.parts
        self.sealed = bool(sealed_in(self._compartment))
        self.away: dict[str, tuple[str, ...]] = {f"away_{k}": (model.path(part),) for k, part in enumerate(away)}
        for part in sealed_in(self._compartment):
            if part.code.wall:
                self.away[part.code.stem] = (*self.away.get(part.code.stem, ()), model.path(part.part))

    def engine(self, kernels: dict[str, ca.Function], shared: bool) -> SolvedEngine:
        """An engine for it."""
        kind = PartedAbsoluteEngine if self._compartment.placed else PartedEngine
        return kind(self._compartment, kernels, shared=shared)


def _check_way(names: str, entry: EngineEntry, request: Request) -> None:
    refused = entry.refusal(Feature.CLOSED_PARTS)
    if refused is not None:
        reason, fix = refused
        raise RunError(f"engine={entry.name!r} cannot use {names}: {reason}.", fix=f"{fix}, or leave the parts open.")
    others = {name: value for name, value in entry.options(request).items() if value != entry.own[name].default}
    if others:
        raise RunError(
            f"closed parts ({names}) are projected part by part and by their masses.",
            fix=f"Leave {' and '.join(f'{n}={v!r}' for n, v in others.items())} out, or leave the parts open.",
        )
