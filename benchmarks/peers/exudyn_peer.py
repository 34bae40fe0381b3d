"""Exudyn: trees as one ObjectKinematicTree with its explicit RK44; loops with redundant coordinates and its implicit
solver.

Its explicit solvers know no constraints. With loops every link is a body of its own, in the plane (RigidBody2D) where
the machine is plane, in space otherwise, joined by joint conditions and integrated by generalized alpha (spectral
radius 1: second order, no damping) with modified Newton, which was faster here than a kinematic tree with loop
conditions. The loop over time is native; torques are its symbolic user functions, so Python is not entered.
"""

from __future__ import annotations

import importlib.metadata
import time
from typing import Any

import exudyn as exu
import numpy as np
from exudyn.itemInterface import (
    GenericJoint, LoadCoordinate, LoadMassProportional, MarkerBodyMass, MarkerBodyPosition, MarkerBodyRigid,
    MarkerNodeCoordinate, NodeGenericODE2, NodeRigidBody2D, ObjectGround, ObjectKinematicTree, ObjectRigidBody2D,
    PrismaticJoint2D, RevoluteJoint2D, SensorBody, SpringDamper,
)  # fmt: skip
from exudyn.utilities import CreateSymbolicUserFunction, RigidBodyInertia
from judge import Frames, Record, judged
from machines import Case
from walk import WORLD, Array, Law, Machine

NAME = "Exudyn"
LETTERS = "XYZ"
SOLVERS = (exu.LinearSolverType.EXUdense, exu.LinearSolverType.EigenDense, exu.LinearSolverType.EigenSparse)
Output, esym = exu.OutputVariableType, exu.symbolic


def version() -> str:
    """Of the package."""
    return importlib.metadata.version("exudyn")


class Runner:
    """What a machine has in common in all of Exudyn's ways."""

    solver: Any

    def __init__(self, case: Case, machine: Machine, step: float) -> None:
        self.case, self.machine, self.step, self.label = case, machine, step, NAME
        self.container = exu.SystemContainer()
        self.mbs = self.container.AddSystem()
        self.build()
        self.mbs.Assemble()
        self.linear = SOLVERS[1]
        if not case.large:
            self.linear = SOLVERS[min((self._trial(kind), k) for k, kind in enumerate(SOLVERS))[1]]
        self.how += f", {self.linear.name}"

    def _trial(self, linear: Any) -> float:
        """Least time of some steps with one of the linear solvers."""
        self.linear, spent = linear, []
        for _ in range(3):
            begun = time.process_time()
            self.steps(10)
            spent.append(time.process_time() - begun)
        return min(spent)

    def build(self) -> None:
        """Fill the system."""
        raise NotImplementedError

    def _advance(self, begin: int, end: int, keep: bool, every: int = 0) -> None:
        settings = exu.SimulationSettings()
        over_time = settings.timeIntegration
        over_time.startTime, over_time.endTime = begin * self.step, end * self.step
        over_time.numberOfSteps, over_time.verboseMode = end - begin, 0
        settings.parallel.numberOfThreads, settings.linearSolver.solverType = 1, self.linear
        settings.solution.file.write, settings.solution.sensors.active = False, bool(every)
        settings.solution.sensors.writePeriod = every * self.step if every else 1e9
        over_time.newton.useModifiedNewton = True
        over_time.generalizedAlpha.spectralRadius = 1.0
        if not self.mbs.SolveDynamic(settings, solverType=self.solver, updateInitialValues=keep):
            raise RuntimeError("its solver did not converge")

    def steps(self, count: int) -> None:
        """So many steps from the start."""
        self._advance(0, count, keep=False)


class Tree(Runner):
    """One kinematic tree in joint coordinates."""

    solver = exu.DynamicSolverType.RK44
    how = "ObjectKinematicTree, RK44"

    def build(self) -> None:
        links, (q, v) = self.machine.links, self.machine.start()
        turns, inertias, offsets, centres = (
            exu.Matrix3DList(), exu.Matrix3DList(), exu.Vector3DList(), exu.Vector3DList(),
        )  # fmt: skip
        kinds = []
        for link in links:
            turns.Append(link.place.rotation)
            offsets.Append(link.place.position)
            centres.Append(link.centre)
            inertias.Append(link.inertia)
            letter = LETTERS[int(np.flatnonzero(link.axis == 1)[0])]
            kinds.append(getattr(exu.JointType, f"{'Prismatic' if link.slides else 'Revolute'}{letter}"))
        self.node = self.mbs.AddNode(
            NodeGenericODE2(
                numberOfODE2Coordinates=len(links), referenceCoordinates=[0.0] * len(links),
                initialCoordinates=list(q), initialCoordinates_t=list(v),
            )
        )  # fmt: skip
        self.mbs.AddObject(
            ObjectKinematicTree(
                nodeNumber=self.node, jointTypes=kinds, linkParents=[link.parent for link in links],
                jointTransformations=turns, jointOffsets=offsets, linkInertiasCOM=inertias, linkCOMs=centres,
                linkMasses=[link.mass for link in links], gravity=list(self.machine.gravity),
            )
        )  # fmt: skip
        for law in self.machine.laws:
            marker = self.mbs.AddMarker(MarkerNodeCoordinate(nodeNumber=self.node, coordinate=law.joint))
            number = self.mbs.AddLoad(LoadCoordinate(markerNumber=marker, load=0.0))
            torque = CreateSymbolicUserFunction(self.mbs, _torque(law), "loadUserFunction", number)
            self.mbs.SetLoadParameter(number, "loadUserFunction", torque)

    def record(self, count: int, every: int) -> Record:
        """The rows that are compared."""
        rows = [self.machine.start()]
        for k in range(0, count, every):
            self._advance(k, k + every, keep=True)
            rows.append(tuple(self.mbs.GetNodeOutput(self.node, o) for o in (Output.Coordinates, Output.Coordinates_t)))
        return judged(self.case, self.machine, *(np.array(x) for x in zip(*rows, strict=True)))


