"""Joints of CAD files: two frames as drawn, whose coordinates are zero in the drawing."""

from __future__ import annotations

import numpy as np

from kompono.files.assembly import End, Joined, Noted, Path, Step
from kompono.files.fit import CLOSE, TURNED
from kompono.files.place import Place, along

Side = tuple[Path, Place, Place]  # the instance, where it is drawn, and the frame on it


def jointed(name: str, kind: str, first: Side, second: Side, lines: list[Noted], where: str = "") -> Joined:
    """A joint about or along z of two frames; where they miss each other by little, it holds as drawn."""
    one, two = first[1] @ first[2], second[1] @ second[2]
    if kind in ("turn", "slide", "cylinder", "plane") and one.rotation[:, 2] @ two.rotation[:, 2] < 0:
        two = Place(two.position, two.rotation @ np.diag([1.0, -1.0, -1.0]))
    gap, turn = misfit(kind, one, two)
    steps = (Step(kind, name),) if kind else ()
    if gap < CLOSE and turn < TURNED:
        fitted = one if kind != "" else two
        return Joined(name, _end(first, fitted), _end(second, fitted), steps, where=where)
    lines.append(Noted("assembled", name, f"the drawing misses it by {gap:.2g} m and {turn:.2g} rad"))
    if kind in ("turn", "cylinder", "plane"):  # the angle of the drawing is zero
        two = Place(two.position, along(two.rotation[:, 2], one.rotation[:, 0]))
    return Joined(name, _end(first, one), _end(second, two), steps, where=where)


def _end(side: Side, frame: Place) -> End:
    return End(side[0], side[1].inverse() @ frame)


def misfit(kind: str, one: Place, two: Place) -> tuple[float, float]:
    """How far two frames are from a position of a joint [m, rad]."""
    offset, z = two.position - one.position, one.rotation[:, 2]
    between = one.rotation.T @ two.rotation
    whole = float(np.linalg.norm([between[2, 1] - between[1, 2], between[0, 2] - between[2, 0],
                                  between[1, 0] - between[0, 1]]) / 2)  # fmt: skip
    tilt = float(np.linalg.norm(np.cross(z, two.rotation[:, 2])))
    across = float(np.linalg.norm(offset - z * (z @ offset)))
    size = float(np.linalg.norm(offset))
    if kind == "":
        return 0.0, 0.0  # a weld is as drawn, whatever its frames
    table = {"turn": (size, tilt), "slide": (across, whole), "cylinder": (across, tilt), "ball": (size, 0.0),
             "plane": (abs(float(z @ offset)), tilt)}  # fmt: skip
    return table[kind]
