"""Surfaces: what of a body may touch another. `body.plane()`, `body.sphere(radius=...)`, ... make them.

A surface lies on a frame and is described there, with no more than its kind and sizes. Which pairs can touch, and how
far apart they are, is known to `kompono.library.surfaces`; `Contact` makes the law of two of them. Mass and looks of a
body have nothing to do with its surfaces: it may have none, or many.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from kompono.errors import KomponoError, ModelError
from kompono.given import flag, numbers, plain, scalar, shown
from kompono.spatial.rotation import Axis, unit_axis

if TYPE_CHECKING:
    from kompono.model.body import Frame


@dataclass(frozen=True, eq=False)
class Surface:
    """A surface on a frame."""

    frame: Frame


@dataclass(frozen=True, eq=False)
class Plane(Surface):
    """The plane through the origin across `normal` (3), which points out of the material."""

    normal: np.ndarray


@dataclass(frozen=True, eq=False)
class Points(Surface):
    """Points (n, 3) [m] in the axes of the frame; several are named "0", "1", ..."""

    places: np.ndarray


@dataclass(frozen=True, eq=False)
class Sphere(Surface):
    """A sphere about the origin [m], or the hollow one around it."""

    radius: Any
    inside: bool


@dataclass(frozen=True, eq=False)
class Circle(Surface):
    """The rim of a wheel: a circle of `radius` [m] about `axis` (3); against curves a roller about that axis."""

    radius: Any
    axis: np.ndarray


@dataclass(frozen=True, eq=False)
class Cylinder(Surface):
    """An endless cylinder of `radius` [m] about `axis` (3) through the origin, or the bore."""

    radius: Any
    axis: np.ndarray
    inside: bool


@dataclass(frozen=True, eq=False)
class Curve(Surface):
    """The outline r(phi) [m] of a cam across `axis` (3), or that of a hole."""

    radius: Callable[[Any], Any]
    axis: np.ndarray
    inside: bool


@dataclass(frozen=True, eq=False)
class Profile(Surface):
    """The height h(x) [m] along `normal` (3) over the distance x along `along` (3), the same across both."""

    height: Callable[[Any], Any]
    along: np.ndarray
    normal: np.ndarray


@dataclass(frozen=True, eq=False)
class Height(Surface):
    """The height z = h(x, y) [m] in the axes of the frame."""

    height: Callable[[Any, Any], Any]


class Surfaces:
    """What frames offer: surfaces on them. Callables get and give expressions (SX); they must be smooth."""

    def plane(self, normal: Axis = "z") -> Plane:
        """The plane through the origin across `normal`, which points to where others may be."""
        return Plane(self._frame, unit_axis(normal))

    def point(self) -> Points:
        """The origin."""
        return Points(self._frame, np.zeros((1, 3)))

    def points(self, *places: Any) -> Points:
        """Points (x, y, z) [m] in the axes of the frame, named "0", "1", ... in a contact."""
        return Points(self._frame, numbers(places, (-1, 3), "the points", fix="Use points((x, y, z), ...)."))

    def corners(self, size: Any = None) -> Points:
        """The corners of a box with edges `size` (x, y, z) [m] about the origin; no size: those of the body's solid.

        An edge may be zero: four corners. They are named "0" to "7", x before y before z, the low side first.
        """
        fix = "Use corners((x, y, z)), none of them negative."
        edges = numbers(self._edges() if size is None else size, (3,), "the size", fix=fix)
        if edges.min() < 0:
            raise ModelError(f"the size {shown(size)} has a negative edge.", fix=fix)
        sides = [(-edge / 2, edge / 2) if edge else (0.0,) for edge in edges.tolist()]
        return Points(self._frame, np.array([place[::-1] for place in product(*sides[::-1])]))

    def sphere(self, radius: Any, *, inside: bool = False) -> Sphere:
        """The sphere of `radius` [m] about the origin; `inside`: hollow, others are in it."""
        return Sphere(self._frame, _length(radius, "the radius"), flag(inside, "inside ="))

    def circle(self, radius: Any, axis: Axis = "y") -> Circle:
        """The rim of a wheel of `radius` [m] about `axis`; a roller where it meets curves and cylinders."""
        return Circle(self._frame, _length(radius, "the radius"), unit_axis(axis))

    def cylinder(self, radius: Any, axis: Axis = "z", *, inside: bool = False) -> Cylinder:
        """The endless cylinder of `radius` [m] about `axis`; `inside`: a bore, others are in it."""
        return Cylinder(self._frame, _length(radius, "the radius"), unit_axis(axis), flag(inside, "inside ="))

    def curve(self, radius: Callable[[Any], Any], axis: Axis = "z", *, inside: bool = False) -> Curve:
        """The cam with outline r(phi) [m] across `axis`; phi [rad] is counted about it, for z from x to y, for x from
        y to z, for y from z to x. r has the period 2 pi and is positive. `inside`: a hole, others are in it.
        """
        return Curve(
            self._frame, _function(radius, 1, "curve(r)", positive=True), unit_axis(axis), flag(inside, "inside =")
        )

    def profile(self, height: Callable[[Any], Any], along: Axis = "x", normal: Axis = "z") -> Profile:
        """The rail or road of height h(x) [m]; x is measured along `along`, the height along `normal`."""
        x, z = unit_axis(along), unit_axis(normal)
        if abs(x @ z) > 1e-9:
            raise ModelError("a profile rises across the way it goes.", fix='Use along="x", normal="z".')
        return Profile(self._frame, _function(height, 1, "profile(h)"), x, z)

    def height(self, height: Callable[[Any, Any], Any]) -> Height:
        """The ground of height z = h(x, y) [m] in the axes of the frame."""
        return Height(self._frame, _function(height, 2, "height(h)"))

    @property
    def _frame(self) -> Frame:
        return self  # type: ignore[return-value]

    def _edges(self) -> Any:
        """Edges of the solid this is."""
        shape = getattr(getattr(self, "solid", None), "shape", None)
        if shape is None or shape[0] != "box":
            raise ModelError("nothing says how large the box is.", fix="Use corners((x, y, z)).")
        return shape[1]["size"]


def _length(value: Any, what: str) -> Any:
    fix = "Give a positive number [m], or a tunable parameter."
    found = scalar(value, what, fix=fix)
    if not isinstance(found, ca.SX) and not found > 0:
        raise ModelError(f"{what} {shown(value)} is not positive.", fix=fix)
    return found


def _function(given: Any, count: int, what: str, *, positive: bool = False) -> Callable[..., Any]:
    """A function that gives one expression of `count` ones; with `positive`, no number that is not."""
    fix = "Give a function of SX expressions: lambda phi: 0.1 + 0.02 * ca.cos(phi)."
    if not callable(given):
        raise ModelError(f"{what}: {shown(given)} is not a function.", fix=fix)
    try:
        found = given(*[ca.SX.sym("x") for _ in range(count)])
    except (KomponoError, RuntimeError):  # CasADi's are put into words by whoever declares
        raise
    except Exception as error:
        message = f"{what}: {shown(given)} raised {type(error).__name__}: {error}."
        raise ModelError(message, fix=fix) from None
    known = plain(scalar(found, what, fix=fix))
    if positive and known is not None and known <= 0:
        raise ModelError(f"{what} {shown(known)} is not positive.", fix=fix)
    return given
