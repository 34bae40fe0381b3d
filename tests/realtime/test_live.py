"""Observers of a live run: they read, write, stop it; whatever happens, the results are kept."""

from __future__ import annotations

import math
import os
import signal

import numpy as np
import pytest
from realtime.support import Cart, FakeClock, V, X, control
from solve.machines import Pendulum, Trapeze

from kompono import Input, RunError, simulate
from kompono.realtime import Live, LiveFrame, RealTime

FAST = {"speed": math.inf}


def steer(frame: LiveFrame) -> None:
    frame["force"] = control(frame[X], frame[V])


@pytest.mark.parametrize("method", ["rk2", "rk4", "adams", "dopri5"])
@pytest.mark.parametrize("engine", ["relative", "absolute"])
def test_an_observer_is_a_controller(method: str, engine: str) -> None:
    """The same numbers as a callable input of the same period."""
    live = simulate(Cart(), until=1.0, method=method, engine=engine, realtime=RealTime(0.01, on_frame=steer, **FAST))
    law = (lambda t, read: control(read(X), read(V)), 0.01)
    plain = simulate(Cart(), until=1.0, method=method, engine=engine, inputs={"force": law})
    assert np.abs(live[X] - plain[X]).max() < 1e-12
    assert np.abs(live["force"] - plain["force"])[:-1].max() < 1e-10
    assert abs(live[X][-1]) < 0.1


@pytest.mark.filterwarnings("ignore::kompono.ModelWarning")
@pytest.mark.parametrize("method", ["rk4", "adams"])
def test_watching_changes_nothing(method: str) -> None:
    met = []
    options = RealTime(0.007, on_frame=lambda frame: met.append(frame["energy.total"]), **FAST)
    live = simulate(Trapeze(), until=0.5, method=method, realtime=options)
    plain = simulate(Trapeze(), until=0.5, method=method)
    assert np.array_equal(live.table[:, :-2], plain.table)
    assert live.names[:-2] == plain.names
    assert len(met) == 73
    assert np.ptp(met) < 1e-6


def test_a_frame_shows_the_present() -> None:
    frames: list[tuple] = []

    def observe(frame: LiveFrame) -> None:
        frames.append((frame.number, frame.time, frame[X], frame["cart.position.x"], frame.final, frame.values.copy()))

    result = simulate(Cart(displacement_rate=2.0), until=0.035, realtime=RealTime(0.01, on_frame=observe, **FAST))
    assert [f[0] for f in frames] == [0, 1, 2, 3, 4]
    assert [f[1] for f in frames] == pytest.approx([0, 0.01, 0.02, 0.03, 0.035])
    assert [f[2] for f in frames] == pytest.approx([2 * f[1] for f in frames])
    assert [f[4] for f in frames] == [False] * 4 + [True]
    assert all(f[2] == f[3] for f in frames)
    for frame in frames:
        row = result.table[np.argmin(np.abs(result.time - frame[1])), :-2]
        assert np.abs(row - frame[5]).max() < 1e-12


def test_observers_are_opened_with_what_they_may_use_and_closed() -> None:
    class Viewer:
        def __init__(self) -> None:
            self.story: list[str] = []

        def open(self, live: Live) -> None:
            self.live = live
            self.story.append("open")

        def __call__(self, frame: LiveFrame) -> None:
            self.story.append(f"frame {frame.number}")

        def close(self) -> None:
            self.story.append("close")

    viewer = Viewer()
    simulate(Cart(), until=0.02, channels=[X, V], realtime=RealTime(0.01, on_frame=[steer, viewer], **FAST))
    assert viewer.story == ["open", "frame 0", "frame 1", "frame 2", "close"]
    assert viewer.live.channels == (X, V)
    assert viewer.live.units[X] == "m"
    assert viewer.live.inputs == ("force", "wind")
    assert (viewer.live.frame, viewer.live.model) == (0.01, "Cart")


def test_only_recorded_channels_can_be_read() -> None:
    def observe(frame: LiveFrame) -> None:
        frame["rail.displacment"]

    with pytest.raises(RunError, match=r"no channel among those recorded 'rail\.displacment'.*'rail\.displacement'"):
        simulate(Cart(), until=0.1, channels="rail.*", realtime=RealTime(on_frame=observe, **FAST))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("forse", 1.0, r"no input to be written 'forse'\. Did you mean 'force'"),
        ("gust", 1.0, "no input to be written 'gust'"),
        ("force", math.nan, "force: an input cannot be nan"),
    ],
)
def test_wrong_inputs_are_named(name: str, value: float, message: str) -> None:
    model = Cart()
    model.add("gust", Input(table=([0, 1], [0, 1])))

    def observe(frame: LiveFrame) -> None:
        frame[name] = value

    with pytest.raises(RunError, match=message):
        simulate(model, until=0.1, realtime=RealTime(on_frame=observe, **FAST))


