"""Nothing that is declared is unused in silence: options that need another one, laws and forces that can never act."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest

import kompono
from kompono import (
    Body,
    Ground,
    Input,
    ModelError,
    ModelWarning,
    RunError,
    RunWarning,
    Sensor,
    Simulation,
    Subsystem,
    inspect,
    rotation,
    simulate,
    time,
)
from kompono.library import (
    PID,
    AppliedLoad,
    Brake,
    Clutch,
    Contact,
    Damping,
    DryFriction,
    Encoder,
    FreeWheel,
    Gear,
    Imu,
    JointEffort,
    MediumDrag,
    Planar,
    Prismatic,
    Quantizer,
    Revolute,
    Rolling,
    Rope,
    RotationalSpringDamper,
    Spherical,
    SpringDamper,
    Strut,
    Sum,
    Table,
    Tether,
    Thruster,
    Weld,
    solids,
)


def ball() -> Body:
    return Body(solids.sphere(mass=1.0, radius=0.1))


class Machine(Subsystem):
    """Two shafts side by side, one with two bodies welded on, one that carries a slide; and what is under test."""

    def __init__(self, make: Callable[[Any], Any]) -> None:
        self.ground, self.turning = Ground(), Ground(orientation=rotation("z", time))
        self.left, self.right, self.near, self.far, self.sled = ball(), ball(), ball(), ball(), ball()
        self.spare = ball()
        self.felt = Sensor(self.left)
        self.first = Revolute(self.ground, self.left, axis="z")
        self.second = Revolute(self.ground.at(1, 0, 0), self.right, axis="z")
        self.welds = [Weld(self.left.at(0, 0, 1), self.near), Weld(self.far.at(0, 0, 1), self.near)]
        tilted = self.sled.at(0.1, 0, 0, orientation=rotation("y", 1.0))
        self.rail = Prismatic(self.right, tilted, axis="x")
        self.what = make(self)


CUBE = solids.box(mass=1.0, size=(1, 1, 1))
NEEDS_ANOTHER: dict[str, tuple[Callable[[Any], Any], str]] = {
    "joint": (lambda m: Revolute(m.ground, m.spare, restitution=0.3), "restitution without limits"),
    "parameter": (lambda m: Planar(m.ground, m.spare, restitution=0.1 * time), "restitution without limits"),
    "rolling": (lambda m: Rolling(m.ground, m.spare, radius=0.1, restitution=0.3), "restitution without limits"),
    "ball": (lambda m: Spherical(m.ground, m.spare, axis="x"), "turns about every one"),
    "turn": (lambda m: Spherical(m.ground, m.spare, axis="x", limits={"turn": 1.0}), "turns about every one"),
    "gear": (lambda m: Gear(m.first, m.second, ratio=2, restitution=0.3), "without backlash"),
    "radius of a clutch": (lambda m: Clutch(m.first, m.second, limit=1, radius=0.1), "beside a limit"),
    "faces": (lambda m: Brake(m.first, limit=1, faces=2), "beside a limit"),
    "axis": (lambda m: FreeWheel(m.first, m.second, axis="x"), "joints have their own"),
    "radius": (lambda m: DryFriction(m.first, preload=1, radius=0.1), "a radius, but no mu"),
    "nothing rubs": (lambda m: DryFriction(m.first), "nothing rubs"),
    "rest": (lambda m: SpringDamper(m.left, m.right, c=1.0, rest=1.0), "without stiffness"),
    "spring": (lambda m: SpringDamper(m.left, m.right), "neither stiffness nor damping"),
    "torsion": (lambda m: RotationalSpringDamper(m.first, c=1.0, rest=1.0), "without stiffness"),
    "rope": (lambda m: Rope(m.left, m.right, c=1.0, rest=1.0), "without stiffness"),
    "rope on one body": (lambda m: Rope(m.left, m.left.at(1, 0, 0), k=1.0), "on one body"),
    "strut": (lambda m: Strut(length=1.0, rest=0.8), "without stiffness"),
    "solids": (lambda m: Strut(length=1.0, mass=3.0, tube=CUBE, rod=CUBE), "beside two solids"),
    "load": (lambda m: AppliedLoad(m.left, axes="body"), "neither force nor torque"),
    "thruster": (lambda m: Thruster(m.left, 1.0), "neither force nor torque"),
    "wind": (lambda m: MediumDrag(m.left, wind=(1, 0, 0)), "no coefficient"),
    "filter": (lambda m: PID(m.first.angle, kp=1.0, filter=0.1), "a filter without kd"),
    "rate": (lambda m: PID(m.first.angle, m.first.angle_rate, kp=1.0), "a rate without kd"),
    "seed": (lambda m: Encoder(m.first, counts=10, every=0.1, seed=1), "no noise"),
    "seed of six": (lambda m: Imu(m.felt, every=0.1, seed=1), "no noise"),
    "start": (lambda m: Quantizer(m.first.angle, step=0.1, start=1.0), "without samples"),
    "ends": (lambda m: JointEffort(m.first, Table([0, 1], [0, 1], ends="natural")(time)), "belong to a spline"),
    "period": (lambda m: Input(3.0, period=0.1), "nothing that is called"),
    "sum": (lambda m: Sum((m.first, 0.0), (m.second, 0.0)), "all factors are zero"),
}
NEVER_ACT: dict[str, tuple[Callable[[Any], Any], str]] = {
    "clutch on welds": (lambda m: Clutch(m.left, m.far, limit=1), "one rigid body"),
    "contact with itself": (lambda m: Contact(m.left.plane(), m.left.at(0, 0, 1).sphere(0.1)), "the same body"),
    "brake across": (lambda m: Brake(m.ground, m.far, limit=1, axis="x"), "in that direction"),
    "clutch across": (lambda m: Clutch(m.near, m.right, limit=1, axis="x"), "in that direction"),
    "brake of a slide": (lambda m: Brake(m.right, m.sled, limit=1), "in that direction"),
    "freewheel across": (lambda m: FreeWheel(m.sled, m.left, axis="y"), "in that direction"),
}
ACT: dict[str, Callable[[Any], Any]] = {
    "clutch": lambda m: Clutch(m.left, m.right, limit=1),
    "behind welds": lambda m: Brake(m.far, m.ground, limit=1),
    "askew": lambda m: Brake(m.ground.at(0, 0, 0, orientation=rotation("x", 1.5)), m.left, limit=1),
    "slide": lambda m: FreeWheel(m.sled, m.left, axis="x"),
    "ground": lambda m: Brake(m.ground, m.turning, limit=1),
    "no radius, no friction": lambda m: DryFriction(m.first, mu=0.0, radius=0.1),
    "no restitution": lambda m: Revolute(m.ground, m.spare, restitution=0.0),
    "any axis": lambda m: Spherical(m.ground, m.spare, axis="x", limits={"swing": 1.0}),
    "a strut that only slides": lambda m: Strut(length=1.0),
}


@pytest.mark.parametrize("case", NEEDS_ANOTHER)
def test_an_option_that_needs_another_is_told_where_it_was_written(case: str) -> None:
    make, what = NEEDS_ANOTHER[case]
    with pytest.warns(ModelWarning, match=what) as caught:
        inspect(Machine(make))
    assert __file__ in {found.filename for found in caught}
    assert not [found for found in caught if found.filename.startswith(str(Path(kompono.__file__).parent))]


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda m: Input(3.0, table=([0, 1], [0, 1])), "a value and a table"),
        (lambda m: Damping(m.welds[0], 1.0), "nothing to move"),
    ],
)
def test_what_contradicts_itself_is_refused(make: Callable[[Any], Any], what: str) -> None:
    with pytest.raises(ModelError, match=what) as caught:
        inspect(Machine(make))
    assert caught.value.path
    assert caught.value.fix


@pytest.mark.parametrize("case", NEVER_ACT)
def test_what_can_never_act_is_refused_by_its_path(case: str) -> None:
    make, what = NEVER_ACT[case]
    with pytest.raises(ModelError, match=what) as caught:
        inspect(Machine(make), cache=False)
    assert caught.value.path == "what"
    assert caught.value.fix


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda m: Contact(m.left.plane(), m.far.sphere(0.1)), "it can never act: left and far are one rigid body"),
        (lambda m: Tether(m.far, m.left, longest=3), "it can never act: far and left are one rigid body"),
        (lambda m: SpringDamper(m.left, m.left.at(1, 0, 0), k=1.0), "on the same body"),
        (lambda m: AppliedLoad(m.ground, force=(1, 0, 0)), "no force moves"),
        (lambda m: SpringDamper(m.ground, m.turning.at(1, 0, 0), k=1.0), "no force moves"),
    ],
)
def test_what_may_be_there_for_once_but_moves_nothing_is_told_by_its_path(make: Any, what: str) -> None:
    with pytest.warns(ModelWarning, match=f"^what: .*{what}"):
        inspect(Machine(make), cache=False)


@pytest.mark.parametrize("case", ACT)
def test_what_can_act_is_taken(case: str) -> None:
    assert inspect(Machine(ACT[case]), cache=False)


class Pendulum(Subsystem):
    def __init__(self) -> None:
        self.ground, self.bob = Ground(), ball()
        self.pin = Revolute(self.ground, self.bob.at(0, 0, 1), axis="y", angle=0.3)
        self.drive = JointEffort(self.pin, ca.sin(time))


def test_options_of_a_run_that_nothing_uses() -> None:
    with pytest.warns(RunWarning, match="rtol and max_steps: rk4 takes equal steps"):
        equal = simulate(Pendulum(), until=0.01, rtol=1e-12, max_steps=1000)
    assert np.array_equal(equal.table, simulate(Pendulum(), until=0.01).table)
    for options in ({}, {"engine": "absolute"}, {"engine": "absolute", "projection": "standard"}):
        with pytest.warns(RunWarning, match="belongs to projection='baumgarte'"):
            Simulation(Pendulum(), baumgarte=(1.0, 2.0), **options)
    with pytest.raises(RunError, match="Did you mean 'rk4'"):
        simulate(Pendulum(), until=0.01, method="RK4")
