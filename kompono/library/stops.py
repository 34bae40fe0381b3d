"""Stops at the ends of the way of a joint."""

from __future__ import annotations

from typing import Any

from kompono.library.constraints import chosen, coordinate_of
from kompono.model.joint import Joint
from kompono.model.stops import Stops, check_pair


class EndStops(Stops):
    """Keeps a coordinate of a joint between `lower` and `upper` [m, rad], numbers or expressions of time and
    parameters; one of them may be left out. What strikes a stop comes back with `restitution` (0 to 1) times its speed.
    `stiffness` [N/m, N m/rad] is used by contact="soft" alone (None: as high as the step allows).

    Units: `lower`, `upper`.
    """

    def __init__(
        self, joint: Joint, lower: Any = None, upper: Any = None, restitution: Any = 0.0, coordinate: str | None = None,
        stiffness: Any = None,
    ) -> None:  # fmt: skip
        coordinate_of(joint, coordinate)
        name = joint.coordinates[chosen(joint, joint.coordinates, coordinate)]
        super().__init__(joint, {name: check_pair(joint, name, lower, upper)}, restitution, stiffness)
        self.gaps = [(name.rpartition(".")[2], gap) for name, gap in self.gaps]
