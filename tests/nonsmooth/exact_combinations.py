"""More machines with exact answers: laws that meet others, in any frame and order of declaration."""

from __future__ import annotations

import casadi as ca
import numpy as np
from nonsmooth.exact_machines import Errors, G, Plan, Problem, when
from scipy.integrate import quad
from scipy.optimize import brentq

from kompono import Event, JointLaw, Mode, Result, Unit, time
from kompono.library import (
    Brake,
    Clutch,
    Contact,
    Cylindrical,
    Drive,
    DryFriction,
    FreeWheel,
    Gear,
    JointEffort,
    Planar,
    Prismatic,
    Revolute,
)  # fmt: skip


def shaft(plan: Plan, name: str, inertia: float, speed: float = 0.0) -> Revolute:
    """A rotor in a bearing of the ground."""
    rotor = plan.body(f"rotor_{name}", 1.0, inertia)
    return plan.add(name, Revolute(plan.ground, rotor, axis="z", angle_rate=speed))


def engaging_clutch(plan: Plan) -> Problem:
    """A clutch that is pressed harder and harder brings two rotors to one speed."""
    one, other = shaft(plan, "one", 0.08, 50.0), shaft(plan, "other", 0.16, -10.0)
    plan.add("clutch", Clutch(one, other, limit=4 * time))
    end, speed = np.sqrt(30 / (1 / 0.08 + 1 / 0.16)), (0.08 * 50 - 0.16 * 10) / 0.24

    def errors(result: Result) -> Errors:
        late = when(result, "clutch.sticks") - end
        return {
            "end": late,
            "one": result["one.angle.rate"][-1] - speed,
            "other": result["other.angle.rate"][-1] - speed,
        }

    return end + 0.5, errors


def cart_on_a_slope(plan: Plan) -> Problem:
    """A cart rolls down, is braked to a stop, and is pushed until its brake, stronger at rest, gives way."""
    plan.gravity(0, 0, -G)
    tilt, mass = 0.3, 3.0
    rail = plan.add("rail", Prismatic(plan.ground, plan.body("cart", mass, 1.0), axis=(np.cos(tilt), 0, -np.sin(tilt))))
    on = plan.add("on", Mode(0))
    plan.add("braked", Event(time - 1.0, {on: 1}))
    plan.add("brake", DryFriction(rail, preload=20 * on, preload_static=25 * on))
    plan.add("push", JointEffort(rail, 30 * ca.fmax(time - 2.5, 0)))
    fall, until = G * np.sin(tilt), 4.0
    slow, gives = 20 / mass - fall, 2.5 + (25 - mass * fall) / 30
    rest, first = until - gives, 5 / mass
    way = fall / 2 + fall**2 / 2 / slow + first * rest**2 / 2 + 5 * rest**3 / mass

    def errors(result: Result) -> Errors:
        return {
            "rest": when(result, "brake.sticks") - 1 - fall / slow,
            "gives": when(result, "brake.slips", -1) - gives,
            "way": result["rail.displacement"][-1] - way,
        }

    return until, errors


def periodic_freewheel(plan: Plan) -> Problem:
    """A torque that swings drives a braked rotor by a freewheel, which lets go and takes it along again."""
    inner, outer = shaft(plan, "inner", 1.0), shaft(plan, "outer", 2.0)
    plan.add("swing", JointEffort(inner, ca.cos(time)))
    plan.add("drag", JointEffort(outer, -0.3))
    plan.add("wheel", FreeWheel(inner, outer))
    opens = np.arccos(-0.15)  # where 2 (cos t - 0.3) / 3 + 0.3 = 0
    speed = (np.sin(opens) - 0.3 * opens) / 3

    def apart(t: float) -> float:
        return speed + np.sin(t) - np.sin(opens) - (speed - 0.15 * (t - opens))

    takes = brentq(apart, opens + 1, opens + 7)
    until = takes + 0.1
    total = np.sin(until) - 0.3 * until  # of momentum, 1 + 2 times the speed

    def errors(result: Result) -> Errors:
        return {
            "opens": when(result, "wheel.opens") - opens,
            "takes": when(result, "wheel.closes") - takes,
            "speed": result["outer.angle.rate"][-1] - total / 3,
        }

    return until, errors


def ball_thrown_up_a_slope(plan: Plan) -> Problem:
    """With back spin: it slips, begins to roll, and comes back."""
    tilt, mu, radius, until = 0.2, 0.3, 0.1, 1.6
    plan.gravity(-G * np.sin(tilt), 0, -G * np.cos(tilt))
    ball = plan.ball(1.0, radius, (0, 0, radius), velocity=(4, 0, 0), angular_velocity=(0, -10, 0))
    plan.add("touch", Contact(plan.ground.plane(), ball.sphere(radius), mu=mu))
    slow = -G * (np.sin(tilt) + mu * np.cos(tilt))
    rolls = 5 / (2.5 * mu * G * np.cos(tilt) - slow)
    speed, later, rest = 4 + slow * rolls, -G * np.sin(tilt) * 5 / 7, until - rolls
    way = 4 * rolls + slow * rolls**2 / 2 + speed * rest + later * rest**2 / 2

    def errors(result: Result) -> Errors:
        return {"rolls": when(result, "touch.sticks") - rolls, "way": plan.seen(result, "ball")[0] - way}

    return until, errors


