"""Machines with dry friction, clutches, stops and play, whose motion is known exactly or to many digits."""

from __future__ import annotations

import math
from typing import Any

import casadi as ca

from kompono import Body, Event, Ground, Mode, Subsystem, time
from kompono.library import (
    Brake,
    Clutch,
    DryFriction,
    EndStops,
    Gravity,
    JointEffort,
    Prismatic,
    Revolute,
    solids,
)
from kompono.model.law import JointLaw, Unit

G = 9.81


class Oscillator(Subsystem):
    """A mass on a spring that rubs with a given force; also pulled by `pull` [N]."""

    def __init__(self, m: float, k: float, friction: float, x: float = 0.0, v: float = 0.0, pull: Any = 0.0) -> None:
        self.ground = Ground()
        self.mass = Body(solids.point(mass=m))
        self.slide = Prismatic(self.ground, self.mass, axis="x", displacement=x, displacement_rate=v)
        self.spring = JointEffort(self.slide, pull - k * self.slide.displacement)
        self.friction = DryFriction(self.slide, preload=friction)


class Belt(Subsystem):
    """A mass on a moving belt, held by a spring to the ground; it starts stuck to the belt."""

    def __init__(self, m: float, k: float, mu: float, mu_static: float, speed: float) -> None:
        self.belt = Ground(position=(speed * time, 0, 0))
        self.gravity = Gravity()
        self.mass = Body(solids.point(mass=m))
        self.slide = Prismatic(self.belt, self.mass, axis="x")
        self.spring = JointEffort(self.slide, -k * (self.slide.displacement + speed * time))
        self.friction = DryFriction(self.slide, mu=mu, mu_static=mu_static)


class Stacked(Subsystem):
    """Two blocks, one on the other; the lower one is pulled harder and harder."""

    def __init__(self, bottom: float, top: float, mu_ground: float, mu_between: float, rate: float) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.bottom, self.top = Body(solids.point(mass=bottom)), Body(solids.point(mass=top))
        self.lower = Prismatic(self.ground, self.bottom, axis="x")
        self.upper = Prismatic(self.bottom, self.top, axis="x")
        self.pull = JointEffort(self.lower, rate * time)
        self.floor = DryFriction(self.lower, mu=mu_ground)
        self.between = DryFriction(self.upper, mu=mu_between)


class Rattle(Subsystem):
    """A mass between two walls of a box that floats."""

    def __init__(self, box: float, mass: float, gap: float, e: float) -> None:
        self.ground = Ground()
        self.box, self.mass = Body(solids.point(mass=box)), Body(solids.point(mass=mass))
        self.float = Prismatic(self.ground, self.box, axis="x")
        self.inside = Prismatic(self.box, self.mass, axis="x", displacement_rate=1.0)
        self.walls = EndStops(self.inside, -gap / 2, gap / 2, restitution=e)


class Guide(JointLaw):
    """The end of a two-bar chain between two walls."""

    def __init__(self, crank: Revolute, rod: Revolute, l1: float, l2: float, c: float, e: float) -> None:
        super().__init__(crank, rod)
        y = l1 * ca.sin(crank.angle) + l2 * ca.sin(crank.angle + rod.angle)
        self.upper, self.lower, self.e = c - y, c + y, e

    def units(self) -> list[Unit]:
        return [Unit("upper", gap=self.upper, restitution=self.e), Unit("lower", gap=self.lower, restitution=self.e)]


