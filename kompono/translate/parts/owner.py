"""The engines of a model with closed parts: by what its parts answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property

import casadi as ca

from kompono.errors import ModelWarning, RunError, warn
from kompono.model.joint import Joint
from kompono.model.subsystem import Subsystem
from kompono.request import Request
from kompono.translate.declared.elaborate import Elaborated
from kompono.translate.engines.absolute import AbsoluteEngine
from kompono.translate.engines.discrete.linked import LinkedEngine
from kompono.translate.engines.discrete.links import Strengths
from kompono.translate.engines.judging import Close
from kompono.translate.engines.light import LightLever, lightest_lever
from kompono.translate.engines.registry import EngineEntry
from kompono.translate.engines.relative import RelativeEngine
from kompono.translate.engines.solved import SolvedEngine
from kompono.translate.laws.rows import LawRows
from kompono.translate.laws.stress import shared_across
from kompono.translate.parts.by_parts import ByParts
from kompono.translate.parts.compartment import Compartment, models_in
from kompono.translate.parts.heavy import HeavyPort, heaviest_port
from kompono.translate.parts.law_guards import law_guards
from kompono.translate.parts.law_routines import LawsByRows
from kompono.translate.parts.linked import LinkedMoment, speed_places
from kompono.translate.parts.moment import Moment
from kompono.translate.parts.sealed import sealed_in, walled_in
from kompono.translate.parts.tied_sides import all_tie, told_sides
from kompono.translate.parts.twins import LinkedTwin, PlacedTwin, Twin
from kompono.translate.parts.tying import as_tied
from kompono.translate.program import Routine
from kompono.translate.symbolic import Vector
from kompono.translate.tracer import Tracer


class SolvedByParts(LawsByRows):
    """Conditions are held by multipliers, here and inside all parts; what laws do follows from what parts answer."""

    def _stack(self, compartment: Compartment, by_rows: bool = False) -> None:
        """Take the units of all parts, in the order of the open model; those of sealed parts are behind them."""
        rows = LawRows(self.model)
        self.unit_order = compartment.laws.order(rows)
        self.by_rows = by_rows or bool(sealed_in(compartment))
        self._tell_shared(compartment)
        if self.by_rows:
            stacked = compartment.laws.within(self.unit_order, self.model.modes, len(self.model.events))
            self.law_rows = replace(stacked, of_joints=rows.of_joints)  # type: ignore[assignment]
        self.law_units = told_sides(self.law_rows.units, compartment)

    def _tell_shared(self, compartment: Compartment) -> None:
        """Warn where friction follows a reaction that is not unique, in a loop through the border of a part."""
        followed = [joint for joint in LawRows(self.model).measured if isinstance(joint, Joint)]
        tree = self._by_joints if isinstance(self, PlacedTwin) else self
        if not followed or not isinstance(tree, RelativeEngine):  # with parts elsewhere it is told already
            return
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

    @cached_property
    def _derivative(self) -> Routine:
        tracer, now = self._moment()
        now, settled = now.settled()
        held = self.compartment.law_rows.of_joints or any(part.laws.size for part in self.compartment.parts)
        known = settled is not None and not held  # else blocks with what laws hold are others
        condensed = now.forces_after(settled) if known and settled is not None else now.forces()
        rates = now.rates(condensed, condensed.resolve(ca.SX(0, 1)), ca.SX(0, 1))
        return tracer.routine("derivative", [("rate", self._scattered(rates))])

    def _projection(self, name: str, *, held: bool) -> Routine:
        """state -> state on the conditions, here and inside all parts, and on what laws hold."""
        return self._projected(name, *self._moment())

    def _projected(self, name: str, tracer: Tracer, now: Moment) -> Routine:
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
        made = super().routines() | ({"ports": self.ports} if self.port_paths else {})
        made |= self.tied_routines() if self.ties else {}
        heavy = self.heaviest_port
        return made | ({"opened": self.opened_derivative} if heavy and heavy.opens else {})

    @cached_property
    def heaviest_port(self) -> HeavyPort | None:
        """What bears the most for what carries it inside, if digits are lost there."""
        return heaviest_port(self.compartment) if self.here else None

    def ports(self) -> Routine:
        """How far what ports do and bear is from settled, relative; more than `pairs.UNSETTLED` is too much."""
        tracer, now = self._moment()
        condensed = now.settled()[0].forces()
        condensed.resolve(ca.SX(0, 1))
        told = {pair.path: pair.unsettled[-1] for pair in condensed.condensation.elimination.pairs if pair.unsettled}
        values = [ca.SX(told.get(path, 0)) for path in self.port_paths]
        return tracer.routine("ports", [("values", ca.vertcat(*values))])

    @cached_property
    def ties(self) -> bool:
        """Whether laws on both sides of a border may hold the same thing, and parts can hand on their rows then."""
        sides = {unit.side for unit in self.law_units}
        return len(sides) > 1 and all_tie(self.compartment)

    def tied_routines(self) -> dict[str, Callable[[], Routine]]:
        """What is asked for while they do, see `laws/tied.py`."""
        made: dict[str, Callable[[], Routine]] = {"tied_derivative": self._tied_derivative}
        made |= {"tied_guards": lambda: self._guards_of("tied_guards", *self._settled_tied())}
        made |= {"tied_project": self._tied_project} if self.projects else {}
        if self._uses_results:
            for k in range(len(self.model.events)):
                made[f"tied_switch_{k}"] = lambda k=k: self._switch_of(f"tied_switch_{k}", k, *self._settled_tied())
            for k in range(len(self.ticks)):
                made[f"tied_tick_{k}"] = lambda k=k: self._tick_of(f"tied_tick_{k}", k, *self._settled_tied())
        return made | {"tied_outputs": lambda: self.outputs("tied_outputs")}

    def _tied_derivative(self) -> Routine:
        tracer, _, now = self._settled_tied()
        condensed, none = now.forces(), ca.SX(0, 1)
        rates = now.rates(condensed, condensed.resolve(none), none)
        return tracer.routine("tied_derivative", [("rate", self._scattered(rates))])

    def _tied_project(self) -> Routine:
        tracer, now = self._moment()
        return self._projected("tied_project", tracer, as_tied(now))

    def gap(self) -> Routine:
        tracer, now = self._moment()
        return tracer.routine("gap", [("gap", now.gap())])

    def _law_guards(self, now: Moment) -> tuple[list[Vector], list[Vector]]:
        if not self.law_rows.size:
            return [], []
        condensed, none = now.forces(), ca.SX(0, 1)
        values, slopes = law_guards(condensed, condensed.resolve(none), none)
        return [values[k] for k in self.unit_order], [slopes[k] for k in self.unit_order]


class PartedEngine(SolvedByParts, Twin):
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


class PartedAbsoluteEngine(SolvedByParts, PlacedTwin):
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

    @cached_property
    def lightest_lever(self) -> LightLever | None:
        return lightest_lever(self.model) if self.here else None

    def opened_derivative(self) -> Routine:
        return AbsoluteEngine(self.model, self.topology, self.kernels, shared=False, close=self._close).derivative()


class PartedDiscreteEngine(ByParts, LinkedTwin):
    """With joints as stiff links: parts are pushed at their ports and move by themselves."""

    def __init__(self, compartment: Compartment, kernels: dict[str, ca.Function], *, shared: bool) -> None:
        LinkedTwin.__init__(
            self, compartment.whole, compartment.twin_topology, kernels, shared=shared, strengths=compartment.held
        )
        compartment.adopt(self)
        self.places, self.speed_places = compartment.places(self), speed_places(compartment, self)

    def routines(self) -> dict[str, Callable[[], Routine]]:
        """With the parts of a step."""
        return {**super().routines(), "kick": self.kick, "drift": self.drift}

    def _linked(self) -> tuple[Tracer, LinkedMoment]:
        tracer, now = self._moment()
        assert isinstance(now, LinkedMoment)
        return tracer, now

    def kick(self) -> Routine:
        """Rates of speeds by all forces, without gyroscopic terms."""
        tracer, now = self._linked()
        rates, places = now.kicked(ca.SX(0, 1)), {place: k for k, place in enumerate(self.speed_places)}
        ordered = [rates[places[k], :] for k in range(self.nq, self.nq + self.nv)]
        return tracer.routine("kick", [("rates", ca.vertcat(ca.SX(0, 1), *ordered))])

    def drift(self) -> Routine:
        """The state after free motion by the speeds times the step."""
        tracer, now = self._linked()
        return tracer.routine("drift", [("state", self._scattered(now.drifted()))])

    @cached_property
    def _derivative(self) -> Routine:
        tracer, rates = self._all_rates()
        return tracer.routine("derivative", [("rate", rates)])

    def _own_rates(self) -> Routine:
        """Rates of the model's own states."""
        tracer, rates = self._all_rates()
        first = self.nq + self.nv + len(self.model.modes)
        return tracer.routine("state_rates", [("rates", rates[first:, :])])

    def _all_rates(self) -> tuple[Tracer, Vector]:
        tracer, now = self._linked()
        pushed = now.forces()
        return tracer, self._scattered(now.rates(pushed, pushed.resolve(ca.SX(0, 1)), ca.SX(0, 1)))

    def opened_derivative(self) -> Routine:
        return LinkedEngine(self.model, self.topology, self.kernels, shared=False).derivative()


