"""Machines whose contacts part and meet again, with exact answers: flights, and strokes on a lever by three laws."""

from __future__ import annotations

import casadi as ca
import numpy as np
from nonsmooth.exact_combinations import shaft
from nonsmooth.exact_machines import G, Plan, Problem, when
from scipy.integrate import quad
from scipy.optimize import brentq

from kompono import rotation, time
from kompono.library import Contact, EndStops, Gear, JointEffort, Planar, Prismatic


def ball_in_air(plan: Plan) -> Problem:
    """A ball bounces with quadratic drag."""
    fastest, height, e = 8.0, 3.0, 0.7
    rail = plan.add("rail", Prismatic(plan.ground, plan.body("ball", 0.4, 1e-3), axis="z", displacement=height))
    speed = rail.displacement_rate
    plan.add("air", JointEffort(rail, -0.4 * G * (1 + speed * ca.fabs(speed) / fastest**2)))
    plan.add("floor", EndStops(rail, 0.0, 10.0, restitution=e))
    t, found = 0.0, []
    for _ in range(5):
        fall = fastest / G * np.arccosh(np.exp(G * height / fastest**2))
        t += fall
        found.append(t)
        up = e * fastest * np.tanh(G * fall / fastest)
        t += fastest / G * np.arctan(up / fastest)
        height = fastest**2 / (2 * G) * np.log(1 + (up / fastest) ** 2)
    until = found[-1] + 0.01
    return until, lambda r: {f"strike {k}": when(r, "floor.lower.strikes", k) - found[k] for k in range(5)}


def teeth_that_part(plan: Plan) -> Problem:
    """A torque that swings lets the teeth of a loaded gear part, cross some of their play and meet again."""
    one, two, drag, pull, w, e = 0.5, 1.5, 2.0, 6.0, 5.0, 0.6
    motor, load = shaft(plan, "motor", one), shaft(plan, "load", two)
    plan.add("torque", JointEffort(motor, drag + pull * ca.sin(w * time)))
    plan.add("weight", JointEffort(load, -drag))
    plan.add("mesh", Gear(motor, load, ratio=1.0, backlash=0.5, restitution=e))
    # closed on the driving flank: what the teeth bear is drag + two a, a = pull sin / (one + two)
    crosses = 0.25
    a, b = drag / one, pull / (one * w)  # driving part until the flank is met: from the middle of the play

    def apart(t: float) -> float:
        return a * t * t / 2 + b * (t - np.sin(w * t) / w) + drag / two * t * t / 2 - crosses

    meets = float(brentq(apart, 0, 1, xtol=1e-15))
    motor_speed = a * meets + b * (1 - np.cos(w * meets))
    load_speed = -drag / two * meets
    blow = (1 + e) * (motor_speed - load_speed) / (1 / one + 1 / two)
    after = motor_speed - blow / one - load_speed - blow / two  # of the motor against the load

    def gap(t: float) -> float:
        s = t - meets
        free = after * s + (drag / one + drag / two) * s * s / 2
        return free + b * (s * np.cos(w * meets) - (np.sin(w * t) - np.sin(w * meets)) / w)

    again = float(brentq(gap, meets + 1e-3, meets + 2, xtol=1e-15))
    return again + 1e-3, lambda r: {
        "meets": when(r, "mesh.drive.strikes") - meets, "again": when(r, "mesh.drive.strikes", 1) - again,
    }  # fmt: skip


def hopper(plan: Plan) -> Problem:
    """A mass on a spring above a foot: it pulls the foot off the floor, which comes back without bouncing."""
    body, foot, k, squeezed = 2.0, 0.5, 400.0, 0.18
    upper = plan.add("upper", Prismatic(plan.ground, plan.body("body", body, 0.1), axis="z", displacement=-squeezed))
    lower = plan.add("lower", Prismatic(plan.ground, plan.body("foot", foot, 0.1), axis="z"))
    spring = -k * (upper.displacement - lower.displacement)
    plan.add("pull", JointEffort(upper, spring - body * G))
    plan.add("back", JointEffort(lower, -spring - foot * G))
    plan.add("floor", EndStops(lower, 0.0, 5.0))
    w, rest = np.sqrt(k / body), -body * G / k
    swing, lift = squeezed + rest, foot * G / k
    leaves = np.arccos((rest - lift) / swing) / w
    speed = swing * w * np.sin(w * leaves)
    # flight: the centre of mass falls, the spring swings about nothing
    both = body + foot
    fast = np.sqrt(k * both / (body * foot))

    def height(s: float) -> float:
        centre = body * lift / both + body * speed / both * s - G * s * s / 2
        return centre - body / both * (lift * np.cos(fast * s) + speed / fast * np.sin(fast * s))

    grid = np.linspace(1e-3, 1, 4000)
    k0 = next(i for i in range(1, 4000) if height(grid[i]) < 0 < height(grid[i - 1]))
    lands = leaves + float(brentq(height, grid[k0 - 1], grid[k0], xtol=1e-15))
    return lands + 1e-3, lambda r: {
        "leaves": when(r, "floor.lower.opens") - leaves, "lands": when(r, "floor.lower.strikes") - lands,
    }  # fmt: skip