class Clearance(Subsystem):
    """A slider-crank whose slider has play between its walls and does not turn: a point mass at the end of the rod."""

    def __init__(self, p: dict[str, float], v: list[float], e: float) -> None:
        self.ground = Ground()
        self.gravity = Gravity((0, -p["g"], 0))
        l1, l2 = p["l1"], p["l2"]
        mass = p["m2"] + p["m3"]
        centre = (p["m2"] * l2 / 2 + p["m3"] * l2) / mass
        inertia = p["J2"] + p["m2"] * (centre - l2 / 2) ** 2 + p["m3"] * (l2 - centre) ** 2
        self.crank = Body(mass=p["m1"], inertia=(p["J1"],) * 3)
        self.rod = Body(mass=mass, inertia=(inertia,) * 3)
        self.bearing = Revolute(self.ground, self.crank.at(-l1 / 2, 0, 0), axis="z", angle_rate=v[0])
        self.pin = Revolute(self.crank.at(l1 / 2, 0, 0), self.rod.at(-centre, 0, 0), axis="z", angle_rate=v[1] - v[0])
        self.walls = Guide(self.bearing, self.pin, l1, l2, p["c"], e)


class DryPin(Subsystem):
    """A pendulum on a pin with friction torque mu r |R|."""

    def __init__(self, m: float, l: float, J: float, r: float, mu: float, theta0: float) -> None:  # noqa: E741
        self.ground, self.gravity = Ground(), Gravity()
        self.bob = Body(mass=m, inertia=(J - m * l * l,) * 3)
        self.pin = Revolute(self.ground, self.bob.at(0, 0, l), axis="y", angle=theta0)
        self.friction = DryFriction(self.pin, mu=mu, radius=r)


class DryGuide(Subsystem):
    """A slider-crank whose slider rubs on its guide with mu |N|."""

    def __init__(self, p: dict[str, Any]) -> None:
        r, l = p["r"], p["l"]  # noqa: E741
        angle, rate = p["start"]["crank"], p["start"]["crank_rate"]
        reach = r * math.cos(angle) + math.sqrt(l * l - (r * math.sin(angle)) ** 2)
        self.ground = Ground()
        self.gravity = Gravity((0, -p["g"], 0))
        self.crank = Body(mass=1.0, inertia=(p["J"],) * 3)
        self.rod = Body(mass=p["m_rod"], inertia=(p["m_rod"] * l * l / 12,) * 3)
        self.slider = Body(solids.point(mass=p["m_slider"]))
        self.bearing = Revolute(self.ground, self.crank, axis="z", angle=angle, angle_rate=rate)
        self.guide = Prismatic(self.ground, self.slider, axis="x", displacement=reach)
        self.big = Revolute(self.crank.at(r, 0, 0), self.rod.at(-l / 2, 0, 0), axis="z")
        self.small = Revolute(self.rod.at(l / 2, 0, 0), self.slider, axis="z")
        self.friction = DryFriction(self.guide, mu=p["mu"])


class Clutches(Subsystem):
    """Three clutches between four shafts; two of them close at 0.4 s and 0.9 s."""

    def __init__(self) -> None:
        self.ground = Ground()
        self.discs = [Body(mass=1.0, inertia=(1.0, 1.0, 1.0)) for _ in range(4)]
        self.shafts = [
            Revolute(self.ground, disc, axis="x", angle_rate=10.0 * (k == 0)) for k, disc in enumerate(self.discs)
        ]
        self.closed = [Mode(0), Mode(0)]
        self.closing = [Event(time - at, {mode: 1}) for at, mode in zip((0.4, 0.9), self.closed, strict=True)]
        self.motor = JointEffort(self.shafts[0], 10 * ca.sin(10 * ca.pi * time))
        pressed = (20 * ca.cos(0.4 * ca.pi * time), 20 * self.closed[0], 20 * self.closed[1])
        self.clutches = [
            Clutch(a, b, normal=force, mu=0.5, mu_static=0.55)
            for a, b, force in zip(self.shafts, self.shafts[1:], pressed, strict=False)
        ]


class Braked(Subsystem):
    """A mass that slides and is braked with 1 N from 0.1 s on."""

    def __init__(self) -> None:
        self.ground = Ground()
        self.mass = Body(solids.point(mass=1.0))
        self.slide = Prismatic(self.ground, self.mass, axis="x", displacement_rate=1.0)
        self.pressed = Mode(0)
        self.press = Event(time - 0.1, {self.pressed: 1})
        self.brake = Brake(self.slide, normal=self.pressed, mu=1.0)
