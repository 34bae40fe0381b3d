"""Random machines some of whose components are elsewhere: events and motion are those of the open machine, and three
round trips are enough.
"""

from __future__ import annotations

import os

import numpy as np
import pytest
from elsewhere.counting import counted_passes
from elsewhere.random_machines import Row
from nonsmooth.same_events import same_events

from kompono import Simulation, simulate
from kompono.elsewhere.hosts import InProcess
from kompono.request import Request
from kompono.solve.settings import settings_of

SEEDS = range(40) if os.environ.get("KOMPONO_LAWS") else (6,)
pytestmark = pytest.mark.filterwarnings("ignore::kompono.ModelWarning", "ignore::kompono.RunWarning")


@pytest.mark.parametrize("seed", SEEDS)
def test_random_machines_with_parts_elsewhere(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    draw, run = np.random.default_rng(9000 + seed), {"until": 0.15, "step": 1e-3}
    paths = [f"pieces.{k}" for k in range(len(Row(seed).pieces))]
    away = [path for path in paths if draw.random() < 0.7] or paths[:1]
    closed = [path for path in paths if path not in away and draw.random() < 0.5]
    whole, passes = simulate(Row(seed), **run), counted_passes(monkeypatch)
    simulation = Simulation(Row(seed), closed=closed, elsewhere={path: InProcess() for path in away})
    found = simulation.run(settings_of(Request(**run)))
    same_events(whole, found)
    for name in (name for name in whole if name.endswith((".angle", ".displacement"))):
        assert abs(whole[name][-1] - found[name][-1]) < 1e-11, name
    assert max(count for _, asked in passes for count in asked) <= 3
