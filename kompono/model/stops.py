"""Stops of joint coordinates: a law with a gap for each bound. Joints make one of their `limits`, so it lives here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import casadi as ca

from kompono.errors import ModelError
from kompono.given import scalar, shown
from kompono.model.joint import Joint
from kompono.model.law import JointLaw, Unit, stiffness_of

Bounds = Mapping[str, tuple[Any, Any]]  # by coordinate: lower and upper, None where there is none
_PAIR = "Give (lower, upper), None for one that is not there, or such a pair by coordinate in a dictionary."
_MEANT = "Give a number, or an expression of time and parameters."


class Stops(JointLaw):
    """Keeps coordinates of a joint between bounds [m, rad], which may depend on time and parameters.

    Units are `lower` and `upper`, behind the coordinate's name where a joint has several.
    """

    def __init__(self, joint: Joint, bounds: Bounds, restitution: Any = 0.0, stiffness: Any = None) -> None:
        super().__init__(joint)
        self.stiffness = stiffness_of(stiffness, type(self).__name__)
        self.restitution = fraction(restitution, "the restitution")
        self.gaps: list[tuple[str, Any]] = []
        for name, (lower, upper) in bounds.items():
            before = f"{name}." if len(joint.coordinates) > 1 else ""
            q = joint.q[joint.coordinates.index(name)]
            if lower is not None:
                self.gaps.append((f"{before}lower", q - lower))
            if upper is not None:
                self.gaps.append((f"{before}upper", upper - q))

    def units(self) -> list[Unit]:
        given = {"restitution": self.restitution, "stiffness": self.stiffness}
        return [Unit(name, gap=gap, **given) for name, gap in self.gaps]


def check_bounds(joint: Joint, given: Any) -> Bounds:
    """Bounds by coordinate, from a pair (of the only coordinate) or a dictionary of pairs."""
    kind, names = type(joint).__name__, joint.coordinates
    if not isinstance(given, Mapping):
        if len(names) != 1:
            fix = f'Say which: limits={{"{names[0]}": (lower, upper)}}.' if names else "Give no limits."
            raise ModelError(f"{kind} has coordinates {names}.", fix=fix)
        given = {names[0]: given}
    found: dict[str, tuple[Any, Any]] = {}
    for name, pair in given.items():
        if name not in names:
            raise ModelError(f"{kind} has no coordinate {shown(name)}.", fix=f"It has {', '.join(names)}.")
        if not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2:
            raise ModelError(f"the limits {shown(pair)} are no pair.", fix=_PAIR)
        found[name] = check_pair(joint, name, *pair)
    if not found:
        raise ModelError("there are no limits.", fix=_PAIR)
    return found


def check_pair(joint: Joint, name: str, lower: Any, upper: Any) -> tuple[Any, Any]:
    """Lower and upper bound of a coordinate, at least one of them, the lower one below."""
    if joint.units and joint.units[joint.coordinates.index(name)] not in ("m", "rad"):
        fix = "Stop a coordinate that is an angle or a length."
        raise ModelError(f"{name} of {type(joint).__name__} is neither an angle nor a length.", fix=fix)
    if lower is None and upper is None:
        raise ModelError("there is neither a lower nor an upper limit.", fix="Give at least one of them.")
    low, high = (None if x is None else scalar(x, "the limit", fix=_MEANT) for x in (lower, upper))
    numbers = not isinstance(low, ca.SX) and not isinstance(high, ca.SX)
    if low is not None and high is not None and numbers and not low < high:
        raise ModelError(f"the lower limit {low} is not below the upper one, {high}.", fix="Exchange them.")
    return low, high


def fraction(value: Any, what: str) -> Any:
    """A number from 0 to 1, or an expression."""
    found = scalar(value, what, fix="Give a number from 0 to 1.")
    if not isinstance(found, ca.SX) and not 0 <= found <= 1:
        raise ModelError(f"{what} {shown(value)} is not between 0 and 1.", fix="Give a number from 0 to 1.")
    return found
