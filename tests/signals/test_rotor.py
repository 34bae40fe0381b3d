"""A rotor behind a gearbox is inertia on a coordinate."""

from __future__ import annotations

import numpy as np
import pytest

from kompono import (
    Body,
    Ground,
    ModelError,
    Output,
    Parameter,
    Simulation,
    Subsystem,
    TranslationError,
    evaluate,
    simulate,
)
from kompono.library import Cylindrical, Gravity, Prismatic, Revolute, Rotor
from kompono.scene.describe import describe


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


class Linkage(Subsystem):
    """A four-bar with a rotor on one of its hinges; `look` reads the rotor's own bearing."""

    def __init__(self, hinge="foot1", *, look=False):
        self.ground, self.gravity = Ground(), Gravity()
        self.left, self.right, self.top = (Body(mass=1.0, inertia=(0.1, 0.1, 0.1)) for _ in range(3))
        self.foot1 = Revolute(self.ground, self.left.at(0, 0, -0.5), axis="y", angle=0.4)
        self.foot2 = Revolute(self.ground.at(1.2, 0, 0), self.right.at(0, 0, -0.5), axis="y", angle=0.4)
        self.knee1 = Revolute(self.left.at(0, 0, 0.5), self.top.at(-0.6, 0, 0), axis="y", angle=-0.4)
        self.knee2 = Revolute(self.right.at(0, 0, 0.5), self.top.at(0.6, 0, 0), axis="y", angle=-0.4)
        self.size = Parameter(2e-3)
        self.rotor = Rotor(getattr(self, hinge), inertia=self.size, ratio=10.0)
        if look:
            self.rotor.expose(self.rotor.bearing)
            self.seen = Output(self.rotor.bearing.angle)


def test_a_rotor_on_the_tree_is_a_number_and_moves_as_one_of_bodies():
    at, names = {"foot1.angle.rate": 2.0}, ("foot1.angle.acceleration", "energy.kinetic", "foot1.force.x")
    number, seen = Simulation(Linkage()), Simulation(Linkage(look=True))
    assert (len(number.translation.model.bodies), len(seen.translation.model.bodies)) == (3, 4)
    cases = [
        (Linkage(), {}), (Linkage(look=True), {}), (Linkage(), {"engine": "absolute"}), (Linkage(), {"cut": ["knee1"]}),
    ]  # fmt: skip
    found = [evaluate(model, at, **options) for model, options in cases]
    for other in found[1:]:
        assert [other[name] for name in names] == pytest.approx([found[0][name] for name in names], rel=1e-9)
    assert found[0]["rotor.bearing.angle.acceleration"] == pytest.approx(10 * found[0]["foot1.angle.acceleration"])
    heavy = evaluate(Linkage(), at, parameters={"size": 4e-3})
    assert abs(heavy["foot1.angle.acceleration"]) < abs(found[0]["foot1.angle.acceleration"])


def test_the_loop_is_cut_at_a_hinge_without_a_rotor():
    given = [evaluate(Linkage("knee2"), {"foot1.angle.rate": 2.0}, **cut) for cut in ({}, {"cut": ["foot2"]})]
    values = [one["knee2.angle.acceleration"] for one in given]
    assert values[0] == pytest.approx(values[1], rel=1e-9)
    with pytest.raises(TranslationError, match="closes a loop"):
        evaluate(Linkage("knee2"), cut=["knee2"])
    assert len(describe(Linkage()).carriers) == 4  # what turns along is not drawn
