"""Loops that can be solved for joints of their own wherever they go: a crank with its rod and piston.

A planar loop leaves two rows on three coordinates. Where one of them, the crank, can turn all the way round and the
rows always determine the other two, these may be substituted, as if they were geared to it,

    G_d v_d + G_i v_i = 0,        v_d = -G_d^-1 G_i v_i,

instead of being held by multipliers that somewhere else might be needed to find out which rows still count. The
motion is the same. Whether G_d is regular is not left to samples here and there: at the angle of the start all ways to
assemble the loop are looked for, and each is followed through one turn of the crank in small steps. If the determinant
keeps its sign and size from each step to the next and all the way, and the loop comes back to where it was, that curve
is all a loop that was assembled on it can reach. A loop that cannot turn, that has positions in line, or whose shape
depends on anything but its coordinates, keeps its multipliers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from kompono.model.joint import Joint
from kompono.translate.evaluated import on_arrays
from kompono.translate.motion.conditions import Closing
from kompono.translate.rank.probe import Freedoms, Probe
from kompono.translate.rank.rank import LiveRows

STEPS = 60  # of one turn
WAYS = 12  # random starts from which other ways to assemble a loop are looked for
REGULAR = 0.02  # least determinant, relative to the largest
SMOOTH = 1.5  # largest ratio of determinants from one step to the next
CLOSED = 1e-11  # what is left of the conditions, relative to their slopes
ROUNDS = 15  # of Newton's method


@dataclass(frozen=True)
class _Loop:
    """A loop as a function of the coordinates it has (n,): g (n - 1,) and G (n - 1, n); which of them is `turned`."""

    evaluate: Callable[[np.ndarray], list[np.ndarray]]
    start: np.ndarray
    turned: int

    @property
    def others(self) -> list[int]:
        return [k for k in range(len(self.start)) if k != self.turned]

    def closed(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Coordinates near these at which the loop is closed with the crank where it is, and G there; None if none are
        found.
        """
        q = q.copy()
        for _ in range(ROUNDS):
            g, matrix = self.evaluate(q)
            if np.abs(g).max() <= CLOSED * np.abs(matrix).max():
                return q, matrix
            try:
                q[self.others] -= np.linalg.solve(matrix[:, self.others], g.ravel())
            except np.linalg.LinAlgError:
                return None
            if not np.abs(q).max() < 1e3 * (1 + np.abs(self.start).max()):
                return None
        return None


def solvable(
    probe: Probe, element: Closing, live: LiveRows, locked: Freedoms, start: np.ndarray, kept: Collection[Joint]
) -> tuple[Joint, ...] | None:
    """Joints that the conditions of an element can be solved for, none of those that others need (`kept`); `live` are
    its rows, `start` is an assembled state.
    """
    joints = sorted(probe.closures[element].columns, key=probe.joints.index)  # what is near the root turns others
    free = [(j, k) for j in joints for k in range(j.freedoms) if k not in locked.get(j, ())]
    if len(live.size) not in (1, 2) or live.slips or len(free) != len(live.size) + 1:
        return None
    if len({joint for joint, _ in free}) != len(free) or any(type(j).rate is not Joint.rate for j, _ in free):
        return None
    cranks = [place for place, (joint, k) in enumerate(free) if joint.units and joint.units[k] == "rad"]
    needed = [place for place, (joint, _) in enumerate(free) if joint in kept]
    function = _function(probe, element, live, free, locked)
    if function is None:
        return None
    begun = np.array([start[probe.places({joint: (k,)})[0][0]] for joint, k in free])
    for crank in cranks if not needed else [place for place in cranks if needed == [place]]:
        if _regular(_Loop(on_arrays(function), begun, crank)):
            return tuple(joint for place, (joint, _) in enumerate(free) if place != crank)
    return None


def _function(
    probe: Probe, element: Closing, live: LiveRows, free: Sequence[tuple[Joint, int]], locked: Freedoms
) -> ca.Function | None:
    """g and G of an element on some coordinates, from these; None if they depend on more."""
    closure, symbols = probe.closures[element], probe.tracer.symbols
    columns = ca.horzcat(*[closure.columns[joint][:, [k]] for joint, k in free])
    rows = [live.rows(value, probe.tracer) for value in (closure.residual, columns)]
    still = [1 + q for q, _ in probe.places(locked)]
    if still:
        rows = ca.substitute(rows, [symbols[still]], [ca.SX.zeros(len(still))])
    own = symbols[[1 + probe.places({joint: (k,)})[0][0] for joint, k in free]]
    function = ca.Function("loop", [own], [ca.densify(row) for row in rows], {"allow_free": True})
    return None if function.has_free() else function


def _regular(loop: _Loop) -> bool:
    """Whether the crank can turn, on all ways to assemble the loop, with the others determined everywhere."""
    begun = loop.closed(loop.start)
    if begun is None:
        return False
    ways, random = [begun], np.random.default_rng(8)
    for _ in range(WAYS):
        trial = random.uniform(-np.pi, np.pi, len(loop.start)) * (1 + np.abs(loop.start))
        trial[loop.turned] = loop.start[loop.turned]
        found = loop.closed(trial)
        if found is not None and all(_apart(found[1], known[1]) for known in ways):
            ways.append(found)
    return all(_turns(loop, *way) for way in ways)


def _apart(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two ways to assemble a loop differ: by slopes, for angles may differ by whole turns."""
    return bool(np.abs(one - other).max() > 1e-6 * np.abs(one).max())


def _turns(loop: _Loop, q: np.ndarray, slopes: np.ndarray) -> bool:
    """Whether a loop can be followed through one turn of the crank, from one way to assemble it."""
    begun, others, step = slopes, loop.others, 2 * np.pi / STEPS
    sizes = [np.linalg.det(slopes[:, others])]
    for _ in range(STEPS):
        if not sizes[-1]:
            return False
        ahead = q.copy()
        ahead[loop.turned] += step
        ahead[others] -= np.linalg.solve(slopes[:, others], slopes[:, loop.turned] * step)
        following = loop.closed(ahead)
        if following is None:
            return False
        q, slopes = following
        sizes.append(np.linalg.det(slopes[:, others]))
        if not 1 / SMOOTH < sizes[-1] / sizes[-2] < SMOOTH:
            return False
    return min(map(abs, sizes)) > REGULAR * max(map(abs, sizes)) and not _apart(slopes, begun)
