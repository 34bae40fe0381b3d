"""What is driven into a stop, or onto the floor, goes through nothing: the run ends there, and says why. What drives
tear from two sides gives way where it is weaker, at the instant at which they begin to.

Machines are rigid, so all of it follows from statics: what is torn slips or opens where the least force does that.
"""

from __future__ import annotations

import warnings
from typing import Any

import casadi as ca
import numpy as np
import pytest
from nonsmooth.known import names, times

from kompono import Body, Ground, Result, Subsystem, simulate, time
from kompono.library import AppliedLoad, Clutch, Contact, Drive, Gravity, JointEffort, Prismatic, Revolute, Weld

BEGIN, END = 0.01, 0.1
WAY = 0.2 * ca.fmax(time - BEGIN, 0) ** 3
FAR = 0.2 * (END - BEGIN) ** 3


class Press(Subsystem):
    """A ram is driven down onto a floor, or, where that is given, onto the end of its guide."""

    def __init__(self, **given: Any) -> None:
        self.floor, self.gravity = Ground(), Gravity()
        self.ram = Body(mass=1.0, inertia=(1.0, 1.0, 1.0))
        self.guide = Prismatic(self.floor, self.ram, axis="z", displacement=0.2, displacement_rate=-1.0, **given)
        self.drive = Drive(self.guide, 0.2 - time)
        if not given:
            self.touch = Contact(self.floor.plane(), self.ram.point(), mu=0.3, restitution=0.5)


