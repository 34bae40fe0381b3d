"""Channels of a compartment: its own elements from what it knows, those inside parts from what parts report."""

from __future__ import annotations

from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import casadi as ca

from kompono.model.body import Carrier
from kompono.model.constraint import Constraint
from kompono.model.joint import Joint
from kompono.spatial.vectors import carry_wrench_back
from kompono.translate.elimination.blocks import RightSide
from kompono.translate.elimination.bordered import sweep
from kompono.translate.elimination.unknowns import Solution, Unknown
from kompono.translate.engines.channels import ChannelWriter, drifts
from kompono.translate.laws.soft_seen import soft_channels
from kompono.translate.laws.stress import SelfStress, redundancy_of
from kompono.translate.motion.conditions import Closures, trace_closure
from kompono.translate.parts.border import port_in
from kompono.translate.parts.twins import PlacedTwin
from kompono.translate.program import Channel
from kompono.translate.symbolic import Scalar, Vector

if TYPE_CHECKING:
    from kompono.translate.parts.condensing import PartedCondensation
    from kompono.translate.parts.fields import CompartmentLoads
    from kompono.translate.parts.inside import Part
    from kompono.translate.parts.moment import Moment


class Forces(Protocol):
    """What acts in a compartment at one state, and what follows from it and from what is `given` at its border."""

    @property
    def loads(self) -> CompartmentLoads | None:
        """Forces and fields."""
        ...

    @property
    def declared(self) -> Closures:
        """Own conditions."""
        ...

    def resolve(self, given: Vector) -> Solution:
        """Accelerations, and what joints bear."""
        ...

    def completed(self, solution: Solution) -> Solution:
        """With the accelerations of all bodies."""
        ...

    def given_to(self, part: Part, solution: Solution) -> Vector:
        """What is given at the ports of a part."""
        ...


