"""Loads of forces, joints and constraints: channels and outputs obey Newton, power is the rate of energy."""

from __future__ import annotations

import warnings
from typing import Any

import casadi as ca
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from kompono import (
    Body,
    Constraint,
    Coupling,
    Effort,
    Force,
    Ground,
    Input,
    Joint,
    LoadCell,
    ModelError,
    Motion,
    Output,
    Pose,
    Simulation,
    Subsystem,
    TranslationError,
    Wrench,
    rotation,
    simulate,
    time,
)
from kompono.library import (
    AppliedLoad,
    Bushing,
    Distance,
    Drive,
    Free,
    Gear,
    Gravity,
    JointEffort,
    Planar,
    PlaneToPlane,
    PointOnLine,
    Prismatic,
    Revolute,
    RotationalSpringDamper,
    Spherical,
    SpringDamper,
    solids,
)
from kompono.solve.integrate import Settings

WEIGHT = np.array([0, 0, -9.81])


def vector(result: Any, path: str) -> np.ndarray:
    return np.stack([result[f"{path}.{k}"] for k in "xyz"], axis=-1)


def turned(result: Any, body: str) -> np.ndarray:
    e = np.stack([result[f"{body}.orientation.e{k}"] for k in range(4)], axis=-1)
    return Rotation.from_quat(e[:, [1, 2, 3, 0]]).as_matrix()


class Magnet(Force):
    """An own law with a reading of its own."""

    def wrench(self, motion: Motion) -> Wrench:
        return Wrench(force=-3 * motion.position, torque=-0.2 * motion.angular_velocity)

    def readings(self, motion: Motion) -> dict[str, tuple[Any, str]]:
        return {"field": (1 / (1 + motion.length), "T")}


class Hung(Subsystem):
    """A brick that hangs on everything that pulls."""

    def __init__(self) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.base = Ground((0, 0, 0.1 * ca.sin(3 * time)), orientation=(ca.cos(time), ca.sin(time), 0, 0))
        self.brick = Body(
            solids.box(mass=2, size=(0.1, 0.2, 0.3)), start_position=(0.3, 0.1, -1), start_angular_velocity=(1, 2, 3)
        )
        corner = self.brick.at(0.05, 0.1, 0.15, orientation=rotation("x", 0.4))
        self.spring = SpringDamper(self.base.at(0.1, 0, 0), corner, k=80, c=3, rest=0.4)
        self.mount = Bushing(self.base, self.brick.at(0, 0.1, 0), k=[20, 30, 40, 1, 2, 3], c=[1] * 6)
        self.magnet = Magnet(self.base.at(0, 0, -0.3), corner)
        self.wind = AppliedLoad(self.brick.at(0, 0, 0.1), force=(1, 0, 0), torque=(0, 0.1, 0), axes="body")
        self.pull = Output(self.spring.force[2], unit="N")
        self.line = Output(self.spring.tension, unit="N")
        self.power = Output(self.spring.power + self.magnet.power, unit="W")
        self.rate = Output(self.spring.length_rate, unit="m/s")
        self.cell = LoadCell(self.spring, axes=self.brick, at=self.brick)
        self.felt = Output(self.cell.torque[1], unit="N m")


FORCES = ("spring", "mount", "magnet", "wind")


@pytest.fixture(scope="module", params=["relative", "absolute", "discrete"])
def hung(request) -> Any:
    step = {"step": 1e-4, "every": 10} if request.param == "discrete" else {"step": 1e-3}
    return simulate(Hung(), until=0.5, engine=request.param, **step)


def test_forces_make_the_acceleration(hung) -> None:
    total = sum(vector(hung, f"{name}.force") for name in FORCES)
    assert np.abs(total / 2 + WEIGHT - vector(hung, "brick.acceleration")).max() < 1e-9


