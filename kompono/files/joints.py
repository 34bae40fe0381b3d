"""Joints of a component: one step is a joint of its kind, several are a chain, none is a weld."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from kompono.files.assembly import Step
from kompono.files.graph import Edge
from kompono.files.names import Names
from kompono.files.recipe import Make
from kompono.library.chain import Chain

if TYPE_CHECKING:
    from kompono.files.build import Level

SINGLE = {
    "turn": "Revolute",
    "slide": "Prismatic",
    "ball": "Spherical",
    "cylinder": "Cylindrical",
    "plane": "Planar",
    "free": "Free",
}
COORDINATE = {"turn": "angle", "slide": "displacement"}
AXIS = {"turn": "axis", "slide": "axis", "cylinder": "axis", "plane": "normal"}
_NAMED = {(1, 0, 0): "x", (0, 1, 0): "y", (0, 0, 1): "z", (-1, 0, 0): "-x", (0, -1, 0): "-y", (0, 0, -1): "-z"}


def joined(level: Level, edge: Edge) -> None:
    """The joint of an edge."""
    name = level.called(edge.name, "joint")
    if len(edge.steps) > 1:
        _chain(level, edge, name)
        return
    first, second = edge.first_place, level.frame(edge.second, edge.second_place)
    if not edge.steps:
        level.members[name] = Make("Weld", (level.frame(edge.first, first), second), {}, edge.where)
        return
    step = edge.steps[0]
    coordinate = COORDINATE.get(step.kind, "")
    keywords: dict[str, Any] = {AXIS[step.kind]: axis_word(step.axis)} if step.kind in AXIS else {}
    if coordinate:
        start = _start(level, step)
        keywords |= {coordinate: start} if start else {}
        keywords |= _limits(level, step)
    elif step.kind == "ball":
        keywords |= _ball(level, step)
    elif level.choices.limits and step.limits != (None, None):
        level.told.note("ignored", step.name, f"limits of a {step.kind} joint")
    level.coordinates[step.name] = name, coordinate, step
    ends = level.frame(edge.first, first @ step.before), second
    level.members[name] = Make(SINGLE[step.kind], ends, keywords, edge.where)


def _ball(level: Level, step: Step) -> dict[str, Any]:
    """The limit of the whole turn of a ball, and its start within that."""
    most, start = step.limits[1] if level.choices.limits else None, np.array(step.start or (1.0, 0.0, 0.0, 0.0))
    turned = 2 * math.atan2(float(np.linalg.norm(start[1:])), abs(float(start[0])))
    if most is not None and turned > most:
        level.told.note("assumed", step.name, f"is turned by its limit {most:.6g} at the start, not by {turned:.6g}")
        sides = math.copysign(math.sin(most / 2), start[0]) * start[1:] / np.linalg.norm(start[1:])
        start = np.array([math.cos(most / 2), *sides])
    found: dict[str, Any] = {f"e{k}": e for k, e in enumerate(start.tolist())} if np.any(start[1:]) else {}
    return found | ({"limits": {"turn": most}} if most is not None else {})


def _chain(level: Level, edge: Edge, name: str) -> None:
    names = Names(each for each in dir(Chain) if not each.startswith("_"))
    steps, keywords, limits = [], {}, {}
    for step in edge.steps:
        own = names.give(step.name, "angle" if step.kind == "turn" else "way")
        place: dict[str, Any] = {}
        if step.before.position.any():
            place["at"] = tuple(step.before.position.tolist())
        if not step.before.upright:
            place["orientation"] = step.before.quaternion
        steps.append(Make(step.kind, (own, axis_word(step.axis)), place))
        start, bounds = _start(level, step), _limits(level, step).get("limits")
        keywords |= {own: start} if start else {}
        limits |= {own: bounds} if bounds else {}
        level.coordinates[step.name] = name, own, step
    keywords |= {"limits": limits} if limits else {}
    first, second = level.frame(edge.first, edge.first_place), level.frame(edge.second, edge.second_place)
    level.members[name] = Make("Chain", (first, second, *steps), keywords, edge.where)


def _start(level: Level, step: Step) -> float:
    """The coordinate at the start, inside its limits."""
    lower, upper = step.limits
    if not level.choices.limits:
        return step.start
    inside = max(step.start, -math.inf if lower is None else lower)
    inside = min(inside, math.inf if upper is None else upper)
    if inside != step.start:
        level.told.note("assumed", step.name, f"starts at its limit {inside:.6g}, not at {step.start:.6g}")
    return inside


def _limits(level: Level, step: Step) -> dict[str, Any]:
    return {"limits": step.limits} if level.choices.limits and step.limits != (None, None) else {}


def axis_word(axis: tuple[float, ...]) -> Any:
    """An axis as people write it."""
    return _NAMED.get(tuple(axis), tuple(axis))  # type: ignore[arg-type]
