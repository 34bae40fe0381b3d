"""Gears: two joint coordinates in a fixed ratio, firmly or with play between the flanks of the teeth."""

from __future__ import annotations

from typing import Any

import casadi as ca

from kompono.errors import ModelError
from kompono.given import scalar, shown, tell_unused_number
from kompono.library.coefficients import is_zero
from kompono.library.constraints import coordinate_of, unit_of
from kompono.model.constraint import Coupling
from kompono.model.joint import Joint
from kompono.model.law import JointLaw, Unit
from kompono.model.stops import fraction


class Gear(Coupling):
    """second = ratio * first + offset, for a coordinate of each of two joints (gears, racks, differentials).

    With `backlash`, the whole play of the first coordinate [rad, m] while the second stands still, it is a `Backlash`:
    flanks that push only, and come back from each other with `restitution` (0 to 1).
    """

    def __new__(cls, *_: Any, backlash: Any = None, **__: Any) -> Any:
        if cls is Gear and _is_play(backlash):
            return object.__new__(Backlash)
        return object.__new__(cls)

    def __init__(
        self,
        first: Joint,
        second: Joint,
        *,
        ratio: Any,
        offset: Any = 0.0,
        first_coordinate: str | None = None,
        second_coordinate: str | None = None,
        backlash: Any = None,
        restitution: Any = 0.0,
    ) -> None:
        super().__init__(first, second)
        if _is_play(backlash):
            raise ModelError("backlash is for Gear itself.", fix="Derive from Backlash for a kind of your own.")
        a = coordinate_of(first, first_coordinate, "first_coordinate")
        b = coordinate_of(second, second_coordinate, "second_coordinate")
        ratio, offset = scalar(ratio, "the ratio"), scalar(offset, "the offset")
        fraction(restitution, "the restitution")
        if backlash is None:
            fix = "Give backlash=, too: what does not part gives nothing back."
            tell_unused_number(restitution, "a restitution without backlash", fix)
        self._of_one = ca.is_equal(a, b)
        self.residual = b - ratio * a - offset
        self.units = (unit_of(second, second_coordinate),)

    def conditions(self) -> list[Any]:
        return [self.residual]

    def _check(self, where: str) -> None:
        super()._check(where)
        if self._of_one:
            raise ModelError("both coordinates are the same one.", path=where, fix="Give those of two wheels.")


class Backlash(JointLaw):
    """A gear with play; `Gear(..., backlash=...)` makes one.

    The unit `drive` closes where the first coordinate is ahead by half the play, and pushes the second one on; `coast`
    closes where it is behind. Forces are along the first coordinate [N m, N].
    """

    def __init__(
        self,
        first: Joint,
        second: Joint,
        *,
        ratio: Any,
        backlash: Any,
        offset: Any = 0.0,
        first_coordinate: str | None = None,
        second_coordinate: str | None = None,
        restitution: Any = 0.0,
    ) -> None:
        super().__init__(*([first] if first is second else [first, second]))
        a = coordinate_of(first, first_coordinate, "first_coordinate")
        b = coordinate_of(second, second_coordinate, "second_coordinate")
        if ca.is_equal(ca.SX(a), ca.SX(b)):
            raise ModelError("both wheels have the same coordinate.", fix="Give two joints, or two coordinates of one.")
        ratio, offset, play = scalar(ratio, "the ratio"), scalar(offset, "the offset"), scalar(backlash, "the backlash")
        if not isinstance(play, ca.SX) and play <= 0:
            raise ModelError(f"the backlash {shown(backlash)} is not positive.", fix="Give the whole play [rad, m].")
        if is_zero(ratio):
            raise ModelError("a gear with play cannot have the ratio 0.", fix="Give another ratio.")
        self.restitution = fraction(restitution, "the restitution")
        self.ahead, self.half = a - (b - offset) / ratio, play / 2

    def units(self) -> list[Unit]:
        gaps = {"drive": self.half - self.ahead, "coast": self.half + self.ahead}
        return [Unit(name, gap=gap, restitution=self.restitution) for name, gap in gaps.items()]


def _is_play(backlash: Any) -> bool:
    """Whether there is play: none is given as None or zero."""
    return backlash is not None and not is_zero(scalar(backlash, "the backlash"))
