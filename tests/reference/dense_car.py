"""The car once more, with nothing shared: nine bodies in absolute coordinates, all conditions at once, least squares.

Per body position, quaternion, velocity and angular velocity (world axes). The accelerations of each moment solve

    [ M  G^T ] [ a      ]   [ f  ]
    [ G  0   ] [ lambda ] = [ -u ]

by the weighted least-norm solution a = a0 - M^-1/2 (G M^-1/2)^+ (G a0 + u), singular values below 1e-8 of the largest
cut off (the rank trap of MODELS). Data from MODELS, section 1.
"""

from __future__ import annotations

from math import cos, pi, sin, sqrt

import numpy as np
from scipy.integrate import solve_ivp

BODY, BEAM, PISTON, CYLINDER, WHEEL = 0, (1, 2), (3, 4), (5, 6), (7, 8)
COUNT = 9
MASS = np.array([585, 7.02, 7.02, 13.23, 13.23, 3.4, 3.4, 15, 15])
INERTIA = np.array(
    [
        (12.675, 450.9375, 439.2375),
        *[(0.06, 0.5855265, 0.5855265)] * 2,
        *[(0.39723075, 0.39723075, 0.0006615)] * 2,
        *[(0.1033396, 0.1033396, 0.0026792)] * 2,
        *[(1.30575, 0.765375, 0.765375)] * 2,
    ]
)
GROUND = -1
X, Y, Z = np.eye(3)


def point(*xyz: float) -> np.ndarray:
    return np.array(xyz, dtype=float)


# kind, body 1, point on it, body 2, point on it, axis
JOINTS = [("cylindrical", GROUND, point(0, 0, 0), BODY, point(0, 0, -0.95), Z)]
for side, s in enumerate((-1, 1)):
    JOINTS += [
        ("revolute", BODY, point(0, 0, -0.6), BEAM[side], point(-0.5 * s, 0, 0), Y),
        ("revolute", BEAM[side], point(0.2 * s, 0, 0), PISTON[side], point(0, 0, -0.3), Y),
        ("cylindrical", PISTON[side], point(0, 0, -0.3), CYLINDER[side], point(0, 0, -0.3), Z),
        ("revolute", BEAM[side], point(0.5 * s, 0, 0), WHEEL[side], point(0, 0, 0), X),
        ("revolute", BODY, point(0.1 * s, 0, 0), CYLINDER[side], point(0, 0, 0.3), Y),
    ]


def matrices(e: np.ndarray) -> np.ndarray:
    """Rotation matrices (n, 3, 3) of quaternions (n, 4)."""
    e = e / np.linalg.norm(e, axis=1, keepdims=True)
    w, x, y, z = e.T
    rows = [
        [w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z],
    ]
    return np.array(rows).transpose(2, 0, 1)


def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a x b, without numpy's overhead."""
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def start(*, yaw: float = 0.0, left: float = 0.0, right: float = 0.0, heave: float = 0.0) -> np.ndarray:
    """The start of MODELS with a yaw rate, wheel spins relative to their beams, and a vertical speed of all."""
    position, turn = np.zeros((COUNT, 3)), np.tile([1.0, 0, 0, 0], (COUNT, 1))
    position[BODY] = (0, 0, 0.95)
    for side, s in enumerate((-1, 1)):
        lower, slope = np.array([0.7 * s, 0, 0.35]), np.array([-s, 0, 1]) / sqrt(2)
        position[BEAM[side]] = (0.5 * s, 0, 0.35)
        position[PISTON[side]] = lower + 0.3 * slope
        position[CYLINDER[side]] = np.array([0.1 * s, 0, 0.95]) - 0.3 * slope
        position[WHEEL[side]] = (s, 0, 0.35)
        turn[PISTON[side]] = turn[CYLINDER[side]] = (cos(pi / 8), 0, -s * sin(pi / 8), 0)
    velocity, spin = np.zeros((COUNT, 3)), np.tile(yaw * Z, (COUNT, 1))
    velocity += np.cross(yaw * Z, position) + heave * Z
    spin[WHEEL[0]] += left * X
    spin[WHEEL[1]] += right * X
    return np.concatenate([position.ravel(), turn.ravel(), velocity.ravel(), spin.ravel()])


