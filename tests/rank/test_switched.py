"""A condition that a mode switches off is no singular position: the run goes on with what is left, at the same cost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kompono import Body, Constraint, Event, Ground, Mode, Pose, Subsystem, simulate, time
from kompono.library import Gravity, Prismatic, solids


class Hook(Constraint):
    """Holds the second origin level with the first while the mode is 1."""

    def __init__(self, first: Any, second: Any, held: Mode) -> None:
        super().__init__(first, second)
        self.held = held

    def conditions(self, pose: Pose) -> list[Any]:
        return [self.held * pose.position[2]]


class Dropped(Subsystem):
    """A ball on a vertical rail, let go after 0.1 s."""

    def __init__(self) -> None:
        self.ground, self.gravity, self.held = Ground(), Gravity(), Mode(1.0)
        self.ball = Body(solids.sphere(mass=1.0, radius=0.1))
        self.rail = Prismatic(self.ground, self.ball, axis="z")
        self.hook = Hook(self.ground, self.ball, self.held)
        self.release = Event(time - 0.1, {self.held: 0.0})


@pytest.mark.parametrize("engine", ["relative", "absolute"])
def test_a_released_ball_falls_at_four_evaluations_a_step(engine: str) -> None:
    result = simulate(Dropped(), until=0.5, step=1e-3, engine=engine)
    assert result.status.ok
    assert np.abs(result["rail.displacement"][-1] + 9.81 * 0.4**2 / 2) < 1e-9
    assert result.statistics["evaluations"] < 5 * result.statistics["steps"]
