"""Laws in absolute coordinates: rows W on the spatial accelerations of bodies, forces W^T z as wrenches on them.

All joints act through their conditions, so a law may be on any of them, one that closes a loop as well. A body answers
a wrench with D = 1/M, and then everything it is joined to: that is the vector part of the mobility form.
"""

from __future__ import annotations

import casadi as ca

from kompono.model.body import Body, Carrier
from kompono.model.element import Element
from kompono.model.law import Law, PairLaw
from kompono.translate.elimination.inertia_form import ground_acceleration
from kompono.translate.elimination.mobility_form import Mobility
from kompono.translate.elimination.unknowns import Solution, Unknown
from kompono.translate.laws.rows import LawRows
from kompono.translate.motion.conditions import Closure, Laws, trace_body_closure
from kompono.translate.motion.kinematics import Kinematics
from kompono.translate.motion.loads import Loads
from kompono.translate.symbolic import Vector

LawClosures = dict[Law, Closure[Body]]


def trace_rows(kinematics: Kinematics, rows: LawRows, laws: Laws, loads: Loads | None) -> LawClosures:
    """The rows of all laws at a state; without loads grounds do not accelerate."""
    return {law: trace_body_rows(kinematics, law, laws, loads) for law in rows.laws}


def trace_body_rows(kinematics: Kinematics, law: Law, laws: Laws, loads: Loads | None) -> Closure[Body]:
    """The rows of one law."""

    def acceleration(ground: Carrier) -> Vector:
        return ground_acceleration(kinematics, loads, ground) if loads is not None else ca.SX(6, 1)

    return trace_body_closure(kinematics, law._rows, laws, acceleration, through=isinstance(law, PairLaw))


def moved(
    mobility: Mobility,
    free: dict[Body, Vector],
    demands: dict[Element, Vector],
    pushes: dict[Body, Vector],
    *,
    refined: bool = True,
) -> Solution:
    """Accelerations of bodies and multipliers of conditions with wrenches (6) on bodies, and `free` accelerations
    without.
    """
    call, path = mobility.tracer.call, mobility.model.path
    loaded = dict(free)
    for body, push in pushes.items():
        before = free.get(body, ca.SX(6, 1))
        loaded[body] = call(lambda a, d, f: a + d @ f, before, mobility.weights[body], push, path=path(body))
    changes, multipliers = (mobility.refined if refined else mobility.solve)(loaded, demands)
    solution = Solution({Unknown.body(body): value for body, value in changes.items()})
    solution.update({Unknown.rows(element): value for element, value in multipliers.items()})
    return solution


def pushed(mobility: Mobility, pushes: dict[Body, Vector], *, refined: bool = True) -> Solution:
    """What wrenches alone do, conditions being held: changes of poses, or of twists."""
    still: dict[Element, Vector] = {key: ca.SX(closure.size, 1) for key, closure in mobility.closures.items()}
    return moved(mobility, {}, still, pushes, refined=refined)