def test_the_channels_of_the_account_are_taken() -> None:
    model = Cart()
    model.realtime = Cart()
    model.realtime.load = Input(0.0)
    with pytest.raises(RunError, match=r"'realtime\.load' is one of the account"):
        simulate(model, until=0.1, realtime=RealTime(**FAST))


# -- ends


def test_an_endless_run_ends_when_an_observer_says_so() -> None:
    def observe(frame: LiveFrame) -> None:
        if frame.time > 2.995:
            frame.stop()

    options = RealTime(0.01, on_frame=observe, keep=0.5, **FAST)
    result = simulate(Cart(displacement_rate=1.0), until=math.inf, realtime=options)
    assert result.status.ok
    assert result.status.time == pytest.approx(3.0)
    assert result.time[[0, -1]] == pytest.approx([2.5, 3.0])
    assert len(result.time) == 501
    assert result[X] == pytest.approx(result.time)


def test_stopping_for_a_reason_is_ending_early() -> None:
    options = RealTime(on_frame=lambda frame: frame.stop("button pressed") if frame.number == 3 else None, **FAST)
    result = simulate(Cart(), until=1.0, realtime=options)
    assert not result.status.ok
    assert "button pressed at t = 0.03 s" in result.status.message


@pytest.mark.parametrize("number", [3, 10])
def test_an_observer_that_fails_ends_the_run_and_loses_nothing(number: int) -> None:
    closed = []

    class Broken:
        def __call__(self, frame: LiveFrame) -> None:
            if frame.number == number:
                raise ZeroDivisionError("division by zero")

        def close(self) -> None:
            closed.append(True)

    result = simulate(Cart(displacement_rate=1.0), until=0.1, realtime=RealTime(on_frame=Broken(), **FAST))
    assert not result.status.ok
    assert "Broken raised ZeroDivisionError: division by zero (test_live.py:" in result.status.message
    assert result[X] == pytest.approx(result.time)
    assert result.time[-1] == pytest.approx(0.01 * number)
    assert closed == [True]


@pytest.mark.parametrize("period", [0.01, 0.003])
def test_a_callable_input_that_fails_ends_the_run_and_loses_nothing(period: float) -> None:
    law = (lambda t: math.nan if t > 0.05 else 0.0, period)
    result = simulate(Cart(), until=0.1, inputs={"wind": law}, realtime=RealTime(on_frame=steer, **FAST))
    assert not result.status.ok
    assert "wind: the callable returned nan" in result.status.message
    assert 0.04 < result.time[-1] < 0.08


def test_an_observer_that_cannot_be_closed_loses_no_results() -> None:
    class Stuck:
        def __call__(self, frame: LiveFrame) -> None:
            pass

        def close(self) -> None:
            raise OSError("stuck")

    with pytest.warns(RuntimeWarning, match="Stuck could not be closed"):
        result = simulate(Cart(), until=0.1, realtime=RealTime(on_frame=Stuck(), **FAST))
    assert result.status.ok


def test_a_run_that_breaks_tells_its_account_too() -> None:
    def observe(frame: LiveFrame) -> None:
        if frame.time > 0.5:
            frame["force"] = frame["wind"] = 1.5e308  # together more than a number can be

    result = simulate(Cart(), until=1.0, realtime=RealTime(on_frame=observe, **FAST))
    assert not result.status.ok
    assert "its effort is infinite" in result.status.message
    assert result.statistics["realtime"]["frames"] >= 50


def test_ctrl_c_ends_a_live_run_and_keeps_its_results() -> None:
    def press(frame: LiveFrame) -> None:
        if frame.number == 5:
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    result = simulate(Pendulum(angle=1.0), until=math.inf, channels="pin.*", realtime=RealTime(0.02, on_frame=press))
    assert signal.getsignal(signal.SIGINT) is before
    assert not result.status.ok
    assert "interrupted" in result.status.message
    assert result.status.time >= 0.1
    assert np.all(np.isfinite(result.table[1:]))


# -- the wall clock


def test_simulated_time_goes_with_the_wall_clock() -> None:
    result = simulate(Pendulum(angle=1.0), until=0.4, channels="pin.*", realtime=True)
    account = result.statistics["realtime"]
    assert 0.4 <= result.statistics["seconds_run"] < 20.0
    assert account["frames"] == 40
    assert "real time" in result.summary()
    assert set(result.names) >= {"realtime.load", "realtime.delay"}
    assert np.all(result["realtime.delay"] >= 0)


def test_the_result_of_a_live_run_can_be_stored(tmp_path) -> None:
    pytest.importorskip("h5py")
    result = simulate(Cart(), until=0.1, realtime=RealTime(clock=FakeClock()))
    result.to_hdf5(tmp_path / "run.h5")
    again = type(result).load(tmp_path / "run.h5")
    assert again.statistics["realtime"] == result.statistics["realtime"]
    assert again.summary() == result.summary()
