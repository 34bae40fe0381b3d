"""Slip that no forces fit (Painleve) ends a run, or is stopped by an impact; stops that hand on blows come to rest."""

from __future__ import annotations

import numpy as np
import pytest

from kompono import AssemblyError, Body, Ground, ModelWarning, Result, Subsystem, simulate, simulate_many
from kompono.library import Contact, EndStops, Gravity, JointEffort, Planar, Prismatic, solids

pytestmark = pytest.mark.filterwarnings("ignore::kompono.RunWarning", "ignore:tip strikes")
STEEP = np.arctan(2.0)  # [rad]; beyond a friction of 4/3 the rod jams there


class Chalk(Subsystem):
    """A rod of 2 m and 1 kg that slides on its tip [m/s]."""

    def __init__(self, *, mu: float = 1.5, slip: float = -2.0) -> None:
        self.board, self.gravity = Ground(), Gravity((0, -9.81, 0))
        self.chalk = Body(mass=1.0, inertia=(1.0, 1.0, 1 / 3))
        self.plane = Planar(self.board, self.chalk, x=np.cos(STEEP), y=np.sin(STEEP), angle=STEEP, x_rate=slip)
        self.tip = Contact(self.board.plane("y"), self.chalk.at(-1, 0, 0).point(), mu=mu)


class Pair(Subsystem):
    """Two sliders that forces press against stops on one carriage: each blow lifts the other one."""

    def __init__(self, push: float = 100.0) -> None:
        self.ground = Ground()
        self.carriage = Body(mass=1.0, inertia=(1, 1, 1))
        self.rail = Prismatic(self.ground, self.carriage, axis="x")
        self.left, self.right = Body(mass=0.5, inertia=(1, 1, 1)), Body(mass=0.5, inertia=(1, 1, 1))
        self.a = Prismatic(self.carriage, self.left, axis="x", displacement=0.01, displacement_rate=-0.5)
        self.b = Prismatic(self.carriage, self.right, axis="x", displacement=0.0101, displacement_rate=-0.5)
        self.pushes = [JointEffort(joint, -push) for joint in (self.a, self.b)]
        self.stops = [EndStops(joint, lower=0.0, upper=1.0) for joint in (self.a, self.b)]


def slip(result: Result) -> float:
    """The fastest slip of the tip [m/s]."""
    return max(float(np.abs(result[f"tip.slip.{axis}"]).max()) for axis in "xy")


def test_a_jam_ends_the_run_or_stops_the_slip() -> None:
    """The tip stops at once; the moment of momentum about it stays, (1/3 + 1) omega = 2 sin(angle)."""
    ended = simulate(Chalk(), until=0.05)
    assert ended.status.kind == "no forces fit"
    for engine in ("relative", "absolute"):
        result = simulate(Chalk(), until=0.05, contact="impacts", engine=engine).check()
        assert result["plane.angle.rate"][0] == pytest.approx(1.5 * np.sin(STEEP), abs=1e-9)
        assert slip(result) < 1e-12
        assert result["energy.total"][0] < 9.81 * np.sin(STEEP) + 2.0  # it had that, and gains none
        assert np.ptp(result["energy.total"]) < 1e-9


def test_what_needs_no_impact_is_as_with_events() -> None:
    events, impacts = (simulate(Chalk(mu=0.8), until=0.05, contact=contact) for contact in ("events", "impacts"))
    assert all(np.array_equal(events[name], impacts[name]) for name in events)


def test_slip_that_is_all_but_over_stops_anyway() -> None:
    result = simulate(Chalk(slip=-1e-7), until=0.01).check()
    assert slip(result) < 1e-12


@pytest.mark.parametrize("engine", ["relative", "absolute"])
def test_stops_that_hand_on_blows_come_to_rest(engine: str) -> None:
    """Speeds shrink by a third from blow to blow, until what is lifted is less than rounding; momentum stays."""
    result = simulate(Pair(), until=0.1, engine=engine).check()
    events = result.statistics["events"]
    struck = [when for when, what in events if what.endswith("strikes")]
    waits = np.diff(struck)[2:8]
    np.testing.assert_allclose(waits[1:] / waits[:-1], 1 / 3, rtol=1e-6)
    assert len(struck) < 16
    assert result["rail.displacement.rate"][-1] == pytest.approx(-0.25, abs=1e-12)
    for joint in ("a", "b"):
        assert abs(result[f"{joint}.displacement"][-1]) < 1e-12
        assert abs(result[f"{joint}.displacement.rate"][-1]) < 1e-12


def test_a_blow_at_the_start_is_told() -> None:
    class Ball(Subsystem):
        def __init__(self) -> None:
            self.ground = Ground()
            self.ball = Body(solids.sphere(mass=1.0, radius=0.1), start_position=(0, 0, 0.1), start_velocity=(0, 0, -1))
            self.hit = Contact(self.ground.plane(), self.ball.sphere(radius=0.1), restitution=0.5)

    with pytest.warns(ModelWarning, match=r"hit strikes at the start: speeds are those after that blow"):
        result = simulate(Ball(), until=0.01)
    assert result["ball.velocity.z"][0] == pytest.approx(0.5, abs=1e-12)


def test_the_deepest_overlap_is_named() -> None:
    class Balls(Subsystem):
        def __init__(self) -> None:
            self.ground = Ground()
            for k, height in enumerate((0.09, 0.05, 0.2)):
                ball = Body(solids.sphere(mass=1.0, radius=0.1), start_position=(k, 0, height))
                setattr(self, f"ball{k}", ball)
                setattr(self, f"touch{k}", Contact(self.ground.plane(), ball.sphere(radius=0.1)))

    with pytest.raises(AssemblyError, match=r"touch1: the gap is -0\.05 at the start.*1 more gap overlaps less"):
        simulate(Balls(), until=0.01)


def test_one_run_that_overlaps_does_not_disturb_the_others() -> None:
    class Ball(Subsystem):
        def __init__(self) -> None:
            self.ground, self.gravity = Ground(), Gravity()
            self.ball = Body(solids.sphere(mass=1.0, radius=0.1))
            self.rail = Prismatic(self.ground, self.ball, axis="z", displacement=1.0, limits=(0.1, None))

    heights = [0.5, 0.05, 0.1]
    many = simulate_many(Ball(), until=0.1, initial={"rail.displacement": heights}, channels="rail.displacement")
    assert many.failed == [1]
    assert "rail.limits.lower: the gap is -0.05 at the start" in many.status[1].message
    assert abs(many["rail.displacement"][[0, 2], -1] - [0.5 - 9.81 * 0.005, 0.1]).max() < 1e-12
