"""Shapes: what a body looks like. They do not influence the motion; viewers draw them, everything else ignores them.

A shape is a kind with sizes, placed in body axes. `kompono.library.shapes` makes them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from kompono.errors import ModelError
from kompono.given import number, numbers, shown
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
        place = turn @ np.asarray(self.position) + numbers((x, y, z), (3,), "the place", "Shape.at", fix="at(x, y, z)")
        return replace(self, position=tuple(place.tolist()), orientation=quaternion_of(turn @ own))

    def coloured(self, colour: str, opacity: float = 1.0) -> Shape:
        """The same shape in a colour, "#rrggbb", and seen through if `opacity` is below 1."""
        if not isinstance(colour, str) or not re.fullmatch("#[0-9a-fA-F]{6}", colour):
            raise ModelError(f"colour {shown(colour)} is not known.", fix='Use "#rrggbb", e.g. "#d55e00".')
        seen = number(opacity, "the opacity", "Shape.coloured", fix="Use 0 (glass) to 1 (solid).")
        if not 0 <= seen <= 1:
            raise ModelError(f"opacity {seen!r} is not between 0 and 1.", fix="Use 0 (glass) to 1 (solid).")
        return replace(self, colour=colour.lower(), opacity=seen)


def quaternion_of(matrix: np.ndarray) -> tuple[float, ...]:
    """The quaternion (e0, e1, e2, e3) of a rotation matrix of numbers."""
    return tuple(quaternions(matrix).tolist())


def shapes_of(given: Any, where: str) -> tuple[Shape, ...] | None:
    """What a body was given to look like, as a tuple; None if nothing was given."""
    if given is None:
        return None
    shapes = given if isinstance(given, list | tuple) else (given,)
    for shape in shapes:
        if not isinstance(shape, Shape):
            fix = "Use kompono.library.shapes, e.g. box(...), one or a list."
            raise ModelError(f"{shown(shape)} is not a shape.", path=where, fix=fix)
    return tuple(shapes)
