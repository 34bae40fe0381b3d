"""What cannot fit is refused before it starts, with numbers and a way out; where memory ends, rows are kept."""

from __future__ import annotations

import json
import logging
import math
import resource
import signal
import subprocess
import sys

import numpy as np
import pytest
from solve.machines import Pendulum

from kompono import RunError, RunWarning, Simulation, room, simulate, simulate_many
from kompono.realtime import RealTime
from kompono.result import Ensemble
from kompono.solve import estimate, fitting, many, records
from kompono.solve.integrate import Settings
from kompono.solve.records import Recorder


@pytest.mark.parametrize(
    ("options", "count"),
    [
        ({"until": 1e9}, "1,000,000,000,002 rows of 33 channels"),
        ({"until": 1e5, "step": 1e-7, "method": "dopri5", "channels": "pin.*"}, "rows of 9 channels"),
        ({"until": 1e6, "step": 1e-6, "method": "Radau"}, "1,000,000,000,002 rows"),
        ({"until": 1e8, "realtime": True}, "keep=60"),
    ],
)
def test_a_run_that_cannot_fit_is_refused_with_numbers(options: dict, count: str) -> None:
    with pytest.raises(RunError, match=r"TB of memory, and .* are free\. Record less: every=\d+, channels=") as caught:
        simulate(Pendulum(), **options)
    assert count in str(caught.value)


def test_the_way_out_that_is_named_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimate, "free_memory", lambda: 1e6)
    monkeypatch.setattr(room, "free_memory", lambda: 1e6)
    with pytest.raises(RunError, match=r"every=20,") as caught:
        simulate(Pendulum(), until=30.0)
    assert "8.64 MB of memory, and 1 MB are free" in str(caught.value)
    assert simulate(Pendulum(), until=30.0, every=20).status.ok


@pytest.mark.parametrize("runs", [10**12, 10**9])
def test_more_runs_than_fit_are_refused(runs: int) -> None:
    with pytest.raises(RunError, match=r"runs with 102 rows of 1 channel take .* Make fewer runs at a time") as caught:
        simulate_many(Pendulum(), until=0.1, runs=runs)
    assert f"{runs:,} runs" in str(caught.value)


def test_an_ensemble_is_counted_with_its_channels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "free_memory", lambda: 2e6)
    monkeypatch.setattr(estimate, "free_memory", lambda: 2e6)
    with pytest.raises(RunError, match=r"100 runs with 102 rows of 33 channels take .*or fewer runs"):
        simulate_many(Pendulum(), until=0.1, runs=100)
    assert simulate_many(Pendulum(), until=0.1, runs=100, channels="pin.angle").status[0].ok


def test_a_run_without_an_end_is_not_counted_unless_it_keeps_a_span() -> None:
    endless = Settings("rk4", 1e9, 1e-3)
    assert estimate.rows_of(endless, paced=True) is None
    assert estimate.rows_of(Settings("rk4", 1e9, 1e-3, keep=60.0), paced=True) == 60_002
    stop = RealTime(frame=0.01, speed=math.inf, on_frame=lambda frame: frame.stop() if frame.time > 0.05 else None)
    assert simulate(Pendulum(), until=math.inf, realtime=stop).status.ok


def test_before_is_told_and_verbose_people_too(caplog: pytest.LogCaptureFixture) -> None:
    told: list[estimate.Estimate] = []
    with caplog.at_level(logging.INFO, "kompono"):
        simulate(Pendulum(), until=0.1, channels="pin.angle", before=told.append)
    assert (told[0].channels, told[0].steps) == (1, 100)
    assert told[0].rows in (101, 102)
    assert "102 rows of 1 channels" in caplog.text


def test_before_must_be_a_function() -> None:
    with pytest.raises(RunError, match="before = 5 cannot be told anything"):
        simulate(Pendulum(), until=0.1, before=5)  # type: ignore[arg-type]


def test_who_refuses_before_stops_the_run() -> None:
    def refuse(_: estimate.Estimate) -> None:
        raise RunError("no room on this disk.")

    with pytest.raises(RunError, match="no room on this disk"):
        simulate(Pendulum(), until=0.1, before=refuse)


# -- when memory ends all the same


def test_a_run_ends_with_all_its_rows_when_memory_is_nearly_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "LOOK", 100_000)
    monkeypatch.setattr(records, "free_memory", lambda: 2e6)
    with pytest.warns(RunWarning, match="memory is full"):
        result = simulate(Pendulum(angle=1.0), until=1e3)
    assert 1000 < len(result.time) < 100_000
    np.testing.assert_allclose(np.diff(result.time), 1e-3, rtol=1e-6)  # none is missing
    assert result.status.time == pytest.approx(result.time[-1])
    assert not result.status.ok