def test_torques_make_the_turning(hung) -> None:
    """Euler's equations about the centre of mass, with the levers of the points by hand."""
    turn = turned(hung, "brick")
    points = {"spring": (0.05, 0.1, 0.15), "mount": (0, 0.1, 0), "magnet": (0.05, 0.1, 0.15), "wind": (0, 0, 0.1)}
    torque = sum(
        vector(hung, f"{name}.torque") + np.cross(turn @ np.array(point), vector(hung, f"{name}.force"))
        for name, point in points.items()
    )
    inertia = turn @ np.diag(2 / 12 * np.array([0.13, 0.1, 0.05])) @ turn.swapaxes(1, 2)
    w = vector(hung, "brick.angular_velocity")
    momentum = np.einsum("nij,nj->ni", inertia, w)
    expected = np.einsum("nij,nj->ni", inertia, vector(hung, "brick.angular_acceleration")) + np.cross(w, momentum)
    assert np.abs(torque - expected).max() < 1e-9


def test_power_is_what_the_two_bodies_get(hung) -> None:
    """P = F . (v2 - v1) + ... in the axes of a first body that moves and turns, here by the length of the spring."""
    assert np.abs(hung["spring.power"] + hung["spring.tension"] * hung["spring.length.rate"]).max() < 1e-10
    rate = np.gradient(hung["spring.length"], hung.time, edge_order=2)
    assert np.abs(hung["spring.length.rate"] - rate)[5:-5].max() < 1e-2
    expected = 80 * (hung["spring.length"] - 0.4) + 3 * hung["spring.length.rate"]
    assert np.abs(hung["spring.tension"] - expected).max() < 1e-10
    assert np.abs(np.linalg.norm(vector(hung, "spring.force"), axis=1) - np.abs(expected)).max() < 1e-10


def test_loads_are_used_in_outputs(hung) -> None:
    assert np.array_equal(hung["pull"], hung["spring.force.z"])
    assert np.array_equal(hung["line"], hung["spring.tension"])
    assert np.abs(hung["power"] - hung["spring.power"] - hung["magnet.power"]).max() < 1e-12
    assert np.array_equal(hung["rate"], hung["spring.length.rate"])
    assert np.array_equal(hung["felt"], hung["cell.torque.y"])
    assert np.abs(hung["magnet.field"] * (1 + hung["magnet.length"]) - 1).max() < 1e-12


def test_a_load_cell_shows_other_axes_and_another_point(hung) -> None:
    turn = turned(hung, "brick")
    back = turn.swapaxes(1, 2)
    force = vector(hung, "spring.force")
    assert np.abs(np.einsum("nij,nj->ni", back, force) - vector(hung, "cell.force")).max() < 1e-10
    torque = vector(hung, "spring.torque") + np.cross(turn @ np.array([0.05, 0.1, 0.15]), force)
    assert np.abs(np.einsum("nij,nj->ni", back, torque) - vector(hung, "cell.torque")).max() < 1e-10


def test_units_of_loads(hung) -> None:
    units = {
        "spring.force.x": "N", "spring.torque.y": "N m", "spring.power": "W", "spring.length": "m",
        "spring.length.rate": "m/s", "spring.tension": "N", "magnet.field": "T", "cell.force.x": "N",
        "cell.torque.x": "N m",
    }  # fmt: skip
    assert {name: hung.units[name] for name in units} == units
    assert "wind.length" not in hung.names  # one frame has no length


class Brake(Effort):
    def effort(self, q: Any, v: Any) -> Any:
        return -0.5 * v


class Crank(Subsystem):
    """A driven crank moves a slider through a rod; a weight hangs on a distance; all kinds of elements at once."""

    def __init__(self) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.crank = Body(solids.rod(mass=1, length=0.4, radius=0.02, axis="x"))
        self.slider = Body(solids.box(mass=2, size=(0.1, 0.1, 0.1)))
        self.pin = Revolute(self.ground, self.crank.at(-0.2, 0, 0), axis="y", angle=0.3)
        self.rail = Prismatic(self.ground, self.slider, axis="x", displacement=1.0)
        self.rod = Distance(self.crank.at(0.2, 0, 0), self.slider, length=1.0)
        self.drive = Drive(self.pin, 0.3 + 2 * time)
        self.brake = Brake(self.rail)
        self.twist = RotationalSpringDamper(self.pin, k=5.0, c=0.1)
        self.wheel = Body(solids.cylinder(mass=1, length=0.1, radius=0.2, axis="y"))
        self.axle = Revolute(self.ground.at(0, 1, 0), self.wheel, axis="y")
        self.mesh = Gear(self.pin, self.axle, ratio=-2.0)
        self.felt = LoadCell(self.rod, axes=self.crank, on="first")
        self.held = LoadCell(self.pin, axes=self.crank, at=self.crank)
        self.out = Output(self.rod.force[0], unit="N")
        self.hold = Output(self.pin.force[2] + self.pin.torque[0], unit="N")
        self.need = Output(self.drive.effort, unit="N m")
        self.heat = Output(-self.brake.power, unit="W")


