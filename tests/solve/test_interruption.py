"""Ctrl-C ends a run and keeps what was computed; the progress bar stays quiet unless someone watches."""

from __future__ import annotations

import os
import signal
import threading

import numpy as np
import pytest
from solve.machines import Pendulum

from kompono import Result, simulate
from kompono.solve.progress import Progress


@pytest.mark.parametrize("every", [200, 100_000], ids=["rows often", "rows seldom"])
@pytest.mark.parametrize("method", ["rk4", "adams", "dopri5"])
def test_ctrl_c_ends_a_native_run_and_keeps_its_results(method: str, every: int) -> None:
    result = interrupted(method, until=1e5, every=every)
    assert result.time[-1] == pytest.approx(result.status.time)


@pytest.mark.parametrize("method", ["RK45", "Radau"])
def test_ctrl_c_ends_a_scipy_run_and_keeps_its_results(method: str) -> None:
    interrupted(method, until=1e4, every=100)


def interrupted(method: str, until: float, every: int) -> Result:
    """A run of at least some seconds that gets the signal 0.2 s after it began to listen."""
    simulate(Pendulum(angle=1.0), until=0.01, method=method)  # compiled now, so that the signal hits the run
    done = threading.Event()
    before = signal.getsignal(signal.SIGINT)

    def interrupt() -> None:
        while signal.getsignal(signal.SIGINT) is before and not done.wait(0.01):
            pass
        if not done.wait(0.2):
            os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        result = simulate(
            Pendulum(angle=1.0), until=until, step=1e-3, every=every, method=method, rtol=1e-10, channels="pin.*"
        )
    finally:
        done.set()
        thread.join()
    assert signal.getsignal(signal.SIGINT) is before
    assert not result.status.ok
    assert "interrupted" in result.status.message
    assert 0 < result.status.time < until
    assert len(result.time) >= 2
    assert np.all(np.isfinite(result.table))
    return result


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


def test_a_short_run_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    simulate(Pendulum(), until=0.1, progress=True)
    out, err = capfd.readouterr()
    assert out == err == ""
