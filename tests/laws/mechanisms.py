"""Random mechanisms, in the plain words of `dense` and, from those, in Kompono's language, nested as one likes.

Bodies are thrown into space first; every joint and constraint is then fitted to where they are: the first frame and the
coordinates are drawn, the second frame follows. So any graph of joints is assembled, with as many closed loops as
wanted, and twists that satisfy everything come from one projection. Structure is drawn by hypothesis (so it shrinks),
numbers by a seed.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np
from hypothesis import assume
from hypothesis import strategies as st
from laws.dense import (
    Connection,
    Driving,
    Gearing,
    Guided,
    Load,
    Mark,
    Mechanism,
    Mount,
    Solid,
    Solution,
    Spring,
    Torsion,
    Wave,
    across,
    project_twists,
    quaternion_to_matrix,
    solve,
    speed_rows,
    turn,
)
from scipy.spatial.transform import Rotation

from kompono import Body, Constraint, Ground, Pose, Subsystem, time
from kompono.compile import compile_program
from kompono.compile.cache import DiskShelf
from kompono.library import (
    AppliedLoad,
    Bushing,
    Cylindrical,
    Distance,
    Drive,
    Free,
    Gear,
    Gravity,
    JointEffort,
    ParallelAxes,
    Planar,
    PlaneToPlane,
    PointInPlane,
    PointOnLine,
    Prismatic,
    Revolute,
    RotationalSpringDamper,
    Screw,
    Spherical,
    SpringDamper,
    Universal,
    Weld,
)
from kompono.model.free import Placed
from kompono.model.joint import Joint
from kompono.translate import Translation, translate

Array = np.ndarray
SHELF = None if "KOMPONO_LAWS" in os.environ else DiskShelf()  # the same few examples each time are translated once

JOINTS: dict[str, type[Joint]] = {
    "revolute": Revolute,
    "prismatic": Prismatic,
    "cylindrical": Cylindrical,
    "spherical": Spherical,
    "universal": Universal,
    "planar": Planar,
    "screw": Screw,
    "weld": Weld,
    "free": Free,
}
CONSTRAINTS: dict[str, type[Constraint]] = {
    "distance": Distance,
    "point_on_line": PointOnLine,
    "point_in_plane": PointInPlane,
    "plane_to_plane": PlaneToPlane,
    "parallel_axes": ParallelAxes,
}
SCALAR = {
    "revolute": (0,),
    "prismatic": (0,),
    "cylindrical": (0, 1),
    "universal": (0, 1),
    "planar": (0, 1, 2),
    "screw": (0,),
}


class Numbers:
    """Random numbers of a size that keeps mechanisms well conditioned."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def scalar(self, low: float = -1.0, high: float = 1.0) -> float:
        return float(self.rng.uniform(low, high))

    def vector(self, size: float = 0.7) -> Array:
        return self.rng.uniform(-size, size, 3)

    def unit(self) -> Array:
        v = self.rng.normal(size=3)
        return v / np.linalg.norm(v)

    def quaternion(self) -> Array:
        e = self.rng.normal(size=4)
        return e / np.linalg.norm(e)

    def rotation(self) -> Array:
        return quaternion_to_matrix(self.quaternion())

    def inertia(self) -> Array:
        r = self.rotation()
        a = self.rng.uniform(0.05, 0.3, 3)  # second moments of mass: any positive ones make a real body
        return r @ np.diag(a.sum() - a) @ r.T

    def solid(self) -> Solid:
        return Solid(self.scalar(0.5, 3.0), self.inertia())

    def wave(self, size: float = 1.0) -> Wave:
        return Wave(
            (
                self.scalar(-size, size),
                self.scalar(-size, size),
                self.scalar(-size, size),
                self.scalar(1, 3),
                self.scalar(),
            )
        )

    def through(self, t: float, value: float, size: float = 1.0) -> Wave:
        """A wave that has this value at time t."""
        wave = self.wave(size)
        return Wave((wave.c[0] + value - wave.at(t)[0], *wave.c[1:]))

    def ground(self, moving: bool) -> Guided:
        if moving:
            return Guided(
                (self.wave(0.5), self.wave(0.5), self.wave(0.5)), (self.unit(), self.unit()), (self.wave(), self.wave())
            )
        still = tuple(Wave((self.scalar(), 0.0, 0.0, 1.0, 0.0)) for _ in range(5))
        return Guided(still[:3], (self.unit(), self.unit()), still[3:])  # type: ignore[arg-type]


