"""Drake: a continuous MultibodyPlant in its Simulator, runge_kutta3 with fixed steps; loops in the discrete plant.

Drake has no rk4; rk3 takes three evaluations a step instead of four and one order less. Its continuous plant knows no
loops. With loops it is run as it offers them: a discrete plant of 1 ms (first order, semi-implicit) with ball
constraints in the SAP solver. `AdvanceTo` is native; torques come from its native sine source.
"""

from __future__ import annotations

import importlib.metadata
from typing import Any

import numpy as np
from judge import Record, judged
from machines import Case
from parts import WORLD, Link, Machine
from pydrake.math import RigidTransform, RotationMatrix
from pydrake.multibody import tree
from pydrake.multibody.plant import DiscreteContactApproximation, MultibodyPlant
from pydrake.systems.analysis import ResetIntegratorFromFlags, Simulator
from pydrake.systems.framework import DiagramBuilder
from pydrake.systems.primitives import Sine

NAME = "Drake"


def version() -> str:
    """Of the package."""
    return importlib.metadata.version("drake")


def _inertia(link: Link) -> Any:
    if not link.mass:
        return tree.SpatialInertia.Zero()
    xx, xy, xz, _, yy, yz, _, _, zz = link.inertia.ravel()
    about = tree.RotationalInertia(Ixx=xx, Iyy=yy, Izz=zz, Ixy=xy, Ixz=xz, Iyz=yz)
    return tree.SpatialInertia.MakeFromCentralInertia(mass=link.mass, p_PScm_E=link.centre, I_SScm_E=about)


class Runner:
    """A machine in Drake."""

    def __init__(self, case: Case, machine: Machine, step: float) -> None:
        if machine.gears:
            raise RuntimeError("its continuous plant has no gears between joints")
        self.case, self.machine, self.step, self.label = case, machine, step, NAME
        discrete = bool(machine.loops)
        builder = DiagramBuilder()
        plant: Any = builder.AddSystem(MultibodyPlant(step if discrete else 0.0))
        if discrete:
            plant.set_discrete_contact_approximation(DiscreteContactApproximation.kSap)
        self._build(plant)
        plant.Finalize()
        if machine.laws:
            self._drive(builder, plant)
        self.plant, self.joints = plant, [plant.GetJointByName(f"j{k}") for k in range(len(machine.links))]
        self.simulator = Simulator(builder.Build())
        if not discrete:
            integrator = ResetIntegratorFromFlags(self.simulator, "runge_kutta3", step)
            integrator.set_fixed_step_mode(True)
        self.context = plant.GetMyMutableContextFromRoot(self.simulator.get_mutable_context())
        self.order = np.array([joint.position_start() for joint in self.joints])
        self.how = "discrete plant (1st order), SAP, ball constraints" if discrete else "runge_kutta3, fixed steps"

    def _build(self, plant: Any) -> None:
        machine = self.machine
        plant.mutable_gravity_field().set_gravity_vector(machine.gravity)
        bodies = {WORLD: plant.world_body()}
        for k, link in enumerate(machine.links):
            bodies[k] = body = plant.AddRigidBody(f"b{k}", _inertia(link))
            pose = RigidTransform(RotationMatrix(link.place.rotation), link.place.position)
            place = plant.AddFrame(tree.FixedOffsetFrame(f"f{k}", bodies[link.parent].body_frame(), pose))
            kind = tree.PrismaticJoint if link.slides else tree.RevoluteJoint
            plant.AddJoint(kind(f"j{k}", place, body.body_frame(), link.axis))
        for loop in machine.loops:
            plant.AddBallConstraint(bodies[loop.first], loop.at_first, bodies[loop.second], loop.at_second)
        for s in machine.springs:
            ends = bodies[s.first], s.at_first, bodies[s.second], s.at_second
            plant.AddForceElement(tree.LinearSpringDamper(*ends, s.rest, s.k, s.c))
        for law in machine.laws:
            plant.AddJointActuator(f"m{law.joint}", plant.GetJointByName(f"j{law.joint}"))

    def _drive(self, builder: Any, plant: Any) -> None:
        laws = self.machine.laws
        quarter = np.full(len(laws), np.pi / 2)
        torques = np.array([law.gain * law.cosine for law in laws])
        source = builder.AddSystem(Sine(torques, np.array([law.omega for law in laws]), quarter))
        builder.Connect(source.get_output_port(0), plant.get_actuation_input_port())

    def _reset(self) -> None:
        q, v = self.machine.start()
        self.simulator.get_mutable_context().SetTime(0.0)
        state = np.zeros(2 * len(q))
        state[self.order], state[len(q) + self.order] = q, v
        self.plant.SetPositionsAndVelocities(self.context, state)
        self.simulator.Initialize()

    def steps(self, count: int) -> None:
        """So many steps from the start."""
        self._reset()
        self.simulator.AdvanceTo(count * self.step)

    def record(self, count: int, every: int) -> Record:
        """The same with the rows that are compared."""
        self._reset()
        rows = [self.machine.start()]
        for k in range(every, count + 1, every):
            self.simulator.AdvanceTo(k * self.step)
            q, v = self.plant.GetPositions(self.context), self.plant.GetVelocities(self.context)
            rows.append((q[self.order], v[self.order]))
        return judged(self.case, self.machine, *(np.array(x) for x in zip(*rows, strict=True)))


def runners(case: Case, machine: Machine, step: float) -> list[Runner]:
    """One way."""
    return [Runner(case, machine, step)]
