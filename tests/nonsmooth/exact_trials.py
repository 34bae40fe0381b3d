"""Machines that rub, with exact or tight answers: in turning frames, by levers, on curves, several at once. Tight ones
come from SciPy with tolerances of 1e-13, phase by phase.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
from nonsmooth.exact_combinations import shaft
from nonsmooth.exact_machines import Errors, G, Plan, Problem, when
from scipy.integrate import quad, solve_ivp

from kompono import JointLaw, PairLaw, Result, Unit, rotation, time
from kompono.library import (
    Clutch,
    Contact,
    Drive,
    DryFriction,
    JointEffort,
    Planar,
    Prismatic,
    Revolute,
)  # fmt: skip

TIGHT: dict[str, Any] = {"method": "DOP853", "rtol": 1e-13, "atol": 1e-14}


def followed(
    rate: Callable[[float, Any], Any], span: tuple[float, float], start: Any, until: Any = None
) -> tuple[float, np.ndarray]:
    """Time and state at the end of a smooth phase, or where `until(t, y)` rises through zero."""
    events = [until] if until is not None else None
    if until is not None:
        until.terminal, until.direction = True, 1
    found = solve_ivp(rate, span, start, events=events, **TIGHT)
    if until is None:
        return float(found.t[-1]), found.y[:, -1]
    assert found.status == 1
    return float(found.t_events[0][0]), found.y_events[0][0]


def bead_in_a_turning_tube(plan: Plan) -> Problem:
    """A tube turns faster and faster; its bead gives way when friction by all of the tube's force is at its limit."""
    mu, speeding, place, until = 0.4, 3.0, 0.5, 1.6
    plan.gravity(0, 0, -G)
    tube, bead = plan.body("tube", 1.0, 1.0), plan.body("bead", 0.3, 1e-3)
    hinge = plan.add("hinge", Revolute(plan.ground, tube, axis="z"))
    plan.add("drive", Drive(hinge, speeding * time**2 / 2))
    way = plan.add("way", Prismatic(tube, bead, axis="x", displacement=place))
    plan.add("dry", DryFriction(way, mu=mu))
    slips = np.sqrt(mu * np.hypot(G, speeding * place) / place) / speeding

    def rate(t: float, y: np.ndarray) -> list[float]:
        across = np.hypot(G, 2 * speeding * t * y[1] + speeding * y[0])
        return [y[1], (speeding * t) ** 2 * y[0] - mu * across]

    _, end = followed(rate, (slips, until), [place, 0.0])

    def errors(result: Result) -> Errors:
        return {
            "slips": when(result, "dry.slips") - slips,
            "place": result["way.displacement"][-1] - end[0],
            "speed": result["way.displacement.rate"][-1] - end[1],
        }

    return until, errors


def coin_on_a_turntable(plan: Plan) -> Problem:
    """It sticks until friction in the plane is at its limit, then slides off on a curve."""
    mu, speeding, place, until = 0.3, 2.0, 0.4, 1.75
    plan.gravity(0, 0, -G)
    table, coin = plan.body("table", 1.0, 1.0), plan.body("coin", 0.2, 1e-4)
    hinge = plan.add("hinge", Revolute(plan.ground, table, axis="z"))
    plan.add("drive", Drive(hinge, speeding * time**2 / 2))
    plan.add("plane", Planar(table, coin, x=place, y=0.0))

    class Felt(JointLaw):  # the joint between coin and table carries the weight
        def units(self) -> Unit:
            joint = self.joints[0]
            return Unit(slip=ca.vertcat(joint.x_rate, joint.y_rate), limit=mu * 0.2 * G)

    plan.add("felt", Felt(plan.elements["plane"]))
    slips = float(((mu * G / place) ** 2 - speeding**2) ** 0.25 / speeding)

    def rate(t: float, y: np.ndarray) -> list[float]:
        w, v = speeding * t, y[2:]
        speed = np.hypot(*v)
        if speed == 0:
            pull = np.array([w * w * y[0], -speeding * y[0]])
            along = pull / np.hypot(*pull)
        else:
            along = v / speed
        a = -mu * G * along + w * w * y[:2] + 2 * w * np.array([v[1], -v[0]]) + speeding * np.array([y[1], -y[0]])
        return [*v, *a]

    # slip begins along the pull, with a speed of second order: power series of the first microsecond
    w = speeding * slips
    pull = np.array([w * w, -speeding]) * place
    along = pull / np.hypot(*pull)
    grows = 2 * speeding * w * place * along[0]  # how fast the pull outgrows friction
    begin = 1e-6
    start = [place, 0.0, *(grows * begin**2 / 2 * along)]
    _, end = followed(rate, (slips + begin, until), start)

    def errors(result: Result) -> Errors:
        return {
            "slips": when(result, "felt.slips") - slips,
            "x": result["plane.x"][-1] - end[0],
            "y": result["plane.y"][-1] - end[1],
        }

    return until, errors


