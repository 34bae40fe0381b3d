"""Machines as new users write them, against answers by hand or by SciPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

from kompono import Body, Ground, Parameter, Result, Subsystem, rotation, simulate, time
from kompono.library import (
    AppliedLoad,
    Contact,
    Drive,
    DryFriction,
    Gravity,
    JointEffort,
    Planar,
    Prismatic,
    Revolute,
    solids,
)

G = 9.81
Events = list[tuple[float, str]]


def run(model: Subsystem, until: float, **options: Any) -> Result:
    return simulate(model, until=until, step=1e-3, progress=False, **options).check()


def events(result: Result) -> Events:
    return result.statistics["events"]


class Wedge(Subsystem):
    """A wedge on a dry guide is pushed under a block that is guided upwards; the faces rub, too."""

    ANGLE, MU, WEDGE, BLOCK = 0.2, 0.1, 1.0, 5.0

    def __init__(self) -> None:
        self.ground, self.gravity, self.push = Ground(), Gravity(), Parameter(0.0)
        self.wedge, self.block = (Body(mass=m, inertia=(0.01,) * 3) for m in (self.WEDGE, self.BLOCK))
        self.guide = Prismatic(self.ground, self.wedge, axis="x")
        self.lift = Prismatic(self.ground, self.block, axis="z")
        slope = self.wedge.at((0, 0, 0), orientation=rotation("y", -self.ANGLE))
        self.face = Contact(slope.plane(), self.block.point(), mu=self.MU)
        self.floor = DryFriction(self.guide, mu=self.MU)
        self.hand = JointEffort(self.guide, self.push)

    def acceleration(self, push: float) -> float:
        """Of the wedge: of the two ways it may go the one that fits, or none."""
        a, mu, m, block = self.ANGLE, self.MU, self.WEDGE, self.BLOCK
        normal, along = np.array([-np.sin(a), np.cos(a)]), np.array([np.cos(a), np.sin(a)])
        rise = normal[0] / normal[1]
        for way in (1.0, -1.0):
            force = normal - mu * np.sign((along[1] * rise - along[0]) * way) * along
            matrix = [[block * rise, -force[1]], [m, force[0] + mu * force[1] * way]]
            found, pressed = np.linalg.solve(matrix, [-block * G, push - mu * m * G * way])
            if pressed > 0 and found * way > 0:
                return float(found)
        return 0.0


@pytest.mark.parametrize("push", [20.0, -30.0, 8.0, 0.0])
def test_a_wedge_drives_a_block_and_locks_itself(push: float) -> None:
    model = Wedge()
    result = run(model, 0.1, parameters={"push": push}, channels=["guide.displacement"])
    assert result["guide.displacement"][-1] == pytest.approx(model.acceleration(push) * 0.005, abs=1e-12)
    assert (model.acceleration(push) == 0.0) == (push == 0.0)


class Tipping(Subsystem):
    """A box is pushed at its top and tips over an edge."""

    def __init__(self) -> None:
        self.ground, self.gravity = Ground(), Gravity((0, -G, 0))
        self.box = Body(mass=2.0, inertia=(1, 1, 2 * (0.1**2 + 0.2**2) / 3))
        self.plane = Planar(self.ground, self.box, y=0.2)
        self.feet = Contact(self.ground.plane("y"), self.box.corners((0.2, 0.4, 0)), mu=2.0)
        self.push = AppliedLoad(self.box.at(0, 0.2, 0), force=(7.0, 0, 0))


def test_a_box_tips_over_its_edge() -> None:
    def rate(_: float, y: np.ndarray) -> list[float]:
        up, aside = 0.4 * np.cos(y[0]) + 0.1 * np.sin(y[0]), 0.1 * np.cos(y[0]) - 0.2 * np.sin(y[0])
        return [y[1], (7.0 * up - 2 * G * aside) / (8 * (0.1**2 + 0.2**2) / 3)]

    exact = solve_ivp(rate, (0, 0.4), [0, 0], rtol=1e-12, atol=1e-13).y[0, -1]
    assert run(Tipping(), 0.4)["plane.angle"][-1] == pytest.approx(-exact, abs=1e-10)


class Groove(Subsystem):
    """A ball slides along a groove of two planes until it rolls on both."""

    def __init__(self) -> None:
        self.ground, self.gravity, lean = Ground(), Gravity(), np.pi / 4
        self.ball = Body(
            solids.sphere(mass=1.0, radius=0.1), start_position=(0, 0, 0.1 / np.cos(lean)), start_velocity=(1, 0, 0)
        )
        for name, turn in (("left", lean), ("right", -lean)):
            plane = self.ground.at((0, 0, 0), orientation=rotation("x", turn)).plane()
            setattr(self, name, Contact(plane, self.ball.sphere(0.1), mu=0.3))


@pytest.mark.parametrize("engine", ["relative", "absolute"])
def test_a_ball_in_a_groove(engine: str) -> None:
    result = run(Groove(), 0.3, engine=engine)
    force, arm = 2 * 0.3 * G / (2 * np.cos(np.pi / 4)), 0.1 * np.cos(np.pi / 4)
    when = 1.0 / (force + force * arm**2 / (0.4 * 0.1**2))
    assert [name for _, name in events(result)[-2:]] == ["left.sticks", "right.sticks"]
    assert events(result)[-1][0] == pytest.approx(when, abs=1e-11)
    assert result["ball.velocity.x"][-1] == pytest.approx(1.0 - force * when, abs=1e-12)
    assert abs(result["ball.position.y"][-1]) < 1e-15


class Cam(Subsystem):
    """A flat follower on an eccentric disc that turns too fast to keep it."""

    def __init__(self) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.cam, self.follower = Body(mass=1.0, inertia=(1.0,) * 3), Body(solids.point(mass=0.5))
        self.shaft = Revolute(self.ground, self.cam, axis="y", angle_rate=25.0)
        self.drive = Drive(self.shaft, 25.0 * time)
        self.guide = Prismatic(self.ground, self.follower, axis="z", displacement=0.05)
        face = self.follower.at((0, 0, 0), orientation=rotation("x", np.pi)).plane()
        self.touch = Contact(face, self.cam.at(0.02, 0, 0).sphere(0.05))


def test_a_cam_throws_its_follower() -> None:
    """It falls behind the cam at the start already, lands, leaves where the cam falls with g, and lands again."""
    w, e = 25.0, 0.02
    left = (np.pi + np.arcsin(G / (e * w * w))) / w

    def apart(t: float) -> float:
        height, speed = -e * np.sin(w * left), -e * w * np.cos(w * left)
        return height + speed * (t - left) - G / 2 * (t - left) ** 2 + e * np.sin(w * t)

    wanted = [brentq(lambda t: -G / 2 * t * t + e * np.sin(w * t), 0.01, 0.1), left, brentq(apart, left + 0.02, 0.4)]
    found = [when for when, name in events(run(Cam(), 0.3)) if not name.endswith("closes")]
    assert found == pytest.approx(wanted, abs=1e-10)


class Dragged(Subsystem):
    """A mass with falling friction is dragged by a spring."""

    def __init__(self) -> None:
        self.ground, self.gravity, self.mass = Ground(), Gravity(), Body(solids.point(mass=1.0))
        self.slide = Prismatic(self.ground, self.mass, axis="x")
        self.spring = JointEffort(self.slide, 50 * (0.1 * time - self.slide.displacement))
        self.dry = DryFriction(self.slide, mu=0.2, mu_static=0.3, stribeck=0.05)


def test_stick_and_slip_with_falling_friction() -> None:
    def rate(t: float, y: np.ndarray) -> list[float]:
        return [y[1], 50 * (0.1 * t - y[0]) - G * (0.2 + 0.1 * np.exp(-((y[1] / 0.05) ** 2)))]

    stops: Callable[..., float] = lambda _, y: y[1]  # noqa: E731
    stops.direction, stops.terminal = -1.0, True  # type: ignore[attr-defined]
    place, wanted = 0.0, []
    while True:
        wanted.append((0.3 * G / 50 + place) / 0.1)
        slid = solve_ivp(rate, (wanted[-1], 6.0), [place, 1e-14], rtol=1e-12, atol=1e-14, events=stops, max_step=0.01)
        if not slid.t_events[0].size:
            break
        wanted.append(slid.t[-1])
        place = slid.y[0, -1]
    result = run(Dragged(), 4.0)
    found = [when for when, _ in events(result)]
    assert found == pytest.approx([when for when in wanted if when < 4.0], abs=1e-9)
