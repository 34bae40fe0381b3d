"""A rotor behind a gearbox is inertia on a coordinate."""

from __future__ import annotations

import numpy as np
import pytest

from kompono import Body, Ground, ModelError, Subsystem, simulate
from kompono.library import Cylindrical, Gravity, Prismatic, Revolute, Rotor


class Arm(Subsystem):
    """A heavy arm on a pin; its inertia about the pin's axis is given by hand or by a rotor."""

    def __init__(self, *, rotor=True):
        self.ground, self.gravity = Ground(), Gravity()
        about = 0.0 if rotor else 30.0**2 * 2e-5
        self.arm = Body(mass=2.0, inertia=(0.03, 0.03 + about, 0.03))
        self.pin = Revolute(self.ground, self.arm.at(-0.2, 0, 0), axis="y", angle=0.3, angle_rate=2.0)
        if rotor:
            self.rotor = Rotor(self.pin, inertia=2e-5, ratio=30.0)


@pytest.mark.filterwarnings("ignore:assembly moved rotor")
@pytest.mark.parametrize(("engine", "exact"), [("relative", 1e-11), ("absolute", 1e-7)])
def test_a_rotor_is_inertia_about_the_axis(engine, exact):
    given, wanted = (simulate(Arm(rotor=r), until=1.0, step=1e-3, engine=engine) for r in (True, False))
    assert np.ptp(wanted["pin.angle"]) > 1.0
    assert given["pin.angle"] == pytest.approx(wanted["pin.angle"], abs=exact)
    assert given["rotor.bearing.angle.rate"] == pytest.approx(30 * given["pin.angle.rate"], rel=1e-7, abs=1e-7)
    assert given["energy.total"] == pytest.approx(wanted["energy.total"], abs=1e-6)


def test_a_slide_and_a_joint_with_two_freedoms():
    class Slides(Subsystem):
        def __init__(self):
            self.ground, self.gravity = Ground(), Gravity()
            self.first, self.second = (Body(mass=1.0, inertia=(0.1, 0.1, 0.1)) for _ in range(2))
            self.rail = Prismatic(self.ground, self.first, axis="z")
            self.rotor = Rotor(self.rail, inertia=1e-4, ratio=100.0)
            self.sleeve = Cylindrical(self.ground, self.second, axis="z")
            self.other = Rotor(self.sleeve, inertia=3e-4, ratio=100.0, coordinate="displacement")

    result = simulate(Slides(), until=1.0, step=1e-2)
    assert result["rail.displacement"][-1] == pytest.approx(-9.81 / 2 / 2, rel=1e-3)  # half the weight is inertia
    assert result["sleeve.displacement"][-1] == pytest.approx(-9.81 / 2 / 4, rel=1e-3)


def test_an_inertia_is_positive():
    with pytest.raises(ModelError, match="inertia -1"):
        Rotor(Revolute(Ground(), Body(mass=1.0, inertia=(1, 1, 1)), axis="z"), inertia=-1.0)
