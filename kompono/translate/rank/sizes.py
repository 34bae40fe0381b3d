"""What pivots are compared with in absolute coordinates, where every joint acts through its conditions.

A joint that no loop runs through never depends on others: its rows are taken whatever their size. For the rest, a row's
reference is the least pivot it has among the rows of its own element at arbitrary positions of its two bodies,

    1 / ((G D G^T)^-1)_kk,        D = 1/M of the two bodies,

which a light body on a long lever does not spoil, less what the loop leaves of that, known from the same loop in joint
coordinates (see `rank`), and from its masses: a light body between heavy ones is moved by one of its joints as easily
as it is light, and by the other, once the first has its place, as hard as the heavy ones. A joint whose conditions are
so different in size that double precision cannot tell them apart is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import casadi as ca
import numpy as np

from kompono.errors import TranslationError
from kompono.model.body import Body
from kompono.model.constraint import Constraint, Coupling
from kompono.model.element import Element
from kompono.model.joint import Joint
from kompono.spatial.pose import Pose
from kompono.spatial.vectors import twist_matrix
from kompono.translate.declared.elaborate import Elaborated
from kompono.translate.elimination.blocks import PivotReference
from kompono.translate.elimination.pivots import ALWAYS
from kompono.translate.motion.conditions import Closing, Conditions, Laws, column_of, path_joints, rows_on_bodies
from kompono.translate.motion.loads import central_inertia
from kompono.translate.rank.probe import SAMPLES
from kompono.translate.rank.rank import LiveRows
from kompono.translate.structure.aligned import aligned
from kompono.translate.structure.topology import Topology

BESIDE = 1e3  # times heavier than those of a joint a body of its loop may be until the joint's rows count as smaller
UNRESOLVED = 1e-12  # least pivot, relative to the first size of its row, that stands out from rounding
APART = 1e-2  # the same of rows that are far from depending on each other


def absolute_references(
    model: Elaborated,
    laws: Laws,
    tree: Topology,
    live: Mapping[Element, LiveRows],
    unit: bool,
    mobilities: Mapping[Body, np.ndarray],
) -> dict[Element, PivotReference]:
    """References of the rows of all joints, constraints and couplings, by element; `tree` and the `live` rows of what
    closes its loops are those of the same model in joint coordinates; with `unit` weights instead of masses.
    `mobilities` are 1/M (6, 6) of bodies whose mass is not declared.
    """
    elements: tuple[Closing, ...] = (*model.joints, *model.constraints, *model.couplings)
    pairs: dict[Element, tuple[np.ndarray, float]] = {
        e: _least_pivots(model, e, laws, unit, mobilities) for e in (*model.joints, *model.constraints)
    }
    sizes: dict[Element, np.ndarray] = {e: own for e, (own, _) in pairs.items()}
    apart = {e for e, (_, least) in pairs.items() if least > APART}
    sizes |= {e: live[e].declared(live[e].reference) for e in model.couplings}
    implied: dict[Element, np.ndarray] = {e: matrix for pair in tree.mated for e, matrix in pair.implied.items()}
    shares: dict[Element, float] = dict.fromkeys(implied, 1.0)
    for element in elements:
        if element in live:
            found, own = live[element].reference, sizes[element]
            share = min(1.0, found.min() / own.min()) if len(found) and len(own) else 1.0
            implied[element] = live[element].implied()
            loop = (element, *path_joints(tree, element))
            masses = {joint: _masses(joint, mobilities) for joint in loop}
            heaviest = max((mass for known in masses.values() for mass in known), default=0.0)
            for joint in loop:
                beside = min(1.0, BESIDE * min(masses[joint], default=0.0) / heaviest) if heaviest else 1.0
                shares[joint] = min(share * beside, shares.get(joint, 1.0))
    references: dict[Element, PivotReference] = {
        key: PivotReference.of(
            own * shares[key] if key in shares else np.full(len(own), ALWAYS), _slips(own, implied.get(key))
        )
        for key, own in sizes.items()
    }
    return {key: replace(one, apart=key in apart) for key, one in references.items()}


def _masses(element: Closing, mobilities: Mapping[Body, np.ndarray]) -> list[float]:
    """Of the bodies of an element [kg], as far as masses are numbers or known by what forces move there."""
    pairs = element.joints if isinstance(element, Coupling) else (element,)
    bodies = [frame.body for pair in pairs for frame in (pair.first, pair.second) if isinstance(frame.body, Body)]
    declared = [ca.SX(body.solid.mass) for body in bodies if body not in mobilities]
    told = [1 / float(mobilities[body][0, 0]) for body in bodies if body in mobilities and mobilities[body][0, 0] > 0]
    return told + [float(ca.DM(mass)) for mass in declared if mass.is_constant()]


def _slips(sizes: np.ndarray, implied: np.ndarray | None) -> np.ndarray | None:
    """K (rows, slips) across combinations of rows (rows, slips) that are implied, as large as these rows are."""
    if implied is None or not implied.size:
        return None
    scale = np.sqrt(sizes)[:, None]
    return scale * aligned(np.linalg.qr(scale * implied)[0])


def _least_pivots(
    model: Elaborated, element: Joint | Constraint, laws: Laws, unit: bool, mobilities: Mapping[Body, np.ndarray]
) -> tuple[np.ndarray, float]:
    """For each row of an element the least pivot it can have among the others, with both bodies free, and how far the
    rows are from depending on each other: the least eigenvalue of what they have in common, 1 if that is nothing.
    """
    law = laws.of(element)
    count = law.residual.size1_out(0)
    if not count:
        return np.zeros(0), 1.0
    function, free = _square_function(element, law, unit, mobilities)
    declared = {ca.SX(parameter).element_hash(): parameter.value for parameter in model.parameters}
    random = np.random.default_rng(1)
    pivots, least = [], []
    for _ in range(SAMPLES):
        values = [declared.get(symbol.element_hash(), random.uniform(0.2, 0.9)) for symbol in free]
        square = function(_pose(element, random), ca.DM(values)).full()
        first = np.sqrt(np.maximum(np.diag(square), 1e-300))
        sizes, vectors = np.linalg.eigh(square / np.outer(first, first))
        pivots.append(first**2 / np.sum(vectors**2 / np.maximum(sizes, 1e-16), axis=1))
        least.append(sizes[0])
    if not unit and np.median(least) < UNRESOLVED:
        _complain(model, element)
    return np.median(pivots, axis=0), min(least)


def _square_function(
    element: Joint | Constraint, law: Conditions, unit: bool, mobilities: Mapping[Body, np.ndarray]
) -> tuple[ca.Function, list[ca.SX]]:
    """(pose of the second frame in the first (12), other symbols) -> G D G^T, and those symbols."""
    x, still = ca.SX.sym("x", 12), ca.SX.zeros(6)
    pose, inner = Pose(x[:3], ca.reshape(x[3:], 3, 3)), element.second.pose
    gamma = law.all(x, still, still, law.signals)[3]
    blocks = rows_on_bodies(gamma, pose.rotation, twist_matrix(inner), element.first.pose @ pose @ inner.inverse())
    square = ca.SX(gamma.shape[0], gamma.shape[0])
    for block, frame in zip(blocks, (element.second, element.first), strict=True):
        if isinstance(frame.body, Body):
            weight = ca.DM.eye(6) if unit else _mobility(frame.body, mobilities)
            square += block @ weight @ block.T
    own = {symbol.element_hash() for symbol in ca.vertsplit(x)}
    free = [symbol for symbol in ca.symvar(square) if symbol.element_hash() not in own]
    return ca.Function("square", [x, ca.vertcat(*free)], [ca.densify(square)]), free


def _mobility(body: Body, known: Mapping[Body, np.ndarray]) -> ca.SX:
    return ca.SX(ca.DM(known[body])) if body in known else ca.inv(ca.SX(central_inertia(body)))


def _pose(element: Joint | Constraint, random: np.random.Generator) -> ca.DM:
    """A position the joint allows, or any, as a column (12)."""
    if isinstance(element, Joint):
        q = element.normalize(ca.DM(random.uniform(0.2, 0.9, len(element.coordinates))))
        pose = column_of(element.pose(ca.SX(q)))
        if pose.is_constant():
            return ca.DM(pose)
    turned = np.linalg.qr(random.normal(size=(3, 3)))[0]
    return ca.DM([*random.uniform(0.2, 0.9, 3), *(turned * np.linalg.det(turned)).ravel(order="F")])


def _complain(model: Elaborated, element: Joint | Constraint) -> None:
    bodies = [frame.body for frame in (element.first, element.second) if isinstance(frame.body, Body)]

    def least(body: Body) -> float:
        inertia = ca.SX(body.solid.inertia)
        return float(np.linalg.eigvalsh(ca.DM(inertia).full())[0]) if inertia.is_constant() else np.inf

    lightest = min(bodies, key=least)
    raise TranslationError(
        f"the body's inertia of {least(lightest):.3g} kg m^2 is too small beside its mass at {model.path(element)} for "
        "absolute coordinates: the joint's conditions would be lost in rounding.",
        path=model.path(lightest),
        fix="Give it a larger moment of inertia, or use engine='relative'.",
    )
