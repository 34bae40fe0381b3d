"""Where conditions may point while a machine moves: rows of joints and constraints at many poses they allow.

Rows of a link turn relative to the bodies it holds (a rod swings about its end, a point wanders in a plane), so the
inverse mass they feel changes. The poses an element allows are found from its conditions alone: relative poses turned
at random, distances kept as they are at the start, brought back on the conditions by Newton's method.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
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
STILL = 1e-8  # [m, rad] of a step of Newton's method, behind which the next would be rounding
TOGETHER = 64  # runs
CLOSE = 1e-6  # how far off its conditions, in their units, a pose may be to count

Located = tuple[np.ndarray, np.ndarray]  # positions (runs, 3), rotations (runs, 3, 3)


@dataclass(frozen=True)
class Reach:
    """Rows an element may have on a body: for each group of them poses (poses, rows, 6), none where they are the same
    in all, but for a rotation among themselves; there present ones tell all. `which` of these each run has (runs,), -1
    where that is so for all groups.
    """

    which: np.ndarray
    poses: tuple[tuple[np.ndarray | None, ...], ...]


class ReachableRows:
    """Reachable rows at the states of several runs: `values` are numbers (runs,) of time, parameters and modes by the
    hash of their symbols, `placed` world positions and rotations of bodies.
    """

    def __init__(self, values: Mapping[int, np.ndarray], placed: dict[Carrier, Located]) -> None:
        self.values, self.placed = values, placed
        self.runs = len(next(iter(values.values())))
        turns = np.random.default_rng(4).standard_normal((2, SAMPLES, 4))
        self._begun: dict[Any, list[tuple[np.ndarray, Located]]] = {}  # what elements that are alike started from
        self.turns = rotations(turns / np.linalg.norm(turns, axis=2, keepdims=True))

    def given(self, element: Joint | Constraint, law: Conditions) -> Given:
        """An element as it is in all runs."""
        first, second = self.pose(element.first.pose), self.pose(element.second.pose)
        own = _after(_inverse(_after(self.place(element.first), first)), _after(self.place(element.second), second))
        symbols = ca.symvar(law.signals)
        signals = np.array([self.values[symbol.element_hash()] for symbol in symbols]).reshape(-1, self.runs).T
        return Given(_Law(law), _held(element), first, second, own, signals)

    def blocks(self, element: Joint | Constraint, law: Conditions, groups: Sequence[int]) -> list[Reach]:
        """What an element may do on the accelerations of its bodies, second first, in their own axes; `groups` are the
        numbers of rows that belong together.
        """
        given = self.given(element, law)
        first, second, own, signals = given.first, given.second, given.start, given.signals
        start = self._shared(_key(element), _flat(first, second, (np.round(own[0], 9),), signals), own)
        given = replace(given, start=start)
        kinds = alike(_flat(first, second, signals))
        apart = alike(_flat(first, second, start, own, signals))
        frames = (element.second, element.first)
        sides = [side for side, frame in enumerate(frames) if isinstance(frame.body, Body)]
        return [self._side(side, given, groups, kinds, apart) for side in sides]

    def _shared(self, key: Any, numbers: np.ndarray, own: Located) -> Located:
        """Where the poses of an element are looked for from: its own, or that of one before it that is alike."""
        if key is None:
            return own
        position, rotation = own
        for others, begun in self._begun.setdefault(key, []):
            same = (others == numbers).all(axis=1)
            position = np.where(same[:, None], begun[0], position)
            rotation = np.where(same[:, None, None], begun[1], rotation)
        self._begun[key].append((numbers, (position, rotation)))
        return position, rotation

    def _side(self, side: int, given: Given, groups: Sequence[int], kinds: np.ndarray, apart: np.ndarray) -> Reach:
        """The reach on one of the two bodies. Runs of a `kind` (the same points and signals) are asked once whether
        rows turn at all, in poses at the distance of the first and at twice that; those that do are followed for each
        run whose start lies `apart`.
        """
        which, poses = np.full(self.runs, -1), []
        ends = np.cumsum(groups)
        parts = [slice(end - size, end) for end, size in zip(ends, groups, strict=True)]
        for kind in range(kinds.max() + 1):
            mine = np.flatnonzero(kinds == kind)
            looks = self._rows(given.of(mine[:1]))[side][0]
            if len(mine) > 1:
                looks = np.concatenate([looks, self._rows(given.of(mine[:1]).stretched())[side][0]])
            turns = [_turns(looks[:, part]) for part in parts]
            if not any(turns):
                continue
            _, first, member = np.unique(apart[mine], return_index=True, return_inverse=True)
            which[mine] = len(poses) + member.reshape(-1)
            for k in range(0, len(first), TOGETHER):
                for rows in self._rows(given.of(mine[first[k : k + TOGETHER]]))[side]:
                    poses.append(
                        tuple(rows[:, part] if turn else None for part, turn in zip(parts, turns, strict=True))
                    )
        return Reach(which, tuple(poses))

    def _rows(self, given: Given) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Rows (poses, rows, 6) on the second and on the first body, for each of some runs."""
        if self._last is None or not self._last[0].same(given):
            self._last = given, _reachable(given, self.turns)
        return self._last[1]

    _last: tuple[Given, Any] | None = None  # both sides of an element ask for the same

    def place(self, frame: Frame) -> Located:
        """World position and rotation of a frame's body or ground."""
        body = frame.body
        if isinstance(body, Ground):
            return self.pose(body.motion)
        return self.placed[body]

    def pose(self, pose: Pose) -> Located:
        """A pose of expressions as numbers."""
        return self.number(pose.position).reshape(-1, 3), self.number(pose.rotation)

    def number(self, expression: Any) -> np.ndarray:
        """An expression of time, parameters and modes as numbers (runs, rows, columns)."""
        if isinstance(expression, ca.SX) and not expression.is_constant():
            symbols = ca.symvar(expression)
            function = ca.Function("value", [ca.vertcat(*symbols)], [ca.vec(ca.densify(expression))])
            values = function(np.array([self.values[symbol.element_hash()] for symbol in symbols])).full()
            return values.T.reshape(self.runs, *reversed(expression.shape)).transpose(0, 2, 1)
        number = ca.DM(expression).full()
        return np.broadcast_to(number, (self.runs, *number.shape))


