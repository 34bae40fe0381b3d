"""Closed parts among stiff links: they are told wrenches, tell where their ports are, and move what is inside
themselves. Differences to the open machine are rounding times stiffness.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from parts.machines import Rig, Walker
from parts.test_separate import Loaded, functions, texts  # noqa: F401  a fixture

from kompono import Body, Ground, Output, Result, Sensor, State, Subsystem, simulate
from kompono.examples.car import Car
from kompono.library import Gravity, Revolute, Spherical, SpringDamper, solids
from kompono.starting import closed_start
from kompono.translate import translate
from kompono.translate.parts.gauge import gauge
from kompono.translate.program import Program

pytestmark = pytest.mark.filterwarnings("ignore::kompono.ModelWarning")


class Pendulum(Subsystem):
    """Two rods; one end is a frame."""

    def __init__(self) -> None:
        self.upper = Body(solids.rod(mass=1.0, length=0.4, radius=0.02))
        self.lower = Body(solids.rod(mass=0.5, length=0.4, radius=0.02))
        self.elbow = Revolute(self.upper.at(0, 0, 0.2), self.lower.at(0, 0, -0.2), axis="y", angle=0.3)
        self.expose(self.upper, tip=self.lower.at(0, 0, 0.2))


class Carrier(Subsystem):
    """A component in a component, with a state that follows an acceleration, and a port that is one inside."""

    def __init__(self) -> None:
        self.arm = Pendulum()
        self.ball = Body(solids.sphere(mass=0.7, radius=0.1))
        self.hook = Spherical(self.arm.tip, self.ball.at(0, 0, 0.15))
        self.level = State(0.0)
        self.level.rate = 0.1 * self.ball.acceleration[2] - self.level
        self.twice = Output(2 * self.level)
        self.expose(self.ball, self.arm.upper, mouth=self.arm.tip)


class Hanging(Subsystem):
    """Loads, sensors and forces of an owner on ports of both."""

    def __init__(self) -> None:
        self.ground, self.gravity, self.carrier = Ground(), Gravity(), Carrier()
        self.top = Revolute(self.ground.at(0, 0, 1), self.carrier.arm.upper.at(0, 0, -0.2), axis="x", angle=0.4)
        self.load = Body(solids.sphere(mass=0.2, radius=0.05))
        self.eye = Spherical(self.carrier.mouth, self.load.at(0, 0.1, 0))
        self.seen = Sensor(self.carrier.ball.at(0, 0, 0.05))
        self.spring = SpringDamper(self.ground, self.carrier.ball, k=30.0, c=0.3, rest=0.3)
        self.more = Output(self.carrier.twice + 1)


@pytest.fixture(scope="module")
def opened() -> Callable[..., Result]:
    known: dict[Any, Result] = {}

    def run(make: Callable[[], Subsystem], **options: Any) -> Result:
        key = make, repr(options)
        if key not in known:
            known[key] = simulate(make(), engine="discrete", **options)
        return known[key]

    return run


def compare(closed: Result, whole: Result) -> None:
    """Positions to 1e-12; forces and accelerations as far as rounding of positions lets links of 1e9 N/m have them."""
    assert whole.status.ok, whole.status.message
    assert closed.status.ok, closed.status.message
    assert set(closed) == set(whole)
    assert [path for _, path in closed.statistics.get("events", [])] == [
        path for _, path in whole.statistics.get("events", [])
    ]
    for name in whole:
        slow = ".velocity" in name or name.startswith("energy")
        exact = 1e-12 if ".position" in name else 1e-9 if slow else 1e-5
        assert np.abs(closed[name] - whole[name]).max() < exact * (1.0 + np.abs(whole[name]).max()), name


@pytest.mark.parametrize(
    ("make", "closed"),
    [
        (Rig, ["platform", "struts.*"]),
        (Walker, ["*"]),
        (Hanging, ["carrier"]),
        (Hanging, ["carrier", "carrier.arm"]),
    ],
)
def test_all_channels_of_a_machine_by_parts(opened: Any, make: Any, closed: list[str]) -> None:
    run = {"until": 0.05, "every": 50}
    compare(simulate(make(), engine="discrete", closed=closed, **run), opened(make, **run))


def test_parameters_inputs_strengths_and_processes(opened: Any) -> None:
    run: dict[str, Any] = {"until": 0.03, "inputs": {"struts.0.pull": 9.0}, "parameters": {"struts.1.stiffness": 300.0}}
    run |= {"stiffness": {"struts.0.slide": 1e5}, "every": 50}
    whole, plain = opened(Rig, **run), opened(Rig, until=0.05, every=50)
    rows = len(whole.time)
    assert np.abs(whole["struts.0.travel"] - plain["struts.0.travel"][:rows]).max() > 1e-3
    compare(simulate(Rig(), engine="discrete", closed=["struts.*"], isolate=["struts.1"], **run), whole)


# -- the border

NAMES = {"kick": {"move", "kick"}, "drift": {"coast"}, "outputs": {"move", "follow", "report", "drift"}}


def places_in(program: Program, path: str) -> list[int]:
    names = [*program.coordinates, *program.speeds]
    return [k for k, name in enumerate(names) if name.startswith(f"{path}.")]


@pytest.mark.parametrize("path", ["left", "left.damper"])
def test_nobody_looks_inside_a_closed_part(path: str) -> None:
    translation = translate(Car(), engine="discrete", closed=[path], close=closed_start)
    program, bodies = translation.program, map(translation.model.path, translation.model.bodies)
    places = places_in(program, path)
    assert len(places) == 18 * sum(name.startswith(f"{path}.") for name in bodies)
    for routine, asked in NAMES.items():
        program.routines[routine]
        (part,) = translation.engine.compartment.parts
        names = {made.function.name(): name for name, made in part._made.items()}
        found = gauge(program, routine, places, names)
        assert found.closed
        assert {names[name] for name in found.calls} == asked


def test_the_gauge_sees_a_translator_that_ignores_components() -> None:
    program = translate(Car(), engine="discrete", close=closed_start).program
    for routine in NAMES:
        assert gauge(program, routine, places_in(program, "left"), ()).looks > 10


def test_what_crosses_is_what_the_border_allows() -> None:
    """time, fields (9), x, wrenches on two ports (6 each), stiffness, damping, levers, numbers; motions of ports (18),
    x.
    """
    translation = translate(Car(), engine="discrete", closed=["left"], close=closed_start)
    for routine in NAMES:
        translation.program.routines[routine]
    (part,) = translation.engine.compartment.parts
    rows = 5 + 4  # of the hinge and of the slide that turns
    sizes = {"time": 1, "fields": 9, "x": part.inside.size, "given": 6 * len(part.border.others)}
    strengths = dict.fromkeys(("kick", "follow", "report", "resolve"), 2 * rows + 4)  # and the lever of the slide
    results = {"move": 36, "kick": 18, "coast": part.inside.size, "follow": 12, "drift": 2, "resolve": part.inside.size}
    for name, made in part._made.items():
        assert len(made.signals) == strengths.get(name, 0), name
        given = sum(sizes[group] for group in made.groups) + len(made.signals) + made.numbers.numel()
        assert made.function.nnz_in() == given
        assert made.function.nnz_out() == results.get(name, made.function.nnz_out())
    assert {*results, "report"} == set(part._made)


def test_a_changed_owner_compiles_the_owner_only(texts: list[str]) -> None:  # noqa: F811
    def compiled(model: Car) -> list[str]:
        texts.clear()
        request = {"until": 1e-3, "closed": ["*_wheel"], "channels": "body.position.*", "engine": "discrete"}
        assert simulate(model, **request).status.ok
        return list(texts)

    assert len(functions(compiled(Car()))) >= 3  # move, kick, coast, of either wheel
    again = compiled(Loaded())
    assert again
    assert not functions(again)
    assert not compiled(Loaded())
