"""An ensemble on a Dask cluster is the same ensemble."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from ensembles.machines import Bouncing, Fragile, Tunable

from kompono import RunError, simulate_many

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = str(tmp_path_factory.mktemp("dask"))
    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None, "local_directory": folder}
    with distributed.LocalCluster(**settings) as cluster, distributed.Client(cluster) as connected:
        yield connected


@pytest.mark.parametrize("method", ["rk4", "dopri5", "Radau"])
def test_workers_give_the_same_numbers(client: Any, method: str) -> None:
    given = {"parameters": {"stiffness": np.linspace(5, 50, 37)}, "initial": {"elbow.angle": 0.3}}
    settings = {"until": 0.1, "method": method, "channels": "*angle*"}
    far = simulate_many(Tunable(), **given, **settings, client=client)
    near = simulate_many(Tunable(), **given, **settings)
    np.testing.assert_allclose(far.table, near.table, rtol=1e-9 if method == "Radau" else 0, atol=0)
    assert not far.failed
    assert "Client" in far.statistics["cluster"]


def test_failures_come_back_with_their_reasons(client: Any) -> None:
    limits = np.full(20, 100.0)
    limits[[3, 17]] = 0.5
    far = simulate_many(Fragile(), until=2.0, step=0.01, parameters={"limit": limits}, client=client)
    near = simulate_many(Fragile(), until=2.0, step=0.01, parameters={"limit": limits})
    assert far.failed == near.failed == [3, 17]
    assert far.status == near.status


def test_laws_travel(client: Any) -> None:
    """Impacts are settled where the runs are."""
    given = {"initial": {"rail.displacement": np.linspace(0.05, 0.2, 9)}}
    settings = {"until": 0.3, "step": 2e-3, "channels": "rail.*"}
    far = simulate_many(Bouncing(), **given, **settings, client=client)
    near = simulate_many(Bouncing(), **given, **settings)
    assert far.statistics["events"] == near.statistics["events"]
    assert all(far.statistics["events"])
    np.testing.assert_allclose(far.table, near.table, rtol=0, atol=1e-12)


def test_what_cannot_travel_is_refused(client: Any) -> None:
    with pytest.raises(RunError, match="callable"):
        simulate_many(Tunable(), until=0.1, runs=2, client=client,
                      inputs={"torque": (lambda time: time, 0.1)})  # fmt: skip
    with pytest.raises(RunError, match="Client"):
        simulate_many(Tunable(), until=0.1, runs=2, client="tcp://somewhere")
