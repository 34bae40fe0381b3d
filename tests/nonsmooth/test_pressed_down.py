"""A block that is pressed on a floor from above, and pulled: it stays until all friction is at its limit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kompono import Body, Ground, Subsystem, simulate, time
from kompono.library import AppliedLoad, Contact, Gravity, JointEffort, Prismatic, solids

G, MASS, PLATE, PRESS, PULL = 9.81, 3.0, 2.0, 50.0, 20.0  # m/s^2, kg, kg, N, N/s
ABOVE, BELOW = 0.3, 0.4  # coefficients of friction
SLIPS = (ABOVE * (PRESS + PLATE * G) + BELOW * (PRESS + (PLATE + MASS) * G)) / PULL
END = SLIPS + 0.3


class Press(Subsystem):
    """A plate in a guide is pressed on a block; they touch in the middle."""

    def __init__(self) -> None:
        self.ground, self.plate = Ground(), Body(mass=PLATE, inertia=(1, 1, 1))
        self.block = Body(solids.box(mass=MASS, size=(0.4, 0.3, 0.2)), start_position=(0, 0, 0.1))
        self.guide = Prismatic(self.ground, self.plate, axis="z", displacement=0.2)
        self.push = JointEffort(self.guide, -PRESS)
        self.pad = Contact(self.plate.plane("-z"), self.block.at(0, 0, 0.1).point(), mu=ABOVE)
        self.expose(self.block)


class Bench(Subsystem):
    """Its owner has the floor, and pulls."""

    def __init__(self) -> None:
        self.ground, self.gravity, self.press = Ground(), Gravity(), Press()
        self.floor = Contact(self.ground.plane(), self.press.block.at(0, 0, -0.1).corners((0.4, 0.3, 0)), mu=BELOW)
        self.pull = AppliedLoad(self.press.block, force=(PULL * time, 0, 0))


@pytest.mark.parametrize("options", [{}, {"method": "dopri5"}, {"engine": "absolute"}, {"closed": ["press"]}])
def test_it_stays_until_all_friction_is_at_its_limit(options: dict[str, Any]) -> None:
    result = simulate(Bench(), until=END, **options)
    assert result.status.ok
    assert "fallback" not in result.statistics
    way = result["press.block.position.x"]
    assert np.abs(way[result.time < SLIPS]).max() < 1e-15
    assert abs(way[-1] - PULL / MASS * (END - SLIPS) ** 3 / 6) < 1e-9
    assert {name for _, name in result.statistics["events"]} == {
        "press.pad.slips", "floor.0.slips", "floor.1.slips", "floor.2.slips", "floor.3.slips"
    }  # fmt: skip
