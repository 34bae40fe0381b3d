"""Machines that touch: one for each of the problems with known answers, written as a user would."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

from kompono import Body, Ground, Subsystem, rotation, time
from kompono.library import AppliedLoad, Contact, Gravity, Planar, Prismatic, Rolling, solids

G = 9.81
DATA = Path(__file__).parents[3] / "shared" / "reference" / "data" / "nonsmooth"


def reference(name: str) -> dict[str, Any] | None:
    """A file of reference answers with numbers as floats; None where there are none."""
    path = DATA / f"{name}.json"
    return _floats(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else None


def _floats(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _floats(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_floats(entry) for entry in value]
    try:
        return float(value)
    except (TypeError, ValueError):
        return value


def times(result: Any, ending: str) -> list[float]:
    """When events of a name happened."""
    return [t for t, name in result.statistics["events"] if name.endswith(ending)]


class Ball(Subsystem):
    """A ball above a floor."""

    def __init__(
        self, height: float = 1.0, e: float = 0.8, mu: float = 0.0, velocity: Any = (0, 0, 0), spin: Any = (0, 0, 0)
    ) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.ball = Body(
            solids.sphere(mass=1.0, radius=0.1), start_position=(0, 0, 0.1 + height), start_velocity=velocity,
            start_angular_velocity=spin,
        )  # fmt: skip
        self.floor = Contact(self.ground.plane(), self.ball.sphere(0.1), mu=mu, restitution=e)


class Brick(Subsystem):
    """A box on an incline about y, moving down it by `speed`."""

    def __init__(self, slope: float, mu: float, speed: float = 0.0, turned: bool = False) -> None:
        turn = rotation("y", slope)
        along, up = np.array([np.cos(slope), 0, -np.sin(slope)]), np.array([np.sin(slope), 0, np.cos(slope)])
        self.ground, self.gravity = Ground(orientation=turn), Gravity()
        self.brick = Body(
            solids.box(mass=2.0, size=(0.2, 0.1, 0.05)), start_position=0.025 * up, start_velocity=speed * along,
            start_orientation=turn,
        )  # fmt: skip
        surfaces = (self.ground.plane(), self.brick.corners())
        self.feet = Contact(*(surfaces[::-1] if turned else surfaces), mu=mu)


class Flat(Subsystem):
    """What moves in the plane x, y under gravity along -y."""

    def __init__(self) -> None:
        self.ground, self.gravity = Ground(), Gravity((0, -G, 0))


class Ladder(Flat):
    """A rod of length 2 against a smooth wall, on a smooth floor."""

    def __init__(self, angle: float, swapped: bool = False) -> None:
        super().__init__()
        self.rod = Body(solids.rod(mass=3.0, length=2.0, axis="x"))
        start = {"x": np.cos(angle), "y": np.sin(angle), "angle": -angle}
        if swapped:
            self.wall = Contact(self.ground.plane("x"), self.rod.at(-1, 0, 0).point())
        self.floor = Contact(self.ground.plane("y"), self.rod.at(1, 0, 0).point())
        if not swapped:
            self.wall = Contact(self.ground.plane("x"), self.rod.at(-1, 0, 0).point())
        self.plane = Planar(self.ground, self.rod, **start)


class OffASphere(Subsystem):
    """A particle on top of a smooth sphere above a floor."""

    def __init__(self, radius: float, speed: float) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.particle = Body(
            mass=1.0, inertia=(1e-3,) * 3, start_position=(0, 0, 2 * radius), start_velocity=(speed, 0, 0)
        )
        self.sphere = Contact(self.ground.at(0, 0, radius).sphere(radius), self.particle.point())
        self.floor = Contact(self.ground.plane(), self.particle.point())


class Rocking(Flat):
    """A block that rocks on its edges."""

    def __init__(self, half_width: float, half_height: float, angle: float) -> None:
        super().__init__()
        b, h = half_width, half_height
        self.block = Body(mass=2.0, inertia=(1.0, 1.0, 2.0 * (b * b + h * h) / 3))
        x = b * np.cos(angle) - h * np.sin(angle)
        y = b * np.sin(angle) + h * np.cos(angle)
        self.plane = Planar(self.ground, self.block, x=x, y=y, angle=angle)
        self.feet = Contact(self.ground.plane("y"), self.block.corners((2 * b, 2 * h, 0)), mu=5.0)


class Row(Subsystem):
    """Equal balls on a rail, the first moving; gaps between them are `gap`."""

    def __init__(self, count: int, e: float, gap: float) -> None:
        self.ground = Ground()
        previous = None
        for k in range(count):
            ball = Body(solids.sphere(mass=0.3, radius=0.05))
            setattr(self, f"ball{k}", ball)
            speed = {"displacement_rate": 1.0} if k == 0 else {}
            setattr(self, f"rail{k}", Prismatic(self.ground, ball, axis="x", displacement=k * (0.1 + gap), **speed))
            if previous is not None:
                contact = Contact(previous.sphere(0.05), ball.sphere(0.05), restitution=e)
                setattr(self, f"hit{k}", contact)
            previous = ball


class Shaken(Subsystem):
    """A ball that has just left a table which moves as A sin(w t + phase)."""

    def __init__(self, a: float, w: float, e: float, phase: float, speed: float) -> None:
        self.ground, self.gravity = Ground(position=(0, 0, a * ca.sin(w * time + phase))), Gravity()
        self.ball = Body(mass=0.2, inertia=(1e-4,) * 3)
        self.world = Ground()
        self.slide = Prismatic(self.world, self.ball, axis="z", displacement=a * np.sin(phase), displacement_rate=speed)
        self.table = Contact(self.ground.plane(), self.ball.point(), restitution=e)


class Pulled(Flat):
    """A box on two feet, pulled at a height."""

    def __init__(self, p: dict[str, float], height: float, pull: float) -> None:
        super().__init__()
        w, h, m = p["width"], p["height"], p["m"]
        self.box = Body(mass=m, inertia=(1.0, 1.0, m * (w * w + h * h) / 12))
        self.plane = Planar(self.ground, self.box, y=h / 2)
        self.front = Contact(self.ground.plane("y"), self.box.at(w / 2, -h / 2, 0).point(), mu=p["mu"])
        self.rear = Contact(self.ground.plane("y"), self.box.at(-w / 2, -h / 2, 0).point(), mu=p["mu"])
        self.rope = AppliedLoad(self.box.at(0, height - h / 2, 0), force=(pull, 0, 0))


class Rod(Flat):
    """Painleve's rod of half length 1, its tip sliding with a speed."""

    def __init__(self, theta: float, mu: Any, omega: float = 0.0, tip_speed: float = -2.0) -> None:
        super().__init__()
        self.rod = Body(mass=1.0, inertia=(1.0, 1.0, 1 / 3))
        self.plane = Planar(
            self.ground, self.rod, x=np.cos(theta), y=np.sin(theta), angle=theta,
            x_rate=tip_speed - omega * np.sin(theta), y_rate=omega * np.cos(theta), angle_rate=omega,
        )  # fmt: skip
        self.tip = Contact(self.ground.plane("y"), self.rod.at(-1, 0, 0).point(), mu=mu)
        self.end = Contact(self.ground.plane("y"), self.rod.at(1, 0, 0).point(), mu=mu)