@pytest.fixture(scope="module", params=["relative", "absolute"])
def crank(request) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return simulate(Crank(), until=0.5, engine=request.param)


def test_a_constraint_has_a_reaction(crank) -> None:
    """Newton for the slider, along its rail: the rod pulls, the brake holds."""
    expected = 2 * vector(crank, "slider.acceleration")[:, 0] - crank["brake.force.x"]
    assert np.abs(crank["rod.force.x"] - expected).max() < 1e-8
    assert np.abs(crank["brake.effort"] - crank["brake.force.x"]).max() < 1e-12
    line = vector(crank, "slider.position") - (
        vector(crank, "crank.position") + turned(crank, "crank") @ np.array([0.2, 0, 0])
    )
    assert np.abs(np.cross(line, vector(crank, "rod.force"))).max() < 1e-8
    assert np.abs(vector(crank, "rod.torque")).max() < 1e-12


def test_power_and_effort_of_what_acts_on_coordinates(crank) -> None:
    rate = crank["rail.displacement.rate"]
    assert np.abs(crank["brake.power"] + 0.5 * rate**2).max() < 1e-10
    assert np.abs(crank["heat"] - 0.5 * rate**2).max() < 1e-10
    assert np.abs(crank["twist.effort"] + 5 * crank["pin.angle"] + 0.1 * crank["pin.angle.rate"]).max() < 1e-9
    assert np.abs(crank["twist.torque.y"] - crank["twist.effort"]).max() < 1e-9
    units = {"brake.effort": "N", "twist.effort": "N m", "drive.effort": "N m", "mesh.effort": "N m"}
    assert {name: crank.units[name] for name in units} == units


def test_loads_of_constraints_and_drives_are_used_in_outputs(crank) -> None:
    assert np.array_equal(crank["out"], crank["rod.force.x"])
    assert np.abs(crank["hold"] - crank["pin.force.z"] - crank["pin.torque.x"]).max() < 1e-12
    assert np.array_equal(crank["need"], crank["drive.effort"])


def test_a_load_cell_on_joints_and_constraints(crank) -> None:
    turn = turned(crank, "crank")
    back = turn.swapaxes(1, 2)
    assert np.abs(np.einsum("nij,nj->ni", back, -vector(crank, "rod.force")) - vector(crank, "felt.force")).max() < 1e-9
    force = vector(crank, "pin.force")
    torque = vector(crank, "pin.torque") + np.cross(turn @ np.array([-0.2, 0, 0]), force)
    assert np.abs(np.einsum("nij,nj->ni", back, torque) - vector(crank, "held.torque")).max() < 1e-9


class Mated(Subsystem):
    """A lamp held by three plane-to-plane mates, as CAD systems do; `turned` swaps the frames of one."""

    def __init__(self, *, turned: bool = False) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.arm = Body(solids.rod(mass=1, length=1, radius=0.02, axis="x"))
        self.pin = Revolute(self.ground, self.arm.at(-0.5, 0, 0), axis="y", angle=0.0)
        self.lamp = Body(solids.box(mass=2, size=(0.1, 0.1, 0.2)))
        a, b = self.arm.at(0.5, 0, 0), self.lamp.at(0, 0, 0.1)
        self.mates = [PlaneToPlane(*((b, a) if turned and k == "z" else (a, b)), axis=k) for k in "xyz"]
        self.arm.start_position, self.lamp.start_position = np.array([0.5, 0, 0]), np.array([1.0, 0, -0.1])


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.filterwarnings("ignore::kompono.ModelWarning")
def test_mates_that_are_welds_have_reactions_too(turned: bool) -> None:
    """Nine conditions on six freedoms: single loads are not determined, their sum is."""
    for engine in ("relative", "absolute"):
        result = simulate(Mated(turned=turned), until=0.2, step=2e-3, engine=engine)
        signs = (1, 1, -1 if turned else 1)
        total = sum(s * vector(result, f"mates.{k}.force") for k, s in enumerate(signs))
        expected = 2 * (vector(result, "lamp.acceleration") - WEIGHT)
        assert np.abs(total - expected).max() < 1e-8, engine


