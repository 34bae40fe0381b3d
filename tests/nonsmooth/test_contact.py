"""Surfaces that touch: gaps, normals and points of contact of all pairs, momentum, mistakes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest
from nonsmooth.touching_machines import times

from kompono import Body, Ground, ModelError, Subsystem, rotation, simulate, time
from kompono.library import Contact, Gravity, Prismatic, Revolute, solids
from kompono.spatial.pose import Pose, pose_jacobian, symbolic_motion

EDGE, OFF = 0.3, 0.08  # radius and eccentricity of a round cam


def eccentric(phi: Any) -> Any:
    return OFF * ca.cos(phi) + ca.sqrt(EDGE**2 - (OFF * ca.sin(phi)) ** 2)


def wave(x: Any) -> Any:
    return 0.1 * ca.sin(3 * x)


def hills(x: Any, y: Any) -> Any:
    return 0.1 * ca.sin(3 * x) * ca.cos(2 * y)


def pair(make: Callable[[Body, Body], tuple[Any, Any]]) -> Contact:
    first, second = (Body(mass=1.0, inertia=(1, 1, 1)) for _ in range(2))
    return Contact(*make(first, second), mu=0.5)


PAIRS: dict[str, Callable[[Body, Body], tuple[Any, Any]]] = {
    "point on plane": lambda a, b: (a.plane((0.6, 0, 0.8)), b.at(0.1, 0.2, 0.3).point()),
    "corners on plane": lambda a, b: (a.plane("-y"), b.corners((0.1, 0.2, 0.3))),
    "sphere on plane": lambda a, b: (b.sphere(0.2), a.plane()),
    "wheel on plane": lambda a, b: (a.plane("x"), b.circle(0.3, "z")),
    "sphere on sphere": lambda a, b: (a.sphere(0.4), b.sphere(0.2)),
    "sphere in sphere": lambda a, b: (a.sphere(2.0, inside=True), b.sphere(0.2)),
    "point on cylinder": lambda a, b: (a.cylinder(0.4, "y"), b.point()),
    "sphere in cylinder": lambda a, b: (a.cylinder(2.0, "x", inside=True), b.sphere(0.2)),
    "point on cam": lambda a, b: (a.curve(eccentric), b.point()),
    "sphere on cam": lambda a, b: (a.curve(eccentric, "x"), b.sphere(0.1)),
    "roller on cam": lambda a, b: (a.curve(eccentric), b.circle(0.1, "z")),
    "point in a hole": lambda a, b: (a.curve(eccentric, inside=True), b.point()),
    "point on profile": lambda a, b: (a.profile(wave, "y", "x"), b.point()),
    "wheel on profile": lambda a, b: (a.profile(wave), b.circle(0.1)),
    "point on hills": lambda a, b: (a.height(hills), b.point()),
    "sphere on hills": lambda a, b: (a.height(hills), b.sphere(0.1)),
}


@pytest.mark.parametrize("name", PAIRS)
def test_forces_act_at_the_point_of_contact_along_normal_and_tangents(name: str) -> None:
    contact, motion = pair(PAIRS[name]), symbolic_motion()
    touch, unit = contact.touches(motion)[0], contact.units_at(motion)[0]
    speeds = ca.vertcat(motion.velocity, motion.angular_velocity)
    rows = ca.vertcat(pose_jacobian(touch.gap, motion.pose), ca.jacobian(unit.slip, speeds))
    base = ca.horzcat(touch.normal, *touch.tangents)
    arm = touch.point - motion.position
    symbols = [motion.position, motion.rotation]
    find = ca.Function("find", symbols, [ca.SX(touch.gap), rows, base, arm, ca.SX(touch.normal)])
    for start, turned in _poses(3):
        place = start
        for _ in range(60):  # along the normal, until they touch
            gap, _, _, _, normal = find(place, turned)
            place = place - normal * gap
        gap, found, axes, at, _ = (np.array(value) for value in find(place, turned))
        assert abs(gap) < 1e-12
        assert np.abs(axes.T @ axes - np.eye(3)).max() < 1e-12
        for row, axis in zip(found, axes.T, strict=True):
            assert np.abs(row[:3] - axis).max() < 1e-9
            assert np.abs(row[3:] - np.cross(at.ravel(), axis)).max() < 1e-9


def _poses(count: int) -> list[tuple[np.ndarray, np.ndarray]]:
    random, found = np.random.default_rng(7), []
    for _ in range(count):
        q = random.normal(size=4)
        found.append((0.3 * random.normal(size=3) + 0.2, np.array(ca.DM(_matrix(q / np.linalg.norm(q))))))
    return found


def _matrix(q: np.ndarray) -> Any:
    from kompono.spatial.rotation import quaternion_matrix

    return quaternion_matrix(ca.DM(q))


def test_a_round_cam_is_a_round_cam() -> None:
    point = np.array([0.35, -0.31, 0.2])
    pose = Pose.constant(point)
    apart = np.hypot(point[0] - OFF, point[1]) - EDGE
    roller = pair(PAIRS["roller on cam"]).units(_still(pose))[0].gap
    assert float(ca.DM(ca.evalf(roller))) == pytest.approx(apart - 0.1, abs=1e-14)


@pytest.mark.parametrize("name", ["wheel on profile", "sphere on hills"])
def test_the_nearest_point_is_the_nearest(name: str) -> None:
    pose = Pose.constant((0.3, 0.2, 0.25))
    gap = float(ca.DM(ca.evalf(pair(PAIRS[name]).units(_still(pose))[0].gap)))
    x, y = np.meshgrid(np.linspace(-0.5, 1.0, 1501), np.linspace(-0.5, 1.0, 1501))
    z = 0.1 * np.sin(3 * x) * (np.cos(2 * y) if name == "sphere on hills" else 1)
    y = y if name == "sphere on hills" else 0.2 + 0 * y
    assert gap == pytest.approx(np.sqrt((x - 0.3) ** 2 + (y - 0.2) ** 2 + (z - 0.25) ** 2).min() - 0.1, abs=1e-5)


def _still(pose: Pose) -> Any:
    from kompono.spatial.pose import Motion

    return Motion(pose.position, pose.rotation, ca.DM.zeros(3), ca.DM.zeros(3))


class Adrift(Subsystem):
    """Two bodies in space that meet, rub and part."""

    def __init__(self, kind: str, mu: float = 0.3, e: float = 0.5) -> None:
        self.first = Body(mass=1.3, inertia=(0.02, 0.03, 0.04), start_angular_velocity=(1, 2, -1))
        self.second = Body(
            mass=0.7, inertia=(0.01, 0.02, 0.025), start_position=(0.02, 0.03, 0.6), start_velocity=(0.2, -0.1, -2.0),
            start_angular_velocity=(3, -4, 5),
        )  # fmt: skip
        surfaces = {
            "spheres": (self.first.sphere(0.2), self.second.at(0, 0, 0.02).sphere(0.15)),
            "box": (self.first.at(0, 0, 0.1).plane(), self.second.corners((0.2, 0.3, 0.1))),
            "roller": (self.first.curve(eccentric, "x"), self.second.sphere(0.1)),
        }
        self.touch = Contact(*surfaces[kind], mu=mu, restitution=e)


@pytest.mark.parametrize("kind", ["spheres", "box", "roller"])
def test_momentum_stays_and_energy_never_grows(kind: str) -> None:
    result = simulate(Adrift(kind), until=0.6, step=5e-4, progress=False)
    assert result.status.ok, result.status.message
    assert times(result, "strikes")
    linear, angular = _momentum(result, "first", 1.3, (0.02, 0.03, 0.04))
    more = _momentum(result, "second", 0.7, (0.01, 0.02, 0.025))
    assert np.ptp(linear + more[0], axis=0).max() < 1e-10  # of the method, which turns bodies
    assert np.ptp(angular + more[1], axis=0).max() < 1e-10
    assert np.diff(result["energy.total"]).max() < 1e-8


def _momentum(result: Any, name: str, mass: float, inertia: tuple[float, ...]) -> tuple[np.ndarray, np.ndarray]:
    def read(kind: str, parts: str = "xyz") -> np.ndarray:
        return np.column_stack([result[f"{name}.{kind}.{part}"] for part in parts])

    turns = np.column_stack([result[f"{name}.orientation.e{k}"] for k in range(4)])
    velocity, spin = read("velocity"), read("angular_velocity")
    own = []
    for q, w in zip(turns, spin, strict=True):
        turned = np.array(_matrix(q))
        own.append(turned @ (np.array(inertia) * (turned.T @ w)))
    return mass * velocity, mass * np.cross(read("position"), velocity) + np.array(own)


class InABore(Subsystem):
    """A particle in a smooth round bore, or on a rod that turns: the same motion."""

    def __init__(self, kind: str) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.bead = Body(mass=0.4, inertia=(1e-12,) * 3, start_position=(0.5 * np.sin(1.2), 0, -0.5 * np.cos(1.2)))
        if kind == "rod":
            self.pin = Revolute(self.ground, self.bead.at(0, 0, 0.5), axis="y", angle=-1.2)
        elif kind == "bore":
            self.wall = Contact(self.ground.cylinder(0.5, "y", inside=True), self.bead.point())
        else:
            self.wall = Contact(self.ground.sphere(0.6, inside=True), self.bead.sphere(0.1))


@pytest.mark.parametrize("kind", ["bore", "bowl"])
def test_a_bead_in_a_bore_is_a_pendulum(kind: str) -> None:
    found, known = (simulate(InABore(k), until=2.0, step=1e-3, progress=False) for k in (kind, "rod"))
    assert found.status.ok, found.status.message
    assert np.abs(found["bead.position.x"] - known["bead.position.x"]).max() < 2e-9


class CamDrive(Subsystem):
    """A follower on a cam that turns too fast for it."""

    def __init__(self, speed: float) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.cam = Ground(orientation=rotation("y", speed * time))
        self.follower = Body(solids.sphere(mass=0.2, radius=0.01))
        start = float(eccentric(ca.DM(np.pi)))
        self.guide = Prismatic(self.ground, self.follower, axis="z", displacement=start)
        self.touch = Contact(self.cam.curve(lambda phi: eccentric(phi - np.pi), "y"), self.follower.point())


def test_a_follower_leaves_its_cam_where_gravity_is_too_weak() -> None:
    speed = 11.0
    result = simulate(CamDrive(speed), until=0.28, step=5e-4, progress=False)
    phi = ca.SX.sym("phi")
    height = eccentric(-phi - np.pi)  # over the axis, when the cam has turned by phi
    rise = ca.Function("rise", [phi], [ca.hessian(height, phi)[0] * speed**2 + 9.81])
    low, high = 0.0, np.pi
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if float(rise(middle)) > 0 else (low, middle)
    assert times(result, "opens")[0] == pytest.approx(low / speed, abs=1e-9)


MISTAKES: list[tuple[Callable[[Body, Body], Any], str]] = [
    (lambda a, b: Contact(a, b.plane()), "not a surface"),
    (lambda a, b: Contact(a.plane(), b.plane()), "no contact between plane"),
    (lambda a, b: Contact(a.height(hills), b.circle(0.2)), "no meshes"),
    (lambda a, b: Contact(a.sphere(1.0, inside=True), b.sphere(0.1, inside=True)), "the inside of sphere"),
    (lambda a, b: a.sphere(0.0), "not positive"),
    (lambda a, b: a.circle(-1.0), "not positive"),
    (lambda a, b: a.corners(), "how large"),
    (lambda a, b: a.corners((1, -1, 1)), "negative edge"),
    (lambda a, b: a.curve(0.3), "not a function"),
    (lambda a, b: a.profile(wave, "x", "x"), "rises across"),
    (lambda a, b: Contact(a.plane(), b.point(), mu=-0.1), "mu -0.1 is negative"),
    (lambda a, b: Contact(a.plane(), b.point(), restitution=1.5), "not between 0 and 1"),
    (lambda a, b: Contact(a.plane(), b.point(), mu=0.5, mu_static=0.4), "below mu"),
]


@pytest.mark.parametrize(("wrong", "message"), MISTAKES)
def test_mistakes_are_told(wrong: Callable[[Body, Body], Any], message: str) -> None:
    first, second = (Body(mass=1.0, inertia=(1, 1, 1)) for _ in range(2))
    with pytest.raises(ModelError, match=message):
        wrong(first, second)


def test_what_overlaps_at_the_start_is_named() -> None:
    class Sunk(Subsystem):
        def __init__(self) -> None:
            self.ground, self.ball = Ground(), Body(solids.sphere(mass=1.0, radius=0.1))
            self.floor = Contact(self.ground.plane(), self.ball.sphere(0.1))

    with pytest.raises(Exception, match=r"floor: the gap is -0\.1"):
        simulate(Sunk(), until=0.1, progress=False)


@pytest.mark.parametrize("engine", ["relative", "absolute"])
def test_what_joints_hold_bears_nothing_and_that_is_told(engine: str) -> None:
    class Guided(Subsystem):
        def __init__(self, axis: str) -> None:
            self.floor, self.gravity = Ground(), Gravity()
            self.block = Body(mass=1.0, inertia=(1, 1, 1))
            self.rail = Prismatic(self.floor, self.block, axis=axis)
            self.feet = Contact(self.floor.plane(), self.block.points((1, 0, 0), (-1, 0, 0)), mu=0.3)

    with pytest.warns(match=r"feet\.0, feet\.1: joints or drives hold what touches"):
        simulate(Guided("x"), until=0.01, engine=engine)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        simulate(Guided("z"), until=0.01, engine=engine)