def joint_pose(c: Connection) -> tuple[Array, Array]:
    """The second frame seen from the first at coordinates c.q."""
    a, q = c.axis, c.q
    if c.kind == "weld":
        return np.zeros(3), np.eye(3)
    if c.kind == "revolute":
        return np.zeros(3), turn(a, q[0])
    if c.kind == "prismatic":
        return a * q[0], np.eye(3)
    if c.kind == "cylindrical":
        return a * q[0], turn(a, q[1])
    if c.kind == "screw":
        return a * c.pitch * q[0], turn(a, q[0])
    if c.kind == "universal":
        return np.zeros(3), turn(a, q[0]) @ turn(c.axis2, q[1])
    if c.kind == "spherical":
        return np.zeros(3), quaternion_to_matrix(q)
    if c.kind == "planar":
        u, v = across(a)
        return u * q[0] + v * q[1], turn(a, q[2])
    return q[:3], quaternion_to_matrix(q[3:])  # free


def draw_coordinates(n: Numbers, kind: str) -> Array:
    if kind == "spherical":
        return n.quaternion()
    if kind == "free":
        return np.concatenate([n.vector(), n.quaternion()])
    return n.rng.uniform(-0.8, 0.8, len(JOINTS[kind].coordinates))


def tidy(matrix: Array) -> Array:
    """Rounding around -1, 0, 1 removed, so that planar mechanisms are exactly planar."""
    near = np.round(matrix)
    return np.where(np.abs(matrix - near) < 1e-15, near + 0.0, matrix)


def connect(
    m: Mechanism, n: Numbers, kind: str, i: int, j: int, *, point: Array | None = None, axis: Array | None = None,
    upright: bool = False,
) -> Connection:  # fmt: skip
    """A joint or constraint of carriers i and j that holds where they are; `point` and `axis` in the world if given."""
    position = n.vector(0.4) if point is None else m.A[i].T @ (point - m.x[i])
    first = Mark(i, position, np.eye(3) if upright else n.rotation())
    world = m.A[i] @ first.rotation
    c = Connection(kind, first, first, axis=n.unit() if axis is None else tidy(world.T @ axis))
    c.axis = c.axis / np.linalg.norm(c.axis)
    c.axis2 = across(turn(c.axis, n.scalar(-3, 3)) @ c.axis)[0]
    c.axis2 = turn(c.axis, n.scalar(-3, 3)) @ c.axis2
    c.pitch = n.scalar(0.1, 0.4)
    u, v = across(c.axis)
    if kind in JOINTS:
        c.q = draw_coordinates(n, kind)
        if upright and kind == "revolute":  # frames as parallel as the bodies
            relative = world.T @ m.A[j]
            c.q = np.array([np.arctan2(v @ relative @ u, u @ relative @ u)])
        p, r = joint_pose(c)
    else:
        a, b, angle = n.scalar(), n.scalar(), n.scalar(-2, 2)
        p, r = {
            "distance": lambda: (n.unit() * n.scalar(0.5, 1.5), n.rotation()),
            "point_on_line": lambda: (a * c.axis, n.rotation()),
            "point_in_plane": lambda: (a * u + b * v, n.rotation()),
            "plane_to_plane": lambda: (a * u + b * v, turn(c.axis, angle)),
            "parallel_axes": lambda: (n.vector(), turn(c.axis, angle)),
        }[kind]()
        if kind == "distance":
            length = float(np.linalg.norm(p))
            c.length = n.through(m.time, length, 0.3) if n.scalar() > 0 else Wave((length, 0.0, 0.0, 1.0, 0.0))
    origin = m.x[i] + m.A[i] @ first.position
    c.second = Mark(j, tidy(m.A[j].T @ (origin + world @ p - m.x[j])), tidy(m.A[j].T @ world @ r))
    return c


def scatter(n: Numbers, bodies: int, grounds: list[bool], t: float) -> Mechanism:
    """Bodies and grounds (True: moving) at random poses and twists."""
    carriers: list[Solid | Guided] = [n.ground(moving) for moving in grounds] + [n.solid() for _ in range(bodies)]
    count = len(carriers)
    m = Mechanism(carriers, t, *(np.zeros(shape) for shape in ((count, 3), (count, 3, 3), (count, 3), (count, 3))))
    m.gravity = n.vector(10.0)
    for k, carrier in enumerate(carriers):
        if isinstance(carrier, Guided):
            m.x[k], m.A[k], m.v[k], m.w[k] = carrier.motion(t)[:4]
        else:
            m.x[k], m.A[k], m.v[k], m.w[k] = n.vector(), n.rotation(), n.vector(1.5), n.vector(1.5)
    return m