def shoe_brake(plan: Plan, way: float = 1.0) -> Problem:
    """A lever presses a shoe on a drum; its pin lies above the drum, so that friction helps, or hinders, the lever."""
    mu, radius, arm, lever, above, push, inertia, speed = 0.4, 0.2, 0.3, 0.8, 0.1, 20.0, 0.5, 12.0
    drum = plan.add("drum", Revolute(plan.ground, plan.body("disc", 3.0, inertia), axis="z", angle_rate=way * speed))
    beam = plan.body("beam", 1.0, 0.2)
    pin = plan.add("pin", Revolute(plan.ground.at(-arm, radius + above, 0), beam, axis="z"))
    plan.add("push", JointEffort(pin, -push * lever))
    face = beam.at(arm, -above, 0, orientation=rotation("x", np.pi / 2))  # its normal is -y
    plan.add("shoe", Contact(face.plane(), drum.second.body.circle(radius, axis="z"), mu=mu))
    # a drum that turns ahead drags the shoe along -x: that moment about the pin presses it on
    normal = push * lever / (arm - way * mu * above)
    stops = inertia * speed / (mu * normal * radius)

    def errors(result: Result) -> Errors:
        early = int(np.searchsorted(result.time, stops / 2))
        return {
            "normal": result["shoe.normal"][early] / normal - 1,
            "stops": when(result, "shoe.sticks") - stops,
            "angle": result["drum.angle"][-1] - way * speed * stops / 2,
        }

    return stops + 0.1, errors


def shoe_brake_backwards(plan: Plan) -> Problem:
    """The same drum turns the other way."""
    return shoe_brake(plan, -1.0)


def rotors_lock_one_after_the_other(plan: Plan) -> Problem:
    """Three rotors and two clutches: the nearer pair locks first, then all of them."""
    one, two, three = shaft(plan, "one", 1.0, 10.0), shaft(plan, "two", 0.5), shaft(plan, "three", 2.0)
    plan.add("near", Clutch(one, two, limit=4.0))
    plan.add("far", Clutch(two, three, limit=1.5))
    first = 10 / 9
    second = first + ((10 - 4 * first) - 0.75 * first) / (1.0 + 0.75)
    return second + 0.2, lambda r: {
        "first": when(r, "near.sticks") - first, "second": when(r, "far.sticks") - second,
        "speed": r["one.angle.rate"][-1] - 10 / 3.5, "same": r["three.angle.rate"][-1] - 10 / 3.5,
    }  # fmt: skip


