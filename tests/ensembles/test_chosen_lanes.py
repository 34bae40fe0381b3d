"""Runs that choose their steps, on lanes: each has its own, and ends as it would have ended alone."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest
from analyses.test_sensitivities import FourBar

from kompono import Input, Parameter, RunWarning, State, Subsystem, simulate_many, time
from kompono.library import JointEffort

pytestmark = pytest.mark.filterwarnings("ignore:assembly moved", "ignore:start values")


class Forced(FourBar):
    """A loop that a force of time and of an input swings."""

    def __init__(self) -> None:
        super().__init__()
        self.size = Input(1.5)
        self.push = JointEffort(self.bearing, self.size * ca.cos(4 * time))


def both(model: Subsystem, method: str = "dopri5", **run: Any) -> tuple[Any, Any]:
    alone, wide = (simulate_many(model, method=method, threads=1, lanes=lanes, **run) for lanes in (1, 4))
    assert (alone.statistics["lanes"], wide.statistics["lanes"]) == (1, 4)
    return alone, wide


@pytest.mark.parametrize(("step", "rtol"), [(0.01, 1e-4), (0.3, 1e-9)])
def test_runs_on_lanes_take_the_steps_they_take_alone(step: float, rtol: float) -> None:
    """Records close together come from interpolants, others end steps; the last one is on no grid."""
    stiffness = np.geomspace(5.0, 5e3, 7)  # steps of other lengths
    alone, wide = both(Forced(), parameters={"k": stiffness}, until=1.23, step=step, rtol=rtol)
    for name in ("bearing.angle", "pivot.angle.rate", "coupler.position.y"):
        assert wide[name] == pytest.approx(alone[name], abs=1e-11)
    assert wide.statistics["steps_on_lanes"] == wide.statistics["steps"] == alone.statistics["steps"]
    assert wide.statistics["rejected"] == alone.statistics["rejected"]


class Motor(Forced):
    """The loop on a motor whose current settles in a microsecond, or does not hurry."""

    def __init__(self) -> None:
        super().__init__()
        self.inductance, self.current = Parameter(1e-3), State(0.0)
        self.current.rate = (12 * ca.sin(2 * time) - self.current - 0.2 * self.bearing.angle_rate) / self.inductance
        self.torque = JointEffort(self.bearing, 2.0 * self.current)


@pytest.mark.parametrize("step", [0.01, 0.3])
def test_stiff_runs_on_lanes_take_the_kind_of_step_that_suits_each(step: float) -> None:
    """Some are stiff and some are not, side by side, in a loop whose stages stray."""
    given = {"inductance": np.geomspace(1e-6, 1.0, 7), "k": np.geomspace(1e6, 10.0, 7)}
    alone, wide = both(Motor(), "esdirk4", parameters=given, until=1.23, step=step, rtol=1e-8)
    for name in ("bearing.angle", "pivot.angle.rate", "current"):
        assert wide[name] == pytest.approx(alone[name], abs=1e-6)
    assert wide.statistics["steps_alone"] == 0
    assert wide.statistics["steps"] == pytest.approx(alone.statistics["steps"], rel=0.02)


class Growing(Subsystem):
    """x' = a x^2: infinite at 1 / a."""

    def __init__(self) -> None:
        self.a, self.x = Parameter(0.1), State(1.0)
        self.x.rate = self.a * self.x**2


def test_a_run_that_fails_fails_alone() -> None:
    with pytest.warns(RunWarning):
        alone, wide = both(Growing(), parameters={"a": [0.1, 0.3, 2.0, 0.2, 0.5]}, until=1.0, step=0.1, rtol=1e-8)
    assert wide["x"][[0, 1, 3, 4]] == pytest.approx(alone["x"][[0, 1, 3, 4]], abs=1e-12)
    assert wide["x"][1, -1] == pytest.approx(1 / 0.7, abs=1e-7)
    assert [status.ok for status in wide.status] == [status.ok for status in alone.status]
    assert wide.status[2].message == alone.status[2].message
    assert wide.statistics["steps_alone"] > 0


def test_inputs_that_change_are_followed_one_by_one() -> None:
    table = (np.array([0.0, 0.5, 1.0]), np.array([0.0, 2.0, 1.0]))
    ask: dict[str, Any] = {"until": 0.5, "step": 0.1, "method": "dopri5", "threads": 1, "inputs": {"size": table}}
    assert simulate_many(Forced(), parameters={"k": [10.0, 20.0]}, **ask).statistics["lanes"] == 1
