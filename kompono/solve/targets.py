"""Start values of joints that close loops, as rows beside the conditions: what a joint measures less what was asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from kompono.translate.starts.asked import AskedJoint


class Targets:
    """One row for each coordinate asked for; of a quaternion all four, whatever its sign."""

    def __init__(self, joints: Sequence[AskedJoint]) -> None:
        place, asked, firmness, angle, quaternion = [], [], [], [], []
        for joint in joints:
            count = len(joint.units)
            given = joint.given[:count].copy()
            turned = np.array(joint.quaternion, dtype=bool)
            given[turned] = given[turned].max(initial=0)
            for k in np.flatnonzero(given):
                place.append(joint.place + k)
                asked.append(joint.values[k])
                firmness.append(given[k])
                angle.append(joint.units[k] == "rad")
                quaternion.append(joint.place + int(np.flatnonzero(turned)[0]) if turned[k] else -1)
        self.place, self.firmness = np.array(place, dtype=int), np.array(firmness, dtype=int)
        self.asked = np.array(asked, dtype=float)
        self._angle, self._quaternion = np.array(angle, dtype=bool), np.array(quaternion, dtype=int)

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(self.place)

    def values(self, measured: np.ndarray) -> np.ndarray:
        """What is measured, angles and quaternions as near to what was asked as turns and signs allow."""
        return self.asked + self.off(measured, np.zeros((len(measured), 0)), self.asked)[0]

    def off(self, measured: np.ndarray, slopes: np.ndarray, goal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """How far measured coordinates (with their slopes) are from the goal, and the slopes of that."""
        values, rows = measured[self.place], slopes[self.place]
        for first in {*self._quaternion.tolist()} - {-1}:
            mine = self._quaternion == first
            if values[mine] @ goal[mine] < 0:
                values[mine], rows[mine] = -values[mine], -rows[mine]
        change = values - goal
        change[self._angle] -= 2 * np.pi * np.round(change[self._angle] / (2 * np.pi))
        return change, rows


class AskedSpeeds:
    """Speeds asked of joints that close loops: their place among the measured ones, value and firmness."""

    def __init__(self, joints: Sequence[AskedJoint]) -> None:
        found = [
            (joint.speed_place + k, joint.values[len(joint.units) + k], given)
            for joint in joints
            for k, given in enumerate(joint.given[len(joint.units) :])
            if given
        ]
        columns = np.array(found, dtype=float).reshape(-1, 3).T
        self.place, self.asked, self.firmness = columns[0].astype(int), columns[1], columns[2].astype(int)

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self.place)
