"""Random redundant mechanisms, turned at random by how they are drawn, move alike on both engines."""

from __future__ import annotations

import os
import warnings

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings
from laws.mechanisms import Case, build, redundant_loops

from kompono import simulate

LONG = "KOMPONO_LAWS" in os.environ
UNTIL = 1.0 if LONG else 0.2  # [s]


@settings(
    max_examples=40 if LONG else 6, deadline=None, derandomize=True, database=None,
    suppress_health_check=list(HealthCheck), phases=[Phase.generate],
)  # fmt: skip
@given(redundant_loops())
def test_both_engines_move_random_redundant_loops_alike(case: Case) -> None:
    results = []
    for engine in ("relative", "absolute"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = build(case.m).model
            results.append(simulate(model, until=UNTIL, step=1e-3, engine=engine, channels="*.position.*"))
    assert all(result.status.ok for result in results)
    places = [name for name in results[0] if not name.startswith("drift")]
    assert max(np.abs(results[0][name] - results[1][name]).max() for name in places) < 1e-6
