"""More machines with exact answers: what walks, rolls, goes slack, is rectified, squeezed, or bounces till it rolls."""

from __future__ import annotations

import casadi as ca
import numpy as np
from nonsmooth.exact_machines import Errors, G, Plan, Problem, when
from scipy.integrate import quad, solve_ivp
from scipy.optimize import brentq

from kompono import Result, time
from kompono.library import (
    Brake,
    Contact,
    Drive,
    EndStops,
    FreeWheel,
    Gear,
    JointEffort,
    Prismatic,
    Revolute,
    SumStops,
    Tether,
)  # fmt: skip


def rimless_wheel(plan: Plan) -> Problem:
    """Spokes without a rim walk down a slope: feet stick; each strikes without rebound as the last one leaves."""
    spokes, length, mass, inertia, slope, start = 6, 0.5, 2.0, 0.1, 0.25, 0.6
    half, about = np.pi / spokes, inertia + mass * length**2
    plan.gravity(G * np.sin(slope), 0, -G * np.cos(slope))
    given = {"velocity": (length * start, 0, 0), "angular_velocity": (0, start, 0)}
    wheel = plan.body("wheel", mass, inertia, (0, 0, length), **given)
    feet = [(length * np.sin(2 * half * k), 0, -length * np.cos(2 * half * k)) for k in range(spokes)]
    plan.add("feet", Contact(plan.ground.plane(), wheel.points(*feet), mu=3.0))
    times, lean, turn = [0.0], 0.0, start
    for _ in range(4):

        def rate(angle: float, lean: float = lean, turn: float = turn) -> float:
            fallen = np.cos(lean + slope) - np.cos(angle + slope)
            return np.sqrt(turn**2 + 2 * mass * G * length / about * fallen)

        times.append(times[-1] + quad(lambda angle, rate=rate: 1 / rate(angle), lean, half, epsabs=1e-14)[0])
        lean, turn = -half, rate(half) * (inertia + mass * length**2 * np.cos(2 * half)) / about

    def errors(result: Result) -> Errors:
        struck = [t for t, name in result.statistics["events"] if name.endswith("strikes")]
        assert len(struck) == 4
        return {"steps": np.abs(np.array(struck) - times[1:]).max()}

    return times[-1] + 0.01, errors


def ball_in_an_upright_pipe(plan: Plan) -> Problem:
    """It rolls round inside and does not fall: its height swings with sqrt(2/7) of the rate at which it goes round."""
    pipe, radius, turn, rise, until = 0.5, 0.05, 10.0, 0.2, 1.5
    arm = pipe - radius
    plan.gravity(0, 0, -G)
    given = {"velocity": (0, arm * turn, rise), "angular_velocity": (0, rise / radius, -arm * turn / radius)}
    ball = plan.ball(0.3, radius, (arm, 0, 0), **given)
    plan.add("wall", Contact(plan.ground.cylinder(pipe, axis="z", inside=True), ball.sphere(radius), mu=3.0))
    swing = np.sqrt(2 / 7) * turn
    low = -2.5 * G / turn**2  # 7/5 z'' = -g - 2/5 turn^2 z
    height = low + (0.0 - low) * np.cos(swing * until) + rise / swing * np.sin(swing * until)
    return until, lambda r: {
        "height": plan.seen(r, "ball")[2] - height, "x": plan.seen(r, "ball")[0] - arm * np.cos(turn * until),
        "events": len(r.statistics["events"]),
    }  # fmt: skip


def ball_goes_slack(plan: Plan) -> Problem:
    """A ball on a rope swings up too slowly: the rope goes slack, and taut where the parabola meets the circle."""
    length, fast = 0.7, np.sqrt(3.5 * G * 0.7)
    plan.gravity(0, 0, -G)
    ball = plan.body("ball", 0.3, 1e-4, (0, 0, -length), velocity=(fast, 0, 0))
    plan.add("rope", Tether(plan.ground, ball, longest=length))
    level = (2 * G * length - fast**2) / (3 * G * length)
    angle = np.arccos(level)
    slack = quad(lambda a: length / np.sqrt(fast**2 - 2 * G * length * (1 - np.cos(a))), 0, angle, epsabs=1e-14)[0]
    speed = np.sqrt(fast**2 - 2 * G * length * (1 - level))
    taut = slack + 4 * speed * np.sin(angle) / G

    def errors(result: Result) -> Errors:
        name = "rope" if any(n == "rope.opens" for _, n in result.statistics["events"]) else "rope.longest"
        return {"slack": when(result, f"{name}.opens") - slack, "taut": when(result, f"{name}.strikes") - taut}

    return taut + 0.01, errors


