"""Options of runs have kinds: what is none of them is refused by its name, before anything is translated."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from solve.machines import Pendulum

from kompono import Mode, RunError, Simulation, cost, inspect, simulate, simulate_many
from kompono.solve.integrate import Settings

ODD = (object(), "soft", 1j, [1.0, 2.0], np.zeros((2, 2)), lambda: 1, {1: 2})
NAMES = ("engine", "method", "projection", "metric")
TIMES = ("until", "step", "rtol", "atol")
COUNTS = ("every", "threads")
FLAGS = ("stabilize", "native", "cache", "progress")
BY_PATH = ("inputs", "parameters", "initial")
LISTS = ("channels", "cut", "independent")


def wrong(name: str) -> list[Any]:
    """What an option cannot be."""
    right: dict[str, tuple[type, ...]] = dict.fromkeys((*NAMES, *LISTS), (str,)) | {"baumgarte": (list,)}
    return [value for value in ODD if not isinstance(value, right.get(name, ()))]


@pytest.mark.parametrize(
    "name", [*NAMES, *TIMES, *COUNTS, *FLAGS, *BY_PATH, *LISTS, "baumgarte", "realtime", "watcher"]
)
def test_an_option_of_another_kind_is_refused_by_its_name(name: str) -> None:
    for value in wrong(name):
        with pytest.raises(RunError, match=rf"(?s){name}") as caught:
            simulate(Pendulum(), **{"until": 0.0, name: value})
        assert caught.value.fix


@pytest.mark.parametrize("name", ["until", "rtol", "engine", "channels", "stabilize", "native", "cut", "baumgarte"])
def test_none_is_no_value_where_an_option_has_no_choice_of_its_own(name: str) -> None:
    with pytest.raises(RunError, match=f"{name} is None.*Leave"):
        simulate(Pendulum(), **{"until": 0.0, name: None})


@pytest.mark.parametrize("half", [0.5, np.float32(0.5), np.array(0.5), Fraction(1, 2), Decimal("0.5")])
def test_numbers_of_every_make_are_taken(half: Any) -> None:
    options: dict[str, Any] = {"step": np.array(0.25), "every": np.int64(1), "rtol": Fraction(1, 10**8)}
    result = simulate(Pendulum(), until=half, initial={"pin.angle": half}, **options)
    assert result.time.tolist() == [0.0, 0.25, 0.5]
    assert result["pin.angle"][0] == 0.5


@pytest.mark.parametrize("value", [None, "a", 1j, [1.0], float("nan"), float("inf"), True, Pendulum])
def test_values_by_path_are_finite_numbers(value: Any) -> None:
    with pytest.raises(RunError, match=r"^pin\.angle: the start value .* is not (a number|finite)") as caught:
        simulate(Pendulum(), until=0.0, initial={"pin.angle": value})
    assert caught.value.fix
    with pytest.raises(RunError, match=r"initial 3 is not a text"):
        simulate(Pendulum(), until=0.0, initial={3: 1.0})  # type: ignore[dict-item]


@pytest.mark.parametrize("options", [{"runs": 1.5}, {"runs": True}, {"lanes": "8"}, {"threads": 0}, {"until": "1"}])
def test_options_of_many_runs(options: dict[str, Any]) -> None:
    with pytest.raises(RunError, match=next(iter(options))):
        simulate_many(Pendulum(), **{"until": 0.0, "runs": 2, **options})


def test_texts_are_no_numbers_of_runs() -> None:
    for values in (["1", "2"], [None, 1.0], [1j, 0.0], [True, False], np.array(["1"])):
        with pytest.raises(RunError, match=r"^pin\.angle: the values .* numbers"):
            simulate_many(Pendulum(), until=0.0, initial={"pin.angle": values})


def test_inspect_cost_and_simulation_check_too() -> None:
    with pytest.raises(RunError, match="engine 3 is not a text"):
        inspect(Pendulum(), engine=3)
    with pytest.raises(RunError, match=r"'relative' is no engine with its projection"):
        cost(Pendulum(), ways=["relative"])  # type: ignore[list-item]
    with pytest.raises(RunError, match=r"nested_from = -1"):
        Simulation(Pendulum(), nested_from=-1)
    simulation = Simulation(Pendulum(), native=False)
    with pytest.raises(RunError, match=r"0\.1 are no settings of a run"):
        simulation.run(0.1)  # type: ignore[arg-type]
    with pytest.raises(RunError, match="method 4 is not a text"):
        simulation.run(Settings(4, 1.0, 0.1))  # type: ignore[arg-type]


class Seen(Pendulum):
    def __init__(self) -> None:
        super().__init__()
        self.slow, self.seen = Mode(0.0, every=0.1), Mode(0.0, every=1e-300)
        self.slow.next, self.seen.next = 1.0, self.pin.angle


def test_a_period_that_time_cannot_show_is_refused_by_path() -> None:
    with pytest.raises(RunError, match=r"^seen: a sampling period of 1e-300 s cannot be told from nothing"):
        simulate(Seen(), until=1.0)


def test_a_step_that_time_cannot_show_is_refused() -> None:
    with pytest.raises(RunError, match="cannot be told from nothing"):
        simulate(Pendulum(), until=1e200)