class Bodies(Runner):
    """Every link a body, every joint conditions. At the start the axes of all bodies are the world's."""

    solver = exu.DynamicSolverType.GeneralizedAlpha

    def build(self) -> None:
        q, v = self.machine.start()
        self.begin = Frames(self.machine, q[None], v[None])
        self.objects = {WORLD: self.mbs.AddObject(ObjectGround())}
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
                self.mbs.AddObject(RevoluteJoint2D(markerNumbers=[self._marker(*end, rigid=False) for end in ends]))
            else:
                rows = [*(np.abs(self.begin.rotation[loop.first][0] @ loop.across) < 0.5).astype(int), 0, 0, 0]
                self.mbs.AddObject(GenericJoint(markerNumbers=[self._marker(*e) for e in ends], constrainedAxes=rows))
        for s in self.machine.springs:
            ends = self._marker(s.first, s.at_first, rigid=False), self._marker(s.second, s.at_second, rigid=False)
            spring = SpringDamper(markerNumbers=list(ends), stiffness=s.k, damping=s.c, referenceLength=s.rest)
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
            NodeRigidBody2D(
                referenceCoordinates=[*(self.plane @ place), 0.0],
                initialVelocities=[*(self.plane @ speed), float(normal @ spin)],
            )
        )
        inertia = float(normal @ turn @ link.inertia @ turn.T @ normal)
        body = self.mbs.AddObject(ObjectRigidBody2D(nodeNumber=node, physicsMass=link.mass, physicsInertia=inertia))
        marker = self.mbs.AddMarker(MarkerBodyMass(bodyNumber=body))
        load = [*(self.plane @ self.machine.gravity), 0.0]
        self.mbs.AddLoad(LoadMassProportional(markerNumber=marker, loadVector=load))
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
        if link == WORLD:
            point = at
        else:
            point = self.begin.rotation[link][0] @ (at - self.machine.links[link].centre)
        return point if self.plane is None else np.array([*(self.plane @ point), 0.0])

    def _marker(self, link: int, at: Array, rigid: bool = True) -> int:
        kind = MarkerBodyRigid if rigid else MarkerBodyPosition
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
                rows[int(np.argmax(np.abs(turn @ freedom.axis))) + (0 if freedom.slides else 3)] = 0
            axes = turn if np.abs(turn).max(0).min() < 0.999 else np.eye(3)
            if axes is turn:  # a joint that is tilted at the start: its own axes instead of the world's
                rows = np.ones(6, int)
                for freedom in freedoms:
                    rows[int(np.argmax(np.abs(freedom.axis))) + (0 if freedom.slides else 3)] = 0
            ends = [self._marker(parent, place), self._marker(k, np.zeros(3))]
            joint = GenericJoint(
                markerNumbers=ends, constrainedAxes=list(rows), rotationMarker0=axes, rotationMarker1=axes
            )
        elif link.slides:
            along = self.plane @ (turn @ link.axis)
            ends = [self._marker(parent, place), self._marker(k, np.zeros(3))]
            joint = PrismaticJoint2D(markerNumbers=ends, axisMarker0=[*along, 0.0], normalMarker1=[-along[1], along[0], 0.0])
        else:
            ends = [self._marker(parent, place, rigid=False), self._marker(k, np.zeros(3), rigid=False)]
            joint = RevoluteJoint2D(markerNumbers=ends)
        self.mbs.AddObject(joint)

    def _sensor(self, link: int, at: Array) -> int:
        local = list(self._local(link, at))
        sensor = SensorBody(
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


def _torque(law: Law) -> Any:
    """A torque over time in Exudyn's symbols."""
    size, omega = law.gain * law.cosine, law.omega

    def user_function(mbs: Any, t: Any, load: Any) -> Any:
        return size * esym.cos(omega * t)

    return user_function


def runners(case: Case, machine: Machine, step: float) -> list[Runner]:
    """One way for trees, one for loops."""
    if machine.gears:
        raise RuntimeError("no gears between the joints of a kinematic tree, and its controller would be Python")
    return [(Bodies if machine.loops else Tree)(case, machine, step)]
