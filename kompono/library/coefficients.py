"""Numbers of friction as users give them: coefficients, limits and normal forces, refused where they make no sense."""

from __future__ import annotations

from typing import Any

import casadi as ca

from kompono.errors import ModelError
from kompono.given import scalar, shown


def not_negative(value: Any, what: str) -> Any:
    """A number from zero on, or an expression."""
    found = scalar(value, what)
    if not isinstance(found, ca.SX) and found < 0:
        raise ModelError(f"{what} {shown(value)} is negative.", fix="Give zero or more.")
    return found


def kinetic_and_static(kinetic: Any, static: Any, what: str) -> tuple[Any, Any]:
    """A value while something slides and one while it sticks, which is the same unless given and never smaller."""
    moving = not_negative(kinetic, what)
    if static is None:
        return moving, moving
    resting = not_negative(static, f"the static value of {what}")
    if not isinstance(moving, ca.SX) and not isinstance(resting, ca.SX) and resting < moving:
        message = f"{what} is {moving}, more than its static value {resting}."
        raise ModelError(message, fix="What sticks holds at least as much as what slides.")
    return moving, resting


def is_zero(value: Any) -> bool:
    """Whether a number or an expression is zero always."""
    return bool(ca.SX(value).is_zero())
