"""Laws in words, for `inspect` and reports: what each unit is, what limits its friction, how it rebounds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import casadi as ca

from kompono.model.law import Law, Unit
from kompono.model.reading import effort_unit
from kompono.translate.laws.seen import units_of


class ToldUnit(NamedTuple):
    """A unit in words: its path, what it is, what limits its friction, its restitution (empty: there is none)."""

    path: str
    kind: str
    limit: str
    restitution: str

    def __str__(self) -> str:
        friction = f", friction up to {self.limit}" if self.limit else ""
        rebound = f", restitution {self.restitution}" if self.restitution else ""
        return f"{self.path}: {self.kind}{friction}{rebound}"


def tell_units(law: Law, path: Callable[[Any], str]) -> Iterator[ToldUnit]:
    """All units of a law; `path` gives that of an element."""
    for number, unit in enumerate(law._shapes()):
        along, across = units_of(law, number)
        kinds = [f"gap{_in(along)} never negative"] if unit.gap is not None else []
        kinds += [f"speed{_in(along)} never negative"] if unit.speed is not None else []
        kinds += [{1: f"slip{_in(across)}", 2: f"slip{_in(across)} in a plane"}[unit.slips]] if unit.slips else []
        where = f"{path(law)}.{unit.name}" if unit.name else path(law)
        limit = _limit(unit, effort_unit(across), path) if unit.slips else ""
        rebound = "" if unit.gap is None or _zero(unit.restitution) else _number(unit.restitution)
        rebound += f" by {unit.impact}" if rebound and unit.impact != "poisson" else ""
        yield ToldUnit(where, ", ".join(kinds), limit, rebound)


def _limit(unit: Unit, force: str, path: Callable[[Any], str]) -> str:
    """What limits friction: a coefficient times a force, and what is added to it."""
    terms = []
    if not _zero(unit.mu) or not _zero(unit.mu_static):
        whose = "its normal force" if unit.reaction is None else f"the force of {path(unit.reaction)}"
        terms.append(f"{_pair(unit.mu, unit.mu_static)} x {whose}")
    if not _zero(unit.limit) or not _zero(unit.limit_static):
        terms.append(f"{_pair(unit.limit, unit.limit_static)} {force}".strip())
    return " + ".join(terms) or "nothing"


def _pair(value: Any, static: Any) -> str:
    known = _number(value)
    return known if static is None or _number(static) == known else f"{known} (at rest {_number(static)})"


def _in(unit: str) -> str:
    return f" [{unit}]" if unit else ""


def _zero(value: Any) -> bool:
    return value is None or bool(ca.SX(value).is_zero())


def _number(value: Any) -> str:
    """A number, or that it is none yet."""
    known = ca.SX(value)
    return f"{float(known):g}" if known.is_constant() else "(an expression)"
