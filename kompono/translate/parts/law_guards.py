"""When laws of a compartment, and of the parts in it, ask to settle.

Parts tell the slopes of these guards behind their values, so that a gap that closes and opens again within a step is
found in them as it is in an open model.
"""

from __future__ import annotations

import casadi as ca

from kompono.translate.elimination.unknowns import Solution
from kompono.translate.laws.answer import Acting, trace_guards, trace_slopes
from kompono.translate.laws.bordered import LawSwept
from kompono.translate.parts.moment import Condensed
from kompono.translate.symbolic import Scalar, Vector


def law_guards(condensed: Condensed, solution: Solution, given: Vector) -> tuple[list[Scalar], list[Scalar]]:
    """Values whose rise through zero makes a law settle, unit by unit, those of parts behind own ones; and their slopes
    where gaps are open, else zeros.
    """
    now, rows = condensed.moment, condensed.moment.compartment.law_rows
    found: list[Scalar] = []
    slopes: list[Scalar] = []
    if isinstance(condensed.swept, LawSwept) and rows.size:
        gap, rate = (rows.stacked(now.law_closures, what) for what in ("residual", "rate"))
        forces = condensed.swept.forces(solution)
        measures = condensed.swept.own_measures(solution, given)
        acting = Acting(forces, measures, gap, rate, rows.numbers(now.kinematics))
        found += trace_guards(rows, now.tracer, acting)
        slopes += trace_slopes(rows, now.tracer, acting)
    for part in now.compartment.parts:
        if part.laws.size:
            assert condensed.loads is not None
            given, fields = condensed.given_to(part, solution), condensed.loads.for_part(part)
            told = ca.vertsplit(now._ask(part, "law_guards", fields=fields, given=given))
            count = len(part.laws.units)
            found += told[:count]
            slopes += told[count:]
    return found, slopes
