"""Python callables that feed inputs: each run has its own memory, they are asked exactly on time, and their mistakes
end the run with a reason.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from solve.machines import Pendulum

from kompono import Body, Ground, Input, Subsystem, simulate, simulate_many
from kompono.errors import RunError, RunWarning
from kompono.library import JointEffort, Prismatic
from kompono.simulation import Simulation
from kompono.solve.integrate import Settings

RUN = {"until": 0.2, "step": 0.01}
calls = 0
shared: list[float] = []


class Machine(Subsystem):
    """A mass of 1 kg on a rail, pushed by the sum of its inputs."""

    def __init__(self, push: Input, *more: Input) -> None:
        self.ground = Ground()
        self.block = Body(mass=1.0, inertia=(1, 1, 1))
        self.slide = Prismatic(self.ground, self.block, axis="x")
        self.push, self.more = push, list(more)
        self.effort = JointEffort(self.slide, sum(more, push))


class Integrator:
    """A controller that remembers the sum of its errors."""

    def __init__(self) -> None:
        self.sum, self.asked = 0.0, []

    def __call__(self, t: float, read: Callable[[str], float]) -> float:
        self.sum += 1.0 - read("slide.displacement")
        self.asked.append(t)
        return self.sum

    def control(self, t: float, read: Callable[[str], float]) -> float:
        return self(t, read)


class Told(Integrator):
    """One that is told when a run begins."""

    begun = 0

    def reset(self) -> None:
        self.begun += 1
        self.sum, self.asked = 0.0, []


class Slotted:
    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, t: float) -> float:
        self.count += 1
        return self.count


def with_nonlocal() -> Callable[[float], float]:
    count = 0

    def law(t: float) -> float:
        nonlocal count
        count += 1
        return count

    return law


def with_a_list_and_noise() -> Callable[[float], float]:
    held, noise = [np.zeros(2)], np.random.default_rng(3)

    def law(t: float) -> float:
        held[0][1] += noise.standard_normal()
        held.append(t)
        return held[0][1] + len(held)

    return law


def with_a_default(t: float, memory: dict[str, int] = {}) -> float:  # noqa: B006
    memory["count"] = memory.get("count", 0) + 1
    return memory["count"]


def with_a_global(t: float) -> float:
    global calls
    calls += 1
    shared.append(t)
    return calls + len(shared)


def with_an_attribute(t: float) -> float:
    with_an_attribute.count = getattr(with_an_attribute, "count", 0) + 1  # type: ignore[attr-defined]
    return with_an_attribute.count  # type: ignore[attr-defined]


def counted(memory: list[float], t: float) -> float:
    memory.append(t)
    return len(memory)


REMEMBERING = {
    "object": Integrator(),
    "bound method": Integrator().control,
    "told": Told(),
    "slots": Slotted(),
    "class": Integrator,
    "nonlocal": with_nonlocal(),
    "list": with_a_list_and_noise(),
    "default": with_a_default,
    "global": with_a_global,
    "attribute": with_an_attribute,
    "partial": functools.partial(counted, []),
}


@pytest.mark.parametrize("kind", REMEMBERING)
def test_a_callable_remembers_nothing_of_another_run(kind: str) -> None:
    model = Machine(Input(REMEMBERING[kind], period=0.02))
    first, second = simulate(model, **RUN), simulate(model, **RUN)
    many = simulate_many(model, runs=3, threads=2, **RUN)
    last = simulate(model, **RUN)
    assert first["push"].max() > 1.5
    for again in (second.table, last.table, *many.table):
        assert np.array_equal(again, first.table)


def test_a_factory_makes_a_callable_for_each_run() -> None:
    model = Machine(Input(factory=with_nonlocal, period=0.02))
    first = simulate(model, **RUN)
    assert first["push"][-1] == 10
    assert np.array_equal(simulate(model, **RUN).table, first.table)
    assert all(np.array_equal(table, first.table) for table in simulate_many(model, runs=2, **RUN).table)


def test_inputs_that_share_a_controller_share_its_memory_in_every_run() -> None:
    def alternating() -> tuple[Callable[[float], float], Callable[[float], float]]:
        held = [0.0]

        def write(t: float) -> float:
            held[0] += 1
            return 0.0

        return write, lambda t: held[0]

    write, look = alternating()
    model = Machine(Input(write, period=0.05), Input(look, period=0.05))
    first = simulate(model, **RUN)
    assert first["more.0"].max() >= 4
    assert np.array_equal(simulate(model, **RUN).table, first.table)
    assert all(np.array_equal(table, first.table) for table in simulate_many(model, runs=2, **RUN).table)


def test_after_a_run_its_memory_can_be_read_and_changes_by_the_user_stay() -> None:
    controller = Integrator()
    controller.gain = 1.0
    model = Machine(Input(controller, period=0.05))
    simulate(model, **RUN)
    assert controller.asked == pytest.approx([0.0, 0.05, 0.1, 0.15])
    assert controller.sum > 3
    controller.gain = 7.0
    simulate(model, **RUN)
    assert controller.gain == 7.0
    assert len(controller.asked) == 4
    controller.sum = 100.0
    assert simulate(model, **RUN)["push"][-1] > 100


def test_a_method_of_the_model_itself_may_be_a_controller() -> None:
    class Own(Pendulum):
        def __init__(self) -> None:
            super().__init__(angle=0.3)
            self.count = 0
            self.torque = Input(self.control, period=0.05)
            self.motor = JointEffort(self.pin, self.torque)

        def control(self, t: float) -> float:
            self.count += 1
            return 0.1 * self.count

    model = Own()
    first = simulate(model, **RUN)
    assert model.count == 4
    assert np.array_equal(simulate(model, **RUN).table, first.table)
    assert all(np.array_equal(table, first.table) for table in simulate_many(model, runs=2, **RUN).table)


def test_reset_is_called_once_a_run() -> None:
    told = Told()
    model = Machine(Input(told, period=0.05), Input(told.control, period=0.1))
    for _ in range(3):
        simulate(model, **RUN)
    assert told.begun == 3


def test_an_iterator_that_was_used_up_is_refused() -> None:
    values = iter(np.arange(100.0))
    model = Machine(Input(lambda t: next(values), period=0.05))
    simulate(model, **RUN)
    with pytest.raises(RunError, match=r"^push: the callable remembers an earlier run.*factory"):
        simulate(model, **RUN)


@pytest.mark.parametrize("method", ["rk2", "rk4", "adams", "dopri5", "Radau"])
@pytest.mark.parametrize("period", [0.025, 0.0137, 0.003])
def test_a_callable_is_asked_exactly_at_multiples_of_its_period(method: str, period: float) -> None:
    asked: list[float] = []
    model = Machine(Input(lambda t: (asked.append(t), float(t < 0.05))[1], period=period))
    result = simulate(model, until=0.205, step=0.01, method=method, rtol=1e-10)
    assert np.abs(np.array(asked) - period * np.arange(len(asked))).max() < 1e-15
    assert len(asked) == int(np.ceil(0.205 / period))
    assert result.time == pytest.approx([*(0.01 * np.arange(21)), 0.205], abs=1e-15)
    pushed = period * np.ceil(0.05 / period)
    assert result["slide.displacement.rate"][-1] == pytest.approx(pushed, abs=1e-9)
    assert result["slide.displacement"][-1] == pytest.approx(pushed**2 / 2 + pushed * (0.205 - pushed), abs=1e-9)


def test_the_discrete_engine_asks_exactly_too() -> None:
    asked: list[float] = []
    model = Machine(Input(lambda t: (asked.append(t), float(t < 0.01))[1], period=0.0013))
    result = simulate(model, until=0.02, engine="discrete", step=1e-4, every=10)
    assert np.abs(np.array(asked) - 0.0013 * np.arange(len(asked))).max() < 1e-15
    assert result["slide.displacement.rate"][-1] == pytest.approx(0.0104, abs=1e-9)
    assert len(result.time) == 21


@pytest.mark.parametrize("method", ["rk4", "dopri5", "Radau"])
def test_an_exception_ends_the_run_with_path_time_and_results(method: str) -> None:
    def law(t: float) -> float:
        if t > 0.1:
            raise ValueError("no signal")
        return 1.0

    with pytest.warns(RunWarning, match=r"push: the callable raised ValueError: no signal .*test_controllers.py:\d+"):
        result = simulate(Machine(Input(law, period=0.015)), method=method, **RUN)
    assert not result.status.ok
    assert result.status.time == pytest.approx(0.105)
    assert result.status.message.endswith("at t = 0.105 s")
    assert isinstance(result.status.cause, ValueError)
    assert result.time == pytest.approx([*(0.01 * np.arange(11)), 0.105])
    assert result["slide.displacement"][-1] == pytest.approx(0.105**2 / 2)
    with pytest.raises(RunError, match="push: the callable raised") as caught:
        result.check()
    assert caught.value.__cause__ is result.status.cause


def test_an_exception_at_the_start_leaves_the_start() -> None:
    with pytest.warns(RunWarning, match="ZeroDivisionError"):
        result = simulate(Machine(Input(lambda t: 1 / t, period=0.1)), **RUN)
    assert result.time.tolist() == [0.0]


@pytest.mark.parametrize("answer", [np.nan, np.inf, None, "fast", [1.0, 2.0]])
def test_an_answer_that_is_no_number_is_named(answer: Any) -> None:
    with pytest.warns(RunWarning, match=r"push: the callable returned .* at t = 0.1 s"):
        result = simulate(Machine(Input(lambda t: answer if t > 0.05 else 1.0, period=0.1)), **RUN)
    assert result.time[-1] == pytest.approx(0.1)


def test_runs_of_an_ensemble_fail_one_by_one() -> None:
    def law(t: float, read: Callable[[str], float]) -> float:
        return 1 / (read("slide.displacement") <= 1.0)

    model = Machine(Input(law, period=0.01))
    with pytest.warns(RunWarning, match="1 of 3 runs .* run 2: push: the callable raised ZeroDivisionError"):
        many = simulate_many(model, initial={"slide.displacement": [0.0, 0.5, 0.99]}, until=0.2, step=0.01)
    assert many.failed == [2]
    assert isinstance(many.status[2].cause, ZeroDivisionError)
    with pytest.raises(RunError, match="run 2"):
        many.check()


def test_what_arguments_a_callable_wants_is_seen() -> None:
    def speed(law: Callable[..., float]) -> float:
        return float(simulate(Machine(Input(law, period=0.1)), **RUN)["slide.displacement.rate"][-1])

    assert speed(lambda t, gain=3.0: gain) == pytest.approx(0.6)  # a default value is the user's
    assert speed(lambda t, read=None: float(read("slide.displacement") >= 0)) == pytest.approx(0.2)
    assert speed(lambda *given: float(len(given))) == pytest.approx(0.4)
    assert speed(float) == pytest.approx(0.01)
    for wrong in (lambda: 1.0, lambda t, read, more: 1.0, lambda t, *, gain: 1.0):
        with pytest.raises(RunError, match=r"^push: the callable takes .*\(t\) or \(t, read\)"):
            speed(wrong)


def test_only_channels_that_are_read_are_computed() -> None:
    def law(t: float, read: Callable[[str], float]) -> float:
        return -read("slide.displacement") - read("slide.displacement.rate")

    simulation = Simulation(Machine(Input(law, period=0.01)))
    evaluated: list[str] = []
    evaluate = simulation.kernel.evaluate

    def watched(routine: str, *rest: Any) -> Any:
        evaluated.append(routine)
        return evaluate(routine, *rest)

    simulation.kernel.evaluate = watched
    settings = Settings("rk4", 0.2, 0.01)
    simulation.run(settings, channels="slide.*")
    reads = [name for name in evaluated if name.startswith("outputs")]
    assert "outputs" not in reads
    assert len(set(reads[3:])) <= 2
    evaluated.clear()
    simulation.run(settings, channels="slide.*")
    routine = max(set(evaluated), key=evaluated.count)
    assert simulation.program.routines[routine].outputs[0][1] == 2
    assert evaluated.count(routine) == 20  # two channels, one evaluation


@pytest.mark.filterwarnings("ignore::kompono.errors.RunWarning")
def test_a_wrong_name_later_in_a_run_ends_it_with_the_nearest() -> None:
    def law(t: float, read: Callable[[str], float]) -> float:
        return read("slide.displacement" if t < 0.05 else "slide.displacment")

    result = simulate(Machine(Input(law, period=0.03)), **RUN)
    assert "slide.displacement" in result.status.message
    assert result.status.time == pytest.approx(0.06)


@pytest.mark.parametrize("declared", [Input(0.0, period=0.05), Input(table=([0, 1], [0, 0]), period=0.05)])
def test_a_declared_period_serves_the_callable_given_later(declared: Input) -> None:
    asked: list[float] = []
    result = simulate(Machine(declared), **RUN, inputs={"push": lambda t: asked.append(t) or 1.0})
    assert result.status.ok
    assert asked[:4] == pytest.approx([0.0, 0.05, 0.1, 0.15])
