"""Tables of one and two variables as functions of expressions."""

from __future__ import annotations

from collections.abc import Sequence
from math import factorial
from typing import Any

import casadi as ca
import numpy as np

from kompono.errors import ModelError
from kompono.given import choice, numbers, shown, tell_unused
from kompono.library.blocks.pieces import chosen, evaluated, indicators, outside, polynomial

KINDS = ("linear", "spline", "monotone", "steps")
BEYOND = ("constant", "linear", "repeat", "refuse")
ENDS = ("not-a-knot", "natural", "clamped")


class Table:
    """A curve through points: `torque = Table(speeds, torques, kind="spline")`, then `torque(expression)`.

    `kind` is `"linear"`; `"spline"`, cubic with a steady curvature, whose `ends` are `"not-a-knot"`, `"natural"` (no
    curvature) or `"clamped"` (no slope); `"monotone"`, cubic without overshoot (Fritsch and Butland); or `"steps"`,
    each value from its point to the next. Points are met exactly. `beyond` the first and last point it is
    `"constant"`, goes on `"linear"`, `"repeat"`s (with the period from first to last), or is `"refuse"`d: no number,
    which ends a run there. Numbers and arrays may be given as well as expressions. Derivatives are exact, those of
    steps zero.
    """

    def __init__(
        self, x: Sequence[float], y: Sequence[float], *, kind: str = "linear", beyond: str = "constant",
        ends: str | None = None,
    ) -> None:  # fmt: skip
        self.x = increasing(x, "x")
        self.y = numbers(y, (len(self.x),), "the table's y", fix="Give as many as x.")
        self.kind = choice(kind, "the kind", KINDS)
        self.beyond = choice(beyond, "beyond =", BEYOND)
        self.ends = "not-a-knot" if ends is None else choice(ends, "the ends", ENDS)
        if ends is not None and kind != "spline":
            tell_unused(f"ends belong to a spline, and it is {kind!r}", "Use kind='spline', or no ends.")
        if kind == "steps" and beyond == "linear":
            raise ModelError("steps do not go on linearly.", fix="Use beyond='constant'.")
        if beyond == "repeat" and self.y[0] != self.y[-1]:
            raise ModelError(f"it repeats, but ends at {self.y[-1]} and begins at {self.y[0]}.", fix="Close it.")

    def __call__(self, value: Any) -> Any:
        return evaluated(self._law, value)

    def _law(self, x: Any) -> Any:
        first, last = float(self.x[0]), float(self.x[-1])
        place = x
        if self.beyond == "repeat":
            place = x - (last - first) * ca.floor((x - first) / (last - first))
        middle = self._pieces()
        before, after = self._ends(middle)
        coefficients = np.column_stack([before, middle, after])
        value = polynomial(place, self.x, np.concatenate([self.x[:1], self.x]), coefficients)
        return value + outside(x, first, last) if self.beyond == "refuse" else value

    def _pieces(self) -> np.ndarray:
        """Coefficients (power, piece) between the points."""
        if self.kind == "steps":
            return self.y[None, :-1]
        if self.kind == "linear" or len(self.x) == 2:
            return np.array([self.y[:-1], np.diff(self.y) / np.diff(self.x)])
        from scipy.interpolate import CubicSpline, PchipInterpolator

        if self.kind == "monotone":
            return PchipInterpolator(self.x, self.y).c[::-1]
        return CubicSpline(self.x, self.y, bc_type=self.ends).c[::-1]

    def _ends(self, middle: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients before the first point and behind the last."""
        before, after = middle[:, 0].copy(), np.zeros(len(middle))
        last = middle[::-1, -1]
        for k in range(len(middle)):
            after[k] = np.polyval(np.polyder(last, k), self.x[-1] - self.x[-2]) / factorial(k)
        kept = {"constant": 1, "linear": 2}.get(self.beyond, len(middle))  # where it is refused, the borders count
        before[kept:], after[kept:] = 0.0, 0.0
        before[0], after[0] = self.y[0], self.y[-1]
        return before, after


class Table2:
    """A surface through a grid of points: `Table2(x, y, z)(first, second)`, z of shape (len(x), len(y)).

    `kind` is `"linear"` (in each variable) or `"spline"` (cubic in each, not-a-knot). `beyond` the grid it is
    `"constant"`, goes on `"linear"` (linear tables only) or is `"refuse"`d, as in `Table`.
    """

    def __init__(
        self, x: Sequence[float], y: Sequence[float], z: Any, *, kind: str = "linear", beyond: str = "constant"
    ) -> None:
        self.x, self.y = increasing(x, "x"), increasing(y, "y")
        self.z = numbers(z, (len(self.x), len(self.y)), "the table's z", fix="Give a row for each x.")
        self.kind = choice(kind, "the kind", ("linear", "spline"))
        self.beyond = choice(beyond, "beyond =", ("constant", "linear", "refuse"))
        if kind == "spline" and beyond == "linear":
            raise ModelError("a spline of two variables does not go on linearly.", fix="Use beyond='constant'.")

    def __call__(self, first: Any, second: Any) -> Any:
        return evaluated(self._law, first, second)

    def _law(self, first: Any, second: Any) -> Any:
        """Each point's value times how much it counts along x and along y."""
        along_x, along_y = self._weights(first, self.x), self._weights(second, self.y)
        value = ca.dot(ca.mtimes(ca.SX(ca.DM(self.z)).T, along_x), along_y)
        if self.beyond == "refuse":
            value += outside(first, *self.x[[0, -1]].tolist()) + outside(second, *self.y[[0, -1]].tolist())
        return value

    def _weights(self, x: Any, points: np.ndarray) -> Any:
        """How much each point counts at x: curves that are 1 at one point and 0 at all others."""
        if self.beyond != "linear":
            x = ca.fmin(ca.fmax(x, float(points[0])), float(points[-1]))
        if self.kind == "linear" or len(points) == 2:
            return _hats(x, points)
        from scipy.interpolate import CubicSpline

        curves = CubicSpline(points, np.eye(len(points))).c[::-1]  # power, piece, point
        marks = indicators(x, points[1:])
        t = x - chosen(marks, points)
        last = np.eye(len(points))[-1]
        weights = []
        for k in range(len(points)):
            value: Any = 0.0
            for row, end in zip(curves[::-1, :, k], (0.0, 0.0, 0.0, last[k]), strict=True):
                value = value * t + chosen(marks, np.append(row, end))
            weights.append(value)
        return ca.vertcat(*weights)


def _hats(x: Any, points: np.ndarray) -> Any:
    """Linear weights: with marks of the piece x is in, one minus the way through it, and the way through it."""
    marks = indicators(x, points[1:-1])
    origin, span = chosen(marks, points[:-1]), chosen(marks, np.diff(points))
    way = (x - origin) / span
    left, right = [*marks, 0], [0, *marks]
    return ca.vertcat(*[(1 - way) * a + way * b for a, b in zip(left, right, strict=True)])


def increasing(given: Any, what: str) -> np.ndarray:
    """At least two numbers that increase."""
    found = numbers(given, (-1,), f"the table's {what}", fix="Give a list of numbers.")
    if len(found) < 2 or np.any(np.diff(found) <= 0):
        raise ModelError(f"the table's {what} {shown(given)} does not increase.", fix="Give two or more, in order.")
    return found