class PartedWriter(ChannelWriter):
    """Channels of a compartment; `given` are the unknowns of its own border."""

    def __init__(self, now: Moment, condensed: Forces, given: Vector, solution: Solution | None = None) -> None:
        self.now, self.condensed, self.given = now, condensed, given
        assert condensed.loads is not None
        solution = condensed.resolve(given) if solution is None else Solution(solution)
        solution = condensed.completed(solution)
        live = now.compartment.twin.traced_live(now.kinematics)
        for key in condensed.declared:
            found = solution.get(Unknown.rows(key), ca.SX(0, 1))
            solution[Unknown.rows(key)] = live[key].multipliers(found, now.tracer)
        super().__init__(now.kinematics, condensed.loads, {**condensed.declared, **_laws_of(now)}, solution)
        self.bodies = now.compartment.bodies
        self._relieve()

    def _relieve(self) -> None:
        """Choose among reactions of redundant joints here, where friction follows some (see `laws/stress.py`)."""
        compartment = self.now.compartment
        if not compartment.law_rows.of_joints:
            return
        tree = compartment.twin._by_joints if isinstance(compartment.twin, PlacedTwin) else compartment.twin
        redundancy = redundancy_of(compartment.twin.model, tree.topology, tree.live, compartment.model)
        if redundancy:
            stress = SelfStress(
                self.kinematics, self.condensed.declared, redundancy, self._pushed, self._load,
                by_joints=not compartment.placed,
            )  # fmt: skip
            self.solution.update(stress.relieved(self.solution))

    def _pushed(self, pushes: dict[Joint, Vector]) -> Solution:
        """What forces on own joints do, with nothing at the border; multipliers as declared."""
        elimination, keys = self._condensation.elimination, self._condensation.border_keys
        right = RightSide({Unknown.joint(joint): -push for joint, push in pushes.items()})
        solution = sweep(elimination, right, keys).resolve(ca.SX.zeros(6 * len(keys)))
        live = self.now.compartment.twin.traced_live(self.kinematics)
        for key in self.condensed.declared:
            found = solution.get(Unknown.rows(key), ca.SX(0, 1))
            solution[Unknown.rows(key)] = live[key].multipliers(found, self.tracer)
        return solution

    @property
    def _condensation(self) -> PartedCondensation:
        """The factored equations, where there are some."""
        return self.condensed.condensation  # type: ignore[attr-defined]

    def _load(self, solution: Solution, element: Joint | Constraint) -> Vector:
        """What an element bears in another solution."""
        other = copy(self)
        other.solution, other._transmitted = solution, None
        return other.reaction(element)

    @cached_property
    def inner(self) -> dict[Part, Vector]:
        """What parts report."""
        return {part: self._ask(part) for part in self.now.compartment.parts}

    def _ask(self, part: Part) -> Vector:
        """What a part reports: its channels, then kinetic and potential energy."""
        loads = self.condensed.loads
        assert loads is not None
        given = self.condensed.given_to(part, self.solution)
        return self.now._ask(part, "report", fields=loads.for_part(part), given=given)

    def soft(self) -> None:
        """Channels of laws that are forces."""
        channels, values = soft_channels(self.kinematics)
        self.channels += channels
        self.values += values

    def parts(self) -> None:
        """Channels of parts."""
        for part in self.now.compartment.parts:
            channels = part.channels()
            self.channels += channels
            self.values.append(self.inner[part][: len(channels), :])
            for port in part.unreported:
                self.body(port)

    def energies(self) -> tuple[Scalar, Scalar]:
        kinetic, potential = super().energies()
        if self.now.fields is not None:
            for body in self.bodies:
                position = self.kinematics.motion(None, body).position
                potential = self.tracer.call(
                    lambda e, g, x, b=body: e - self.model.solid(b).mass * ca.dot(g, x),
                    potential,
                    self.now.fields[6:9],
                    position,
                )
        for values in self.inner.values():
            count = values.shape[0]
            kinetic = self.tracer.call(lambda a, b: a + b, kinetic, values[count - 2, :])
            potential = self.tracer.call(lambda a, b: a + b, potential, values[count - 1, :])
        return kinetic, potential

    def _subtract_at_ports(self, total: dict[Carrier, Vector]) -> None:
        call, kinematics = self.tracer.call, self.kinematics
        compartment = self.now.compartment
        for part in compartment.parts:
            base = part.border.base
            if base is None:
                continue
            at, answer, key = port_in(kinematics, base), self._condensation.answers[part], base.body
            wrenches = ca.vertcat(ca.SX(0, 1), *[self.solution.inner_wrench(port.body) for port in part.border.others])
            added = call(lambda c, f: c @ f, answer.block[:6, 6:], wrenches, path=part.path)
            if Unknown.pushed(part.part) in self.solution:
                added = added + self.solution[Unknown.pushed(part.part)][:6, :]
            total[key] = call(lambda t, f, x=at: t + carry_wrench_back(x, f), total[key], added, path=part.path)
        border = compartment.border
        if border is None:
            return
        for k, port in enumerate(border.others):
            key, first = port.body, 6 * (k + border.based)
            if key in total:
                wrench, at = self.given[first : first + 6, :], port_in(kinematics, port)
                total[key] = call(lambda t, f, x=at: t - carry_wrench_back(x, f), total[key], wrench)


def _laws_of(now: Moment) -> Closures:
    """Rows of laws by what stands for them."""
    return {law._rows: closure for law, closure in now.law_closures.items()}


def drift_of(now: Moment) -> tuple[Scalar, Scalar]:
    """Largest violation of conditions, here and in parts, on coordinate and velocity level."""
    twin = now.compartment.twin
    closures: Closures = {e: trace_closure(now.kinematics, e, twin.laws) for e in now.compartment.closing}
    position, velocity = drifts(now.kinematics, {**closures, **_laws_of(now)})
    for part in now.compartment.parts:
        inside = now._ask(part, "drift")
        position = now.tracer.call(ca.fmax, position, inside[0, :])
        velocity = now.tracer.call(ca.fmax, velocity, inside[1, :])
    return position, velocity


def report_inside(now: Moment, given: Vector) -> tuple[tuple[Channel, ...], list[Vector], tuple[Scalar, Scalar]]:
    """Channels of a part and their values, and its energies."""
    writer = PartedWriter(now, now.forces(whole=True), given)
    writer.elements()
    writer.parts()
    writer.declared()
    writer.soft()
    return tuple(writer.channels), writer.values, writer.energies()


def report_whole(now: Moment, before: Moment) -> tuple[tuple[Channel, ...], list[Vector]]:
    """Channels of a model and their values; drift is that `before` speeds were corrected."""
    drift = drift_of(before.at(before.values))
    now = now.at(now.values)
    writer = PartedWriter(now, now.forces(whole=True), ca.SX(0, 1))
    writer.elements()
    writer.parts()
    writer.energy()
    writer.write("drift", ("position",), "", drift[0])
    writer.write("drift", ("velocity",), "", drift[1])
    writer.declared()
    writer.soft()
    return tuple(writer.channels), writer.values
