"""What shall be followed over time: numbers, expressions of time, tables and measured values, with two derivatives.

Expressions are differentiated exactly. Values at times are joined by a spline of fifth degree, whose accelerations are
smooth; noise in measured values is not taken away, and its second derivative is large.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import casadi as ca
import numpy as np

from kompono.errors import RunError
from kompono.given import shown
from kompono.model.signal import time as clock

DEGREE = 5


def sampled(given: Mapping[str, Any], times: Any) -> tuple[np.ndarray, np.ndarray]:
    """Times (n) [s], and values, rates and accelerations (3, n, paths) of all paths there."""
    instants = _times(given, times)
    found = np.zeros((3, len(instants), len(given)))
    for k, (name, path) in enumerate(given.items()):
        found[:, :, k] = _path(name, path, instants)
    bad = ~np.isfinite(found).all(axis=(0, 1))
    if bad.any():
        name = list(given)[int(np.argmax(bad))]
        raise RunError(f"its path {name!r} is not a number all the way.", fix="Look at its values.")
    return instants, found


def _times(given: Mapping[str, Any], times: Any) -> np.ndarray:
    if times is None:
        tables = [path[0] for path in given.values() if isinstance(path, tuple)]
        if not tables:
            raise RunError("nothing says at which times.", fix="Give times=, an array of seconds.")
        times = tables[0]
    found = np.array(times, dtype=float).reshape(-1)
    if not len(found) or not np.isfinite(found).all() or np.any(np.diff(found) <= 0):
        raise RunError(f"times {shown(times)} do not increase.", fix="Give an array of seconds, in order.")
    return found


def _path(name: str, path: Any, times: np.ndarray) -> np.ndarray:
    """Value, rate and acceleration (3, n) of one path."""
    if isinstance(path, ca.SX):
        return _expression(name, ca.SX(path), times)
    if callable(path):
        path = np.array([path(float(t)) for t in times], dtype=float)
    if isinstance(path, tuple):
        if len(path) != 2 or np.shape(path[0]) != np.shape(path[1]):
            raise RunError(f"the table of {name!r} is not a pair of as many times and values.", fix="(times, values).")
        return _spline(name, np.asarray(path[0], dtype=float), np.asarray(path[1], dtype=float), times)
    values = np.asarray(path, dtype=float)
    if values.ndim == 0:
        return np.array([np.full(len(times), float(values)), np.zeros(len(times)), np.zeros(len(times))])
    if values.shape != times.shape:
        fix = "Give one value for each time, or a pair (times, values)."
        raise RunError(f"{name!r} has {values.shape} values for {len(times)} times.", fix=fix)
    return _spline(name, times, values, times)


def _expression(name: str, path: ca.SX, times: np.ndarray) -> np.ndarray:
    symbol = ca.SX(clock)
    strangers = [s.name() for s in ca.symvar(path) if s.element_hash() != symbol.element_hash()]
    if strangers:
        raise RunError(f"the path of {name!r} uses {strangers[0]!r}.", fix="Use `time` and numbers.")
    rate = ca.jacobian(path, symbol)
    function = ca.Function("path", [symbol], [ca.vertcat(path, rate, ca.jacobian(rate, symbol))])
    return np.asarray(function.map(len(times))(times.reshape(1, -1)).full())


def _spline(name: str, knots: np.ndarray, values: np.ndarray, times: np.ndarray) -> np.ndarray:
    from scipy.interpolate import make_interp_spline

    if not (np.isfinite(knots).all() and np.isfinite(values).all()):
        raise RunError(f"values of {name!r} are not finite.", fix="Leave out what was not measured: (times, values).")
    if np.any(np.diff(knots) <= 0):
        raise RunError(f"the times of {name!r} do not increase.", fix="Put them in order.")
    if times[0] < knots[0] or times[-1] > knots[-1]:
        span = f"{knots[0]:g} to {knots[-1]:g} s"
        raise RunError(f"the table of {name!r} goes from {span}.", fix="Ask for times inside it.")
    degree = min(DEGREE, len(knots) - 1)
    if degree < 1:
        return np.array([np.full(len(times), values[0]), np.zeros(len(times)), np.zeros(len(times))])
    spline = make_interp_spline(knots, values, k=degree)
    return np.array([spline(times, order) if order <= degree else np.zeros(len(times)) for order in range(3)])