class Parted:
    """A model divided at the borders of its closed parts, for an engine."""

    def __init__(
        self, model: Elaborated, parts: list[Subsystem], entry: EngineEntry, request: Request, close: Close | None,
        away: Sequence[Subsystem] = (),
    ) -> None:  # fmt: skip
        _check_way(", ".join(model.path(part) for part in parts), entry, request)
        self._model = model
        self._compartment = Compartment(
            model,
            parts,
            cut=request.cut,
            independent=request.independent,
            close=close,
            placed=not entry.by_joints,
            away=away,
            held=Strengths() if entry.links else None,
        )
        self.topology = self._compartment.twin_topology
        self.parts = self._compartment.parts
        self.sealed = bool(sealed_in(self._compartment))
        self.away: dict[str, tuple[str, ...]] = {f"away_{k}": (model.path(part),) for k, part in enumerate(away)}
        self.away |= walled_in(self._compartment)

    @property
    def marks(self) -> tuple[object, ...]:
        """What parts at suppliers' do, whatever these say that it is: a translation is kept for that."""
        parts = [part for part in sealed_in(self._compartment) if not part.code.shows_states]
        return tuple((part.path, part.entry, part.code.mark(part.entry)) for part in parts)

    @property
    def models(self) -> list[Elaborated]:
        """The model as a whole, and the pieces it is divided into."""
        return [self._model, *models_in(self._compartment)]

    def engine(self, kernels: dict[str, ca.Function], shared: bool) -> SolvedEngine | PartedDiscreteEngine:
        """An engine for it."""
        compartment = self._compartment
        if compartment.held is not None:
            return PartedDiscreteEngine(compartment, kernels, shared=shared)
        kind = PartedAbsoluteEngine if compartment.placed else PartedEngine
        return kind(compartment, kernels, shared=shared)


def _check_way(names: str, entry: EngineEntry, request: Request) -> None:
    others = {name: value for name, value in entry.options(request).items() if value != entry.own[name].default}
    if others and not entry.links:
        raise RunError(
            f"closed parts ({names}) are projected part by part and by their masses.",
            fix=f"Leave {' and '.join(f'{n}={v!r}' for n, v in others.items())} out, or leave the parts open.",
        )
