"""Reactions as signals: in samples and rates of states, so that laws that use those are late by a sample or a lag."""

from __future__ import annotations

import numpy as np
import pytest

from kompono import Body, Ground, KomponoError, Mode, State, Subsystem, simulate
from kompono.library import Gravity, JointEffort, Revolute, solids


class Weighed(Subsystem):
    """A pendulum whose pin is weighed, at samples and through a filter; what is sampled may brake it."""

    def __init__(self, brake: float = 0.0, directly: bool = False) -> None:
        self.ground, self.gravity, self.rod = Ground(), Gravity(), Body(solids.rod(mass=1.0, length=1.0, radius=0.02))
        self.pin = Revolute(self.ground, self.rod.at(0, 0, 0.5), axis="y", angle=1.0)
        self.load, self.filtered = Mode(0.0, every=0.01), State(0.0)
        self.load.next = self.pin.force[2]
        self.filtered.rate = (self.pin.force[2] - self.filtered) / 0.05
        weight = self.pin.force[2] if directly else self.load
        self.drag = JointEffort(self.pin, -brake * weight * self.pin.angle_rate)


def test_a_sample_and_a_state_follow_the_force_of_a_joint() -> None:
    result = simulate(Weighed(), until=0.5, step=1e-3, progress=False).check()
    force, load = result["pin.force.z"], result["load"]
    ticks = np.arange(0, 500, 10)
    assert np.abs(load[ticks + 5] - force[ticks]).max() < 1e-12
    assert np.ptp(force) > 1.0
    assert result["filtered.rate"] == pytest.approx((force - result["filtered"]) / 0.05, abs=1e-9)


def test_a_law_uses_them_late_and_not_at_once() -> None:
    result = simulate(Weighed(brake=0.05), until=0.5, step=1e-3, progress=False).check()
    assert result["drag.effort"] == pytest.approx(-0.05 * result["load"] * result["pin.angle.rate"], abs=1e-12)
    with pytest.raises(KomponoError, match=r"drag: it uses the force of pin, which is a result.*the rate of a State"):
        simulate(Weighed(brake=0.05, directly=True), until=0.1)
