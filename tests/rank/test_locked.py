"""Freedoms that loops lock are left out while a machine moves, and nothing else changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import casadi as ca
import numpy as np
import pytest
from rank.machines import STILL, TURN, turned
from scipy.spatial.transform import Rotation

from kompono import Body, Ground, Simulation, Subsystem, inspect, time
from kompono.library import Cylindrical, Drive, Gravity, JointEffort, PointOnLine, Revolute, Spherical
from kompono.solve.integrate import Settings


class SliderCrank(Subsystem):
    """A piston that could turn in its bore, were it not for its pin; `side` is how far the bore is beside the crank."""

    def __init__(self, turn: Sequence[float] = STILL, side: float = 0.02) -> None:
        t, matrix = turned(turn), Rotation.from_rotvec(turn).as_matrix()
        self.ground, self.gravity = Ground(), Gravity(t(1, 2, -9.81))
        self.crank = Body(mass=1.0, inertia=matrix @ np.diag([0.01, 0.02, 0.015]) @ matrix.T)
        self.rod = Body(mass=0.4, inertia=matrix @ np.diag([6e-3, 5e-3, 1e-3]) @ matrix.T)
        self.piston = Body(mass=0.3, inertia=matrix @ np.diag([1e-3, 2e-3, 3e-3]) @ matrix.T)
        axis, tip = t(0, 1, 0), t(0.05, 0, 0.1)
        self.main = Revolute(self.ground, self.crank, axis=axis, angle=0.0, angle_rate=30.0)
        self.pin = Revolute(self.crank.at(tip), self.rod.at(t(0, 0, -0.15)), axis=axis, angle=0.2)
        self.bore = Cylindrical(
            self.ground.at(t(side, 0, 0)), self.piston, axis=t(0, 0, 1), displacement=0.4, angle=0.0
        )
        self.wrist = Revolute(self.rod.at(t(0, 0, 0.15)), self.piston, axis=axis)
        self.push = JointEffort(self.main, -0.3 * self.main.angle_rate)


def motion(model: Subsystem, engine: str = "relative", **options: Any) -> Any:
    simulation = Simulation(model, engine=engine)
    return simulation, simulation.run(Settings("rk4", until=0.2, step=1e-3, every=10), progress=False, **options)


def differ(one: Any, other: Any) -> float:
    return max(np.abs(one[name] - other[name]).max() / max(np.abs(other[name]).max(), 1.0) for name in other)


@pytest.mark.parametrize("turn", [STILL, TURN])
def test_a_piston_does_not_turn_in_its_bore(turn: Sequence[float]) -> None:
    simulation, found = motion(SliderCrank(turn))
    program = simulation.program
    names = [*program.coordinates, *program.speeds]
    assert [names[k] for k in program.locked] == ["bore.angle", "bore.angle.rate"]
    simulation = Simulation(SliderCrank(turn))
    simulation._make(None)  # nothing is known of the start, so nothing is locked
    assert simulation.program.locked == ()
    unlocked = simulation.run(Settings("rk4", until=0.2, step=1e-3, every=10), progress=False)
    assert list(found) == list(unlocked)
    assert differ(found, unlocked) < 1e-9  # reactions included
    assert np.abs(found["bore.angle"]).max() < 1e-15


def test_inspect_looks_at_all_freedoms_of_what_was_traced_without_some() -> None:
    """Two engines of one model, with and without locked freedoms, have numbers of their own."""
    assert inspect(SliderCrank(TURN)).degrees_of_freedom == 1


class Latched(Subsystem):
    """A drum that a point on a line keeps where it is, or half a turn further, with a pendulum on it."""

    def __init__(self) -> None:
        self.ground, self.gravity = Ground(), Gravity((0, -9.81, 0))
        self.drum, self.bob = (Body(mass=1.0, inertia=(0.1, 0.2, 0.3)) for _ in range(2))
        self.shaft = Cylindrical(self.ground, self.drum, axis="z", displacement=0.0, angle=0.0)
        self.latch = PointOnLine(self.ground, self.drum.at(0.5, 0, 0), axis="x")
        self.hinge = Revolute(self.drum.at(0.4, 0, 0), self.bob.at(0, 0.7, 0), axis="z", angle=0.3)


def test_a_drum_that_starts_half_a_turn_off_is_another_machine() -> None:
    simulation, found = motion(Latched())
    assert len(simulation.program.locked) == 4
    start = {"shaft.angle": np.pi}
    simulation, other = motion(Latched(), initial=start)
    assert other.status.ok
    assert simulation.program.locked == ()
    _, exact = motion(Latched(), "absolute", initial=start)
    np.testing.assert_allclose(other["bob.position.x"], exact["bob.position.x"], atol=1e-7)
    assert np.abs(other["bob.position.x"] - found["bob.position.x"]).min() > 0.1
    again, on = motion(Latched(), start=other.end)
    assert again.program.locked == ()
    assert on.status.ok
    assert abs(on["shaft.angle"][-1] - np.pi) < 1e-9


def test_a_state_elsewhere_ends_a_run_that_nobody_prepared_for_it() -> None:
    simulation = Simulation(Latched())
    state = simulation.assemble().state.copy()
    state[list(simulation.program.coordinates).index("shaft.angle")] = np.pi
    assert simulation.kernel.fixed("rk4", 0.0, state, step=1e-3).advance(5).name == "NOT_FINITE"


class Swing(Subsystem):
    """A four-bar of which every angle starts at zero."""

    def __init__(self) -> None:
        self.ground, self.gravity = Ground(), Gravity((0, -9.81, 0))
        self.bars = [Body(mass=1.0, inertia=(0.01, 0.01, 0.01)) for _ in range(3)]
        self.left = Revolute(self.ground, self.bars[0].at(0, -0.5, 0), axis="z", angle=0.0, angle_rate=1.0)
        self.top = Revolute(self.bars[0].at(0, 0.5, 0), self.bars[1].at(-0.5, 0, 0), axis="z", angle=0.0)
        self.right = Revolute(self.ground.at(1, 0, 0), self.bars[2].at(0, -0.5, 0), axis="z", angle=0.0)
        self.corner = Revolute(self.bars[1].at(0.5, 0, 0), self.bars[2].at(0, 0.5, 0), axis="z")


class Stretched(Subsystem):
    """Two arms in line, held at the tip: both may give way, as far as slopes tell."""

    def __init__(self) -> None:
        self.ground, self.lever = Ground(), Body(mass=1.0, inertia=(0.1, 0.2, 0.3))
        self.arm = Body(mass=1.0, inertia=(0.1, 0.2, 0.3))
        self.foot = Revolute(self.ground, self.arm.at(-0.5, 0, 0), axis="z", angle=0.0)
        self.knee = Revolute(self.arm.at(0.5, 0, 0), self.lever.at(-0.5, 0, 0), axis="z", angle=0.0)
        self.tip = Spherical(self.ground.at(2, 0, 0), self.lever.at(0.5, 0, 0))


@pytest.mark.parametrize("model", [Swing, Stretched])
def test_what_only_happens_to_be_zero_is_not_locked(model: type[Subsystem]) -> None:
    assert Simulation(model()).program.locked == ()


class Toggle(Subsystem):
    """A crank that is driven in line with its rod, where a ball no longer keeps the piston from turning."""

    def __init__(self) -> None:
        self.ground = Ground()
        self.crank, self.rod, self.piston = (Body(mass=0.4, inertia=(6e-3, 5e-3, 1e-3)) for _ in range(3))
        self.main = Revolute(self.ground, self.crank, axis="y", angle=0.6)
        self.bore = Cylindrical(self.ground, self.piston, axis="z", displacement=0.4, angle=0.0)
        self.wrist = Revolute(self.piston, self.rod.at(0, 0, 0.15), axis="y", angle=0.1)
        self.ball = Spherical(self.crank.at(0, 0, 0.1), self.rod.at(0, 0, -0.15))
        left = ca.fmax(1 - time / 0.1, 0)
        self.drive = Drive(self.main, 0.6 * left**4)
        self.twist = JointEffort(self.bore, 0.01, coordinate="angle")


@pytest.mark.parametrize("engine", ["relative", "absolute"])
def test_what_is_free_at_a_dead_centre_is_not_locked(engine: str) -> None:
    simulation, found = motion(Toggle(), engine)
    assert simulation.program.locked == ()
    turning = found["bore.angle"][found.time > 0.11]
    acceleration = 0.01 / (1e-3 + 1e-3)  # piston and rod turn as one
    np.testing.assert_allclose(np.diff(turning, 2), acceleration * 0.01**2, rtol=1e-6)
