"""Whoever gives no number in a run is named by its path, with the operation and the numbers it was given, whatever the
engine, the method, laws beside it and walls around it; all rows up to there are kept.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest
from solve.machines import Pendulum, Swing

from kompono import (
    Body,
    Constraint,
    Coupling,
    Field,
    Force,
    Ground,
    Input,
    Mode,
    Motion,
    Output,
    Parameter,
    Pose,
    Sealed,
    Simulation,
    State,
    Subsystem,
    Wrench,
    seal,
    simulate,
    simulate_many,
    time,
)
from kompono.compile import targets
from kompono.elsewhere.hosts import InProcess
from kompono.library import DryFriction, Gravity, JointEffort, Prismatic, Revolute, Weld, solids
from kompono.request import Request
from kompono.sealed import keys
from kompono.solve.settings import settings_of
from kompono.translate.diagnose import Way, diagnose
from kompono.translate.undefined import first_undefined

pytestmark = pytest.mark.filterwarnings("ignore::kompono.RunWarning")
RUN: dict[str, Any] = {"until": 0.1, "step": 1e-3, "progress": False}
END = 0.0504  # [s] from which on nothing wrong is a number
ROOT = ca.sqrt(END - time)


class Pulled(Force):
    def wrench(self, motion: Motion) -> Wrench:
        return Wrench(force=ca.vertcat(ROOT, 0, 0))


class Held(Constraint):
    def conditions(self, pose: Pose) -> list[Any]:
        return [pose.position[0] - ROOT]


class Led(Coupling):
    def conditions(self) -> list[Any]:
        return [self.joints[0].q[0] - ROOT]


class Fallen(Field):
    def acceleration(self, position: Any) -> Any:
        return ca.vertcat(0, 0, 1 / ca.fmax(END - time, 0))


class Machine(Pendulum):
    """A pendulum and a block on a rail, with one thing that is wrong."""

    def __init__(self, kind: str) -> None:
        super().__init__(angle=0.3)
        self.block = Body(mass=1.0, inertia=(0.1, 0.1, 0.1))
        start = {} if kind in ("condition", "coupling") else {"displacement_rate": 1.0}
        self.rail = Prismatic(self.ground, self.block, axis="x", displacement=float(np.sqrt(END)), **start)
        getattr(self, f"_{kind}")()

    def _force(self) -> None:
        self.wrong = Pulled(self.rod)

    def _effort(self) -> None:  # of the coordinate: x = sqrt(END) + t
        self.wrong = JointEffort(self.rail, 1e-9 * ca.sqrt(float(np.sqrt(END)) + END - self.rail.displacement))

    def _signal(self) -> None:
        self.wrong = Output(ROOT)
        self.motor = JointEffort(self.pin, 2 * self.wrong)

    def _state(self) -> None:
        self.wrong = State(1.0)
        self.wrong.rate = ca.asin(1 + time - END)

    def _condition(self) -> None:
        self.wrong = Held(self.ground, self.block)

    def _coupling(self) -> None:
        self.wrong = Led(self.rail)

    def _field(self) -> None:
        self.wrong = Fallen()

    def _law(self) -> None:
        self.wrong = DryFriction(self.pin, preload=ROOT, radius=0.01)

    def _beside_a_law(self) -> None:
        self.rubs = DryFriction(self.pin, preload=1.0, radius=0.01)
        self.wrong = JointEffort(self.rail, ROOT)

    def _sample(self) -> None:
        self.wrong = Mode(0.0, every=0.01)
        self.wrong.next = ca.sqrt(0.045 - time)
        self.motor = JointEffort(self.pin, self.wrong)


WORDS = {
    "force": "its force is not a number at t = 0.0504 s: the square root of -",
    "effort": "its effort is not a number at t = 0.0504 s: the square root of -",
    "signal": "its value is not a number at t = 0.0504 s: the square root of -",
    "state": "its rate is not a number at t = 0.0504 s: the arc sine of 1.000000",
    "condition": "its condition is ",
    "coupling": "its condition is ",
    "field": "its acceleration is infinite at t = 0.0504 s: 1 divided by 0",
    "law": "its gap, slip or coefficient is not a number at t = 0.0504 s: the square root of -",
    "beside_a_law": "its effort is not a number at t = 0.0504 s: the square root of -",
    "sample": "its value is not a number at t = 0.05 s",
}
WAYS: list[tuple[dict[str, Any], set[str]]] = [
    ({"method": "rk4"}, set(WORDS)),
    ({"engine": "absolute", "method": "dopri5"}, set(WORDS)),
    ({"method": "esdirk4"}, {"effort", "condition"}),
    ({"engine": "discrete", "step": 1e-4, "every": 10}, {"force", "state", "condition", "sample"}),
]
CASES = [(kind, way) for way, kinds in WAYS for kind in WORDS if kind in kinds]


@pytest.mark.parametrize(("kind", "way"), CASES, ids=[f"{kind}-{'-'.join(map(str, w.values()))}" for kind, w in CASES])
def test_who_gives_no_number_is_named_with_the_operation(kind: str, way: dict[str, Any]) -> None:
    result = simulate(Machine(kind), **{**RUN, **way})
    status = result.status
    assert not status.ok
    assert status.message.startswith(f"wrong: {WORDS[kind]}"), status.message
    assert 0.048 < status.time < END + 1e-8
    assert result.time[-1] == pytest.approx(status.time)
    assert np.isfinite(result["pin.angle"]).all()
    assert len(result.time) >= 48


def test_what_was_fed_last_is_looked_at() -> None:
    class Fed(Pendulum):
        def __init__(self) -> None:
            super().__init__(angle=0.3)
            self.push = Input(0.0)
            self.wrong = JointEffort(self.pin, ca.sqrt(0.5 - self.push))

    for push in (lambda t, _: 10 * t, 0.001), ([0.0, 0.1], [0.0, 1.0]):
        message = simulate(Fed(), inputs={"push": push}, **RUN).status.message
        assert message.startswith("wrong: its effort is not a number at t = 0.05"), message


def test_what_moves_a_machine_at_rest_is_met() -> None:
    """x = t^2 / 2 reaches 1e-7 m within the first step, which begins with no speed."""

    class Resting(Subsystem):
        def __init__(self) -> None:
            self.ground, self.block = Ground(), Body(mass=1.0, inertia=(1, 1, 1))
            self.rail = Prismatic(self.ground, self.block, axis="x")
            self.push = JointEffort(self.rail, 1.0)
            self.wrong = JointEffort(self.rail, 1e-6 * ca.sqrt(1e-7 - self.rail.displacement))

    message = simulate(Resting(), **RUN).status.message
    assert message.startswith("wrong: its effort is not a number at t = 0.000447213"), message


class Arm(Subsystem):
    def __init__(self) -> None:
        self.hub = Body(solids.sphere(mass=0.1, radius=0.05))
        self.rod = Body(solids.rod(mass=1.0, length=1.0, radius=0.02))
        self.pin = Revolute(self.hub, self.rod.at(0, 0, 0.5), axis="y", angle=0.3)
        self.wrong = JointEffort(self.pin, ROOT)
        self.expose(self.hub, self.rod)


class Owner(Subsystem):
    def __init__(self, arm: Any = Arm, late: Any = 0.0) -> None:
        self.ground, self.gravity, self.arm = Ground(), Gravity(), arm()
        self.mount = Weld(self.ground, self.arm.hub)
        self.block = Body(mass=1.0, inertia=(0.1, 0.1, 0.1))
        self.rail = Prismatic(self.ground, self.block, axis="x")
        self.late = JointEffort(self.rail, late)


@pytest.mark.parametrize("engine", ["relative", "absolute", "discrete"])
def test_a_closed_part_is_opened_to_look(engine: str) -> None:
    step = {"step": 1e-4, "every": 10} if engine == "discrete" else {}
    status = simulate(Owner(), engine=engine, closed=["arm"], **{**RUN, **step}).status
    assert status.message.startswith("arm.wrong: its effort is not a number at t = 0.0504 s"), status.message


def test_of_a_sealed_part_its_path_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KOMPONO_CONFIG", str(tmp_path / "config"))
    file = tmp_path / "arm.part"
    seal(Arm, file, author=keys.make("Ada"), targets=[targets.fitting(targets.TARGETS) or "wasm32"])
    status = simulate(Owner(lambda: Sealed(file)), **RUN).status
    assert status.message.startswith("arm: what it answers is not a number at t = 0.0504"), status.message


@pytest.mark.parametrize("method", ["rk4", "dopri5"])
def test_parts_elsewhere_are_told_from_their_owner(method: str) -> None:
    def run(late: Any) -> Any:
        request = Request(until=0.1, step=1e-3, method=method)
        return Simulation(Owner(late=late), elsewhere={"arm": InProcess()}).run(settings_of(request), progress=False)

    inside, outside = run(0.0), run(ca.sqrt(0.0304 - time))
    assert inside.status.message.startswith("arm"), inside.status.message
    assert 0.048 < inside.status.time <= END
    assert inside.time[-1] == inside.status.time
    assert np.isfinite(inside["arm.pin.angle"]).all()
    assert outside.status.message.startswith("late: its effort is not a number at t = 0.0304"), outside.status.message


def test_in_an_ensemble_it_is_told_of_the_first_runs_and_where_to_look_for_the_others() -> None:
    class Fragile(Pendulum):
        def __init__(self) -> None:
            super().__init__(angle=0.3)
            self.end = Parameter(1.0, unit="s")
            self.wrong = JointEffort(self.pin, ca.sqrt(self.end - time))

    ends = [0.0104, 1.0, 0.0204, 0.0304, 0.0404, 0.0504, 0.0604, 0.0704]
    status = simulate_many(Fragile(), parameters={"end": ends}, **RUN).status
    assert [one.ok for one in status] == [end == 1.0 for end in ends]
    for end, one in list(zip(ends, status, strict=True))[:6]:
        assert one.ok or one.message.startswith(f"wrong: its effort is not a number at t = {end} s"), one.message
    assert all("runs 0, 2, 3, 4, 5" in one.message for one in status[6:]), status[6].message


def test_at_a_good_state_nobody_is_blamed() -> None:
    from kompono.examples.woodpecker import Woodpecker

    for model, engine in ((Woodpecker(), "relative"), (Swing(), "absolute"), (Swing(), "discrete")):
        simulation = Simulation(model, engine=engine)
        feed, parameters = simulation.feed(), simulation.parameters()
        state = simulation.assemble().state
        parameters = simulation.completed(parameters, state, feed, 1e-5)
        still = lambda *_: np.zeros(0)  # noqa: E731
        way = Way(0.0, state, np.array([feed.at(0.0)] * 2), 1e-3, still)
        assert diagnose(simulation.translation, way, parameters) is None


@pytest.mark.parametrize(
    ("expression", "given", "words"),
    [
        (lambda x: ca.sqrt(x[0]) + x[1], (-4.0, 1.0), "the square root of -4"),
        (lambda x: x[0] / x[1], (1.0, 0.0), "1 divided by 0"),
        (lambda x: x[0] / x[1], (0.0, 0.0), "0 divided by 0"),
        (lambda x: x[0] ** x[1], (-2.0, 0.5), "-2 to the power of 0.5"),
        (lambda x: 3 * ca.log(x[0] - x[1]), (1.0, 2.0), "the logarithm of -1"),
        (lambda x: ca.acos(x[0]) * 2, (1.5, 0.0), "the arc cosine of 1.5"),
        (lambda x: ca.exp(x[0]), (1e3, 0.0), "the exponential of 1e+03"),
        (lambda x: ca.if_else(x[0] > 0, ca.sqrt(x[0]), x[1]), (1.0, 0.0), None),
    ],
)  # fmt: skip
def test_the_operation_that_is_not_defined_is_found(expression: Any, given: tuple[float, ...], words: str) -> None:
    x = ca.SX.sym("x", 2)
    found = first_undefined(ca.Function("f", [x], [expression(x)]), np.array(given))
    assert (found.words if found else None) == words
    assert found is None or found.undefined is (words != "the exponential of 1e+03")