def climber_on_a_ladder(plan: Plan) -> Problem:
    """A ladder at a smooth wall slips when somebody has climbed far enough."""
    mass, man, length, angle, mu, speed = 12.0, 70.0, 4.0, 1.05, 0.35, 0.8
    plan.gravity(0, -G, 0)
    ladder = plan.body("ladder", mass, mass * length**2 / 12)
    half = length / 2
    plan.add("plane", Planar(plan.ground, ladder, x=half * np.cos(angle), y=half * np.sin(angle), angle=-angle))
    climber = plan.body("climber", man, 1e-3)
    rungs = plan.add("rungs", Prismatic(ladder.at(-half, 0, 0), climber, axis="x"))
    plan.add("climbs", Drive(rungs, length - speed * time))  # the ladder's x axis points down to the floor
    plan.add("floor", Contact(plan.ground.plane("y"), ladder.at(half, 0, 0).point(), mu=mu))
    plan.add("wall", Contact(plan.ground.plane("x"), ladder.at(-half, 0, 0).point()))
    height = (mu * (man + mass) * length * np.tan(angle) - mass * half) / man
    slips = height / speed
    return slips + 0.01, lambda r: {
        "slips": when(r, "floor.slips") - slips,
        "wall": r["wall.normal"][0] - G * mass * half / (length * np.tan(angle)),
    }  # fmt: skip


def block_on_a_free_wedge(plan: Plan) -> Problem:
    """Both rub: the block on the wedge, the wedge on its rail by the force that it bears."""
    heavy, light, mu, floor, tilt, until = 3.0, 1.0, 0.2, 0.05, 0.7, 0.5
    plan.gravity(0, -G, 0)
    wedge = plan.body("wedge", heavy, 1.0)
    rail = plan.add("rail", Prismatic(plan.ground, wedge, axis="x"))
    plan.add("rubs", DryFriction(rail, mu=floor))
    block = plan.body("block", light, 0.1)
    plan.add("plane", Planar(plan.ground, block, x=0.0, y=0.0, angle=0.0))
    up = np.array([np.sin(tilt), np.cos(tilt)])  # the slope falls to the right
    along = np.array([np.cos(tilt), -np.sin(tilt)])
    slope = wedge.at(0, 0, 0, orientation=rotation("z", -tilt))
    plan.add("touch", Contact(slope.plane("y"), block.point(), mu=mu))
    # unknowns: wedge, block along the slope, normal; the wedge goes left, so its friction acts to the right
    push = up - mu * along  # on the block, for each newton of the normal force
    matrix = np.array([
        [light, light * along[0], -push[0]],
        [0.0, light * along[1], -push[1]],
        [heavy, 0.0, push[0] - floor * push[1]],
    ])  # fmt: skip
    a, slide, normal = np.linalg.solve(matrix, [0.0, -light * G, floor * heavy * G])
    assert a < 0 < min(slide, normal)
    return until, lambda r: {
        "wedge": r["rail.displacement"][-1] - a * until**2 / 2,
        "block": r["plane.x"][-1] - (a + slide * along[0]) * until**2 / 2,
        "normal": r["touch.normal"][-1] - normal,
    }  # fmt: skip


def ball_on_a_belt(plan: Plan) -> Problem:
    """A belt speeds up; the ball rolls against it until friction is at its limit."""
    radius, mu, until = 0.1, 0.25, 2.0
    plan.gravity(0, 0, -G)
    belt = plan.body("belt", 5.0, 1.0)
    rail = plan.add("rail", Prismatic(plan.ground, belt, axis="x"))
    plan.add("drive", Drive(rail, time**3))
    ball = plan.ball(0.5, radius, (0, 0, radius))
    plan.add("touch", Contact(belt.plane(), ball.sphere(radius), mu=mu))
    slips = 3.5 * mu * G / 6
    rest = until - slips
    way = 2 / 7 * slips**3 + 6 / 7 * slips**2 * rest + mu * G * rest**2 / 2
    spin = -(5 / 7 * 3 * slips**2 + 2.5 * mu * G * rest) / radius
    return until, lambda r: {
        "slips": when(r, "touch.slips") - slips, "way": plan.seen(r, "ball")[0] - way,
        "spin": radius * (plan.seen(r, "ball", "angular_velocity")[1] - spin),
    }  # fmt: skip


