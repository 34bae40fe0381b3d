"""Dry friction in joints: it sticks, exactly and without creep, until what acts exceeds its limit, then it slides.

The limit is mu times the force the joint transmits, which the friction itself changes: both are solved for together.
"""

from __future__ import annotations

from typing import Any

import casadi as ca

from kompono.errors import ModelError
from kompono.given import scalar, shown, tell_unused
from kompono.library.coefficients import is_zero, kinetic_and_static, not_negative
from kompono.library.constraints import chosen
from kompono.library.joints import Planar
from kompono.model.free import Free
from kompono.model.joint import Joint
from kompono.model.law import JointLaw, Unit

SLIDE = "slide"  # the two displacements of a plane, which rub as one


class DryFriction(JointLaw):
    """Friction of a joint: of a displacement `mu` |normal force| + `preload` [N], of an angle `mu` `radius` |force| +
    `preload` [N m].

    The force is what the joint transmits across the directions in which it slides (its torques do not count); `radius`
    [m] is that of the pin or ball. `mu_static` and `preload_static`, not below the others, hold what sticks. With
    `stribeck` [m/s, rad/s] what slides begins with the static values and falls to the others by exp(-(v/stribeck)^2).
    Each freedom of the joint rubs by itself and is a unit with its name, but the two displacements of `Planar`: they
    rub along the direction of slip, as the unit `slide`. `coordinate` names one that rubs alone, "slide" these two.
    With the `radius` 0 angles do not rub. All numbers may be expressions of time, inputs, parameters, coordinates and
    modes.
    """

    def __init__(
        self,
        joint: Joint,
        mu: Any = None,
        mu_static: Any = None,
        radius: Any = None,
        preload: Any = None,
        preload_static: Any = None,
        stribeck: Any = None,
        coordinate: str | None = None,
    ) -> None:
        super().__init__(joint)
        if mu is mu_static is None and radius is not None:
            tell_unused("a radius, but no mu", "Give mu=, too: mu times radius times the force of the joint.")
        if mu is mu_static is preload is preload_static is None:
            tell_unused("nothing rubs", "Give mu=, or preload= [N, N m].")
        mu, preload = (0.0 if given is None else given for given in (mu, preload))
        self.mu = kinetic_and_static(mu, mu_static, "mu")
        self.preload = kinetic_and_static(preload, preload_static, "the preload")
        self.stribeck = None if stribeck is None else self._falling(stribeck)
        self.radius = None if radius is None else not_negative(radius, "the radius")
        self.rubbing = _rubbing(joint, coordinate)
        self._check_numbers(joint)

    def _falling(self, stribeck: Any) -> Any:
        speed = scalar(stribeck, "the speed stribeck", fix="Give a positive speed [m/s, rad/s].")
        if not isinstance(speed, ca.SX) and speed <= 0:
            raise ModelError(f"the speed stribeck {shown(stribeck)} is not positive.", fix="Give a positive speed.")
        if self.mu[0] is self.mu[1] and self.preload[0] is self.preload[1]:
            raise ModelError("nothing falls with speed.", fix="Give mu_static or preload_static, or no stribeck.")
        return speed

    def _check_numbers(self, joint: Joint) -> None:
        kind, turns = type(joint).__name__, {turning for _, _, turning in self.rubbing}
        self.by_load = not is_zero(self.mu[0]) or not is_zero(self.mu[1])
        if self.by_load and isinstance(joint, Free):
            raise ModelError("a free joint transmits no force.", fix="Give a preload instead of mu, or use Contact.")
        if self.by_load and True in turns and self.radius is None:
            raise ModelError(
                f"mu on an angle of {kind} needs a lever arm.", fix="Give radius= [m], that of the pin."
            )  # fmt: skip
        if self.radius is not None and True not in turns:
            raise ModelError(f"a radius, but {kind} does not turn here.", fix="Leave it out.")
        if len(turns) > 1 and not (is_zero(self.preload[0]) and is_zero(self.preload[1])):
            names = " or ".join(f'coordinate="{name}"' for name, _, _ in self.rubbing)
            message = f"{kind} slides and turns: the preload is a force [N] of one and a torque [N m] of the other."
            raise ModelError(message, fix=f"Say which: {names}, one element for each.")

    def units(self) -> list[Unit]:
        smooth = self.radius is not None and is_zero(self.radius) and is_zero(self.preload[1])
        rubbing = [each for each in self.rubbing if not (each[2] and smooth)]
        return [self._unit(*each) for each in rubbing or self.rubbing]

    def _unit(self, name: str, slip: Any, turning: bool) -> Unit:
        arm = self.radius if turning and self.by_load else 1.0
        fall = 0.0 if self.stribeck is None else ca.exp(-ca.sumsqr(slip) / self.stribeck**2)
        mu, limit = ((pair[0] + (pair[1] - pair[0]) * fall) for pair in (self.mu, self.preload))
        return Unit(
            name if len(self.rubbing) > 1 else "", slip=slip, mu=mu * arm, mu_static=self.mu[1] * arm, limit=limit,
            limit_static=self.preload[1], reaction=self.joints[0] if self.by_load else None,
        )  # fmt: skip


def _rubbing(joint: Joint, coordinate: str | None) -> list[tuple[str, Any, bool]]:
    """Names, slip speeds (1 or 2) and whether they turn, of the freedoms that rub."""
    names = joint.coordinates if joint.speeds is None else joint.speeds
    turns = [unit == "rad/s" for unit in joint.units_of_speeds()]
    if isinstance(coordinate, str) and coordinate == SLIDE and isinstance(joint, Planar):
        return [(SLIDE, joint.v[:2], False)]
    if coordinate is not None or not names:
        k = chosen(joint, names, coordinate)
        return [(names[k], joint.v[k], turns[k])]
    if isinstance(joint, Planar):
        return [(SLIDE, joint.v[:2], False), (names[2], joint.v[2], True)]
    return [(name, joint.v[k], turns[k]) for k, name in enumerate(names)]
