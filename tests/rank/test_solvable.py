"""Loops that are solved for joints of their own: which, and that nothing else changes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kompono import Body, Ground, Parameter, Simulation, Subsystem, simulate, time
from kompono.examples.car import Car
from kompono.examples.reference.n_four_bar import NFourBar
from kompono.library import Distance, Drive, Gravity, Prismatic, Revolute
from kompono.solve.integrate import Settings
from kompono.starting import closed_start
from kompono.translate import translate
from kompono.translate.engines.judging import JudgingEngine


def bar() -> Body:
    return Body(mass=1.0, inertia=(0.001, 0.01, 0.01))


class Press(Subsystem):
    """A crank of r, a rod of l and a slider that runs beside the axis of the crank; `side` -1 puts it behind."""

    def __init__(self, r: Any = 0.1, l: float = 0.3, offset: float = 0.05, side: int = 1) -> None:  # noqa: E741
        self.ground, self.gravity = Ground(), Gravity((0, -9.81, 0))
        if r == "tunable":
            self.r = r = Parameter(0.1)
        self.crank, self.rod, self.slider = bar(), bar(), bar()
        self.main = Revolute(self.ground, self.crank, angle=0.3, angle_rate=12.0)
        start = 0.0 if side > 0 else np.pi
        self.pin = Revolute(self.crank.at(r, 0, 0), self.rod.at(-l / 2, 0, 0), angle=start)
        self.guide = Prismatic(self.ground.at(0, offset, 0), self.slider, axis="x", displacement=0.35 * side)
        self.wrist = Revolute(self.slider, self.rod.at(l / 2, 0, 0))


class CrankAndRocker(Subsystem):
    """A crank that turns, a coupler, and a rocker that swings; the coupler may be a rod without mass."""

    def __init__(self, massless: bool = False, length: Any = 0.9) -> None:
        self.ground, self.gravity, self.crank, self.rocker = Ground(), Gravity((0, -9.81, 0)), bar(), bar()
        self.main = Revolute(self.ground, self.crank, angle=0.4, angle_rate=9.0)
        self.foot = Revolute(self.ground.at(1, 0, 0), self.rocker, angle=1.5)
        if massless:
            self.rod = Distance(self.crank.at(0.3, 0, 0), self.rocker.at(0.7, 0, 0), length=length)
        else:
            self.coupler = bar()
            self.pin = Revolute(self.crank.at(0.3, 0, 0), self.coupler.at(-length / 2, 0, 0), angle=0.2)
            self.joint = Revolute(self.rocker.at(0.7, 0, 0), self.coupler.at(length / 2, 0, 0))


class Driven(Press):
    """A press whose crank is moved."""

    def __init__(self) -> None:
        super().__init__()
        self.drive = Drive(self.main, 0.3 + 12 * time)


WHICH: dict[str, tuple[Callable[[], Subsystem], set[str]]] = {
    "press": (Press, {"pin", "guide"}),
    "driven": (Driven, {"pin", "guide"}),
    "a crank longer than its rod": (lambda: Press(r=0.3, l=0.1, offset=0.0), {"main", "guide"}),
    "as long as its rod": (lambda: Press(r=0.2, l=0.2, offset=0.0), set()),
    "nearly": (lambda: Press(r=0.2, l=0.25005, offset=0.05), set()),
    "tunable": (lambda: Press(r="tunable"), set()),
    "rocker": (CrankAndRocker, {"foot", "pin"}),
    "massless": (lambda: CrankAndRocker(massless=True), {"foot"}),
    "breathing": (lambda: CrankAndRocker(massless=True, length=0.9 + 0.01 * time), set()),
    "windows": (lambda: NFourBar(1), set()),
    "car": (Car, {"left.hinge", "left.damper.slide", "right.hinge", "right.damper.slide"}),
}


@pytest.mark.parametrize("name", WHICH)
@pytest.mark.filterwarnings("ignore::kompono.errors.ModelWarning")
def test_loops_that_turn_are_solved_and_others_are_not(name: str) -> None:
    make, expected = WHICH[name]
    engine = translate(make(), close=closed_start).engine
    assert isinstance(engine, JudgingEngine)
    assert {engine.model.path(joint) for loop in engine.solved for joint in loop.dependent} == expected


@pytest.mark.parametrize(
    "make", [Press, lambda: Press(side=-1), lambda: Press(r=0.2, l=0.252), CrankAndRocker, Driven, Car],
    ids=["press", "behind", "narrow", "rocker", "driven", "car"],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::kompono.errors.ModelWarning")
def test_the_motion_is_that_with_multipliers(
    make: Callable[[], Subsystem], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    settings = Settings("rk4", until=0.6, step=1e-3, every=20)
    solved = Simulation(make())
    assert solved.translation.engine.solved
    found = solved.run(settings, progress=False)
    monkeypatch.setattr(JudgingEngine, "solved", ())
    monkeypatch.setenv("KOMPONO_CACHE", str(tmp_path))
    held = Simulation(make())
    assert not held.translation.engine.solved
    expected = held.run(settings, progress=False)
    assert found.status.ok
    assert expected.status.ok
    sizes: dict[str, float] = {}
    for name in expected:
        unit = expected.units[name]
        sizes[unit] = max(sizes.get(unit, 1.0), float(np.abs(expected[name]).max()))
    worst = max(float(np.abs(found[name] - expected[name]).max()) / sizes[expected.units[name]] for name in expected)
    assert worst < 1e-11


@pytest.mark.filterwarnings("ignore::kompono.errors.ModelWarning")
def test_a_press_keeps_its_energy_over_many_turns() -> None:
    result = simulate(Press(), until=5.0, step=5e-4, channels=["energy.*", "drift.*"])
    assert np.ptp(result["energy.total"]) < 1e-6 * result["energy.kinetic"].max()
    assert result["drift.position"].max() < 1e-14
