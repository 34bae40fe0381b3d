"""Mass properties of simple solids, about their centre of mass. Lengths in m, masses in kg, axis = symmetry axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from kompono.errors import ModelError
from kompono.model.body import MassProperties, tensor
from kompono.spatial.rotation import Axis, unit_axis


def _along(axis: Axis, axial: float, across: float) -> np.ndarray:
    a = unit_axis(axis)
    return across * np.eye(3) + (axial - across) * np.outer(a, a)


def _positive(**lengths: float) -> None:
    for name, value in lengths.items():
        if not np.isfinite(value) or value <= 0:
            raise ModelError(f"{name} {value!r} m is not positive.", fix="Lengths and radii are in metres.")


def box(*, mass: float, size: tuple[float, float, float]) -> MassProperties:
    """A uniform box with edges `size` (x, y, z)."""
    x, y, z = size
    _positive(x=x, y=y, z=z)
    moments = mass / 12 * np.array([y * y + z * z, x * x + z * z, x * x + y * y])
    return MassProperties(mass, np.diag(moments), ("box", {"size": (x, y, z)}))


def cylinder(*, mass: float, length: float, radius: float, axis: Axis = "z") -> MassProperties:
    """A uniform solid cylinder."""
    _positive(length=length, radius=radius)
    inertia = _along(axis, mass * radius**2 / 2, mass * (3 * radius**2 + length**2) / 12)
    return MassProperties(
        mass, inertia, ("cylinder", {"length": length, "radius": radius, "axis": tuple(unit_axis(axis))})
    )


def rod(*, mass: float, length: float, radius: float = 0.0, axis: Axis = "z") -> MassProperties:
    """A rod; slender (no inertia about its axis) unless a radius is given."""
    if radius:
        return cylinder(mass=mass, length=length, radius=radius, axis=axis)
    _positive(length=length)
    inertia = _along(axis, 0.0, mass * length**2 / 12)
    return MassProperties(
        mass, inertia, ("cylinder", {"length": length, "radius": length / 50, "axis": tuple(unit_axis(axis))})
    )


def tube(*, mass: float, length: float, radius: float, wall: float, axis: Axis = "z") -> MassProperties:
    """A uniform tube; `radius` is the outer one."""
    _positive(length=length, radius=radius, wall=wall)
    if wall > radius:
        raise ModelError(f"wall {wall} m is thicker than the radius {radius} m.")
    squares = radius**2 + (radius - wall) ** 2
    inertia = _along(axis, mass * squares / 2, mass * (3 * squares + length**2) / 12)
    shape = {"length": length, "radius": radius, "wall": wall, "axis": tuple(unit_axis(axis))}
    return MassProperties(mass, inertia, ("tube", shape))


def ring(*, mass: float, radius: float, axis: Axis = "z") -> MassProperties:
    """A thin ring."""
    _positive(radius=radius)
    shape = {"radius": radius, "axis": tuple(unit_axis(axis))}
    return MassProperties(mass, _along(axis, mass * radius**2, mass * radius**2 / 2), ("ring", shape))


def sphere(*, mass: float, radius: float) -> MassProperties:
    """A uniform ball."""
    _positive(radius=radius)
    return MassProperties(mass, np.eye(3) * 0.4 * mass * radius**2, ("sphere", {"radius": radius}))


def point(*, mass: float) -> MassProperties:
    """A point mass: no inertia. Its rotation must be held by a joint."""
    return MassProperties(mass, np.zeros((3, 3)), ("sphere", {"radius": 0.02}))


def given(*, mass: Any, inertia: Any) -> MassProperties:
    """Mass [kg] and moments (3,) or tensor (3, 3) [kg m^2] as you have them; numbers or tunable parameters."""
    return MassProperties(mass, tensor(inertia))