def add_loads(m: Mechanism, n: Numbers, count: int) -> None:
    """Springs, bushings and loads between random carriers, efforts on random joints."""

    def mark(on: int) -> Mark:
        return Mark(on, n.vector(0.4), n.rotation())

    def waves() -> tuple[Wave, Wave, Wave]:
        return n.wave(5), n.wave(5), n.wave(5)

    def matrix(size: float) -> Array:
        root = n.rng.normal(size=(6, 6))
        return root @ root.T * size

    for _ in range(count):
        j = int(n.rng.choice(m.bodies))
        i = int(n.rng.choice([k for k in range(len(m.carriers)) if k != j] or [j]))
        if i == j:
            continue
        m.springs.append(Spring(mark(i), mark(j), n.scalar(1, 50), n.scalar(0, 5), n.scalar(0, 1)))
        m.mounts.append(Mount(mark(i), mark(j), matrix(3.0), matrix(0.3)))
        m.loads.append(Load(mark(j), mark(i) if n.scalar() > 0 else None, waves(), waves(), bool(n.scalar() > 0)))
    for k, joint in enumerate(m.joints):
        if joint.kind in SCALAR and n.scalar() > 0 and len(m.torsions) < count:
            index = int(n.rng.choice(SCALAR[joint.kind]))
            m.torsions.append(Torsion((k, index), n.scalar(0, 20), n.scalar(0, 2), n.scalar(), n.wave(3)))


# -- strategies

SEEDS = st.integers(0, 2**32 - 1)


class Case:
    """A mechanism with its dense solution."""

    def __init__(self, m: Mechanism, solution: Solution, note: str = "") -> None:
        self.m, self.solution, self.note = m, solution, note

    def __repr__(self) -> str:
        kinds = [f"{c.kind}({c.first.on},{c.second.on})" for c in (*self.m.joints, *self.m.constraints)]
        rest = f"gears={len(self.m.gears)} drives={len(self.m.drives)} grounds={self.m.grounds}"
        return f"Case[{self.note} {' '.join(kinds)} {rest} rank {self.solution.rank}/{len(self.solution.rows)}]"


def finish(m: Mechanism, note: str = "") -> Case:
    """Project the twists and solve; cases without a clear answer are thrown away."""
    for k, joint in enumerate(m.joints):
        joint.name = f"joint{k}"
    left = project_twists(m)
    solution = solve(m)
    assume(left < 1e-12 and solution.residual < 1e-11 and solution.clear_rank)
    assume(np.abs(m.w).max() < 50 and np.abs(solution.acceleration).max() < 1e4)
    return Case(m, solution, note)


@st.composite
def frames_of_trees(
    draw: Any, *, kinds: tuple[str, ...], bodies: tuple[int, int], moving: bool, loads: bool
) -> tuple[Mechanism, Numbers]:
    """A tree of joints of any kind, each in either direction; some bodies may float."""
    n = Numbers(draw(SEEDS))
    grounds = draw(st.lists(st.booleans() if moving else st.just(False), max_size=3))
    count = draw(st.integers(*bodies))
    m = scatter(n, count, grounds, n.scalar(0, 2))
    for body in range(len(grounds), len(grounds) + count):
        if body == 0:
            continue
        parent = draw(st.integers(0, body - 1))
        kind = draw(st.sampled_from(kinds))
        ends = (body, parent) if draw(st.booleans()) else (parent, body)
        m.joints.append(connect(m, n, kind, *ends))
    if loads:
        add_loads(m, n, draw(st.integers(0, 2)))
    return m, n


TREE_KINDS = tuple(JOINTS)
LOOP_KINDS = ("revolute", "prismatic", "cylindrical", "spherical", "universal", "planar", "screw")


@st.composite
def trees(
    draw: Any,
    *,
    bodies: tuple[int, int] = (1, 6),
    moving: bool = True,
    loads: bool = True,
    kinds: tuple[str, ...] = TREE_KINDS,
) -> Case:
    return finish(draw(frames_of_trees(kinds=kinds, bodies=bodies, moving=moving, loads=loads))[0], "tree")


@st.composite
def loops(
    draw: Any, *, bodies: tuple[int, int] = (3, 6), moving: bool = True, loads: bool = True, couplings: bool = True
) -> Case:
    """A tree with closing joints, constraints, gears and drives; as a rule without redundant rows."""
    m, n = draw(frames_of_trees(kinds=(*LOOP_KINDS, "free"), bodies=bodies, moving=moving, loads=loads))
    count, tree = len(m.carriers), len(m.joints)
    assume(count > 2)
    for _ in range(draw(st.integers(1, 2))):
        kind = draw(st.sampled_from((*JOINTS, *CONSTRAINTS)))
        j = draw(st.sampled_from(m.bodies))
        i = draw(st.integers(0, count - 1).filter(lambda k, j=j: k != j))
        ends = (j, i) if draw(st.booleans()) else (i, j)
        (m.joints if kind in JOINTS else m.constraints).append(connect(m, n, kind, *ends))
    if couplings:
        add_couplings(draw, m, n, tree)
    return finish(m, "loop")


