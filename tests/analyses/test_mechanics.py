"""Equations of motion at a state: M v_dot = Q + G^T lambda."""

from __future__ import annotations

import numpy as np
import pytest

from kompono import Body, Ground, Subsystem, evaluate
from kompono.library import Gravity, Revolute, Rotor, solids


class Links(Subsystem):
    """Three rods on two grounds; the last pin closes a loop, if it is there."""

    def __init__(self, *, closed: bool) -> None:
        self.ground, self.gravity = Ground(), Gravity((0, -9.81, 0))
        self.crank, self.coupler, self.rocker = (
            Body(solids.rod(mass=n, length=n, radius=0.05, axis="x")) for n in (1.0, 3.0, 2.5)
        )
        self.bearing = Revolute(self.ground, self.crank.at(-0.5, 0, 0), axis="z", angle=0.9)
        self.pin = Revolute(self.crank.at(0.5, 0, 0), self.coupler.at(-1.5, 0, 0), axis="z", angle=-0.2)
        self.pivot = Revolute(self.ground.at(3, 0, 0), self.rocker.at(-1.25, 0, 0), axis="z", angle=1.5)
        if closed:
            self.last = Revolute(self.rocker.at(1.25, 0, 0), self.coupler.at(1.5, 0, 0), axis="z")


@pytest.mark.filterwarnings("ignore:assembly moved")
@pytest.mark.filterwarnings("ignore:start values could not")
def test_multipliers_are_what_closing_a_loop_adds() -> None:
    here = evaluate(Links(closed=True), at={"bearing.angle.rate": 2.0}, cut=["last"])
    mechanics = here.mechanics
    at = here.point.start_values()
    free = evaluate(Links(closed=False), at=at).mechanics
    assert mechanics.speeds == free.speeds
    assert np.abs(mechanics.mass_matrix - free.mass_matrix).max() < 1e-12
    assert np.abs(mechanics.forces - free.forces).max() < 1e-10 * np.abs(free.forces).max()
    assert np.abs(mechanics.jacobian @ mechanics.accelerations + mechanics.bias).max() < 1e-10
    assert set(mechanics.conditions) == {"last"}


def test_rotors_are_in_the_mass_matrix() -> None:
    class Geared(Subsystem):
        def __init__(self) -> None:
            self.ground = Ground()
            self.arm = Body(solids.rod(mass=3.0, length=1.0, radius=1e-3, axis="x"))
            self.pin = Revolute(self.ground, self.arm.at(-0.5, 0, 0), axis="z")
            self.rotor = Rotor(self.pin, inertia=0.01, ratio=10.0)

    mechanics = evaluate(Geared()).mechanics
    assert mechanics.speeds == ("pin.angle.rate",)
    assert mechanics.mass_matrix.item() == pytest.approx(3.0 / 3 + 0.01 * 100, rel=1e-5)
