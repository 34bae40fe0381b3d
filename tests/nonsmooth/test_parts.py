"""Structure that changes inside closed parts: the same events and the same motion as in the open model, and nothing of
it is seen outside.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest
from nonsmooth.same_events import same_events

from kompono import Body, Ground, Subsystem, simulate, time
from kompono.library import (
    Contact,
    DryFriction,
    EndStops,
    FreeWheel,
    Gear,
    Gravity,
    JointEffort,
    Prismatic,
    Revolute,
    Spherical,
    SpringDamper,
    solids,
)
from kompono.translate import translate
from kompono.translate.parts.gauge import gauge


class Absorber(Subsystem):
    """Two blocks on a slide with dry friction and stops at its ends."""

    def __init__(self) -> None:
        self.outer, self.inner = (Body(solids.sphere(mass=1.0, radius=0.1)) for _ in range(2))
        self.slide = Prismatic(self.outer, self.inner, axis="x", displacement=0.1)
        self.rubs = DryFriction(self.slide, preload=2.0, preload_static=2.5)
        self.stops = EndStops(self.slide, 0.0, 0.3, restitution=0.5)
        self.expose(self.outer, self.inner)


class Nested(Subsystem):
    """An absorber inside a component that shows both its ends."""

    def __init__(self) -> None:
        self.core = Absorber()
        self.expose(self.core.outer, self.core.inner)

    @property
    def outer(self) -> Body:
        return self.core.outer

    @property
    def inner(self) -> Body:
        return self.core.inner


class Shaken(Subsystem):
    """An absorber on a driven slide carries a pendulum, which a floor may stop."""

    def __init__(self, kind: type = Absorber, floor: float | None = None) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.part = kind()
        self.base = Prismatic(self.ground, self.part.outer, axis="x")
        self.spring = SpringDamper(self.ground.at(-1, 0, 0), self.part.outer, k=200, rest=1.0)
        self.arm = Body(solids.rod(mass=0.5, length=0.5, radius=0.02))
        self.pin = Revolute(self.part.inner, self.arm.at(0, 0, 0.25), axis="y", angle=1.0)
        self.drive = JointEffort(self.base, 30 * ca.cos(7 * time))
        if floor is not None:
            tip = self.arm.at(0, 0, -0.25).sphere(radius=0.05)
            self.touch = Contact(self.ground.at(0, 0, -floor).plane(), tip, mu=0.3, restitution=0.2)


class Looped(Subsystem):
    """Two absorbers side by side carry a beam: a loop through four ports."""

    def __init__(self) -> None:
        self.ground, self.gravity = Ground(), Gravity((3.0, 0.0, -9.81))
        self.left, self.right = Absorber(), Absorber()
        self.mounts = [
            Revolute(self.ground.at(0, y, 0), part.outer, axis="y")
            for y, part in zip((-0.5, 0.5), (self.left, self.right), strict=True)
        ]
        self.beam = Body(solids.rod(mass=2.0, length=1.0, radius=0.02, axis="y"))
        self.joints = [
            Spherical(part.inner, self.beam.at(0, y, 0))
            for y, part in zip((-0.5, 0.5), (self.left, self.right), strict=True)
        ]


class Train(Subsystem):
    """A motor drives a wheel through a gear with play and a freewheel."""

    def __init__(self) -> None:
        self.frame = Body(solids.box(mass=5.0, size=(0.1, 0.1, 0.1)))
        self.rotor, self.shaft, self.wheel = (Body(solids.cylinder(mass=1.0, radius=0.1, length=0.1)) for _ in range(3))
        self.motor = Revolute(self.frame, self.rotor, axis="z")
        self.output = Revolute(self.frame, self.shaft, axis="z")
        self.axle = Revolute(self.frame, self.wheel, axis="z")
        self.mesh = Gear(self.motor, self.output, ratio=-0.5, backlash=0.02, restitution=0.3)
        self.sprag = FreeWheel(self.shaft, self.wheel, axis="z")
        self.torque = JointEffort(self.motor, 0.5 * ca.sin(9 * time))
        self.expose(self.frame)


class Cart(Subsystem):
    def __init__(self) -> None:
        self.ground = Ground()
        self.train = Train()
        self.pivot = Revolute(self.ground, self.train.frame, axis="z")


def check_alike(model: Any, closed: list[str], names: list[str], exact: float = 1e-9, **options: Any) -> Any:
    """The same events and the same motion, open and closed. Gives the result of the open model."""
    options = {"until": 1.0, "step": 1e-3, "progress": False, "channels": names, **options}
    first, second = simulate(model(), **options).check(), simulate(model(), closed=closed, **options).check()
    same_events(first, second, least=4)
    for name in names:
        assert np.abs(first[name] - second[name]).max() < exact, name
    return first


@pytest.mark.parametrize("method", ["rk4", "dopri5"])
def test_friction_and_stops_inside(method: str) -> None:
    check_alike(Shaken, ["part"], ["pin.angle", "base.displacement", "part.slide.displacement"], method=method)


def test_twice_nested() -> None:
    for closed in (["part"], ["part.core"], ["part", "part.core"]):
        check_alike(lambda: Shaken(Nested), closed, ["pin.angle", "part.core.slide.displacement"])


def test_the_owner_has_contact_with_friction_of_its_own() -> None:
    names = ["pin.angle", "touch.normal", "part.stops.upper.normal"]
    found = check_alike(lambda: Shaken(floor=0.45), ["part"], names, 1e-7)
    assert any(name.startswith("touch") for _, name in found.statistics["events"])


def test_loops_through_ports() -> None:
    check_alike(Looped, ["left", "right"], ["beam.position.x", "left.slide.displacement"], 1e-8, until=0.6)


def test_play_and_freewheel_inside() -> None:
    check_alike(Cart, ["train"], ["pivot.angle", "train.axle.angle", "train.mesh.drive.normal"], 1e-8)


def test_absolute_coordinates() -> None:
    check_alike(Shaken, ["part"], ["pin.angle", "part.slide.displacement"], 1e-8, engine="absolute", until=0.6)


def test_nobody_outside_looks_inside() -> None:
    program = translate(Shaken(), closed=["part"]).program
    names = (*program.coordinates, *program.speeds, *program.modes)
    inside = [k for k, name in enumerate(names) if name.startswith("part.")]
    assert any(names[k].startswith("part.stops") for k in inside)
    kernels = [program.kernels[call.kernel] for call in program.routines["derivative"].calls]
    functions = {f.name() for kernel in kernels for f in kernel.find_functions(0) if f.name().startswith("part_")}
    assert functions
    assert gauge(program, "derivative", inside, functions).closed
    assert not gauge(translate(Shaken()).program, "derivative", inside, functions).closed
