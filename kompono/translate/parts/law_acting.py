"""Laws of a compartment at a state: what they hold or exert, as its swept equations need it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import casadi as ca

from kompono.spatial.vectors import carry_twist
from kompono.translate.elimination.bordered import Swept
from kompono.translate.elimination.inertia_form import ground_acceleration
from kompono.translate.laws.answer import force_table, handed_table, held_table
from kompono.translate.laws.bordered import LawAt, LawSwept
from kompono.translate.laws.driven import is_driven
from kompono.translate.laws.split import coefficients
from kompono.translate.laws.tied import TiedSwept
from kompono.translate.parts.handing import HandedRows
from kompono.translate.parts.report import PartedWriter
from kompono.translate.parts.tying import TiedRows
from kompono.translate.symbolic import Matrix, Vector

if TYPE_CHECKING:
    from kompono.translate.parts.moment import Condensed, Moment


def with_laws(now: Moment, plain: Condensed, swept: Swept, level: str) -> LawSwept:
    """Swept equations of a level with what laws hold or exert; `plain` is the same without them."""
    rows, closures, base = now.compartment.law_rows, now.law_closures, on_base(now)
    if level == "force":
        given = now.tracer, rows.stacked(closures, "rate"), rows.numbers(now.kinematics)
        laws = LawAt(
            now.kinematics, rows, closures, force_table(rows, *given), bias_of_rows(now, plain, base), base,
            handed_table(rows, *given),
            lambda solution, joint, border: PartedWriter(now, plain, border, solution).reaction(joint),
            "driven" if _may_be_driven(now) else "laws",
        )  # fmt: skip
        if now.tied:
            return TiedSwept(swept, laws, TiedRows(plain.condensation, plain.loads))
        parts = HandedRows(plain.condensation, plain.loads)
        return LawSwept(swept, laws, parts if parts.shape.rows else None)
    kind = "residual" if level == "residual" else "rate"
    held, bias = held_table(rows, now.tracer, kind), rows.stacked(closures, kind)
    purpose = "back" if level == "residual" else "speeds"
    laws = LawAt(now.kinematics, rows, closures, lambda b, *_: held(b), bias, base, (), None, purpose)
    return TiedSwept(swept, laws, TiedRows(plain.condensation, None)) if now.tied else LawSwept(swept, laws)


def _may_be_driven(now: Moment) -> bool:
    """Whether time may move what is held here, or in parts."""
    return bool(now.compartment.parts) or is_driven(now.compartment.law_rows.model)


def on_base(now: Moment) -> Matrix | None:
    """Own laws (rows, 6) on the acceleration of the base: of those of bodies that no joints connect with it."""
    compartment = now.compartment
    if compartment.border is None or not compartment.border.based or not compartment.law_rows.size:
        return None
    assert now.base is not None
    carriers = [p for p in compartment.parts if p.border.others and "base" in p.closed("move").groups]
    if not carriers:
        found = coefficients(compartment.law_rows.stacked(now.law_closures, "rate"), now.base[12:18])
    else:  # ports of parts move as unknowns say, whatever the part tells by itself
        moves = {part: now._ask(part, "move") for part in carriers}
        symbols = {part: ca.SX.sym("moves", motion.numel()) for part, motion in moves.items()}
        still = now.at(now.values, {**now.moves, **symbols})
        found = coefficients(compartment.law_rows.stacked(still.law_closures, "rate"), now.base[12:18])
        found = ca.substitute(found, ca.vertcat(*symbols.values()), ca.vertcat(*moves.values()))
        now.at(now.values, now.moves)  # symbols mean this state again
    found = ca.sparsify(found)
    return found if found.nnz() else None


def bias_of_rows(now: Moment, plain: Condensed, base: Matrix | None) -> Vector:
    """What accelerations of the unknowns do not give of the rows; they see that of a base with the uniform field."""
    bias = now.compartment.law_rows.stacked(now.law_closures, "bias")
    if base is None:
        return bias
    border, kinematics = now.compartment.border, now.kinematics
    assert border is not None
    assert border.base is not None
    assert plain.loads is not None
    still = ground_acceleration(kinematics, plain.loads, kinematics.topology.world)
    return bias - base @ carry_twist(kinematics.absolute(border.base.body).pose, still)
