"""Couplings of joint coordinates beyond gears: a polynomial of one other, and a weighted sum of several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import casadi as ca

from kompono.errors import ModelError
from kompono.given import number, numbers, shown, tell_unused
from kompono.library.constraints import chosen, coordinate_of, unit_of
from kompono.model.constraint import Coupling
from kompono.model.joint import Joint


class Polynomial(Coupling):
    """first = c0 + c1 second + c2 second^2 + ..., for a coordinate of each of two joints: cams, linkages fitted by
    curves.
    """

    def __init__(
        self,
        first: Joint,
        second: Joint,
        coefficients: Sequence[float],
        *,
        first_coordinate: str | None = None,
        second_coordinate: str | None = None,
    ) -> None:
        super().__init__(*([first] if first is second else [first, second]))
        factors = numbers(coefficients, (-1,), "the coefficients", fix="Use (c0, c1, c2, ...).").tolist()
        x = coordinate_of(second, second_coordinate, "second_coordinate")
        value: Any = 0.0
        for factor in reversed(factors):
            value = value * x + factor
        self.residual = coordinate_of(first, first_coordinate, "first_coordinate") - value
        self.units = (unit_of(first, first_coordinate),)

    def conditions(self) -> list[Any]:
        return [self.residual]


class Sum(Coupling):
    """c1 q1 + c2 q2 + ... = value, for terms (joint, factor) or (joint, factor, coordinate): differentials, ropes."""

    def __init__(self, *terms: Sequence[Any], value: float = 0.0) -> None:
        if not terms:
            raise ModelError("a sum of no terms.", fix="Use Sum((joint, 1.0), (other, -2.0), value=0.0).")
        known = weighted(terms, "Sum")
        super().__init__(*dict.fromkeys(joint for joint, _, _ in known))
        self.residual = tendon(*known)[0] - number(value, "the value", fix="Give a number.")
        units = {unit_of(joint, coordinate) for joint, _, coordinate in known}
        self.units = (units.pop(),) if len(units) == 1 else ()

    def conditions(self) -> list[Any]:
        return [self.residual]


def tendon(*terms: Sequence[Any]) -> tuple[Any, Any]:
    """Length and rate of a weighted sum of coordinates, of terms (joint, factor) or (joint, factor, coordinate)."""
    length, rate = ca.SX(0), ca.SX(0)
    for joint, weight, coordinate in weighted(terms, "tendon"):
        length += weight * coordinate_of(joint, coordinate)
        rate += weight * joint.v[joint.coordinates.index(coordinate) if coordinate else 0]
    return length, rate


def weighted(terms: Sequence[Any], where: str) -> list[tuple[Joint, float, str | None]]:
    """Joint, factor and coordinate of each term."""
    found = [_term(term, where) for term in terms]
    if found and not any(factor for _, factor, _ in found):
        tell_unused(f"{where}: all factors are zero", "Give e.g. (joint, 1.0), (other, -2.0).")
    return found


def _term(term: Any, where: str) -> tuple[Joint, float, str | None]:
    """Joint, factor and coordinate of a term, or an error that says how to write one."""
    fix = f'Use {where}((joint, 1.0), (other, -2.0, "angle")).'
    if not isinstance(term, tuple | list) or len(term) not in (2, 3):
        raise ModelError(f"the term {shown(term)} is no pair of joint and factor.", path=where, fix=fix)
    joint, factor, coordinate = (*term, None)[:3]
    if not isinstance(joint, Joint):
        raise ModelError(f"{shown(joint)} is not a joint.", path=where, fix=fix)
    chosen(joint, joint.coordinates, coordinate)
    return joint, number(factor, "the factor", where, fix=fix), coordinate
