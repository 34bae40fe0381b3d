"""The rows of all laws of a model: whose they are, which modes and guards they have, what limits them.

Rows lie law by law, in each law gaps first, then one-way speeds and slips unit by unit. Friction is limited by
*measures*, numbers that are linear in the forces of the laws: the force of the unit's own gap, or three components of
the reaction of a joint.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import casadi as ca

from kompono.errors import TranslationError
from kompono.model.event import Mode
from kompono.model.joint import Joint
from kompono.model.law import JointLaw, Law, PairLaw, Unit
from kompono.spatial.pose import Motion
from kompono.translate.declared.elaborate import Elaborated
from kompono.translate.laws.changing import shifts
from kompono.translate.laws.driven import is_driven
from kompono.translate.laws.naming import PUSHES, WIDE
from kompono.translate.motion.conditions import Closure
from kompono.translate.program import LawUnit
from kompono.translate.symbolic import Matrix, Scalar, Vector

if TYPE_CHECKING:
    from kompono.translate.laws.handed import HandedShape
    from kompono.translate.motion.kinematics import Kinematics
    from kompono.translate.tracer import Tracer

ONE_SIDED, DRY, PLANAR = range(3)
OFF, HELD, SLIDES = range(3)
MOST_FEET = 4  # that are solved for together


@dataclass(frozen=True)
class PlacedUnit:
    """A unit of a law: its number there, its rows among all, and numbers of its `LawUnit`s (-1: none)."""

    law: Law
    number: int
    shape: Unit
    gap_row: int
    slip_row: int
    one_sided: int
    dry: int

    @property
    def path(self) -> str:
        """What is added to the path of the law."""
        return f".{self.shape.name}" if self.shape.name else ""


class LawRows:
    """All laws of a model; their guards come after those of its events."""

    def __init__(self, model: Elaborated) -> None:
        self.model, self.laws = model, model.laws
        self.spans: dict[Law, slice] = {}
        self.placed: list[PlacedUnit] = []
        self.measured: list[int | Joint] = []  # rows whose force, and joints whose reaction (3) is measured
        units: list[LawUnit] = []
        places = {mode: place for place, mode in enumerate(model.modes)}
        self.size = 0
        for law in self.laws:
            self._place(law, units, places)
        self.driven = self.size > 1 and is_driven(model)
        self.units = tuple(replace(unit, driven=True) for unit in units) if self.driven else tuple(units)
        self.measures = sum(1 if isinstance(entry, int) else 3 for entry in self.measured)

    def _place(self, law: Law, units: list[LawUnit], places: dict[Mode, int]) -> None:
        shapes, start = law._shapes(), self.size
        gap, rest = start, start + sum(shape.gap is not None for shape in shapes)
        for number, shape in enumerate(shapes):
            modes = law._modes[number]
            gap_row = slip_row = one_sided = dry = -1
            path = self.model.path(law) + (f".{shape.name}" if shape.name else "")
            if shape.normal:
                gap_row, one_sided = (gap, len(units)) if shape.gap is not None else (rest, len(units))
                gap, rest = (gap + 1, rest) if shape.gap is not None else (gap, rest + 1)
                level = "position" if shape.gap is not None else "speed"
                one = self._unit(ONE_SIDED, gap_row, -1, (0, 0), modes, places, path, len(units), level, shape.impact)
                units.append(replace(one, shifts=shifts(self.model, law, shape.gap, shape.speed)))
            if shape.slips:
                slip_row, dry = rest, len(units)
                rest += shape.slips
                kind = DRY if shape.slips == 1 else PLANAR
                span = self._measure(shape, gap_row, path)
                rubs = self._unit(kind, slip_row, one_sided, span, modes, places, path, len(units))
                units.append(replace(rubs, shifts=shifts(self.model, law, shape.slip)))
            self.placed.append(PlacedUnit(law, number, shape, gap_row, slip_row, one_sided, dry))
        self.size = rest
        self.spans[law] = slice(start, rest)

    def _unit(
        self, kind: int, row: int, contact: int, span: tuple[int, int], modes: dict[str, Mode],
        places: dict[Mode, int], path: str, number: int, level: str = "", impact: str = "poisson",
    ) -> LawUnit:  # fmt: skip
        names = {ONE_SIDED: ("closed",), DRY: ("slips",), PLANAR: ("slips", "direction.x", "direction.y")}[kind]
        found = tuple(places[modes[name]] for name in names)
        return LawUnit(kind, row, contact, *span, found, len(self.model.events) + number, path, level, impact)

    def _measure(self, shape: Unit, gap_row: int, path: str) -> tuple[int, int]:
        """Which measures limit a unit's friction: first and count."""
        if _vanishes(shape.mu) and (shape.mu_static is None or _vanishes(shape.mu_static)):
            return 0, 0
        first = sum(1 if isinstance(entry, int) else 3 for entry in self.measured)
        if shape.reaction is not None:
            self.measured.append(shape.reaction)
            return first, 3
        if gap_row < 0:
            raise TranslationError(
                "its friction has a coefficient, but nothing it could act on.", path=path,
                fix="Give a gap, a joint as reaction, or a limit in the place of mu.",
            )  # fmt: skip
        self.measured.append(gap_row)
        return first, 1

    @property
    def waits(self) -> bool:
        """Whether nothing acts while all gaps are open."""
        return bool(self.units) and all(unit.kind == ONE_SIDED or unit.contact >= 0 for unit in self.units)

    @property
    def has_gaps(self) -> bool:
        """Whether some units are gaps."""
        return any(unit.level == "position" for unit in self.units)

    @property
    def has_slopes(self) -> bool:
        """Whether some guards have slopes to tell: those of gaps, and of slip in a plane."""
        return self.has_gaps or any(unit.kind == PLANAR for unit in self.units)

    def counted(self, unit: PlacedUnit) -> int:
        """How many measures limit the friction of a unit; -1: one that only pushes, the force of its own gap."""
        count = self.units[unit.dry].count
        return PUSHES if count == 1 and unit.shape.reaction is None else count

    @property
    def of_joints(self) -> bool:
        """Whether forces of joints limit friction, so that multipliers of all conditions are needed."""
        return any(isinstance(entry, Joint) for entry in self.measured)

    @property
    def followers(self) -> list[tuple[int, tuple[int, int]]]:
        """Rows of friction by mu times a reaction, and which measures limit each: first, and count as above."""
        found = []
        for unit in self.placed:
            if unit.dry >= 0 and self.units[unit.dry].count:
                span = self.units[unit.dry].first, self.counted(unit)
                found += [(unit.slip_row + k, span) for k in range(unit.shape.slips)]
        return found

    @property
    def handed_shape(self) -> HandedShape:
        """These rows as a part hands them on."""
        from kompono.translate.laws.handed import HandedShape

        return HandedShape(tuple(span for _, span in self.followers), self.measures)

    @property
    def mates(self) -> list[int]:
        """Of each row the first one of its unit: rows of one unit have the same dimension, or nearly so."""
        found = [0] * self.size
        for unit in self.placed:
            rows = [unit.gap_row] if unit.gap_row >= 0 else []
            rows += range(unit.slip_row, unit.slip_row + unit.shape.slips)
            for row in rows:
                found[row] = rows[0]
        return found

    @property
    def feet(self) -> int:
        """How many gaps there are, if they come first, each has friction, and there is nothing else; up to four."""
        count, slips = len(self.placed), {unit.shape.slips for unit in self.placed}
        if not 1 < count <= MOST_FEET or len(slips) > 1 or slips == {0}:
            return 0
        (each,) = slips
        rows = [(unit.gap_row, unit.slip_row) for unit in self.placed]
        return count if rows == [(k, count + each * k) for k in range(count)] else 0

    def rows_of_units(self, law: Law) -> list[list[int]]:
        """Rows of each unit of a law, counted from its first one."""
        found, start = [], self.spans[law].start
        for unit in self.placed:
            if unit.law is law:
                gap = [unit.gap_row - start] if unit.gap_row >= 0 else []
                found.append([*gap, *(unit.slip_row - start + k for k in range(unit.shape.slips))])
        return found

    def numbered(self) -> list[int]:
        """The placed unit that each `LawUnit` belongs to."""
        found = {number: k for k, unit in enumerate(self.placed) for number in (unit.one_sided, unit.dry)}
        return [found[number] for number in range(len(self.units))]

    def identities(self) -> list[tuple[Law, int, bool]]:
        """Law, number of the unit there, and whether it is its friction, of each `LawUnit`."""
        found = {unit.one_sided: (unit.law, unit.number, False) for unit in self.placed}
        found |= {unit.dry: (unit.law, unit.number, True) for unit in self.placed}
        return [found[number] for number in range(len(self.units))]

    # -- at a state

    def stacked(self, closures: dict[Law, Closure], what: str) -> Vector:
        """g, g_dot or u of all rows."""
        return ca.vertcat(ca.SX(0, 1), *[ca.densify(ca.SX(getattr(closures[law], what))) for law in self.laws])

    def numbers(self, kinematics: Kinematics) -> list[Vector]:
        """mu, limit (kinetic and static) and restitution (5) of each placed unit."""
        found: list[Vector] = []
        for law in self.laws:
            path = kinematics.model.path(law)
            columns = kinematics.tracer.call(*_asked(law, kinematics), path=path, free=True)
            found += ca.vertsplit(ca.densify(ca.SX(columns)), 5)
        return found

    def states(self, tracer: Tracer, rate: Vector) -> Iterator[tuple[PlacedUnit, Scalar, Scalar, Vector]]:
        """Of each unit: whether it may act (1, or closed), whether it slips (0: sticks), direction (slips)."""
        for unit in self.placed:
            modes = unit.law._modes[unit.number]
            read = {n: tracer.call(lambda m=mode: ca.SX(m), free=True) for n, mode in modes.items()}
            acts, slips, direction = ca.SX(read.get("closed", 1)), ca.SX(read.get("slips", 0)), ca.SX(0, 1)
            if unit.shape.slips == 1:
                direction = slips
            elif unit.shape.slips == 2:
                chosen = ca.vertcat(read["direction.x"], read["direction.y"])
                direction = tracer.call(_direction, rate[unit.slip_row : unit.slip_row + 2, :], chosen, slips)
            yield unit, acts, slips, direction


