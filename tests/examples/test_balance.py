"""The balanced pole: by a function, and by a controller in a process of its own."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
import pytest
from reference.support import example

from kompono import Result


@pytest.fixture(scope="module")
def balance() -> Any:
    return example("balance")


@pytest.fixture(scope="module")
def balanced(balance: Any) -> Result:
    return balance.run(until=6.0, speed=math.inf)


def test_the_pole_stays_up_and_comes_to_rest(balanced: Result) -> None:
    assert balanced.status.ok
    assert np.abs(balanced["pin.angle"]).max() < 0.3
    assert np.abs(balanced["pin.angle"][-1]) < 0.01
    assert np.ptp(balanced["push"]) == 20.0


def test_without_a_controller_it_falls(balance: Any) -> None:
    from kompono import simulate

    assert np.abs(simulate(balance.Balance(), until=1.0)["pin.angle"]).max() > 1.0


def test_the_sensor_at_the_tip_sees_the_pole(balanced: Result) -> None:
    x, angle = balanced["rail.displacement"], balanced["pin.angle"]
    assert np.abs(balanced["tip.position.x"] - x - np.sin(angle)).max() < 1e-12
    assert np.abs(balanced["tip.position.z"] - np.cos(angle)).max() < 1e-12


def test_the_other_process_is_heard_and_ends_with_the_run(balance: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """In real time; how well it balances depends on what else the machine does."""
    monkeypatch.setattr(balance, "MEMORY", f"test-balance-{os.getpid()}")
    result = balance.run("memory", until=0.5)
    assert result.status.ok
    assert result.statistics["realtime"]["links"][0]["accepted"] > 0
