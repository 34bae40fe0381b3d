"""Contact: two surfaces that push each other where they touch, with dry friction and restitution.

Where they touch nothing is soft: a closed gap stays zero exactly, what sticks does not creep, an impact takes no time.
Slip is the velocity of the two bodies' material against each other at the point of contact, in the two directions of
the tangent plane, so that friction acts there, with opposite directions on both bodies. A wheel that sticks rolls.
"""

from __future__ import annotations

from typing import Any

import casadi as ca

from kompono.errors import ModelError
from kompono.given import scalar, shown
from kompono.library.surfaces import Touch, bounds, fits, touches
from kompono.model.law import PairLaw, Unit, impact_named, stiffness_of
from kompono.model.surface import Surface
from kompono.spatial.pose import Motion

_PAIRS = (
    "Points and spheres touch planes, spheres and cylinders (also inside), curves, profiles and heights; circles touch "
    "planes, cylinders, curves and profiles. There are no meshes: give a few points, or spheres, in their place."
)


class Contact(PairLaw):
    """Two surfaces touch: `Contact(self.floor.plane(), self.crate.corners(), mu=0.5, restitution=0.2)`.

    `mu` is the coefficient of friction (`mu_static` where it sticks), `restitution`, from 0 to 1, that of the law of
    `impact`: "poisson", "newton", "stronge" or "moreau"; numbers may be expressions of time, inputs, parameters and
    motion. With several points each is a unit of its own: "0", "1". `stiffness` [N/m] of each is used by
    contact="soft" alone (None: as high as the step allows); there restitution is what damps.
    """

    def __init__(
        self, first: Surface, second: Surface, *, mu: Any = 0.0, mu_static: Any = None, restitution: Any = 0.0,
        impact: str = "poisson", stiffness: Any = None,
    ) -> None:  # fmt: skip
        for surface in (first, second):
            if not isinstance(surface, Surface):
                fix = "Use body.plane(), body.sphere(radius=...), body.corners(), ..."
                raise ModelError(f"{shown(surface)} is not a surface.", path="Contact", fix=fix)
        base, other = (first, second) if fits(first, second) else (second, first)
        if not fits(base, other):
            names = " and ".join(_named(surface) for surface in (first, second))
            raise ModelError(f"there is no contact between {names}.", path="Contact", fix=_PAIRS)
        self.base, self.other = base, other
        super().__init__(base.frame, other.frame)
        self.mu = _coefficient(mu, "mu")
        self.mu_static = None if mu_static is None else _coefficient(mu_static, "mu_static")
        self.restitution = _coefficient(restitution, "restitution", most=1.0)
        self.impact = impact_named(impact)
        self.stiffness = stiffness_of(stiffness, "Contact")
        self._check_static(mu_static)

    def _check_static(self, given: Any) -> None:
        known = [value for value in (self.mu, self.mu_static) if isinstance(value, float)]
        if len(known) == 2 and known[1] < known[0]:
            message = f"mu_static {shown(given)} is below mu {shown(self.mu)}."
            raise ModelError(message, path="Contact", fix="What sticks holds at least as well as what slides.")

    def touches(self, motion: Motion) -> list[Touch]:
        """Gap, normal, tangents and point of contact of each unit, in the axes of the first frame."""
        return touches(self.base, self.other, motion.pose)

    def units(self, motion: Motion) -> list[Unit]:
        """Gap and slip at a relative motion."""
        return [self._unit(touch, motion) for touch in self.touches(motion)]

    def _unit(self, touch: Touch, motion: Motion) -> Unit:
        slip = None
        if any(value is not None and not _none(value) for value in (self.mu, self.mu_static)):
            moved = motion.velocity + ca.cross(motion.angular_velocity, touch.point - motion.position)
            slip = ca.vertcat(*[ca.dot(tangent, moved) for tangent in touch.tangents])
        return Unit(
            name=touch.name, gap=touch.gap, slip=slip, mu=self.mu, mu_static=self.mu_static,
            restitution=self.restitution, impact=self.impact, point=touch.point, stiffness=self.stiffness,
        )  # fmt: skip


def _none(value: Any) -> bool:
    return isinstance(value, float) and not value


def _named(surface: Surface) -> str:
    hollow = "the inside of " if getattr(surface, "inside", False) and bounds(surface) else ""
    return f"{hollow}{type(surface).__name__.lower()} of {surface.frame.body.label}"


def _coefficient(value: Any, what: str, most: float | None = None) -> Any:
    found = scalar(value, what, "Contact")
    if isinstance(found, ca.SX):
        return found
    if found < 0 or (most is not None and found > most):
        limits = "negative" if most is None else f"between 0 and {most:g}"
        raise ModelError(
            f"{what} {shown(value)} is {'not ' * (most is not None)}{limits}.", path="Contact",
            fix="Give a number from 0 on." if most is None else f"Give a number from 0 to {most:g}.",
        )  # fmt: skip
    return float(found)
