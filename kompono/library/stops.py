"""Stops at the ends of the way of a joint, or of a sum of coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kompono.errors import ModelError
from kompono.given import scalar
from kompono.library.constraints import chosen, coordinate_of
from kompono.library.couplings import tendon, weighted
from kompono.model.joint import Joint
from kompono.model.law import JointLaw, Unit, stiffness_of
from kompono.model.stops import Stops, check_pair, fraction


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


class SumStops(JointLaw):
    """Keeps c1 q1 + c2 q2 + ... between `lower` and `upper`, for terms (joint, factor) or (joint, factor, coordinate):
    a rope over pulleys with an end. The rest is as with `EndStops`.

    Units: `lower`, `upper`.
    """

    def __init__(
        self, *terms: Sequence[Any], lower: Any = None, upper: Any = None, restitution: Any = 0.0, stiffness: Any = None
    ) -> None:
        fix = "Use SumStops((joint, 1.0), (other, -2.0), lower=0.0, upper=0.3)."
        if not terms or (lower is None and upper is None):
            raise ModelError("stops need terms and a lower or upper limit.", fix=fix)
        super().__init__(*dict.fromkeys(joint for joint, _, _ in weighted(terms, "SumStops")))
        low, high = (None if x is None else scalar(x, "the limit", fix=fix) for x in (lower, upper))
        if isinstance(low, float) and isinstance(high, float) and not low < high:
            raise ModelError(f"the lower limit {low} is not below the upper one, {high}.", fix="Exchange them.")
        length = tendon(*terms)[0]
        self.gaps = [("lower", length - low)] if low is not None else []
        self.gaps += [("upper", high - length)] if high is not None else []
        self.restitution = fraction(restitution, "the restitution")
        self.stiffness = stiffness_of(stiffness, type(self).__name__)

    def units(self) -> list[Unit]:
        given = {"restitution": self.restitution, "stiffness": self.stiffness}
        return [Unit(name, gap=gap, **given) for name, gap in self.gaps]
