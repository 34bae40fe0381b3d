"""Ctrl-C ends a run and keeps what was computed; the progress bar stays quiet unless someone watches."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest
from solve.machines import Pendulum

from kompono import Input, Mode, Result, RunWarning, interruption, simulate
from kompono.library import JointEffort
from kompono.realtime import RealTime
from kompono.solve.progress import Progress


@pytest.mark.parametrize("every", [200, 100_000], ids=["rows often", "rows seldom"])
@pytest.mark.parametrize("method", ["rk4", "adams", "dopri5"])
def test_ctrl_c_ends_a_native_run_and_keeps_its_results(method: str, every: int) -> None:
    result = interrupted(method, until=1e5, every=every)
    assert result.time[-1] == pytest.approx(result.status.time)


@pytest.mark.parametrize("method", ["RK45", "Radau"])
def test_ctrl_c_ends_a_scipy_run_and_keeps_its_results(method: str) -> None:
    interrupted(method, until=1e4, every=100)


class Sampled(Pendulum):
    """What is sampled a billion times in a step of a millisecond; or next to never, by the same code."""

    def __init__(self, every: float) -> None:
        super().__init__(angle=1.0)
        self.seen = Mode(0.0, every=every)
        self.seen.next = self.pin.angle


@pytest.mark.parametrize("method", ["rk4", "dopri5"])
def test_ctrl_c_ends_a_run_that_does_not_come_to_the_end_of_its_first_step(method: str) -> None:
    simulate(Sampled(1.0), until=0.01, method=method)
    with in_a_moment():
        result = simulate(Sampled(1e-12), until=0.1, method=method, step=1e-3)
    assert result.status.kind == "interrupted"
    assert 0 < result.status.time < 1e-3
    assert result.time[-1] == pytest.approx(result.status.time)


@contextlib.contextmanager
def in_a_moment() -> Iterator[None]:
    """The signal comes 0.2 s after there is something to keep."""
    done = threading.Event()

    def interrupt() -> None:
        while not keeps() and not done.wait(0.01):
            pass
        if not done.wait(0.2):
            os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def interrupted(method: str, until: float, every: int) -> Result:
    """A run of at least some seconds that gets the signal 0.2 s after it has something to keep."""
    simulate(Pendulum(angle=1.0), until=0.01, method=method)  # compiled now, so that the signal hits the run
    before = signal.getsignal(signal.SIGINT)
    with in_a_moment():
        result = simulate(
            Pendulum(angle=1.0), until=until, step=1e-3, every=every, method=method, rtol=1e-10, channels="pin.*"
        )
    assert signal.getsignal(signal.SIGINT) is before
    assert not result.status.ok
    assert "interrupted" in result.status.message
    assert result.status.kind == "interrupted"
    assert 0 < result.status.time < until
    assert len(result.time) >= 2
    assert np.all(np.isfinite(result.table))
    return result


def keeps() -> bool:
    """Whether a run has begun in the main thread."""
    return interruption._active is not None and interruption._active.keeps


def press() -> None:
    """Ctrl-C, at once."""
    os.kill(os.getpid(), signal.SIGINT)


# -- while a model is built


def test_a_request_that_was_cleared_is_raised_again() -> None:
    def clears() -> None:
        with contextlib.suppress(KeyboardInterrupt):  # what CasADi does
            press()
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            pass
        raise AssertionError("nobody knocked")

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        interruption.heeded(clears)()
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize("ends", [lambda: 1, lambda: 1 / 0], ids=["well", "with an error"])
def test_a_request_that_was_cleared_ends_the_function_at_the_latest(ends) -> None:
    def clears() -> object:
        with contextlib.suppress(KeyboardInterrupt):
            press()
        return ends()

    with pytest.raises(KeyboardInterrupt):
        interruption.heeded(clears)()


def test_a_request_on_its_way_is_not_disturbed() -> None:
    cleaned = []

    def work() -> None:
        try:
            press()
        finally:
            time.sleep(3 * interruption.AGAIN)
            cleaned.append(True)

    with pytest.raises(KeyboardInterrupt):
        interruption.heeded(work)()
    assert cleaned == [True]
    time.sleep(2 * interruption.AGAIN)  # nobody knocks afterwards


def test_what_casadi_swallows_while_translating_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    from kompono import simulation

    translated = simulation.translated

    def interrupted_translation(*arguments, **options):
        with contextlib.suppress(KeyboardInterrupt):
            press()
        return translated(*arguments, **options)

    monkeypatch.setattr(simulation, "translated", interrupted_translation)
    with pytest.raises(KeyboardInterrupt):
        simulate(Pendulum(), until=0.1)


def test_a_handler_of_ones_own_decides_while_there_is_nothing_to_keep() -> None:
    heard = []
    before = signal.signal(signal.SIGINT, lambda *_: heard.append(True))
    try:
        interruption.heeded(press)()
        press()
    finally:
        signal.signal(signal.SIGINT, before)
    assert heard == [True, True]


def test_other_threads_install_nothing() -> None:
    found = []

    def work() -> None:
        with interruption.listening(insist=True) as heard:
            found.append((signal.getsignal(signal.SIGINT), heard.asked))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [(signal.getsignal(signal.SIGINT), 0)]


# -- when there is something to keep


def pressing(*times: float, ending: type[BaseException] | None = None, hangs: bool = False):
    """A callable input that presses Ctrl-C at times [s], and then raises something or never comes back by itself."""
    left = list(times)

    def call(t: float) -> float:
        while left and t >= left[0]:
            left.pop(0)
            press()
        if t > 0.5 and ending is not None:
            raise ending
        if t > 0.5 and hangs:
            threading.Timer(0.1, press).start()
            threading.Timer(0.3, press).start()
            time.sleep(60)
            raise AssertionError("it came back by itself")
        return 0.0

    return call


class Driven(Pendulum):
    """A pendulum with a torque on its pin."""

    def __init__(self) -> None:
        super().__init__(angle=1.0)
        self.torque = Input(0.0)
        self.motor = JointEffort(self.pin, self.torque)


def driven(call) -> Result:
    with pytest.warns(RunWarning):
        return simulate(Driven(), until=1.0, inputs={"torque": (call, 0.01)}, channels="pin.*")


@pytest.mark.parametrize("ending", [KeyboardInterrupt, SystemExit, MemoryError, RecursionError])
def test_whatever_a_callable_raises_late_keeps_the_rows(ending: type[BaseException]) -> None:
    result = driven(pressing(ending=ending))
    assert result.time[-1] == pytest.approx(0.51)
    assert result.status.message.startswith("torque: ")
    assert isinstance(result.status.cause, ending)
    assert result.status.kind == ("interrupted" if ending is KeyboardInterrupt else "stopped")
    assert result.status.cause.__traceback__ is not None


def test_a_callable_that_never_comes_back_is_interrupted_the_second_time() -> None:
    result = driven(pressing(hangs=True))
    assert "interrupted" in result.status.message
    assert result.time[-1] == pytest.approx(0.51)
    assert not isinstance(result.status.cause, AssertionError)


def test_ctrl_c_again_and_again_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    from kompono import running

    conclude = running.concluded

    def pressed(*arguments):
        press()
        found = conclude(*arguments)
        press()
        return found

    monkeypatch.setattr(running, "concluded", pressed)
    result = driven(pressing(0.3))
    assert "interrupted by the user" in result.status.message
    assert 0.29 < result.time[-1] < 0.5


def test_ctrl_c_after_the_run_is_told_and_the_result_is_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    from kompono import running

    conclude = running.concluded
    monkeypatch.setattr(running, "concluded", lambda *a: (press(), conclude(*a))[1])
    with pytest.warns(RunWarning, match="interrupted by the user when the run was over"):
        result = simulate(Pendulum(), until=0.1)
    assert result.status.ok
    assert len(result.time) == 101


def test_a_watcher_that_fails_keeps_the_rows() -> None:
    class Watcher:
        channels = ("pin.angle",)

        def update(self, time: float, values: np.ndarray) -> None:
            if time > 0:
                raise ValueError("nobody looks")

    with pytest.warns(RunWarning, match="the watcher raised ValueError: nobody looks"):
        result = simulate(Pendulum(angle=1.0), until=1000.0, every=10, watcher=Watcher())
    assert len(result.time) > 10
    assert isinstance(result.status.cause, ValueError)


def test_a_run_in_real_time_does_not_sleep_through_it() -> None:
    begun = time.monotonic()
    timer = threading.Timer(1.0, press)
    timer.start()
    with pytest.warns(RunWarning, match="interrupted"):
        result = simulate(Pendulum(angle=1.0), until=2000.0, realtime=RealTime(frame=1000.0))
    assert time.monotonic() - begun < 900  # a frame takes 1000 s
    assert len(result.time) > 1


def test_a_run_in_another_thread_needs_no_signals() -> None:
    results: list[Result] = []
    thread = threading.Thread(target=lambda: results.append(simulate(Pendulum(angle=1.0), until=0.1)))
    thread.start()
    thread.join()
    assert results[0].status.ok


def test_two_runs_at_once_do_not_disturb_each_other() -> None:
    results: dict[float, Result] = {}

    def work(angle: float) -> None:
        results[angle] = simulate(Pendulum(angle=angle), until=1.0)

    threads = [threading.Thread(target=work, args=(angle,)) for angle in (0.5, 1.0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for angle, result in results.items():
        assert np.array_equal(result["pin.angle"], simulate(Pendulum(angle=angle), until=1.0)["pin.angle"])


def test_progress_is_quiet_when_not_on_a_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    with Progress(1.0, None) as progress:
        progress._begun -= 10  # as if it had taken long
        progress.update(0.5)
    out, err = capfd.readouterr()
    assert out == err == ""


def test_progress_shows_simulated_time_on_request_after_a_second(capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tqdm")
    with Progress(2.0, True) as progress:
        progress.update(0.1)
        assert capfd.readouterr().err == ""
        progress._begun -= 10
        progress.update(0.5)
    assert "0.5/2 s simulated" in capfd.readouterr().err


@pytest.mark.parametrize(("made", "said"), [((1e-6, 2e-6, 1.0), False), ((1e-6, 2e-6, 3e-6), True)])
def test_a_slow_beginning_is_not_taken_for_the_speed_of_a_run(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, made: tuple[float, ...], said: bool
) -> None:
    """Which begins with a crowd of events, and then goes on quickly, or not."""
    now = [100.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    with Progress(2.0, show=False) as progress:
        for reached in made:
            now[0] += 1.5
            progress.update(reached)
    assert ("this will take about 35 days" in caplog.text) is said


def test_a_short_run_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    simulate(Pendulum(), until=0.1, progress=True)
    out, err = capfd.readouterr()
    assert out == err == ""
