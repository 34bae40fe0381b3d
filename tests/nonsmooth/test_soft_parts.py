"""contact="soft" inside closed parts: forces and bristles stay there, and the motion is that of the open model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from nonsmooth.test_parts import Nested, Shaken

from kompono import Body, Event, Ground, Mode, Subsystem, simulate, time
from kompono.library import Contact, Gravity, SpringDamper, solids
from kompono.translate import translate


class Floored(Subsystem):
    """A ball above a floor of its own."""

    def __init__(self, height: float = 0.4) -> None:
        self.ground, self.pressed = Ground(), Mode(0)
        self.press = Event(time - 0.2, {self.pressed: 1})
        self.ball = Body(
            solids.sphere(mass=1.0, radius=0.1), start_position=(0, 0, height), start_velocity=(0.5, 0, 0),
            start_angular_velocity=(0, 3, 0),
        )  # fmt: skip
        self.floor = Contact(self.ground.plane(), self.ball.sphere(0.1), mu=0.3 + self.pressed, restitution=0.6)
        self.expose(self.ball)


class Hung(Subsystem):
    def __init__(self, height: float = 0.4, kind: Any = None) -> None:
        self.ground, self.gravity, self.part = Ground(), Gravity(), kind() if kind else Floored(height)
        self.cord = SpringDamper(self.ground.at(0, 0, 2), self.part.ball, k=20, rest=1.5)


def apart(model: Any, closed: list[str], isolate: tuple[str, ...] = (), **options: Any) -> float:
    """How far all channels of the closed model are from those of the open one, relative."""
    options = {"until": 0.5, "step": 5e-4, "every": 5, "contact": "soft", "progress": False, **options}
    first = simulate(model(), **options).check()
    second = simulate(model(), closed=closed, isolate=isolate, **options).check()
    assert set(first) == set(second)
    return max(float(np.abs(first[n] - second[n]).max() / (1 + np.abs(first[n]).max())) for n in first)


@pytest.mark.parametrize("engine", ["relative", "absolute"])
def test_friction_stops_and_a_contact_of_the_owner(engine: str) -> None:
    assert apart(lambda: Shaken(Nested, floor=0.45), ["part", "part.core"], engine=engine) < 1e-9


def test_contact_inside_with_a_floor_and_modes_of_its_own() -> None:
    assert apart(Hung, ["part"]) < 1e-13
    assert apart(Hung, ["part"], isolate=("part",)) < 1e-13


def test_bristles_are_nobody_elses() -> None:
    program = translate(Hung(), closed=["part"], contact="soft").program
    assert program.modes[-2:] == ("part.floor.bristle.x", "part.floor.bristle.y")
    assert "contact_step" in program.parameters


def test_among_stiff_links() -> None:
    """Links make forces of rounding."""
    options = {"engine": "discrete", "step": 1e-5, "every": 100, "until": 0.01}
    assert apart(lambda: Shaken(Nested, floor=0.45), ["part", "part.core"], **options) < 1e-5
    begin = options | {"every": 1, "until": 1e-4}
    assert apart(lambda: Hung(height=0.0999), ["part"], **begin) < 1e-9  # bristles bend until it slips
