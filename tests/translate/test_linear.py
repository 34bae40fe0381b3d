"""Conditions that are linear in joint coordinates are substituted: gears, drives, and loops that come to the same."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest
from reference.support import example

from kompono import Body, Constraint, Ground, Subsystem, simulate, time
from kompono.library import Drive, Gear, Gravity, Prismatic, Revolute, Weld, solids
from kompono.translate import translate
from kompono.translate.engines.relative import RelativeEngine


def engine_of(model: Subsystem) -> RelativeEngine:
    engine = translate(model).engine
    assert isinstance(engine, RelativeEngine)
    return engine


def agrees(model: type[Subsystem], names: tuple[str, ...], **options: Any) -> None:
    """Substituted = held by multipliers in absolute coordinates."""
    settings: dict[str, Any] = {"until": 0.2, "step": 5e-4, "method": "rk4", "every": 40, "progress": False} | options
    first, second = simulate(model(), **settings), simulate(model(), engine="absolute", **settings)
    assert first.status.ok
    for name in names:
        scale = max(1.0, np.abs(second[name]).max())
        assert np.abs(first[name] - second[name]).max() < 1e-8 * scale, name


class Bench(Subsystem):
    """A cycloid gear with a weight on its output."""

    def __init__(self) -> None:
        self.ground, self.gravity = Ground(), Gravity((0.0, -9.8, 0.0))
        self.gear = example("kuka").CycloGear()
        self.clamp = Weld(self.ground.at(self.gear.housing.start_position), self.gear.housing)
        self.weight = Body(mass=5.0, inertia=(0.1, 0.1, 0.1), start_position=(0.4, 0.0, 0.39))
        self.mount = Weld(self.gear.output, self.weight.at(-0.4, 0.0, 0.0))


def test_a_cycloid_gear_is_a_ratio() -> None:
    """Disc rolling in the housing and pins in its holes: two linear forms; one coordinate of three is left."""
    engine = engine_of(Bench())
    (linear,) = engine.sets
    assert not engine.loops
    assert engine.linear
    names = [engine.model.path(joint) for joint in linear.joints]
    solved = {
        engine.model.path(joint): dict(zip(names, row, strict=True))
        for joint, row in zip(linear.dependent, linear.solved, strict=True)
    }
    output = "gear.output_bearing"
    assert solved["gear.input_bearing"] == {"gear.input_bearing": 1.0, "gear.eccentric": 0.0, output: 119.0}
    assert solved["gear.eccentric"] == {"gear.input_bearing": 0.0, "gear.eccentric": 1.0, output: -120.0}


def test_a_cycloid_gear_moves_as_its_conditions_say() -> None:
    names = ("gear.output_bearing.angle", "gear.output_bearing.angle.acceleration", "gear.output_bearing.force.x")
    agrees(Bench, (*names, "gear.input_bearing.angle", "gear.eccentric.force.y"), until=0.1, step=2.5e-4)


class Train(Subsystem):
    """Three wheels in a row of gears; the middle one also moves a four-bar, the last is braked by its load."""

    def __init__(self) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        for k in range(3):
            wheel = Body(solids.cylinder(mass=1.0 + k, radius=0.1, length=0.02))
            self.add(f"wheel{k}", wheel)
            pin = Revolute(self.ground.at(0.3 * k, 0, 0), wheel, axis="y", angle=0.0, angle_rate=None if k else 2.0)
            self.add(f"pin{k}", pin)
        self.first = Gear(self.pin0, self.pin1, ratio=-2.0)
        self.second = Gear(self.pin1, self.pin2, ratio=1 / 3)
        self.rod = Body(solids.cylinder(mass=0.5, radius=0.01, length=0.5))
        self.rocker = Body(solids.cylinder(mass=0.5, radius=0.01, length=0.4))
        self.joint1 = Revolute(self.wheel1.at(0.0, 0, 0.1), self.rod.at(0, 0, -0.25), axis="y", angle=1.2)
        self.joint2 = Revolute(self.rod.at(0, 0, 0.25), self.rocker.at(0, 0, 0.2), axis="y", angle=-1.0)
        self.joint3 = Revolute(self.ground.at(0.7, 0, -0.1), self.rocker.at(0, 0, -0.2), axis="y")


@pytest.mark.filterwarnings("ignore::kompono.ModelWarning")  # assembly finds the rest of the start
def test_gears_beside_a_loop() -> None:
    """Only wheels that no other loop uses are substituted."""
    engine = engine_of(Train())
    (linear,) = engine.sets
    assert [engine.model.path(joint) for joint in linear.dependent] == ["pin0", "pin2"]
    assert [type(element).__name__ for element in engine.loops] == ["Revolute"]
    assert not engine.linear
    agrees(Train, ("pin0.angle", "pin2.angle.acceleration", "rocker.position.x", "first.effort", "joint3.force.x"))


class Driven(Subsystem):
    """A slide driven along a law, and a wheel geared to it."""

    def __init__(self) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.slide = Body(solids.box(mass=1.0, size=(0.1, 0.1, 0.1)))
        self.wheel = Body(solids.cylinder(mass=2.0, radius=0.1, length=0.02))
        self.rail = Prismatic(self.ground, self.slide, axis="x")
        self.pin = Revolute(self.slide, self.wheel.at(0, 0, 0.03), axis="y")
        self.rolling = Gear(self.rail, self.pin, ratio=10.0)
        self.drive = Drive(self.rail, 0.3 * ca.sin(5 * time) ** 2)


def test_a_drive_leaves_nothing_to_solve() -> None:
    engine = engine_of(Driven())
    (linear,) = engine.sets
    assert len(linear.dependent) == 2
    agrees(Driven, ("pin.angle", "pin.angle.acceleration", "drive.effort", "rail.force.z"))
    result = simulate(Driven(), until=0.2, step=1e-3, method="rk4", every=10, progress=False)
    assert np.abs(result["rail.displacement"] - 0.3 * np.sin(5 * result.time) ** 2).max() < 1e-12


class Door(Subsystem):
    """A door on two hinges of one axis, not along a coordinate axis."""

    def __init__(self) -> None:
        self.ground, self.gravity = Ground(orientation=(np.cos(0.2), 0.0, np.sin(0.2), 0.0)), Gravity()
        self.leaf = Body(solids.box(mass=20.0, size=(0.9, 0.04, 2.0)))
        self.lower, self.upper = (
            Revolute(self.ground.at(0, 0, z), self.leaf.at(-0.45, 0, z), axis="z") for z in (-0.8, 0.8)
        )


def test_a_second_hinge_needs_nothing_while_the_door_moves() -> None:
    engine = engine_of(Door())
    assert len(engine.closing) == 1
    assert not engine.loops
    assert not engine.sets
    agrees(Door, ("lower.angle", "leaf.acceleration.z"))


class Bent(Constraint):
    """The same turn of two wheels, forwards; twice the turn backwards."""

    def conditions(self, pose: Any) -> list[Any]:
        angle = ca.atan2(pose.rotation[0, 2], pose.rotation[0, 0])
        return [ca.if_else(angle > 5, 2 * angle, angle)]


def test_a_law_with_two_branches_is_no_linear_form() -> None:
    class Pair(Subsystem):
        def __init__(self) -> None:
            self.ground = Ground()
            self.left, self.right = (Body(mass=1.0, inertia=(1, 1, 1)) for _ in range(2))
            self.pins = [Revolute(self.ground, body, axis="y") for body in (self.left, self.right)]
            self.bent = Bent(self.left, self.right)

    engine = engine_of(Pair())
    assert len(engine.loops) == 1
    assert not engine.sets


@pytest.mark.parametrize(("file", "name"), [("car", "Car"), ("reference/four_bar", "FourBar")])
def test_loops_that_are_not_linear_stay_loops(file: str, name: str) -> None:
    engine = engine_of(getattr(example(file), name)())
    assert engine.closing
    assert engine.loops == engine.closing
