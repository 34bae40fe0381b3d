"""The twin of a compartment: the same with all its parts opened, an engine that knows all coordinates by name.

It assembles starts, judges redundant conditions and names channels; what moves the machine never looks there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from kompono.model.body import Body, Carrier
from kompono.model.element import Element
from kompono.model.joint import Joint
from kompono.translate.elimination.blocks import PivotReference
from kompono.translate.elimination.linear import Form, LinearSet
from kompono.translate.engines.absolute import PROJECTION_TOLERANCE as ABSOLUTE_TOLERANCE
from kompono.translate.engines.absolute import AbsoluteEngine
from kompono.translate.engines.decided import find_places, find_ratios
from kompono.translate.engines.discrete.data import weights
from kompono.translate.engines.discrete.linked import LinkedEngine
from kompono.translate.engines.inverses import find_inverses
from kompono.translate.engines.posed import Posed, PosedEngine
from kompono.translate.engines.relative import PROJECTION_TOLERANCE, RelativeEngine
from kompono.translate.kernels import Kernels
from kompono.translate.laws.split import coefficients
from kompono.translate.motion.conditions import Closing, Closure, Closures, group_sizes, trace_closure
from kompono.translate.motion.kinematics import GivenMotion, Kinematics
from kompono.translate.motion.signals import bind_signals
from kompono.translate.parts.floating import floating
from kompono.translate.rank.probe import Probe
from kompono.translate.rank.rank import LiveRows
from kompono.translate.symbolic import Matrix, Scalar, Vector
from kompono.translate.tracer import Tracer

if TYPE_CHECKING:
    from kompono.translate.parts.compartment import Compartment
    from kompono.translate.parts.sealed import SealedPart, Whereabouts


class AroundSealed(PosedEngine):
    """An engine that knows sealed parts by what their files say."""

    compartment: Compartment

    @cached_property
    def _sealed(self) -> Sequence[SealedPart]:
        from kompono.translate.parts.sealed import sealed_in

        return sealed_in(self.compartment)

    @property
    def placed_parts(self) -> Sequence[Whereabouts]:
        from kompono.translate.parts.sealed import placed_in

        return placed_in(self.compartment)

    @property
    def walled_parts(self) -> dict[str, tuple[str, ...]]:
        from kompono.translate.parts.sealed import walled_in

        return walled_in(self.compartment)

    def _by_speeds(self, column: Vector, v: Vector) -> Matrix:
        return coefficients(column, v) if self._sealed else super()._by_speeds(column, v)

    def _rebind(self, tracer: Tracer, q: dict[Joint, Vector], v: dict[Joint, Vector]) -> Kinematics:
        """Ports of sealed parts move as their functions say."""
        steps = {key: step for part in self._sealed for key, step in part.steps().items()}
        given = GivenMotion(steps) if steps else None
        kinematics = Kinematics(tracer, self.model, self.topology, q, v, self._counters, given)
        bind_signals(tracer, kinematics)
        return kinematics

    def _closures_through(self, kinematics: Kinematics) -> Closures:
        """All closing conditions, with G on the speeds of the state."""
        closures: Closures = {element: trace_closure(kinematics, element, self.laws) for element in self.closing}
        return {key: through(closure, kinematics, self._sealed) for key, closure in closures.items()}


class Twin(AroundSealed, RelativeEngine):
    """A compartment with all its parts opened; conditions that cross a part, or hold to a
    base what floats, are not taken as linear."""

    projection_tolerance = PROJECTION_TOLERANCE
    locks = False  # a part may be asked for all it does at its border

    @cached_property
    def _numeric(self) -> Twin:
        twin = Twin(replace(self.model, numbers=None), self.topology, Kernels(), shared=False)
        twin.compartment = self.compartment
        return twin

    def _find_numbers(self) -> None:
        super()._find_numbers()
        find_in(self.compartment)

    @property
    def _places(self) -> bool:  # type: ignore[override]
        return self.compartment.border is None  # nobody traces others

    def traced_live(self, kinematics: Kinematics) -> dict[Element, LiveRows]:
        """The conditions that can be violated, as they are traced."""
        return self.judged(kinematics).live

    @cached_property
    def steady(self) -> bool:
        """Whether what is substituted does not depend on time, so that methods keep it."""
        level, kinematics = self.level, self.probe.kinematics
        return all(ca.SX(level(kinematics, linear, "bias")).nnz() == 0 for linear in self.sets)

    def level(self, kinematics: Kinematics, linear: LinearSet, level: str) -> Vector:
        """Violation, rate or bias of a set of linear conditions."""
        return self._level(kinematics, linear, level)

    def live_closures(self, kinematics: Kinematics, declared: Closures, sets: Sequence[LinearSet]) -> Closures:
        """Conditions by their live rows, and the solved rows of linear sets."""
        return self._live_closures(kinematics, declared, sets)

    def closed_tolerance(self, tracer: Tracer, gaps: dict[Element, Vector]) -> Scalar | float:
        """Of pivots where loops are closed, but for these gaps."""
        return self._closed_tolerance(tracer, gaps)

    @cached_property
    def forms(self) -> dict[Element, Form]:
        own = set(self.compartment.closing)
        apart = {e for e in own if self.compartment.crosses(e) or floating(self.compartment, e) is not None}
        return self._forms_of([key for key in self.probe.closures if key in own and key not in apart])

    @cached_property
    def probe(self) -> Probe:
        if self._opens:
            return self._numeric.probe
        tracer, kinematics = self._start(shared=False)
        weights = [part.weight(kinematics) for part in self._sealed]
        return Probe(tracer, kinematics, self._closures_through(kinematics), 0, weights, self._borne)

    @property
    def _borne(self) -> set[Carrier]:
        """Bodies that carry ports of sealed parts."""
        return {port.body for part in self._sealed for port in part.border.ports}

    @property
    def row_references(self) -> dict[Element, PivotReference]:
        """What pivots of live rows are compared with."""
        return self._references

    def _elimination_order(self) -> list[Closing]:
        """Conditions inside parts first, then those with linear conditions."""
        own = set(self.compartment.closing)
        return sorted(self.closing, key=lambda element: (element in own, element not in self.forms))


def find_in(compartment: Compartment) -> None:
    """Have what a compartment finds from numbers, and its parts do, among those of the model."""
    from kompono.translate.parts.inside import moment_in

    numbers = compartment.model.numbers
    if numbers is not None and numbers.frames is not None:
        find_places(moment_in(compartment)[1].kinematics, compartment.closing)
        find_ratios(compartment.model, compartment.topology, compartment.twin.sets)
        if compartment.held is not None:
            find_inverses(compartment.model)
            for body in compartment.bodies:
                weights(compartment.model, body)
    for part in compartment.parts:
        if part.opens:
            part.inside.twin._find_numbers()


def through(closure: Closure[Joint], kinematics: Kinematics, sealed: Sequence[SealedPart]) -> Closure[Joint]:
    """Conditions whose path crosses sealed parts, with G on the speeds inside instead of those of the crossings."""
    columns, call = dict(closure.columns), kinematics.tracer.call
    for part in sealed:
        for k, port in enumerate(part.border.others):
            block = columns.pop(kinematics.topology.link(port.body).moved_by, None)
            if block is None or not part.variant.speeds:
                continue
            found = call(lambda g, s: g @ s, block, part.reach(kinematics, k)[0], path=part.path)
            inner = part.inner
            columns[inner] = call(lambda a, b: a + b, columns[inner], found) if inner in columns else found
    return replace(closure, columns=columns)


class AsDeclared(PosedEngine):
    """Nothing is substituted, and all rows are as they are declared."""

    sets = ()
    steady = False

    @property
    def loops(self) -> tuple[Closing, ...]:
        """All that closes."""
        return self.closing

    @cached_property
    def live(self) -> dict[Element, LiveRows]:
        """All rows."""
        return {e: LiveRows(None, None, np.zeros(sum(group_sizes(e))), np.zeros(0)) for e in self.closing}

    def traced_live(self, kinematics: Kinematics) -> dict[Element, LiveRows]:
        """The same."""
        return self.live


class LinkedTwin(AsDeclared, LinkedEngine):
    """A compartment whose joints are links, with all its parts opened."""

    compartment: Compartment

    def _find_numbers(self) -> None:
        super()._find_numbers()
        find_in(self.compartment)


class PlacedTwin(AsDeclared, AroundSealed, AbsoluteEngine):
    """The same with every body placed by itself; nothing is substituted. Sealed parts are in joint coordinates inside,
    so their bases are placed, and their other ports follow.
    """

    projection_tolerance = ABSOLUTE_TOLERANCE

    def _find_numbers(self) -> None:
        if self.compartment.border is None:
            super()._find_numbers()
        else:
            self.references(unit=False)
            self._allowed_gap()
            self._find_shares()
        if self._sealed and self.model.numbers is not None:
            self.model.numbers.decided("bases", [(part.path, part.entry) for part in self._sealed])
        find_in(self.compartment)

    @property
    def row_references(self) -> dict[Element, PivotReference]:
        return self.references(unit=False)

    @cached_property
    def _by_joints(self) -> RelativeEngine:
        joined = self.compartment.joined
        return joined if joined is not None else AbsoluteEngine._by_joints.func(self)

    @cached_property
    def _mobilities(self) -> dict[Body, np.ndarray]:
        return {body: mobility for part in self._sealed for body, mobility in part.mobilities().items()}

    @cached_property
    def posed(self) -> Posed:
        if not self._sealed:
            return AbsoluteEngine.posed.func(self)
        tracer, kinematics = self._start(shared=False)
        closures = self._closures_through(kinematics)
        return Posed(tracer, kinematics, closures, {key: dict(closure.columns) for key, closure in closures.items()})

    def level(self, kinematics: Kinematics, linear: LinearSet, level: str) -> Vector:
        raise AssertionError("nothing is substituted here")

    def live_closures(self, kinematics: Kinematics, declared: Closures, sets: Sequence[LinearSet]) -> Closures:
        return declared

    def closed_tolerance(self, tracer: Tracer, gaps: dict[Element, Vector]) -> Scalar | float:
        return ABSOLUTE_TOLERANCE
