"""What shows of a machine in absolute coordinates where it is assembled: slips, and how large pivots are.

References are made of each joint's own two bodies at arbitrary places, slips of what is known of the same machine in
joint coordinates (`sizes`). Both miss what only shows where many joints meet. The conditions of mates are not those of
the joints that stand for them in joint coordinates, so what a loop implies of them has no slip there; and what the
elements before leave of a condition may be far less than its two bodies alone: 2e-4 of it in a spherical wrist, which
would be taken for the nearness of a singular position and be lost on the way to a real one. So conditions on bodies are
looked at in numbers, in the order of elimination, at the positions that were looked at in joint coordinates
(`redundant`). Directions in which an element adds nothing get slips, and no reference is larger than the least pivot
that its row usually has there among those of its element,

    1 / ((G D G^T + K K^T - what elements before leave)^-1)_kk
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import casadi as ca
import numpy as np

from kompono.model.body import Body
from kompono.model.element import Element
from kompono.spatial.vectors import twist_matrix
from kompono.translate.elimination.blocks import PivotReference
from kompono.translate.elimination.pivots import ALWAYS
from kompono.translate.motion.conditions import Closing, Closure, Laws, trace_body_closure
from kompono.translate.motion.kinematics import Kinematics
from kompono.translate.motion.loads import central_inertia
from kompono.translate.rank.probe import Probe
from kompono.translate.rank.redundant import slips
from kompono.translate.structure.aligned import squared

IMPLIED = 1e-10  # a pivot below this, relative to its reference, is that of a row others imply
ROUNDING = 1e-12  # and so is one below this, relative to its row before anything was eliminated
LEAST = 1e-6  # share of a reference that is left in any case: what a stage is off the conditions stays below it

Order = Callable[[dict[Element, Closure[Body]]], Sequence[Element]]
Sizes = dict[Element, np.ndarray]


def at_positions(
    probe: Probe, closing: Sequence[Closing], laws: Laws, order: Order, references: Mapping[Element, PivotReference],
    *, unit: bool,
) -> dict[Element, PivotReference]:  # fmt: skip
    """References and slips by what is found at the positions a probe has looked at; those given where nothing is known.
    `order` is that of elimination; weights are masses, or those of a `unit` metric.
    """
    sizes = {e: ca.DM(one.sizes).full().ravel() for e, one in references.items()}
    judged = {e: own for e, own in sizes.items() if own.max(initial=0.0) > ALWAYS}
    positions = probe.held()
    if not positions or not judged:
        return dict(references)
    closures: dict[Element, Closure[Body]] = {
        e: trace_body_closure(probe.kinematics, e, laws, lambda _: ca.SX(6, 1)) for e in closing
    }
    elements = [e for e in order(closures) if closures[e].size]
    ends = np.cumsum([0, *(closures[e].size for e in elements)])
    places = {e: np.arange(a, b) for e, a, b in zip(elements, ends[:-1], ends[1:], strict=True)}
    rows = _rows(probe, [closures[e] for e in elements], unit)
    matrices = [rows(position).full() for position in positions]
    scale = np.sqrt(np.maximum(np.median([np.sum(matrix**2, axis=1) for matrix in matrices], axis=0), 1e-300))
    fixed = {e: here for e, here in places.items() if not _switched(probe, closures[e])}
    given = {e: _slip(one) for e, one in references.items() if one.slip is not None}
    here = {e: squared(one) for e, one in slips(matrices, probe.ways, fixed, scale).items() if e in judged}
    slip = here if len(here) == len(judged) else given  # which row is implied depends on the order: all, or those given
    found: dict[Element, list[np.ndarray]] = {e: [] for e in elements}
    for matrix in matrices:
        square = matrix @ matrix.T
        for element, added in slip.items():
            if element in places:
                square[np.ix_(places[element], places[element])] += added
        for element, pivots in _eliminated(square, places, judged):
            found[element].append(pivots)
    return dict(references) | {e: _reference(own, found[e], slip.get(e)) for e, own in judged.items() if e in found}


def _rows(probe: Probe, closures: Sequence[Closure[Body]], unit: bool) -> ca.Function:
    """All inputs of a routine -> G of all elements on the motions of bodies, as these weigh: G L with D = L L^T."""
    kinematics = probe.kinematics
    bodies = kinematics.model.bodies
    rows = [ca.horzcat(*[closure.columns.get(body, ca.SX(closure.size, 6)) for body in bodies]) for closure in closures]
    weights = ca.diagcat(*[_root(kinematics, body, unit) for body in bodies])
    return ca.Function("rows", [probe.tracer.symbols], [ca.densify(ca.sparsify(ca.vertcat(*rows)) @ weights)])


def _root(kinematics: Kinematics, body: Body, unit: bool) -> ca.SX:
    """L with D = L L^T of a body in its working frame, where D is 1/M, or 1 about its centre of mass."""
    moved = ca.SX(twist_matrix(kinematics.frames.of(body)))
    return moved if unit else moved @ ca.chol(ca.inv(ca.SX(central_inertia(body)))).T


def _switched(probe: Probe, closure: Closure[Body]) -> bool:
    return any(probe.switched(block) for block in closure.columns.values())


def _slip(reference: PivotReference) -> np.ndarray:
    """K K^T of a reference."""
    assert reference.slip is not None
    return -ca.DM(reference.slip).full()


def _eliminated(
    square: np.ndarray, places: Mapping[Element, np.ndarray], judged: Sizes
) -> Iterator[tuple[Element, np.ndarray]]:
    """Elements in the order of elimination, with the least pivots of their rows; nan for rows that others imply. The
    matrix is used up.
    """
    least = np.maximum(ROUNDING * np.diag(square), 1e-300)
    for element, here in places.items():
        block = np.array(square[here][:, here])
        kept = _independent(block, judged.get(element, np.maximum(np.diag(block), 1e-300)), least[here])
        pivots = np.full(len(here), np.nan)
        if len(kept):
            inverse = np.linalg.inv(block[kept][:, kept])
            pivots[kept] = 1 / np.diag(inverse)
            rest = np.arange(here[-1] + 1, len(square))
            coupled = square[np.ix_(rest, here[kept])]
            touched = np.flatnonzero(np.abs(coupled).max(axis=1, initial=0.0) > 0)
            part = coupled[touched]
            square[np.ix_(rest[touched], rest[touched])] -= part @ inverse @ part.T
        yield element, pivots


def _independent(block: np.ndarray, judged: np.ndarray, least: np.ndarray) -> np.ndarray:
    """Rows of a block that others of it, and elements before, do not imply, the largest ones taken first; no pivot is
    below the `least` one that is more than rounding.
    """
    scale = np.sqrt(judged)
    rest, kept = block / np.outer(scale, scale), []
    for _ in range(len(block)):
        left = np.where(np.diag(rest) * judged > least, np.diag(rest), 0.0)
        left[kept] = 0.0
        k = int(np.argmax(left))
        if not left[k] > IMPLIED:
            break
        kept.append(k)
        rest = rest - np.outer(rest[:, k], rest[k]) / left[k]
    return np.array(sorted(kept), dtype=int)


def _reference(own: np.ndarray, found: Sequence[np.ndarray], slip: np.ndarray | None) -> PivotReference:
    """What was found of the pivots of an element, where that is known at most positions."""
    known = np.sum(np.isfinite(found), axis=0) > len(found) / 2
    with np.errstate(all="ignore"):
        usual = np.nanmedian(np.where(known, found, 1.0), axis=0)
    sizes = np.where(known, np.clip(usual, LEAST * own, own), own)
    added = None if slip is None or not slip.any() else ca.SX(ca.sparsify(ca.DM(-slip)))
    return PivotReference(ca.SX(ca.DM(sizes)), added)
