"""Ctrl-C ends an ensemble and keeps what was computed; progress is shown to those who watch."""

from __future__ import annotations

import os
import signal
import threading

import numpy as np
import pytest
from ensembles.machines import Tunable

from kompono import interruption, simulate_many

ANGLES = {"shoulder.angle": np.linspace(-1, 1, 40)}


@pytest.mark.parametrize("method", ["rk4", "dopri5"])
def test_ctrl_c_keeps_results(method: str) -> None:
    simulate_many(Tunable(), until=0.01, initial=ANGLES, method=method, channels="*angle")
    done = threading.Event()

    def interrupt() -> None:
        while not (interruption._active and interruption._active.keeps) and not done.wait(0.01):
            pass  # translating and compiling
        if not done.wait(0.3):
            os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    before = signal.getsignal(signal.SIGINT)
    thread.start()
    try:
        many = simulate_many(
            Tunable(), until=1e4, every=1000, initial=ANGLES, method=method, channels="*angle", threads=2
        )
    finally:
        done.set()
        thread.join()
    assert signal.getsignal(signal.SIGINT) is before
    assert len(many.failed) >= 30
    assert "interrupted" in many.status[many.failed[-1]].message
    assert np.isfinite(many["elbow.angle"][0, 0])
    assert np.isnan(many["elbow.angle"][-1, -1])


def test_progress_is_shown_if_asked_for(capsys: pytest.CaptureFixture) -> None:
    pytest.importorskip("tqdm")
    simulate_many(
        Tunable(), until=40.0, step=2e-4, every=1000, initial=ANGLES, channels="*angle", progress=True, lanes=1
    )
    assert "simulated" in capsys.readouterr().err
    simulate_many(Tunable(), until=0.1, initial=ANGLES, channels="*angle")
    assert capsys.readouterr().err == ""