@dataclass(frozen=True)
class Given:
    """An element in several runs: its law, how many of its rows hold positions, its points, where poses begin."""

    law: _Law
    held: int
    first: Located
    second: Located
    start: Located
    signals: np.ndarray

    def of(self, runs: np.ndarray) -> Given:
        """The same in some of the runs."""
        first, second, start = ((place[runs], turn[runs]) for place, turn in (self.first, self.second, self.start))
        return Given(self.law, self.held, first, second, start, self.signals[runs])

    def from_place(self, place: np.ndarray) -> Given:
        """The same in one run, with poses that begin at another relative position (3)."""
        return replace(self, start=(place[None], self.start[1]))

    def same(self, other: Given) -> bool:
        """Whether this is the same element, from the same starts."""
        mine, others = ((*one.start, one.signals) for one in (self, other))
        return self.law is other.law and all(map(np.array_equal, mine, others))

    def stretched(self) -> Given:
        """The same at twice the distance, and a little: what is fixed on a body is so there as well."""
        return replace(self, start=(2 * self.start[0] + 0.1, self.start[1]))


def switched(elements: Sequence[tuple[Joint | Constraint, Conditions]], modes: Sequence[Any]) -> bool:
    """Whether the conditions of some elements depend on a mode, which may switch them off."""
    used: list[ca.SX] = []
    for element, law in elements:
        used.append(law.signals)
        for frame in (element.first, element.second):
            poses = [frame.pose, *([frame.body.motion] if isinstance(frame.body, Ground) else [])]
            used += [ca.vec(ca.SX(part)) for pose in poses for part in (pose.position, pose.rotation)]
    known = {ca.SX(mode).element_hash() for mode in modes}
    return any(symbol.element_hash() in known for symbol in ca.symvar(ca.vertcat(ca.SX(0, 1), *used)))


def turned_poses(given: Given, turns: np.ndarray) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """Relative positions (poses, 3) of an element in one run, turned at random, and rows (poses, rows, 6) there on the
    second and the first body.
    """
    good, (position, _), rows = _poses(given, turns)
    return position[good[0]], (rows[0][0][good[0]], rows[1][0][good[0]])


