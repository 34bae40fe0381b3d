"""A mode as a motion one can look at: the machine swings in the shape of the mode, larger than it would, loops closed.

A shape is a direction, so its size is free. By default it is such that the body that moves most moves by a tenth of
the size of the machine. One period is shown, of the vibration itself or, where a mode does not vibrate, of a second;
growth and decay are left out. Bodies go where loops allow: each picture is closed anew, so joints stay joints.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from kompono.analyses.point import Point
from kompono.errors import RunError
from kompono.given import number
from kompono.keeping import scenery
from kompono.result import Result

PICTURES = 48  # of one period
SHARE = 0.1  # of the size of the machine that the default amplitude moves a body by
SMALL = 1e-5  # an amplitude for which all motion is linear


def swing(point: Point, shape: np.ndarray, frequency: float, amplitude: float | None, cycles: int) -> Result:
    """The motion about a point in the shape of a mode (complex, of the whole state), as a result with a scene."""
    if amplitude is None:
        amplitude = _visible(point, shape)
    amplitude = number(amplitude, "the amplitude", error=RunError, fix="Give the largest deviation, e.g. 0.05.")
    period, rows = (1.0 / frequency if frequency else 1.0), PICTURES * cycles
    phases = 2 * np.pi * np.arange(rows + 1) / PICTURES
    states = [_deviated(point, shape, amplitude * np.exp(1j * (phase - np.pi / 2))) for phase in phases]
    program, name = point.simulation.program, point.simulation.name
    table = np.array([at.evaluate("outputs")[0] for at in states])
    values = dict(zip(program.parameters, point.parameters, strict=True))
    model = point.simulation.translation.model
    known = {model.path(parameter): values[model.path(parameter)] for parameter in model.parameters}
    return Result(
        period * np.arange(rows + 1) / PICTURES,
        [channel.name for channel in program.channels],
        table,
        units={channel.name: channel.unit for channel in program.channels},
        statistics={"amplitude": amplitude, "frequency": frequency, "cycles": cycles},
        model=name,
        scene=functools.partial(scenery, model.model, known),
    )


def _deviated(point: Point, shape: np.ndarray, size: complex) -> Point:
    """The machine away from a point by a multiple of a shape, loops closed."""
    return point.with_state(point.state + np.real(size * shape)).closed()


def _visible(point: Point, shape: np.ndarray) -> float:
    """The amplitude for which the body that moves most moves by SHARE of the size of the machine."""
    still = _positions(point)
    if not len(still):
        return SHARE
    moves = [np.abs(_positions(_deviated(point, shape, SMALL * turn)) - still).max() for turn in (1.0, -1.0j)]
    size = max(float(np.ptp(still, axis=0).max()), 0.1)
    largest = np.abs(shape[point.place.q]).max(initial=0.0)
    by_angle = 0.5 / largest if largest else 0.5  # a body that turns on the spot
    return min(by_angle, SHARE * size * SMALL / max(*moves, 1e-300))


def _positions(point: Point) -> np.ndarray:
    """Where bodies are (n, 3) [m]."""
    model: Any = point.simulation.translation.model
    known = {channel.name for channel in point.simulation.program.channels}
    paths = [path for body in model.bodies if f"{(path := model.path(body))}.position.x" in known]
    found = point.channels([f"{path}.position.{axis}" for path in paths for axis in "xyz"])
    return np.array(list(found.values()), dtype=float).reshape(-1, 3)
