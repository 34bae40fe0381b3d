"""Links that give way: a machine that is driven to where it cannot go is no machine that runs as planned."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

from kompono import Body, Constraint, Ground, Parameter, RunWarning, Subsystem, simulate, simulate_many, time
from kompono.library import Drive, Gravity, Prismatic, Revolute, Spherical, solids
from kompono.many import start

OPTIONS = {"until": 0.6, "step": 2e-4, "every": 5, "engine": "discrete"}
LONG = np.pi / 6  # [rad] the crank's angle at which its rod is too short


class Toggle(Subsystem):
    """A crank that is driven by a rod of half its length: beyond 30 degrees the rod is too short."""

    def __init__(self, size: float = 1.0) -> None:
        self.ground = Ground()
        self.crank, self.rod = (
            Body(solids.rod(mass=1, length=x * size, radius=0.02 * size, axis="x")) for x in (1.0, 0.5)
        )
        self.slider = Body(solids.box(mass=1.0, size=(0.1 * size,) * 3))
        lean = np.arcsin(2 * np.sin(0.2))
        half = 0.5 * size
        self.pin = Revolute(self.ground, self.crank.at(-half, 0, 0), axis="y", angle=0.2, angle_rate=1.0)
        self.knee = Revolute(self.crank.at(half, 0, 0), self.rod.at(-half / 2, 0, 0), axis="y", angle=-0.2 - lean)
        out = size * (np.cos(0.2) + 0.5 * np.cos(lean))
        self.slide = Prismatic(self.ground, self.slider, axis="x", displacement=out)
        self.wrist = Revolute(self.rod.at(half / 2, 0, 0), self.slider, axis="y")
        self.drive = Drive(self.pin, 0.2 + time)


@pytest.mark.filterwarnings("ignore::kompono.errors.ModelWarning")
@pytest.mark.parametrize("size", [1.0, 0.05])
def test_a_machine_that_locks_says_so_whatever_its_size(size: float) -> None:
    with pytest.warns(RunWarning, match="links give way"):
        result = simulate(Toggle(size), **OPTIONS)
    assert LONG - 0.2 < result.status.time < LONG - 0.2 + 0.08
    assert result.time[-1] == pytest.approx(result.status.time)
    with pytest.warns(RunWarning, match="links give way"):
        many = simulate_many(Toggle(size), runs=2, **OPTIONS)
    assert [status.kind for status in many.status] == [result.status.kind] * 2


class Sized(Subsystem):
    """The same with its size as a parameter; masses are points."""

    def __init__(self) -> None:
        self.ground, self.size = Ground(), Parameter(1.0, unit="m")
        self.crank, self.rod, self.slider = (Body(mass=1.0, inertia=(1e-3,) * 3) for _ in range(3))
        lean = np.arcsin(2 * np.sin(0.2))
        self.pin = Revolute(self.ground, self.crank.at(0, 0, 0), axis="y", angle=0.2, angle_rate=1.0)
        self.knee = Revolute(self.crank.at(self.size, 0, 0), self.rod, axis="y", angle=-0.2 - lean)
        out = np.cos(0.2) + 0.5 * np.cos(lean)
        self.slide = Prismatic(self.ground, self.slider, axis="x", displacement=out)
        self.wrist = Revolute(self.rod.at(self.size / 2, 0, 0), self.slider, axis="y")
        self.drive = Drive(self.pin, 0.2 + time)


@pytest.mark.filterwarnings("ignore::kompono.errors.ModelWarning", "ignore::kompono.RunWarning")
def test_runs_of_machines_of_all_sizes_give_way_by_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is a lot for a small one is nothing for a large one, also where they are not made ready together."""
    monkeypatch.setattr(start, "TOGETHER", 1)
    runs = simulate_many(Sized(), parameters={"size": np.array([30.0, 0.05])}, **OPTIONS)
    assert [status.kind for status in runs.status] == ["open"] * 2
    alone = simulate(Sized(), parameters={"size": 0.05}, **OPTIONS).status
    assert runs.status[1].message == alone.message


@pytest.mark.filterwarnings("ignore::kompono.errors.ModelWarning")
def test_before_it_locks_nothing_is_said_nor_where_links_are_soft_by_wish() -> None:
    assert simulate(Toggle(), **OPTIONS | {"until": 0.3}).status.ok
    soft = simulate(Toggle(), **OPTIONS, stiffness={"knee": (1e5, 1e3)})
    assert soft.status.ok
    assert soft["drift.position"].max() > 0.05


class OnSphere(Constraint):
    """The second origin stays 0.5 m away from the first; `scale` 1000 writes that in millimetres."""

    def __init__(self, first: Any, second: Any, *, scale: float) -> None:
        super().__init__(first, second)
        self.scale = scale

    def conditions(self, pose: Any) -> list[Any]:
        return [self.scale * (ca.sumsqr(pose.position) - 0.25)]


class Marble(Subsystem):
    """A marble in a bowl, and a rod that hangs on it."""

    def __init__(self, scale: float) -> None:
        self.bowl, self.gravity = Ground(), Gravity()
        self.marble = Body(solids.sphere(mass=1, radius=0.01), start_position=(0.3, 0, -0.4))
        self.rod = Body(solids.rod(mass=1, length=0.2, radius=0.01))
        self.hinge = Spherical(self.marble, self.rod.at(0, 0, 0.1))
        self.contact = OnSphere(self.bowl, self.marble, scale=scale)


@pytest.mark.filterwarnings("error::kompono.errors.RunWarning")
@pytest.mark.parametrize("scale", [1.0, 1e3, 1e6])
def test_conditions_may_be_written_in_any_unit(scale: float) -> None:
    result = simulate(Marble(scale), until=0.2, step=2e-4, every=5, engine="discrete")
    assert result.status.ok
    assert result["drift.position"].max() < 1e-3 * scale


@pytest.mark.filterwarnings("ignore::kompono.errors.ModelWarning")
def test_a_run_that_goes_on_gives_way_as_well() -> None:
    begun = simulate(Toggle(0.05), **OPTIONS | {"until": 0.3}).check()
    with pytest.warns(RunWarning, match="links give way"):
        assert not simulate(Toggle(0.05), **OPTIONS, start=begun).status.ok
