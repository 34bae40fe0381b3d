"""Places of plain numbers: where a frame of a file is and how it is turned, relative to another."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kompono.spatial.numeric import quaternions, rotations
from kompono.spatial.rotation import snap


def _origin() -> np.ndarray:
    return np.zeros(3)


def _upright() -> np.ndarray:
    return np.eye(3)


@dataclass(frozen=True, eq=False)
class Place:
    """Frame B seen from frame A: `position` (3) [m] of B's origin in A's axes and `rotation` R_AB (3, 3)."""

    position: np.ndarray = field(default_factory=_origin)
    rotation: np.ndarray = field(default_factory=_upright)

    def __matmul__(self, inner: Place) -> Place:
        """X_AC = X_AB @ X_BC."""
        return Place(self.position + self.rotation @ inner.position, snap(self.rotation @ inner.rotation))

    def inverse(self) -> Place:
        """X_BA."""
        return Place(-(self.rotation.T @ self.position), self.rotation.T)

    @property
    def quaternion(self) -> tuple[float, ...]:
        """The rotation as a unit quaternion, scalar first."""
        return tuple(quaternions(self.rotation).tolist())

    @property
    def upright(self) -> bool:
        """Whether it is not turned."""
        return bool(np.array_equal(self.rotation, np.eye(3)))

    @staticmethod
    def of(position: Any = (0.0, 0.0, 0.0), quaternion: Any = None) -> Place:
        """A place from three numbers [m] and a quaternion, scalar first."""
        point = np.array(position, dtype=float)
        if quaternion is None:
            return Place(point)
        e = np.array(quaternion, dtype=float)
        return Place(point, snap(rotations(e / np.linalg.norm(e))))

    def start(self, position: Any, quaternion: Any) -> dict[str, Any]:
        """Where a body at a place seen from here starts in the world: `Body(..., **place.start(...))`."""
        world = self @ Place.of(position, quaternion)
        return {"start_position": tuple(world.position.tolist()), "start_orientation": world.quaternion}


def along(axis: Any, hint: Any = None) -> np.ndarray:
    """A rotation (3, 3) whose z points along `axis` and whose x is nearest to `hint`."""
    z = np.array(axis, dtype=float) / np.linalg.norm(axis)
    x = np.eye(3)[int(np.argmin(np.abs(z)))] if hint is None else np.asarray(hint, dtype=float)
    x = x - z * (x @ z)
    x /= np.linalg.norm(x)
    return snap(np.column_stack([x, np.cross(z, x), z]))


def turning(axis: np.ndarray, angle: float) -> np.ndarray:
    """The rotation (3, 3) by `angle` [rad] about a unit axis."""
    x, y, z = axis
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return snap(np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross)
