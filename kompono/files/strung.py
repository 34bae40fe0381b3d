"""What acts beside the coordinates of joints, as declarations: ropes and their limits, media, what carries weight."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kompono.files.assembly import Actuated, End, Strung
from kompono.files.place import Place
from kompono.files.recipe import Make, Ref

if TYPE_CHECKING:
    from kompono.files.build import Level


def carried(level: Level) -> None:
    """Forces that carry weight, as far as there is gravity."""
    gravity = np.array(level.choices.gravity if level.choices.gravity is not None else (0.0, 0.0, 0.0))
    for push in level.assembly.pushes:
        frame = level.end(End(push.path, Place(push.point)))
        if frame.carrier == level.bodies.get(()):
            continue
        if not gravity.any():
            level.told.note("ignored", push.name, "there is no gravity")
            continue
        force = tuple((-push.mass * gravity).tolist())
        level.members[level.names.give(push.name)] = Make("AppliedLoad", (frame,), {"force": force})


def resisted(level: Level) -> None:
    """Media that bodies move in."""
    for each in level.assembly.resisted:
        frame = level.end(each.frame)
        if frame.carrier == level.bodies.get(()):
            continue
        keywords: dict[str, Any] = {}
        for name in ("linear", "quadratic", "angular", "angular_quadratic"):
            values = getattr(each, name)
            if any(values):
                keywords[name] = values[0] if len(set(values)) == 1 else values
        if any(each.wind) and (any(each.linear) or any(each.quadratic)):
            keywords["wind"] = each.wind
        if keywords:
            level.members[level.names.give(each.name)] = Make("MediumDrag", (frame,), keywords)


def strung(level: Level) -> None:
    """Ropes, and what keeps them between two lengths. One that nothing pulls, and that pulls nothing, is left out."""
    driven = {of for each in level.assembly.actuators if each.strung for of, _ in each.terms}
    for each in level.assembly.strung:
        if each.name in level.choices.ignore:
            level.told.ignored.add(each.name)
            level.told.note("ignored", each.name, "as asked")
            level.graph.gone.add(each.name)
            continue
        frames = tuple(level.end(point) for point in each.points)
        if each.stiffness or each.damping or each.name in driven:
            keywords: dict[str, Any] = {"k": each.stiffness} if each.stiffness else {}
            keywords |= {"c": each.damping} if each.damping else {}
            low, high = each.rest
            keywords |= {"rest": low if low == high else each.rest} if each.stiffness else {}
            keywords |= {"factors": each.factors} if set(each.factors) != {1.0} else {}
            level.ropes[each.name] = level.called(each.name, "rope")
            level.members[level.ropes[each.name]] = Make("Rope", frames, keywords, each.where)
        if each.limits is not None and level.choices.limits:
            _held(level, each, frames)


def _held(level: Level, each: Strung, frames: tuple[Any, ...]) -> None:
    """The limits of a rope from one point to another; those of longer ones are told."""
    low, high = each.limits or (0.0, 0.0)
    if len(frames) != 2 or each.factors != (1.0,) or frames[0].carrier == frames[1].carrier:
        level.told.note("ignored", each.name, "limits of the length of a rope over several points")
        return
    keywords = {"longest": high} | ({"shortest": low} if low > 0 else {})
    name = level.names.give(f"{each.name}_limits")
    level.members[name] = Make("Tether", frames, keywords, each.where)


def wound(level: Level, each: Actuated, control: Any, keywords: dict[str, Any]) -> None:
    """An actuator of a rope, or one that pushes a frame."""
    name = level.names.give(f"{each.name}_drive")
    if each.frame is not None:
        keywords |= {"bias": keywords["bias"][0]} if "bias" in keywords else {}
        for word, load in (("force", each.load[:3]), ("torque", each.load[3:])):
            keywords |= {word: load} if any(load) else {}
        level.members[name] = Make("Thruster", (level.end(each.frame), control), keywords, each.where)
        return
    rope, gear = each.terms[0]
    keywords = ({"gear": gear} if gear != 1.0 else {}) | keywords
    level.members[name] = Make("Winch", (Ref(level.ropes[rope]), control), keywords, each.where)
