"""Freedoms that the loops of a machine lock: a piston that could turn in its bore, if its pin did not hold it.

Let some coordinates be zero and all others anything, off the conditions too. If combinations of condition rows are
then zero whatever the others are, and their slopes along the zero coordinates have full rank wherever the others are,
zero is the only value near it that the conditions allow: coordinates that start there stay there. They need no
unknown, no row and no arithmetic, and what is left of the loop is often planar.

Found at arbitrary states, from all coordinates that are zero at the assembled start: those that the slopes do not
determine are given up until all that are left are. Slopes that come near to zero somewhere (a crank in line with its
rod) determine nothing: there the machine might branch off, and no number of samples finds each such place. So products
of slopes must be the same at all states: what is constant has full rank everywhere.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np

from kompono.model.constraint import Coupling
from kompono.model.joint import Joint
from kompono.spatial.pose import symbolic_motion
from kompono.translate.motion.conditions import Closing
from kompono.translate.rank.probe import Probe
from kompono.translate.rank.rank import DEAD

STATES = 8  # arbitrary ones
ZERO = 1e-9  # a coordinate below this is zero at the start
LEVEL = 1e-10  # of a residual that does not depend on the other coordinates
STEEP = 0.05  # least slope, relative to the largest
CONSTANT = 1e-9  # of products of slopes, relative to the largest slopes


def find_locked(
    probe: Probe, elements: Iterable[Closing], apart: Collection[Joint], start: np.ndarray
) -> dict[Joint, tuple[int, ...]]:
    """Places of locked freedoms by joint; `elements` close loops, joints `apart` are left as they are, `start` is an
    assembled state.
    """
    held = [element for element in elements if _lasts(probe, element)]
    moved = {joint for element in held for joint in probe.closures[element].columns} - set(apart)
    plain = [joint for joint in probe.joints if joint in moved and type(joint).rate is Joint.rate]
    freedoms = [(joint, k) for joint in plain for k in range(joint.freedoms)]
    still = [one for one in freedoms if abs(start[probe.places(_by_joint([one]))[0][0]]) < ZERO]
    while still:
        determined = _determined(probe, held, still)
        if len(determined) == len(still):
            break
        still = determined
    return _by_joint(still)


def _by_joint(freedoms: Iterable[tuple[Joint, int]]) -> dict[Joint, tuple[int, ...]]:
    found: dict[Joint, tuple[int, ...]] = {}
    for joint, k in freedoms:
        found[joint] = (*found.get(joint, ()), k)
    return found


def _lasts(probe: Probe, element: Closing) -> bool:
    """Whether the conditions of an element are on positions, and nothing switches them."""
    rolls = not isinstance(element, Coupling) and bool(element.velocity_conditions(symbolic_motion()))
    return not rolls and not probe.switched(probe.columns(probe.closures[element]))


def _determined(
    probe: Probe, elements: Iterable[Closing], freedoms: list[tuple[Joint, int]]
) -> list[tuple[Joint, int]]:
    """Which of these freedoms the conditions determine where their coordinates are zero."""
    states, places = probe.wide_samples(STATES), probe.places(_by_joint(freedoms))
    states[:, [1 + q for q, _ in places]] = 0.0
    rows, still = [probe.rows_at(state) for state in states], [v for _, v in places]
    others = np.setdiff1d(np.arange(probe.nv), still)
    slopes: list[list[np.ndarray]] = [[] for _ in states]
    for element in elements:
        found = [row[element] for row in rows]
        size = np.max([np.abs(free).max(initial=0.0) for _, free, _ in found]) or 1.0
        stacked = np.hstack([matrix[:, others] for matrix, _, _ in found]) / size
        count = len(stacked)
        left, values, _ = np.linalg.svd(stacked, full_matrices=count > stacked.shape[1])
        alone = left[:, np.concatenate([values, np.zeros(count - len(values))]) <= DEAD].T
        level = np.max([np.abs(alone @ gap).max(initial=0.0) for _, _, gap in found], initial=0.0)
        if not level <= LEVEL * size:
            continue
        for total, (matrix, _, _) in zip(slopes, found, strict=True):
            total.append(alone @ matrix[:, still] / size)
    known = np.ones(len(still), dtype=bool)
    stacks = [np.vstack([np.zeros((0, len(still))), *parts]) for parts in slopes]
    scale = np.max([np.linalg.norm(stack, axis=0) for stack in stacks], axis=0)
    known &= scale > DEAD
    stacks = [stack / np.where(known, scale, np.inf) for stack in stacks]
    for stack in stacks:
        _, values, right = np.linalg.svd(stack)
        values = np.concatenate([values, np.zeros(len(still) - len(values))])
        loose = right[values < STEEP]
        known &= np.abs(loose).max(axis=0, initial=0.0) < ZERO
    if known.all():
        known &= np.ptp([stack.T @ stack for stack in stacks], axis=0).max(axis=0, initial=0.0) < CONSTANT
    return [one for one, sure in zip(freedoms, known, strict=True) if sure]
