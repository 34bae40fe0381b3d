"""Which joints and constraints a motion does not keep: their own conditions, evaluated at the recorded poses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import casadi as ca
import numpy as np

from kompono.model.constraint import Constraint
from kompono.model.joint import Joint
from kompono.model.signal import time
from kompono.model.subsystem import Subsystem, relative_path
from kompono.result.result import Result
from kompono.scene.motion import poses
from kompono.scene.scene import Scene
from kompono.scene.values import SymbolValues
from kompono.spatial.numeric import rotations
from kompono.spatial.pose import symbolic_pose

SAMPLES = 100  # instants looked at
TOLERANCE = 1e-5  # m or rad


def violations(
    model: Subsystem, scene: Scene, parameters: Mapping[str, float] | None, result: Result
) -> dict[str, float]:
    """Largest violation [m or rad] by path, of elements that miss their conditions by more than the tolerance.

    If the run recorded its own drift and that is small, there is nothing to look for.
    """
    drift = "drift.position"
    if drift in result and np.nanmax(np.abs(result[drift]), initial=0.0) <= TOLERANCE:
        return {}
    rows = np.unique(np.linspace(0, len(result.time) - 1, SAMPLES).astype(int))
    table = poses(scene, result, rows)
    turns, places = rotations(table[..., 3:]), table[..., :3]
    number = {carrier.path: k for k, carrier in enumerate(scene.carriers)}
    values = SymbolValues(model, parameters)
    found: dict[str, float] = {}
    for element in model.walk():
        if not isinstance(element, Joint | Constraint):
            continue
        frames = (element.first, element.second)
        if any(relative_path(frame.body, model) not in number for frame in frames):
            continue  # of a rotor, which is no body to see
        ends = []
        for frame in frames:
            carrier = number[relative_path(frame.body, model)]
            at, turn = values.place(frame)
            ends.append((places[:, carrier] + turns[:, carrier] @ at, turns[:, carrier] @ turn))
        largest = _largest(element, values, result.time[rows], *ends)
        if largest > TOLERANCE:
            found[relative_path(element, model)] = largest
    return found


def _largest(element: Any, values: SymbolValues, times: np.ndarray, first: Any, second: Any) -> float:
    """Largest condition of one element; 0 if it has none, or if they depend on what poses do not tell (modes)."""
    pose = symbolic_pose()
    groups = element.conditions(pose)
    if not groups:
        return 0.0
    column = values.settle(ca.veccat(*[ca.densify(ca.SX(group)) for group in groups]))
    symbols = ca.vertcat(time, pose.position, ca.vec(pose.rotation))
    known = {str(symbol) for symbol in ca.symvar(symbols)}
    if any(str(symbol) not in known for symbol in ca.symvar(column)):
        return 0.0
    (x, r), (y, q) = first, second
    back = np.swapaxes(r, -1, -2)
    position = (back @ (y - x)[..., None])[..., 0]
    turn = back @ q
    arguments = np.column_stack([times, position, np.swapaxes(turn, -1, -2).reshape(-1, 9)])
    result = ca.Function("conditions", [symbols], [column])(arguments.T)
    return float(np.abs(np.asarray(result)).max(initial=0.0))
