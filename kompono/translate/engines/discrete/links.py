"""Joints as visco-elastic links: the conditions they already define become forces.

For conditions g of a relative pose with g_dot = Gamma (v, w), a link with stiffness k and damping c of each row exerts

    wrench = -Gamma^T (k g + c g_dot)

on its second frame and the opposite on its first: it is a `Force` like any other. A coupling (gear, drive) exerts
efforts on the joints it couples in the same way. So joints, constraints and couplings of any library, ours or a user's,
need no second definition, and conditions that are implied by others only make the whole stiffer. Links of joints that
slide get softer as their levers grow.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import casadi as ca

from kompono.model.constraint import Constraint, Coupling
from kompono.model.force import Effort, Force
from kompono.model.joint import Joint
from kompono.model.signal import time
from kompono.spatial.pose import Motion, Wrench
from kompono.translate.declared.elaborate import Elaborated
from kompono.translate.engines.discrete.levers import NUMBERS, eased, lever_groups
from kompono.translate.motion.conditions import Closing, Conditions, Laws, column_of, group_sizes
from kompono.translate.symbolic import Scalar, Vector


@dataclass(frozen=True)
class Strength:
    """Symbols of stiffness and damping of each condition row of an element, (rows) each, where levers are shortest, and
    of the `levers` of those groups of rows that have some (see `levers`).
    """

    element: Closing
    stiffness: ca.SX
    damping: ca.SX
    levers: ca.SX

    @cached_property
    def lever_groups(self) -> tuple[int, ...]:
        """Groups of rows that are softer where the joint has slid far."""
        return lever_groups(self.element)

    def easing(self, position: Vector) -> Vector:
        """How much softer each row (rows) is at a relative position (3) of the joint."""
        factors: list[Scalar | float] = [1.0] * len(group_sizes(self.element))
        for k, number in enumerate(self.lever_groups):
            factors[number] = eased(self.levers[NUMBERS * k : NUMBERS * (k + 1)], position)
        sizes = zip(factors, group_sizes(self.element), strict=True)
        return ca.vertcat(ca.SX(0, 1), *[ca.repmat(ca.SX(factor), size, 1) for factor, size in sizes])

    def multiplier(self, g: Vector, g_dot: Vector, position: Vector | None = None) -> Vector:
        """k g + c g_dot: what takes the place of the Lagrange multipliers; `position` matters to sliding joints."""
        plain = self.stiffness * g + self.damping * g_dot
        return plain if position is None or not self.lever_groups else self.easing(position) * plain


class ElasticLink(Force):
    """The force of a joint or constraint that is held by a spring and a damper along each condition."""

    def __init__(self, element: Joint | Constraint, strength: Strength, law: Conditions) -> None:
        super().__init__(element.first, element.second)
        self.strength, self.law = strength, law
        self._owner, self._name = element._owner, element._name

    def wrench(self, motion: Motion) -> Wrench:
        """-Gamma^T (k g + c g_dot)."""
        speed = ca.densify(ca.vertcat(motion.velocity, motion.angular_velocity))
        g, g_dot, _, gamma = self.law.all(column_of(motion.pose), speed, ca.SX(6, 1), self.law.signals)
        load = -(gamma.T @ self.strength.multiplier(g, g_dot, motion.position))
        return Wrench(load[:3], load[3:])


class CoupledEffort(Effort):
    """The effort on one joint of a coupling that is held by a spring and a damper along each condition."""

    def __init__(self, coupling: Coupling, joint: Joint, strength: Strength, model: Elaborated) -> None:
        super().__init__(joint)
        self._owner, self._name = coupling._owner, coupling._name
        joints, pair = list(dict.fromkeys(coupling.joints)), model.pair
        g = ca.vertcat(*[ca.vec(ca.SX(group)) for group in model.law(coupling).conditions()])
        q = ca.vertcat(*[joint.q for joint in joints])
        q_dot = ca.densify(ca.vertcat(*[ca.SX(pair(joint).rate(joint.q, joint.v)) for joint in joints]))
        g_dot = ca.jtimes(g, q, q_dot) + ca.jacobian(g, time)
        self.value = -(ca.jacobian(g_dot, joint.v).T @ strength.multiplier(g, g_dot))

    def effort(self, q: Vector, v: Vector) -> Vector:
        """-(d g_dot / d v)^T (k g + c g_dot), in the symbols of the joints."""
        return self.value


class Strengths:
    """The strengths of elements, each made when it is first asked for: whoever looks at an element sees the same."""

    def __init__(self) -> None:
        self._made: dict[Closing, Strength] = {}

    def of(self, element: Closing) -> Strength:
        """Those of an element."""
        if element not in self._made:
            rows = sum(group_sizes(element))
            levers = ca.SX.sym("l", NUMBERS * len(lever_groups(element)))
            self._made[element] = Strength(element, ca.SX.sym("k", rows), ca.SX.sym("c", rows), levers)
        return self._made[element]


@dataclass(frozen=True)
class Links:
    """Strengths by closing element, and the loads their links are, one tuple per element."""

    strengths: tuple[Strength, ...]
    loads: tuple[tuple[Force | Effort, ...], ...]

    def added_to(self, model: Elaborated) -> Elaborated:
        """The model with links among its forces and efforts."""
        everything = [load for loads in self.loads for load in loads]
        forces = tuple(load for load in everything if isinstance(load, Force))
        efforts = tuple(load for load in everything if isinstance(load, Effort))
        return replace(model, forces=model.forces + forces, efforts=model.efforts + efforts)


def make_links(model: Elaborated, closing: tuple[Closing, ...], laws: Laws, known: Strengths) -> Links:
    """A link for every joint, constraint and coupling of a model that has conditions."""
    strengths, loads = [], []
    for element in closing:
        strength = known.of(element)
        strengths.append(strength)
        if not strength.stiffness.numel():
            loads.append(())
        elif isinstance(element, Coupling):
            joints = dict.fromkeys(element.joints)
            loads.append(tuple(CoupledEffort(element, joint, strength, model) for joint in joints))
        else:
            loads.append((ElasticLink(element, strength, laws.of(element)),))
    return Links(tuple(strengths), tuple(loads))
