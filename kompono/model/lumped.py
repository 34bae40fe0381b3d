"""Components that come to inertia on a coordinate of a joint: a rotor with its bearing and gear.

An engine whose unknowns are joint accelerations adds the inertia to the coordinate, and leaves the elements of the
component out; others take them as they are declared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kompono.model.joint import Joint
from kompono.model.subsystem import Subsystem


@dataclass(frozen=True, eq=False)
class Lump:
    """`inertia` [kg m^2, kg] on the speed number `place` of a joint: that of what turns `ratio` times as fast. What
    turns is seen as the coordinate `shown` of a joint of the component.
    """

    joint: Joint
    place: int
    inertia: Any
    ratio: Any
    shown: Joint


class Lumped(Subsystem):
    """A component that may be taken as a `Lump`."""

    _lump: Lump | None = None