def _reachable(given: Given, turns: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Rows (poses, rows, 6) on the second and the first body at the poses of each run, the present one first."""
    good, _, (on_second, on_first) = _poses(given, turns)
    runs = range(len(good))
    return [on_second[i][good[i]] for i in runs], [on_first[i][good[i]] for i in runs]


def _poses(given: Given, turns: np.ndarray) -> tuple[np.ndarray, Located, tuple[np.ndarray, np.ndarray]]:
    """Which poses (runs, poses) are on the conditions, where they are, and rows (runs, poses, rows, 6) on the second
    and the first body; the first of each run is where it begins.
    """
    (place, turn), runs, poses = given.start, len(given.signals), 1 + turns.shape[1]
    position = np.concatenate([place[:, None], (turns[0] @ place[:, None, :, None])[..., 0]], axis=1).reshape(-1, 3)
    rotation = np.concatenate([turn[:, None], turn[:, None] @ turns[1]], axis=1).reshape(-1, 3, 3)
    signals = np.repeat(given.signals, poses, axis=0)
    moving = np.flatnonzero(np.arange(len(position)) % poses)  # the first of each run is where the element is now
    for _ in range(ROUNDS):
        g, gamma = given.law(signals[moving], position[moving], rotation[moving])
        step = -np.einsum("sij,sj->si", np.linalg.pinv(gamma[:, : given.held], rcond=1e-9), g[:, : given.held])
        position[moving] += step[:, :3]
        rotation[moving] = _small_turn(step[:, 3:]) @ rotation[moving]
        moving = moving[np.abs(step).max(axis=1, initial=0.0) > STILL]
        if not len(moving):
            break
    g, gamma = given.law(signals, position, rotation)
    good = np.abs(g).max(axis=1, initial=0.0) < CLOSE
    good[::poses] = True
    good &= np.isfinite(gamma).all(axis=(1, 2))
    first, second = (
        (np.repeat(place, poses, axis=0), np.repeat(turn, poses, axis=0)) for place, turn in (given.first, given.second)
    )
    on_second, on_first = rows_on_bodies(gamma, (position, rotation), first, second)
    shape = (runs, poses, *on_second.shape[1:])
    return good.reshape(runs, poses), (position, rotation), (on_second.reshape(shape), on_first.reshape(shape))


def rows_on_bodies(gamma: np.ndarray, at: Located, first: Located, second: Located) -> tuple[np.ndarray, np.ndarray]:
    """Rows (poses, rows, 6) on the second and the first body from Gamma (poses, rows, 6) `at` relative poses of frames,
    which are `first` and `second` on their bodies.
    """
    rotation = at[1]
    on_second = np.concatenate([gamma[:, :, :3] @ rotation, gamma[:, :, 3:] @ rotation], axis=2)
    on_second = on_second @ _twist_matrix(*second)
    between = _after(_after(first, at), _inverse(second))
    return on_second, -on_second @ _twist_matrix(*between)


def _turns(rows: np.ndarray) -> bool:
    """Whether some rows (poses, rows, 6) differ between poses by more than a rotation among them, which no norm sees:
    those of a point or an axis fixed on the body do not.
    """
    grams = np.einsum("sri,srj->sij", rows, rows)
    return bool(np.abs(grams - grams[:1]).max(initial=0.0) > 1e-9 * max(np.abs(grams[0]).max(initial=0.0), 1e-300))


def _held(element: Joint | Constraint) -> int:
    return sum(ca.SX(group).numel() for group in element.conditions(symbolic_pose()) or ())


def _flat(*parts: Any) -> np.ndarray:
    """Numbers of runs as one table (runs, all of them)."""
    flat: list[np.ndarray] = []
    for part in parts:
        flat += [piece.reshape(len(piece), -1) for piece in (part if isinstance(part, tuple) else (part,))]
    return np.hstack(flat)


def alike(numbers: np.ndarray) -> np.ndarray:
    """For each of some rows the number of what it is alike to, to the bit."""
    if (numbers == numbers[0]).all():
        return np.zeros(len(numbers), dtype=int)
    return np.unique(numbers, axis=0, return_inverse=True)[1].reshape(-1)


def _key(element: Joint | Constraint) -> Any:
    """What makes two elements alike, numbers apart; None for one with attributes that are not plain numbers."""
    key: list[Any] = [type(element)]
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


class _Law:
    """The conditions of an element at poses, without speeds."""

    def __init__(self, law: Conditions) -> None:
        x, signals = ca.SX.sym("x", 12), ca.SX.sym("s", law.signals.numel())
        g, _, _, gamma = law.all(x, ca.SX.zeros(6), ca.SX.zeros(6), signals)
        self._rows, self._count = ca.Function("rows", [x, signals], [g, ca.vec(ca.densify(gamma))]), g.numel()

    def __call__(self, signals: np.ndarray, p: np.ndarray, r: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """g (poses, rows) and Gamma (poses, rows, 6)."""
        x = np.concatenate([p, r.transpose(0, 2, 1).reshape(len(p), 9)], axis=1).T
        g, gamma = self._rows(x, signals.T)
        return g.full().T, gamma.full().T.reshape(len(p), 6, self._count).swapaxes(1, 2)


def _after(a: Located, b: Located) -> Located:
    """The pose b seen through a."""
    return a[0] + (a[1] @ b[0][..., None])[..., 0], a[1] @ b[1]


def _inverse(a: Located) -> Located:
    back = np.swapaxes(a[1], -1, -2)
    return -(back @ a[0][..., None])[..., 0], back


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
