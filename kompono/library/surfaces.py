"""How far two surfaces are apart, and where and in which direction they touch.

What touches is a point or a ball (a roller is one, seen along its axis) in front of a surface that bounds it: plane,
sphere, cylinder, cam, profile or height. For a centre c and a radius r each gives a *gap* with a gradient of length one
where it closes, so that the force that keeps it is the normal force in newton, and the unit normal n there, out of the
surface; the point of contact is c - r n. For points, and on planes, spheres and cylinders, these are closed formulas; a
ball on a curve finds the nearest parameter by a few steps of Newton's method, written out in the expression.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from kompono.model.surface import Circle, Curve, Cylinder, Height, Plane, Points, Profile, Sphere, Surface
from kompono.spatial.conditions import across
from kompono.spatial.pose import Pose

STEPS = 7  # of Newton's method, from the foot of the centre; each doubles the digits
CAREFUL = 3  # the first of them, which do not leap from one hollow to the next
SEAM = -0.98  # z of a normal below which tangents of spheres are others (decision 309)
STEEPEST = 0.2  # part of the squared speed along a curve below which the slope of Newton's method does not fall


@dataclass(frozen=True)
class Touch:
    """Gap [m], unit normal (3) out of the bounding surface, two unit tangents (3), point of contact (3) [m], all in
    the axes of the bounding surface's frame.
    """

    name: str
    gap: Any
    normal: Any
    tangents: tuple[Any, Any]
    point: Any


Near = tuple[Any, Any, tuple[Any, Any]]  # gap, normal, tangents


def touches(base: Surface, other: Surface, pose: Pose) -> list[Touch]:
    """Where `other`, at a pose, touches `base`."""
    near = _NEAR[type(base)]
    found = []
    for name, centre, radius in _balls(base, other, pose):
        gap, normal, tangents = near(base, centre, radius)
        found.append(Touch(name, gap, normal, tangents, centre - radius * normal))
    return found


def bounds(surface: Surface) -> bool:
    """Whether a surface can bound others."""
    return type(surface) in _NEAR


def fits(base: Surface, other: Surface) -> bool:
    """Whether there is a formula for this pair."""
    if isinstance(other, Sphere):
        return bounds(base) and not other.inside
    rolls = isinstance(other, Circle) and isinstance(base, Plane | Cylinder | Curve | Profile)
    return bounds(base) and (isinstance(other, Points) or rolls)


def _balls(base: Surface, other: Surface, pose: Pose) -> list[tuple[str, Any, Any]]:
    """Name, centre (3) and radius of what touches."""
    if isinstance(other, Points):
        names = [""] if len(other.places) == 1 else [str(k) for k in range(len(other.places))]
        return [
            (name, pose.position + pose.rotation @ ca.DM(place) if place.any() else pose.position, 0.0)
            for name, place in zip(names, other.places, strict=True)
        ]
    if isinstance(other, Circle) and isinstance(base, Plane):
        axis, normal = pose.rotation @ ca.DM(other.axis), ca.DM(base.normal)
        upright = normal - axis * ca.dot(axis, normal)
        return [("", pose.position - other.radius * upright / _length(upright), 0.0)]
    assert isinstance(other, Sphere | Circle)
    return [("", pose.position, other.radius)]


def _length(vector: Any) -> Any:
    """Length of a vector, 1 where it is zero: nothing divides by zero."""
    square = ca.sumsqr(vector)
    return ca.sqrt(ca.if_else(square > 0, square, 1))


def _from_middle(vector: Any) -> tuple[Any, Any]:
    """Length of a vector and its direction, both zero in the middle of a sphere or bore: what is there is far from all
    sides.
    """
    length, square = _length(vector), ca.sumsqr(vector)
    return ca.if_else(square > 0, length, 0), vector / length


def _plane(base: Plane, centre: Any, radius: Any) -> Near:
    u, v = across(base.normal)
    return ca.dot(ca.DM(base.normal), centre) - radius, ca.DM(base.normal), (ca.DM(u), ca.DM(v))


def _sphere(base: Sphere, centre: Any, radius: Any) -> Near:
    distance, outward = _from_middle(centre)
    if base.inside:
        return base.radius - radius - distance, -outward, _tangents(-outward)
    return distance - base.radius - radius, outward, _tangents(outward)


def _tangents(normal: Any) -> tuple[Any, Any]:
    """Two unit vectors across a normal, smooth but where its z passes `SEAM` (no such pair is smooth everywhere)."""
    turned = normal[2] < SEAM
    x, y, z = normal[0], ca.if_else(turned, -normal[1], normal[1]), ca.if_else(turned, -normal[2], normal[2])
    share = 1 / (1 + z)
    u = ca.vertcat(1 - x * x * share, -x * y * share, -x)
    u = ca.vertcat(u[0], ca.if_else(turned, -u[1], u[1]), ca.if_else(turned, -u[2], u[2]))
    return u, ca.cross(normal, u)


def _cylinder(base: Cylinder, centre: Any, radius: Any) -> Near:
    axis = ca.DM(base.axis)
    off = centre - axis * ca.dot(axis, centre)
    distance, outward = _from_middle(off)
    side = -1 if base.inside else 1
    normal = side * outward
    return side * (distance - base.radius) - radius, normal, (axis, ca.cross(normal, axis))


def _curve(base: Curve, centre: Any, radius: Any) -> Near:
    u, v = (ca.DM(axis) for axis in across(base.axis))
    x, y = ca.dot(u, centre), ca.dot(v, centre)
    distance, outward = _from_middle(ca.vertcat(x, y))
    angle = ca.atan2(y, ca.if_else(distance > 0, x, 1))
    phi = ca.SX.sym("phi")
    line = base.radius(phi) * ca.vertcat(ca.cos(phi), ca.sin(phi))
    side = -1 if base.inside else 1
    if isinstance(radius, float) and not radius:
        r, slope = _with_slope(base.radius(phi), phi, angle)
        steep = slope / r
        root = ca.sqrt(1 + steep**2)
        outward = (outward + steep * ca.vertcat(outward[1], -outward[0])) / root
        gap = side * (distance - r) / root
    else:
        foot, along = _nearest(line, phi, angle, ca.vertcat(x, y))
        beyond = distance > ca.substitute(ca.SX(base.radius(phi)), phi, angle)
        outward = ca.vertcat(along[1], -along[0]) / _length(along)
        gap = side * _away(ca.vertcat(x, y) - foot, beyond) - radius
    normal = side * (u * outward[0] + v * outward[1])
    return gap, normal, (ca.DM(base.axis), ca.cross(normal, ca.DM(base.axis)))


def _profile(base: Profile, centre: Any, radius: Any) -> Near:
    u, v = ca.DM(base.along), ca.DM(base.normal)
    sideways = ca.DM(np.cross(base.normal, base.along))
    x, z = ca.dot(u, centre), ca.dot(v, centre)
    s = ca.SX.sym("s")
    if isinstance(radius, float) and not radius:
        height, slope = _with_slope(base.height(s), s, x)
        gap = (z - height) / ca.sqrt(1 + slope**2)
    else:
        foot, along = _nearest(ca.vertcat(s, base.height(s)), s, x, ca.vertcat(x, z))
        slope = along[1]
        gap = _away(ca.vertcat(x, z) - foot, z > ca.substitute(ca.SX(base.height(s)), s, x)) - radius
    root = ca.sqrt(1 + slope**2)
    return gap, (v - u * slope) / root, ((u + v * slope) / root, sideways)


def _height(base: Height, centre: Any, radius: Any) -> Near:
    s = ca.SX.sym("s", 2)
    ground = ca.SX(base.height(s[0], s[1]))
    if isinstance(radius, float) and not radius:
        height, slope = _with_slope(ground, s, centre[:2])
        away = (centre[2] - height) / ca.sqrt(1 + ca.sumsqr(slope))
    else:
        foot, along = _nearest(ca.vertcat(s, ground), s, centre[:2], centre)
        slope = along[2, :].T
        away = _away(centre - foot, centre[2] > ca.substitute(ground, s, centre[:2]))
    root = ca.sqrt(1 + ca.sumsqr(slope))
    normal = ca.vertcat(-slope, 1) / root
    u = ca.vertcat(1, 0, slope[0]) / ca.sqrt(1 + slope[0] ** 2)
    return away - radius, normal, (u, ca.cross(normal, u))


def _with_slope(expression: Any, symbol: Any, value: Any) -> list[Any]:
    """An expression and its gradient (a column) at a value of its symbols."""
    expression = ca.SX(expression)
    return ca.substitute([expression, ca.jacobian(expression, symbol).T], [symbol], [ca.SX(value)])


def _away(miss: Any, beyond: Any) -> Any:
    """How far a centre is from the foot below it, negative on the other side. Far from a hollow there are several feet,
    and Newton's method may find none of them: what it finds is no nearer than the surface.
    """
    distance = _from_middle(miss)[0]
    return ca.if_else(beyond, distance, -distance)


def _nearest(line: Any, s: Any, start: Any, point: Any) -> tuple[Any, Any]:
    """The point of a curve or surface, given in parameters s, that is nearest to a point, and its derivative there.

    The first steps are no longer than those of Gauss, which do not overshoot; the others are Newton's, once it is near.
    """
    to = ca.SX.sym("to", point.numel())
    along = ca.jacobian(line, s)
    miss = along.T @ (to - line)
    bend = ca.jacobian(miss, s)
    for least, steps in ((1.0, CAREFUL), (STEEPEST, STEPS - CAREFUL)):
        if s.numel() == 1:
            gauss = -ca.sumsqr(along)
            slope = ca.if_else(bend < 0, ca.fmin(bend, least * gauss), gauss)
        else:
            bent = ca.det(bend) > least**2 * ca.det(along.T @ along)
            slope = ca.if_else(ca.logic_and(bent, ca.trace(bend) < 0), bend, -along.T @ along)
        better = ca.Function("better", [s, to], [s - ca.solve(slope, miss)])
        for _ in range(steps):
            start = better(start, point)
    found = ca.Function("found", [s], [line, along])(start)
    return found[0], found[1]


_NEAR: dict[type[Surface], Callable[[Any, Any, Any], Near]] = {
    Plane: _plane,
    Sphere: _sphere,
    Cylinder: _cylinder,
    Curve: _curve,
    Profile: _profile,
    Height: _height,
}