def sledge_over_an_edge(plan: Plan) -> Problem:
    """A particle on a hill that curves more and more flies off, and lands further down."""
    x0, v0 = 0.1, 1.5
    x = ca.SX.sym("x")
    shape = -(x**4) / (0.2 + x**4)
    slope = ca.jacobian(shape, x)
    found = ca.Function("hill", [x], [shape, slope, ca.jacobian(slope, x)])

    def hill(place: float, order: int = 0) -> float:
        return float(found(place)[order])

    plan.gravity(0, 0, -G)
    bead = plan.body("bead", 0.3, 1e-3)
    along = np.array([1, hill(x0, 1)]) / np.hypot(1, hill(x0, 1))
    start = {"x": x0, "y": hill(x0), "x_rate": v0 * along[0], "y_rate": v0 * along[1]}
    turned = rotation("x", np.pi / 2)  # x along, y up
    plan.add(
        "plane", Planar(plan.ground.at(0, 0, 0, orientation=turned), bead.at(0, 0, 0, orientation=turned), **start)
    )
    track = plan.ground.profile(lambda s: -(s**4) / (0.2 + s**4))
    plan.add("track", Contact(track, bead.point()))

    def square(x: float) -> float:
        return v0**2 + 2 * G * (hill(x0) - hill(x))

    def pressed(x: float) -> float:
        return G + square(x) * hill(x, 2) / (1 + hill(x, 1) ** 2)

    grid = np.linspace(x0, 1, 200)
    k = next(k for k in range(199) if pressed(grid[k + 1]) < 0)
    leaves = float(brentq(pressed, grid[k], grid[k + 1], xtol=1e-15))
    moment = quad(lambda x: np.sqrt((1 + hill(x, 1) ** 2) / square(x)), x0, leaves, epsabs=1e-14)[0]
    u = np.sqrt(square(leaves) / (1 + hill(leaves, 1) ** 2))

    def over(s: float) -> float:
        return hill(leaves) + hill(leaves, 1) * u * s - G * s * s / 2 - hill(leaves + u * s)

    lands = moment + float(brentq(over, 0.1, 1.0, xtol=1e-15))
    return lands + 1e-3, lambda r: {
        "leaves": when(r, "track.opens") - moment, "lands": when(r, "track.strikes") - lands,
    }  # fmt: skip


def break_shot(plan: Plan) -> Problem:
    """A ball strikes two that touch each other, both at once."""
    radius, mass, speed, e = 0.05, 0.2, 2.0, 0.8
    side = np.cos(np.pi / 6)
    places = {"white": (-0.5, 0.0), "left": (2 * radius * side, radius), "right": (2 * radius * side, -radius)}
    balls = {}
    for name, (x, y) in places.items():
        velocity = {"velocity": (speed, 0, 0)} if name == "white" else {}
        balls[name] = plan.body(name, mass, 0.4 * mass * radius**2, (x, y, 0), **velocity)
    names = [("white", "left"), ("white", "right"), ("left", "right")]
    for one, other in names:
        plan.add(f"{one}_{other}", Contact(balls[one].sphere(radius), balls[other].sphere(radius), restitution=e))
    blow = (1 + e) * speed * side / (1 + 2 * side**2)
    meets = 0.5 / speed
    return meets + 0.1, lambda r: {
        "meets": when(r, "white_left.strikes") - meets,
        "white": plan.seen(r, "white", "velocity")[0] - (speed - 2 * blow * side),
        "left": plan.seen(r, "left", "velocity")[0] - blow * side,
        "aside": plan.seen(r, "left", "velocity")[1] - blow / 2,
    }  # fmt: skip