class BallOffSphere(Subsystem):
    """A ball that rolls, slips and leaves a fixed sphere."""

    def __init__(self, sphere: float, ball: float, mu: float, theta: float, bent: bool = False) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        reach = sphere + ball
        place = (reach * np.sin(theta), 0, reach * np.cos(theta))
        self.ball = Body(solids.sphere(mass=0.5, radius=ball), start_position=place)
        self.touch = Contact(self.ground.sphere(sphere), self.ball.sphere(ball), mu=mu)


class Top(Subsystem):
    """A tippe top: a ball of radius R whose centre lies above the centre of mass, with dry friction."""

    def __init__(self, radius: float = 0.02, offset: float = 0.003, mu: float = 0.3, spin: float = 100.0) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        m, tilt = 0.006, 0.1
        ball = 0.4 * m * radius**2
        self.top = Body(
            mass=m, inertia=(1.2 * ball, 1.2 * ball, ball), start_orientation=rotation("y", tilt),
            start_position=(-offset * np.sin(tilt), 0, radius - offset * np.cos(tilt)),
            start_angular_velocity=(spin * np.sin(tilt), 0, spin * np.cos(tilt)),
        )  # fmt: skip
        self.touch = Contact(self.ground.plane(), self.top.at(0, 0, offset).sphere(radius), mu=mu)


class Table(Subsystem):
    """A table on four legs, one more than it needs."""

    def __init__(self, mu: float = 0.4, order: tuple[int, ...] = (0, 1, 2, 3), load: float = 0.0) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.table = Body(solids.box(mass=12.0, size=(1.2, 0.8, 0.1)), start_position=(0, 0, 0.7))
        legs = [(x, y, -0.7) for x in (-0.5, 0.5) for y in (-0.3, 0.3)]
        for k in order:
            setattr(self, f"leg{k}", Contact(self.ground.plane(), self.table.at(*legs[k]).point(), mu=mu))
        self.push = AppliedLoad(self.table, force=(load, 0, 0))


def normals(model: Subsystem) -> dict[str, float]:
    """Normal forces [N] of closed contacts at the start, by path."""
    from kompono.request import Request
    from kompono.simulation import Simulation

    simulation = Simulation.of(model, Request())
    values, feed = simulation.parameters(None), simulation.feed(None)
    state = simulation.started(simulation.assemble(None, parameters=values, feed=feed).state, values, feed)
    (guards, *_) = simulation.kernel.evaluate("guards", 0.0, state, feed.at(0.0), values)
    units = [unit for unit in simulation.program.laws if unit.kind == 0]
    return {unit.path: -float(guards[unit.guard]) for unit in units}


class Disc(Subsystem):
    """A thin disc of radius 0.1 that rolls on a circle of radius 0.3, leaning by 60 degrees, steadily."""

    precession, spin = 3.8231235804788593765, -11.469370741436578130

    def __init__(self, rolling: bool = False) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        axis = np.array([np.sin(np.pi / 3), 0, np.cos(np.pi / 3)])
        up = np.array([-np.cos(np.pi / 3), 0, np.sin(np.pi / 3)])
        turn = np.column_stack([up, np.cross(axis, up), axis])
        omega = np.array([0, 0, self.precession]) + self.spin * axis
        self.disc = Body(
            mass=1.0, inertia=(0.0025, 0.0025, 0.005), start_position=np.array([0.3, 0, 0]) + 0.1 * up,
            start_orientation=turn, start_velocity=np.cross(omega, 0.1 * up), start_angular_velocity=omega,
        )  # fmt: skip
        if rolling:
            self.roll = Rolling(self.ground, self.disc, radius=0.1, axis="z")
        else:
            self.rim = Contact(self.ground.plane(), self.disc.circle(0.1, "z"), mu=0.9)