def test_speeds_have_units() -> None:
    class Two(Subsystem):
        def __init__(self) -> None:
            self.ground = Ground()
            self.ball, self.loose = (Body(mass=1, inertia=(1, 1, 1)) for _ in range(2))
            self.socket = Spherical(self.ground, self.ball)
            self.free = Free(self.ground, self.loose)
            self.push = JointEffort(self.socket, 1.0, coordinate="wx")
            self.slide = JointEffort(self.free, 2.0, coordinate="vy")

    result = simulate(Two(), until=0.01)
    assert [result.units[f"socket.w{k}"] for k in "xyz"] == ["rad/s"] * 3
    assert [result.units[f"free.v{k}"] for k in "xyz"] == ["m/s"] * 3
    assert result.units["push.effort.wx"] == "N m"
    assert result.units["slide.effort.vy"] == "N"
    assert result["slide.force.y"][0] == pytest.approx(2.0)


class Own(Joint):
    coordinates = ("a", "b")
    units = ("m", "rad")
    speeds = ("u", "w")

    def pose(self, q: Any) -> Pose:
        return Pose(position=ca.vertcat(q[0], 0, 0), rotation=ca.vertcat(
            ca.horzcat(ca.cos(q[1]), -ca.sin(q[1]), 0), ca.horzcat(ca.sin(q[1]), ca.cos(q[1]), 0), ca.horzcat(0, 0, 1)
        ))  # fmt: skip


def test_speeds_of_own_joints_have_the_units_their_motion_tells() -> None:
    body = Body(mass=1, inertia=(1, 1, 1))
    assert Own(Ground(), body).units_of_speeds() == ("m/s", "rad/s")


class Cam(Coupling):
    units = ("m",)

    def conditions(self) -> list[Any]:
        return [self.joints[0].displacement - 0.1 * ca.sin(time)]


def test_an_own_coupling_says_the_unit_of_its_effort() -> None:
    class Driven(Subsystem):
        def __init__(self) -> None:
            self.ground = Ground()
            self.box = Body(mass=1, inertia=(1, 1, 1))
            self.rail = Prismatic(self.ground, self.box, axis="x")
            self.cam = Cam(self.rail)

    result = simulate(Driven(), until=0.1)
    assert result.units["cam.effort"] == "N"
    assert np.abs(result["cam.effort"] + 0.1 * np.sin(result.time)).max() < 1e-9


class Bad(Subsystem):
    """A law that wants to know a load."""

    def __init__(self, kind: str) -> None:
        self.ground = Ground()
        self.rod = Body(solids.rod(mass=1, length=1, radius=0.01))
        self.pin = Revolute(self.ground, self.rod.at(0, 0, 0.5), axis="y", angle=0.3)
        self.spring = SpringDamper(self.ground.at(1, 0, 0), self.rod, k=1.0)
        if kind == "effort":
            self.motor = JointEffort(self.pin, self.pin.torque[1])
        elif kind == "force":
            self.push = AppliedLoad(self.rod, force=(self.spring.force[0], 0, 0))
        elif kind == "cell":
            self.felt = LoadCell(self.spring)
            self.push = AppliedLoad(self.rod, force=(self.felt.force[0], 0, 0))
        elif kind == "condition":
            self.hold = Held(self.ground, self.rod, value=self.spring.tension)


class Held(Constraint):
    def __init__(self, first: Any, second: Any, *, value: Any) -> None:
        super().__init__(first, second)
        self.value = value

    def conditions(self, pose: Pose) -> list[Any]:
        return [pose.position[1] + self.value]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("effort", r"^motor: it uses the torque of pin, which is a result.*Output"),
        ("force", r"^push: it uses the force of spring"),
        ("cell", r"^push: it uses the force of felt"),
        ("condition", r"^hold: .*tension"),
    ],
)
def test_laws_may_not_use_loads(kind: str, text: str) -> None:
    for engine in ("relative", "absolute"):
        with pytest.raises(TranslationError, match=text):
            simulate(Bad(kind), until=0.1, engine=engine, cache=False)


