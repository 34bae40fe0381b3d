"""Small problems of laws: random machines, boxes on floors, Painleve's rod, and all modes tried one by one."""

from __future__ import annotations

from itertools import product

import numpy as np

from kompono.solve.laws.forces import forces
from kompono.solve.laws.units import Kind, LawProblem, SolvedUnit, UnitChoice, UnitMode

OFF, HELD, SLIDES = UnitMode.OFF, UnitMode.HELD, UnitMode.SLIDES


def posed(W, acceleration, units, mu=None, limit=None, mass=None, **more) -> LawProblem:
    """The problem of rows W (m, nv) on a machine with this acceleration (nv); friction is mu times a normal force."""
    W = np.asarray(W, dtype=float)
    count, m = len(units), len(W)
    inverse = np.eye(W.shape[1]) if mass is None else np.linalg.inv(mass)
    normals = [unit.row for unit in units if unit.kind == Kind.ONE_SIDED]
    B = np.zeros((len(normals), m))
    B[range(len(normals)), normals] = 1.0
    mu = np.zeros(count) if mu is None else np.broadcast_to(np.asarray(mu, dtype=float), count).copy()
    limit = np.zeros(count) if limit is None else np.broadcast_to(np.asarray(limit, dtype=float), count).copy()
    return LawProblem(
        W @ inverse @ W.T, W @ np.asarray(acceleration, dtype=float), B, np.zeros(len(normals)), mu,
        more.get("mu_static", mu), limit, more.get("limit_static", limit),
    )  # fmt: skip


def rough(count: int, planar: bool = False) -> list[SolvedUnit]:
    """Contacts with friction: normal row first, then one or two tangent ones."""
    step, kind = (3, Kind.PLANAR) if planar else (2, Kind.DRY)
    units = []
    for k in range(count):
        units.append(SolvedUnit(Kind.ONE_SIDED, step * k, path=f"contact{k:02}"))
        units.append(SolvedUnit(kind, step * k + 1, contact=2 * k, first=k, count=1, path=f"friction{k:02}"))
    return units


def cold(units, m: int, mode: UnitMode = HELD) -> UnitChoice:
    """All units with one mode."""
    return UnitChoice(np.full(len(units), int(mode)), np.zeros((len(units), 2)), np.zeros(m))


def random_rough(rng, count: int, mu: float, planar: bool = False, rank: int | None = None):
    """Contacts with friction on a random machine of as many freedoms as rows and two more, or of a given rank."""
    units = rough(count, planar)
    m = (3 if planar else 2) * count
    W = rng.normal(size=(m, rank or m + 2))
    return posed(W, rng.normal(size=W.shape[1]), units, mu), units


def box(rng, feet: int, mu: float, push: float, planar: bool = False):
    """A block on a floor with feet at random places, pulled down and pushed somewhere: rank 3, or 6 in space."""
    places = rng.uniform(-1, 1, size=(feet, 2))
    acceleration = np.concatenate([[0, 0, -9.81], rng.normal(size=3) * push])
    acceleration[:2] = push * rng.normal(size=2)
    rows = []
    for x, y in places:
        arm = np.array([x, y, -0.5])
        for direction in np.array([[0, 0, 1], [1, 0, 0], [0, 1, 0]])[: 3 if planar else 2]:
            rows.append(np.concatenate([direction, np.cross(arm, direction)]))
    W = np.array(rows, dtype=float)
    if not planar:
        W, acceleration = W[:, [0, 2, 4]], acceleration[[0, 2, 4]]
    units = rough(feet, planar)
    return posed(W, acceleration, units, mu), units


def wrong(problem: LawProblem, units, choice: UnitChoice, free=None) -> float:
    """How far a choice is from its laws, as a part of the sizes of its rows."""
    z, w = choice.z, problem.b + problem.A @ choice.z
    diagonal = np.maximum(problem.A.diagonal(), 1e-300)
    size = np.abs(problem.b) + np.abs(problem.A) @ np.abs(z) + 1e-300
    force = size / diagonal
    bad = [0.0]
    for k, unit in enumerate(units):
        rows = [unit.row, unit.row + 1] if unit.kind == Kind.PLANAR else [unit.row]
        at, mode, way = rows[0], choice.modes[k], choice.directions[k][: len(rows)]
        span, push = size[rows].max(), force[rows].max()
        if unit.kind == Kind.ONE_SIDED:
            bad += [-z[at] / push, abs(w[at]) / span] if mode == HELD else [abs(z[at]) / push, -w[at] / span]
            continue
        N = (problem.n0 + problem.B @ z)[unit.first : unit.first + unit.count]
        if mode == OFF:
            bad.append(np.abs(z[rows]).max() / push)
            assert unit.contact is not None
            assert choice.modes[unit.contact] == OFF
        elif mode == HELD:
            limit = problem.mu_static[k] * np.linalg.norm(N) + problem.limit_static[k]
            bad += [np.abs(w[rows]).max() / span, (np.linalg.norm(z[rows]) - limit) / push]
        else:
            limit = problem.mu[k] * np.linalg.norm(N) + problem.limit[k]
            bad.append(np.linalg.norm(z[rows] + way * limit) / push)
            if free is None or free[k]:
                bad += [-(w[rows] @ way) / span, np.linalg.norm(w[rows] - way * (w[rows] @ way)) / span]
    return max(bad)


def all_fitting(problem: LawProblem, units) -> list[UnitChoice]:
    """Every consistent choice of one-sided and dry units, by trying all."""
    options = [
        [(OFF, 0.0), (HELD, 0.0)] if u.kind == Kind.ONE_SIDED else [(HELD, 0.0), (SLIDES, 1.0), (SLIDES, -1.0)]
        for u in units
    ]
    found = []
    for picks in product(*options):
        modes = np.array([int(mode) for mode, _ in picks])
        ways = np.array([[way, 0.0] for _, way in picks])
        for k, unit in enumerate(units):
            if unit.contact is not None and modes[unit.contact] == OFF:
                modes[k], ways[k] = OFF, 0.0
        choice = UnitChoice(modes, ways, np.zeros(len(problem.b)))
        choice = UnitChoice(modes, ways, forces(problem, units, choice))
        if wrong(problem, units, choice) < 1e-9:
            found.append(choice)
    return found


def rod(theta: float, omega: float, mu: float):
    """Painleve's rod: mass 1, half length 1, tip on the floor sliding towards -x; the contact closed."""
    units = rough(1)
    arm = -np.array([np.cos(theta), np.sin(theta)])
    W = np.array([[0.0, 1.0, arm[0]], [1.0, 0.0, -arm[1]]])
    mass = np.diag([1.0, 1.0, 1.0 / 3.0])
    problem = posed(W, [0.0, -9.81, 0.0], units, mu, mass=mass)
    problem.b[:] += -(omega**2) * arm[::-1]
    start = UnitChoice(np.array([HELD, SLIDES]), np.array([[0.0, 0.0], [-1.0, 0.0]]), np.zeros(2))
    return problem, units, start, np.array([True, False])
