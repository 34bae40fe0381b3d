"""`kompono run --hdf5` killed or interrupted at any moment, and gone on with by `--resume`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from kompono import Result, simulate
from kompono.edges.cli import main

MODEL = """
from kompono import Body, Ground, Input, Subsystem
from kompono.library import Gravity, JointEffort, Revolute, solids


class Push:
    def __init__(self):
        self.calls = 0

    def __call__(self, t):
        self.calls += 1
        return 0.1 * (self.calls % 7 - 3)


class Swing(Subsystem):
    def __init__(self, mass=1.0):
        self.ground, self.gravity = Ground(), Gravity()
        self.rod = Body(solids.rod(mass=mass, length=1.0, radius=0.01))
        self.pin = Revolute(self.ground, self.rod.at(0, 0, 0.5), axis="y", angle=1.0)
        self.torque = Input(Push(), period=0.5)
        self.push = JointEffort(self.pin, self.torque)
"""
OPTIONS = ["--until", "2500", "--every", "500", "--channels", "pin.*"]
CHILD = """
import sys, time
from kompono.edges.cli import main
from kompono.solve import inputs, journal

def slowly(self, *now, sample=inputs.Feed.sample):
    time.sleep(5e-4)
    return sample(self, *now)

inputs.Feed.sample = slowly
journal.FIRST = journal.PERIOD = 0.05
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the model, and the result of a run that nobody disturbed."""
    folder = tmp_path_factory.mktemp("resumed")
    (folder / "swing.py").write_text(MODEL)
    assert main(["run", str(folder / "swing.py"), *OPTIONS, "--hdf5", str(folder / "whole.h5"), "--quiet"]) == 0
    return folder


def ended_by(number: signal.Signals, after: float, folder: Path, file: Path, *options: str) -> int:
    """The code of a run that got a signal so many seconds after it began to write its file."""
    command = [sys.executable, "-c", CHILD, "run", str(folder / "swing.py"), *options, "--quiet"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 300
    while process.poll() is None and time.monotonic() < deadline:
        if file.exists():
            break
        time.sleep(0.005)
    time.sleep(after)
    if process.poll() is None:
        os.kill(process.pid, number)
    return process.wait()


def same(one: Result, other: Result) -> bool:
    n = len(one.time)
    return np.array_equal(one.time, other.time[:n]) and np.array_equal(one.table, other.table[:n])


@pytest.mark.parametrize("after", [0.0, 0.13, 0.6])
def test_a_run_killed_at_any_moment_goes_on(
    after: float, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, whole = tmp_path / "run.h5", Result.load(folder / "whole.h5")
    if ended_by(signal.SIGKILL, after, folder, file, *OPTIONS, "--hdf5", str(file)) == 0:
        pytest.skip("the run was over before it could be killed")
    so_far = Result.load(file)
    assert not so_far.status.ok
    assert 0 < len(so_far.time) < len(whole.time)
    assert same(so_far, whole)
    assert main(["plot", str(file), "--out", str(tmp_path / "so-far.png")]) == 0
    assert main(["run", str(folder / "swing.py"), "--resume", str(file), "--set", "mass=2", "--quiet"]) == 1
    assert "equations of the model are not the same" in capsys.readouterr().err
    assert main(["run", str(folder / "swing.py"), "--resume", str(file), "--step", "0.002", "--quiet"]) == 1
    assert "step was None then, 0.002 now" in capsys.readouterr().err
    csv = tmp_path / "run.csv"
    assert main(["run", str(folder / "swing.py"), "--resume", str(file), "--csv", str(csv), "--quiet"]) == 0
    for path in (file, csv):
        done = Result.load(path)
        assert done.status.ok
        assert len(done.time) == len(whole.time)
        assert same(done, whole)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["run.csv", "run.h5", "so-far.png"]


def test_a_run_that_was_asked_to_end_can_go_on_too(folder: Path, tmp_path: Path) -> None:
    file, whole = tmp_path / "run.h5", Result.load(folder / "whole.h5")
    if ended_by(signal.SIGINT, 0.2, folder, file, *OPTIONS, "--hdf5", str(file)) == 0:
        pytest.skip("the run was over before it could be interrupted")
    so_far = Result.load(file)
    assert "interrupted" in so_far.status.message
    assert np.array_equal(so_far.table[:-1], whole.table[: len(so_far.time) - 1])
    assert main(["run", str(folder / "swing.py"), "--resume", str(file), "--quiet"]) == 0
    assert same(Result.load(file), whole)
    assert Result.load(file).status == whole.status


def test_what_cannot_be_resumed_is_said(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "broken.h5").write_bytes(b"no")
    for file, said in (
        (folder / "whole.h5", "is over"),
        (tmp_path / "none.h5", "there is no file"),
        (tmp_path / "broken.h5", "cut off|damaged"),
        (tmp_path / "run.csv", "HDF5"),
        (tmp_path, "HDF5"),
    ):
        assert main(["run", str(folder / "swing.py"), "--resume", str(file)]) == 1
        told = capsys.readouterr().err
        assert "Traceback" not in told
        assert any(part in told for part in said.split("|")), told


def test_python_and_the_command_line_share_their_files(folder: Path, tmp_path: Path) -> None:
    whole = Result.load(folder / "whole.h5")
    assert whole.statistics["method"] == "rk4"
    from solve.machines import Pendulum

    result = simulate(Pendulum(), until=0.1, hdf5=tmp_path / "new" / "run.h5")
    assert result.file == tmp_path / "new" / "run.h5"
    assert Result.load(tmp_path / "new" / "run.h5").status.ok
