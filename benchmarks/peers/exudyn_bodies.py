"""Exudyn with loops: redundant coordinates, implicit.

Its explicit solvers know no constraints. Every link is a body of its own, in the plane (RigidBody2D) where the machine
is plane, in space otherwise, joined by joint conditions and integrated by generalized alpha (spectral radius 1: second
order, no damping) with modified Newton. A kinematic tree with loop conditions was slower by far.
"""

from __future__ import annotations

import exudyn as exu
import numpy as np
from exudyn import itemInterface as items
from exudyn.utilities import RigidBodyInertia
from exudyn_runner import Runner
from judge import Frames, Record
from parts import WORLD, Array

Output = exu.OutputVariableType


class Bodies(Runner):
    """Every link a body, every joint conditions. At the start the axes of all bodies are the world's."""

    solver = exu.DynamicSolverType.GeneralizedAlpha

    def build(self) -> None:
        q, v = self.machine.start()
        self.begin = Frames(self.machine, q[None], v[None])
        self.objects = {WORLD: self.mbs.AddObject(items.ObjectGround())}
        self.plane = self._plane()
        for k, link in enumerate(self.machine.links):
            if link.mass:
                self.objects[k] = self._flat(k) if self.plane is not None else self._solid(k)
        for k, link in enumerate(self.machine.links):
            if link.mass:
                self._join(k)
        for loop in self.machine.loops:
            ends = (loop.first, loop.at_first), (loop.second, loop.at_second)
            if self.plane is not None:
                self.mbs.AddObject(
                    items.RevoluteJoint2D(markerNumbers=[self._marker(*end, rigid=False) for end in ends])
                )
            else:
                across = self.begin.rotation[loop.first][0] @ loop.across
                rows = [*(np.abs(across) < 0.5).astype(int), 0, 0, 0]
                self.mbs.AddObject(
                    items.GenericJoint(markerNumbers=[self._marker(*e) for e in ends], constrainedAxes=rows)
                )
        for s in self.machine.springs:
            ends = self._marker(s.first, s.at_first, rigid=False), self._marker(s.second, s.at_second, rigid=False)
            spring = items.SpringDamper(markerNumbers=list(ends), stiffness=s.k, damping=s.c, referenceLength=s.rest)
            self.mbs.AddObject(spring)
        self.watched = [(link, place.position) for link, place in map(self.machine.bodies.get, self.case.witnesses)]
        ends = [end for loop in self.machine.loops for end in ((loop[0], loop[1]), (loop[2], loop[3]))]
        self.sensors = len([self._sensor(*place) for place in (*self.watched, *ends)])
        kind = "RigidBody2D" if self.plane is not None else "rigid bodies"
        self.how = f"{kind}, generalized alpha (2nd order, implicit), modified Newton"

    def _plane(self) -> Array | None:
        """Rows: two directions of the plane all moves in; None if there is no such plane."""
        axes = [np.abs(self.begin.rotation[k][0] @ link.axis) for k, link in enumerate(self.machine.links)]
        turns = {int(np.argmax(a)) for a, link in zip(axes, self.machine.links, strict=True) if not link.slides}
        if len(turns) != 1:
            return None
        normal = turns.pop()
        return np.eye(3)[[(normal + 1) % 3, (normal + 2) % 3]]

    def _centre(self, k: int) -> tuple[Array, Array, Array]:
        """Where the centre of mass is at the start, its velocity, the spin."""
        lever = self.begin.rotation[k][0] @ self.machine.links[k].centre
        spin = self.begin.spin[k][0]
        return self.begin.position[k][0] + lever, self.begin.velocity[k][0] + np.cross(spin, lever), spin

    def _flat(self, k: int) -> int:
        assert self.plane is not None
        link, (place, speed, spin) = self.machine.links[k], self._centre(k)
        turn, normal = self.begin.rotation[k][0], np.cross(*self.plane)
        node = self.mbs.AddNode(
            items.NodeRigidBody2D(
                referenceCoordinates=[*(self.plane @ place), 0.0],
                initialVelocities=[*(self.plane @ speed), float(normal @ spin)],
            )
        )
        inertia = float(normal @ turn @ link.inertia @ turn.T @ normal)
        body = self.mbs.AddObject(
            items.ObjectRigidBody2D(nodeNumber=node, physicsMass=link.mass, physicsInertia=inertia)
        )
        marker = self.mbs.AddMarker(items.MarkerBodyMass(bodyNumber=body))
        load = [*(self.plane @ self.machine.gravity), 0.0]
        self.mbs.AddLoad(items.LoadMassProportional(markerNumber=marker, loadVector=load))
        return body

    def _solid(self, k: int) -> int:
        link, (place, speed, spin) = self.machine.links[k], self._centre(k)
        turn = self.begin.rotation[k][0]
        inertia = RigidBodyInertia(mass=link.mass, inertiaTensor=turn @ link.inertia @ turn.T, com=np.zeros(3))
        return self.mbs.CreateRigidBody(
            referencePosition=place, initialVelocity=speed, initialAngularVelocity=spin, inertia=inertia,
            gravity=self.machine.gravity, nodeType=exu.NodeType.RotationRotationVector,
        )  # fmt: skip

    def _local(self, link: int, at: Array) -> Array:
        """A point of a link in its body's axes."""
        centre = np.zeros(3) if link == WORLD else self.machine.links[link].centre
        point = self.begin.rotation[link][0] @ (at - centre)
        return point if self.plane is None else np.array([*(self.plane @ point), 0.0])

    def _marker(self, link: int, at: Array, rigid: bool = True) -> int:
        kind = items.MarkerBodyRigid if rigid else items.MarkerBodyPosition
        return self.mbs.AddMarker(kind(bodyNumber=self.objects[link], localPosition=list(self._local(link, at))))

    def _join(self, k: int) -> None:
        link = self.machine.links[k]
        parent, place, freedoms = link.parent, link.place.position, [link]
        while parent != WORLD and not self.machine.links[parent].mass:  # a slide and a hinge on the same axis
            above = self.machine.links[parent]
            parent, place, freedoms = above.parent, above.place.position, [*freedoms, above]
        turn = self.begin.rotation[k][0]
        if self.plane is None:
            rows = np.ones(6, int)
            for freedom in freedoms:
                rows[int(np.argmax(np.abs(freedom.axis))) + (0 if freedom.slides else 3)] = 0
            ends = [self._marker(parent, place), self._marker(k, np.zeros(3))]
            joint = items.GenericJoint(
                markerNumbers=ends, constrainedAxes=list(rows), rotationMarker0=turn, rotationMarker1=turn
            )
        elif link.slides:
            along = self.plane @ (turn @ link.axis)
            ends = [self._marker(parent, place), self._marker(k, np.zeros(3))]
            joint = items.PrismaticJoint2D(
                markerNumbers=ends, axisMarker0=[*along, 0.0], normalMarker1=[-along[1], along[0], 0.0]
            )
        else:
            ends = [self._marker(parent, place, rigid=False), self._marker(k, np.zeros(3), rigid=False)]
            joint = items.RevoluteJoint2D(markerNumbers=ends)
        self.mbs.AddObject(joint)

    def _sensor(self, link: int, at: Array) -> int:
        local = list(self._local(link, at))
        sensor = items.SensorBody(
            bodyNumber=self.objects[link], localPosition=local, outputVariableType=Output.Position,
            storeInternal=True, writeToFile=False,
        )  # fmt: skip
        return self.mbs.AddSensor(sensor)

    def record(self, count: int, every: int) -> Record:
        """The rows that are compared, of one run without a stop."""
        self._advance(0, count, keep=False, every=every)
        stored = {sensor: self.mbs.GetSensorStoredData(sensor)[:, 1:] for sensor in range(self.sensors)}
        positions = [self._world(*self.watched[k], stored[k]) for k in range(len(self.watched))]
        ends = range(len(self.watched), self.sensors, 2)
        gap = max(np.abs(stored[k] - stored[k + 1]).max() for k in ends)
        return Record(np.stack(positions, axis=1), None, float(gap))

    def _world(self, link: int, at: Array, rows: Array) -> Array:
        """Points of the plane in the world."""
        if self.plane is None:
            return rows
        normal = np.cross(*self.plane)
        return rows[:, :2] @ self.plane + normal * (normal @ self.begin.point(link, at)[0])