def block_in_a_pipe(plan: Plan) -> Problem:
    """A small block slides down in a rough pipe, up on the other side, and back: friction follows its speed."""
    mu, radius, start = 0.25, 1.0, 0.3
    plan.gravity(0, -G, 0)
    block = plan.body("block", 0.4, 1e-3)
    plan.add("plane", Planar(plan.ground, block, x=-radius * np.cos(start), y=-radius * np.sin(start)))
    plan.add("pipe", Contact(plan.ground.cylinder(radius, axis="z", inside=True), block.point(), mu=mu))

    def rate(t: float, y: np.ndarray, way: float = 1.0) -> list[float]:
        return [y[1], G / radius * (np.cos(y[0]) - way * mu * np.sin(y[0])) - way * mu * y[1] ** 2]

    turns, y = followed(rate, (0.0, 9.0), [start, 0.0], lambda t, y: -y[1] if t > 0.1 else -1.0)
    until = turns + 0.2
    _, end = followed(lambda t, y: rate(t, y, -1.0), (turns, until), [y[0], 0.0])

    def errors(result: Result) -> Errors:
        return {
            "x": result["plane.x"][-1] + radius * np.cos(end[0]),
            "speed": np.hypot(result["plane.x.rate"][-1], result["plane.y.rate"][-1]) + end[1] * radius,
        }

    return until, errors


def ball_in_a_trough(plan: Plan) -> Problem:
    """A ball rolls to and fro in a cylinder: a pendulum with 5/7 of gravity."""
    inner, radius, start = 1.0, 0.2, 0.8
    plan.gravity(0, -G, 0)
    arm = inner - radius
    ball = plan.ball(0.5, radius, (arm * np.sin(start), -arm * np.cos(start), 0))
    plan.add("trough", Contact(plan.ground.cylinder(inner, axis="z", inside=True), ball.sphere(radius), mu=0.9))
    pull = 5 / 7 * G / arm
    swing = 4 * quad(lambda a: 1 / np.sqrt(1 - (np.sin(start / 2) * np.sin(a)) ** 2), 0, np.pi / 2, epsabs=1e-14)[0]
    period = swing / np.sqrt(pull)
    return period, lambda r: {
        "x": plan.seen(r, "ball")[0] - arm * np.sin(start),
        "speed": np.hypot(*plan.seen(r, "ball", "velocity")[:2]),
        "events": len(r.statistics["events"]),
    }  # fmt: skip


def chaplygin_sleigh(plan: Plan) -> Problem:
    """A blade that does not slip sideways, away from the centre of mass: it turns round and runs ahead for ever."""
    mass, inertia, ahead, w0, until = 1.0, 0.2, 0.3, 2.0, 1.5

    class Blade(PairLaw):
        def units(self, motion: Any) -> Unit:
            return Unit(slip=(motion.rotation.T @ motion.velocity)[1], limit=1e6)

    sleigh = plan.body("sleigh", mass, inertia)
    # the blade at the origin of the ground, the centre of mass ahead of it; it begins with a turn
    plan.add("plane", Planar(plan.ground, sleigh, x=ahead, y=0.0, angle_rate=w0, y_rate=ahead * w0))
    plan.add("blade", Blade(plan.ground, sleigh.at(-ahead, 0, 0)))
    about = inertia + mass * ahead**2
    slow = np.sqrt(about / mass)  # v^2 + slow^2 w^2 is kept
    k = mass * ahead / about * slow * w0
    speed, turn = slow * w0 * np.tanh(k * until), w0 / np.cosh(k * until)
    angle = w0 / k * 2 * np.arctan(np.tanh(k * until / 2))
    return until, lambda r: {
        "turn": r["plane.angle.rate"][-1] - turn, "angle": r["plane.angle"][-1] - angle,
        "speed": np.cos(angle) * r["plane.x.rate"][-1] + np.sin(angle) * r["plane.y.rate"][-1] - speed,
    }  # fmt: skip


