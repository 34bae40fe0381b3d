"""Machines with exact answers at the edges: very light between heavy things, thousands of events in a millisecond,
blows in space, several wheels and frictions of one train. Tight ones come from SciPy with tolerances of 1e-13.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
from nonsmooth.exact_combinations import shaft
from nonsmooth.exact_machines import Errors, G, Plan, Problem, when
from nonsmooth.exact_trials import TIGHT, followed
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation

from kompono import Result, rotation, time
from kompono.library import (
    Brake,
    Clutch,
    Contact,
    Drive,
    DryFriction,
    EndStops,
    FreeWheel,
    JointEffort,
    Planar,
    Prismatic,
    Revolute,
    Sum,
    SumStops,
    Tether,
)  # fmt: skip


def strikes(result: Result) -> np.ndarray:
    """Times of all blows."""
    return np.array([t for t, name in result.statistics["events"] if name.endswith("strikes")])


def light_disc_between_clutches(plan: Plan) -> Problem:
    """A disc a millionth as heavy as its neighbours is gripped by the stronger clutch in 40 us, once and for all."""
    light = 2e-6
    one, middle, other = shaft(plan, "one", 2.0, 30.0), shaft(plan, "middle", light, 10.0), shaft(plan, "other", 3.0)
    plan.add("strong", Clutch(one, middle, limit=4.0))
    plan.add("weak", Clutch(middle, other, limit=3.0))
    grips = 20 / (1 / light + 4 / 2)
    rests = grips + (30 - 2 * grips - grips) / (3 / (2 + light) + 3 / 3)
    speed = (2 * 30 + light * 10) / (5 + light)
    return rests + 0.2, lambda r: {
        "grips": when(r, "strong.sticks") - grips, "rests": when(r, "weak.sticks") - rests,
        "speed": r["other.angle.rate"][-1] - speed, "events": len(r.statistics["events"]) - 2,
    }  # fmt: skip


def blocks_count_pi(plan: Plan) -> Problem:
    """A heavy block drives a millionth of its mass against a wall: 3141 blows, most of them within milliseconds."""
    ratio, until = 1e6, 4.0
    light = plan.add("light", Prismatic(plan.ground, plan.body("small", 1.0, 1.0), axis="x", displacement=1.0))
    start = {"displacement": 2.0, "displacement_rate": -1.0}
    heavy = plan.add("heavy", Prismatic(plan.ground, plan.body("large", ratio, 1.0), axis="x", **start))
    plan.add("wall", EndStops(light, 0.0, restitution=1.0))
    plan.add("hit", SumStops((heavy, 1.0), (light, -1.0), lower=0.0, restitution=1.0))
    # by coordinates times the roots of masses it is a ray, reflected in a corner of this angle
    corner, x = np.arctan(1 / np.sqrt(ratio)), np.sqrt(ratio) * (2.0 - until)
    count = int(np.arctan2(1.0, x) // corner)
    inside = np.arctan2(1.0, x) % corner
    place = np.hypot(x, 1.0) * np.cos(corner - inside if count % 2 else inside) / np.sqrt(ratio)
    return until, lambda r: {
        "count": len(strikes(r)) - count, "pi": count - 3141, "place": r["heavy.displacement"][-1] - place,
    }  # fmt: skip


def hardly_any_loss(plan: Plan) -> Problem:
    """A ball that gives back 0.99 of its speed strikes 1300 times before it rests."""
    radius, back, high = 0.1, 0.99, 0.01
    plan.gravity(0, 0, -G)
    ball = plan.ball(1.0, radius, (0, 0, radius + high))
    plan.add("floor", Contact(plan.ground.plane(), ball.sphere(radius), restitution=back))
    fall = np.sqrt(2 * high / G)
    total = fall * (1 + back) / (1 - back)

    def errors(result: Result) -> Errors:
        found = strikes(result)
        wanted = fall * (1 + 2 * back * (1 - back ** np.arange(len(found))) / (1 - back))
        rests = when(result, "floor.closes")
        return {
            "blows": 0.1 * np.abs(found - wanted).max(), "early": max(rests - total, 0.0),  # times add up
            "late": 1e-6 * (total - rests), "weight": result["floor.normal"][-1] - G,
        }  # fmt: skip

    return total + 0.1, errors


def epicyclic_train(plan: Plan) -> Problem:
    """A band brakes the ring of a planetary gear harder and harder; a freewheel keeps its carrier from turning back."""
    sun, ring, both = 30.0, 70.0, 100.0
    inertia, engine, load, grow = np.diag([0.02, 0.3, 0.5]), 4.0, 12.0, 6.0
    shafts = [shaft(plan, "sun", 0.02, 100.0), shaft(plan, "ring", 0.3, -100 * sun / ring), shaft(plan, "carrier", 0.5)]
    plan.add("teeth", Sum((shafts[0], sun), (shafts[1], ring), (shafts[2], -both), value=0.0))
    plan.add("engine", JointEffort(shafts[0], engine))
    plan.add("load", JointEffort(shafts[2], -load))
    plan.add("band", Brake(shafts[1], limit=grow * time))
    plan.add("back", FreeWheel(plan.ground, plan.elements["rotor_carrier"]))

    def accelerations(t: float, *held: int, band: float = grow) -> np.ndarray:
        rows = np.array([[sun, ring, -both], *np.eye(3)[list(held)]])
        zero = np.zeros((len(rows), len(rows)))
        forces = [engine, band * t, -load, *np.zeros(len(rows))]
        return np.linalg.solve(np.block([[inertia, rows.T], [rows, zero]]), forces)

    def gained(begun: float, ended: float, *held: int) -> np.ndarray:  # accelerations grow evenly
        return (ended - begun) * accelerations((begun + ended) / 2, *held)[:3]

    opens = brentq(lambda t: accelerations(t)[2], 0, 20, xtol=1e-15)
    speeds = np.array([100.0, -100 * sun / ring, 0.0]) + gained(0, opens, 2)
    stops = brentq(lambda t: (speeds + gained(opens, t))[1], opens, 60, xtol=1e-15)
    rest = accelerations(0.0, 1)
    speeds = speeds + gained(opens, stops) + 0.5 * rest[:3]
    return stops + 0.5, lambda r: {
        "opens": when(r, "back.opens") - opens, "stops": when(r, "band.sticks") - stops,
        "sun": r["sun.angle.rate"][-1] / speeds[0] - 1, "carrier": r["carrier.angle.rate"][-1] - speeds[2],
        "torque": abs(r["band.friction"][-1]) - abs(rest[4]),
    }  # fmt: skip


def spinning_balls_collide(plan: Plan) -> Problem:
    """Two balls of different sizes, spinning about all axes, strike each other aside, with friction."""
    radii, masses, mu, back = (0.1, 0.15), (0.3, 0.7), 0.12, 0.8
    places = np.array([[-1.0, 0.1, 0.05], [0, 0, 0]])
    v, w = np.array([[4.0, 0, 0], [0, -0.1, 0.2]]), np.array([[10.0, -20, 30], [-5, 0, 12]])
    inertias = [0.4 * m * r**2 for m, r in zip(masses, radii, strict=True)]
    balls = [
        plan.body(f"ball{k}", masses[k], inertias[k], places[k], velocity=v[k], angular_velocity=w[k]) for k in range(2)
    ]
    plan.add("hit", Contact(balls[1].sphere(radii[1]), balls[0].sphere(radii[0]), mu=mu, restitution=back))
    apart, closing = places[0] - places[1], v[0] - v[1]
    meets = float(brentq(lambda t: np.linalg.norm(apart + closing * t) - sum(radii), 0, 0.24, xtol=1e-16))
    n = (apart + closing * meets) / sum(radii)
    slip = closing - (closing @ n) * n - radii[0] * np.cross(w[0], n) - radii[1] * np.cross(w[1], n)
    unit = 1 / masses[0] + 1 / masses[1]
    press = -(1 + back) * (closing @ n) / unit
    size = np.linalg.norm(slip)
    blow = press * n - min(mu * press, size / (3.5 * unit)) * slip / size
    after = [v[0] + blow / masses[0], v[1] - blow / masses[1]]
    spins = [w[k] - radii[k] * np.cross(n, blow) / inertias[k] for k in range(2)]

    def errors(result: Result) -> Errors:
        found = {"meets": when(result, "hit.strikes") - meets}
        for k in range(2):
            found[f"speed {k}"] = float(np.abs(plan.seen(result, f"ball{k}", "velocity") - after[k]).max())
            spin = plan.seen(result, f"ball{k}", "angular_velocity") - spins[k]
            found[f"spin {k}"] = float(radii[k] * np.abs(spin).max())
        return found

    return meets + 0.01, errors


def rope_between_tumbling_bodies(plan: Plan) -> Problem:
    """A rope between points off the centres of two bodies in space goes taut: both get speed and spin."""
    masses, inertias, length, back = (1.0, 2.0), (0.05, 0.2), 1.2, 0.3
    arms = np.array([[0.1, 0.2, -0.1], [-0.2, 0, 0.15]])
    places, v = np.array([[0.4, 0, 0], [-0.4, 0, 0]]), np.array([[1.0, 0.2, 0], [-0.5, 0, 0.3]])
    w = np.array([[0, 0, 3.0], [2.0, 0, 0]])
    bodies = [
        plan.body(f"body{k}", masses[k], inertias[k], places[k], velocity=v[k], angular_velocity=w[k]) for k in range(2)
    ]
    plan.add("rope", Tether(bodies[0].at(*arms[0]), bodies[1].at(*arms[1]), longest=length, restitution=back))

    def turned(k: int, t: float) -> np.ndarray:
        return Rotation.from_rotvec(w[k] * t).apply(arms[k])

    def apart(t: float) -> np.ndarray:
        return places[0] + v[0] * t + turned(0, t) - places[1] - v[1] * t - turned(1, t)

    grid = np.linspace(0, 2, 2000)
    first = next(k for k in range(1, 2000) if np.linalg.norm(apart(grid[k])) > length)
    span = grid[first - 1], grid[first]
    taut = float(brentq(lambda t: np.linalg.norm(apart(t)) - length, *span, xtol=1e-16))
    n, levers = apart(taut) / length, [turned(k, taut) for k in range(2)]
    speed = n @ (v[0] + np.cross(w[0], levers[0]) - v[1] - np.cross(w[1], levers[1]))
    unit = sum(1 / masses[k] + np.sum(np.cross(levers[k], n) ** 2) / inertias[k] for k in range(2))
    blow = -(1 + back) * speed / unit * n

    def errors(result: Result) -> Errors:
        found = {"taut": strikes(result)[0] - taut}
        for k, sign in enumerate((1, -1)):
            after = v[k] + sign * blow / masses[k], w[k] + sign * np.cross(levers[k], blow) / inertias[k]
            for kind, wanted in zip(("velocity", "angular_velocity"), after, strict=True):
                found[f"{kind} {k}"] = float(np.abs(plan.seen(result, f"body{k}", kind) - wanted).max())
        return found

    return taut + 1e-3, errors


def clattering_rod(plan: Plan) -> Problem:
    """A rod falls almost flat on a smooth floor and clatters from end to end: nine blows."""
    half, mass, back, tilt, high = 0.5, 1.0, 0.6, 0.1, 0.3
    inertia = mass * half**2 / 3
    plan.gravity(0, -G, 0)
    rod = plan.body("rod", mass, inertia)
    y, v, angle, turn, t = high + half * np.sin(tilt), 0.0, tilt, 0.0, 0.0
    plan.add("plane", Planar(plan.ground, rod, y=y, angle=angle))
    ends = rod.points((-half, 0, 0), (half, 0, 0))
    plan.add("floor", Contact(plan.ground.plane("y"), ends, restitution=back))
    grid, blows = np.linspace(1e-9, 0.6, 20_001), []
    for _ in range(9):
        met = []
        for end in (-1, 1):

            def height(s: Any, now: tuple = (y, v, angle, turn, end)) -> Any:
                return now[0] + now[1] * s - G * s * s / 2 + now[4] * half * np.sin(now[2] + now[3] * s)

            through = np.flatnonzero((height(grid[1:]) < 0) & (height(grid[:-1]) >= 0))
            if through.size:
                met.append((float(brentq(height, grid[through[0]], grid[through[0] + 1], xtol=1e-16)), end))
        s, end = min(met)
        t, y, v, angle = t + s, y + v * s - G * s * s / 2, v - G * s, angle + turn * s
        blows.append((t, f"floor.{(end + 1) // 2}.strikes"))
        arm = end * half * np.cos(angle)
        blow = -(1 + back) * (v + turn * arm) / (1 / mass + arm * arm / inertia)
        v, turn = v + blow / mass, turn + arm * blow / inertia

    def errors(result: Result) -> Errors:
        found = [entry for entry in result.statistics["events"] if entry[1].endswith("strikes")][:9]
        assert [name for _, name in found] == [name for _, name in blows]
        return {"blows": max(abs(a - b) for (a, _), (b, _) in zip(found, blows, strict=True))}

    return t + 1e-3, errors


def ball_rolls_on_a_rolling_ball(plan: Plan) -> Problem:
    """A small ball rolls down a large one, which rolls away on the floor; by Lagrange's equations of both."""
    heavy, wide, mass, radius, start, until = 2.0, 0.5, 0.3, 0.1, 0.15, 0.7
    plan.gravity(0, 0, -G)
    reach = wide + radius
    low = plan.body("low", heavy, 0.4 * heavy * wide**2, (0, 0, wide))
    place = (reach * np.sin(start), 0, wide + reach * np.cos(start))
    top = plan.body("top", mass, 0.4 * mass * radius**2, place)
    plan.add("floor", Contact(plan.ground.plane(), low.sphere(wide), mu=9.0))
    plan.add("touch", Contact(low.sphere(wide), top.sphere(radius), mu=9.0))
    q, v = ca.SX.sym("q", 2), ca.SX.sym("v", 2)  # way of the large ball, angle of the line between the centres
    spin = (reach * v[1] - v[0]) / radius
    speed = (v[0] + reach * v[1] * ca.cos(q[1])) ** 2 + (reach * v[1] * ca.sin(q[1])) ** 2
    kinetic = 0.7 * heavy * v[0] ** 2 + mass * speed / 2 + 0.2 * mass * radius**2 * spin**2
    momenta = ca.gradient(kinetic, v)
    forces = ca.gradient(kinetic - mass * G * reach * ca.cos(q[1]), q) - ca.jacobian(momenta, q) @ v
    rates = ca.Function("rates", [q, v], [ca.solve(ca.jacobian(momenta, v), forces)])
    start_state = [0.0, start, 0.0, 0.0]
    _, end = followed(lambda _, y: [*y[2:], *np.array(rates(y[:2], y[2:])).ravel()], (0, until), start_state)
    return until, lambda r: {
        "low": plan.seen(r, "low")[0] - end[0], "top": plan.seen(r, "top")[0] - end[0] - reach * np.sin(end[1]),
        "events": len(r.statistics["events"]),
    }  # fmt: skip


