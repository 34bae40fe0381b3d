"""A machine turned in space, and declared in any axes, moves as it did and costs what it did."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from kompono import Body, Ground, Joint, Pose, Result, Simulation, Subsystem
from kompono.examples.car import Car
from kompono.examples.reference.n_four_bar import NFourBar
from kompono.examples.reference.slider_crank import SliderCrank
from kompono.library import (
    Cylindrical,
    Distance,
    EndStops,
    Gravity,
    LineOnLine,
    Planar,
    PointOnPoint,
    Prismatic,
    Revolute,
    Screw,
    Spherical,
    SpringDamper,
    Universal,
)
from kompono.model.pairs import AxisJoint
from kompono.solve.integrate import Settings
from kompono.spatial.rotation import about
from kompono.starting import closed_start
from kompono.translate import translate
from kompono.translate.counted import operations
from kompono.translate.structure.turned import turned_conditions, turned_joint, turns_about

TURN = Rotation.from_rotvec([0.5, -0.9, 0.3]).as_matrix()
LEVEL = 1e-12


@pytest.fixture(autouse=True)
def benchmarks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(Path(__file__).parents[2] / "benchmarks"), *sys.path])


def in_other_axes(model: Subsystem, **options: Any) -> Subsystem:
    """A model turned by TURN, with other axes for each body and joint."""
    from turned import turned

    return turned(model, TURN, **options)


class Carried(Subsystem):
    """Four bars in a plane on a carrier that moves in space; the last one may be left loose."""

    def __init__(self, kind: str, closed: bool) -> None:
        self.ground, self.gravity, self.carrier = Ground(), Gravity(), Body(mass=3.0, inertia=(0.3, 0.2, 0.4))
        place = self.carrier.at(-0.2, 0.1, 0.05)
        if kind == "hinge":
            self.base = Revolute(self.ground, place, axis="x", angle=0.3, angle_rate=1.0)
        elif kind == "ball":
            self.base = Spherical(self.ground, place, wx=1.0)
        self.bars = [Body(mass=1.0, inertia=(0.01, 0.1, 0.1)) for _ in range(3)]
        one, two, three = self.bars
        self.first = Revolute(self.carrier, one.at(-0.5, 0, 0), angle=1.2, angle_rate=-1.0)
        self.second = Revolute(one.at(0.5, 0, 0), two.at(-0.6, 0, 0), angle=-1.0)
        self.third = Revolute(two.at(0.6, 0, 0), three.at(0.4, 0, 0), angle=0.9)
        self.spring = SpringDamper(self.carrier, two, k=20.0, c=0.3, rest=0.4)
        if closed:
            self.last = Revolute(self.carrier.at(1.1, 0, 0), three.at(-0.4, 0, 0))


class Ring(Subsystem):
    """Bars in a plane between two grounds, on one of which a slider runs along a line; joints are anywhere on them."""

    def __init__(self, seed: int) -> None:
        random = np.random.default_rng(seed)
        self.gravity, self.ground, self.other = Gravity((1.0, -9.0, 0.0)), Ground(), Ground((0.9, 0.2, 0.3))
        self.bars = [Body(mass=m, inertia=(0.1, 0.2, 0.25)) for m in random.uniform(0.5, 2, 2 + seed % 2)]
        frame: Any = self.ground.at(0.1, 0, 0.3)
        for k, bar in enumerate(self.bars):
            x, y, z = random.uniform(-0.5, 0.5, 3)
            start = {"angle": float(random.uniform(-1, 1)), "angle_rate": 1.0} if k == 0 else {}
            self.add(f"joint{k}", Revolute(frame, bar.at(x, y, z), **start))
            frame = bar.at(x + 0.6, y - 0.3, z)
        self.slider = Body(mass=1.0, inertia=(0.1, 0.1, 0.1))
        self.guide = Prismatic(self.other, self.slider, axis=(0.6, 0.8, 0) if seed % 2 else "x")
        self.closed = Revolute(self.slider, frame)


def run(model: Subsystem) -> tuple[Simulation, Result]:
    simulation = Simulation(model)
    result = simulation.run(Settings("rk4", until=0.1, step=1e-3, every=10), progress=False)
    assert result.status.ok, result.status.message
    return simulation, result


def costs(simulation: Simulation) -> np.ndarray:
    program = simulation.program
    names = [name for name in ("derivative", "project") if name in program.routines]
    return np.array([operations(program.routines[name], program.kernels) for name in names])


def apart(straight: Result, turned: Result) -> float:
    """The largest difference of a channel, vectors turned back, relative to how large channels of its unit are."""
    worst = 0.0
    sizes: dict[str, float] = {}
    for name in straight:
        unit = straight.units[name]
        sizes[unit] = max(sizes.get(unit, 1.0), float(np.abs(straight[name]).max()))
    for name in straight:
        if name.endswith(".x") and f"{name[:-1]}z" in straight:
            a, b = (np.array([one[f"{name[:-1]}{k}"] for k in "xyz"]) for one in (straight, turned))
            a = TURN @ a
        elif name.endswith((".y", ".z")) or ".orientation." in name:
            continue
        else:
            a, b = straight[name], turned[name]
        worst = max(worst, float(np.abs(a - b).max()) / sizes[straight.units[name]])
    return worst


MACHINES = {
    "slider-crank": SliderCrank,
    "windows": lambda: NFourBar(2),
    "car": Car,
    "on a hinge": lambda: Carried("hinge", closed=True),
    "open on a hinge": lambda: Carried("hinge", closed=False),
    "on a ball": lambda: Carried("ball", closed=True),
}


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.filterwarnings("ignore::kompono.errors.ModelWarning")
def test_turned_machines_move_and_cost_as_before(name: str) -> None:
    straight, before = run(MACHINES[name]())
    turned, after = run(in_other_axes(MACHINES[name]()))
    assert apart(before, after) < LEVEL
    assert np.all(costs(turned) < 1.1 * costs(straight))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.filterwarnings("ignore::kompono.errors.ModelWarning")
def test_random_rings(seed: int) -> None:
    straight, before = run(Ring(seed))
    turned, after = run(in_other_axes(Ring(seed), seed=seed))
    assert apart(before, after) < LEVEL
    assert np.all(costs(turned) < 1.1 * costs(straight))


class Skater(Subsystem):
    """A plate that slides in a plane and touches a wall, with two arms that swing in that plane."""

    def __init__(self) -> None:
        self.ground, self.plate = Ground(), Body(mass=2.0, inertia=(0.1, 0.1, 0.2))
        self.slide = Planar(self.ground.at(0, 0, 0.1), self.plate, x=0.02, angle=0.4, x_rate=-1.0, angle_rate=0.5)
        self.arms = [Body(mass=0.5, inertia=(0.001, 0.02, 0.02)) for _ in range(2)]
        self.pins = [
            Revolute(self.plate.at(x, 0.1, 0), arm.at(-0.3, 0, 0), angle=1.0, angle_rate=rate)
            for x, arm, rate in zip((-0.2, 0.2), self.arms, (3.0, -2.0), strict=True)
        ]
        self.wall = EndStops(self.slide, -0.01, 1.0, coordinate="x", restitution=0.5)


@pytest.mark.parametrize("make", [lambda: Carried("nothing", closed=True), Skater], ids=["floating", "skater"])
@pytest.mark.filterwarnings("ignore::kompono.errors.ModelWarning")
def test_joints_that_cannot_be_turned_are_followed_by_a_turn(make: Any) -> None:
    _, before = run(make())
    turned, after = run(in_other_axes(make()))
    assert turned.translation.engine.axes is not None
    assert apart(before, after) < LEVEL


# -- elements in other axes

FRAMES = Ground(), Body(mass=1.0, inertia=(1, 1, 1))
AXIS = (0.48, -0.6, 0.64)
TURNABLE = {
    "revolute": Revolute(*FRAMES, axis=AXIS),
    "prismatic": Prismatic(*FRAMES, axis=AXIS),
    "cylindrical": Cylindrical(*FRAMES, axis=AXIS),
    "screw": Screw(*FRAMES, axis=AXIS, pitch=0.1),
    "universal": Universal(*FRAMES, first_axis=AXIS, second_axis=(0.8, 0.0, -0.6)),
}


class Crooked(AxisJoint):
    """Turns about an axis, and about x when it has gone far."""

    coordinates, units = ("angle",), ("rad",)

    def pose(self, q: Any) -> Pose:
        return Pose(rotation=about(self.axis, q[0]) @ about(np.array([1.0, 0, 0]), ca.fmax(q[0] - 2, 0)))


@pytest.mark.parametrize("name", TURNABLE)
def test_a_turned_joint_does_what_the_joint_does(name: str) -> None:
    joint = TURNABLE[name]
    twin = turned_joint(joint, TURN)
    assert twin is not None
    q = np.full(len(joint.coordinates), 0.7)
    old, new = (number(one.pose(ca.DM(q)).rotation) for one in (joint, twin))
    np.testing.assert_allclose(new, TURN.T @ old @ TURN, atol=1e-15)
    found = [turns_about(joint, reverse) for reverse in (False, True)]
    lines = [None if one is None else one[0].tolist() for one in found]
    axes = [None, None] if name in ("prismatic", "screw") else [AXIS, (0.8, 0, -0.6) if name == "universal" else AXIS]
    assert lines == [None if axis is None else pytest.approx(list(axis)) for axis in axes]


@pytest.mark.parametrize("joint", [Spherical(*FRAMES), Planar(*FRAMES), Crooked(*FRAMES, axis=AXIS)])
def test_joints_that_mean_something_by_their_axes_are_left(joint: Joint) -> None:
    assert turned_joint(joint, TURN) is None


@pytest.mark.parametrize(
    "element",
    [*TURNABLE.values(), Spherical(*FRAMES), PointOnPoint(*FRAMES), LineOnLine(*FRAMES), Distance(*FRAMES, length=0.4)],
)
def test_turned_conditions_are_combinations_of_the_conditions(element: Any) -> None:
    twin = turned_conditions(element, TURN)
    if isinstance(element, Screw):
        assert twin is None  # sines of what its conditions measure
        return
    pose = Pose(ca.DM([0.3, -0.2, 0.5]), ca.DM(Rotation.from_rotvec([0.2, 0.5, -0.4]).as_matrix()))
    seen = Pose(ca.DM(TURN.T) @ pose.position, ca.DM(TURN.T) @ pose.rotation @ ca.DM(TURN))
    old, new = (np.vstack([number(group).reshape(-1, 1) for group in one.conditions(place)])
                for one, place in ((element, pose), (twin, seen)))  # fmt: skip
    assert np.linalg.norm(old) == pytest.approx(np.linalg.norm(new), rel=1e-12)


def number(value: Any) -> np.ndarray:
    return ca.evalf(ca.SX(value)).full()


# -- numbers


def test_zeros_of_turned_inertias_are_structure() -> None:
    """Two tensors without zeros, one of which has zeros in the axes of the joints."""
    from translate.test_numbers import Shelf, kernels

    def arm(inertia: np.ndarray) -> Subsystem:
        model = in_other_axes(Carried("hinge", closed=False))
        object.__setattr__(model.bars[0].solid, "inertia", inertia)
        return model

    turn = Rotation.from_rotvec([0.1, 0.2, 0.3]).as_matrix()
    plain = in_other_axes(Carried("hinge", closed=False)).bars[0].solid.inertia
    shelf = Shelf()
    kernels(translate(arm(plain), shelf=shelf, close=closed_start))
    other = translate(arm(turn @ plain @ turn.T), shelf=shelf, close=closed_start)
    fresh = translate(arm(turn @ plain @ turn.T), close=closed_start)
    assert kernels(other) == kernels(fresh)
