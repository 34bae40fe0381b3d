"""Statics and linearization with contact and friction by events: what is closed or sticks is held."""

from __future__ import annotations

import numpy as np
import pytest

from kompono import Body, Ground, RunError, Subsystem, equilibrium, linearize, simulate
from kompono.library import Contact, DryFriction, EndStops, Gravity, JointEffort, Prismatic, solids

G = 9.81


class Brick(Subsystem):
    """A box lies on a slope, on four corners: eight rows of friction, four of gaps, on six freedoms."""

    def __init__(self, slope: float = 20.0, mu: float = 0.5, height: float = 0.1) -> None:
        a = np.radians(slope)
        self.ground, self.gravity = Ground(), Gravity((G * np.sin(a), 0, -G * np.cos(a)))
        self.box = Body(solids.box(mass=2.0, size=(0.4, 0.3, 0.2)), start_position=(0, 0, height))
        self.touch = Contact(self.ground.plane(), self.box.corners((0.4, 0.3, 0.2)), mu=mu)


class Sprung(Subsystem):
    """A block that rubs on a rail carries a mass on a spring, which starts too far out for friction to hold."""

    def __init__(self, preload: float = 5.0, pull: float = 0.0) -> None:
        self.ground = Ground()
        self.block, self.mass = (Body(mass=m, inertia=(0.1,) * 3) for m in (1.0, 2.0))
        self.rail = Prismatic(self.ground, self.block, axis="x")
        self.slide = Prismatic(self.block, self.mass, axis="x", displacement=0.3)
        self.spring = JointEffort(self.slide, -200 * (self.slide.displacement - 0.2) - self.slide.v[0] + pull)
        self.rubs = DryFriction(self.rail, preload=preload)


class Table(Subsystem):
    """A plate on four sprung legs that stand on rough ground."""

    def __init__(self) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.plate = Body(solids.box(mass=100.0, size=(2, 1, 0.1)), start_position=(0, 0, 1.0))
        corners = [(x, y, 0) for x in (-0.8, 0.8) for y in (-0.4, 0.4)]
        self.legs = [Body(mass=5.0, inertia=(0.1,) * 3) for _ in corners]
        pairs = zip(corners, self.legs, strict=True)
        self.slides = [Prismatic(self.plate.at(c), leg, axis="z", displacement=-0.9) for c, leg in pairs]
        self.springs = [JointEffort(s, -2e4 * (s.displacement + 0.8) - 100 * s.v[0]) for s in self.slides]
        self.feet = [Contact(self.ground.plane(), leg.sphere(0.1), mu=0.6) for leg in self.legs]


def test_a_brick_that_sticks_is_at_rest_and_neutral() -> None:
    found = equilibrium(Brick())
    assert found.residual < 1e-12
    assert found.stability == "neutral"
    assert found.neutral == ("box.free.x", "box.free.y", "box.free.e3")  # it may lie elsewhere, and turned
    assert linearize(Brick(), at=found).A.shape == (0, 0)


def test_friction_that_does_not_hold_is_named() -> None:
    with pytest.raises(RunError, match=r"touch.*friction does not hold"):
        equilibrium(Brick(mu=0.3))
    with pytest.raises(RunError, match=r"rubs.*friction does not hold"):
        equilibrium(Sprung(pull=20.0, preload=5.0), near={"slide.displacement": 0.2}, hold=["slide.displacement"])
    with pytest.raises(RunError, match=r"touch.*no gap is closed"):
        equilibrium(Brick(height=0.5))


def test_what_hangs_on_friction_vibrates_as_if_it_was_held() -> None:
    found = equilibrium(Sprung())
    assert found.at["slide.displacement"] == pytest.approx(0.2, abs=1e-12)
    assert found.sticking == ("rail.displacement",)
    wanted = np.roots([2.0, 1.0, 200.0])
    assert np.sort_complex(found.eigenvalues) == pytest.approx(np.sort_complex(wanted), abs=1e-10)
    linear = linearize(Sprung(), at=found)
    assert linear.states == ("slide.displacement", "slide.displacement.rate")
    assert linear.steady
    later = simulate(Sprung(), initial=found.at, until=0.1, step=0.01, progress=False)
    assert np.ptp(later["slide.displacement"]) < 1e-12


def test_what_slides_steadily_is_linearized_with_its_friction() -> None:
    """Friction that slides has no slope: both masses vibrate against each other, the block is free."""
    linear = linearize(Sprung(preload=5.0), at={"rail.displacement.rate": 1.0, "slide.displacement": 0.2})
    found = np.sort_complex(linear.eigenvalues)
    wanted = np.sort_complex([0.0, 0.0, *np.roots([1.0, 1.0 * 1.5, 200.0 * 1.5])])
    assert np.abs(found - wanted).max() < 1e-6  # a double zero
    assert not linear.steady


def test_a_table_on_closed_contacts_is_that_on_its_feet() -> None:
    found = equilibrium(Table())
    load = found.evaluation["slides.0.displacement"]
    assert load == pytest.approx(-0.8 + 100 * G / 4 / 2e4, abs=1e-10)
    heave = np.roots([100.0, 4 * 100, 4 * 2e4])
    assert min(abs(found.eigenvalues - heave[0])) < 1e-8
    assert len(found.eigenvalues) == 6  # and it can rock both ways, on round feet that roll and do not slip
    assert "plate.free.x" in found.neutral


class Stopped(Subsystem):
    """A carriage is blown against its stop."""

    def __init__(self) -> None:
        self.ground = Ground()
        self.body = Body(mass=1.0, inertia=(0.1,) * 3)
        self.rail = Prismatic(self.ground, self.body, axis="x", displacement=0.5)
        self.wind = JointEffort(self.rail, 3.0)
        self.ends = EndStops(self.rail, -0.5, 0.5)


def test_what_fell_is_at_rest_where_a_run_came_to_rest() -> None:
    fallen = simulate(Brick(height=0.2), until=1.0, step=1e-2, progress=False)
    found = equilibrium(Brick(height=0.2), near=fallen)
    assert found.residual < 1e-12
    assert found.at["box.position.z"] == pytest.approx(0.1, abs=1e-12)
    assert found.at["box.position.x"] == pytest.approx(fallen["box.position.x"][-1], abs=1e-12)


def test_a_stop_holds() -> None:
    found = equilibrium(Stopped())
    assert found.residual < 1e-12
    assert found.stability == "stable"
    with pytest.raises(RunError, match=r"ends.*no gap is closed"):
        equilibrium(Stopped(), near={"rail.displacement": 0.0})