def drill_string(plan: Plan) -> Problem:
    """A bit on a soft string that is turned evenly sticks and slips, for its friction falls with speed."""
    inertia, k, damping, pace, static, kinetic, falls, until = 3.0, 40.0, 0.2, 2.0, 12.0, 5.0, 0.5, 8.0
    top = plan.add("top", Revolute(plan.ground, plan.body("table", 1.0, 1.0), axis="z", angle_rate=pace))
    plan.add("drive", Drive(top, pace * time))
    bit = plan.add("bit", Revolute(plan.ground, plan.body("collar", 1.0, inertia), axis="z"))
    plan.add("string", JointEffort(bit, k * (top.angle - bit.angle) - damping * bit.angle_rate))
    plan.add("rubs", DryFriction(bit, preload=kinetic, preload_static=static, stribeck=falls))

    def rate(t: float, y: np.ndarray) -> list[float]:
        rubs = kinetic + (static - kinetic) * np.exp(-((y[1] / falls) ** 2))
        return [y[1], (k * (pace * t - y[0]) - damping * y[1] - rubs) / inertia]

    def stopped(_: float, y: np.ndarray) -> float:
        return y[1]

    stopped.terminal, stopped.direction = True, -1  # type: ignore[attr-defined]
    wanted, angle, short = [], 0.0, 1e-5
    while True:
        wanted.append((static / k + angle) / pace)
        begun = [angle + k * pace / inertia * short**3 / 6, k * pace / inertia * short**2 / 2]  # slip begins slowly
        slid = solve_ivp(rate, (wanted[-1] + short, until + 5), begun, events=stopped, **TIGHT)
        wanted.append(float(slid.t[-1]))
        angle = float(slid.y[0, -1])
        if wanted[-1] > until:
            break
    wanted = [t for t in wanted if t < until]

    def errors(result: Result) -> Errors:
        found = [t for t, _ in result.statistics["events"]]
        assert len(found) == len(wanted)
        return {"events": float(np.abs(np.subtract(found, wanted)).max())}

    return until, errors


