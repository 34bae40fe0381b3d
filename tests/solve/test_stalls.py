"""Methods that choose their steps say when these lead nowhere: soon, whose fault it is, alone and in ensembles; and
never of a run that gets there.
"""

from __future__ import annotations

import math

import pytest
from solve.machines import Pendulum
from solve.test_trust import Contradiction, Tiny, Toggle

from kompono import Body, Parameter, RunWarning, simulate, simulate_many
from kompono.library import JointEffort, Revolute
from kompono.solve.course import FIRST, HOPELESS, MAX_STEPS, WINDOW, Outlook


def given_up(until: float, size: float, chunk: int = 500, limit: int | None = None, growth: float = 1.0) -> int | None:
    """After how many attempts a run with steps of a size [s], that grow by a factor a chunk, is given up."""
    pace, time, made = Outlook(until, limit), 0.0, 0
    while time < until and made < 4 * WINDOW:
        time, made, size = time + chunk * size, made + chunk, size * growth
        if pace.look(made, min(time, until), size):
            return made
    return None


def test_a_stall_is_noticed_after_a_few_thousand_steps() -> None:
    assert given_up(1.0, 1e-15) == FIRST
    assert given_up(1.0, 1e-12) is not None
    assert given_up(1.0, 1e-12) < 20_000  # type: ignore[operator]
    assert given_up(1.0, 0.5 / HOPELESS) is not None


def test_a_run_that_gets_there_is_not_given_up() -> None:
    assert given_up(1.0, 2 / HOPELESS) is None
    assert given_up(1e6, 1e-2) is None  # 1e8 steps
    assert given_up(1.0, 1e-14, growth=3.0) is None  # it begins with tiny steps
    assert given_up(math.inf, 1e-12) is None  # in real time, nobody asks when it ends


def test_a_moment_of_haste_is_no_stall() -> None:
    pace = Outlook(1e4, None)
    assert not pace.look(100, 5.0, 0.05)
    assert not pace.look(FIRST, 5.0 + 1e-9, 0.01)  # the next step is a long one again
    assert not pace.look(2 * FIRST, 9.0, 0.05)


def test_there_is_a_limit_of_steps_that_no_sane_run_meets() -> None:
    assert Outlook(1.0, None).look(MAX_STEPS, 0.5, 1e-3)
    assert not Outlook(1.0, None).look(MAX_STEPS // 10, 0.5, 1e-3)
    assert Outlook(1.0, 7).look(7, 0.5, 1e-3)


@pytest.mark.parametrize("method", ["dopri5", "RK23", "RK45", "DOP853"])
def test_whose_fault_it_is(method: str) -> None:
    with pytest.warns(RunWarning, match=r"steps have become as short as .*needle.*esdirk4"):
        result = simulate(Tiny(), until=1.0, step=0.1, method=method)
    assert 0 < result.status.time < 1e-6
    assert result.statistics["steps"] < 10 * FIRST
    assert result.time[-1] == result.status.time


@pytest.mark.parametrize("method", ["dopri5", "RK45"])
def test_a_machine_that_locks(method: str) -> None:
    with pytest.warns(RunWarning, match="seems to lock"):
        result = simulate(Toggle(), until=2.0, step=0.01, method=method)
    assert result.statistics["steps"] < 20 * FIRST


class Sticky(Pendulum):
    """A light body whose friction is tunable."""

    def __init__(self) -> None:
        super().__init__(angle=0.3)
        self.friction = Parameter(1e-9)
        self.dust = Body(mass=1e-6, inertia=(1e-10, 1e-10, 1e-10))
        self.needle = Revolute(self.rod.at(0, 0, -0.5), self.dust, axis="y", angle=0.1)
        self.rubbing = JointEffort(self.needle, -self.friction * self.needle.angle_rate)


@pytest.mark.parametrize("method", ["dopri5", "RK45"])
def test_one_of_many_runs_that_stalls_is_named_and_does_not_disturb_the_others(method: str) -> None:
    friction = [1e-9, 1e-9, 1e3, 1e-9]
    with pytest.warns(RunWarning, match=r"1 of 4 runs of Sticky .*run 2: steps have become .*needle"):
        ensemble = simulate_many(Sticky(), until=0.5, step=0.1, method=method, parameters={"friction": friction})
    assert ensemble.failed == [2]
    assert ensemble.statistics["steps"] < 20 * FIRST


def test_the_limit_of_steps_holds_for_each_of_many_runs() -> None:
    with pytest.warns(RunWarning, match=r"run 0: 60 steps were made, as many as max_steps allows"):
        ensemble = simulate_many(Pendulum(angle=1.0), until=100.0, step=1.0, method="dopri5", max_steps=60, runs=3)
    assert ensemble.failed == [0, 1, 2]


@pytest.mark.filterwarnings("ignore::kompono.errors.RunWarning")
def test_conditions_are_looked_at_on_the_way_in_ensembles_too() -> None:
    ensemble = simulate_many(Contradiction(), until=1.0, step=1e-3, method="dopri5", runs=2)
    assert ensemble.failed == [0, 1]
    assert all("cannot be kept" in status.message and status.time < 0.25 for status in ensemble.status)
