"""Ropes: through points of bodies, with a tension that depends on the whole length, and between two points, where they
go slack.

A rope runs straight from point to point and slides through them without friction: it wraps around nothing. Its length
and rate are expressions of where the points are, so that any law may use them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import casadi as ca

from kompono.errors import ModelError
from kompono.given import listed, number, numbers, scalar, shown, tell_unused
from kompono.library.actuators import drawn
from kompono.model.body import Frame
from kompono.model.element import Element
from kompono.model.force import Force
from kompono.model.law import PairLaw, Unit, stiffness_of
from kompono.model.reading import Reading
from kompono.model.sensor import Sensor
from kompono.model.stops import fraction
from kompono.spatial.pose import Motion, Wrench

_POINTS = "Give two points or more: Rope(first.at(x, y, z), second, third)."


class Span(Force):
    """Pulls two origins towards each other with a force [N] that is given as an expression; `stored` [J] is counted as
    potential energy.
    """

    tension: Any = Reading(1, "Force [N] along the line, positive where it pulls the origins together")

    def __init__(self, first: Frame, second: Frame, pull: Any, stored: Any = 0.0) -> None:
        super().__init__(first, second)
        self.pull, self.stored = ca.SX(pull), stored

    def wrench(self, motion: Motion) -> Wrench:
        return Wrench(force=-self.pull * motion.direction)

    def readings(self, motion: Motion) -> dict[str, tuple[Any, str]]:
        return {"tension": (self.pull, "N")}

    def potential(self, motion: Motion) -> Any:
        return self.stored


class Rope(dict[str, Element]):
    """A rope through `points` in their order: `length` [m] and `rate` [m/s] are sums over the spans between them.

    It is elastic if it has a stiffness k [N/m] beyond the length `rest` [m], and damped by c [N s/m]; rest = (shorter,
    longer) leaves it without force between the two. Below `rest` it pushes, as the springs of robot files do, unless
    the shorter one is 0. `factors` weigh the spans, one for each: the half rope behind a pulley counts 0.5, and 0 is a
    gap between two ropes that pull together. `Winch` pulls on it.

    It is a table of what it is made of, so that it lives where the bodies do: sensors `point1`, ... and, where it acts,
    forces `span1`, ... with a channel `tension` each.
    """

    def __init__(
        self, *points: Frame, k: Any = None, c: Any = None, rest: Any = None, factors: Sequence[float] | None = None
    ) -> None:
        if len(points) < 2 or not all(isinstance(point, Frame) for point in points):
            raise ModelError("a rope runs through frames.", fix=_POINTS)
        weights = [1.0] * (len(points) - 1) if factors is None else listed(factors, "the factors", fix=_POINTS)
        if len(weights) != len(points) - 1:
            raise ModelError(f"{len(weights)} factors for {len(points) - 1} spans.", fix="Give one for each span.")
        seen = [Sensor(point) for point in points]
        self.pulled: list[tuple[Frame, Frame, float]] = []
        self.length, self.rate = ca.SX(0), ca.SX(0)
        for place, weight in enumerate(weights):
            factor = number(weight, "the factor of a span", fix="Give a number.")
            if factor and points[place].body is not points[place + 1].body:
                self.pulled.append((points[place], points[place + 1], factor))
            motion = _between(seen[place], seen[place + 1])
            self.length += factor * motion.length
            self.rate += factor * motion.length_rate
        if k is None and rest is not None:
            tell_unused("a rest length without stiffness", "Give k=, too, or leave rest= out.")
        if not self.pulled and not (k is c is None):
            tell_unused("all its points are on one body, or all factors zero", "Lead it to another body.")
        k, c, rest = (0.0 if given is None else given for given in (k, c, rest))
        stiffness, beyond = scalar(k, "the stiffness k"), _beyond(self.length, rest)
        tension = stiffness * beyond + scalar(c, "the damping c") * self.rate
        spans = {} if ca.SX(tension).is_zero() else pulling(self, tension, stiffness * beyond**2 / 2)
        super().__init__({f"point{place + 1}": each for place, each in enumerate(seen)} | spans)


class Winch(dict[str, Element]):
    """Pulls on a rope with `gear` times the force gain u + bias0 + bias1 x + bias2 x_dot, u a `control` signal and x
    `gear` times the length; as with an `Actuator`, a positive force makes the rope longer, so that one which pulls has
    a negative gain or gear. `control_limits` and `force_limits` = (lower, upper) cut u and the force off.

    It is a table of forces `span1`, ..., declared where the rope is.
    """

    def __init__(
        self,
        rope: Rope,
        control: Any,
        *,
        gear: float = 1.0,
        gain: float = 1.0,
        bias: Sequence[float] = (0.0, 0.0, 0.0),
        control_limits: Sequence[float] | None = None,
        force_limits: Sequence[float] | None = None,
    ) -> None:
        if not isinstance(rope, Rope):
            raise ModelError(f"{shown(rope)} is no rope.", fix="Use Winch(self.rope, self.control).")
        weight = scalar(gear, "the gear")
        force = drawn(control, gain, bias, control_limits, force_limits, weight * rope.length, weight * rope.rate)
        super().__init__(pulling(rope, -weight * force, 0.0))


class Tether(PairLaw):
    """Keeps two origins at most `longest` [m] apart and at least `shortest`: a rope that is slack until it is taut.

    What it stops comes back with `restitution` (0 to 1) times its speed. `stiffness` [N/m] is used by contact="soft"
    alone. Units: `longest`, `shortest`.
    """

    def __init__(
        self, first: Frame, second: Frame, *, longest: Any = None, shortest: Any = None, restitution: Any = 0.0,
        stiffness: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(first, second)
        if longest is None and shortest is None:
            raise ModelError("a tether without lengths.", fix="Give longest=, shortest= or both [m].")
        self.lengths = {}
        for name, given in (("longest", longest), ("shortest", shortest)):
            if given is not None:
                self.lengths[name] = number(given, f"the length {name}", positive=True, fix="Give it in m.")
        if len(self.lengths) == 2 and not self.lengths["shortest"] < self.lengths["longest"]:
            raise ModelError("the shortest length is not below the longest.", fix="Exchange them.")
        self.restitution = fraction(restitution, "the restitution")
        self.stiffness = stiffness_of(stiffness, type(self).__name__)

    def units(self, motion: Motion) -> list[Unit]:
        square, given = ca.sumsqr(motion.position), {"restitution": self.restitution, "stiffness": self.stiffness}
        signs = {"longest": 1.0, "shortest": -1.0}  # half squares are smooth, and lengths to first order at the limit
        return [
            Unit(name, gap=signs[name] * (length**2 - square) / (2 * length), **given)
            for name, length in self.lengths.items()
        ]


def pulling(rope: Rope, tension: Any, stored: Any) -> dict[str, Element]:
    """Forces along the spans of a rope; the energy stored in it is counted with the first."""
    return {
        f"span{place + 1}": Span(first, second, factor * tension, 0.0 if place else stored)
        for place, (first, second, factor) in enumerate(rope.pulled)
    }


def _between(one: Sensor, other: Sensor) -> Motion:
    """How a point moves seen from another, in axes that do not turn."""
    apart, speed = other.position - one.position, other.velocity - one.velocity
    return Motion(apart, ca.SX.eye(3), speed, ca.SX.zeros(3))


def _beyond(length: Any, rest: Any) -> Any:
    """How much longer than at rest, negative where it is shorter."""
    if not isinstance(rest, tuple | list):
        return length - scalar(rest, "the rest length")
    shorter, longer = numbers(rest, (2,), "the rest lengths", fix="Use rest=(shorter, longer).").tolist()
    return ca.fmax(length - longer, 0) + ca.fmin(length - shorter, 0)