def _vanishes(value: Any) -> bool:
    return bool(ca.SX(value).is_zero())


def _direction(slip: Vector, chosen: Vector, slow: Scalar) -> Vector:
    """Unit vector of slip in a plane; below the speed `slow` it leans to the one that was chosen, all of it at rest.

    Sideways friction is as stiff as slip is slow, without bound; below that speed, which grows with the step, no
    step could follow it. If slip is straight, `slow` is told as less than nothing, and it leans below `WIDE` times that
    speed: then there is nothing to follow. The direction goes on smoothly where slip passes through zero (friction does
    not turn inside a step), so that whoever looks behind that sees slip reversed.
    """
    ahead = ca.if_else(ca.dot(slip, chosen) < 0, -1, 1)
    reach = ca.if_else(slow < 0, -WIDE * slow, slow)
    left = reach**2 - ca.sumsqr(slip)
    mixed = ahead * (reach**3 * slip) + ca.if_else(left > 0, left, 0) ** 2 * chosen  # a root less than by the speed
    square = ca.sumsqr(mixed)
    return mixed / ca.sqrt(ca.if_else(square > 0, square, 1))


def _asked(law: Law, kinematics: Kinematics) -> tuple[Any, ...]:
    """A function of traced values that gives the numbers of a law's units, and these values."""
    said = kinematics.model.law(law)
    if isinstance(law, JointLaw):
        return (lambda: ca.vertcat(*[unit.numbers() for unit in said.units_now()]),)
    assert isinstance(law, PairLaw)
    motion = kinematics.motion(law.first, law.second)

    def trace(p: Vector, r: Matrix, v: Vector, w: Vector) -> Vector:
        return ca.vertcat(*[unit.numbers() for unit in said.units_at(Motion(p, r, v, w))])

    return trace, motion.position, motion.rotation, motion.velocity, motion.angular_velocity
