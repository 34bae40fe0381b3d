"""Shapes: what a body looks like. They do not influence the motion; viewers draw them, everything else ignores them.

A shape is a kind with sizes, placed in body axes. `kompono.library.shapes` makes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from kompono.errors import ModelError
from kompono.spatial.numeric import quaternions
from kompono.spatial.rotation import constant_matrix


@dataclass(frozen=True)
class Shape:
    """A solid to look at: `kind` with `sizes` [m], its axis along its own z, at a place in body axes.

    `position` (3) [m] and `orientation` (quaternion) are from the body's centre of mass; colour "#rrggbb" or None for
    one of the viewer's choice; opacity from 0 to 1.
    """

    kind: str
    sizes: Mapping[str, Any] = field(default_factory=dict)
    position: tuple[float, ...] = (0.0, 0.0, 0.0)
    orientation: tuple[float, ...] = (1.0, 0.0, 0.0, 0.0)
    colour: str | None = None
    opacity: float = 1.0

    def at(self, x: float, y: float, z: float, orientation: Any = None) -> Shape:
        """The same shape moved by (x, y, z) [m] and, before that, turned (a quaternion or matrix)."""
        turn = constant_matrix(orientation)
        own = constant_matrix(self.orientation)
        place = turn @ np.asarray(self.position) + np.asarray([x, y, z], dtype=float)
        return replace(self, position=tuple(place.tolist()), orientation=quaternion_of(turn @ own))

    def coloured(self, colour: str, opacity: float = 1.0) -> Shape:
        """The same shape in a colour, "#rrggbb", and seen through if `opacity` is below 1."""
        digits = colour.removeprefix("#")
        if len(digits) != 6 or not set(digits.lower()) <= set("0123456789abcdef") or not colour.startswith("#"):
            raise ModelError(f"colour {colour!r} is not known.", fix='Use "#rrggbb", e.g. "#d55e00".')
        return replace(self, colour=colour.lower(), opacity=float(opacity))


def quaternion_of(matrix: np.ndarray) -> tuple[float, ...]:
    """The quaternion (e0, e1, e2, e3) of a rotation matrix of numbers."""
    return tuple(quaternions(matrix).tolist())


def shapes_of(given: Any, where: str) -> tuple[Shape, ...] | None:
    """What a body was given to look like, as a tuple; None if nothing was given."""
    if given is None:
        return None
    shapes = (given,) if isinstance(given, Shape) else tuple(given)
    for shape in shapes:
        if not isinstance(shape, Shape):
            raise ModelError(f"{shape!r} is not a shape.", path=where, fix="Use kompono.library.shapes, e.g. box(...).")
    return shapes