def two_weights_on_a_rope(plan: Plan) -> Problem:
    """The heavy one lands, the light one flies on, falls back and lifts the other by the blow of the rope."""
    heavy, light, high = 3.0, 2.0, 0.5
    plan.gravity(0, 0, -G)
    first, second = plan.body("first", heavy, 1.0), plan.body("second", light, 1.0)
    a = plan.add("a", Prismatic(plan.ground, first, axis="z", displacement=high))
    b = plan.add("b", Prismatic(plan.ground.at(1, 0, 0), second, axis="z"))
    plan.add("rope", SumStops((a, 1.0), (b, 1.0), lower=high))
    plan.add("floor", EndStops(a, lower=0.0))
    pull = (heavy - light) / (heavy + light) * G
    lands = np.sqrt(2 * high / pull)
    caught = lands + 2 * pull * lands / G
    again = caught + 2 * lands * light / (heavy + light)

    def errors(result: Result) -> Errors:
        struck = [t for t, name in result.statistics["events"] if name.endswith("strikes")]
        return {str(k): struck[k] - t for k, t in enumerate((lands, caught, again))}

    return again + 0.01, errors


def rectified(plan: Plan) -> Problem:
    """A shaft swings to and fro; two freewheels, one behind a gear that turns round, drive another one always ahead."""
    swing, rate, inertia, drag = 0.5, 4.0, 0.3, 0.9
    bodies = [plan.body(f"rotor{k}", 1.0, inertia) for k in range(3)]
    first, back, out = (plan.add(f"shaft{k}", Revolute(plan.ground, body, axis="z")) for k, body in enumerate(bodies))
    plan.add("drive", Drive(first, swing * (1 - ca.cos(rate * time))))
    plan.add("gear", Gear(first, back, ratio=-1.0))
    plan.add("forth", FreeWheel(first, out))
    plan.add("turned", FreeWheel(back, out))
    plan.add("drag", Brake(out, limit=drag))
    slow, half = drag / inertia, np.pi / rate
    leaves = np.arccos(-slow / (swing * rate**2)) / rate
    speed = swing * rate * np.sin(rate * leaves)
    meets = brentq(
        lambda t: speed - slow * (t - leaves) + swing * rate * np.sin(rate * t), half, 1.5 * half, xtol=1e-15
    )
    free = meets - leaves
    driven = -swing * (np.cos(rate * leaves) - np.cos(rate * (meets - half)))
    each = speed * free - slow * free**2 / 2 + driven
    until = leaves + 3 * half
    return until, lambda r: {
        "leaves": when(r, "forth.opens") - leaves, "meets": when(r, "turned.closes") - meets,
        "way": r["shaft2.angle"][-1] - swing * (1 - np.cos(rate * leaves)) - 3 * each,
    }  # fmt: skip


def backspin(plan: Plan) -> Problem:
    """A ball with spin about all axes bounces until it rests on the floor, slips on, and rolls."""
    back, mu, radius, high, until = 0.6, 0.25, 0.05, 0.4, 2.5
    v, spin = np.array([1.5, 0.3]), np.array([3.0, -60.0, 20.0])
    plan.gravity(0, 0, -G)
    ball = plan.ball(0.2, radius, (0, 0, radius + high), velocity=(*v, 0), angular_velocity=tuple(spin))
    plan.add("floor", Contact(plan.ground.plane(), ball.sphere(radius), mu=mu, restitution=back))
    t = np.sqrt(2 * high / G)
    place, down = v * t, G * t
    for _ in range(100):
        slip = v + radius * np.array([-spin[1], spin[0]])
        size = np.hypot(*slip)
        push = -slip * min(mu * (1 + back) * down / size, 2 / 7) if size else 0 * slip
        v, spin = v + push, spin + 2.5 / radius * np.array([push[1], -push[0], 0])
        down *= back
        place, t = place + v * 2 * down / G, t + 2 * down / G
    slip = v + radius * np.array([-spin[1], spin[0]])
    rolls = 2 / 7 * np.hypot(*slip) / (mu * G)
    place = place + v * (until - t) - 2 / 7 * slip * (until - t - rolls / 2)
    return until, lambda r: {
        "x": plan.seen(r, "ball")[0] - place[0], "y": plan.seen(r, "ball")[1] - place[1],
        "spin": radius * (plan.seen(r, "ball", "angular_velocity")[2] - spin[2]),
    }  # fmt: skip