def front_wheel_locks(plan: Plan) -> Problem:
    """A motorcycle is braked harder and harder in front: weight goes there, the tyre slips, the wheel comes to rest."""
    frame, high, base, wheel, spin, radius, grow, mu, fast = 150.0, 0.6, 1.4, 10.0, 0.4, 0.3, 400.0, 0.8, 20.0
    plan.gravity(0, -G, 0)
    body = plan.body("frame", frame, 20.0)
    plan.add("plane", Planar(plan.ground, body, y=high, x_rate=fast))
    for name, x in (("rear", -base / 2), ("front", base / 2)):
        hub = plan.body(name, wheel, spin)
        at = body.at(x, radius - high, 0)
        plan.add(f"hub_{name}", Revolute(at, hub, axis="z", angle_rate=-fast / radius))
        plan.add(f"tyre_{name}", Contact(plan.ground.plane("y"), hub.circle(radius, axis="z"), mu=mu))
    plan.add("brake", Brake(plan.elements["hub_front"], limit=grow * time))
    mass, rear = frame + 2 * wheel, spin / radius**2
    weight, moment = mass * G, (frame / 2 + wheel) * base * G  # about where the front wheel stands
    tips = frame * high + 2 * wheel * radius + spin / radius

    def rolling(t: float) -> tuple[float, float]:
        """Deceleration, and how far friction in front is beyond its limit."""
        slow = grow * t / radius / (mass + 2 * rear)
        lifted = (moment - (tips + spin / radius) * slow) / base
        return slow, (mass + rear) * slow - mu * (weight - lifted)

    def slipping(t: float) -> float:
        """How the front wheel loses speed."""
        rows = [[mass + rear, 0, -mu], [0, spin, mu * radius], [tips, spin, -base]]
        return float(np.linalg.solve(rows, [0, grow * t, moment - base * weight])[1])

    slips = brentq(lambda t: rolling(t)[1], 0, 5, xtol=1e-15)
    turning = (fast - rolling(1.0)[0] * slips**2 / 2) / radius

    def left(t: float) -> float:  # what the wheel loses grows evenly
        return turning - (t - slips) * slipping((slips + t) / 2)

    locks = brentq(left, slips, 5, xtol=1e-15)
    return locks + 0.05, lambda r: {
        "slips": when(r, "tyre_front.slips") - slips, "locks": when(r, "brake.sticks", -1) - locks,
    }  # fmt: skip