def rod_strikes(plan: Plan, law: str = "poisson", mu: float = 0.2, e: float = 0.6, tilt: float = 1.1) -> Problem:
    """A rod falls on its lower end and slides there: normal and tangent are coupled, and slip stops or turns round."""
    mass, half, u, v, w = 1.2, 0.5, 0.4, 2.0, 0.5
    inertia = mass * (2 * half) ** 2 / 12
    rod = plan.body("rod", mass, inertia)
    fall = 1e-2
    x, y = half * np.cos(tilt), half * np.sin(tilt)
    meets = None
    # no gravity: the tip meets the floor while the rod turns
    plan.add("plane", Planar(plan.ground, rod, x=0.0, y=y + fall, angle=tilt, x_rate=u, y_rate=-v, angle_rate=w))
    plan.add("tip", Contact(plan.ground.plane("y"), rod.at(-half, 0, 0).point(), mu=mu, restitution=e, impact=law))
    meets = float(brentq(lambda t: y + fall - v * t - half * np.sin(tilt + w * t), 0, 0.1, xtol=1e-16))
    angle = tilt + w * meets
    x, y = half * np.cos(angle), half * np.sin(angle)  # from the tip to the centre
    # velocity of the tip (t, n) = (u + w y, v_y - w x); unit impulses there
    unit = np.array([[1 / mass + y * y / inertia, -x * y / inertia], [-x * y / inertia, 1 / mass + x * x / inertia]])
    tip = np.array([u + w * y, -v - w * x])
    impulse = stroke(unit, tip, mu, e, law)
    return meets + 1e-3, lambda r: {
        "meets": when(r, "tip.strikes") - meets,
        "x": r["plane.x.rate"][-1] - (u + impulse[0] / mass), "y": r["plane.y.rate"][-1] - (-v + impulse[1] / mass),
        "turn": r["plane.angle.rate"][-1] - (w + (y * impulse[0] - x * impulse[1]) / inertia),
    }  # fmt: skip


def stroke(unit: np.ndarray, before: np.ndarray, mu: float, e: float, law: str) -> np.ndarray:
    """Impulse (tangent, normal) of one rough stroke, in many small pieces of its normal impulse, each exact."""
    velocity, impulse, work, squeezed = before.copy(), np.zeros(2), 0.0, None
    lost = needed = None
    while True:
        sticks = abs(velocity[0]) < 1e-15
        hold = -unit[0, 1] / unit[0, 0]
        if sticks and abs(hold) <= mu:
            share = hold
        elif sticks:
            share = mu * np.sign(hold)  # slip begins against the way it is pulled
        else:
            share = -mu * np.sign(velocity[0])
        grows = unit @ np.array([share, 1.0])
        pieces = []
        if not sticks and velocity[0] * grows[0] < 0:
            pieces.append(-velocity[0] / grows[0])
        if squeezed is None:
            pieces.append(-velocity[1] / grows[1])
        elif law == "poisson":
            pieces.append((1 + e) * squeezed - impulse[1])
        elif law == "newton":
            pieces.append((-e * before[1] - velocity[1]) / grows[1])
        else:  # work of expansion: v p + grows p^2 / 2 = needed - done
            left = needed - (work - lost)
            pieces.append((-velocity[1] + np.sqrt(velocity[1] ** 2 + 2 * grows[1] * left)) / grows[1])
        p = min(pieces)
        work += velocity[1] * p + grows[1] * p * p / 2
        velocity, impulse = velocity + grows * p, impulse + p * np.array([share, 1.0])
        if pieces.index(p) == len(pieces) - 1:
            if squeezed is not None:
                return impulse
            squeezed, lost = impulse[1], work
            needed = -(e**2) * work
            velocity[1] = 0.0
        else:
            velocity[0] = 0.0


def rod_grips(plan: Plan) -> Problem:
    """Enough friction that slip ends."""
    return rod_strikes(plan, mu=0.9)


def rod_by_energy(plan: Plan) -> Problem:
    """Stronge's law."""
    return rod_strikes(plan, "stronge", mu=0.5)


def rod_by_speeds(plan: Plan) -> Problem:
    """Newton's law."""
    return rod_strikes(plan, "newton", mu=0.5)


FLIGHTS = [
    ball_in_air, teeth_that_part, hopper, sledge_over_an_edge, break_shot, rod_strikes, rod_grips, rod_by_energy,
    rod_by_speeds,
]  # fmt: skip
QUICK_FLIGHTS = [teeth_that_part, sledge_over_an_edge, rod_by_energy]