class Short:
    """Something that runs out of memory a few times."""

    def __init__(self, work, times: int) -> None:
        self.work, self.times = work, times

    def __call__(self, *arguments, **options):
        self.times -= 1
        if self.times >= 0:
            raise MemoryError
        return self.work(*arguments, **options)


def test_channels_that_do_not_fit_leave_fewer_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = simulate(Pendulum(angle=1.0), until=1.0)
    monkeypatch.setattr(fitting, "channels", Short(fitting.channels, 2))
    with pytest.warns(RunWarning, match="only each 4th row is kept"):
        result = simulate(Pendulum(angle=1.0), until=1.0)
    assert not result.status.ok
    np.testing.assert_array_equal(result.time, whole.time[::4])
    np.testing.assert_allclose(result["pin.angle"], whole["pin.angle"][::4], atol=1e-12)


def test_what_cannot_be_computed_at_all_leaves_the_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "channels", Short(fitting.channels, 10**9))
    with pytest.warns(RunWarning, match="only the times are kept"):
        result = simulate(Pendulum(angle=1.0), until=0.1)
    assert (len(result.time), len(result.names)) == (101, 0)
    assert not result.status.ok


def test_rows_are_thinned_when_they_cannot_be_put_together(monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder()
    recorder.parts = [np.arange(8.0).reshape(4, 2), np.arange(8.0, 16.0).reshape(4, 2)]
    monkeypatch.setattr(records.np, "concatenate", Short(np.concatenate, 1))
    rows = recorder.finish(np.array([14.0, 15.0]))
    assert recorder.every == 2
    assert rows[:, 0].tolist() == [0.0, 4.0, 8.0, 12.0, 14.0]


@pytest.mark.parametrize("method", ["rk4", "dopri5"])
def test_no_room_on_the_way_keeps_rows(monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    take = Recorder.take

    def fail_once(self, run, least=1):
        if len(self.parts) == 3 and not getattr(self, "failed", False):
            self.failed = True
            raise MemoryError
        take(self, run, least)

    monkeypatch.setattr(Recorder, "take", fail_once)
    with pytest.warns(RunWarning, match="memory is full"):
        result = simulate(Pendulum(angle=1.0), until=1e3)
    assert len(result.time) > 1000
    assert np.isfinite(result.table).all()


def test_a_group_of_an_ensemble_without_room_leaves_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(many, "_group", Short(many._group, 1))
    with pytest.warns(RunWarning, match="memory ended"):
        result = simulate_many(Pendulum(), until=0.1, initial={"pin.angle": np.linspace(0, 1, 20)}, threads=1, lanes=2)
    assert isinstance(result, Ensemble)
    assert result.failed == [0, 1]
    assert np.isfinite(result.table[2:]).all()


LIMITED = """
import json, sys, warnings
sys.path.insert(0, "tests")
from solve.machines import Pendulum
from kompono import simulate
warnings.simplefilter("ignore")
from kompono.realtime import RealTime
endless = RealTime(frame=1e3, speed=float("inf"))
result = simulate(Pendulum(angle=1.0), until=1e9, channels="pin.*", realtime=endless)
print(json.dumps([len(result.time), len(result.names), result.status.message]))
"""


def test_a_run_without_an_end_under_a_limit_of_the_system_ends_with_its_rows() -> None:
    size = 1_600_000_000

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (size, size))

    for _ in range(4):  # a library that asks for memory in the wrong moment may end the process
        done = subprocess.run([sys.executable, "-c", LIMITED], capture_output=True, text=True, preexec_fn=limit)
        if done.returncode not in (-signal.SIGABRT, -signal.SIGSEGV, -signal.SIGBUS):
            break
    assert done.returncode == 0, done.stderr
    rows, names, message = json.loads(done.stdout)
    assert rows > 1_000_000
    assert names in (9, 11)
    assert "memory is full" in message


def test_memory_and_disk_are_known_here(tmp_path) -> None:
    assert 1e7 < room.free_memory() < 1e16
    assert 0 < room.free_disk(tmp_path / "not" / "yet" / "there.csv") < math.inf
    assert (room.amount(2.8e12), room.amount(5)) == ("2.8 TB", "5 bytes")


def test_a_simulation_is_asked_as_well() -> None:
    with pytest.raises(RunError, match="Record less"):
        Simulation(Pendulum()).run(Settings("rk4", 1e9, 1e-3))
