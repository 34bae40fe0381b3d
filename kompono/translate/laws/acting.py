"""Forces of laws on a machine, in whatever coordinates its engine has.

Rows W lie on the accelerations of joints or of bodies, as the columns of their closures say; forces z act on the same
ones as W^T z. Who solves the equations of motion gives a function from such pushes to the motion they make.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import casadi as ca

from kompono.model.joint import Joint
from kompono.model.law import Law
from kompono.translate.elimination.unknowns import Solution, Unknown
from kompono.translate.laws.answer import LawAnswer, correct_laws, solve_laws
from kompono.translate.laws.rows import LawRows
from kompono.translate.motion.conditions import Closure
from kompono.translate.motion.joint_steps import joint_subspace
from kompono.translate.motion.kinematics import Kinematics
from kompono.translate.symbolic import Vector
from kompono.translate.tracer import Tracer

Rows = dict[Law, Closure[Any]]  # of joints or of bodies
Moved = Callable[[dict[Any, Vector]], Solution]  # the motion for forces on joints (freedoms), or on bodies (6)
Relieved = Callable[[Solution], Solution]
Reaction = Callable[[Solution, Joint], Vector]  # load (6) of a joint on its second frame, in that frame's axes


def act(
    rows: LawRows, kinematics: Kinematics, closures: Rows, answer: Moved, reaction: Reaction,
    feedback: tuple[float, float] = (0.0, 0.0), relieved: Relieved | None = None,
) -> LawAnswer:  # fmt: skip
    """Forces of laws and the motion with them; `relieved` chooses among reactions that are not unique. Where nothing is
    projected, errors of what holds may be fed back with two frequencies (a, b) [1/s]: w + 2 a g_dot + b^2 g = 0.
    """

    def pushed(z: Vector) -> Solution:
        solution = answer(pushes(rows, closures, z))
        for law, span in rows.spans.items():
            solution[Unknown.rows(law._rows)] = -z[span, :]
        return solution if relieved is None else relieved(solution)

    def seen(solution: Solution, z: Vector) -> Vector:
        accelerations = row_accelerations(rows, closures, solution)
        return ca.vertcat(accelerations, measured(rows, kinematics, solution, z, reaction))

    rate, gap = rows.stacked(closures, "rate"), rows.stacked(closures, "residual")
    a, b = feedback
    fed = 2 * a * rate + b**2 * gap if a or b else None
    return solve_laws(rows, kinematics.tracer, pushed, seen, rate, gap, rows.numbers(kinematics), fed)


def correct(
    rows: LawRows, tracer: Tracer, closures: Rows, pushed: Moved, off: Rows, level: str, before: Solution | None = None
) -> Solution:
    """Changes of coordinates (level "residual") or speeds (level "rate") that bring back what laws hold, from where it
    is `off`, on top of those `before` that undo violations of conditions; `pushed` gives what forces alone do, all
    conditions being held. Together they are the least changes that do both.
    """

    def moved(z: Vector) -> Vector:
        return row_accelerations(rows, closures, pushed(pushes(rows, closures, z)), bias=False)

    left = rows.stacked(off, level)
    if before is not None:
        left = left + row_accelerations(rows, closures, before, bias=False)
    answer = pushed(pushes(rows, closures, correct_laws(rows, tracer, moved, left, level)))
    return answer if before is None else Solution({key: change + answer[key] for key, change in before.items()})


def pushes(rows: LawRows, closures: Rows, z: Vector) -> dict[Any, Vector]:
    """W^T z by joint or body."""
    found: dict[Any, list[Vector]] = {}
    for law, span in rows.spans.items():
        units = rows.rows_of_units(law)
        if all(len(unit) == 1 for unit in units):  # as one product, sums take in what each does
            units = [[row for unit in units for row in unit]]
        for key, first, *parts in _factors(closures[law]):
            push = _in_pairs([first[unit, :].T @ z[span, :][unit, :] for unit in units])
            for part in parts:
                push = part.T @ push
            found.setdefault(key, []).append(push)
    return {key: reduce(lambda a, b: a + b, terms) for key, terms in found.items()}


def _in_pairs(terms: list[Vector]) -> Vector:
    """The sum of what several units do, two and two, so that none waits for all before it."""
    while len(terms) > 1:
        terms = [reduce(lambda a, b: a + b, terms[k : k + 2]) for k in range(0, len(terms), 2)]
    return terms[0]


def row_accelerations(rows: LawRows, closures: Rows, solution: Solution, bias: bool = True) -> Vector:
    """W a + u of all rows."""
    found = []
    for law in rows.laws:
        closure = closures[law]
        total = ca.densify(ca.SX(closure.bias)) if bias else ca.SX.zeros(closure.size)
        for key, *parts in _factors(closure):
            moved = solution.joint(key) if isinstance(key, Joint) else solution.body(key)
            for part in reversed(parts):
                moved = part @ moved
            total = total + moved
        found.append(total)
    return ca.vertcat(ca.SX(0, 1), *found)


def _factors(closure: Closure[Any]) -> list[tuple[Any, ...]]:
    """Joints or bodies, and what rows on their motion are the product of."""
    if closure.through is None:
        return [(key, ca.SX(block)) for key, block in closure.columns.items()]
    assert closure.gamma is not None
    return [(key, ca.SX(closure.gamma), *parts) for key, parts in closure.through.items()]


def measured(rows: LawRows, kinematics: Kinematics, solution: Solution, z: Vector, reaction: Reaction) -> Vector:
    """The reactions that limit friction: forces of gaps, and forces of joints across their free directions (3)."""
    found = [ca.SX(0, 1)]
    for entry in rows.measured:
        if isinstance(entry, int):
            found.append(z[entry])
            continue
        force = reaction(solution, entry)[:3]
        q, _ = kinematics.joint_state(entry)
        law = kinematics.model.pair(entry)
        for column in ca.horzsplit(ca.SX(joint_subspace(law, q, False))) if entry.freedoms else ():
            along, turning = column[:3], column[3:]
            if along.nnz() and not turning.nnz():  # a screw transmits force along its axis
                unit = along / ca.norm_2(ca.densify(along))
                force = force - unit * ca.dot(unit, force)
        found.append(ca.densify(force))
    return ca.vertcat(*found)
