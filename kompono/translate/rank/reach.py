"""Where conditions may point while a machine moves: rows of joints and constraints at many poses they allow.

Rows of a link turn relative to the bodies it holds (a rod swings about its end, a point wanders in a plane), so the
inverse mass they feel changes. The poses an element allows are found from its conditions alone: relative poses turned
at random, distances kept as they are at the start, brought back on the conditions by Newton's method.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import casadi as ca
import numpy as np

from kompono.model.body import Body, Carrier, Frame, Ground
from kompono.model.constraint import Constraint
from kompono.model.joint import Joint
from kompono.spatial.numeric import rotations
from kompono.spatial.pose import Pose, symbolic_pose
from kompono.translate.motion.conditions import Conditions

SAMPLES = 64
ROUNDS = 12
CLOSE = 1e-6  # how far off its conditions, in their units, a pose may be to count

Located = tuple[np.ndarray, np.ndarray]  # position (3,), rotation (3, 3)


class ReachableRows:
    """Reachable rows at one state: `values` are numbers of time, parameters and modes by the hash of their symbols,
    `placed` world positions and rotations of bodies.
    """

    def __init__(self, values: Mapping[int, float], placed: dict[Carrier, Located]) -> None:
        self.values, self.placed = values, placed
        turns = np.random.default_rng(4).standard_normal((2, SAMPLES, 4))
        self._known: dict[Any, list[np.ndarray]] = {}  # of elements that are alike, or the last one that is not
        self.turns = rotations(turns / np.linalg.norm(turns, axis=2, keepdims=True))

    def blocks(self, element: Joint | Constraint, law: Conditions) -> list[np.ndarray]:
        """Rows (poses, rows, 6) on the accelerations of the bodies of an element, second first, in their own axes."""
        first, second = self.pose(element.first.pose), self.pose(element.second.pose)
        start = _after(_inverse(_after(self.place(element.first), first)), _after(self.place(element.second), second))
        signals = [self.values[symbol.element_hash()] for symbol in ca.symvar(law.signals)]
        key = _key(element, first, second, start[0], signals)
        if key is None or key not in self._known:
            self._known[key] = self._blocks(element, law, (first, second, start), signals)
        pairs = zip((element.second, element.first), self._known[key], strict=True)
        return [block for frame, block in pairs if isinstance(frame.body, Body)]

    def _blocks(
        self,
        element: Joint | Constraint,
        law: Conditions,
        placed: tuple[Located, Located, Located],
        signals: list[float],
    ) -> list[np.ndarray]:
        first, second, start = placed
        position = np.concatenate([start[0][None], self.turns[0] @ start[0]])
        rotation = np.concatenate([start[1][None], start[1] @ self.turns[1]])
        held = sum(ca.SX(group).numel() for group in element.conditions(symbolic_pose()) or ())
        for _ in range(ROUNDS):
            g, gamma = _rows(law, signals, position, rotation)
            step = -np.einsum("sij,sj->si", np.linalg.pinv(gamma[:, :held], rcond=1e-9), g[:, :held])
            step[0] = 0.0  # the first is where the element is now
            position, rotation = position + step[:, :3], _small_turn(step[:, 3:]) @ rotation
        g, gamma = _rows(law, signals, position, rotation)
        good = np.abs(g).max(axis=1, initial=0.0) < CLOSE
        good[0] = True
        good &= np.isfinite(gamma).all(axis=(1, 2))
        position, rotation, gamma = position[good], rotation[good], gamma[good]
        on_second = np.concatenate([gamma[:, :, :3] @ rotation, gamma[:, :, 3:] @ rotation], axis=2)
        on_second = on_second @ _twist_matrix(second[0], second[1])
        between = _after(_after(first, (position, rotation)), _inverse(second))
        return [on_second, -on_second @ _twist_matrix(*between)]

    def place(self, frame: Frame) -> Located:
        """World position and rotation of a frame's body or ground."""
        body = frame.body
        if isinstance(body, Ground):
            return self.pose(body.motion)
        return self.placed[body]

    def pose(self, pose: Pose) -> Located:
        """A pose of expressions as numbers."""
        return self.number(pose.position).ravel(), self.number(pose.rotation)

    def number(self, expression: Any) -> np.ndarray:
        """An expression of time, parameters and modes as numbers."""
        if isinstance(expression, ca.SX) and not expression.is_constant():
            symbols = ca.symvar(expression)
            function = ca.Function("value", symbols, [ca.densify(expression)])
            return function(*[self.values[symbol.element_hash()] for symbol in symbols]).full()
        return ca.DM(expression).full()


def _key(
    element: Joint | Constraint, first: Located, second: Located, position: np.ndarray, signals: list[float]
) -> Any:
    """What makes two elements alike, angles apart; None for one with attributes that are not plain numbers."""
    key: list[Any] = [type(element), tuple(signals), np.round(position, 9).tobytes()]
    key += [part.tobytes() for placed in (first, second) for part in placed]
    for name, value in vars(element).items():
        if name in ("first", "second", "q", "v", "start", "_owner", "_name", "_signals"):
            continue
        if isinstance(value, np.ndarray) and value.dtype != object:
            key.append((name, value.shape, value.tobytes()))
        elif value is None or isinstance(value, int | float | str):
            key.append((name, value))
        else:
            return None
    return tuple(key)


def _rows(law: Conditions, signals: list[float], p: np.ndarray, r: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """g (poses, rows) and Gamma (poses, rows, 6)."""
    count = len(p)
    x = np.concatenate([p, r.transpose(0, 2, 1).reshape(count, 9)], axis=1).T
    g, _, _, gamma = law.all(x, np.zeros((6, count)), np.zeros((6, count)), np.tile(np.array(signals)[:, None], count))
    rows = g.shape[0]
    return g.full().T, ca.densify(gamma).full().reshape(rows, count, 6).transpose(1, 0, 2)


def _after(a: Located, b: Located) -> Located:
    """The pose b seen through a."""
    return a[0] + (a[1] @ b[0][..., None])[..., 0], a[1] @ b[1]


def _inverse(a: Located) -> Located:
    return -(a[1].T @ a[0]), a[1].T


def _skew(p: np.ndarray) -> np.ndarray:
    x, y, z = np.moveaxis(np.asarray(p), -1, 0)
    zero = np.zeros_like(x)
    rows = [[zero, -z, y], [z, zero, -x], [-y, x, zero]]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def _twist_matrix(p: np.ndarray, r: np.ndarray) -> np.ndarray:
    """X (..., 6, 6) that carries the twist of a frame to one fixed on it at (p, r)."""
    back = np.swapaxes(r, -1, -2)
    result = np.zeros((*r.shape[:-2], 6, 6))
    result[..., :3, :3] = result[..., 3:, 3:] = back
    result[..., :3, 3:] = -back @ _skew(p)
    return result


def _small_turn(angle: np.ndarray) -> np.ndarray:
    """Rotations (poses, 3, 3) by rotation vectors (poses, 3), of at most a radian."""
    length = np.linalg.norm(angle, axis=1, keepdims=True)
    half = np.minimum(length, 1.0) / 2
    axis = angle / np.where(length > 0, length, 1.0)
    return rotations(np.concatenate([np.cos(half), np.sin(half) * axis], axis=1))
