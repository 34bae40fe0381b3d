"""A compartment whose joints are visco-elastic links: nothing is solved, so no equation crosses a border.

A part says where its ports are and how they move; forces and links of its owner make wrenches on them, and with these a
part moves what is inside by itself:

    kick      wrenches on the ports, fields -> rates of the speeds inside, without gyroscopic terms
    coast     x with speeds times the step -> x after the step
    follow    as `kick` -> accelerations of the ports, for sensors and channels outside

Stiffness and damping of the links inside are signals from outside: they follow from the step and from the inertia on
both sides of a joint, so the run chooses them.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import casadi as ca

from kompono.model.body import Body, Carrier
from kompono.spatial.vectors import carry_twist, carry_wrench_back
from kompono.translate.elimination.unknowns import Solution, Unknown
from kompono.translate.engines.discrete.data import weights
from kompono.translate.engines.discrete.linked import between
from kompono.translate.engines.discrete.links import Links, make_links
from kompono.translate.engines.discrete.pieces import PairedKinematics, drifted, kicked
from kompono.translate.engines.engine import Engine
from kompono.translate.engines.placed import mass_inverse
from kompono.translate.laws.softened import mode_rates
from kompono.translate.motion.conditions import Closures, trace_closure
from kompono.translate.parts.border import port_in
from kompono.translate.parts.compartment import Compartment, CompartmentState, starts
from kompono.translate.parts.fields import CompartmentLoads
from kompono.translate.parts.moment import Moment
from kompono.translate.symbolic import Scalar, Vector
from kompono.translate.tracer import Tracer

if TYPE_CHECKING:
    from kompono.translate.parts.inside import Part


@dataclass(frozen=True)
class PushedForces:
    """The forces in a compartment at one state; nothing is condensed."""

    moment: LinkedMoment
    loads: CompartmentLoads
    declared: Closures

    def wrench_on(self, carrier: Carrier, given: Vector) -> Vector:
        """All that acts on a carrier (6, working frame): own forces and links, and what is given at the border."""
        call, kinematics = self.moment.tracer.call, self.moment.kinematics
        total = self.loads.wrenches.get(carrier, ca.SX(6, 1))
        border = self.moment.compartment.border
        for k, port in enumerate(border.others if border is not None else ()):
            if port.body is carrier:
                at = port_in(kinematics, port)
                total = call(lambda t, f, x=at: t + carry_wrench_back(x, f), total, given[6 * k : 6 * k + 6, :])
        return total

    def resolve(self, given: Vector) -> Solution:
        """Accelerations of bodies and ports, wrenches on ports, and what links bear, from wrenches at the border."""
        now, solution = self.moment, Solution()
        compartment, call = now.compartment, now.tracer.call
        for part in compartment.parts:
            for port in part.border.others:
                solution[Unknown.inner_wrench(port.body)] = self.wrench_on(port.body, given)
            followed = now.ask(part, "follow", self.loads, self.given_to(part, solution))
            for k, port in enumerate(part.border.others):
                solution[Unknown.body(port.body)] = followed[6 * k : 6 * k + 6, :]
        for body in compartment.bodies:
            self._accelerate(body, self.wrench_on(body, given), solution)
        for strength in now.links.strengths:
            closure, path = self.declared[strength.element], compartment.model.path(strength.element)
            place = between(now.kinematics, strength.element)
            bears = call(strength.multiplier, closure.residual, closure.rate, place, path=path, free=True)
            solution[Unknown.rows(strength.element)] = bears
        return solution

    def _accelerate(self, body: Body, applied: Vector, solution: Solution) -> None:
        """The acceleration of a body, and of the joint that places it."""
        now, path = self.moment, self.moment.compartment.model.path(body)
        call, kinematics = now.tracer.call, now.kinematics
        own = self.loads.wrenches.get(body, ca.SX(6, 1))
        bias = call(lambda p, f, own: p - (f - own), self.loads.bias(body), applied, own, path=path)
        a = call(lambda d, p: -(d @ p), mass_inverse(kinematics, body), bias, path=path)
        rotation = kinematics.absolute(body).pose.rotation
        solution[Unknown.body(body)] = a
        solution[Unknown.joint(kinematics.topology.link(body).moved_by)] = call(
            lambda a, r, g: ca.vertcat(a[:3] + r.T @ g, a[3:]), a, rotation, self.loads.uniform, path=path
        )

    def completed(self, solution: Solution) -> Solution:
        """Every body has an unknown of its own."""
        return solution

    def given_to(self, part: Part, solution: Solution) -> Vector:
        """Wrenches on the ports of a part."""
        return ca.densify(ca.vertcat(ca.SX(0, 1), *[solution.inner_wrench(port.body) for port in part.border.others]))


class LinkedMoment(Moment):
    """A compartment at one state, with links in the place of conditions."""

    kinematics_kind = PairedKinematics

    @cached_property
    def links(self) -> Links:
        """Those of own joints, constraints and couplings."""
        compartment = self.compartment
        assert compartment.held is not None
        return make_links(compartment.model, compartment.closing, compartment.twin.laws, compartment.held)

    def loads(self) -> CompartmentLoads:
        """With the forces of own links."""
        linked = copy.copy(self.kinematics)
        linked.model = self.links.added_to(self.compartment.model)
        loads = CompartmentLoads(self.compartment, linked, self.fields)
        loads.kinematics, loads.model = self.kinematics, self.compartment.model
        return loads

    def forces(self, *, whole: bool = False, lawless: bool = False) -> PushedForces:  # type: ignore[override]
        """All forces at this state."""
        laws = self.compartment.twin.laws
        declared: Closures = {e: trace_closure(self.kinematics, e, laws) for e in self.compartment.closing}
        return PushedForces(self, self.loads(), declared)

    def ask(self, part: Part, name: str, loads: CompartmentLoads, given: Vector) -> Vector:
        """What a part does under wrenches on its ports."""
        return self._ask(part, name, fields=loads.for_part(part), given=given)

    def kicked(self, given: Vector) -> Vector:
        """Rates of speeds by wrenches and fields alone: own ones, then those of parts (see `speed_places`)."""
        pushed, rates = self.forces(), {}
        loads = pushed.loads
        for body in self.compartment.bodies:
            applied, rotation = pushed.wrench_on(body, given), self.kinematics.absolute(body).pose.rotation
            mass, inverse, _ = weights(self.compartment.model, body)
            rates[self.kinematics.topology.link(body).moved_by] = self.tracer.call(
                lambda f, r, g, m=mass, i=inverse: kicked(f, m, i, r, g), applied, rotation, loads.uniform,
                path=self.compartment.model.path(body), free=True,
            )  # fmt: skip
        inner = []
        for part in self.compartment.parts:
            wrenches = [pushed.wrench_on(port.body, given) for port in part.border.others]
            inner.append(self.ask(part, "kick", loads, ca.densify(ca.vertcat(ca.SX(0, 1), *wrenches))))
        return ca.vertcat(ca.SX(0, 1), *[rates[joint] for joint in self.compartment.joints], *inner)

    def drifted(self) -> CompartmentState:
        """The state after free motion; speeds are times the step. Counted angles are measured where it ends."""
        values, q, v = self.values, dict(self.values.q), dict(self.values.v)
        for body in self.compartment.bodies:
            joint = self.kinematics.topology.link(body).moved_by
            _, inverse, inertia = weights(self.compartment.model, body)
            moved = self.tracer.call(
                lambda q, v, i=inertia, b=inverse: drifted(q, v, i, b), values.q[joint], values.v[joint],
                path=self.compartment.model.path(body), free=True,
            )  # fmt: skip
            q[joint], v[joint] = moved[:12, :], moved[12:, :]
        inner = {part: self._ask(part, "coast") for part in self.compartment.parts}
        counted, memory = values.counted, self._memory_later()
        if counted:
            there = self.at(CompartmentState(q, v, counted, values.memory, inner)).kinematics
            counted = {joint: there.joint_state(joint)[0] for joint in counted}
            self.at(values)  # symbols mean the present again
        return CompartmentState(q, v, counted, memory, inner)

    def _memory_later(self) -> Vector:
        """Modes and states after a step: only bristles of soft laws move, by speeds that are not times the step."""
        model, values, compartment = self.compartment.model, self.values, self.compartment
        if not model.soft:
            return values.memory
        state = self.tracer.call(
            lambda x: slowed(compartment, x, 1 / ca.SX(model.soft[0].step)), compartment.pack(values), free=True
        )
        modes = mode_rates(model, self.at(compartment.unpack(state)).kinematics, later=True)
        self.at(values)  # symbols mean the present again
        return ca.vertcat(modes, values.memory[len(model.modes) :, :])

    def followed(self, given: Vector) -> Vector:
        """Accelerations of the ports of this compartment, less the uniform field."""
        border, solution = self.compartment.border, self.forces().resolve(given)
        assert border is not None
        found = []
        for port in border.others:
            at = port_in(self.kinematics, port)
            found.append(self.tracer.call(lambda a, x=at: carry_twist(x, a), solution.body(port.body)))
        return ca.vertcat(ca.SX(0, 1), *found)


def slowed(compartment: Compartment, state: Vector, factor: Scalar) -> Vector:
    """A state with all speeds times a factor, inside parts, too."""
    values = compartment.unpack(state)
    v = {joint: speed * factor for joint, speed in values.v.items()}
    inner = {part: slowed(part.inside, x, factor) for part, x in values.inner.items()}
    return compartment.pack(CompartmentState(values.q, v, values.counted, values.memory, inner))


def speed_places(compartment: Compartment, twin: Engine) -> list[int]:
    """Where speeds are in the state of an engine that knows all, own ones first, then those of parts."""
    _, v = starts(twin)
    own = [v[j] + k for j in compartment.joints for k in range(j.freedoms)]
    return own + [place for part in compartment.parts for place in speed_places(part.inside, twin)]


def moment_of(
    compartment: Compartment, tracer: Tracer, values: CompartmentState, base: Vector | None = None,
    fields: Vector | None = None,
) -> Moment:  # fmt: skip
    """A compartment at one state, by the way its joints are held."""
    kind = Moment if compartment.held is None else LinkedMoment
    return kind(compartment, tracer, values, base, fields)


def linked_functions(compartment: Compartment) -> dict[str, Callable[..., Vector]]:
    """What a part does under wrenches on its ports, for steps of the discrete engine."""
    return {
        "kick": lambda now, given: now.kicked(given),
        "coast": lambda now, _: compartment.pack(now.drifted()),
        "follow": lambda now, given: now.followed(given),
    }