@st.composite
def held_together(draw: Any, *, bodies: tuple[int, int] = (3, 5)) -> Case:
    """Bodies that constraints alone hold to others or to one of several grounds, some that joints do, and rods that
    are there twice.
    """
    n = Numbers(draw(SEEDS))
    grounds = draw(st.lists(st.booleans(), min_size=1, max_size=3))
    count = draw(st.integers(*bodies))
    m = scatter(n, count, grounds, n.scalar(0, 2))
    for body in range(len(grounds), len(grounds) + count):
        parent = draw(st.integers(0, body - 1))
        ends = (body, parent) if draw(st.booleans()) else (parent, body)
        if draw(st.integers(0, 2)) == 0:
            m.joints.append(connect(m, n, draw(st.sampled_from(LOOP_KINDS)), *ends))
        else:
            kinds = draw(st.lists(st.sampled_from((*CONSTRAINTS, "distance", "distance")), min_size=1, max_size=3))
            m.constraints += [connect(m, n, kind, *ends) for kind in kinds]
    if m.constraints and draw(st.booleans()):
        m.constraints.append(m.constraints[draw(st.integers(0, len(m.constraints) - 1))])
    add_loads(m, n, draw(st.integers(0, 2)))
    return finish(m, "held together")


def add_couplings(draw: Any, m: Mechanism, n: Numbers, count: int) -> None:
    """A gear and a drive on coordinates of the first `count` joints (those can all be in the tree)."""
    tree = [k for k, joint in enumerate(m.joints[:count]) if joint.kind in SCALAR]
    if len(tree) >= 2 and draw(st.booleans()):
        a, b = tree[0], tree[-1]
        first, second = ((k, int(n.rng.choice(SCALAR[m.joints[k].kind]))) for k in (a, b))
        ratio = n.scalar(0.5, 2.0)
        offset = m.joints[b].q[second[1]] - ratio * m.joints[a].q[first[1]]
        m.gears.append(Gearing(first, second, ratio, float(offset)))
    if tree and draw(st.booleans()):
        k = tree[len(tree) // 2]
        index = int(n.rng.choice(SCALAR[m.joints[k].kind]))
        m.drives.append(Driving((k, index), n.through(m.time, m.joints[k].q[index])))


REDUNDANT = (
    "planar", "aligned", "spherical", "sarrus", "hinges", "doubled", "implied", "parallelogram", "planar with ball"
)  # fmt: skip


@st.composite
def redundant_loops(draw: Any, *, families: tuple[str, ...] = REDUNDANT) -> Case:
    """Loops with more conditions than they need."""
    family = draw(st.sampled_from(families))
    n = Numbers(draw(SEEDS))
    m = {
        "planar": lambda: ring(draw, n, "planar"),
        "aligned": lambda: ring(draw, n, "aligned"),
        "planar with ball": lambda: ring(draw, n, "planar", ball=True),
        "spherical": lambda: ring(draw, n, "spherical"),
        "sarrus": lambda: ring(draw, n, "sarrus"),
        "hinges": lambda: hinges(draw, n),
        "doubled": lambda: doubled(draw, n),
        "implied": lambda: implied(draw, n),
        "parallelogram": lambda: parallelogram(draw, n),
    }[family]()
    case = finish(m, family)
    assume(case.solution.redundant > 0)
    return case


def ring(draw: Any, n: Numbers, family: str, *, ball: bool = False) -> Mechanism:
    """A closed ring of revolutes about world axes that are parallel, meet in a point, or are parallel in two sets."""
    count = {
        "planar": draw(st.integers(3, 5)),
        "aligned": draw(st.integers(3, 5)),
        "spherical": draw(st.integers(3, 4)),
        "sarrus": 5,
    }[family]
    m = scatter(n, count, [False], n.scalar(0, 2))
    normal = n.unit()
    if family == "aligned":
        normal = np.array([0.0, 1.0, 0.0])
        m.carriers[0] = Guided((Wave(), Wave(), Wave()), (np.eye(3)[0], np.eye(3)[1]), (Wave(), Wave()))
        m.x[0], m.A[0] = 0.0, np.eye(3)
        m.gravity = np.array([0.0, 0.0, -9.81])
        for i in m.bodies:
            m.x[i, 1], m.A[i] = 0.0, turn(normal, n.scalar(-2, 2))
            m.carriers[i] = Solid(n.scalar(0.5, 3), np.diag(n.rng.uniform(0.3, 0.5, 3)))
    u, v = across(normal)
    centre = np.zeros(3) if family == "aligned" else n.vector()
    for k in range(count + 1):
        angle = 2 * np.pi * (k + n.scalar(-0.3, 0.3)) / (count + 1)
        axis = normal
        point = centre + n.scalar(0.6, 1.2) * (np.cos(angle) * u + np.sin(angle) * v)
        if family == "planar":
            point = point + n.scalar() * normal
        if family == "spherical":
            axis = np.cos(angle) * u + np.sin(angle) * v + n.scalar(0.2, 0.8) * normal
            axis /= np.linalg.norm(axis)
            point = centre + n.scalar(0.5, 1.5) * axis
        if family == "sarrus":
            axis = u if k < 3 else v
            point = centre + n.vector(1.0)
        ends = (k, (k + 1) % (count + 1))
        kind = "spherical" if ball and k == 1 else "revolute"
        m.joints.append(
            connect(
                m,
                n,
                kind,
                *(ends if draw(st.booleans()) else ends[::-1]),
                point=point,
                axis=axis,
                upright=family == "aligned",
            )
        )
    return m


def hinges(draw: Any, n: Numbers) -> Mechanism:
    """Doors: each body on its parent with two or three hinges, or a hinge and a sleeve, on one line."""
    count = draw(st.integers(1, 3))
    m = scatter(n, count, [draw(st.booleans())], n.scalar(0, 2))
    for body in range(1, count + 1):
        axis, point = n.unit(), n.vector()
        parent = draw(st.integers(0, body - 1))
        for kind in draw(st.lists(st.sampled_from(("revolute", "cylindrical", "spherical")), min_size=1, max_size=2)):
            m.joints.append(connect(m, n, kind, parent, body, point=point + n.scalar(0.3, 1.0) * axis, axis=axis))
        m.joints.append(connect(m, n, "revolute", parent, body, point=point, axis=axis))
    return m


def doubled(draw: Any, n: Numbers) -> Mechanism:
    """A tree some of whose joints are there twice."""
    m, _ = draw(frames_of_trees(kinds=(*LOOP_KINDS, "weld"), bodies=(2, 4), moving=True, loads=True))
    twice = [joint for joint in m.joints if draw(st.booleans())]
    for c in twice:
        copy = Connection(c.kind, c.first, c.second, c.axis, c.axis2, c.pitch, c.length, c.q.copy())
        m.joints.append(copy)
    return m


IMPLIED = {
    "revolute": (
        "parallel_axes",
        "point_on_line",
        "point_in_plane",
        "plane_to_plane",
        "spherical",
        "cylindrical",
        "planar",
    ),
    "prismatic": ("parallel_axes", "point_on_line", "cylindrical"),
    "cylindrical": ("parallel_axes", "point_on_line"),
    "screw": ("parallel_axes", "point_on_line", "cylindrical"),
    "universal": ("spherical", "point_in_plane"),
    "spherical": ("point_on_line", "point_in_plane"),
    "planar": ("parallel_axes", "point_in_plane", "plane_to_plane"),
    "weld": ("prismatic", "universal", "planar", "spherical"),
}


def implied(draw: Any, n: Numbers) -> Mechanism:
    """A tree with constraints (and weaker joints) that its joints imply already, at the same frames or a rod from a
    pivot.
    """
    m, _ = draw(frames_of_trees(kinds=tuple(IMPLIED), bodies=(2, 4), moving=True, loads=True))
    for c in list(m.joints):
        kind = draw(st.sampled_from(("", "rod", *IMPLIED[c.kind])))
        if kind == "rod" and c.kind in ("revolute", "universal", "spherical"):
            tip = Mark(c.second.on, c.second.position + n.vector(), n.rotation())
            length = float(np.linalg.norm(tip.position - c.second.position))
            m.constraints.append(Connection("distance", c.first, tip, length=Wave((length, 0.0, 0.0, 1.0, 0.0))))
        elif kind in CONSTRAINTS:
            m.constraints.append(Connection(kind, c.first, c.second, c.axis))
        elif kind in JOINTS:
            m.joints.append(weaker(c, kind))
    return m


def weaker(c: Connection, kind: str) -> Connection:
    """A joint of another kind that holds where c does, with its coordinates there."""
    r = joint_pose(c)[1]
    along = {"prismatic": lambda: c.q[0], "screw": lambda: c.pitch * c.q[0]}.get(c.kind, lambda: 0.0)()
    angle = c.q[0] if c.kind in ("revolute", "screw") else 0.0
    q = {
        "spherical": lambda: quaternion_of(r),
        "cylindrical": lambda: np.array([along, angle]),
        "planar": lambda: np.array([0.0, 0.0, angle]),
        "prismatic": lambda: np.zeros(1),
        "universal": lambda: np.zeros(2),
    }[kind]()
    return Connection(kind, c.first, c.second, c.axis, across(c.axis)[0] if kind == "universal" else c.axis2, q=q)


def parallelogram(draw: Any, n: Numbers) -> Mechanism:
    """A coupler on three or four equal cranks: redundant even in its plane."""
    cranks = draw(st.integers(3, 4))
    m = scatter(n, cranks + 1, [False], n.scalar(0, 2))
    normal = n.unit()
    u, v = across(normal)
    angle = n.scalar(0.3, 1.2)
    arm = 0.8 * (np.cos(angle) * u + np.sin(angle) * v)
    origin = n.vector()
    for k in range(cranks):
        foot = origin + k * u + 0.2 * k**2 * v
        m.joints.append(connect(m, n, "revolute", 0, 1 + k, point=foot, axis=normal))
        m.joints.append(connect(m, n, "revolute", 1 + k, cranks + 1, point=foot + arm, axis=normal))
    return m


@st.composite
def nestings(draw: Any, count: int) -> list[tuple[str, ...]]:
    """For each carrier the path of the subsystem that owns it."""
    path = st.lists(st.sampled_from("abc"), max_size=3).map(tuple)
    return [draw(path) for _ in range(count)]


# -- in Kompono's language


@dataclass
class Built:
    """The model and which element is which."""

    model: Subsystem
    carriers: list[Any]
    joints: list[Joint]
    constraints: list[Any] = field(default_factory=list)
    levels: dict[tuple[str, ...], Subsystem] = field(default_factory=dict)

    def number(self, joint: Joint) -> int | None:
        return next((k for k, known in enumerate(self.joints) if known is joint), None)


def build(
    m: Mechanism,
    nesting: list[tuple[str, ...]] | None = None,
    *,
    starts: bool = False,
    local: tuple[str, ...] | None = None,
) -> Built:
    """The model; `starts` gives the joints their coordinates and speeds as start values, `local` puts
    m.local_gravity on a level.
    """
    nesting = nesting or [()] * len(m.carriers)
    levels: dict[tuple[str, ...], Subsystem] = {(): Subsystem()}

    def level(path: tuple[str, ...]) -> Subsystem:
        if path not in levels:
            owner = level(path[:-1])
            levels[path] = Subsystem()
            owner.add(f"part_{path[-1]}", levels[path])
        return levels[path]

    def owner(*carriers: int) -> Subsystem:
        common = nesting[carriers[0]]
        for k in carriers[1:]:
            while common != nesting[k][: len(common)]:
                common = common[:-1]
        return level(common)

    carriers = []
    for k, carrier in enumerate(m.carriers):
        element = make_carrier(m, k, carrier)
        level(nesting[k]).add(f"ground{k}" if isinstance(carrier, Guided) else f"body{k}", element)
        carriers.append(element)

    def frame(mark: Mark) -> Any:
        return carriers[mark.on].at(mark.position, orientation=mark.rotation)

    joints, constraints = [], []
    for k, c in enumerate(m.joints):
        start = start_values(m, c) if starts else {}
        joints.append(
            owner(c.first.on, c.second.on).add(f"joint{k}", make_joint(c, frame(c.first), frame(c.second), start))
        )
    for k, c in enumerate(m.constraints):
        extra = {"length": c.length.symbol(time, ca.sin)} if c.kind == "distance" else {"axis": c.axis}
        element = CONSTRAINTS[c.kind](frame(c.first), frame(c.second), **extra)
        constraints.append(owner(c.first.on, c.second.on).add(f"constraint{k}", element))
    top = levels[()]
    for joint in joints:
        around = joint.owner
        while around is not top:
            around.expose(joint)
            around = around.owner
    add_actions(m, top, joints, frame, owner)
    if local is not None and m.local_gravity is not None:
        level(local).add("local_gravity", Gravity(m.local_gravity[0]))
    expose_what_is_used(top)
    return Built(top, carriers, joints, constraints, levels)


def expose_what_is_used(top: Subsystem) -> None:
    """Let every level expose the carriers that elements of levels above it connect."""
    for element in list(top.walk()):
        for frame in (getattr(element, "first", None), getattr(element, "second", None)):
            around = None if frame is None else frame.body.owner
            while around is not None and around is not element.owner and not around.contains(element):
                around.expose(frame.body)
                around = around.owner


def make_carrier(m: Mechanism, k: int, carrier: Solid | Guided) -> Any:
    if isinstance(carrier, Solid):
        return Body(
            mass=carrier.mass, inertia=carrier.inertia, start_position=m.x[k], start_orientation=quaternion_of(m.A[k]),
            start_velocity=m.v[k], start_angular_velocity=m.w[k],
        )  # fmt: skip
    place = [wave.symbol(time, ca.sin) for wave in carrier.position]
    halves = [wave.symbol(time, ca.sin) / 2 for wave in carrier.angles]
    (c1, s1), (c2, s2) = ((ca.cos(h), ca.sin(h)) for h in halves)
    v1, v2 = (ca.DM(n) * s for n, s in zip(carrier.axes, (s1, s2), strict=True))
    turned = ca.vertcat(c1 * c2 - ca.dot(v1, v2), c1 * v2 + c2 * v1 + ca.cross(v1, v2))
    return Ground([ca.SX(p) for p in place], orientation=turned)


def quaternion_of(matrix: Array) -> Array:
    x, y, z, w = Rotation.from_matrix(matrix).as_quat()
    return np.array([w, x, y, z])


def start_values(m: Mechanism, c: Connection) -> dict[str, float]:
    names = [name.replace(".", "_") for name in JOINTS[c.kind].start_names()]
    return dict(zip(names, np.concatenate([c.q, joint_speeds(m, c)]), strict=True))


def make_joint(c: Connection, first: Any, second: Any, start: dict[str, float]) -> Joint:
    extra = {
        "planar": {"normal": c.axis},
        "universal": {"first_axis": c.axis, "second_axis": c.axis2},
        "screw": {"axis": c.axis, "pitch": c.pitch},
        "spherical": {}, "free": {}, "weld": {},
    }.get(c.kind, {"axis": c.axis})  # fmt: skip
    return JOINTS[c.kind](first, second, **extra, **start)


def add_actions(m: Mechanism, top: Subsystem, joints: list[Joint], frame: Any, owner: Any) -> None:
    """Couplings, forces and gravity."""
    for k, gear in enumerate(m.gears):
        (a, i), (b, j) = gear.first, gear.second
        names = {"first_coordinate": joints[a].coordinates[i], "second_coordinate": joints[b].coordinates[j]}
        level = joints[a].owner if joints[a].owner is joints[b].owner else top
        level.add(f"gear{k}", Gear(joints[a], joints[b], ratio=gear.ratio, offset=gear.offset, **names))
    for k, drive in enumerate(m.drives):
        j, i = drive.joint
        joints[j].owner.add(
            f"drive{k}", Drive(joints[j], drive.motion.symbol(time, ca.sin), coordinate=joints[j].coordinates[i])
        )
    top.add("gravity", Gravity(m.gravity))
    for k, s in enumerate(m.springs):
        owner(s.first.on, s.second.on).add(
            f"spring{k}", SpringDamper(frame(s.first), frame(s.second), k=s.k, c=s.c, rest=s.rest)
        )
    for k, b in enumerate(m.mounts):
        owner(b.first.on, b.second.on).add(f"mount{k}", Bushing(frame(b.first), frame(b.second), k=b.k, c=b.c))
    for k, load in enumerate(m.loads):
        force, torque = ([wave.symbol(time, ca.sin) for wave in waves] for waves in (load.force, load.torque))
        ends = [load.frame.on] + ([load.reaction.on] if load.reaction else [])
        reaction = frame(load.reaction) if load.reaction else None
        axes = "body" if load.body_axes else "world"
        owner(*ends).add(
            f"load{k}", AppliedLoad(frame(load.frame), force=force, torque=torque, reaction=reaction, axes=axes)
        )
    for k, torsion in enumerate(m.torsions):
        joint, name = joints[torsion.joint[0]], joints[torsion.joint[0]].coordinates[torsion.joint[1]]
        spring = RotationalSpringDamper(joint, k=torsion.k, c=torsion.c, rest=torsion.rest, coordinate=name)
        joint.owner.add(f"torsion{k}", spring)
        joint.owner.add(f"effort{k}", JointEffort(joint, torsion.wave.symbol(time, ca.sin), coordinate=name))


# -- evaluation


def joint_speeds(m: Mechanism, c: Connection) -> Array:
    return np.array([row.jacobian @ m.twists() for row in speed_rows(m, c)])


def measured(built: Built, m: Mechanism, joint: Joint) -> tuple[Array, Array]:
    """Coordinates and speeds of a joint that nobody declared, from the motion of its frames."""
    ends = []
    for frame in (joint.first, joint.second):
        k = next(i for i, carrier in enumerate(built.carriers) if carrier is frame.body)
        arm = m.A[k] @ np.array(ca.DM(frame.pose.position)).ravel()
        turned = m.A[k] @ np.array(ca.DM(frame.pose.rotation))
        ends.append((m.x[k] + arm, turned, m.v[k] + np.cross(m.w[k], arm), m.w[k]))
    (x1, r1, v1, w1), (x2, r2, v2, w2) = ends
    q = np.array(ca.DM(joint.measure(Pose(r1.T @ (x2 - x1), r1.T @ r2)))).ravel()
    twist = np.concatenate([r2.T @ (v2 - v1 - np.cross(w1, x2 - x1)), r2.T @ (w2 - w1)])
    return q, np.linalg.lstsq(np.array(ca.DM(joint.subspace(q))), twist, rcond=None)[0]


def state_of(translation: Translation, built: Built, m: Mechanism, modes: Sequence[float] = ()) -> Array:
    """The state of Kompono's tree, whichever it chose, at the poses and twists of the mechanism, and with modes."""
    q, v = [], []
    for link in translation.topology.links:
        if link.joint is None or link.rigid:
            continue
        number = built.number(link.joint)
        if number is not None:
            c = m.joints[number]
            q.append(c.q)
            v.append(joint_speeds(m, c))
        elif not isinstance(link.joint, Placed | Free):  # what mates between two bodies are
            for found, value in zip((q, v), measured(built, m, link.joint), strict=True):
                found.append(value)
        else:
            k = next(i for i, carrier in enumerate(built.carriers) if carrier is link.carrier)
            q.append(np.concatenate([m.x[k], quaternion_of(m.A[k])]))
            axes = np.eye(3) if isinstance(link.joint, Placed) else m.A[k].T
            v.append(np.concatenate([axes @ m.v[k], axes @ m.w[k]]))
    for joint in translation.engine.counted:  # angles integrated along to count turns
        q.append(m.joints[built.number(joint)].q)
    state = np.concatenate([*q, *v, modes]) if q else np.asarray(modes, dtype=float)
    assert len(state) == translation.program.state_size
    return state


@dataclass
class Evaluated:
    """Channels of a model at the mechanism's state, by name; motions of bodies as arrays."""

    built: Built
    translation: Translation
    values: dict[str, float]
    state: Array
    kernel: Any
    time: float

    def path(self, element: Any) -> str:
        return self.translation.model.path(element)

    def vector(self, element: Any, kind: str) -> Array:
        return np.array([self.values[f"{self.path(element)}.{kind}.{k}"] for k in "xyz"])

    def bodies(self, *kinds: str) -> Array:
        """(bodies, 3 per kind)."""
        solids = [b for b in self.built.carriers if isinstance(b, Body)]
        return np.array([np.concatenate([self.vector(b, kind) for kind in kinds]) for b in solids])

    @property
    def accelerations(self) -> Array:
        return self.bodies("acceleration", "angular_acceleration")


def evaluate(
    m: Mechanism, nesting: list[tuple[str, ...]] | None = None, *, native: bool = False, local: tuple[str, ...] | None
    = None, **options: Any,
) -> Evaluated:  # fmt: skip
    """Build, translate (with options of `translate`) and evaluate all channels at the mechanism's state."""
    built = build(m, nesting, local=local)
    translation = translate(built.model, shelf=SHELF, **options)
    kernel = compile_program(translation.program, native=native, cache=SHELF is not None)
    state = state_of(translation, built, m)
    output = kernel.evaluate("outputs", m.time, state, (), ())[0]
    values = {channel.name: float(x) for channel, x in zip(translation.program.channels, output, strict=True)}
    return Evaluated(built, translation, values, state, kernel, m.time)


def difference(a: Array, b: Array) -> float:
    """Largest difference, relative to the largest entry (at least 1)."""
    return float(np.abs(a - b).max(initial=0.0) / max(1.0, np.abs(b).max(initial=0.0)))


def reaction(case: Case, number: int) -> Array:
    """Force and torque of a joint on its second carrier at the second mark's origin, world axes, by the dense
    solution.
    """
    c = case.m.joints[number]
    wrench = case.solution.wrench_of(("joint", number), len(case.m.carriers))[c.second.on]
    arm = case.m.A[c.second.on] @ c.second.position
    return np.concatenate([wrench[:3], wrench[3:] - np.cross(arm, wrench[:3])])


def total_wrenches(case: Case, e: Evaluated) -> Array:
    """(bodies, 6): what the reported reactions of all joints add up to on each body, about its centre."""
    m = case.m
    total = np.zeros((len(m.carriers), 6))
    for c, joint in zip(m.joints, e.built.joints, strict=True):
        force, torque = e.vector(joint, "force"), e.vector(joint, "torque")
        point = m.x[c.second.on] + m.A[c.second.on] @ c.second.position
        for carrier, sign in ((c.second.on, 1.0), (c.first.on, -1.0)):
            total[carrier] += sign * np.concatenate([force, torque + np.cross(point - m.x[carrier], force)])
    return total[m.bodies]
