"""The first row of the discrete engine: joints carry their loads; rows that turn do not make a step unstable."""

from __future__ import annotations

import ast
import re
from typing import Any

import numpy as np
import pytest
from reference.support import example
from solve.machines import Pendulum

from kompono import Body, Ground, Subsystem, evaluate, simulate, time
from kompono.library import (
    Bushing,
    Distance,
    Drive,
    Gravity,
    ParallelAxes,
    PlaneToPlane,
    PointInPlane,
    PointOnLine,
    Revolute,
    Rolling,
    Spherical,
    Universal,
    solids,
)

pytestmark = pytest.mark.filterwarnings("ignore::kompono.ModelWarning")


def reactions(model: Subsystem, engine: str, **options: Any) -> dict[str, float]:
    found = evaluate(model, engine=engine, **options)
    return {name: value for name, value in found.items() if ".force." in name or ".torque." in name or "effort" in name}


class Driven(Subsystem):
    """A crank that a drive turns, with a rod on a line: reactions of all kinds of elements at the start."""

    def __init__(self) -> None:
        self.ground, self.gravity = Ground((0, 0, 0.1 * time**2)), Gravity()
        self.crank = Body(solids.rod(mass=1, length=0.4, radius=0.05, axis="x"))
        self.pin = Revolute(self.ground, self.crank.at(-0.2, 0, 0), axis="y", angle=0.3)
        self.drive = Drive(self.pin, 0.3 + 2 * time + time**2)
        self.rod = Body(solids.rod(mass=1, length=1.0, radius=0.05, axis="x"))
        self.knee = Revolute(self.crank.at(0.2, 0, 0), self.rod.at(-0.5, 0, 0), axis="y", angle=-0.2)
        self.line = PointOnLine(self.ground, self.rod.at(0.5, 0, 0), axis="x")


class Ball(Subsystem):
    def __init__(self) -> None:
        self.gravity, self.slope = Gravity((2.0, 0, -9.81)), Ground()
        self.ball = Body(solids.sphere(mass=2, radius=0.1))
        self.contact = Rolling(self.slope, self.ball, radius=0.1, wz=1.0)


@pytest.mark.parametrize("make", [Pendulum, Driven, Ball, lambda: example("car").Car()])
def test_the_first_row_shows_loaded_joints(make) -> None:
    """The same reactions as on the absolute engine, but for deflections of some 1e-9 m."""
    exact, linked = (reactions(make(), engine) for engine in ("absolute", "discrete"))
    scale = max(abs(value) for value in exact.values())
    assert scale > 1
    for name, value in exact.items():
        assert linked[name] == pytest.approx(value, abs=2e-4 * scale), name


def test_a_run_from_there_does_not_ring() -> None:
    """The force in a pin is smooth from its first row on; from an unstretched link it would begin at zero."""
    result = simulate(Pendulum(angle=1.0), until=2e-3, step=1e-5, every=1, engine="discrete")
    exact = simulate(Pendulum(angle=1.0), until=2e-3, step=1e-5, every=1)
    for k in "xz":
        assert np.abs(result[f"pin.force.{k}"] - exact[f"pin.force.{k}"]).max() < 2e-2


def test_redundant_joints_share_the_load_as_their_stiffness_says() -> None:
    """A beam on three supports in a row: elastic ones share it symmetrically, and together carry the weight."""

    class Beam(Subsystem):
        def __init__(self) -> None:
            self.ground, self.gravity = Ground(), Gravity()
            self.beam = Body(solids.box(mass=3, size=(2, 0.1, 0.1)))
            self.holds = [PointInPlane(self.ground.at(x, 0, 0), self.beam.at(x, 0, 0)) for x in (-1, 0, 1)]
            self.mount = Bushing(self.ground, self.beam, k=[10, 10, 1e-3, 1, 1, 1])

    here = evaluate(Beam(), engine="discrete")
    loads = [here[f"holds.{k}.force.z"] for k in range(3)]
    assert sum(loads) == pytest.approx(3 * 9.81, rel=1e-6)
    assert loads[0] == pytest.approx(loads[2], rel=1e-6)
    assert loads[1] > 1


class Turning(Subsystem):
    """A slender rod whose constraints turn against it; `kind` says which."""

    def __init__(self, kind: str) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.rod = Body(
            solids.rod(mass=1, length=1, radius=0.01), start_position=(0, 0, -1.5), start_angular_velocity=(2, 3, 0)
        )
        top, end = self.rod.at(0, 0, 0.5), self.rod.at(0, 0, -0.5)
        low = self.ground.at(0, 0, -1)
        if kind == "rod and plane":
            self.hang, self.slide = Distance(self.ground, top, length=1.0), PointInPlane(self.ground, end, axis="y")
        elif kind == "two rods":
            self.hang = Distance(self.ground, top, length=1.0)
            self.stay = Distance(self.ground.at(0, 1, -2), end, length=1.0)
        elif kind == "line":
            self.slide = PointOnLine(self.ground.at(0, 0.3, -1.8), end, axis="x")
            self.keep = Distance(self.ground, top, length=1.0)
        elif kind == "ball":
            self.ball, self.plane = Spherical(low, top), PointInPlane(self.ground, end, axis="y")
        elif kind == "universal":
            self.cross = Universal(low, top)
        else:
            self.hang = Distance(self.ground, top, length=1.0)
            self.plane = PlaneToPlane(self.ground.at(0, 0.0, 0), end, axis="y")
            self.axes = ParallelAxes(self.ground, self.rod, axis="y")


@pytest.mark.parametrize("kind", ["rod and plane", "two rods", "line", "ball", "universal", "mate"])
def test_links_stay_stable_when_their_rows_turn(kind: str) -> None:
    result = simulate(Turning(kind), until=2.0, step=2e-4, every=50, engine="discrete")
    assert result.status.ok, result.status.message
    assert np.ptp(result["energy.total"]) < 0.05


class Telescope(Subsystem):
    """Two bodies that slide apart on a constraint: the lever of one on the other grows without end."""

    def __init__(self) -> None:
        self.inner, self.outer = Body(mass=1, inertia=(0.02, 0.02, 0.02)), Body(mass=1, inertia=(0.02, 0.02, 0.02))
        self.slide = PointOnLine(self.inner, self.outer, axis="x")
        self.inner.start_angular_velocity = np.array([0.0, 0.0, 1.0])
        self.outer.start_position, self.outer.start_velocity = np.array([0.1, 0, 0]), np.array([5.0, 0.1, 0])


def test_the_advice_for_a_link_that_became_too_stiff_helps() -> None:
    """A shorter step would choose stiffer links, so a softer one is recommended, and works."""
    options = {"until": 0.2, "step": 1e-4, "every": 10, "engine": "discrete"}
    failed = simulate(Telescope(), **options)
    assert not failed.status.ok
    found = re.search(r"stiffness=(\{.*?\})", failed.status.message)
    assert found
    stiffness = ast.literal_eval(found[1])
    assert list(stiffness) == ["slide"]
    later = simulate(Telescope(), **options, stiffness=stiffness)
    assert later.status.ok or later.status.time > failed.status.time + 0.02
