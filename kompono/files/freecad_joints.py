"""Joints of FreeCAD beyond frames that meet: axes at an angle, gears, belts and racks, and limits of the others.

Gears, belts and racks couple the coordinates of hinges and sliders that hold their parts on one and the same other
part. Which way they turn follows from the drawing: gears against each other, a belt alike, a rack as the rim of its
pinion.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from kompono.errors import FileError
from kompono.files.assembly import Geometry, Mate, Path, Summed
from kompono.files.place import Place
from kompono.files.xml import Node

MM = 1e-3
ANGLES = {"Parallel": "parallel", "Perpendicular": "perpendicular", "Angle": "angle"}  # mates of the two z axes
COUPLED = ("Gears", "Belt", "RackPinion")
_NEAR = 1e-4  # m, and sine of an angle: two axes are one

Limits = tuple[float | None, float | None]


@dataclass(frozen=True, eq=False)
class Side:
    """One side of a joint: its part by name, where that is drawn, and the connector on it."""

    part: str
    drawn: Place
    frame: Place

    @property
    def world(self) -> Place:
        """The connector in the drawing."""
        return self.drawn @ self.frame


@dataclass(frozen=True, eq=False)
class Known:
    """A joint with one coordinate: its name and kind, and its two sides."""

    name: str
    kind: str
    first: Side
    second: Side

    def way(self, side: Side) -> float:
        """1 if the coordinate grows where the part of a side moves along z of its connector, -1 if it falls, 0 if it is
        not the part, or another axis.
        """
        own, axis = self.first.world, side.world
        along = float(own.rotation[:, 2] @ axis.rotation[:, 2])
        apart = np.cross(own.rotation[:, 2], axis.position - own.position)
        if side.part not in (self.first.part, self.second.part) or 1 - abs(along) > _NEAR:
            return 0.0
        if self.kind == "turn" and np.linalg.norm(apart) > _NEAR:
            return 0.0
        return float(np.sign(along)) * (1.0 if side.part == self.second.part else -1.0)

    def other(self, side: Side) -> str:
        """The part that carries the part of a side."""
        return self.first.part if side.part == self.second.part else self.second.part


def angled(name: str, kind: str, one: Side, two: Side, path: Callable[[str], Path], where: str) -> Mate:
    """The z axes of two connectors at an angle, that of the drawing."""
    first, second = (
        Geometry(path(side.part), "line", side.frame.position, side.frame.rotation[:, 2]) for side in (one, two)
    )
    return Mate(name, ANGLES[kind], first, second, where=where)


def coupled(name: str, kind: str, one: Side, two: Side, radii: tuple[float, float], known: Iterable[Known],
            where: str) -> Summed:  # fmt: skip
    """Gears, a belt, or a rack and its pinion."""
    joints = list(known)
    if kind == "RackPinion":
        return _rack(name, one, two, radii[0], joints, where)
    if not (radii[0] > 0 and radii[1] > 0):
        raise FileError(f"{name}: a radius is not positive.", path=where)
    first, second = _holding(name, "turn", one, joints, where), _holding(name, "turn", two, joints, where)
    _carried(name, first, one, second, two, where)
    facing = 1.0 if one.world.rotation[:, 2] @ two.world.rotation[:, 2] >= 0 else -1.0
    signs = first.way(one), second.way(two) * facing * (1.0 if kind == "Gears" else -1.0)
    terms = ((first.name, radii[0] * signs[0]), (second.name, radii[1] * signs[1]))
    return Summed(name, terms, where=where)


def _rack(name: str, one: Side, two: Side, radius: float, joints: list[Known], where: str) -> Summed:
    if not radius > 0:
        raise FileError(f"{name}: its radius is not positive.", path=where)
    slides = [[each for each in joints if each.kind == "slide" and side.part in (each.first.part, each.second.part)]
              for side in (one, two)]  # fmt: skip
    rack, pinion = (one, two) if slides[0] else (two, one)
    slide = (slides[0] or slides[1] or [None])[0]
    if slide is None:
        raise FileError(f"{name}: no slider holds {one.part} or {two.part}.", path=where, fix="Give the rack one.")
    turn = _holding(name, "turn", pinion, joints, where)
    _carried(name, slide, rack, turn, pinion, where)
    axis, along = pinion.world.rotation[:, 2], slide.first.world.rotation[:, 2]
    reach = float((rack.world.position - pinion.world.position) @ np.cross(along, axis))  # where the teeth meet
    rim = 1.0 if reach >= 0 else -1.0  # how the rim moves along the rack there, for a turn about z of the connector
    moves = 1.0 if rack.part == slide.second.part else -1.0
    return Summed(name, ((slide.name, moves), (turn.name, -radius * rim * turn.way(pinion))), where=where)


def _holding(name: str, kind: str, side: Side, joints: list[Known], where: str) -> Known:
    """The hinge a part turns on, about the axis of a connector."""
    found = [each for each in joints if each.kind == kind and each.way(side)]
    if not found:
        fix = "Give the part a revolute joint about the axis of its wheel."
        raise FileError(f"{name}: {side.part} turns on no hinge about that axis.", path=where, fix=fix)
    return found[0]


def _carried(name: str, first: Known, one: Side, second: Known, two: Side, where: str) -> None:
    carriers = first.other(one), second.other(two)
    if carriers[0] != carriers[1]:
        message = f"{name}: {one.part} is held on {carriers[0]}, {two.part} on {carriers[1]}: that is not read."
        raise FileError(message, path=where, fix="Hold both on one part.")


def limits(known: dict[str, Node], kind: str, one: Place, two: Place) -> Limits:
    """Limits of a coordinate that is zero as drawn; the file counts lengths along z, angles between the x axes."""
    if kind == "slide":
        drawn, word, unit = float(one.rotation[:, 2] @ (two.position - one.position)), "Length", MM
    elif kind == "turn":
        x = one.rotation.T @ two.rotation[:, 0]
        drawn, word, unit = float(np.arctan2(x[1], x[0])), "Angle", np.pi / 180
    else:
        return None, None
    ends = [unit * _number(known, f"{word}{end}") - drawn if _on(known, f"Enable{word}{end}") else None
            for end in ("Min", "Max")]  # fmt: skip
    return ends[0], ends[1]


def limited(known: dict[str, Node]) -> bool:
    """Whether any limit is on."""
    return any(_on(known, f"Enable{word}{end}") for word in ("Length", "Angle") for end in ("Min", "Max"))


def radii(known: dict[str, Node]) -> tuple[float, float]:
    """Distance and second distance of a joint [m]."""
    return MM * _number(known, "Distance"), MM * _number(known, "Distance2")


def _number(known: dict[str, Node], name: str) -> float:
    node = known[name].find("Float") if name in known else None
    return node.number("value") if node is not None else 0.0


def _on(known: dict[str, Node], name: str) -> bool:
    node = known[name].find("Bool") if name in known else None
    return node is not None and node.get("value") == "true"
