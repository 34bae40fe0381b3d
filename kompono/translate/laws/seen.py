"""What laws do, as people see it: gaps, slip speeds, forces and modes of their units, loads of pairs, drift of what is
held.

All of it is read off the rows of a law (gap, rate, force) and its modes; loads of a pair follow from its rows on the
relative twist, as those of constraints do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import casadi as ca

from kompono.model.element import Element
from kompono.model.law import JointLaw, Law, PairLaw
from kompono.model.reading import effort_unit
from kompono.spatial.pose import Motion, symbolic_motion
from kompono.translate.laws.rows import LawRows, PlacedUnit
from kompono.translate.motion.conditions import Closure
from kompono.translate.motion.kinematics import Kinematics
from kompono.translate.motion.readings import XYZ, Multipliers, TracedReading, load_readings
from kompono.translate.symbolic import Matrix, Scalar, Vector

PLANE = ("x", "y")


class LawReadings:
    """Readings of all laws at a state; `closures` are by what stands for the rows of a law."""

    def __init__(
        self, kinematics: Kinematics, closures: Mapping[Element, Closure], multipliers: Multipliers | None = None
    ) -> None:
        self.kinematics, self.closures, self.multipliers = kinematics, closures, multipliers
        self.model, self.call = kinematics.model, kinematics.tracer.call

    @cached_property
    def rows(self) -> LawRows:
        """The laws that have rows here."""
        return LawRows(self.model)

    @cached_property
    def _modes(self) -> list[tuple[PlacedUnit, Scalar, Scalar]]:
        """Of each unit: whether it may act, and whether it slips."""
        rate = self.rows.stacked({law: self.closures[law._rows] for law in self.rows.laws}, "rate")
        return [(unit, acts, slips) for unit, acts, slips, _ in self.rows.states(self.kinematics.tracer, rate)]

    def of(self, law: Law) -> Iterator[TracedReading]:
        """All that can be read off a law, unit by unit; a pair's load at last."""
        assert self.multipliers is not None
        closure, span = self.closures[law._rows], self.rows.spans[law]
        forces = self.call(lambda m: -m, self.multipliers(law._rows))
        units = [entry for entry in self._modes if entry[0].law is law]
        for placed, acts, slips in units:
            yield from self._unit(placed, closure, forces, span.start)
            mode = self.call(lambda a, s: (a != 0) * ca.if_else(s, 2, 1), acts, slips, path=self.model.path(law))
            yield TracedReading(_named(placed, "mode"), ("",), ("",), mode)
            if isinstance(law, PairLaw):
                yield TracedReading(_named(placed, "point"), XYZ, ("m",) * 3, self._point(law, placed.number))
                if len(units) > 1:
                    chosen = self._rows_of(placed, span.start)
                    yield from load_readings(*self._load(law, closure, forces, chosen), f"{placed.shape.name}.")
        if isinstance(law, PairLaw):
            yield from load_readings(*self._load(law, closure, forces, list(range(closure.size))))

    def _unit(self, placed: PlacedUnit, closure: Closure, forces: Vector, start: int) -> Iterator[TracedReading]:
        shape, (along, across) = placed.shape, units_of(placed.law, placed.number)
        gap, rate = ca.densify(ca.SX(closure.residual)), ca.densify(ca.SX(closure.rate))
        if shape.normal:
            row, unit = placed.gap_row - start, effort_unit(along)
            name, value = ("gap", gap[row]) if shape.gap is not None else ("speed", rate[row])
            yield TracedReading(_named(placed, name), ("",), (along,), value)
            yield TracedReading(_named(placed, "normal"), ("",), (unit,), forces[row])
        if shape.slips:
            rows = slice(placed.slip_row - start, placed.slip_row - start + shape.slips)
            names = ("",) if shape.slips == 1 else PLANE
            yield TracedReading(_named(placed, "slip"), names, (across,) * shape.slips, rate[rows, :])
            unit = effort_unit(across)
            yield TracedReading(_named(placed, "friction"), names, (unit,) * shape.slips, forces[rows, :])

    def _rows_of(self, placed: PlacedUnit, start: int) -> list[int]:
        slips = range(placed.slip_row, placed.slip_row + placed.shape.slips)
        return [row - start for row in (*([placed.gap_row] if placed.shape.normal else []), *slips)]

    def _load(self, law: PairLaw, closure: Closure, forces: Vector, rows: list[int]) -> tuple[Vector, Vector]:
        """Force and torque on the second body about the second origin, in world axes, of some rows."""
        turn = self.kinematics.motion(None, law.first).rotation

        def trace(gamma: Matrix, z: Vector, turn: Matrix) -> tuple[Vector, Vector]:
            load = gamma[rows, :].T @ z[rows, :]
            return turn @ load[:3], turn @ load[3:]

        return self.call(trace, closure.gamma, forces, turn, path=self.model.path(law))

    def _point(self, law: PairLaw, number: int) -> Vector:
        """Where a unit acts, in the world (3)."""
        motion, base = self.kinematics.motion(law.first, law.second), self.kinematics.motion(None, law.first)
        said = self.model.law(law)

        def trace(p: Vector, r: Matrix, v: Vector, w: Vector, at: Vector, turn: Matrix) -> Vector:
            point = said.units_at(Motion(p, r, v, w))[number].point
            return at + turn @ ca.SX(p if point is None else point)

        place = (motion.position, motion.rotation, motion.velocity, motion.angular_velocity)
        return self.call(trace, *place, base.position, base.rotation, path=self.model.path(law), free=True)

    def drift(self, level: str, worst: Scalar) -> Scalar:
        """The largest gap that should be closed (level "residual"), or speed that should be none ("rate"), or `worst`
        if that is larger.
        """
        for placed, acts, slips in self._modes:
            closure, start = self.closures[placed.law._rows], self.rows.spans[placed.law].start
            value = ca.densify(ca.SX(getattr(closure, level)))
            for row in self._rows_of(placed, start):
                held = acts if row == placed.gap_row - start else self.call(lambda a, s: a * (s == 0), acts, slips)
                worst = self.call(lambda w, h, g: ca.fmax(w, (h != 0) * ca.fabs(g)), worst, held, value[row])
        return worst


