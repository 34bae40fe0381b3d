"""Reactions of redundant joints that friction follows: of all that fit, those of least norm.

Where joints hold more than they must (a door on two hinges, a loop of revolutes in a plane), the motion is unique and
the reactions are not: wrenches that balance each other, *self-stresses*, may be added. The equations of motion give one
set, with zeros where rows were dropped; friction fed with those would depend on the order of declaration. So
self-stresses T y are added to the multipliers such that

    sum over all joints and constraints they run through of |force|^2 + |torque|^2 / L^2

is least. Wrenches are those of reaction channels, about the origin of the second frame; masses do not enter. L is a
thousandth of the distance between these joints (root of the mean square): joints bear by forces what forces can bear,
as bearings of a shaft are reckoned.

A condition c of an element that others imply begins a self-stress: the machine, pushed as if c had a multiplier, does
not move, and its other multipliers say how that is borne.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from kompono.model.constraint import Constraint, Coupling
from kompono.model.element import Element
from kompono.model.joint import Joint
from kompono.model.law import is_law
from kompono.translate.declared.elaborate import Elaborated
from kompono.translate.elimination.pivots import inverse_of
from kompono.translate.elimination.unknowns import Solution, Unknown
from kompono.translate.laws.split import coefficients
from kompono.translate.motion.conditions import Closing, Closure
from kompono.translate.motion.kinematics import Kinematics
from kompono.translate.rank.rank import LiveRows
from kompono.translate.structure.topology import Topology
from kompono.translate.symbolic import Matrix, Scalar, Vector

SHORT = 1e-3  # L, of the distance between joints
ROUNDING = 1e-13  # entries of a combination below this, relative to its largest, are zero
TOGETHER = 1e-18  # [m^2]: joints nearer to each other are at one place, and L is 1 m

Pushed = Callable[[dict[Any, Vector]], Solution]  # what forces on joints or bodies alone do, conditions being held
Load = Callable[[Solution, Joint | Constraint], Vector]  # load (6) on the second frame, in its axes


@dataclass(frozen=True)
class Redundancy:
    """Which joints, constraints and couplings bear self-stresses, and what begins these: by element combinations
    (rows, any) of its conditions that others imply, the last `dead` of which push nothing at all in joint coordinates.
    """

    bearing: tuple[Closing, ...]
    implied: Mapping[Element, Matrix]
    dead: Mapping[Element, int]

    def __bool__(self) -> bool:
        return bool(self.implied)


def redundancy_of(
    whole: Elaborated, tree: Topology, live: Mapping[Element, LiveRows], model: Elaborated | None = None
) -> Redundancy:
    """What joints of a machine with a spanning tree hold more than once, in loops of a `model` that is a part of it, or
    in all; `live` are the rows of what closes its loops.
    """
    model = model or whole
    known = _elements(model)
    others: set[Element] = {one for one in _elements(whole) if one not in known}
    loops: dict[Element, set[Element]] = {k: {k, *_path(tree, k)} for k in live if isinstance(k, Closing)}
    loops = {key: loop for key, loop in loops.items() if not loop & others}
    implied = {key: _begun(whole, key, live[key]) for key in loops}
    implied = {key: one for key, one in implied.items() if one.shape[1]}
    dead = {key: one.shape[1] - live[key].slips for key, one in implied.items()}
    reached: set[Element] = {one for key in implied for one in loops[key]}
    while any(len(loop - reached) not in (0, len(loop)) for loop in loops.values()):
        reached |= {one for loop in loops.values() if loop & reached for one in loop}
    return Redundancy(tuple(one for one in known if one in reached), implied, dead)


def shared_across(
    whole: Elaborated, tree: Topology, live: Mapping[Element, LiveRows], models: Sequence[Elaborated]
) -> set[Element]:
    """Joints whose reactions are not unique because of loops through several of the `models` a machine is made of: no
    self-stress can be told there.
    """
    place = {one: k for k, model in enumerate(models) for one in _elements(model)}
    loops = {key: {key, *_path(tree, key)} for key in live if isinstance(key, Closing)}
    crossing = {key: loop for key, loop in loops.items() if len({place.get(one) for one in loop}) > 1}
    return {one for key, loop in crossing.items() if live[key].implied().shape[1] for one in loop}


def _begun(model: Elaborated, element: Element, live: LiveRows) -> Matrix:
    """Combinations of conditions that others imply; what masses or lengths have a say in is a number of the model."""
    known = live.implied()
    told = model.numbers is not None and (live.slips or model.numbers.frames is not None)
    if model.numbers is None or not told or not known.size:
        return ca.SX(ca.DM(known))
    known = np.where(np.abs(known) > ROUNDING * np.abs(known).max(axis=0, initial=0.0), known, 0.0)
    return model.numbers.found(f"{model.path(element)} implied", known, ones=True)


def _elements(model: Elaborated) -> tuple[Closing, ...]:
    return (*model.joints, *model.constraints, *model.couplings)


def _path(tree: Topology, element: Closing) -> list[Joint]:
    """Joints of the tree that carry what an element transmits, welds included."""
    if isinstance(element, Coupling):
        return list(element.joints)
    up, down = tree.path(element.first.body, element.second.body)
    return [link.joint for link in (*up, *down) if link.joint is not None]


class SelfStress:
    """Self-stresses of a machine at a state; `by_joints`: in joint coordinates."""

    def __init__(
        self, kinematics: Kinematics, closures: Mapping[Element, Closure[Any]], redundancy: Redundancy, pushed: Pushed,
        load: Load, *, by_joints: bool,
    ) -> None:  # fmt: skip
        self.kinematics, self.redundancy, self.pushed, self.load = kinematics, redundancy, pushed, load
        self.by_joints = by_joints
        self.closures = {key: one for key, one in closures.items() if one.size and not is_law(one.element)}

    @cached_property
    def stresses(self) -> dict[Element, Matrix]:
        """T (rows, stresses) by element."""
        columns: list[dict[Element, Vector]] = []
        for key, combinations in self.redundancy.implied.items():
            still = combinations.shape[1] - (self.redundancy.dead[key] if self.by_joints else 0)
            for k in range(combinations.shape[1]):
                columns.append(self._stress(key, combinations[:, k], k < still))
        return {
            key: ca.sparsify(ca.horzcat(*[column.get(key, ca.SX(one.size, 1)) for column in columns]))
            for key, one in self.closures.items()
        }

    def _stress(self, key: Element, begun: Vector, answered: bool) -> dict[Element, Vector]:
        """The multipliers that hold, by element, if those of one are given."""
        if not answered:
            return {key: begun}
        pushes = {moved: -(ca.SX(block).T @ begun) for moved, block in self.closures[key].columns.items()}
        answer = self.pushed(pushes)
        found = {other: answer[Unknown.rows(other)] for other in self.closures if Unknown.rows(other) in answer}
        found[key] = begun + found.get(key, ca.SX(begun.numel(), 1))
        return found

    def relieved(self, solution: Solution) -> Solution:
        """The same solution with the multipliers of least loads."""
        y = ca.SX.sym("y", next(iter(self.stresses.values())).shape[1])
        weight = self._weight()
        loads = ca.vertcat(*[self._load(self._added(solution, y), one, weight) for one in self.redundancy.bearing])
        slope, given = coefficients(loads, y), ca.substitute(loads, y, ca.SX.zeros(y.numel()))
        inverse = inverse_of(ca.densify(slope.T @ slope))
        found = -(inverse @ (slope.T @ given))
        found = found - inverse @ (slope.T @ (given + slope @ found))  # what rounding left
        return self._added(solution, found)

    def _load(self, solution: Solution, element: Closing, weight: Scalar) -> Vector:
        """What an element bears: force and torque / L, or the effort of a coupling."""
        if isinstance(element, Coupling):
            return solution.rows(element)
        load = ca.densify(self.load(solution, element))
        return ca.vertcat(load[:3], weight * load[3:])

    def _added(self, solution: Solution, y: Vector) -> Solution:
        changed = Solution(solution)
        for key, columns in self.stresses.items():
            if columns.nnz():
                changed[Unknown.rows(key)] = solution[Unknown.rows(key)] + columns @ y
        return changed

    def _weight(self) -> Scalar:
        """1 / L."""
        frames = [one.second for one in self.redundancy.bearing if not isinstance(one, Coupling)]
        places = [ca.SX(self.kinematics.motion(None, frame).position) for frame in frames]
        middle = sum(places, ca.SX(3, 1)) / max(len(places), 1)
        square = sum((ca.sumsqr(place - middle) for place in places), ca.SX(0)) / max(len(places), 1)
        return 1 / ca.sqrt(ca.if_else(square > TOGETHER, SHORT**2 * square, 1))
