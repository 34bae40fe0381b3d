"""Data of laws at one instant: units of rows, their modes, and the answer of the machine to their multipliers.

A unit is one scalar row (one-sided, dry) or two (planar) on the accelerations of a machine, or on its velocities at an
impact. The machine answers linearly, w = b + A z, and so do the measured reactions N = n0 + B z that limit friction.
`Layout` holds what follows from the units alone and is made once per list of units.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache

import numpy as np


class Kind(IntEnum):
    """What a unit is: a one-sided row, a dry row, two dry rows in a plane."""

    ONE_SIDED = 0
    DRY = 1
    PLANAR = 2


class UnitMode(IntEnum):
    """Open, or friction of an open contact; closed or sticking; sliding."""

    OFF = 0
    HELD = 1
    SLIDES = 2


@dataclass(frozen=True)
class SolvedUnit:
    """Rows of one law: `row` and, if planar, the next one.

    `contact` is the number of the one-sided unit that must be closed for this friction to act (None: it always acts);
    measures `first` to `first + count` limit it (count 0: its given limit alone).
    """

    kind: Kind
    row: int
    contact: int | None = None
    first: int = 0
    count: int = 0
    path: str = ""


@dataclass(frozen=True)
class LawProblem:
    """What the machine answers: A (m, m), b (m), B (r, m), n0 (r); per unit: friction and its given limits. `driven`:
    rows may want what redundant ones contradict.
    """

    A: np.ndarray
    b: np.ndarray
    B: np.ndarray
    n0: np.ndarray
    mu: np.ndarray
    mu_static: np.ndarray
    limit: np.ndarray
    limit_static: np.ndarray
    driven: bool = False


@dataclass(frozen=True)
class UnitChoice:
    """Modes (units), directions of slip (units, 2; zeros where nothing slides; dry: (+-1, 0)), multipliers z (m)."""

    modes: np.ndarray
    directions: np.ndarray
    z: np.ndarray


class NoForcesFit(Exception):
    """No modes are consistent; `units` are concerned, `critical` is the friction above which a sliding contact jams."""

    def __init__(self, units: Sequence[int], critical: float | None = None, paths: Sequence[str] = ()) -> None:
        self.units, self.critical = tuple(units), critical
        where = ", ".join(path for path in paths if path) or f"units {list(self.units)}"
        why = "" if critical is None else f" (friction is above {critical:.6g}, where it jams)"
        super().__init__(f"no forces fit at {where}{why}")


@dataclass(frozen=True)
class Layout:
    """Lists per unit: its rows, kind, contact, measures, friction units that hang on it.

    `linear` says that a contact's single measure is its own normal force, positive when closed, so that no norm is
    needed. `order` sorts units by path: it breaks ties, so that the order of declaration does not matter.
    """

    count: int
    rows: tuple[tuple[int, ...], ...]
    kinds: tuple[int, ...]
    contacts: tuple[int | None, ...]
    measures: tuple[tuple[int, int], ...]
    linear: tuple[bool, ...]
    frictions: tuple[tuple[int, ...], ...]
    order: tuple[int, ...]
    paths: tuple[str, ...]


def layout(units: Sequence[SolvedUnit]) -> Layout:
    """What follows from these units alone; the same units are laid out once."""
    return _layout(tuple(units))


@lru_cache(maxsize=256)
def _layout(units: tuple[SolvedUnit, ...]) -> Layout:
    numbers = range(len(units))
    return Layout(
        count=len(units),
        rows=tuple((u.row, u.row + 1) if u.kind == Kind.PLANAR else (u.row,) for u in units),
        kinds=tuple(int(u.kind) for u in units),
        contacts=tuple(u.contact for u in units),
        measures=tuple((u.first, u.first + u.count) for u in units),
        linear=tuple(u.contact is not None and u.count == 1 for u in units),
        frictions=tuple(tuple(k for k in numbers if units[k].contact == j) for j in numbers),
        order=tuple(sorted(numbers, key=lambda k: (units[k].path, k))),
        paths=tuple(u.path for u in units),
    )


@dataclass(frozen=True)
class LawsInPlay:
    """Some units, their rows in all rows, and what they answer each other."""

    units: list[SolvedUnit]
    rows: list[int]
    problem: LawProblem