class Ahead(JointLaw):
    """The second coordinate is never behind the first."""

    def units(self) -> Unit:
        return Unit(gap=self.joints[1].displacement - self.joints[0].displacement)


def wall_that_pushes(plan: Plan) -> Problem:
    """A driven wall takes a block along, which leaves it and rubs to rest."""
    wall = plan.add("wall", Prismatic(plan.ground, plan.body("mover", 1.0, 1.0), axis="x"))
    rail = plan.add("rail", Prismatic(plan.ground, plan.body("block", 1.0, 1.0), axis="x"))
    plan.add("drive", Drive(wall, 0.2 * (1 - ca.cos(2 * time))))
    plan.add("ahead", Ahead(wall, rail))
    plan.add("rubs", DryFriction(rail, preload=0.5))
    leaves = np.arccos(-0.625) / 2
    speed = 0.4 * np.sin(2 * leaves)
    place = 0.2 * (1 - np.cos(2 * leaves)) + speed**2

    def errors(result: Result) -> Errors:
        return {
            "leaves": when(result, "ahead.opens") - leaves,
            "rests": when(result, "rubs.sticks") - leaves - 2 * speed,
            "place": result["rail.displacement"][-1] - place,
        }

    return 3.0, errors


def pendulum_with_a_stop(plan: Plan) -> Problem:
    """It gives back half of its speed."""
    plan.gravity(0, 0, -G)
    rod = plan.body("rod", 1.0, 1 / 12)
    plan.add("pin", Revolute(plan.ground, rod.at(0, 0, 0.5), axis="y", angle=1.0, limits=(-0.5, 2), restitution=0.5))
    pull = 1.5 * G
    meets = quad(lambda s: 2 * s / np.sqrt(2 * pull * (np.cos(1 - s * s) - np.cos(1))), 0, np.sqrt(1.5), epsabs=1e-13)[
        0
    ]
    energy = (np.cos(0.5) - np.cos(1)) * pull / 4 - pull * np.cos(0.5)

    def errors(result: Result) -> Errors:
        left = result["pin.angle.rate"][-1] ** 2 / 2 - pull * np.cos(result["pin.angle"][-1])
        return {"meets": when(result, "pin.limits.lower.strikes") - meets, "energy": left - energy}

    return meets + 0.1, errors


def collar(plan: Plan) -> Problem:
    """It slides along a rod and turns about it, and each of both rubs by itself."""
    plan.gravity(0, 0, -G)
    joint = Cylindrical(plan.ground, plan.body("sleeve", 2.0, 0.02), axis="x", displacement_rate=2.0, angle_rate=2.0)
    plan.add("rod", joint)
    plan.add("dry", DryFriction(joint, mu=0.1, radius=0.05))
    slides, turns = 2 / (0.1 * G), 2 / (0.1 * 0.05 * 2 * G / 0.02)

    def errors(result: Result) -> Errors:
        return {
            "slides": when(result, "dry.displacement.sticks") - slides,
            "turns": when(result, "dry.angle.sticks") - turns,
            "place": result["rod.displacement"][-1] - slides,
            "angle": result["rod.angle"][-1] - turns,
        }

    return 2.2, errors


def sledge(plan: Plan) -> Problem:
    """A plate on a plane joint slides straight on until it rests."""
    plan.gravity(0, 0, -G)
    joint = plan.add("plane", Planar(plan.ground, plan.body("plate", 2.0, 0.1), x_rate=1.5, y_rate=2.0))
    plan.add("dry", DryFriction(joint, mu=0.2, radius=0.1))
    rests = 2.5 / (0.2 * G)

    def errors(result: Result) -> Errors:
        return {
            "rests": when(result, "dry.slide.sticks") - rests,
            "x": result["plane.x"][-1] - 0.75 * rests,
            "y": result["plane.y"][-1] - rests,
        }

    return 1.5, errors


