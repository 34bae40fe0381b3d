"""Every joint: subspace, conditions and measured coordinates agree with its pose; constraints have the right rows."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest
from laws.dense import Mark, across, connection_rows
from laws.mechanisms import CONSTRAINTS, JOINTS, Numbers, connect, draw_coordinates, joint_pose, make_joint, scatter
from scipy.spatial.transform import Rotation

from kompono import Body
from kompono.library import Link, Rolling
from kompono.model.joint import derived_subspace
from kompono.spatial.pose import Motion, Pose, pose_jacobian, symbolic_pose

SEEDS = range(4)
RODS = ("link", "ball", "disc")  # joints whose frames do not coincide at zero; `dense` does not know them
KINDS = (*JOINTS, *RODS)


class Described:
    """Coordinates of a joint `dense` does not know, and its pose in other words."""

    def __init__(self, kind: str, n: Numbers) -> None:
        self.kind, self.axis, self.size, turn = kind, n.unit(), n.scalar(0.3, 1.5), n.quaternion()
        self.along = np.cross(self.axis, n.unit())
        self.along /= np.linalg.norm(self.along)
        self.normal = n.unit()
        first = n.rng.uniform(-0.8, 0.8, 1 if kind == "link" else 2)
        self.q = np.concatenate([first, turn])

    def joint(self, first: Any, second: Any) -> Any:
        if self.kind == "link":
            return Link(first, second, length=self.size, axis=self.axis, along=self.along)
        axis = {"axis": self.axis} if self.kind == "disc" else {}
        return Rolling(first, second, radius=self.size, normal=self.normal, **axis)

    def pose(self) -> tuple[np.ndarray, np.ndarray]:
        r = Rotation.from_quat(np.roll(self.q[-4:], -1)).as_matrix()
        if self.kind == "link":
            c, s = np.cos(self.q[0]), np.sin(self.q[0])
            return self.size * (c * self.along + s * np.cross(self.axis, self.along)), r
        u, v = across(self.normal)
        tilt = 1.0 if self.kind == "ball" else np.sin(np.arccos(np.clip(self.normal @ r @ self.axis, -1, 1)))
        return self.q[0] * u + self.q[1] * v + self.size * tilt * self.normal, r


def draw(n: Numbers, joint: Any, kind: str) -> np.ndarray:
    if kind not in RODS:
        return draw_coordinates(n, kind)
    return np.concatenate([n.rng.uniform(-0.8, 0.8, len(joint.coordinates) - 4), n.quaternion()])


def number(expression: Any) -> np.ndarray:
    return np.asarray(ca.DM(ca.evalf(ca.densify(ca.SX(expression)))))


def random_joint(kind: str, seed: int) -> tuple[Any, Any, Numbers]:
    """A joint at random coordinates, and its plain description."""
    n = Numbers(seed)
    bodies = [Body(mass=1.0, inertia=(1, 1, 1)) for _ in range(2)]
    if kind in RODS:
        described = Described(kind, n)
        return described.joint(*bodies), described, n
    m = scatter(n, 2, [], 0.0)
    c = connect(m, n, kind, 0, 1)
    return make_joint(c, bodies[0], bodies[1], {}), c, n


def pose_at(joint: Any, q: np.ndarray) -> Pose:
    pose = joint.pose(ca.DM(q) if len(q) else ca.DM(0, 1))
    return Pose(ca.SX(ca.DM(number(pose.position))), ca.SX(ca.DM(number(pose.rotation))))


def same_coordinates(a: np.ndarray, b: np.ndarray, names: tuple[str, ...]) -> bool:
    """Equal, angles modulo a turn, quaternions up to their sign."""
    quaternion = [k for k, name in enumerate(names) if name in ("e0", "e1", "e2", "e3")]
    difference = a - b
    if quaternion and a[quaternion] @ b[quaternion] < 0:
        difference[quaternion] = a[quaternion] + b[quaternion]
    for k, name in enumerate(names):
        if name.startswith("angle"):
            difference[k] = (difference[k] + np.pi) % (2 * np.pi) - np.pi
    return bool(np.abs(difference).max(initial=0.0) < 1e-13)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", KINDS)
def test_pose_is_the_one_of_the_textbook(kind: str, seed: int) -> None:
    joint, c, _ = random_joint(kind, seed)
    pose = pose_at(joint, c.q)
    p, r = c.pose() if kind in RODS else joint_pose(c)
    assert np.abs(number(pose.position).ravel() - p).max() < 1e-14
    assert np.abs(number(pose.rotation) - r).max() < 1e-14


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", KINDS)
def test_declared_subspace_is_the_derived_one(kind: str, seed: int) -> None:
    joint, _, n = random_joint(kind, seed)
    q = ca.DM(draw(n, joint, kind)) if joint.coordinates else ca.DM(0, 1)
    declared, derived = number(joint.subspace(q)), number(derived_subspace(joint, q))
    assert declared.shape == (6, joint.freedoms)
    assert np.abs(declared - derived).max(initial=0.0) < 1e-14
    assert np.linalg.matrix_rank(declared) == joint.freedoms


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", KINDS)
def test_rate_of_the_subspace_is_its_derivative(kind: str, seed: int) -> None:
    """S_dot v, by differences of fourth order along q_dot."""
    joint, _, n = random_joint(kind, seed)
    if not joint.freedoms or not hasattr(type(joint), "subspace_rate"):
        return
    q, v = draw(n, joint, kind), n.rng.normal(size=joint.freedoms)
    rate = number(joint.rate(ca.DM(q), ca.DM(v))).ravel()
    h = 4e-4
    s = {k: number(joint.subspace(ca.DM(q + k * h * rate))) @ v for k in (-2, -1, 1, 2)}
    expected = (8 * (s[1] - s[-1]) - (s[2] - s[-2])) / (12 * h)
    assert np.abs(number(joint.subspace_rate(ca.DM(q), ca.DM(v))).ravel() - expected).max() < 1e-10


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", KINDS)
def test_conditions_vanish_on_the_joint_and_only_there(kind: str, seed: int) -> None:
    joint, c, _ = random_joint(kind, seed)
    symbols = symbolic_pose()
    groups = [ca.SX(g) for g in joint.conditions(symbols)]
    g = ca.vertcat(*[ca.vec(group) for group in groups]) if groups else ca.SX(0, 1)
    speed = ca.SX.sym("V", 6)
    slips = joint.velocity_conditions(Motion(symbols.position, symbols.rotation, speed[:3], speed[3:]))
    slip = ca.vertcat(ca.SX(0, 1), *[ca.vec(ca.SX(group)) for group in slips])
    assert g.numel() + slip.numel() == 6 - joint.freedoms
    pose = pose_at(joint, c.q)
    before = ca.vertcat(symbols.position, ca.vec(symbols.rotation))
    after = ca.vertcat(pose.position, ca.vec(pose.rotation))
    if not groups:
        return
    assert np.abs(number(ca.substitute(g, before, after))).max() < 1e-14
    rows = ca.densify(ca.vertcat(pose_jacobian(g, symbols), ca.jacobian(slip, speed)))
    gamma = number(ca.substitute(rows, before, after))
    assert np.linalg.matrix_rank(gamma, tol=1e-9) == 6 - joint.freedoms
    turn = np.kron(np.eye(2), number(pose.rotation))  # S is in second axes, gamma on a motion in first axes
    allowed = turn @ number(joint.subspace(ca.DM(c.q) if len(c.q) else ca.DM(0, 1)))
    assert np.abs(gamma @ allowed).max(initial=0.0) < 1e-13


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", KINDS)
def test_measuring_gives_back_the_coordinates(kind: str, seed: int) -> None:
    joint, c, n = random_joint(kind, seed)
    if not joint.coordinates:
        return
    for factor in (1.0, 3.5):  # angles up to 2.8 rad
        turning = kind in ("spherical", "free", *RODS)
        q = draw(n, joint, kind) if turning and factor != 1.0 else c.q * (1.0 if turning else factor)
        measured = number(joint.measure(pose_at(joint, q))).ravel()
        assert same_coordinates(measured, q, joint.coordinates)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", CONSTRAINTS)
def test_conditions_of_constraints_have_the_rows_of_the_textbook(kind: str, seed: int) -> None:
    """Same row space on the relative motion as the rows written by hand."""
    n = Numbers(seed)
    m = scatter(n, 2, [], 0.7)
    m.x[0], m.A[0] = 0.0, np.eye(3)  # the first frame is the world, the second body its frame
    c = connect_again(m, n, kind)
    bodies = [Body(mass=1.0, inertia=(1, 1, 1)) for _ in range(2)]
    extra = {"length": c.length.at(m.time)[0]} if kind == "distance" else {"axis": c.axis}
    element = CONSTRAINTS[kind](bodies[0], bodies[1], **extra)
    symbols = symbolic_pose()
    g = ca.vertcat(*[ca.vec(ca.SX(group)) for group in element.conditions(symbols)])
    before = ca.vertcat(symbols.position, ca.vec(symbols.rotation))
    after = ca.vertcat(ca.DM(m.x[1]), ca.vec(ca.DM(m.A[1])))
    assert np.abs(number(ca.substitute(g, before, after))).max() < 1e-14
    gamma = number(ca.substitute(ca.densify(pose_jacobian(g, symbols)), before, after))
    rows = np.array([row.jacobian[6:] for row in connection_rows(m, c)])
    assert gamma.shape == rows.shape
    ranks = [np.linalg.matrix_rank(matrix, tol=1e-9) for matrix in (gamma, rows, np.vstack([gamma, rows]))]
    assert ranks == [len(rows)] * 3


def connect_again(m: Any, n: Numbers, kind: str) -> Any:
    """A constraint between the world frame and the frame of body 1, which is moved to where it holds."""
    c = connect(m, n, kind, 0, 1, upright=True, point=np.zeros(3))
    m.x[1], m.A[1] = m.x[1] + m.A[1] @ c.second.position, m.A[1] @ c.second.rotation
    c.second = Mark(1, np.zeros(3), np.eye(3))
    return c