def disc_on_a_slope(plan: Plan) -> Problem:
    """Too steep to roll: it slips and turns."""
    tilt, mu, radius, until = 0.8, 0.3, 0.2, 1.0
    assert mu < np.tan(tilt) / 3
    plan.gravity(G * np.sin(tilt), 0, -G * np.cos(tilt))
    disc = plan.body("disc", 1.5, 0.5 * 1.5 * radius**2, (0, 0, radius))
    plan.add("rim", Contact(plan.ground.plane(), disc.circle(radius, axis="y"), mu=mu))
    a, spin = G * (np.sin(tilt) - mu * np.cos(tilt)), 2 * mu * G * np.cos(tilt) / radius
    return until, lambda r: {
        "way": plan.seen(r, "disc")[0] - a / 2, "spin": plan.seen(r, "disc", "angular_velocity")[1] - spin,
        "events": len(r.statistics["events"]),
    }  # fmt: skip


def two_masses_on_a_belt(plan: Plan) -> Problem:
    """Two masses on springs, on a belt with more friction at rest: each sticks and slips by itself."""
    m, k, link, speed, static, kinetic, until = 1.0, 40.0, 25.0, 0.3, (6.0, 4.0), (3.5, 2.5), 3.0
    rails = []
    for n in range(2):
        rails.append(plan.add(f"rail{n}", Prismatic(plan.ground, plan.body(f"mass{n}", m, 0.1), axis="x",
                              displacement_rate=speed)))  # fmt: skip
        plan.add(f"spring{n}", JointEffort(rails[n], -k * rails[n].displacement))
    pull = link * (rails[1].displacement - rails[0].displacement)
    plan.add("one", JointEffort(rails[0], pull))
    plan.add("other", JointEffort(rails[1], -pull))

    class OnBelt(JointLaw):
        def __init__(self, joint: Any, limit: float, at_rest: float) -> None:
            super().__init__(joint)
            self.given = limit, at_rest

        def units(self) -> Unit:
            limit, at_rest = self.given
            return Unit(slip=self.joints[0].displacement_rate - speed, limit=limit, limit_static=at_rest)

    for n in range(2):
        plan.add(f"dry{n}", OnBelt(rails[n], kinetic[n], static[n]))
    stiff = np.array([[k + link, -link], [-link, k + link]])
    t, y, modes, found = 0.0, np.array([0.0, 0.0, speed, speed]), [0, 0], []
    while t < until:

        def rate(_: float, y: np.ndarray, modes: Any = tuple(modes)) -> np.ndarray:
            force = -stiff @ y[:2]
            a = [(force[n] - modes[n] * kinetic[n]) / m if modes[n] else 0.0 for n in range(2)]
            return np.array([*y[2:], *a])

        guards = []
        for n in range(2):
            if modes[n]:
                guards.append(lambda _, y, n=n, s=modes[n]: -s * (y[2 + n] - speed))
            else:
                guards.append(lambda _, y, n=n: abs(stiff[n] @ y[:2]) - static[n])
            guards[-1].terminal, guards[-1].direction = True, 1
        step = solve_ivp(rate, (t, until), y, events=guards, **TIGHT)
        t, y = float(step.t[-1]), step.y[:, -1]
        if step.status != 1:
            break
        n = next(i for i in range(2) if len(step.t_events[i]))
        found.append((t, f"dry{n}.{'sticks' if modes[n] else 'slips'}"))
        modes[n] = 0 if modes[n] else int(np.sign(-(stiff[n] @ y[:2])))
        if not modes[n]:
            y[2 + n] = speed
    assert len(found) > 8

    def errors(result: Result) -> Errors:
        told = result.statistics["events"]
        same = [n for _, n in told] == [n for _, n in found]
        late = np.abs(np.subtract([t for t, _ in told], [t for t, _ in found])).max() if same else 1.0
        return {"events": float(late), "place": result["rail0.displacement"][-1] - y[0]}

    return until, errors


TRIALS = [
    bead_in_a_turning_tube, coin_on_a_turntable, shoe_brake, shoe_brake_backwards, rotors_lock_one_after_the_other,
    climber_on_a_ladder, block_on_a_free_wedge, ball_on_a_belt, block_in_a_pipe, ball_in_a_trough, chaplygin_sleigh,
    disc_on_a_slope, two_masses_on_a_belt,
]  # fmt: skip
QUICK_TRIALS = [shoe_brake, block_on_a_free_wedge, two_masses_on_a_belt]