def play_before_friction(plan: Plan) -> Problem:
    """A motor crosses the play of its gear, drags a rough load to a stop, and tears it loose later."""
    motor, load = shaft(plan, "motor", 1.0), shaft(plan, "load", 3.0)
    plan.add("torque", JointEffort(motor, 2 * time))
    plan.add("mesh", Gear(motor, load, ratio=1.0, backlash=0.1))
    plan.add("rough", DryFriction(load, preload=2.2, preload_static=3.0))
    meets, loose, until = 0.15 ** (1 / 3), 1.5, 2.0

    def speed(t: float) -> float:
        return meets**2 / 4 + (t**2 - meets**2) / 4 - 0.55 * (t - meets)

    stops = brentq(speed, meets, 1.1)
    end = (until**2 - loose**2) / 4 - 0.55 * (until - loose)

    def errors(result: Result) -> Errors:
        return {
            "meets": when(result, "mesh.drive.strikes") - meets,
            "stops": when(result, "rough.sticks") - stops,
            "loose": when(result, "rough.slips", -1) - loose,
            "end": result["load.angle.rate"][-1] - end,
        }

    return until, errors


def rod_that_slips_while_it_falls(plan: Plan) -> Problem:
    """Its foot sticks until friction is at its limit."""
    plan.gravity(0, -G, 0)
    start, mu = 1.2, 0.4
    place = {"x": np.cos(start) / 2, "y": np.sin(start) / 2, "angle": start}
    joint = plan.add("plane", Planar(plan.ground, plan.body("rod", 1.0, 1 / 12), **place))
    plan.add("foot", Contact(plan.ground.plane("y"), joint.second.body.at(-0.5, 0, 0).point(), mu=mu))

    def square(angle: float) -> float:
        return 3 * G * (np.sin(start) - np.sin(angle))

    def beyond(angle: float) -> float:
        turn = -1.5 * G * np.cos(angle)
        along = -(np.sin(angle) * turn + np.cos(angle) * square(angle)) / 2
        up = (np.cos(angle) * turn - np.sin(angle) * square(angle)) / 2 + G
        return abs(along) - mu * up

    angles = np.linspace(start, 0.05, 400)
    k = next(k for k in range(399) if beyond(angles[k]) < 0 <= beyond(angles[k + 1]))
    slips = brentq(beyond, angles[k], angles[k + 1])
    way = np.sqrt(start - slips)
    moment = quad(lambda s: 2 * s / np.sqrt(square(start - s * s)), 0, way, epsabs=1e-13)[0]

    def errors(result: Result) -> Errors:
        return {"slips": when(result, "foot.slips") - moment}

    return moment + 0.01, errors


def rattling_box(plan: Plan) -> Problem:
    """A mass strikes the walls of a free box without loss."""
    box, mass = plan.body("box", 2.0, 1.0), plan.body("mass", 1.0, 1.0)
    rail = plan.add("rail", Prismatic(plan.ground, box, axis="x"))
    plan.add("inside", Prismatic(box, mass, axis="x", displacement_rate=1.0, limits=(-0.1, 0.1), restitution=1.0))
    meets = 0.1 + 0.2 * np.arange(10)

    def errors(result: Result) -> Errors:
        found = np.array([t for t, name in result.statistics["events"] if name.endswith("strikes")])
        speeds = result[f"{rail._name}.displacement.rate"][-1], result["inside.displacement.rate"][-1]
        count = {"count": len(found) - 10.0, "momentum": 3 * speeds[0] + speeds[1] - 1.0}
        return count | {"meets": float(np.abs(found[:10] - meets).max())}

    return 2.0, errors


def locked_wheels(plan: Plan) -> Problem:
    """A car with all wheels braked slides to a stop on four rims."""
    plan.gravity(0, 0, -G)
    mu, speed = 0.8, 5.0
    chassis = plan.body("chassis", 1000.0, 800.0, (0, 0, 0.6), velocity=(speed, 0, 0))
    for k, (x, y) in enumerate([(1.3, 0.8), (1.3, -0.8), (-1.3, 0.8), (-1.3, -0.8)]):
        wheel = plan.body(f"wheel{k}", 20.0, 0.9, (x, y, 0.3))
        hub = plan.add(f"hub{k}", Revolute(chassis.at(x, y, -0.3), wheel, axis="y"))
        plan.add(f"brake{k}", Brake(hub, limit=5e4))
        plan.add(f"tyre{k}", Contact(plan.ground.plane(), wheel.circle(0.3, axis="y"), mu=mu))
    rests = speed / (mu * G)

    def errors(result: Result) -> Errors:
        late = max(abs(when(result, f"tyre{k}.sticks") - rests) for k in range(4))
        return {"rests": late, "way": plan.seen(result, "chassis")[0] - speed * rests / 2}

    return 1.0, errors


COMBINATIONS = [
    engaging_clutch, cart_on_a_slope, periodic_freewheel, ball_thrown_up_a_slope, wall_that_pushes,
    pendulum_with_a_stop, collar, sledge, play_before_friction, rod_that_slips_while_it_falls, rattling_box,
    locked_wheels,
]  # fmt: skip
QUICK_COMBINATIONS = [play_before_friction, wall_that_pushes, collar]