def crossing_a_slope(plan: Plan) -> Problem:
    """A crumb sent across a slope that just holds it ends with half its speed downhill: |v| less that is kept."""
    tilt, fast, until = 0.4, 1.5, 2.0
    mu = np.tan(tilt)
    plan.gravity(0, -G * np.sin(tilt), -G * np.cos(tilt))
    crumb = plan.body("crumb", 2.0, 0.01, (0, 0, 0), velocity=(fast, 0, 0))
    plan.add("touch", Contact(plan.ground.plane(), crumb.point(), mu=mu))

    def rate(t: float, y: np.ndarray) -> np.ndarray:
        v = y[2:]
        return np.concatenate([v, -G * np.sin(tilt) * (v / np.hypot(*v) + [0, 1])])

    given = {"method": "DOP853", "rtol": 1e-13, "atol": 1e-14}
    end = solve_ivp(rate, (0, until), [0, 0, fast, 0], **given).y[:, -1]

    def errors(result: Result) -> Errors:
        place, v = plan.seen(result, "crumb"), plan.seen(result, "crumb", "velocity")
        return {"x": place[0] - end[0], "y": place[1] - end[1], "kept": np.hypot(v[0], v[1]) - v[1] - fast}

    return until, errors


def squeezed_block(plan: Plan) -> Problem:
    """A vise lets go of a block: eight corners share its weight, slip together, and keep sharing what presses them."""
    mass, mu, push, less = 2.0, 0.4, 60.0, 30.0
    plan.gravity(0, 0, -G)
    block, jaw = plan.body("block", mass, 0.01, (0, 0, 0)), plan.body("jaw", 1.0, 0.01)
    slide = plan.add("slide", Prismatic(plan.ground, jaw, axis="x", displacement=0.05))
    plan.add("screw", JointEffort(slide, less * time - push))
    fixed, face = plan.ground.at(-0.05, 0, 0), (0, 0.04, 0.04)
    plan.add("left", Contact(fixed.plane("x"), block.at(-0.05, 0, 0).corners(face), mu=mu))
    plan.add("right", Contact(jaw.plane("-x"), block.at(0.05, 0, 0).corners(face), mu=mu))
    slips, falls = (push - mass * G / (2 * mu)) / less, 0.2

    def check(r: Result) -> Errors:
        found = {f"{side}.{k}": when(r, f"{side}.{k}.slips") - slips for side in ("left", "right") for k in range(4)}
        return found | {"way": plan.seen(r, "block")[2] + mu * less * falls**3 / (3 * mass)}

    return slips + falls, check


def over_a_kerb(plan: Plan) -> Problem:
    """A wheel rolls against a kerb and climbs it: the floor, which it could be wedged against, lets go at once."""
    radius, kerb, mass, inertia, start = 0.35, 0.1, 10.0, 0.8575, 1.6
    plan.gravity(0, 0, -G)
    given = {"velocity": (start, 0, 0), "angular_velocity": (0, start / radius, 0)}
    wheel = plan.body("wheel", mass, inertia, (0, 0, radius), **given)
    plan.add("floor", Contact(plan.ground.plane(), wheel.circle(radius), mu=3.0))
    plan.add("edge", Contact(wheel.cylinder(radius, "y"), plan.ground.at(1.0, 0, kerb).point(), mu=3.0))
    rise, about = np.arcsin((radius - kerb) / radius), inertia + mass * radius**2
    struck = (1.0 - radius * np.cos(rise)) / start
    turn = start / radius * (inertia + mass * radius * (radius - kerb)) / about

    def rate(angle: float) -> float:
        return np.sqrt(turn**2 - 2 * mass * G * radius / about * (np.sin(angle) - np.sin(rise)))

    until = struck + quad(lambda angle: 1 / rate(angle), rise, np.pi / 2, epsabs=1e-14)[0]

    def errors(r: Result) -> Errors:
        place, turns = plan.seen(r, "wheel"), plan.seen(r, "wheel", "angular_velocity")
        found = {"x": place[0] - 1.0, "z": place[2] - radius - kerb, "turn": turns[1] - rate(np.pi / 2)}
        return found | {"struck": when(r, "edge.strikes") - struck, "left": when(r, "floor.opens") - struck}

    return until, errors


TRAVELS = [
    rimless_wheel, ball_in_an_upright_pipe, ball_goes_slack, two_weights_on_a_rope, rectified, backspin,
    crossing_a_slope, squeezed_block, over_a_kerb,
]  # fmt: skip
QUICK_TRAVELS = [rimless_wheel, rectified, backspin, squeezed_block, over_a_kerb]
