"""Signs for joints and constraints: a pin in its eye, a sleeve on its rail, a ball in its socket, a cross, a plate.

A sign is a list of pieces; what belongs to the first frame moves with the first body, the rest with the second. `s` is
the size of the sign [m].
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kompono.library import constraints, joints, rods, rolling
from kompono.library.shapes import _along
from kompono.model.constraint import Constraint
from kompono.model.joint import Joint
from kompono.scene.scene import ScenePiece
from kompono.spatial.numeric import quaternions, rotations

OUTER, INNER, RAIL, MATE = "#4a525e", "#c4cad3", "#7d8794", "#8fa3b8"


class Sign:
    """Collects the pieces of one element; `first` and `second` are (carrier, position (3,), rotation (3, 3))."""

    def __init__(self, part: int, first: tuple[int, Any, Any], second: tuple[int, Any, Any], s: float) -> None:
        self.part, self.first, self.second, self.s = part, first, second, s
        self.pieces: list[ScenePiece] = []

    def put(
        self,
        on: str,
        kind: str,
        axis: Any = "z",
        shift: float = 0.0,
        colour: str = "",
        opacity: float = 1.0,
        **sizes: Any,
    ) -> None:
        """Fix a mesh on the first or second frame, its z along `axis` of that frame, shifted along it."""
        carrier, position, turn = self.first if on == "first" else self.second
        own = turn @ rotations(np.asarray(_along(axis)))
        place = np.asarray(position) + shift * own[:, 2]
        self.pieces.append(
            ScenePiece(
                self.part,
                kind,
                sizes,
                carrier,
                tuple(place.tolist()),
                tuple(quaternions(own).tolist()),
                colour or (OUTER if on == "first" else INNER),
                opacity,
            )
        )

    def span(self, kind: str, hold: str = "both", colour: str = RAIL, **sizes: Any) -> None:
        """A mesh between the two origins."""
        (one, start, _), (two, end, _) = self.first, self.second
        self.pieces.append(
            ScenePiece(
                self.part,
                kind,
                sizes,
                one,
                tuple(np.asarray(start).tolist()),
                colour=colour,
                target=two,
                end=tuple(np.asarray(end).tolist()),
                hold=hold,
            )
        )


def _revolute(sign: Sign, joint: Any) -> None:
    s = sign.s
    sign.put("first", "tube", joint.axis, length=1.3 * s, radius=s, wall=0.4 * s)
    sign.put("second", "cylinder", joint.axis, length=2.0 * s, radius=0.55 * s)


def _prismatic(sign: Sign, joint: Any) -> None:
    s = sign.s
    sign.put("first", "box", joint.axis, size=(0.5 * s, 0.5 * s, 4 * s), colour=RAIL)
    sign.span("strut", length=1.0, radius=0.25 * s)
    sign.put("second", "box", joint.axis, size=(1.4 * s, 1.4 * s, 1.8 * s))


def _cylindrical(sign: Sign, joint: Any) -> None:
    s = sign.s
    sign.put("first", "cylinder", joint.axis, length=4 * s, radius=0.35 * s, colour=RAIL)
    sign.span("strut", length=1.0, radius=0.3 * s)
    sign.put("second", "tube", joint.axis, length=1.8 * s, radius=0.85 * s, wall=0.4 * s)


def _screw(sign: Sign, joint: Any) -> None:
    s = sign.s
    turn = np.linspace(0, 2 * np.pi, 7)[:-1]
    hexagon = tuple((1.1 * s * np.cos(a), 1.1 * s * np.sin(a)) for a in turn.tolist())
    sign.put("first", "cylinder", joint.axis, length=4 * s, radius=0.4 * s, colour=RAIL)
    for k in range(-4, 5):
        sign.put("first", "ring", joint.axis, shift=0.45 * k * s, radius=0.42 * s, thickness=0.12 * s)
    sign.span("strut", length=1.0, radius=0.35 * s)
    sign.put("second", "plate", joint.axis, outline=hexagon, thickness=0.9 * s)


def _universal(sign: Sign, joint: Any) -> None:
    s = sign.s
    sign.put("first", "cylinder", joint.first_axis, length=2.4 * s, radius=0.35 * s)
    sign.put("second", "cylinder", joint.second_axis, length=2.4 * s, radius=0.35 * s)
    sign.put("second", "box", "z", size=(0.9 * s,) * 3)


def _spherical(sign: Sign, _: Any) -> None:
    s = sign.s
    sign.put("first", "ring", "z", shift=-0.35 * s, radius=0.95 * s, thickness=0.22 * s)
    sign.put("second", "ellipsoid", "z", size=(1.8 * s,) * 3)


def _planar(sign: Sign, joint: Any) -> None:
    s = sign.s
    sign.put("first", "box", joint.normal, size=(6 * s, 6 * s, 0.15 * s), colour=RAIL, opacity=0.5)
    sign.put("second", "cylinder", joint.normal, length=0.7 * s, radius=0.8 * s)


def _weld(sign: Sign, _: Any) -> None:
    sign.put("first", "box", "z", size=(1.1 * sign.s,) * 3, colour="#59616b")


def _other_joint(sign: Sign, _: Any) -> None:
    s = sign.s
    sign.put("first", "ring", "z", radius=s, thickness=0.25 * s)
    sign.put("second", "box", "z", size=(s,) * 3)


def _distance(sign: Sign, _: Any) -> None:
    s = sign.s
    sign.span("strut", length=1.0, radius=0.35 * s)
    for on in ("first", "second"):
        sign.put(on, "ellipsoid", "z", size=(1.3 * s,) * 3)


def _on_line(sign: Sign, constraint: Any) -> None:
    s = sign.s
    sign.put("first", "cylinder", constraint.axis, length=12 * s, radius=0.2 * s, colour=RAIL)
    sign.put("second", "ellipsoid", "z", size=(1.2 * s,) * 3)


def _in_plane(sign: Sign, constraint: Any) -> None:
    s = sign.s
    sign.put("first", "box", constraint.axis, size=(6 * s, 6 * s, 0.12 * s), colour=RAIL, opacity=0.5)
    sign.put("second", "ellipsoid", "z", size=(1.2 * s,) * 3)


def _mate(sign: Sign, constraint: Any) -> None:
    s = sign.s
    for on, shift in (("first", -0.06 * s), ("second", 0.06 * s)):
        sign.put(on, "cylinder", constraint.axis, shift=shift, length=0.12 * s, radius=0.7 * s, colour=MATE)


def _parallel(sign: Sign, constraint: Any) -> None:
    for on in ("first", "second"):
        sign.put(on, "arrow", constraint.axis, length=4 * sign.s, radius=0.2 * sign.s, colour=RAIL)


def _other_constraint(sign: Sign, _: Any) -> None:
    sign.put("first", "ring", "x", radius=0.7 * sign.s, thickness=0.12 * sign.s)
    sign.put("second", "ring", "y", radius=0.7 * sign.s, thickness=0.12 * sign.s)


SIGNS: dict[type, Callable[[Sign, Any], None]] = {
    joints.Revolute: _revolute,
    joints.Prismatic: _prismatic,
    joints.Cylindrical: _cylindrical,
    joints.Screw: _screw,
    joints.Universal: _universal,
    joints.Spherical: _spherical,
    joints.Planar: _planar,
    joints.Weld: _weld,
    joints.Free: lambda sign, joint: None,
    rods.Link: _distance,
    rolling.Rolling: lambda sign, joint: None,  # the body itself is the sign
    Joint: _other_joint,
    constraints.Distance: _distance,
    constraints.PointOnLine: _on_line,
    constraints.PointInPlane: _in_plane,
    constraints.PlaneToPlane: _mate,
    constraints.ParallelAxes: _parallel,
    Constraint: _other_constraint,
}


def draw(sign: Sign, element: Any) -> list[ScenePiece]:
    """The pieces of a joint or constraint, by the nearest class that has a sign."""
    for kind in type(element).__mro__:
        if kind in SIGNS:
            SIGNS[kind](sign, element)
            break
    return sign.pieces