def unpack(state: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    n = COUNT
    parts = np.split(state, [3 * n, 7 * n, 10 * n])
    return parts[0].reshape(n, 3), parts[1].reshape(n, 4), parts[2].reshape(n, 3), parts[3].reshape(n, 3)


class Frame:
    """A point of a body (or the ground) with what differentiating needs."""

    def __init__(self, body: int, local: np.ndarray, motion: tuple[np.ndarray, ...]) -> None:
        x, a, v, w = motion
        ground = body == GROUND
        self.body, self.a = body, np.eye(3) if ground else a[body]
        self.w = np.zeros(3) if ground else w[body]
        self.r = self.a @ local
        self.p = self.r if ground else x[body] + self.r
        self.v = np.zeros(3) if ground else v[body] + cross(self.w, self.r)
        self.centripetal = cross(self.w, cross(self.w, self.r))


def conditions(motion: tuple[np.ndarray, ...]) -> tuple[np.ndarray, np.ndarray]:
    """G (rows, 54) and u with G a + u = 0; 52 rows, rank 48."""
    rows, bias = [], []

    def add(u: float, *parts: tuple[int, np.ndarray, np.ndarray]) -> None:
        row = np.zeros(6 * COUNT)
        for body, linear, angular in parts:
            if body != GROUND:
                row[6 * body : 6 * body + 3] += linear
                row[6 * body + 3 : 6 * body + 6] += angular
        rows.append(row)
        bias.append(u)

    for kind, b1, r1, b2, r2, axis in JOINTS:
        f, s = Frame(b1, r1, motion), Frame(b2, r2, motion)
        turned = s.a @ axis
        across = [f.a @ e for e in (X, Y, Z) if not e @ axis]
        for u in across:  # u . axis2 = 0
            c = cross(u, turned)
            c_dot = cross(cross(f.w, u), turned) + cross(u, cross(s.w, turned))
            add(c_dot @ (f.w - s.w), (b1, np.zeros(3), c), (b2, np.zeros(3), -c))
        d, d_dot = s.p - f.p, s.v - f.v
        for u in across if kind == "cylindrical" else (X, Y, Z):  # u . (P2 - P1) = 0
            w = f.w if kind == "cylindrical" else np.zeros(3)
            u_dot = cross(w, u)
            rate = u @ (s.centripetal - f.centripetal) + 2 * u_dot @ d_dot + cross(w, u_dot) @ d
            moving = cross(u, d) if kind == "cylindrical" else np.zeros(3)
            add(rate, (b1, -u, moving - cross(f.r, u)), (b2, u, cross(s.r, u)))
    return np.array(rows), np.array(bias)


def spring(load: np.ndarray, first: Frame, second: Frame, k: float, c: float, rest: float) -> None:
    line = second.p - first.p
    length = sqrt(line @ line)
    along = line / length
    force = (k * (length - rest) + c * along @ (second.v - first.v)) * along
    for frame, f in ((first, force), (second, -force)):
        if frame.body != GROUND:
            load[frame.body, :3] += f
            load[frame.body, 3:] += cross(frame.r, f)


def rate(_: float, state: np.ndarray) -> np.ndarray:
    x, e, v, w = unpack(state)
    a = matrices(e)
    motion = (x, a, v, w)
    load = np.zeros((COUNT, 6))
    load[:, 2] -= 9.8 * MASS
    for side, s in enumerate((-1, 1)):
        end = point(0, 0, -0.3)
        spring(load, Frame(PISTON[side], end, motion), Frame(CYLINDER[side], end, motion), 5e4, 1e4, 0.35)
        spring(load, Frame(GROUND, point(s, 0, 0), motion), Frame(WHEEL[side], point(0, 0, 0), motion), 4e5, 100, 0.35)
    world = a @ (INERTIA[:, :, None] * a.transpose(0, 2, 1))
    load[:, 3:] -= np.cross(w, np.einsum("nij,nj->ni", world, w))
    # M^-1/2 by body: 1/sqrt(m) and A diag(1/sqrt(J)) A^T
    root = np.zeros((COUNT, 6, 6))
    root[:, :3, :3] = np.eye(3) / np.sqrt(MASS)[:, None, None]
    root[:, 3:, 3:] = a @ (INERTIA[:, :, None] ** -0.5 * a.transpose(0, 2, 1))
    g, u = conditions(motion)
    scaled = np.einsum("knj,nji->kni", g.reshape(len(g), COUNT, 6), root).reshape(len(g), -1)
    free = np.einsum("nij,nj->ni", root, load).ravel()
    free -= np.linalg.lstsq(scaled, scaled @ free + u, rcond=1e-8)[0]
    acceleration = np.einsum("nij,nj->ni", root, free.reshape(COUNT, 6))
    return np.concatenate([v.ravel(), turning(e, w).ravel(), acceleration[:, :3].ravel(), acceleration[:, 3:].ravel()])


def turning(e: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Rates of quaternions for world angular velocities; keeps their length."""
    scalar = -np.sum(e[:, 1:] * w, axis=1, keepdims=True)
    return np.hstack([scalar, e[:, :1] * w + np.cross(w, e[:, 1:])]) / 2


def solve(state: np.ndarray, times: np.ndarray) -> dict[str, np.ndarray]:
    """Positions (n, 9, 3), orientations, velocities and angular velocities at `times`."""
    done = solve_ivp(rate, (0, times[-1]), state, method="DOP853", rtol=1e-12, atol=1e-13, t_eval=times)
    assert done.success
    parts = [unpack(column) for column in done.y.T]
    names = ("position", "orientation", "velocity", "angular_velocity")
    return {name: np.array([part[k] for part in parts]) for k, name in enumerate(names)}
