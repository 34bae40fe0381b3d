"""A run that fails ends with a reason, the place and the time, and keeps all results up to there."""

from __future__ import annotations

import faulthandler
import functools
from collections.abc import Iterator

import casadi as ca
import numpy as np
import pytest
from solve.machines import Oscillator, Pendulum

from kompono import Force, Motion, Subsystem, Wrench, simulate, time
from kompono.errors import RunWarning
from kompono.library import JointEffort
from kompono.result import Result

ALL = ("rk2", "rk4", "adams", "dopri5", "esdirk4", "RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA")


@pytest.fixture(autouse=True)
def _no_test_may_hang() -> Iterator[None]:
    faulthandler.dump_traceback_later(30, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


class Ghost(Force):
    """A force that is the root of a negative number after half a second."""

    def wrench(self, motion: Motion) -> Wrench:
        return Wrench(force=ca.vertcat(ca.sqrt(0.5 - time), 0, 0))


class Haunted(Subsystem):
    def __init__(self) -> None:
        self.house = Pendulum(angle=0.3)
        self.house.ghost = Ghost(self.house.rod)


@functools.cache
def until_it_haunts() -> Result:
    return simulate(Haunted(), until=0.4, step=0.01, rtol=1e-8, method="dopri5")


@pytest.mark.parametrize("method", ALL)
def test_a_force_that_is_not_a_number_ends_the_run_with_its_path_and_time(method: str) -> None:
    result = simulate(Haunted(), until=1.0, method=method, step=0.01)
    assert not result.status.ok
    assert "house.ghost" in result.status.message
    assert "not a number" in result.status.message
    assert "t = 0.4" in result.status.message or "t = 0.5" in result.status.message
    assert 0.45 < result.status.time <= 0.51
    assert len(result.time) >= 45
    assert np.all(np.isfinite(result.table[:45]))
    reference = until_it_haunts()
    close = 1e-3 if method in ("rk2", "RK23", "BDF") else 1e-5
    assert np.abs(result["house.pin.angle"][:41] - reference["house.pin.angle"]).max() < close


@pytest.mark.parametrize("method", ["rk4", "adams", "dopri5", "RK45", "Radau", "BDF", "LSODA"])
def test_a_force_that_is_not_a_number_from_the_start_says_so_at_once(method: str) -> None:
    class Broken(Pendulum):
        def __init__(self) -> None:
            super().__init__(angle=0.3)
            self.motor = JointEffort(self.pin, ca.sqrt(self.pin.angle - 0.4))

    result = simulate(Broken(), until=1.0, method=method, step=0.01)
    assert not result.status.ok
    assert "motor" in result.status.message
    assert result.status.time < 0.01
    assert result.time.tolist()[:1] == [0.0]
    assert result["pin.angle"][0] == 0.3


@pytest.mark.parametrize("method", ["rk4", "dopri5", "Radau"])
def test_a_state_dependent_failure_is_found_too(method: str) -> None:
    class Fragile(Pendulum):
        def __init__(self) -> None:
            super().__init__(angle=0.3)
            self.motor = JointEffort(self.pin, 0.01 * ca.log(self.pin.angle + 0.1))

    result = simulate(Fragile(), until=2.0, method=method, step=0.01)
    assert not result.status.ok
    assert "motor" in result.status.message
    assert result["pin.angle"].min() > -0.11


def test_an_output_that_is_not_a_number_does_not_end_the_run() -> None:
    from kompono import Output

    class Gauge(Pendulum):
        def __init__(self) -> None:
            super().__init__(angle=0.3)
            self.gauge = Output(ca.sqrt(self.pin.angle))

    with pytest.warns(RunWarning, match=r"gauge: the channel is infinite or not a number in \d+ of 101 rows"):
        result = simulate(Gauge(), until=1.0, step=0.01)
    assert result.time[-1] == 1.0
    assert not result.status.ok
    assert result.status.time == result.time[np.isnan(result["gauge"])][0]
    assert np.isnan(result["gauge"]).any()
    assert np.isfinite(result["pin.angle"]).all()


def test_motion_that_grows_without_bound_is_a_status_not_an_exception() -> None:
    result = simulate(Oscillator(k=-4e4), until=10.0, step=1e-2)
    assert not result.status.ok
    assert "not a number" in result.status.message or "infinite" in result.status.message
    assert 0 < result.status.time < 10
    assert len(result.time) > 10


def test_a_fixed_step_too_long_for_a_stiff_model_says_what_to_try() -> None:
    result = simulate(Oscillator(k=1e8), until=10.0, step=1e-2)
    assert not result.status.ok
    assert "step" in result.status.message


def test_motion_that_is_absurd_but_finite_is_no_success() -> None:
    """An unstable step that has come to 1e76 m at the end of the run."""
    result = simulate(Oscillator(k=1e8), until=0.04, step=2e-3)
    assert np.all(np.isfinite(result.table))
    assert not result.status.ok
    assert "without bound" in result.status.message
    assert 0 < result.status.time < 0.04


def test_a_singular_motion_stops_a_free_step_with_advice() -> None:
    """x'' = -1 / x falls into the origin in finite time: no step is small enough."""

    class Falling(Oscillator):
        def __init__(self) -> None:
            super().__init__(k=0.0)
            self.pull = JointEffort(self.slide, -1 / self.slide.displacement**2)

    for method in ("dopri5", "RK45"):
        result = simulate(Falling(), until=2.0, step=0.01, method=method)
        assert not result.status.ok
        assert result.status.time == pytest.approx(np.pi / np.sqrt(8), abs=1e-2)
        assert "slide.displacement" in result.status.message
