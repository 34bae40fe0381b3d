"""Machines with exact answers, each built in a frame of its own and in any order of declaration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
from scipy.integrate import quad
from scipy.optimize import brentq

from kompono import Body, Event, Ground, Mode, PairLaw, Result, Subsystem, Unit, rotation, time
from kompono.library import (
    Brake,
    Contact,
    Drive,
    DryFriction,
    Gear,
    Gravity,
    JointEffort,
    Planar,
    Prismatic,
    Revolute,
)  # fmt: skip
from kompono.spatial.numeric import quaternions

G = 9.81
Errors = dict[str, float]
Problem = tuple[float, Callable[[Result], Errors]]  # how long it runs [s], and how far a result is off


class Plan:
    """Elements by name, in a world that is turned; `made` puts them in a model in a random order."""

    def __init__(self, turn: np.ndarray) -> None:
        self.turn, self.elements = turn, {}
        self.ground = self.add("ground", Ground(orientation=turn))

    def add(self, name: str, element: Any) -> Any:
        self.elements[name] = element
        return element

    def gravity(self, *way: float) -> None:
        self.add("gravity", Gravity(self.vector(*way)))

    def vector(self, *parts: float) -> tuple[float, ...]:
        return tuple(self.turn @ np.array(parts, dtype=float))

    def body(self, name: str, mass: float, inertia: float, place: Any = None, **start: Any) -> Body:
        given = {f"start_{kind}": self.vector(*value) for kind, value in start.items()}
        if place is not None:
            given |= {"start_position": self.vector(*place), "start_orientation": quaternions(self.turn[None])[0]}
        return self.add(name, Body(mass=mass, inertia=(inertia,) * 3, **given))

    def ball(self, mass: float, radius: float, place: Any, **start: Any) -> Body:
        return self.body("ball", mass, 0.4 * mass * radius**2, place, **start)

    def seen(self, result: Result, body: str, kind: str = "position") -> np.ndarray:
        """The last value of a vector of a body, in the axes of the ground."""
        return self.turn.T @ np.array([result[f"{body}.{kind}.{axis}"][-1] for axis in "xyz"])

    def made(self, seed: int) -> Subsystem:
        model, names = Subsystem(), list(self.elements)
        for name in np.random.default_rng(seed).permutation(names):
            model.add(str(name), self.elements[str(name)])
        return model


def when(result: Result, name: str, number: int = 0) -> float:
    """The time of an event."""
    return [t for t, other in result.statistics["events"] if other == name][number]


def groove(plan: Plan) -> Problem:
    """A ball rolls down a groove of 90 degrees: two contacts, six rows, rank five."""
    radius, slope, side = 0.1, 0.4, np.sqrt(0.5)
    plan.gravity(G * np.sin(slope), 0, -G * np.cos(slope))
    ball = plan.ball(0.7, radius, (0, 0, radius / side))
    for name, angle in (("left", -np.pi / 4), ("right", np.pi / 4)):
        flank = plan.ground.at(0, 0, 0, orientation=rotation("x", angle))
        plan.add(name, Contact(flank.plane(), ball.sphere(radius), mu=0.6))
    way = G * np.sin(slope) / (1 + 0.4 / side**2) / 2
    return 1.0, lambda r: {"way": plan.seen(r, "ball")[0] - way, "events": len(r.statistics["events"])}


def conveyor(plan: Plan) -> Problem:
    """A crate on a belt that goes faster and faster sticks until all four feet are at their static limit."""
    mu, static = 0.3, 0.4
    plan.gravity(0, 0, -G)
    belt = plan.body("belt", 5.0, 1.0)
    rail = plan.add("rail", Prismatic(plan.ground, belt, axis="x"))
    plan.add("drive", Drive(rail, time**3))
    crate = plan.body("crate", 2.0, 0.1, (0, 0, 0.1))
    corners = crate.at(0, 0, -0.1).corners((0.4, 0.3, 0))
    plan.add("feet", Contact(belt.plane(), corners, mu=mu, mu_static=static))
    slips = static * G / 6
    rest = 1.0 - slips
    way = slips**3 + 3 * slips**2 * rest + mu * G * rest**2 / 2

    def check(r: Result) -> Errors:
        return {"slips": when(r, "feet.0.slips") - slips, "way": plan.seen(r, "crate")[0] - way}

    return 1.0, check


def superball(plan: Plan) -> Problem:
    """A ball with spin bounces on a rough floor, slips at first and grips later."""
    radius, mu, e, v, w = 0.05, 0.15, 0.9, 1.0, -100.0
    plan.gravity(0, 0, -G)
    ball = plan.ball(0.1, radius, (0, 0, radius + 1.0), velocity=(v, 0, 0), angular_velocity=(0, w, 0))
    plan.add("floor", Contact(plan.ground.plane(), ball.sphere(radius), mu=mu, restitution=e))
    t, way, times = np.sqrt(2 / G), v * np.sqrt(2 / G), []
    speed = G * t
    for _ in range(4):
        times.append(t)
        slip = v - radius * w
        impulse = np.sign(slip) * min(mu * (1 + e) * speed, abs(slip) / 3.5)
        v, w, speed = v - impulse, w + impulse / (0.4 * radius), e * speed
        t, way = t + 2 * speed / G, way + 2 * v * speed / G

    def check(r: Result) -> Errors:
        found = {f"strike {k}": when(r, "floor.strikes", k) - times[k] for k in range(4)}
        return found | {"way": plan.seen(r, "ball")[0] - (way - 0.01 * v)}

    return t - 0.01, check


def loop(plan: Plan) -> Problem:
    """A particle in a vertical loop is too slow, falls off and comes back to it."""
    v = np.sqrt(4 * G)
    plan.gravity(0, -G, 0)
    bead = plan.body("bead", 1.0, 0.1)
    plan.add("plane", Planar(plan.ground, bead, x=0.0, y=-1.0, x_rate=v))
    plan.add("ring", Contact(plan.ground.cylinder(1.0, axis="z", inside=True), bead.point()))
    return _falls(v, "ring")


def rope(plan: Plan) -> Problem:
    """The same on a rope, which is a law of two lines."""

    class Rope(PairLaw):
        def units(self, motion: Any) -> Unit:
            return Unit(gap=1.0 - ca.norm_2(motion.position))

    v = np.sqrt(3.5 * G)
    plan.gravity(0, -G, 0)
    bead = plan.body("bead", 1.0, 0.1)
    plan.add("plane", Planar(plan.ground, bead, x=0.0, y=-1.0, x_rate=v))
    plan.add("rope", Rope(plan.ground, bead))
    return _falls(v, "rope")


def _falls(v: float, law: str) -> Problem:
    height = (v**2 - 2 * G) / (3 * G)
    angle = np.pi - np.arccos(height)
    leaves = quad(lambda a: 1 / np.sqrt(v**2 - 2 * G * (1 - np.cos(a))), 0, angle, epsabs=1e-13)[0]
    x, y, s = np.sin(angle), -np.cos(angle), np.sqrt(G * height)
    back = brentq(
        lambda t: (x + s * np.cos(angle) * t) ** 2 + (y + s * np.sin(angle) * t - G * t * t / 2) ** 2 - 1, 0.05, 2
    )
    strikes = leaves + float(back)
    return strikes + 0.01, lambda r: {
        "leaves": when(r, f"{law}.opens") - leaves, "strikes": when(r, f"{law}.strikes") - strikes,
    }  # fmt: skip


def cam(plan: Plan) -> Problem:
    """A flat follower leaves an eccentric disc that turns too fast, and comes back."""
    e, w, k, push, mass, radius = 0.02, 40.0, 200.0, 10.0, 0.5, 0.05
    disc, follower = plan.body("disc", 1.0, 0.1), plan.body("follower", mass, 0.1)
    shaft = plan.add("shaft", Revolute(plan.ground, disc, axis="z", angle=np.pi))
    plan.add("drive", Drive(shaft, np.pi + w * time))
    slide = plan.add("slide", Prismatic(plan.ground, follower, axis="x", displacement=radius - e))
    plan.add("spring", JointEffort(slide, -push - k * (slide.displacement - radius)))
    face = follower.at(0, 0, 0, orientation=rotation("y", -np.pi / 2))
    plan.add("contact", Contact(face.plane(), disc.at(e, 0, 0).circle(radius, axis="z")))
    leaves = (np.pi - np.arccos(push / ((mass * w**2 - k) * e))) / w
    own = np.sqrt(k / mass)
    x, v = -e * np.cos(w * leaves) + push / k, e * w * np.sin(w * leaves)

    def gap(t: float) -> float:
        free = x * np.cos(own * (t - leaves)) + v / own * np.sin(own * (t - leaves)) - push / k
        return free + e * np.cos(w * t)

    strikes = float(brentq(gap, leaves + 0.02, leaves + 0.2))
    assert all(gap(t) > 0 for t in np.linspace(leaves + 1e-3, strikes - 1e-9, 200))
    return strikes + 1e-3, lambda r: {
        "leaves": when(r, "contact.opens") - leaves, "strikes": when(r, "contact.strikes", -1) - strikes,
    }  # fmt: skip


def rollers(plan: Plan) -> Problem:
    """A plank on two rollers that turn towards each other swings as on a spring."""
    mu, apart, radius, x = 0.25, 0.4, 0.1, 0.15
    plan.gravity(0, -G, 0)
    plank = plan.body("plank", 2.0, 0.2)
    plan.add("plane", Planar(plan.ground, plank, x=x, y=0.0))
    side = plank.at(0, 0, 0, orientation=rotation("x", np.pi / 2))
    for name, sign in (("left", -1), ("right", 1)):
        roller = plan.body(name, 1.0, 0.1)
        shaft = plan.add(f"{name}_shaft", Revolute(plan.ground.at(sign * apart, -radius, 0), roller, axis="z"))
        plan.add(f"{name}_drive", Drive(shaft, sign * 50 * time))
        plan.add(f"{name}_contact", Contact(side.plane(), roller.circle(radius, axis="z"), mu=mu))
    there = x * np.cos(np.sqrt(mu * G / apart))
    return 1.0, lambda r: {"x": r["plane.x"][-1] - there, "events": len(r.statistics["events"])}


def play(plan: Plan) -> Problem:
    """A gear with play is driven forwards, then backwards: each flank is struck once."""
    one, two, b = 0.2, 1.0, 0.1
    first, second = plan.body("first", 1.0, one), plan.body("second", 1.0, two)
    shaft = plan.add("shaft", Revolute(plan.ground, first, axis="z"))
    other = plan.add("other", Revolute(plan.ground.at(1, 0, 0), second, axis="z"))
    plan.add("gear", Gear(shaft, other, ratio=-0.5, backlash=b))
    way = plan.add("way", Mode(1.0))
    plan.add("turn", Event(time - 1.0, {way: -1.0}))
    plan.add("torque", JointEffort(shaft, 1.0 * way))
    both = one + two / 4
    strikes, crosses = np.sqrt(b * one), np.sqrt(2 * b * one)
    speed = strikes / both + (1.0 - strikes) / both
    speed -= crosses / both + (1.0 - crosses) / both
    return 2.0, lambda r: {
        "strikes": when(r, "gear.drive.strikes") - strikes, "crosses": when(r, "gear.coast.strikes") - 1.0 - crosses,
        "speed": r["shaft.angle.rate"][-1] - speed, "other": r["other.angle.rate"][-1] + speed / 2,
    }  # fmt: skip


def oblique(plan: Plan) -> Problem:
    """A ball strikes the slope of a slider on a dry rail: the impulse of the rail brakes it at once."""
    heavy, light, radius, mu, e, v, u, slope = 2.0, 0.5, 0.1, 0.3, 0.4, 1.0, 3.0, 0.6
    nx, nz = np.sin(slope), np.cos(slope)
    slider = plan.body("slider", heavy, 0.1)
    rail = plan.add("rail", Prismatic(plan.ground, slider, axis="x", displacement_rate=v))
    plan.add("friction", DryFriction(rail, mu=mu))
    ball = plan.ball(light, radius, (0.1, 0, 0.5), velocity=(0, 0, -u))
    face = slider.at(0, 0, 0, orientation=rotation("y", slope))
    plan.add("contact", Contact(face.plane(), ball.sphere(radius), restitution=e))
    closing = nx * v + nz * u
    strikes = (nx * 0.1 + nz * 0.5 - radius) / closing
    impulse = (1 + e) * closing / (1 / light + (nx + mu * nz) * nx / heavy)
    return strikes + 1e-3, lambda r: {
        "strikes": when(r, "contact.strikes") - strikes,
        "slider": r["rail.displacement.rate"][-1] - (v - impulse * (nx + mu * nz) / heavy),
        "ball": plan.seen(r, "ball", "velocity")[2] - (impulse * nz / light - u),
    }  # fmt: skip


def fading(plan: Plan) -> Problem:
    """A brake stops a shaft, fades and lets it go."""
    disc = plan.body("disc", 1.0, 1.0)
    shaft = plan.add("shaft", Revolute(plan.ground, disc, axis="z", angle_rate=3.0))
    plan.add("brake", Brake(shaft, limit=5 * ca.exp(-time)))
    plan.add("torque", JointEffort(shaft, 0.5))
    stops = float(brentq(lambda t: 3.0 - 5 * (1 - np.exp(-t)) + 0.5 * t, 0, 1.5, xtol=1e-15))
    goes = np.log(10.0)
    speed = 0.5 * (3 - goes) - 5 * (np.exp(-goes) - np.exp(-3.0))
    return 3.0, lambda r: {
        "stops": when(r, "brake.sticks") - stops, "goes": when(r, "brake.slips", -1) - goes,
        "speed": r["shaft.angle.rate"][-1] - speed,
    }  # fmt: skip


PROBLEMS = (groove, conveyor, superball, loop, rope, cam, rollers, play, oblique, fading)
QUICK = (groove, conveyor, superball, cam, oblique)
