"""Joints as sequences of turns and slides, and joints that close loops as balls and welds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from kompono.errors import RunError
from kompono.files.assembly import End, Joined, Step
from kompono.files.place import Place
from kompono.library import Chain, Cylindrical, Planar, Prismatic, Revolute, Spherical, Universal
from kompono.model.joint import Joint
from kompono.spatial.conditions import across
from kompono.spatial.rotation import snap

if TYPE_CHECKING:
    from kompono.edges.machines.taken import _Taker

APART = 0.1  # m between two points of an axis that closes a loop


def steps_of(taker: _Taker, joint: Joint, name: str, path: str) -> tuple[Step, ...]:
    """The motions of a joint one after the other."""

    def step(coordinate: str, kind: str, axis: Any, before: Place | None = None) -> Step:
        own = name if len(joint.coordinates) == 1 else f"{name}_{coordinate}"
        vector = tuple(float(x) for x in axis)
        return taker.step(joint, coordinate, kind, own, axis=vector, before=before or Place())

    if not joint.freedoms:
        return ()
    if isinstance(joint, Revolute):
        return (step("angle", "turn", joint.axis),)
    if isinstance(joint, Prismatic):
        return (step("displacement", "slide", joint.axis),)
    if isinstance(joint, Cylindrical):
        return step("displacement", "slide", joint.axis), step("angle", "turn", joint.axis)
    if isinstance(joint, Planar):
        one, two = across(joint.normal)
        return step("x", "slide", one), step("y", "slide", two), step("angle", "turn", joint.normal)
    if isinstance(joint, Universal):
        return step("angle1", "turn", joint.first_axis), step("angle2", "turn", joint.second_axis)
    if isinstance(joint, Chain):
        kinds = [(each.name, "turn" if each.turns else "slide", each.axis, each.place) for each in joint.steps]
        return tuple(
            step(own, kind, axis, Place(np.asarray(place.position, dtype=float).ravel(),
                                        snap(np.asarray(place.rotation, dtype=float))))
            for own, kind, axis, place in kinds
        )  # fmt: skip
    if isinstance(joint, Spherical):
        start, given = tuple(float(joint.start.get(f"e{k}", k == 0)) for k in range(4)), joint.limits or {}
        most = float(taker.numbers(given["turn"], path, "its limit").ravel()[0]) if "turn" in given else None
        if {"swing", "twist"} & set(given):
            taker.lose(joint, "limits of swing and twist")
        return (Step("ball", name, limits=(None, most), start=start),)
    raise RunError(f"a joint {type(joint).__name__} has no counterpart in robot files.", path=path)


def limits_of(taker: _Taker, joint: Joint, coordinate: str) -> tuple[float | None, float | None]:
    """Lower and upper limit of a coordinate."""
    given = joint.limits
    if given is None:
        return None, None
    pair = given.get(coordinate) if hasattr(given, "get") else given
    if pair is None:
        return None, None
    path = taker.model.path(joint)
    low, high = (None if x is None else float(taker.numbers(x, path, "its limit").ravel()[0]) for x in pair)
    return low, high


def starts_of(joint: Joint, coordinate: str) -> float:
    """Where a coordinate is declared to start."""
    value = joint.start.get(coordinate, 0.0)
    return float(value) if value is not None else 0.0


def closing(taker: _Taker, joint: Joint) -> Iterable[Joined]:
    """A joint that closes a loop: a weld, a ball, or for a hinge two balls on its axis."""
    path = taker.model.path(joint) or joint._name
    name = taker.joint_names.give(path.replace(".", "_"))
    first, second = taker.end(joint.first), taker.end(joint.second)
    if not joint.freedoms:
        yield Joined(name, first, second)
    elif isinstance(joint, Spherical):
        yield Joined(name, first, second, (Step("ball", name),))
    elif isinstance(joint, Revolute):
        for number, shift in enumerate((0.0, APART)):
            place = Place(shift * np.asarray(joint.axis, dtype=float))
            own = name if not number else taker.joint_names.give(f"{name}_2")
            one, two = (End(each.path, each.place @ place) for each in (first, second))
            yield Joined(own, one, two, (Step("ball", own),))
    else:
        kind = type(joint).__name__
        raise RunError(f"a {kind} that closes a loop has no counterpart in robot files.", path=path)
    if joint.limits is not None:
        taker.lose(joint, "limits of a joint that closes a loop")
