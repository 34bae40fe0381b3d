"""Conditions that others imply wherever the machine can go: plates on parallel rods, Delta robots, rings of scissors.

They are found at positions where all conditions hold: the start, and others reached along the machine's own freedoms
and projected back. There the rows of an element are compared with those of the elements before it; directions in which
they add nothing are its redundant ones. Each gets a slip of its own, a fictitious freedom that only it uses,

    (G M^-1 G^T + K K^T) lambda = b.

With N the redundant directions at a position, N^T G = 0 and N^T b = 0, so K^T lambda = 0: the slip never moves, the
accelerations are exactly those of all conditions, and no pivot has to be judged. That holds as long as K, which is
constant, is not at right angles to N. Being far from that at two positions is not enough where N turns by more than a
right angle on the way from one to the other: K then lies across it somewhere between. So N is followed along the ways
that were gone, from the start to both sides, and K^T N must keep its sign. A direction that turns too much, and every
condition that modes or inputs can switch, is left to pivots. So is a machine with freedoms that end at once (a row that
vanishes where it holds), and one that cannot be assembled from its declared start.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kompono.model.element import Element
from kompono.translate.structure.aligned import aligned
from kompono.translate.structure.independent import least_squares, null_space
from kompono.translate.structure.spans import beyond

CLOSED = 1e-11  # largest violation of a position that counts as one where the conditions hold
RANK = 1e-7  # singular values below this, relative to a row of unit size, count as zero
MARGIN = 0.3  # least cosine between K and N
TRIALS = 30  # of K
POSITIONS = 25
STEP = 0.35  # largest change of a coordinate from one position to the next


@dataclass(frozen=True)
class NumericModel:
    """What is asked of a model: `evaluate(time, q, parameters)` gives g and G on the speeds, `move(q, change)` the
    coordinates after a small motion; `start` q, declared `parameters`, and how coordinates weigh (speeds,).
    """

    evaluate: Callable[[float, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
    move: Callable[[np.ndarray, np.ndarray], np.ndarray]
    start: np.ndarray
    parameters: np.ndarray
    scale: np.ndarray


@dataclass(frozen=True)
class Position:
    """A position where the conditions hold: the instant, coordinates, values of parameters, G on the speeds, and the
    place of the position it was reached from (the start's own for the start).
    """

    time: float
    q: np.ndarray
    parameters: np.ndarray
    matrix: np.ndarray
    before: int


def slips(
    matrices: Sequence[np.ndarray], before: Sequence[int], elements: Mapping[Element, np.ndarray], sizes: np.ndarray
) -> dict[Element, np.ndarray]:
    """K (rows, slips) of each element with redundant rows, by element, for rows scaled to `sizes` (all rows,);
    `matrices` are G at several positions, with columns as coordinates weigh, each reached from the one `before` it.
    `elements` gives the places of the rows of each, those of elements that may be switched excluded. Elements whose
    rows are all independent have none; those left to pivots are not in the answer.
    """
    if not matrices:
        return {}
    found: dict[Element, np.ndarray] = {}
    bases = [np.zeros((0, matrix.shape[1])) for matrix in matrices]
    scaled = [matrix / sizes[:, None] for matrix in matrices]
    for key, places in elements.items():
        directions = []
        for k, matrix in enumerate(scaled):
            implied, bases[k] = beyond(matrix[places], bases[k], RANK)
            directions.append(implied)
        chosen = _common(directions, before)
        if chosen is not None:
            found[key] = sizes[places][:, None] * chosen
        elif not any(one.shape[1] for one in directions):
            found[key] = np.zeros((len(places), 0))
    return found


def _common(directions: Sequence[np.ndarray], before: Sequence[int]) -> np.ndarray | None:
    """Directions near to all of these, if there are any that are near enough everywhere and on the ways between; those
    that are missed most count more from one trial to the next.
    """
    count = min(one.shape[1] for one in directions)
    if not count:
        return None
    followed = _followed(directions, before, count)
    if not followed:
        return None
    weights, (turned, _) = np.ones(len(directions)), _turns([one.T @ followed[0] for one in followed])
    for _ in range(TRIALS):
        mean = sum(weight * one @ turn for weight, one, turn in zip(weights, followed, turned, strict=True))
        left, _, right = np.linalg.svd(mean, full_matrices=False)
        chosen = left @ right
        turned, margins = _turns([one.T @ chosen for one in followed])
        if margins.min() > MARGIN:
            return aligned(chosen)
        weights *= 1.5 - margins
    return None


def _turns(matrices: Sequence[np.ndarray]) -> tuple[list[np.ndarray], np.ndarray]:
    """The rotation nearest to each of these square matrices, and the least stretch it leaves: negative where it
    mirrors.
    """
    lefts, values, rights = np.linalg.svd(np.stack(matrices))
    values[:, -1] *= (mirrors := np.sign(np.linalg.det(lefts) * np.linalg.det(rights)))
    lefts[:, :, -1] *= mirrors[:, None]
    return [left @ right for left, right in zip(lefts, rights, strict=True)], values[:, -1]


def _followed(directions: Sequence[np.ndarray], before: Sequence[int], count: int) -> list[np.ndarray]:
    """`count` of the directions at each position, turned so that they go over into those at the position before; none
    if they turn too much from one to the next.
    """
    found: list[np.ndarray] = []
    for one, place in zip(directions, before, strict=True):
        aim = found[place] if found else one[:, :count]
        left, near, right = np.linalg.svd(one.T @ aim, full_matrices=False)
        if near.min() < MARGIN:
            return []
        found.append(one @ left @ right)
    return found


def find_positions(machine: NumericModel) -> list[Position]:
    """Several positions where the conditions hold, the start first, then some on either side of it; none if the start
    cannot be closed, or freedoms end at once.
    """
    random = np.random.default_rng(1)
    q = _close(machine, 0.0, machine.start, machine.parameters)
    if q is None:
        return []
    found = [Position(0.0, q, machine.parameters, machine.evaluate(0.0, q, machine.parameters)[1], 0)]
    first = _walk(machine, found, np.zeros(machine.scale.size), random)
    if first is None:
        return []
    _walk(machine, found, -first, random)
    return found


def _walk(
    machine: NumericModel, found: list[Position], onwards: np.ndarray, random: np.random.Generator
) -> np.ndarray | None:
    """Add positions on a way that leads from the start `onwards`; its first motion, or none if there is no way."""
    place, first = 0, None
    for number in range(1, POSITIONS // 2 + 1):
        here = found[place]
        _, matrix = machine.evaluate(here.time, here.q, machine.parameters)
        null = null_space(matrix / machine.scale, RANK)
        pushed = onwards * machine.scale + random.normal(size=machine.scale.size)  # whatever basis the null space has
        wanted = null.T @ (null @ pushed) / machine.scale
        if len(null):
            wanted *= STEP / np.abs(wanted).max()
        around = random.uniform(-0.02, 0.02, len(machine.parameters)) * machine.parameters
        parameters = machine.parameters + around if number % 2 else machine.parameters
        time = 0.02 * number
        moved = _follow(machine, time, here.q, wanted, parameters)
        if moved is None and first is None:
            return None
        if moved is None:  # the end of the way: back, or in another direction
            onwards = -onwards
            continue
        first, onwards = wanted if first is None else first, 10 * wanted
        matrix = machine.evaluate(time, moved, parameters)[1]
        found.append(Position(time, moved, parameters, matrix, place))
        place = len(found) - 1
    return first


def _follow(
    machine: NumericModel, time: float, q: np.ndarray, wanted: np.ndarray, parameters: np.ndarray
) -> np.ndarray | None:
    """A position in a wanted direction where the conditions hold, or none if the motion ends at once."""
    for share in (1.0, 0.3, 0.1):
        guess = machine.move(q, share * wanted)
        moved = _close(machine, time, guess, parameters)
        if moved is None:
            continue
        asked = np.abs(guess - q).max(initial=0.0)
        if np.abs(moved - guess).max(initial=0.0) <= 0.5 * asked + 0.05:
            return moved
    return None


def _close(machine: NumericModel, time: float, q: np.ndarray, parameters: np.ndarray) -> np.ndarray | None:
    """The position near q where the conditions hold, by Gauss-Newton."""
    for _ in range(25):
        g, matrix = machine.evaluate(time, q, parameters)
        if not (np.all(np.isfinite(g)) and np.all(np.isfinite(matrix))):
            return None
        if np.abs(g).max(initial=0.0) < CLOSED:
            return q
        step = least_squares(matrix / machine.scale, -g, RANK) / machine.scale
        q = machine.move(q, step * min(1.0, 0.5 / max(np.abs(step).max(), 1e-300)))
    return None
