"""Motion profiles: how to get from here to there, as expressions of time.

Each is a piecewise polynomial of time with constant ends; speed and acceleration are its derivatives, piece by piece.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

import numpy as np

from kompono.errors import ModelError
from kompono.given import choice, how_to_call, misused, number, numbers
from kompono.model.signal import time

P = TypeVar("P", bound=Callable[..., Any])


def _possible(profile: P) -> P:
    """Refuse motions whose times or ways no number can hold."""

    @functools.wraps(profile)
    def made(*values: Any, **named: Any) -> Any:
        try:
            return profile(*values, **named)
        except TypeError as error:
            if not misused(error):
                raise
            message, fix = how_to_call(profile, error, named)
            raise ModelError(message, path=f"profiles.{profile.__name__}", fix=fix) from None
        except (ZeroDivisionError, OverflowError):
            fix = "Use lengths of time, speeds and accelerations of a machine."
            where = f"profiles.{profile.__name__}"
            raise ModelError("it is too short or too long for numbers.", path=where, fix=fix) from None

    return cast(P, made)


class Profile:
    """A motion between `begin` and `end` [s]; `position`, `speed`, `acceleration` are expressions of `time`.

    `at(t)` gives (position, speed, acceleration) at other instants: expressions, numbers or arrays.
    """

    def __init__(self, instants: Any, coefficients: Any, *, last: float | None = None) -> None:
        self.instants = np.asarray(instants, dtype=float)  # borders of the pieces [s]
        self.coefficients = np.asarray(coefficients, dtype=float)  # (power, piece), in time since the piece began
        span = self.instants[-1] - self.instants[-2]
        self.last = float(np.polyval(self.coefficients[::-1, -1], span)) if last is None else float(last)
        if self.coefficients.shape[1:] != (len(self.instants) - 1,):
            raise ModelError("a profile needs coefficients for each piece.", fix="Give an array (power, piece).")

    @property
    def begin(self) -> float:
        """When it begins [s]."""
        return float(self.instants[0])

    @property
    def end(self) -> float:
        """When it ends [s]."""
        return float(self.instants[-1])

    @property
    def duration(self) -> float:
        """How long it takes [s]."""
        return self.end - self.begin

    @property
    def position(self) -> Any:
        """Where it is, expression of time."""
        return self.at(time)[0]

    @property
    def speed(self) -> Any:
        """How fast it moves, expression of time."""
        return self.at(time)[1]

    @property
    def acceleration(self) -> Any:
        """How its speed changes, expression of time."""
        return self.at(time)[2]

    def at(self, t: Any) -> tuple[Any, Any, Any]:
        """Position, speed and acceleration at t [s]."""
        from kompono.library.blocks.pieces import evaluated

        return tuple(evaluated(lambda x, k=k: self._derivative(x, k), t) for k in range(3))  # type: ignore[return-value]

    def _derivative(self, t: Any, order: int) -> Any:
        from kompono.library.blocks.pieces import polynomial

        inside = self.coefficients
        before, after = np.zeros(len(inside)), np.zeros(len(inside))
        before[0], after[0] = inside[0, 0], self.last
        table = np.column_stack([before, inside, after])
        for _ in range(order):
            table = table[1:] * np.arange(1, len(table))[:, None]
        origins = np.concatenate([self.instants[:1], self.instants])
        return polynomial(t, self.instants, origins, table if len(table) else np.zeros((1, len(origins))))


@_possible
def minimum_jerk(start: float, end: float, *, duration: float, begin: float = 0.0) -> Profile:
    """From rest to rest in `duration` [s] with the least jerk: a polynomial of fifth degree."""
    where = "profiles.minimum_jerk"
    start, end, begin = _ends(start, end, begin, where)
    span, way = number(duration, "the duration [s]", where, positive=True), end - start
    powers = np.array([start, 0, 0, 10 * way / span**3, -15 * way / span**4, 6 * way / span**5])
    return Profile([begin, begin + span], powers[:, None], last=end)


@_possible
def trapezoidal(start: float, end: float, *, speed: float, acceleration: float, begin: float = 0.0) -> Profile:
    """From rest to rest as fast as `speed` and `acceleration` allow; a short way does not reach the speed."""
    start, end, begin = _ends(start, end, begin, "profiles.trapezoidal")
    fastest, most = _most(speed, acceleration, "profiles.trapezoidal")
    way = end - start
    ramp = min(fastest / most, np.sqrt(abs(way) / most))
    cruise = abs(way) / (ramp * most) - ramp if way else 0.0
    return _pieces(
        start, end, begin, [ramp, max(cruise, 0.0), ramp], [0.0] * 3, np.sign(way) * most * np.array([1, 0, -1])
    )


@_possible
def s_curve(start: float, end: float, *, speed: float, acceleration: float, jerk: float, begin: float = 0.0) -> Profile:
    """From rest to rest as fast as `speed`, `acceleration` and `jerk` allow: up to seven pieces of constant jerk."""
    start, end, begin = _ends(start, end, begin, "profiles.s_curve")
    fastest, most = _most(speed, acceleration, "profiles.s_curve")
    way, sharp = end - start, number(jerk, "the jerk", "profiles.s_curve", positive=True)
    length = abs(way)
    rise = min(most / sharp, np.sqrt(fastest / sharp), np.cbrt(length / (2 * sharp)))  # of the acceleration
    top = sharp * rise
    flat = 0.0
    if rise == most / sharp:  # the acceleration is reached: how long it is kept
        by_speed = fastest / top - rise
        by_way = (-3 * rise + np.sqrt(rise**2 + 4 * length / top)) / 2
        flat = max(min(by_speed, by_way), 0.0)
    reached = top * (rise + flat)
    cruise = max(length / reached - (2 * rise + flat), 0.0) if length else 0.0
    times = [rise, flat, rise, cruise, rise, flat, rise]
    sign = np.sign(way)
    jerks = sign * sharp * np.array([1, 0, -1, 0, -1, 0, 1])
    starts = sign * top * np.array([0, 1, 1, 0, 0, -1, -1])
    return _pieces(start, end, begin, times, jerks, starts)


def through(instants: Sequence[float], points: Sequence[float], *, ends: str = "clamped") -> Profile:
    """A cubic spline through points at instants [s]; `ends` are those of `Table`, at rest unless said otherwise."""
    from scipy.interpolate import CubicSpline

    from kompono.library.blocks.tables import increasing

    kind = choice(ends, "the ends", ("clamped", "natural", "not-a-knot"), "profiles.through")
    when = increasing(instants, "instants")
    reached = numbers(points, (len(when),), "the points", "profiles.through", fix="Give one for each instant.")
    return Profile(when, CubicSpline(when, reached, bc_type=kind).c[::-1], last=reached[-1])


def _ends(start: Any, end: Any, begin: Any, where: str) -> tuple[float, float, float]:
    """Where a motion starts and ends, and when it begins."""
    return number(start, "the start", where), number(end, "the end", where), number(begin, "begin [s]", where)


def _most(speed: Any, acceleration: Any, where: str) -> tuple[float, float]:
    """The largest speed and acceleration."""
    return number(speed, "the speed", where, positive=True), number(
        acceleration, "the acceleration", where, positive=True
    )


def _pieces(start: float, end: float, begin: float, times: Any, jerks: Any, starts: Any) -> Profile:
    """Pieces of constant jerk, each from an acceleration; those of no length are left out, the last ends at the end."""
    instants, columns = [float(begin)], []
    place, speed = float(start), 0.0
    for span, jerk, acceleration in zip(times, jerks, starts, strict=True):
        if span <= 0:
            continue
        columns.append([place, speed, acceleration / 2, jerk / 6])
        place += span * (speed + span * (acceleration / 2 + span * jerk / 6))
        speed += span * (acceleration + span * jerk / 2)
        instants.append(instants[-1] + span)
    if not columns:
        return Profile([begin, begin + 1e-9], [[start]])
    return Profile(instants, np.transpose(columns), last=end)
