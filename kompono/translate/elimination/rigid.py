"""Bodies that tree joints without freedoms hold together move as one: they share one inertia and one acceleration.

The lead of such a group is the body (or ground) nearest to the root. Only it is an unknown of the equations of motion;
the gyroscopic terms are those of the whole, once. What each of the others does, and what their welds carry, follows
from the lead's motion when somebody asks for it.
"""

from __future__ import annotations

from functools import cached_property

import casadi as ca

from kompono.model.body import Body, Carrier
from kompono.spatial.pose import Pose
from kompono.spatial.vectors import carry_twist, carry_wrench_back, symmetric, twist_matrix, wrench_cross
from kompono.translate.motion.kinematics import Kinematics, StandIn
from kompono.translate.motion.loads import Loads, body_inertia
from kompono.translate.structure.topology import Topology
from kompono.translate.symbolic import Matrix, Vector


class RigidGroups:
    """Which bodies of a tree are one; with `merge` False every body is a group of its own."""

    def __init__(self, topology: Topology, *, merge: bool = True) -> None:
        self.topology = topology
        self._leads: dict[Carrier, Carrier] = {}
        for link in topology.links if merge else ():
            if link.rigid:
                self._leads[link.carrier] = self.lead(link.parent)

    def lead(self, carrier: Carrier) -> Carrier:
        """The carrier nearest to the root of those that move with this one."""
        return self._leads.get(carrier, carrier)

    def leads(self, carrier: Carrier) -> bool:
        """Whether a carrier is the lead of its group."""
        return carrier not in self._leads

    @cached_property
    def followers(self) -> dict[Carrier, list[Body]]:
        """The other bodies of each group, by lead."""
        groups: dict[Carrier, list[Body]] = {}
        for link in self.topology.links:
            if not self.leads(link.carrier) and isinstance(link.carrier, Body):
                groups.setdefault(self.lead(link.carrier), []).append(link.carrier)
        return groups

    def offset(self, kinematics: Kinematics, carrier: Carrier) -> Pose:
        """The working frame of a carrier in that of its lead (constant, or of tunable parameters)."""
        return kinematics.hanging.offset(carrier, self.lead(carrier))

    def inertia(self, kinematics: Kinematics, lead: Body) -> Matrix:
        """6x6 inertia of a whole group in the working frame of its lead (constant, or of tunable parameters), without
        what stands for closed parts.
        """
        total = ca.SX(6, 6)
        for body in (lead, *self.followers.get(lead, ())):
            if body not in kinematics.stand_ins:
                carried = twist_matrix(self.offset(kinematics, body))
                total = total + carried.T @ body_inertia(kinematics, body) @ carried
        return ca.sparsify(symmetric(total))

    def shown(self, kinematics: Kinematics, lead: Body) -> list[tuple[Pose, StandIn]]:
        """What stands for closed parts in a group, and where it is in the working frame of its lead."""
        bodies = [body for body in (lead, *self.followers.get(lead, ())) if body in kinematics.stand_ins]
        return [(self.offset(kinematics, body), kinematics.stand_ins[body]) for body in bodies]

    def bias(self, kinematics: Kinematics, loads: Loads, lead: Body) -> Vector:
        """p of a whole group: gyroscopic terms less all applied wrenches."""
        followers = self.followers.get(lead)
        if not followers:
            return loads.bias(lead)
        applied = loads.wrenches.get(lead, ca.SX(6, 1))
        for body in followers:
            if body in loads.wrenches:
                offset = self.offset(kinematics, body)
                applied = kinematics.tracer.call(
                    lambda a, f, x=offset: a + carry_wrench_back(x, f), applied, loads.wrenches[body],
                    path=kinematics.model.path(body),
                )  # fmt: skip
        for offset, shown in self.shown(kinematics, lead):
            applied = kinematics.tracer.call(lambda a, p, x=offset: a - carry_wrench_back(x, p), applied, shown.bias)
        inertia, twist = self.inertia(kinematics, lead), kinematics.absolute(lead).twist
        return kinematics.tracer.call(
            lambda w, f: wrench_cross(w, inertia @ w) - f, twist, applied, path=kinematics.model.path(lead)
        )

    def follow(self, kinematics: Kinematics, body: Body, acceleration: Vector) -> Vector:
        """Spatial acceleration of a body from that of its lead."""
        offset = self.offset(kinematics, body)
        return kinematics.tracer.call(lambda a: carry_twist(offset, a), acceleration, path=kinematics.model.path(body))
