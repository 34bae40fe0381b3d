"""An independent answer: the dense equations of motion of a mechanism in maximal coordinates, plain NumPy.

Nothing here uses the package. A mechanism is a plain description (carriers, marks on them, connections, loads); its
state is the world pose and twist of every carrier. Each connection gives rows J with

    g_dot = J V + g_t,      g_ddot = J V_dot + u,      V = (v, w) of every carrier, world axes, at centres of mass

written out by hand. Accelerations are those nearest to the free ones in the metric of the mass matrix that satisfy
J V_dot + u = 0 (Gauss), by singular values, so dependent rows do no harm: the wrenches J^T lambda on bodies are unique.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

RANK = 1e-8
Array = np.ndarray


def hat(a: Array) -> Array:
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


def turn(axis: Array, angle: float) -> Array:
    k = hat(axis)
    return np.eye(3) + np.sin(angle) * k + (1.0 - np.cos(angle)) * (k @ k)


def quaternion_to_matrix(e: Array) -> Array:
    k = hat(e[1:])
    return np.eye(3) + 2.0 * e[0] * k + 2.0 * (k @ k)


def across(axis: Array) -> tuple[Array, Array]:
    """The in-plane axes u, v of a planar joint across `axis`: the next coordinate axis made perpendicular, and axis
    x u.
    """
    u = np.eye(3)[(int(np.argmax(np.abs(axis))) + 1) % 3]
    u = u - axis * (u @ axis)
    u /= np.linalg.norm(u)
    return u, np.cross(axis, u)


@dataclass(frozen=True)
class Wave:
    """c0 + c1 t + c2 sin(c3 t + c4), with its derivatives; `symbol` makes the same of any time and sine."""

    c: tuple[float, float, float, float, float] = (0.0, 0.0, 0.0, 1.0, 0.0)

    def symbol(self, time: Any, sine: Callable[[Any], Any]) -> Any:
        return self.c[0] + self.c[1] * time + self.c[2] * sine(self.c[3] * time + self.c[4])

    def at(self, t: float) -> tuple[float, float, float]:
        c0, c1, c2, c3, c4 = self.c
        s, k = np.sin(c3 * t + c4), np.cos(c3 * t + c4)
        return c0 + c1 * t + c2 * s, c1 + c2 * c3 * k, -c2 * c3**2 * s


@dataclass
class Solid:
    mass: float
    inertia: Array


@dataclass
class Guided:
    """A ground: position (three waves), turned by two waves about two constant axes one after the other."""

    position: tuple[Wave, Wave, Wave]
    axes: tuple[Array, Array]
    angles: tuple[Wave, Wave]

    def motion(self, t: float) -> tuple[Array, ...]:
        """x, A, v, w, v_dot, w_dot at time t."""
        p = np.array([wave.at(t) for wave in self.position])
        (a1, r1, s1), (a2, r2, s2) = (wave.at(t) for wave in self.angles)
        n1, first = self.axes[0], turn(self.axes[0], a1)
        n2 = first @ self.axes[1]
        w1 = n1 * r1
        return (
            p[:, 0], first @ turn(self.axes[1], a2), p[:, 1], w1 + n2 * r2,
            p[:, 2], n1 * s1 + n2 * s2 + np.cross(w1, n2) * r2,
        )  # fmt: skip


@dataclass
class Mark:
    """A frame fixed on carrier number `on`."""

    on: int
    position: Array
    rotation: Array


@dataclass
class Connection:
    """A joint or constraint from mark `first` to mark `second`; q are its coordinates at the state."""

    kind: str
    first: Mark
    second: Mark
    axis: Array = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))
    axis2: Array = field(default_factory=lambda: np.array([1.0, 0.0, 0.0]))
    pitch: float = 0.0
    length: Wave = field(default_factory=Wave)
    q: Array = field(default_factory=lambda: np.zeros(0))
    name: str = ""


@dataclass
class Gearing:
    """second = ratio first + offset (numbers of a connection and of one of its coordinates)."""

    first: tuple[int, int]
    second: tuple[int, int]
    ratio: float
    offset: float
    name: str = ""


@dataclass
class Driving:
    joint: tuple[int, int]
    motion: Wave
    name: str = ""


@dataclass
class Spring:
    first: Mark
    second: Mark
    k: float
    c: float
    rest: float


@dataclass
class Mount:
    """A bushing."""

    first: Mark
    second: Mark
    k: Array
    c: Array


@dataclass
class Load:
    frame: Mark
    reaction: Mark | None
    force: tuple[Wave, Wave, Wave]
    torque: tuple[Wave, Wave, Wave]
    body_axes: bool


@dataclass
class Torsion:
    """An effort -k (q - rest) - c q_dot + wave(t) on a coordinate of a joint."""

    joint: tuple[int, int]
    k: float
    c: float
    rest: float
    wave: Wave


@dataclass
class Mechanism:
    carriers: list[Solid | Guided]
    time: float
    x: Array
    A: Array
    v: Array
    w: Array
    joints: list[Connection] = field(default_factory=list)
    constraints: list[Connection] = field(default_factory=list)
    gears: list[Gearing] = field(default_factory=list)
    drives: list[Driving] = field(default_factory=list)
    springs: list[Spring] = field(default_factory=list)
    mounts: list[Mount] = field(default_factory=list)
    loads: list[Load] = field(default_factory=list)
    torsions: list[Torsion] = field(default_factory=list)
    gravity: Array = field(default_factory=lambda: np.array([0.0, 0.0, -9.81]))
    local_gravity: tuple[Array, tuple[int, ...]] | None = None

    @property
    def bodies(self) -> list[int]:
        return [i for i, carrier in enumerate(self.carriers) if isinstance(carrier, Solid)]

    @property
    def grounds(self) -> list[int]:
        return [i for i, carrier in enumerate(self.carriers) if isinstance(carrier, Guided)]

    def twists(self) -> Array:
        return np.hstack([self.v, self.w]).ravel()


# -- rows


@dataclass
class Row:
    jacobian: Array  # over V of all carriers
    u: float
    g_t: float = 0.0

    def __add__(self, other: Row) -> Row:
        return Row(self.jacobian + other.jacobian, self.u + other.u, self.g_t + other.g_t)

    def __rmul__(self, factor: float) -> Row:
        return Row(factor * self.jacobian, factor * self.u, factor * self.g_t)


class Pair:
    """The geometry and motion of two marks in the world."""

    def __init__(self, m: Mechanism, first: Mark, second: Mark) -> None:
        self.size, self.i, self.j = len(m.carriers), first.on, second.on
        self.s1, self.s2 = m.A[first.on] @ first.position, m.A[second.on] @ second.position
        self.e1, self.e2 = m.A[first.on] @ first.rotation, m.A[second.on] @ second.rotation
        self.w1, self.w2 = m.w[first.on], m.w[second.on]
        self.d = m.x[second.on] + self.s2 - m.x[first.on] - self.s1
        self.d_dot = m.v[second.on] + np.cross(self.w2, self.s2) - m.v[first.on] - np.cross(self.w1, self.s1)
        # acceleration of the distance without v_dot, w_dot
        self.centripetal = np.cross(self.w2, np.cross(self.w2, self.s2)) - np.cross(self.w1, np.cross(self.w1, self.s1))

    def row(self, v1: Array, w1: Array, v2: Array, w2: Array, u: float, g_t: float = 0.0) -> Row:
        full = np.zeros((self.size, 6))
        full[self.i] += np.concatenate([v1, w1])
        full[self.j] += np.concatenate([v2, w2])
        return Row(full.ravel(), float(u), g_t)

    def along(self, a: Array) -> Row:
        """g = a . d, with a fixed on the first carrier (world components given)."""
        turning = np.cross(self.w1, a)
        u = a @ self.centripetal + 2.0 * turning @ self.d_dot + np.cross(self.w1, turning) @ self.d
        return self.row(-a, np.cross(a, self.d) - np.cross(self.s1, a), a, np.cross(self.s2, a), u)

    def product(self, a: Array, b: Array) -> Row:
        """g = a . b, a fixed on the first and b on the second carrier."""
        ta, tb = np.cross(self.w1, a), np.cross(self.w2, b)
        u = np.cross(self.w1, ta) @ b + 2.0 * ta @ tb + a @ np.cross(self.w2, tb)
        zero = np.zeros(3)
        return self.row(zero, np.cross(a, b), zero, np.cross(b, a), u)

    def spin(self, a: Array, on_second: bool = False) -> Row:
        """Rate a . (w2 - w1), a fixed on one of the carriers; not the rate of any g, but of an angle where a is its
        axis.
        """
        carrier = self.w2 if on_second else self.w1
        zero = np.zeros(3)
        return self.row(zero, -a, zero, a, np.cross(carrier, a) @ (self.w2 - self.w1))

    def distance(self, wave: Wave, t: float) -> Row:
        """g = (d . d - L^2) / 2."""
        length, rate, second = wave.at(t)
        u = self.d @ self.centripetal + self.d_dot @ self.d_dot - rate**2 - length * second
        return self.row(-self.d, -np.cross(self.s1, self.d), self.d, np.cross(self.s2, self.d), u, -length * rate)


def connection_rows(m: Mechanism, c: Connection) -> list[Row]:
    """The conditions of a joint or constraint."""
    pair = Pair(m, c.first, c.second)
    first, second = pair.e1, pair.e2
    u, v = (first @ x for x in across(c.axis))
    axis1, axis2 = first @ c.axis, second @ c.axis
    point = [pair.along(first[:, k]) for k in range(3)]
    on_line = [pair.along(u), pair.along(v)]
    aligned = [pair.product(u, axis2), pair.product(v, axis2)]
    parallel = [pair.product(first[:, a], second[:, b]) for a, b in ((0, 1), (1, 2), (2, 0))]
    return {
        "weld": lambda: point + parallel,
        "revolute": lambda: point + aligned,
        "prismatic": lambda: on_line + parallel,
        "cylindrical": lambda: on_line + aligned,
        "screw": lambda: [*on_line, *aligned, pair.along(axis1) + -c.pitch * pair.spin(axis1)],
        "universal": lambda: [*point, pair.product(axis1, second @ c.axis2)],
        "spherical": lambda: point,
        "planar": lambda: [pair.along(axis1), *aligned],
        "free": lambda: [],
        "distance": lambda: [pair.distance(c.length, m.time)],
        "point_on_line": lambda: on_line,
        "point_in_plane": lambda: [pair.along(axis1)],
        "plane_to_plane": lambda: [pair.along(axis1), *aligned],
        "parallel_axes": lambda: aligned,
    }[c.kind]()


def speed_rows(m: Mechanism, c: Connection) -> list[Row]:
    """Rows that give the speeds v of a joint (and, with u, their rates) wherever its conditions hold."""
    pair = Pair(m, c.first, c.second)
    axis = pair.e1 @ c.axis
    turns = [pair.spin(pair.e2[:, k], True) for k in range(3)]
    in_plane = [pair.e1 @ x for x in across(c.axis)]
    return {
        "weld": lambda: [],
        "revolute": lambda: [pair.spin(axis)],
        "prismatic": lambda: [pair.along(axis)],
        "cylindrical": lambda: [pair.along(axis), pair.spin(axis)],
        "screw": lambda: [pair.spin(axis)],
        "universal": lambda: [pair.spin(axis), pair.spin(pair.e2 @ c.axis2, True)],
        "spherical": lambda: turns,
        "planar": lambda: [pair.along(in_plane[0]), pair.along(in_plane[1]), pair.spin(axis)],
        "free": lambda: [second_axes(pair, k) for k in range(3)] + turns,
    }[c.kind]()


def second_axes(pair: Pair, k: int) -> Row:
    """Velocity of the second origin relative to the first frame, along axis k of the second; its u is not needed."""
    a = pair.e2[:, k]
    return pair.row(-a, -np.cross(pair.s1 + pair.d, a), a, np.cross(pair.s2, a), 0.0)


def all_rows(m: Mechanism) -> tuple[list[Row], list[tuple[str, int]]]:
    """All conditions and, per row, whose they are: (kind of element, number)."""
    rows: list[Row] = []
    owners: list[tuple[str, int]] = []

    def take(new: list[Row], what: str, number: int) -> None:
        rows.extend(new)
        owners.extend([(what, number)] * len(new))

    for number, c in enumerate(m.joints):
        take(connection_rows(m, c), "joint", number)
    for number, c in enumerate(m.constraints):
        take(connection_rows(m, c), "constraint", number)
    for number, gear in enumerate(m.gears):
        first, second = (speed_rows(m, m.joints[j])[k] for j, k in (gear.first, gear.second))
        take([second + -gear.ratio * first], "gear", number)
    for number, drive in enumerate(m.drives):
        row = speed_rows(m, m.joints[drive.joint[0]])[drive.joint[1]]
        _, rate, second = drive.motion.at(m.time)
        take([row + Row(np.zeros_like(row.jacobian), -second, -rate)], "drive", number)
    return rows, owners


# -- loads


def applied(m: Mechanism) -> Array:
    """Wrench on every carrier (n, 6): force and torque about its centre, world axes, gravity included."""
    total = np.zeros((len(m.carriers), 6))

    def at_point(carrier: int, arm: Array, force: Array, torque: Array) -> None:
        total[carrier] += np.concatenate([force, torque + np.cross(arm, force)])

    for i in m.bodies:
        total[i, :3] += m.carriers[i].mass * m.gravity
    if m.local_gravity is not None:
        for i in m.local_gravity[1]:
            total[i, :3] += m.carriers[i].mass * m.local_gravity[0]
    for spring in m.springs:
        pair = Pair(m, spring.first, spring.second)
        length = np.linalg.norm(pair.d)
        e = pair.d / length
        pull = (spring.k * (length - spring.rest) + spring.c * (e @ pair.d_dot)) * e
        at_point(pair.i, pair.s1, pull, np.zeros(3))
        at_point(pair.j, pair.s2, -pull, np.zeros(3))
    for mount in m.mounts:
        pair = Pair(m, mount.first, mount.second)
        force, torque = mount_wrench(pair, mount)
        at_point(pair.j, pair.s2, force, torque)
        at_point(pair.i, pair.s1 + pair.d, -force, -torque)
    for load in m.loads:
        apply_load(m, load, at_point)
    for torsion in m.torsions:
        joint, k = torsion.joint
        row = speed_rows(m, m.joints[joint])[k]
        rate = row.jacobian @ m.twists()
        position = m.joints[joint].q[k] if len(m.joints[joint].q) == len(speed_rows(m, m.joints[joint])) else 0.0
        effort = -torsion.k * (position - torsion.rest) - torsion.c * rate + torsion.wave.at(m.time)[0]
        total += effort * row.jacobian.reshape(-1, 6)
    return total


def mount_wrench(pair: Pair, mount: Mount) -> tuple[Array, Array]:
    """Force and torque on the second mark: -d/d(motion) of the energy of deflection (p, half the skew part of R)."""
    r = pair.e1.T @ pair.e2
    p = pair.e1.T @ pair.d
    p_dot = pair.e1.T @ (pair.d_dot - np.cross(pair.w1, pair.d))
    w = pair.e1.T @ (pair.w2 - pair.w1)
    half = np.array([r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]]) / 2
    turning = (np.trace(r) * np.eye(3) - r) / 2  # half_dot = turning w
    push = mount.k @ np.concatenate([p, half]) + mount.c @ np.concatenate([p_dot, turning @ w])
    return -pair.e1 @ push[:3], -pair.e1 @ (turning.T @ push[3:])


def apply_load(m: Mechanism, load: Load, at_point: Callable[..., None]) -> None:
    force, torque = (np.array([wave.at(m.time)[0] for wave in waves]) for waves in (load.force, load.torque))
    arm = m.A[load.frame.on] @ load.frame.position
    if load.body_axes:
        axes = m.A[load.frame.on] @ load.frame.rotation
    else:
        axes = np.eye(3) if load.reaction is None else m.A[load.reaction.on] @ load.reaction.rotation
    force, torque = axes @ force, axes @ torque
    at_point(load.frame.on, arm, force, torque)
    if load.reaction is not None:
        other = m.x[load.frame.on] + arm - m.x[load.reaction.on]
        at_point(load.reaction.on, other, -force, -torque)


# -- solutions


@dataclass
class Solution:
    acceleration: Array  # (n, 6) of all carriers: v_dot, w_dot
    constraint_wrench: Array  # (n, 6) J^T lambda, about centres
    multipliers: Array
    rows: list[Row]
    owners: list[tuple[str, int]]
    singular: Array  # singular values of J M^-1/2
    rank: int
    residual: float  # of J V_dot + u, relative

    @property
    def redundant(self) -> int:
        return len(self.rows) - self.rank

    @property
    def clear_rank(self) -> bool:
        """Whether every singular value is either rounding or well away from it."""
        s = self.singular / max(self.singular.max(initial=0.0), 1e-300)
        return not np.any((s > 1e-12) & (s < 2e-3))

    def wrench_of(self, owner: tuple[str, int], size: int) -> Array:
        """(n, 6) of one element."""
        total = np.zeros(6 * size)
        for row, who, value in zip(self.rows, self.owners, self.multipliers, strict=True):
            if who == owner:
                total += row.jacobian * value
        return total.reshape(size, 6)


def columns(m: Mechanism, carriers: list[int]) -> Array:
    return np.array([6 * i + k for i in carriers for k in range(6)], dtype=int)


def project_twists(m: Mechanism) -> float:
    """Change the twists of bodies as little as possible to satisfy all rows; returns what is left over."""
    rows, _ = all_rows(m)
    if not rows:
        return 0.0
    jacobian = np.array([row.jacobian for row in rows])
    g_t = np.array([row.g_t for row in rows])
    movable = columns(m, m.bodies)
    twists = m.twists()
    for _ in range(2):
        twists[movable] -= np.linalg.pinv(jacobian[:, movable], rcond=RANK) @ (jacobian @ twists + g_t)
    moved = twists.reshape(-1, 6)
    m.v, m.w = moved[:, :3].copy(), moved[:, 3:].copy()
    return float(np.abs(jacobian @ twists + g_t).max())


def solve(m: Mechanism, held: Sequence[Row] = (), load: Array | float = 0.0) -> Solution:
    """Accelerations and constraint wrenches, with further rows that are held, and further loads (n, 6)."""
    count = len(m.carriers)
    known = np.zeros((count, 6))
    for i in m.grounds:
        motion = m.carriers[i].motion(m.time)
        known[i] = np.concatenate(motion[4:])
    bodies = m.bodies
    loads = applied(m) + load
    factor = np.zeros((6 * len(bodies), 6 * len(bodies)))  # L of M = L L^T
    force = np.zeros(6 * len(bodies))
    for k, i in enumerate(bodies):
        inertia = m.A[i] @ m.carriers[i].inertia @ m.A[i].T
        block = np.zeros((6, 6))
        block[:3, :3], block[3:, 3:] = m.carriers[i].mass * np.eye(3), inertia
        factor[6 * k : 6 * k + 6, 6 * k : 6 * k + 6] = np.linalg.cholesky(block)
        gyroscopic = np.concatenate([np.zeros(3), np.cross(m.w[i], inertia @ m.w[i])])
        force[6 * k : 6 * k + 6] = loads[i] - gyroscopic
    free = np.linalg.solve(factor, force)  # L^T a of the free bodies
    rows, owners = all_rows(m)
    rows, owners = [*rows, *held], [*owners, *(("law", k) for k in range(len(held)))]
    movable = columns(m, bodies)
    jacobian = np.array([row.jacobian for row in rows]).reshape(len(rows), 6 * count)
    target = -np.array([row.u for row in rows]) - jacobian @ known.ravel()
    scaled = np.linalg.solve(factor, jacobian[:, movable].T).T  # J L^-T
    left, singular, _ = np.linalg.svd(scaled, full_matrices=False)
    keep = singular > RANK * max(singular.max(initial=0.0), 1e-300)
    gap = target - scaled @ free
    multipliers = left[:, keep] @ ((left[:, keep].T @ gap) / singular[keep] ** 2)
    # the multipliers square the condition; the accelerations need not
    change = scaled.T @ multipliers
    for _ in range(2):
        rest = gap - scaled @ change
        more = left[:, keep] @ ((left[:, keep].T @ rest) / singular[keep] ** 2)
        multipliers, change = multipliers + more, change + scaled.T @ more
    acceleration = known.copy()
    acceleration[bodies] = np.linalg.solve(factor.T, free + change).reshape(-1, 6)
    wrench = np.zeros((count, 6))
    wrench[bodies] = (factor @ change).reshape(-1, 6)
    scale = 1.0 + np.abs(target).max(initial=0.0)
    residual = float(np.abs(scaled @ (free + change) - target).max(initial=0.0)) / scale
    return Solution(acceleration, wrench, multipliers, rows, owners, singular, int(keep.sum()), residual)
