"""Whatever a component has inside works when it is closed: all channels are those of the open model."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from parts.machines import Rig, Strut, Walker

from kompono import Body, Ground, Result, Simulation, State, Subsystem, simulate, simulate_many
from kompono.errors import ModelError
from kompono.library import Distance, Gravity, JointEffort, Revolute, Rotor, SpringDamper, Weld
from kompono.starting import closed_start
from kompono.translate import translate

pytestmark = pytest.mark.filterwarnings("ignore::kompono.ModelWarning")
RUN: dict[str, Any] = {"until": 0.4, "step": 1e-3, "every": 10}
LONG = "KOMPONO_LAWS" in os.environ
CLOSED = [["platform", "struts.*"], *([["struts.*"], ["struts.0"], ["platform"]] if LONG else [])]


@pytest.fixture(scope="module")
def opened() -> Callable[..., Result]:
    known: dict[Any, Result] = {}

    def run(make: Callable[[], Subsystem], **options: Any) -> Result:
        key = make, tuple(sorted((name, repr(value)) for name, value in options.items()))
        if key not in known:
            known[key] = simulate(make(), **{**RUN, **options})
        return known[key]

    return run


def compare(closed: Result, whole: Result, exact: float = 1e-9) -> None:
    assert whole.status.ok, whole.status.message
    assert closed.status.ok, closed.status.message
    assert set(closed) == set(whole)
    for name in whole:
        if not name.startswith("drift"):
            scale = 1.0 + np.abs(whole[name]).max()
            assert np.abs(closed[name] - whole[name]).max() < exact * scale, name


@pytest.mark.parametrize("closed", CLOSED, ids=lambda parts: "+".join(parts))
def test_all_channels_of_a_machine_by_parts(opened: Any, closed: list[str]) -> None:
    compare(simulate(Rig(), **RUN, closed=closed), opened(Rig))


@pytest.mark.parametrize("closed", [["drive"], ["guide"], ["*"]], ids="+".join)
def test_parts_on_grounds_of_their_own(opened: Any, closed: list[str]) -> None:
    compare(simulate(Walker(), **RUN, closed=closed), opened(Walker))


@pytest.mark.parametrize(
    ("make", "closed", "method"),
    [
        (Rig, "platform", {"method": "dopri5", "rtol": 1e-10}),
        (Walker, "guide", {"method": "adams"}),
        (Walker, "*", {"method": "DOP853", "rtol": 1e-10}),
        (Walker, "drive", {"method": "Radau", "rtol": 1e-9}),
    ],
)
def test_all_methods(opened: Any, make: Any, closed: str, method: dict[str, Any]) -> None:
    compare(simulate(make(), **RUN, **method, closed=[closed]), opened(make, **method), 1e-6)


@pytest.mark.parametrize(
    ("make", "closed"), [(Walker, ["*"]), *([(Rig, ["platform"]), (Rig, ["struts.*"])] if LONG else [])]
)
def test_bodies_placed_one_by_one(opened: Any, make: Any, closed: list[str]) -> None:
    request = {"engine": "absolute", "until": 0.1}
    compare(simulate(make(), **{**RUN, **request}, closed=closed), opened(make, **request), 1e-8)


def test_parts_say_themselves_that_they_are_closed(opened: Any) -> None:
    compare(simulate(Rig(closed=("platform",)), **RUN), opened(Rig))
    assert Strut(closed=True).closed is True


def test_parameters_inputs_and_starts_reach_the_inside(opened: Any) -> None:
    given = {
        "parameters": {"struts.0.stiffness": 300.0},
        "inputs": {"struts.1.pull": ([0.0, 1.0], [0.0, 3.0])},
        "initial": {"struts.0.slide.displacement": 0.03},
    }
    compare(simulate(Rig(), **RUN, **given, closed=CLOSED[0]), opened(Rig, **given))


def test_many_runs_by_parts() -> None:
    request = {"until": 0.2, "step": 1e-3, "runs": 10, "parameters": {"struts.0.stiffness": np.linspace(300, 500, 10)}}
    open_runs, closed_runs = (simulate_many(Rig(), **request, closed=closed) for closed in ((), CLOSED[0]))
    for name in ("pendulum.position.x", "struts.0.slide.displacement"):
        assert np.abs(open_runs[name] - closed_runs[name]).max() < 1e-9


class Meddler(Rig):
    def __init__(self) -> None:
        super().__init__()
        self.struts[0].expose(self.struts[0].slide)
        self.meddling = JointEffort(self.struts[0].slide, 1.0, coordinate="displacement")


@pytest.mark.parametrize("engine", ["relative", "absolute", "discrete"])
def test_the_state_has_the_names_of_the_open_machine(engine: str) -> None:
    whole, parts = (
        translate(Walker(), engine=engine, closed=closed, close=closed_start).program for closed in ([], ["*"])
    )
    assert sorted(parts.coordinates + parts.speeds) == sorted(whole.coordinates + whole.speeds)


def test_who_reaches_inside_is_refused() -> None:
    with pytest.raises(ModelError, match=r"meddling: it reaches struts\.0\.slide inside the closed part struts\.0"):
        simulate(Meddler(), **RUN, closed=["struts.0"])


def test_closed_is_true_or_false() -> None:
    rig = Rig()
    rig.platform.closed = 1
    with pytest.raises(ModelError, match="platform: closed = 1 is neither True nor False"):
        simulate(rig, **RUN)


def test_names_of_nobody_are_refused() -> None:
    with pytest.raises(ModelError, match="no component 'strut'"):
        simulate(Rig(), **RUN, closed=["strut"])
    with pytest.raises(ModelError, match="inside the closed part platform"):
        simulate(Rig(), **RUN, closed=["platform"], independent=["platform.bar"])


class Bob(Subsystem):
    def __init__(self) -> None:
        self.bob = Body(mass=0.5, inertia=(0.01, 0.01, 0.01))
        self.expose(self.bob)


class Felt(Subsystem):
    """A part with a part in it, and a state that follows an acceleration."""

    def __init__(self) -> None:
        self.inner, self.rod = Bob(), Body(mass=1.0, inertia=(0.02, 0.02, 0.01))
        self.pin = Revolute(self.rod.at(0, 0, -0.3), self.inner.bob.at(0, 0, 0.1), axis="x", angle=0.4)
        self.level = State(0.0)
        self.level.rate = self.rod.acceleration[2] - self.level
        self.expose(self.rod)


class Feeling(Subsystem):
    def __init__(self) -> None:
        self.ground, self.gravity, self.felt = Ground(), Gravity(), Felt()
        self.hinge = Revolute(self.ground, self.felt.rod.at(0, 0.2, 0.3), axis="x", angle=0.3)


@pytest.mark.parametrize("engine", ["relative", "absolute"])
def test_a_state_in_a_part_with_parts_follows_an_acceleration(engine: str) -> None:
    run: dict[str, Any] = {"until": 0.02, "step": 1e-3, "engine": engine, "channels": ["felt.level"]}
    whole, parts = (simulate(Feeling(), closed=closed, **run) for closed in ([], ["felt", "felt.inner"]))
    assert np.ptp(whole["felt.level"]) > 1e-2
    np.testing.assert_allclose(parts["felt.level"], whole["felt.level"], rtol=0, atol=1e-12)


class Chain(Subsystem):
    def __init__(self) -> None:
        self.holder, self.upper, self.lower = (Body(mass=2.0, inertia=(0.02, 0.03, 0.04)) for _ in range(3))
        self.first = Revolute(self.holder.at(0.1, 0, 0), self.upper.at(0, 0.1, 0.3), axis=(1, 2, 0.5), angle_rate=1.0)
        self.second = Revolute(self.upper.at(0.1, 0, 0), self.lower.at(0, 0.1, 0.3), axis=(1, -2, 0.5))
        self.expose(self.holder, self.upper, self.lower)


class Loaded(Subsystem):
    def __init__(self, carrier: str, pulled: str) -> None:
        self.ground, self.gravity, self.chain = Ground(), Gravity(), Chain()
        self.load = Body(mass=1.0, inertia=(0.01, 0.01, 0.01))
        self.top = Revolute(self.ground, self.chain.holder, axis="y", angle=0.2)
        self.hook = Revolute(getattr(self.chain, carrier).at(0, 0, -0.2), self.load.at(0, 0, 0.2), axis="x", angle=0.5)
        self.pull = SpringDamper(self.ground.at(0.5, 0, -0.3), getattr(self.chain, pulled), k=50, c=0.5, rest=0.2)


@pytest.mark.parametrize(("carrier", "pulled"), [("upper", "lower"), ("lower", "upper")])
def test_a_body_on_one_port_and_a_force_on_another(carrier: str, pulled: str) -> None:
    """What hangs on a port couples the wrench on the next one with the base, before that one is reached."""
    whole, parts = (simulate(Loaded(carrier, pulled), until=0.05, closed=closed) for closed in ([], ["chain"]))
    assert np.abs(whole["top.angle"] - parts["top.angle"]).max() < 1e-13


class Knuckle(Subsystem):
    """A body that rods alone hold to a carrier: no joint leads from one to the other."""

    def __init__(self, rods: int, wall: bool) -> None:
        self.carrier, self.plate = (Body(mass=1.0, inertia=(0.1, 0.2, 0.3)) for _ in range(2))
        self.knuckle = Body(mass=1.0, inertia=(0.1, 0.2, 0.3), start_position=(0, 0, -0.5))
        self.flange = Weld(self.carrier.at(0.2, 0, 0), self.plate)
        rng = np.random.default_rng(3)
        ends = [(rng.uniform(-0.3, 0.3, 3), rng.uniform(-0.3, 0.3, 3)) for _ in range(rods)]
        self.rods = [
            Distance(self.carrier.at(*a), self.knuckle.at(*b), length=float(np.linalg.norm(a - b + [0, 0, 0.5])))
            for a, b in ends
        ]
        if wall:
            self.wall = Ground()
            self.rope = Distance(self.wall.at(0.5, 0, -0.5), self.knuckle, length=0.5)
        self.expose(self.plate, self.knuckle)


class Corner(Subsystem):
    def __init__(self, rods: int, wall: bool = False) -> None:
        self.ground, self.gravity, self.part = Ground(), Gravity(), Knuckle(rods, wall)
        self.arm = Revolute(self.ground, self.part.plate.at(-0.2, 0, 0), axis=(1, 1, 0))
        self.wheel = Body(mass=1.0, inertia=(0.1, 0.2, 0.3))
        self.axle = Revolute(self.part.knuckle.at(0, 0, -0.2), self.wheel.at(0, 0, 0.1), axis="x")


@pytest.mark.parametrize("rods", [1, 7])  # the last of seven holds nothing that the others do not
def test_conditions_inside_hold_floating_bodies_to_the_base(rods: int) -> None:
    request: dict[str, Any] = {"until": 0.1, "step": 1e-3}
    compare(simulate(Corner(rods), **request, closed=["part"]), simulate(Corner(rods), **request), 1e-10)


def test_joints_inside_may_be_cut() -> None:
    request: dict[str, Any] = {"until": 0.05, "cut": ["chain.first"]}
    whole, parts = (simulate(Loaded("upper", "lower"), **request, closed=closed) for closed in ([], ["chain"]))
    compare(parts, whole, 1e-10)


def test_a_ground_inside_that_only_a_constraint_reaches() -> None:
    """The part then has no base, as if a joint led there."""
    request: dict[str, Any] = {"until": 0.1, "step": 1e-3}
    compare(simulate(Corner(1, wall=True), **request, closed=["part"]), simulate(Corner(1, wall=True), **request), 1e-7)


class Shaft(Subsystem):
    """A shaft with a rotor, which is a component that acts on a joint of its owner."""

    def __init__(self) -> None:
        self.case, self.shaft = (Body(mass=1.0, inertia=(0.1, 0.2, 0.3)) for _ in range(2))
        self.bearing = Revolute(self.case, self.shaft.at(0, 0.1, 0), axis="x")
        self.rotor = Rotor(self.bearing, inertia=1e-3, ratio=10)
        self.expose(self.case)


class Bench(Subsystem):
    def __init__(self) -> None:
        self.ground, self.gravity, self.drive = Ground(), Gravity(), Shaft()
        self.mount = Revolute(self.ground, self.drive.case.at(0.1, 0, 0), axis="z")


def test_a_part_that_connects_to_the_outside_is_refused_by_name_and_left_open_by_a_pattern() -> None:
    with pytest.raises(ModelError, match=r"drive\.rotor\.gear: it acts on drive\.bearing, which is outside"):
        Simulation(Bench(), closed=["drive.rotor"], native=False)
    rates: list[dict[str, float]] = []
    for closed in ([], ["drive*"]):
        simulation = Simulation(Bench(), closed=closed, native=False)
        rate = simulation.kernel.evaluate("derivative", 0.0, simulation.assemble().state)[0]
        names = (*simulation.program.coordinates, *simulation.program.speeds)
        rates.append(dict(zip(names, rate, strict=False)))
    whole, parts = rates
    assert max(map(abs, whole.values())) > 0.1
    assert all(abs(whole[name] - parts[name]) < 1e-12 for name in whole)
