"""Laws in joint coordinates: rows W on the speeds of tree joints, forces W^T z as generalized forces on them."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import casadi as ca

from kompono.model.joint import Joint
from kompono.model.law import Law
from kompono.translate.elimination.inertia_form import Condensation
from kompono.translate.elimination.unknowns import Solution, Unknown
from kompono.translate.laws.answer import Answer, correct_laws, solve_laws
from kompono.translate.laws.rows import LawRows
from kompono.translate.motion.conditions import Closure, Laws, check_coupled, trace_closure
from kompono.translate.motion.kinematics import Kinematics, joint_subspace
from kompono.translate.symbolic import Vector

LawClosures = dict[Law, Closure[Joint]]
Reaction = Callable[[Solution, Joint], Vector]  # load (6) of a joint on its second frame, in that frame's axes


def trace_rows(kinematics: Kinematics, rows: LawRows, laws: Laws) -> LawClosures:
    """The rows of all laws at a state."""
    found: LawClosures = {}
    for law in rows.laws:
        element = law._rows
        if hasattr(law, "joints"):
            check_coupled(kinematics.topology, element)  # type: ignore[arg-type]
        found[law] = trace_closure(kinematics, element, laws)
    return found


def act(
    rows: LawRows,
    kinematics: Kinematics,
    closures: LawClosures,
    answer: Callable[[dict[Joint, Vector]], Solution],
    reaction: Reaction,
) -> Answer:
    """Forces of laws and the motion with them; `answer` gives the motion for generalized forces on joints."""

    def pushed(z: Vector) -> Solution:
        solution = answer(pushes(rows, closures, z))
        for law, span in rows.spans.items():
            solution[Unknown.rows(law._rows)] = -z[span, :]
        return solution

    def seen(solution: Solution, z: Vector) -> Vector:
        return ca.vertcat(
            row_accelerations(rows, closures, solution), _measured(rows, kinematics, solution, z, reaction)
        )

    rate, gap = rows.stacked(closures, "rate"), rows.stacked(closures, "residual")
    return solve_laws(rows, kinematics.tracer, pushed, seen, rate, gap, rows.numbers(kinematics))


def correct(
    rows: LawRows, kinematics: Kinematics, closures: LawClosures, condensation: Condensation, level: str
) -> Solution:
    """Changes of coordinates or speeds that bring back what laws hold."""

    def moved(z: Vector) -> Vector:
        return row_accelerations(rows, closures, condensation.pushed(pushes(rows, closures, z)), bias=False)

    off = rows.stacked(closures, level)
    z = correct_laws(rows, kinematics.tracer, moved, off, level)
    return condensation.pushed(pushes(rows, closures, z))


def pushes(rows: LawRows, closures: LawClosures, z: Vector) -> dict[Joint, Vector]:
    """W^T z by joint."""
    found: dict[Joint, list[Vector]] = {}
    for law, span in rows.spans.items():
        for joint, block in closures[law].columns.items():
            found.setdefault(joint, []).append(ca.SX(block).T @ z[span, :])
    return {joint: reduce(lambda a, b: a + b, terms) for joint, terms in found.items()}


def row_accelerations(rows: LawRows, closures: LawClosures, solution: Solution, bias: bool = True) -> Vector:
    """W a + u of all rows."""
    found = []
    for law in rows.laws:
        closure = closures[law]
        total = ca.densify(ca.SX(closure.bias)) if bias else ca.SX.zeros(closure.size)
        for joint, block in closure.columns.items():
            total = total + ca.SX(block) @ solution.joint(joint)
        found.append(total)
    return ca.vertcat(ca.SX(0, 1), *found)


def _measured(rows: LawRows, kinematics: Kinematics, solution: Solution, z: Vector, reaction: Reaction) -> Vector:
    """The reactions that limit friction: forces of gaps, and forces of joints across their free directions (3)."""
    found = [ca.SX(0, 1)]
    for entry in rows.measured:
        if isinstance(entry, int):
            found.append(z[entry])
            continue
        force = reaction(solution, entry)[:3]
        q, _ = kinematics.joint_state(entry)
        for column in ca.horzsplit(ca.SX(joint_subspace(entry, q, False))) if entry.freedoms else ():
            along, turning = column[:3], column[3:]
            if along.nnz() and not turning.nnz():  # a screw transmits force along its axis
                unit = along / ca.norm_2(ca.densify(along))
                force = force - unit * ca.dot(unit, force)
        found.append(ca.densify(force))
    return ca.vertcat(*found)
