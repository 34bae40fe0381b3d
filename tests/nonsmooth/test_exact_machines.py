"""Machines with exact answers: on both engines and two methods, in turned frames, declared in any order.

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
from nonsmooth.exact_machines import PROBLEMS, QUICK, Plan, Problem

from kompono import simulate

ALL = bool(os.environ.get("KOMPONO_LAWS"))
TURN = np.linalg.qr(np.random.default_rng(5).normal(size=(3, 3)))[0]
TURN = TURN * np.sign(np.linalg.det(TURN))
WAYS = [("relative", "rk4", False), ("absolute", "dopri5", True)]
WAYS += [("absolute", "rk4", False), ("relative", "dopri5", True), ("relative", "rk4", True)] if ALL else []
CHOSEN = [*PROBLEMS, *COMBINATIONS] if ALL else [*QUICK, *QUICK_COMBINATIONS]


@pytest.mark.parametrize(("engine", "method", "turned"), WAYS)
@pytest.mark.parametrize("problem", CHOSEN, ids=lambda problem: problem.__name__)
def test_exact(problem: Callable[[Plan], Problem], engine: str, method: str, turned: bool) -> None:
    plan = Plan(TURN if turned else np.eye(3))
    until, errors = problem(plan)
    options: dict[str, Any] = {"rtol": 1e-10} if method == "dopri5" else {"step": 5e-4}
    result = simulate(plan.made(3 if turned else 0), until=until, engine=engine, method=method, **options)
    assert result.status.ok
    assert "fallback" not in result.statistics
    assert max(map(abs, errors(result).values())) < 1e-9
