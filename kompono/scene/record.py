"""The scene that goes with a result: where things start, which joints are redundant, which are not kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from kompono.errors import RunError
from kompono.model.body import Body
from kompono.model.subsystem import Subsystem
from kompono.result.result import Result
from kompono.scene.contacts import with_contacts
from kompono.scene.describe import describe
from kompono.scene.motion import poses
from kompono.scene.scene import Scene
from kompono.scene.violation import violations

BODIES = 5000  # a scene of more is not kept with a result
SAMPLES = 2000  # of the motion of a moving ground


def scenery(
    model: Subsystem, parameters: Mapping[str, float] | None, result: Result, until: float | None = None
) -> dict[str, Any] | None:
    """The scene of a run as plain data; None for models too large to be drawn piece by piece. A run that is not over
    will go on `until` [s].
    """
    if sum(isinstance(element, Body) for element in model.walk()) > BODIES:
        return None
    return record(model, parameters, result, until).to_data()


def record(
    model: Subsystem, parameters: Mapping[str, float] | None, result: Result, until: float | None = None
) -> Scene:
    """The scene of a run of `model`."""
    rows = np.unique(np.linspace(0, len(result.time) - 1, SAMPLES).astype(int)) if len(result.time) else []
    times = result.time[rows] if len(rows) else None
    if until is not None:
        times = np.linspace(0.0, until, SAMPLES)
    scene = describe(model, times=times, parameters=parameters)
    scene = replace(scene, redundant=tuple(result.statistics.get("redundant", ())))
    try:
        first = poses(scene, result, slice(0, 1))
    except RunError:  # positions were not recorded
        return scene
    if not len(first):
        return scene
    placed = [replace(c, pose=tuple(pose)) for c, pose in zip(scene.carriers, first[0].tolist(), strict=True)]
    scene = replace(scene, carriers=tuple(placed))
    scene = replace(scene, violated=violations(model, scene, parameters, result))
    return with_contacts(scene, model, result)