def test_what_a_load_cell_cannot_measure_is_told() -> None:
    body, ground = Body(mass=1, inertia=(1, 1, 1)), Ground()
    joint, wind = Revolute(ground, body), AppliedLoad(body)
    for make in (
        lambda: LoadCell(body),  # type: ignore[arg-type]
        lambda: LoadCell(Drive(joint, 1.0)),  # type: ignore[arg-type]
        lambda: LoadCell(joint, axes=3),  # type: ignore[arg-type]
        lambda: LoadCell(joint, on="third"),  # type: ignore[arg-type]
        lambda: LoadCell(wind, on="first"),
    ):
        with pytest.raises(ModelError):
            make()


class Row(Subsystem):
    """Equal parts, each with a spring, an effort and a load cell: large models list the same channels."""

    def __init__(self) -> None:
        self.ground, self.gravity, self.force = Ground(), Gravity(), Input(0.3)
        self.parts = [Part() for _ in range(3)]
        self.pins = [
            Revolute(a, b.rod.at(0, 0, 0.5), axis="y", angle=0.2)
            for a, b in zip([self.ground, *[p.rod.at(0, 0, -0.5) for p in self.parts]], self.parts, strict=False)
        ]
        self.stay = SpringDamper(self.ground.at(0, 0, 1), self.ground.at(0, 1, 0), k=3.0, rest=0.5)
        self.wind = AppliedLoad(self.parts[2].rod, force=(self.force, 0, 0))


class Part(Subsystem):
    def __init__(self) -> None:
        self.rod, self.bob = Body(solids.rod(mass=1, length=1, radius=0.02)), Body(solids.sphere(mass=1, radius=0.1))
        self.plane = Planar(self.rod, self.bob, normal="y", x=0.3, y=0.1)
        self.spring = SpringDamper(self.rod.at(0, 0, 0.2), self.bob, k=30.0, c=1.0, rest=0.2)
        self.brake = Brake(self.plane)
        self.cell = LoadCell(self.spring, axes=self.bob)
        self.hold = LoadCell(self.plane, axes=self.bob, at=self.rod)
        self.expose(self.rod)


def test_large_models_have_the_same_loads() -> None:
    whole, cells = (Simulation(Row(), nested_from=n) for n in (10**9, 1))
    patterns = ["*.spring.*", "*.brake.*", "*.cell.*", "*.hold.*", "stay.*", "wind.*", "energy.*", "*.plane.*"]
    settings = Settings("rk4", 0.1, 1e-3, 1)
    one, two = (simulation.run(settings, channels=patterns) for simulation in (whole, cells))
    assert type(cells.translation.engine).__name__ == "NestedEngine"
    assert sorted(one.names) == sorted(two.names)
    assert "parts.1.spring.tension" in one.names
    assert one.units == two.units
    for name in one.names:
        assert np.abs(one[name] - two[name]).max() < 1e-10, name
    shown = cells.run(settings).names
    assert "parts.0.cell.force.x" in shown


def test_point_on_line_carries_its_share() -> None:
    """The lever rule, read off a constraint."""

    class Shaft(Subsystem):
        def __init__(self) -> None:
            self.ground, self.gravity = Ground(), Gravity()
            self.disc = Body(solids.cylinder(mass=6.0, length=0.02, radius=0.2, axis="x"))
            self.left = Spherical(self.ground.at(-0.2, 0, 0), self.disc.at(-0.2, 0, 0), wx=10.0)
            self.right = PointOnLine(self.ground.at(0.4, 0, 0), self.disc.at(0.4, 0, 0), axis="x")

    result = simulate(Shaft(), until=0.05)
    assert result["left.force.z"][-1] == pytest.approx(6 * 9.81 * 2 / 3)
    assert result["right.force.z"][-1] == pytest.approx(6 * 9.81 / 3)
