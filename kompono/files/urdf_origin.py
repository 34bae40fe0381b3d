"""Where elements of a URDF are: its `<origin>`."""

from __future__ import annotations

import numpy as np

from kompono.files.place import Place
from kompono.files.xml import Node
from kompono.spatial.rotation import snap


def origin(node: Node) -> Place:
    """The `<origin>` of an element."""
    found = node.find("origin")
    if found is None:
        return Place()
    point = found.numbers(found.get("xyz") or "0 0 0", 3)
    roll, pitch, yaw = found.numbers(found.get("rpy") or "0 0 0", 3)
    return Place(point, roll_pitch_yaw(roll, pitch, yaw))


def roll_pitch_yaw(roll: float, pitch: float, yaw: float) -> np.ndarray:
    """R_z(yaw) R_y(pitch) R_x(roll)."""
    (a, b, c), (x, y, z) = np.cos([roll, pitch, yaw]), np.sin([roll, pitch, yaw])
    turned = [
        [c * b, c * y * x - z * a, c * y * a + z * x],
        [z * b, z * y * x + c * a, z * y * a - c * x],
        [-y, b * x, b * a],
    ]
    return snap(np.array(turned))
