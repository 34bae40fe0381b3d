"""Limits of a ball joint: how far its axis swings, how far it twists about it, how far it turns in all.

Swing is the angle between the axis in both frames, twist what is left of the turn when the swing is taken back, and the
turn is the whole angle from one frame to the other. Swing and turn have no direction where they are zero, so their gaps
are differences of cosines, (cos a - cos limit) / sin limit: radians at the limit, smooth everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np

from kompono.errors import ModelError
from kompono.given import scalar, shown
from kompono.model.joint import Joint
from kompono.model.law import PairLaw, Unit
from kompono.spatial.pose import Motion
from kompono.spatial.rotation import unskew

ANGLES = ("swing", "turn", "twist")
_FORM = 'Use limits={"swing": 0.5, "twist": (-0.3, 0.3)} [rad], or {"turn": 1.0}.'


class ConeStops(PairLaw):
    """Keeps a ball joint within limits [rad], which may depend on time and parameters: `swing` of the axis and the
    whole `turn`, each from 0 to pi, and `twist` = (lower, upper) about the axis, from -pi to pi.

    Units: `swing`, `turn`, `twist.lower`, `twist.upper`, as given.
    """

    def __init__(self, joint: Joint, axis: np.ndarray, limits: Any, restitution: Any) -> None:
        super().__init__(joint.first, joint.second)
        self.axis, self.restitution = axis, restitution
        self.limits = _checked(limits)

    def units(self, motion: Motion) -> list[Unit]:
        """A gap for each limit."""
        rotation, axis = ca.SX(motion.rotation), ca.DM(self.axis)
        along, trace = ca.dot(axis, ca.mtimes(rotation, axis)), ca.trace(rotation)
        cosines = {"swing": along, "turn": (trace - 1) / 2}
        twist = ca.atan2(ca.dot(axis, unskew(rotation)), (trace - along) / 2)
        gaps = [
            (name, (cosines[name] - ca.cos(limit)) / ca.sin(limit))
            for name, limit in self.limits.items()
            if name in cosines
        ]
        lower, upper = self.limits.get("twist", (None, None))
        gaps += [("twist.lower", twist - lower)] if lower is not None else []
        gaps += [("twist.upper", upper - twist)] if upper is not None else []
        return [Unit(name, gap=gap, restitution=self.restitution) for name, gap in gaps]


def _checked(given: Any) -> dict[str, Any]:
    """Limits by angle, numbers within their range."""
    if not isinstance(given, Mapping) or not given:
        raise ModelError(f"the limits {shown(given)} of a ball joint name no angle.", fix=_FORM)
    found: dict[str, Any] = {}
    for name, value in given.items():
        if name not in ANGLES:
            raise ModelError(f"a ball joint has no limit of {shown(name)}.", fix=f"Known: {', '.join(ANGLES)}. {_FORM}")
        found[name] = _pair(value) if name == "twist" else _angle(value, name, 0.0)
    return found


def _pair(given: Any) -> tuple[Any, Any]:
    if not isinstance(given, Sequence) or isinstance(given, str) or len(given) != 2 or given[0] is given[1] is None:
        raise ModelError(f"the limits {shown(given)} of the twist are no pair.", fix=_FORM)
    lower, upper = (None if value is None else _angle(value, "twist", -math.pi) for value in given)
    if isinstance(lower, float) and isinstance(upper, float) and not lower < upper:
        raise ModelError(f"the lower limit {lower} is not below the upper one, {upper}.", fix="Exchange them.")
    return lower, upper


def _angle(given: Any, name: str, least: float) -> Any:
    """An angle above `least` and below pi, or an expression."""
    value = scalar(given, f"the limit of the {name}", fix=_FORM)
    if isinstance(value, float) and not least < value < math.pi:
        bounds = f"{least:.6g} and {math.pi:.6g}"
        raise ModelError(f"the limit {shown(given)} of the {name} is not between {bounds} rad.", fix=_FORM)
    return value
