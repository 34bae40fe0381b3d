"""Friction that follows a force, inside closed parts and beside them: the same events and motion as in open models."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from nonsmooth.law_machines import DryGuide, DryPin
from nonsmooth.rubbing_parts import Carried, Dragged, Heavy, Rocked, Swung, Wrapped
from nonsmooth.same_events import same_events

from kompono import Subsystem, simulate
from kompono.translate import translate
from kompono.translate.parts.gauge import gauge

LONG = bool(os.environ.get("KOMPONO_LAWS"))


class Within(Subsystem):
    """A machine as a component that shows nothing."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.inner = make()


def check_closed(make: Callable[[], Any], closed: list[str], names: list[str], exact: float, **options: Any) -> None:
    """A closed model has the events of the open one, to rounding, and its channels."""
    options = {"until": 1.0, "step": 1e-3, "progress": False, **options}
    first, second = simulate(make(), **options), simulate(make(), closed=closed, **options)
    same_events(first, second, least=3)
    for name in names:
        bound = max(exact, 1e-9) if "friction" in name else exact  # [N] redundant rows share after refinements
        assert np.abs(first[name] - second[name]).max() < bound, name


def test_friction_by_the_force_of_a_joint_inside() -> None:
    names = ["pin.angle", "part.core.slide.displacement", "base.torque.x", "part.core.rubs.friction"]
    for closed in (["part"], ["part", "part.core"]) if LONG else (["part", "part.core"],):
        check_closed(lambda: Rocked(Wrapped), closed, names, 1e-11)


@pytest.mark.skipif(not LONG, reason="takes long to translate")
@pytest.mark.parametrize("make", [Rocked, Swung])
def test_in_absolute_coordinates(make: Callable[[], Any]) -> None:
    check_closed(make, ["part"], ["pin.angle"], 1e-10, engine="absolute")


def test_a_ball_on_the_rough_floor_of_its_part() -> None:
    check_closed(Swung, ["part"], ["pin.angle", "part.ball.position.x", "part.touch.normal"], 1e-8)


def test_a_box_on_the_rough_floor_of_its_part() -> None:
    check_closed(Dragged, ["part"], ["part.box.position.x", "rail.displacement", "part.feet.1.friction.x"], 1e-11)


def test_a_loose_ball_on_a_tray_that_is_the_port() -> None:
    check_closed(Carried, ["part"], ["rail.displacement", "part.ball.position.x", "tilt.angle"], 1e-9)


def test_the_joint_that_carries_a_part_rubs() -> None:
    check_closed(Heavy, ["part"], ["rail.displacement", "rubs.friction", "part.knee.angle"], 1e-11)


@pytest.mark.parametrize(("make", "names", "until"), [(DryPin, ["pin.angle"], 4.0), (DryGuide, ["bearing.angle"], 1.0)])
@pytest.mark.filterwarnings("ignore:assembly moved")
def test_parts_without_ports(make: Callable[[], Any], names: list[str], until: float) -> None:
    check_closed(lambda: Within(make), ["inner"], [f"inner.{name}" for name in names], 1e-10, until=until)


def test_no_owner_looks_inside() -> None:
    program = translate(Rocked(), closed=["part"]).program
    names = (*program.coordinates, *program.speeds, *program.modes)
    inside = [k for k, name in enumerate(names) if name.startswith("part.")]
    kernels = [program.kernels[call.kernel] for call in program.routines["derivative"].calls]
    functions = {f.name() for kernel in kernels for f in kernel.find_functions(0) if f.name().startswith("part_")}
    assert functions
    assert gauge(program, "derivative", inside, functions).closed
