"""A hand on a body of a run in this process: a spring from a point of it to where the mouse is, and a damper.

The same as `Hand` of `assets/running.js`, for runs that a page only shows: a page that is a picture behind cannot damp.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kompono.scene.motion import POSE
from kompono.spatial.numeric import rotations

FREQUENCY, DAMPING, LIMIT = 10.0, 1.4, 20.0  # rad/s of the body on the spring; of critical; own masses at most


@dataclass
class Hand:
    """Where a body is held and pulled to; `pose` and `motion` are columns of a row of channels."""

    body: str
    local: np.ndarray
    target: np.ndarray
    mass: float
    pose: list[int]
    motion: list[int]
    strength: float = 1.0

    @staticmethod
    def of(simulation: Any, columns: list[int], order: Mapping[str, Any]) -> Hand | None:
        """A hand as a page orders it, None if that makes no sense."""
        body, local, target = order["body"], _point(order.get("local")), _point(order.get("target"))
        if local is None or target is None:
            return None
        number = {simulation.program.channels[i].name: k for k, i in enumerate(columns)}
        speeds = [f"{body}.{kind}.{axis}" for kind in ("velocity", "angular_velocity") for axis in "xyz"]
        model = simulation.translation.model
        masses = {model.path(one): one.solid.mass for one in model.bodies}
        known = {path: float(mass) for path, mass in masses.items() if isinstance(mass, int | float)}
        own = known.get(body, 1.0)
        mass = min(own + 0.1 * sum(known.values()), LIMIT * own)
        return Hand(body, local, target, mass, [number[f"{body}.{name}"] for name in POSE], [number[n] for n in speeds])

    def move(self, order: Mapping[str, Any]) -> None:
        """Pull to another place."""
        target, strength = _point(order.get("target")), order.get("strength", 1.0)
        if target is not None:
            self.target = target
        if isinstance(strength, int | float) and 0 < strength <= 100:
            self.strength = float(strength)

    def wrench(self, row: np.ndarray) -> np.ndarray:
        """Force and torque (6,) at the centre of mass, world axes [N, N m]."""
        pose, speed = row[self.pose], row[self.motion]
        arm = rotations(pose[3:]) @ self.local
        omega = FREQUENCY * np.sqrt(self.strength)
        away = self.target - pose[:3] - arm
        force = self.mass * (omega**2 * away - DAMPING * omega * (speed[:3] + np.cross(speed[3:], arm)))
        return np.concatenate([force, np.cross(arm, force)])


def _point(given: Any) -> np.ndarray | None:
    """Three finite numbers, or nothing."""
    if not isinstance(given, list) or len(given) != 3 or not all(isinstance(x, int | float) for x in given):
        return None
    point = np.array(given, dtype=float)
    return point if np.all(np.isfinite(point)) and np.abs(point).max() < 1e9 else None
