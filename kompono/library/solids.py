"""Mass properties of simple solids, about their centre of mass. Lengths in m, masses in kg, axis = symmetry axis.

Masses and sizes are numbers, or expressions of tunable parameters; viewers draw those at the values of a run.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from kompono.errors import ModelError
from kompono.given import entries_of, number, scalar, shown
from kompono.model.body import MassProperties
from kompono.spatial.rotation import Axis, unit_axis


def _along(axis: np.ndarray, axial: Any, across: Any) -> Any:
    """The inertia of a solid of revolution from its moments about its axis and across it."""
    straight = np.outer(axis, axis)
    if isinstance(axial, ca.SX) or isinstance(across, ca.SX):
        return ca.SX(across * ca.DM(np.eye(3)) + (axial - across) * ca.DM(straight))
    return across * np.eye(3) + (axial - across) * straight


def _diagonal(moments: list[Any]) -> Any:
    symbolic = any(isinstance(moment, ca.SX) for moment in moments)
    return ca.diag(ca.vertcat(*moments)) if symbolic else np.diag(moments)


def _mass(solid: str, mass: Any) -> Any:
    """The mass as given; whether it is positive is checked when its body gets a name."""
    fix = "Give the mass [kg], a number or a tunable parameter."
    if isinstance(mass, ca.SX) and not mass.is_constant():
        return scalar(mass, "mass", solid, fix=fix)
    return mass if type(mass) is float else number(mass, "mass", solid, finite=False, fix=fix)


def _sizes(solid: str, **lengths: Any) -> list[Any]:
    """Lengths as numbers or expressions; numbers must be positive."""
    found = []
    for name, value in lengths.items():
        length = scalar(value, name, solid, fix="Lengths and radii are in metres: numbers or tunable parameters.")
        if not isinstance(length, ca.SX) and length <= 0:
            raise ModelError(f"{name} {value!r} m is not positive.", path=solid, fix="Lengths and radii are in metres.")
        found.append(length)
    return found


def box(*, mass: Any, size: Any) -> MassProperties:
    """A uniform box with edges `size` (x, y, z)."""
    edges = entries_of(size)
    if edges.shape != (3,):
        raise ModelError(f"size {shown(size)} is not three lengths.", path="solids.box", fix="Use size=(x, y, z).")
    x, y, z = _sizes("solids.box", **dict(zip("xyz", edges.tolist(), strict=True)))
    m = _mass("solids.box", mass)
    moments = [m / 12 * (y * y + z * z), m / 12 * (x * x + z * z), m / 12 * (x * x + y * y)]
    return MassProperties(m, _diagonal(moments), ("box", {"size": (x, y, z)}))


def cylinder(*, mass: Any, length: Any, radius: Any, axis: Axis = "z") -> MassProperties:
    """A uniform solid cylinder."""
    return _cylinder("solids.cylinder", mass, length, radius, axis)


def _cylinder(solid: str, mass: Any, length: Any, radius: Any, axis: Axis) -> MassProperties:
    m, (h, r), a = _mass(solid, mass), _sizes(solid, length=length, radius=radius), unit_axis(axis)
    inertia = _along(a, m * r * r / 2, m * (3 * r * r + h * h) / 12)
    return MassProperties(m, inertia, ("cylinder", {"length": h, "radius": r, "axis": tuple(a)}))


def rod(*, mass: Any, length: Any, radius: Any = 0.0, axis: Axis = "z") -> MassProperties:
    """A rod; slender (no inertia about its axis) unless a radius is given."""
    if isinstance(radius, ca.SX) or scalar(radius, "radius", "solids.rod", fix="Leave it out for a slender rod.") != 0:
        return _cylinder("solids.rod", mass, length, radius, axis)
    m, (h,), a = _mass("solids.rod", mass), _sizes("solids.rod", length=length), unit_axis(axis)
    inertia = _along(a, 0.0, m * h * h / 12)
    return MassProperties(m, inertia, ("cylinder", {"length": h, "radius": h / 50, "axis": tuple(a)}))


def tube(*, mass: Any, length: Any, radius: Any, wall: Any, axis: Axis = "z") -> MassProperties:
    """A uniform tube; `radius` is the outer one."""
    h, r, w = _sizes("solids.tube", length=length, radius=radius, wall=wall)
    if not isinstance(w, ca.SX) and not isinstance(r, ca.SX) and w > r:
        fix = "The radius is the outer one."
        raise ModelError(f"wall {w} m is thicker than the radius {r} m.", path="solids.tube", fix=fix)
    m, a, squares = _mass("solids.tube", mass), unit_axis(axis), r * r + (r - w) * (r - w)
    inertia = _along(a, m * squares / 2, m * (3 * squares + h * h) / 12)
    return MassProperties(m, inertia, ("tube", {"length": h, "radius": r, "wall": w, "axis": tuple(a)}))


def ring(*, mass: Any, radius: Any, axis: Axis = "z") -> MassProperties:
    """A thin ring."""
    m, (r,), a = _mass("solids.ring", mass), _sizes("solids.ring", radius=radius), unit_axis(axis)
    return MassProperties(m, _along(a, m * r * r, m * r * r / 2), ("ring", {"radius": r, "axis": tuple(a)}))


def sphere(*, mass: Any, radius: Any) -> MassProperties:
    """A uniform ball."""
    m, (r,) = _mass("solids.sphere", mass), _sizes("solids.sphere", radius=radius)
    return MassProperties(m, _diagonal([0.4 * m * r * r] * 3), ("sphere", {"radius": r}))


def point(*, mass: Any) -> MassProperties:
    """A point mass: no inertia. Its rotation must be held by a joint."""
    return MassProperties(_mass("solids.point", mass), np.zeros((3, 3)), ("sphere", {"radius": 0.02}))


def given(*, mass: Any, inertia: Any) -> MassProperties:
    """Mass [kg] and moments (3,) or tensor (3, 3) [kg m^2] as you have them; numbers or tunable parameters."""
    return MassProperties(_mass("solids.given", mass), inertia)