def _named(placed: PlacedUnit, kind: str) -> str:
    return f"{placed.shape.name}.{kind}" if placed.shape.name else kind


def units_of(law: Law, number: int) -> tuple[str, str]:
    """Units of a unit's gap (or one-way speed) and of its slip; empty where lengths and angles are mixed."""
    if isinstance(law, JointLaw):
        unit = law.units_now()[number]
        joints = dict.fromkeys(law.joints)
        at = [pair for j in joints for pair in zip(ca.vertsplit(j.q), j.units, strict=False)]
        fast = [pair for j in joints if j.freedoms for pair in zip(ca.vertsplit(j.v), j.units_of_speeds(), strict=True)]
        along = _only(unit.gap, at) if unit.gap is not None else _only(unit.speed, fast)
        return along, _only(unit.slip, fast)
    assert isinstance(law, PairLaw)
    motion = symbolic_motion()
    unit = law.units_at(motion)[number]
    along = _told(unit.gap, motion.position, "m", "rad")
    if unit.gap is None:
        along = _told(unit.speed, motion.velocity, "m/s", "rad/s")
    return along, _told(unit.slip, motion.velocity, "m/s", "rad/s")


def _only(expression: Any, named: list[tuple[ca.SX, str]]) -> str:
    if expression is None:
        return ""
    found = {unit for symbol, unit in named if ca.depends_on(ca.SX(expression), symbol)}
    return found.pop() if len(found) == 1 else ""


def _told(expression: Any, symbols: Vector, line: str, turn: str) -> str:
    if expression is None:
        return ""
    return line if ca.depends_on(ca.SX(expression), ca.SX(symbols)) else turn