@pytest.mark.parametrize("options", [{}, {"engine": "absolute"}, {"method": "dopri5"}, {"contact": "steps"}])
@pytest.mark.parametrize("given", [{}, {"limits": (0.0, 1.0), "restitution": 0.5}])
def test_nothing_is_driven_through_what_it_meets(given: dict[str, Any], options: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = simulate(Press(**given), until=0.5, **options)
    assert result.status.kind == "no forces fit"
    assert abs(result.status.time - 0.2) < 1e-9
    path = "guide.limits.lower" if given else "touch"
    assert f"{path} (nothing gives way there" in result.status.message


def torn(result: Result, what: set[str], until: float = 1e-6) -> None:
    """These and no other events, all at the instant at which drives begin to move."""
    assert set(names(result.check())) == what
    assert np.ptp(times(result)) == 0.0
    assert BEGIN < times(result)[0] < BEGIN + until


class Picked(Subsystem):
    """Two driven jaws lift a block that stands on the floor."""

    def __init__(self, squeeze: float = 50.0, way: Any = WAY, above: float = 0.0) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.block = Body(mass=2.0, inertia=(0.01, 0.01, 0.01), start_position=(0, 0, 0.05 + above))
        self.arm, self.jaw = (Body(mass=1.0, inertia=(0.01, 0.01, 0.01)) for _ in range(2))
        self.up = Prismatic(self.ground, self.arm, axis="z")
        self.lift = Drive(self.up, way)
        self.slide = Prismatic(self.arm, self.jaw, axis="x", displacement=0.05)
        self.squeeze = JointEffort(self.slide, -squeeze)
        self.feet = Contact(self.ground.plane(), self.block.at(0, 0, -0.05).corners((0.1, 0.1, 0)), mu=0.3)
        fixed, face = self.arm.at(-0.05, 0, 0.05), (0, 0.06, 0.06)
        self.left = Contact(fixed.plane("x"), self.block.at(-0.05, 0, 0).corners(face), mu=0.5)
        self.right = Contact(self.jaw.at(0, 0, 0.05).plane("-x"), self.block.at(0.05, 0, 0).corners(face), mu=0.5)


def lifting(result: Result) -> float:
    """What the jaws lift with in the end [N]."""
    return float(result["left.force.z"][-1] + result["right.force.z"][-1])


@pytest.mark.parametrize("options", [{}, {"engine": "absolute"}, {"method": "dopri5"}])
def test_a_driven_gripper_lifts_what_stands_on_a_floor(options: dict[str, Any]) -> None:
    """Jaws bear 50 N, the block weighs less: it leaves the floor with all feet at once and follows the jaws."""
    result = simulate(Picked(), until=END, **options)
    torn(result, {f"feet.{k}.opens" for k in range(4)})
    assert np.abs(result["block.position.z"] - 0.05 - result["up.displacement"]).max() < 1e-15
    assert result["block.position.z"][-1] == pytest.approx(0.05 + FAR, abs=1e-15)
    assert lifting(result) == pytest.approx(2.0 * (9.81 + 1.2 * (END - BEGIN)), rel=1e-9)


def test_steps_lift_it_as_well() -> None:
    result = simulate(Picked(), until=END, contact="steps").check()
    assert sorted(names(result)) == [f"feet.{k}.opens" for k in range(4)]
    assert result["block.position.z"][-1] == pytest.approx(0.05 + FAR, abs=1e-8)


@pytest.mark.parametrize("options", [{}, {"contact": "steps"}])
def test_a_weak_gripper_slips(options: dict[str, Any]) -> None:
    """Jaws that bear 19 N leave a block of 19.62 N where it is."""
    result = simulate(Picked(19.0), until=END, **options)
    if not options:
        torn(result, {f"{jaw}.{k}.slips" for jaw in ("left", "right") for k in range(4)})
    assert np.abs(result.check()["block.position.z"] - 0.05).max() < 1e-15
    standing = sum(result[f"feet.{k}.normal"][-1] for k in range(4))
    assert lifting(result) + standing == pytest.approx(19.62, rel=1e-9)
    assert lifting(result) <= 19.0 + 1e-9


def test_a_gripper_that_is_barely_strong_enough_slips_as_it_accelerates() -> None:
    """Jaws that bear 0.01 N more than the weight slip when the drive accelerates by 5 mm/s^2."""
    result = simulate(Picked(19.63), until=2 * BEGIN).check()
    found = dict(zip(names(result), times(result), strict=True))
    assert [found[f"feet.{k}.opens"] for k in range(4)] == pytest.approx([BEGIN] * 4, abs=1e-6)
    slips = [found[f"{jaw}.{k}.slips"] for jaw in ("left", "right") for k in range(4)]
    assert slips == pytest.approx([BEGIN + 0.005 / 1.2] * 8, abs=1e-9)


def test_what_is_let_down_stands_and_the_jaws_slip() -> None:
    """The way down is 20 mm, the floor 10 mm below: jaws slip by the rest."""
    share = ca.fmin(ca.fmax((time - 0.01) / 0.1, 0), 1)
    result = simulate(Picked(50.0, -0.02 * share**3 * (10 - 15 * share + 6 * share**2), 0.01), until=0.15).check()
    assert result["block.position.z"][-1] == pytest.approx(0.05, abs=1e-12)
    assert result["up.displacement"][-1] == pytest.approx(-0.02, abs=1e-15)
    strikes = [time for time, name in zip(times(result), names(result), strict=True) if name.endswith("strikes")]
    assert strikes == pytest.approx([0.06] * 4, abs=1e-9)
    pressed = np.flatnonzero((result.time > 0.065) & (result.time < 0.1))
    squeezed = result["left.force.x"][pressed] - result["right.force.x"][pressed]  # feet may bear some of it
    standing = sum(result[f"feet.{k}.normal"][pressed] for k in range(4))
    assert standing == pytest.approx(19.62 + 0.5 * squeezed, rel=1e-9)
    assert np.abs(squeezed - 100.0).max() < 1.0


class Elevator(Subsystem):
    """Platforms beneath take a plate off four supports."""

    def __init__(self, mu: float, middles: tuple[float, ...]) -> None:
        self.base, self.plate = Body(mass=1.0, inertia=(1, 1, 1)), Body(mass=3.0, inertia=(0.1, 0.1, 0.2))
        self.supports = Contact(self.base.plane(), self.plate.corners((1.0, 0.8, 0)), mu=mu)
        self.platforms = [Body(mass=1.0, inertia=(1, 1, 1)) for _ in middles]
        self.rails = [Prismatic(self.base, platform, axis="z") for platform in self.platforms]
        self.drives = [Drive(rail, WAY) for rail in self.rails]
        points = [self.plate.points((x, 0.1, 0), (x + 0.1, -0.1, 0), (x - 0.1, -0.1, 0)) for x in middles]
        self.pads = [Contact(body.plane(), at, mu=mu) for body, at in zip(self.platforms, points, strict=True)]
        self.expose(self.base)


class Hall(Subsystem):
    def __init__(self, mu: float, middles: tuple[float, ...] = (0.0,)) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.lift = Elevator(mu, middles)
        self.hold = Weld(self.ground, self.lift.base)


@pytest.mark.parametrize(
    ("middles", "options"), [((0.0,), {}), ((0.0,), {"closed": ["lift"]}), ((-0.3, 0.3), {"engine": "absolute"})]
)
def test_an_elevator_takes_a_plate_off_its_supports(middles: tuple[float, ...], options: dict[str, Any]) -> None:
    """With one drive, and with two that go together; without friction and, then, with some."""
    result = simulate(Hall(0.4 * (len(middles) - 1), middles), until=END, **options)
    torn(result, {f"lift.supports.{k}.opens" for k in range(4)})
    assert np.abs(result["lift.plate.position.z"] - result["lift.rails.0.displacement"]).max() < 1e-15
    pads = [result[name][-1] for name in result if name.startswith("lift.pads") and name.endswith("normal")]
    assert sum(pads) == pytest.approx(3.0 * (9.81 + 1.2 * (END - BEGIN)), rel=1e-9)


class Sinking(Subsystem):
    """One of four supports of a plate sinks: rows of gaps alone."""

    def __init__(self) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.plate = Body(mass=3.0, inertia=(0.1, 0.1, 0.2))
        self.leg = Body(mass=1.0, inertia=(1, 1, 1))
        self.rail = Prismatic(self.ground, self.leg, axis="z")
        self.drive = Drive(self.rail, -WAY)
        self.three = Contact(self.ground.plane(), self.plate.points((1.2, 0.8, 0), (-0.8, 0.8, 0), (-0.8, -1.2, 0)))
        self.fourth = Contact(self.leg.plane(), self.plate.points((1.2, -1.2, 0)))


def test_a_support_that_sinks_is_left() -> None:
    result = simulate(Sinking(), until=END)
    torn(result, {"fourth.opens"}, 1e-5)
    assert np.abs(result["plate.position.z"]).max() < 1e-15
    assert sum(result[f"three.{k}.normal"][-1] for k in range(3)) == pytest.approx(3 * 9.81, rel=1e-9)


class Walled(Subsystem):
    """A sled takes a block along by friction, off a wall on which a force leans it, or into it."""

    def __init__(self, way: Any) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.sled = Body(mass=1.0, inertia=(1, 1, 1))
        self.block = Body(mass=2.0, inertia=(0.01, 0.01, 0.01), start_position=(0, 0, 0.05))
        self.rail = Prismatic(self.ground, self.sled, axis="x")
        self.drive = Drive(self.rail, way)
        self.wall = Contact(
            self.ground.at(-0.05, 0, 0).plane("x"), self.block.at(-0.05, 0, -0.02).points((0, 0.03, 0), (0, -0.03, 0))
        )
        self.rub = Contact(self.sled.plane(), self.block.at(0, 0, -0.05).corners((0.1, 0.1, 0)), mu=0.5)
        self.lean = AppliedLoad(self.block.at(0, 0, -0.02), force=(-3.0, 0, 0))


def test_a_sled_takes_a_block_off_a_wall_and_slips_against_it() -> None:
    off, into = (simulate(Walled(way), until=END) for way in (WAY, -WAY))
    torn(off, {"wall.0.opens", "wall.1.opens"})
    assert off["block.position.x"][-1] == pytest.approx(FAR, abs=1e-15)
    torn(into, {f"rub.{k}.slips" for k in range(4)})
    assert np.abs(into["block.position.x"]).max() < 1e-15
    assert into["wall.0.normal"][-1] + into["wall.1.normal"][-1] == pytest.approx(3.0 + 0.5 * 2 * 9.81, rel=1e-9)


class Shared(Subsystem):
    """A bar on two sleds that part, with its weight nearer to the first or to the second."""

    def __init__(self, first: float) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.bar = Body(mass=2.0, inertia=(0.01, 0.1, 0.1))
        self.sleds = [Body(mass=1.0, inertia=(1, 1, 1)) for _ in range(2)]
        self.rails = [Prismatic(self.ground, sled, axis="x") for sled in self.sleds]
        self.drives = [Drive(rail, way) for rail, way in zip(self.rails, (-WAY, 2 * WAY), strict=True)]
        points = [self.bar.points((x, 0.1, 0), (x, -0.1, 0)) for x in (-first, 1 - first)]
        self.rub = [Contact(sled.plane(), at, mu=0.5) for sled, at in zip(self.sleds, points, strict=True)]


@pytest.mark.parametrize(("first", "slips", "far"), [(0.3, 1, -FAR), (0.7, 0, 2 * FAR)])
def test_a_bar_goes_with_the_sled_that_bears_more(first: float, slips: int, far: float) -> None:
    result = simulate(Shared(first), until=END)
    torn(result, {f"rub.{slips}.{k}.slips" for k in range(2)})
    assert result["bar.position.x"][-1] == pytest.approx(far, abs=1e-12)


class Coupled(Subsystem):
    """A wheel between two driven shafts that do not go alike, with a clutch to each."""

    def __init__(self, first: float, second: float) -> None:
        self.ground = Ground()
        self.shafts = [Body(mass=1.0, inertia=(1, 1, 1)) for _ in range(2)]
        self.wheel = Body(mass=1.0, inertia=(1, 1, 1))
        self.pins = [Revolute(self.ground, shaft, axis="z") for shaft in self.shafts]
        self.axle = Revolute(self.ground, self.wheel, axis="z")
        self.drives = [Drive(pin, way) for pin, way in zip(self.pins, (WAY, 2 * WAY), strict=True)]
        limits = zip(self.shafts, (first, second), strict=True)
        self.clutches = [Clutch(shaft, self.wheel, axis="z", limit=limit) for shaft, limit in limits]


@pytest.mark.parametrize(("limits", "slips", "far"), [((5.0, 8.0), 0, 2 * FAR), ((8.0, 5.0), 1, FAR)])
def test_the_weaker_clutch_slips(limits: tuple[float, float], slips: int, far: float) -> None:
    result = simulate(Coupled(*limits), until=END)
    torn(result, {f"clutches.{slips}.slips"})
    assert result["axle.angle"][-1] == pytest.approx(far, abs=1e-12)


class Crushed(Subsystem):
    """A ceiling is driven down on a block on a floor."""

    def __init__(self) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.block = Body(mass=2.0, inertia=(0.01, 0.01, 0.01), start_position=(0, 0, 0.05))
        self.ceiling = Body(mass=1.0, inertia=(1, 1, 1))
        self.rail = Prismatic(self.ground, self.ceiling, axis="z")
        self.drive = Drive(self.rail, -WAY)
        self.floor = Contact(self.ground.plane(), self.block.at(0, 0, -0.05).corners((0.1, 0.1, 0)))
        self.touch = Contact(self.ceiling.at(0, 0, 0.1).plane("-z"), self.block.at(0, 0, 0.05).point())


@pytest.mark.filterwarnings("ignore:Crushed did not run as planned")
def test_where_nothing_gives_way_the_status_says_so() -> None:
    result = simulate(Crushed(), until=END)
    assert result.status.kind == "no forces fit"
    assert "touch" in result.status.message
    assert BEGIN < result.status.time < BEGIN + 1e-5
