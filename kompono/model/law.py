"""Laws with modes: conditions that come and go, and friction, which hold or slide (contact, stops, clutches, backlash).

A law is made of *units*. Each has up to two quantities, on which the machine decides by itself, at events, what holds:

    one-sided   a gap (or a speed) that is never negative and pushes only:  0 <= gap, 0 <= force, one of them zero
    dry         one or two slip speeds, held at zero by a force up to a limit, opposed by it where they are not zero

The limit of dry friction is mu times a reaction (that of the unit's own gap, or of a joint) plus a given limit. What is
`closed` or `sticks` is a condition like that of a joint, exact and without creep; when that changes is an event.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca

from kompono.errors import ModelError
from kompono.given import plain, scalar, shown
from kompono.model.body import Frame, check_frames
from kompono.model.constraint import Constraint, Coupling
from kompono.model.element import Element
from kompono.model.event import Mode
from kompono.model.joint import Joint
from kompono.model.reading import Reading, force_reading, torque_reading
from kompono.spatial.pose import Motion, Pose, symbolic_motion

_BOUNDS = (
    ("mu", 0.0, math.inf), ("mu_static", 0.0, math.inf), ("limit", 0.0, math.inf), ("limit_static", 0.0, math.inf),
    ("restitution", 0.0, 1.0),
)  # fmt: skip
IMPACTS = ("poisson", "newton", "stronge", "moreau")


@dataclass(frozen=True)
class Unit:
    """One place where structure changes. All quantities may be expressions of the motion (or of coordinates and
    speeds), time, modes, parameters and inputs; where inputs change in a run, not gap, speed and slip.

    gap [m, rad] is never negative; `speed` [m/s, rad/s] in its place makes a one-way clutch. `slip` are one or two
    speeds that are linear in velocities. `mu` acts on the force of the gap, or on the force of the joint `reaction`
    (then it may contain a lever arm); `limit` [N, N m] is added; what is static counts where it sticks. `restitution`
    is that of the law of `impact`: "poisson", "newton", "stronge" or "moreau". `name` is added to the path of the
    element where it has several units. `point` (3) [m] is where the forces are shown to act, in the axes of the first
    frame of a pair (default: the second origin). `stiffness` [N/m, N m/rad] is that of contact="soft" (None: as high as
    the step allows).
    """

    name: str = ""
    gap: Any = None
    speed: Any = None
    slip: Any = None
    mu: Any = 0.0
    mu_static: Any = None
    limit: Any = 0.0
    limit_static: Any = None
    restitution: Any = 0.0
    reaction: Joint | None = None
    impact: str = "poisson"
    point: Any = None
    stiffness: Any = None

    @property
    def normal(self) -> bool:
        """Whether it has a one-sided quantity."""
        return self.gap is not None or self.speed is not None

    @property
    def slips(self) -> int:
        """How many slip speeds it has."""
        return 0 if self.slip is None else ca.SX(self.slip).numel()

    def numbers(self) -> ca.SX:
        """Column of mu, its static value, limit, its static value, restitution (5). An expression that leaves the
        bounds of a coefficient is no number, which ends a run; a limit is not below zero, nor static values below the
        others.
        """
        mu, limit = _within(self.mu), _not_below(self.limit, ca.SX(0))
        static = mu if self.mu_static is None else _not_below(self.mu_static, mu)
        most = limit if self.limit_static is None else _not_below(self.limit_static, limit)
        return ca.vertcat(mu, static, limit, most, _within(self.restitution, 1.0))


def _within(value: Any, most: float | None = None) -> ca.SX:
    """A coefficient from zero on, or to `most`; no number out of these bounds."""
    given = ca.SX(value)
    if given.is_constant():
        return given
    there = given >= 0 if most is None else ca.logic_and(given >= 0, given <= most)
    return ca.if_else(there, given, ca.sqrt(-1 - given**2))


def _not_below(value: Any, least: ca.SX) -> ca.SX:
    """An expression, but not less than another."""
    given = ca.SX(value)
    known = given.is_constant() and least.is_constant()
    return given if known or ca.is_equal(given, least) else ca.if_else(given < least, least, given)


class UnitsReading(Reading):
    """Symbols of all units of a law."""

    def __init__(self, meaning: str) -> None:
        super().__init__(0, meaning)

    def count(self, element: Any) -> int:
        """How many a law has."""
        counts: dict[str, Callable[[Unit], int]] = {
            "gap": lambda unit: unit.gap is not None, "normal": lambda unit: unit.normal, "mode": lambda unit: 1,
        }  # fmt: skip
        return sum(counts.get(self.name, lambda unit: unit.slips)(unit) for unit in element._shapes())


class Law(Element):
    """What changes its structure. Derive from `PairLaw` or `JointLaw`, and give its units.

    What it does is read off by symbols with an entry for each unit that has such a thing (two where it slips in two
    directions): one symbol, `self.stop.normal`, where there is only one.
    """

    gap: Any = UnitsReading("Gaps [m, rad]")
    normal: Any = UnitsReading("Forces [N, N m] of gaps and one-way speeds, never negative")
    slip: Any = UnitsReading("Slip speeds [m/s, rad/s]")
    friction: Any = UnitsReading("Forces [N, N m] along the slip speeds")
    mode: Any = UnitsReading("What each unit does: 0 open, 1 closed or sticking, 2 slipping")

    def _shapes(self) -> list[Unit]:
        """The units on fixed symbols."""
        raise NotImplementedError

    def _checked(self, given: Any) -> list[Unit]:
        """What a law gives as its units, or an error with its path."""
        try:
            return check_units(given, f"{type(self).__name__}.units")
        except ModelError as error:
            raise error.at(self.label) from None

    @cached_property
    def _modes(self) -> list[dict[str, Mode]]:
        """The modes of each unit: whether its gap is `closed`, how it slips, and in which direction."""
        return [self._modes_of(unit) for unit in self._shapes()]

    def _modes_of(self, unit: Unit) -> dict[str, Mode]:
        names = ["closed"] if unit.normal else []
        names += ["slips"] if unit.slips else []
        names += ["direction.x", "direction.y"] if unit.slips == 2 else []
        modes = {}
        for name in names:
            modes[name] = Mode(0)
            modes[name]._owner = self  # type: ignore[assignment]
            modes[name]._name = f"{unit.name}.{name}" if unit.name else name
        return modes

    @cached_property
    def _rows(self) -> Constraint | Coupling:
        """The rows of all units, as what derives conditions knows them."""
        raise NotImplementedError


def stiffness_of(given: Any, where: str) -> Any:
    """A stiffness [N/m, N m/rad] for contact="soft": a positive number, an expression, or None."""
    found = None if given is None else scalar(given, "the stiffness", where)
    if isinstance(found, float) and found <= 0:
        raise ModelError(f"the stiffness {shown(given)} is not positive.", path=where, fix="Give a positive number.")
    return found


def impact_named(name: Any) -> str:
    """The name of a law of impact; ModelError if there is none of that name."""
    if not isinstance(name, str) or name not in IMPACTS:
        raise ModelError(f"there is no law of impact {shown(name)}.", fix=f"Known: {', '.join(IMPACTS)}.")
    return name


def check_units(given: Any, what: str) -> list[Unit]:
    """The units a law gives."""
    units = [given] if isinstance(given, Unit) else given
    if not isinstance(units, list | tuple) or not units or not all(isinstance(unit, Unit) for unit in units):
        raise ModelError(f"{what} gave {shown(given)}, which is no unit.", fix="Return Unit(gap=..., mu=...).")
    for unit in units:
        if not unit.normal and not unit.slips:
            raise ModelError("a unit has neither gap, speed nor slip.", fix="Give at least one of them.")
        if unit.gap is not None and unit.speed is not None:
            raise ModelError("a unit has a gap and a speed.", fix="Give one of them; use two units for both.")
        impact_named(unit.impact)
        _check_numbers(unit)
        if unit.slips > 2:
            raise ModelError(f"a unit has {unit.slips} slip speeds.", fix="Give one, or two across each other.")
        if unit.point is not None and ca.SX(unit.point).shape != (3, 1):
            raise ModelError("the point of a unit is no column of three.", fix="Use ca.vertcat(x, y, z).")
    if len({unit.name for unit in units}) < len(units):
        raise ModelError(f"two units of {what} have one name.", fix='Give each its own: Unit(name="left", ...).')
    return list(units)


def _check_numbers(unit: Unit) -> None:
    """Raise for a plain number of a unit that makes no sense; expressions are looked at in a run."""
    known = {}
    for name, least, most in _BOUNDS:
        value = plain(getattr(unit, name))
        if value is None:
            continue
        known[name] = value
        if not least <= value <= most:
            bounds = f"from {least:g} to {most:g}" if most < math.inf else f"from {least:g} on"
            raise ModelError(f"{name} {shown(value)} of a unit is out of its bounds.", fix=f"Give a number {bounds}.")
    for name in ("mu", "limit"):
        static = known.get(f"{name}_static", math.inf)
        if name in known and static < known[name]:
            message = f"{name}_static {shown(static)} of a unit is below {name} {shown(known[name])}."
            raise ModelError(message, fix="What sticks holds at least as well as what slides.")
    if plain(unit.stiffness) is not None:
        stiffness_of(unit.stiffness, "")


class PairLaw(Law):
    """A law between two frames: write `units(motion)`, with the motion of the second as seen from the first."""

    force, torque = force_reading(), torque_reading()

    def __init__(self, first: Frame, second: Frame) -> None:
        check_frames(self, first, second)
        self.first, self.second = first, second

    def units(self, motion: Motion) -> Unit | list[Unit]:
        """The units at a relative motion."""
        raise ModelError(f"{type(self).__name__} does not define units(motion).", fix="Write that method.")

    def units_at(self, motion: Motion) -> list[Unit]:
        """The same, checked."""
        return self._checked(self.units(motion))

    def _shapes(self) -> list[Unit]:
        return self.units_at(symbolic_motion())

    def _built_on(self) -> tuple[Element, ...]:
        return self.first.body, self.second.body

    @cached_property
    def _rows(self) -> Constraint | Coupling:
        return _PairRows(self)


class JointLaw(Law):
    """A law on coordinates and speeds of joints: write `units()` with `joint.angle`, `joint.angle_rate`, ..."""

    def __init__(self, *joints: Joint) -> None:
        for joint in joints:
            if not isinstance(joint, Joint):
                raise ModelError(f"{shown(joint)} is not a joint.", fix="Give the joints whose coordinates are meant.")
        self.joints = joints

    def units(self) -> Unit | list[Unit]:
        """The units in symbols of the joints."""
        raise ModelError(f"{type(self).__name__} does not define units().", fix="Write that method.")

    def units_now(self) -> list[Unit]:
        """The same, checked."""
        return self._checked(self.units())

    def _shapes(self) -> list[Unit]:
        return self.units_now()

    def _built_on(self) -> tuple[Element, ...]:
        return self.joints

    @cached_property
    def _rows(self) -> Constraint | Coupling:
        return _JointRows(self)


def split_rows(units: list[Unit]) -> tuple[list[Any], list[Any]]:
    """Rows on positions, and rows on velocities: gaps of all units first, then one-way speeds and slips in turn."""
    gaps = [ca.SX(unit.gap) for unit in units if unit.gap is not None]
    rates = [ca.SX(part) for unit in units for part in (unit.speed, unit.slip) if part is not None]
    return gaps, rates


class _Rows:
    """Rows have the place of their law."""

    law: Law

    @property
    def _owner(self) -> Any:
        return self.law._owner

    @property
    def _name(self) -> str:
        return self.law._name


class _PairRows(_Rows, Constraint):  # type: ignore[misc]
    def __init__(self, law: PairLaw) -> None:
        self.law = law
        super().__init__(law.first, law.second)

    def conditions(self, pose: Pose) -> list[Any]:
        still = Motion(pose.position, pose.rotation, ca.SX(3, 1), ca.SX(3, 1))
        return split_rows(self.law.units_at(still))[0]  # type: ignore[attr-defined]

    def velocity_conditions(self, motion: Motion) -> list[Any]:
        return split_rows(self.law.units_at(motion))[1]  # type: ignore[attr-defined]


class _JointRows(_Rows, Coupling):  # type: ignore[misc]
    def __init__(self, law: JointLaw) -> None:
        self.law = law
        super().__init__(*law.joints)

    def conditions(self) -> list[Any]:
        return split_rows(self.law.units_now())[0]  # type: ignore[attr-defined]

    def velocity_conditions(self) -> list[Any]:
        return split_rows(self.law.units_now())[1]  # type: ignore[attr-defined]


def is_law(element: Element) -> bool:
    """Whether this stands for the rows of a law, which need not hold."""
    return isinstance(element, _Rows)
