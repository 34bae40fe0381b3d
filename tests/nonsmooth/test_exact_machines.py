"""Machines with exact answers: on both engines and two methods, in turned frames, declared in any order, and as a whole
inside a closed part.

By default the quick ones, on the relative engine as they are and on the absolute one turned and shuffled; all of them
in all ways with KOMPONO_LAWS.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from nonsmooth.exact_combinations import COMBINATIONS, QUICK_COMBINATIONS
from nonsmooth.exact_extremes import EXTREMES, QUICK_EXTREMES
from nonsmooth.exact_flights import FLIGHTS, QUICK_FLIGHTS
from nonsmooth.exact_machines import PROBLEMS, QUICK, Plan, Problem
from nonsmooth.exact_travels import QUICK_TRAVELS, TRAVELS
from nonsmooth.exact_trials import QUICK_TRIALS, TRIALS

from kompono import Result, Subsystem, simulate

ALL = bool(os.environ.get("KOMPONO_LAWS"))
TURN = np.linalg.qr(np.random.default_rng(5).normal(size=(3, 3)))[0]
TURN = TURN * np.sign(np.linalg.det(TURN))
WAYS = [("relative", "rk4", False), ("absolute", "dopri5", True)]
WAYS += [("absolute", "rk4", False), ("relative", "dopri5", True), ("relative", "rk4", True)] if ALL else []
EVERY = [*PROBLEMS, *COMBINATIONS, *TRIALS, *FLIGHTS, *TRAVELS, *EXTREMES]
CHOSEN = EVERY if ALL else [*QUICK, *QUICK_COMBINATIONS, *QUICK_TRIALS, *QUICK_FLIGHTS, *QUICK_TRAVELS, *QUICK_EXTREMES]
OPTIONS: dict[str, dict[str, Any]] = {"dopri5": {"rtol": 1e-10}, "rk4": {"step": 5e-4}}
pytestmark = pytest.mark.filterwarnings("ignore:assembly moved")


@pytest.mark.parametrize(("engine", "method", "turned"), WAYS)
@pytest.mark.parametrize("problem", CHOSEN, ids=lambda problem: problem.__name__)
def test_exact(problem: Callable[[Plan], Problem], engine: str, method: str, turned: bool) -> None:
    plan = Plan(TURN if turned else np.eye(3))
    until, errors = problem(plan)
    result = simulate(plan.made(3 if turned else 0), until=until, engine=engine, method=method, **OPTIONS[method])
    check(result, errors(result))


def check(result: Result, errors: dict[str, float]) -> None:
    assert result.status.ok
    assert "fallback" not in result.statistics
    assert max(map(abs, errors.values())) < 1e-9, errors


class Whole(Subsystem):
    def __init__(self, part: Subsystem) -> None:
        self.part = part


class Within:
    """What a machine inside a part has become, by its own names."""

    def __init__(self, result: Result) -> None:
        events = [(when, name.removeprefix("part.")) for when, name in result.statistics["events"]]
        self.result, self.time, self.statistics = result, result.time, {**result.statistics, "events": events}

    def __getitem__(self, name: str) -> np.ndarray:
        return self.result[f"part.{name}"]


@pytest.mark.parametrize("engine", ["relative", "absolute"] if ALL else ["relative"])
@pytest.mark.parametrize("problem", EVERY if ALL else QUICK_FLIGHTS[:2], ids=lambda problem: problem.__name__)
def test_exact_in_a_closed_part(problem: Callable[[Plan], Problem], engine: str) -> None:
    plan = Plan(np.eye(3))
    until, errors = problem(plan)
    result = simulate(Whole(plan.made(0)), until=until, engine=engine, closed=["part"], **OPTIONS["rk4"])
    within: Any = Within(result)
    check(result, errors(within))
