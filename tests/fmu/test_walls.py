"""FMUs in a process of their own: the same bits as here, in both kinds, with events and in ensembles."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fmu.fmu_models import Latch, Swing

from kompono import Fmu, ModelError, State, Subsystem, simulate, simulate_many


class Holding(Subsystem):
    def __init__(self, file: Path, **options: Any) -> None:
        self.plant = Fmu(file, **options)
        self.x = State(0.0)
        self.x.rate = 1.0


@pytest.mark.parametrize(("model", "options"), [(Latch, {}), (Swing, {}), (Swing, {"every": 0.01})])
def test_behind_a_wall_it_is_the_same(exported: Callable[..., Path], model: Any, options: dict[str, Any]) -> None:
    here, there = (
        simulate(Holding(exported(model), **options, **way), until=0.5, step=0.01)
        for way in ({"trust": True}, {"isolate": True})
    )
    assert here.status.ok
    assert here.names == there.names
    assert np.array_equal(here.table, there.table)
    assert here.statistics.get("events") == there.statistics.get("events")


def test_members_of_an_ensemble_behind_a_wall(exported: Callable[..., Path]) -> None:
    model = Holding(exported(Latch), isolate=True)
    members = simulate_many(model, until=0.3, step=0.01, initial={"x": [0.0, 1.0, 0.0]})
    alone = simulate(model, until=0.3, step=0.01)
    name = next(n for n in alone.names if n.startswith("plant.") and np.ptp(alone[n]) > 0)
    rows = np.isin(np.round(alone.time, 12), np.round(members.time, 12))
    assert np.array_equal(members[name][0], members[name][2])
    assert np.abs(members[name][0] - alone[name][rows][: members[name].shape[1]]).max() < 1e-12


def test_who_is_killed_ends_the_run_with_a_sentence(exported: Callable[..., Path]) -> None:
    model = Holding(exported(Swing), isolate=True)
    os.kill(model.plant._functions.instance._process.pid, signal.SIGKILL)
    with pytest.warns():
        result = simulate(model, until=0.5, step=0.01)
    assert not result.status.ok


def test_neither_trusted_nor_isolated_is_not_loaded(exported: Callable[..., Path]) -> None:
    with pytest.raises(ModelError, match=r"trust=True.*isolate=True"):
        Fmu(exported(Swing))
    with pytest.raises(ModelError, match="neither True nor False"):
        Fmu(exported(Swing), isolate="yes")  # type: ignore[arg-type]
