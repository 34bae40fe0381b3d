"""Closed parts of a machine with loops on ranks, by the command line: the same bits on all and in one process."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

HERE = os.path.dirname(sys.executable)
pytestmark = pytest.mark.skipif(
    shutil.which("mpiexec", path=os.pathsep.join([HERE, os.environ.get("PATH", "")])) is None
    or importlib.util.find_spec("mpi4py") is None,
    reason="needs mpiexec and mpi4py: kompono[mpi]",
)
MAIN = "import sys; from kompono.edges.cli import main; sys.exit(main(sys.argv[1:]))"
METHODS = ("rk4", "adams", "dopri5") if os.environ.get("KOMPONO_LAWS") else ("dopri5",)
CAR = ["run", "examples/car.py", "--closed", "left", "--closed", "right", "--quiet", "--csv", "car.csv"]


def numbers(folder: Path, *words: str) -> str:
    """What a run writes, without what it says about itself."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", MAIN, *CAR, *words]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    lines = (folder / "car.csv").read_text().splitlines()
    return "\n".join(line for line in lines if not line.startswith("#"))


@pytest.mark.parametrize("method", METHODS)
def test_the_car_with_its_suspensions_on_other_ranks(method: str, tmp_path: Path) -> None:
    words = ["--until", "0.03", "--step", "1e-3", "--method", method, "--errors", "parts"]
    spread = numbers(tmp_path, *words, "--ranks", "3", "--place", "left=2")
    assert spread.count("\n") > 20
    assert numbers(tmp_path, *words, "--ranks", "2") == spread
    assert numbers(tmp_path, *words) == spread


def test_a_part_that_is_not_closed_cannot_be_placed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", MAIN, *CAR, "--ranks", "2", "--place", "body=1"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=240)
    assert done.returncode != 0
    assert "'body', which is no closed part" in done.stderr


@pytest.mark.skipif(not os.environ.get("KOMPONO_LAWS"), reason="half a minute: KOMPONO_LAWS=1")
@pytest.mark.parametrize("what", ["a rank is killed", "Ctrl-C"])
def test_a_run_that_does_not_come_to_its_end(what: str, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", MAIN, *CAR, "--until", "1000", "--every", "1000", "--ranks", "2"]
    run = subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True)
    time.sleep(15)
    if what == "Ctrl-C":
        run.send_signal(signal.SIGINT)
    else:
        shown = subprocess.run(["pgrep", "-f", "until 1000 --every 1000 --ranks 2"], capture_output=True, text=True)
        os.kill(int(shown.stdout.split()[-1]), signal.SIGKILL)
    _, said = run.communicate(timeout=120)
    if what == "Ctrl-C":
        assert run.returncode == 3
        assert "interrupted by the user" in said
        assert "# kompono end" in (tmp_path / "car.csv").read_text()
    else:
        assert run.returncode != 0
        assert "rank 1 (left, right) has died" in said
