"""Named starts of a file as start values by channel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kompono.files.place import Place

if TYPE_CHECKING:
    from kompono.files.build import Level

RATE = "/rate"  # behind the name of a joint: the value is that of its speed
CONTROL = "/control"  # behind the name of an actuator: the value is its signal
LEVEL = "/level"  # the same: the value is that of its activation


def named_starts(level: Level) -> dict[str, dict[str, float]]:
    """Named starts by channel; values of joints that were left out are left out."""
    found: dict[str, dict[str, float]] = {}
    for name, values in level.assembly.starts.items():
        found[name] = {}
        for of, value in values.items():
            if of.endswith(CONTROL):
                continue
            if of.endswith(LEVEL):
                known = level.activations.get(of.removesuffix(LEVEL))
                found[name].update({known: value} if known else {})
                continue
            found[name].update(_of_body(level, of, *value) if isinstance(value, tuple) else _of_joint(level, of, value))
    return found


def named_controls(level: Level) -> dict[str, dict[str, float]]:
    """Signals of actuators by input, for each named start."""
    return {
        name: {
            level.controls[of.removesuffix(CONTROL)]: value
            for of, value in values.items()
            if of.endswith(CONTROL) and of.removesuffix(CONTROL) in level.controls
        }
        for name, values in level.assembly.starts.items()
    }


def _of_body(level: Level, of: str, place: Place, motion: np.ndarray) -> dict[str, float]:
    """Channels of a body whose part is at a place, with velocity of its frame and angular velocity."""
    lead, own = level.graph.home[(of,)]
    name, frame = level.bodies[lead], place @ own.inverse()
    centre = frame @ Place(level.graph.groups[lead].centre)
    columns = {
        "position": centre.position,
        "velocity": motion[0] + np.cross(motion[1], centre.position - place.position),
        "angular_velocity": motion[1],
    }
    found = {
        f"{name}.{kind}.{axis}": float(entry)
        for kind, vector in columns.items()
        for axis, entry in zip("xyz", vector, strict=True)
    }
    return found | {f"{name}.orientation.e{k}": e for k, e in enumerate(centre.quaternion)}


def _of_joint(level: Level, of: str, value: Any) -> dict[str, float]:
    joint = of.removesuffix(RATE)
    if joint not in level.coordinates:
        return {}
    member, coordinate, step = level.coordinates[joint]
    if step.kind == "ball":
        names = ("e0", "e1", "e2", "e3") if joint == of else ("wx", "wy", "wz")
        return {f"{member}.{name}": float(entry) for name, entry in zip(names, value, strict=True)}
    return {f"{member}.{coordinate}{'' if joint == of else '.rate'}": float(value)}