def drawer_in_its_guide(plan: Plan) -> Problem:
    """A drawer is pulled beside its middle: opposite corners bear, and rub."""
    mass, long, wide, aside, pull, mu, until = 2.0, 0.4, 0.3, 0.2, 5.0, 0.5, 0.5
    drawer = plan.body("drawer", mass, 0.05)
    plan.add("plane", Planar(plan.ground, drawer))
    for name, y, turn in (("low", -wide / 2, 0.0), ("top", wide / 2, np.pi)):
        side = plan.ground.at(0, y, 0, orientation=rotation("z", turn))
        corners = drawer.points((-long / 2, y, 0), (long / 2, y, 0))
        plan.add(name, Contact(side.plane("y"), corners, mu=mu))
    plan.add("pull", JointEffort(plan.elements["plane"], pull, coordinate="x"))
    plan.add("turn", JointEffort(plan.elements["plane"], -pull * aside, coordinate="angle"))
    normal = pull * aside / long
    return until, lambda r: {
        "way": r["plane.x"][-1] - (pull - 2 * mu * normal) / mass * until**2 / 2, "y": r["plane.y"][-1],
        "normal": max(r["top.0.normal"][-1], r["top.1.normal"][-1]) - normal,
    }  # fmt: skip


EXTREMES = [
    light_disc_between_clutches, blocks_count_pi, hardly_any_loss, epicyclic_train, spinning_balls_collide,
    rope_between_tumbling_bodies, clattering_rod, ball_rolls_on_a_rolling_ball, drill_string, front_wheel_locks,
    drawer_in_its_guide,
]  # fmt: skip
QUICK_EXTREMES = [light_disc_between_clutches, blocks_count_pi, rope_between_tumbling_bodies]
