"""Runs on real processes: same bits and same errors on all, a process that fails or is killed, Ctrl-C."""

from __future__ import annotations

import importlib.util
import os
import pickle
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from kompono import Result
from kompono.ranks.launch import _environment
from kompono.simulation import Simulation
from kompono.solve.integrate import Settings

from .machines import Chain, Tree

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
MPIEXEC = shutil.which("mpiexec", path=os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", "")]))
LONG = ["--until", "10000", "--every", "100000", "--channels", "pin.angle", "--verbose"]

pytestmark = pytest.mark.skipif(
    MPIEXEC is None or importlib.util.find_spec("mpi4py") is None, reason="needs mpiexec and mpi4py: kompono[mpi]"
)


def environment(count: int) -> dict[str, str]:
    """As the command line has it; who waits lets others work, for the tests of another process run beside."""
    patient = {"OMPI_MCA_mpi_yield_when_idle": "1"}
    return {**os.environ, **_environment(max(count, 100)), **patient, "PYTHONPATH": str(ROOT)}


def started(count: int, *command: str) -> subprocess.Popen:
    words = [str(MPIEXEC), "-n", str(count), sys.executable, *command]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(words, env=environment(count), text=True, **pipes)


def outcome(case: str, count: int, folder: Path) -> list[dict]:
    """What each process has found."""
    process = started(count, str(HERE / "on_ranks.py"), case, str(folder))
    _, errors = process.communicate(timeout=240)
    assert process.returncode == 0, errors
    return [pickle.loads((folder / f"{case}.{rank}").read_bytes()) for rank in range(count)]


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict:
    return outcome("same_bits", 1, tmp_path_factory.mktemp("one"))[0]


@pytest.mark.parametrize("count", [2, 3, 4] if os.environ.get("KOMPONO_LAWS") else [3])
def test_results_have_the_same_bits_on_any_number_of_ranks(count: int, alone: dict, tmp_path: Path) -> None:
    for rank, found in enumerate(outcome("same_bits", count, tmp_path)):
        for case, (names, table, ok) in found.items():
            assert ok, (case, rank)
            assert names == alone[case][0]
            np.testing.assert_array_equal(table, alone[case][1], err_msg=f"{case} on rank {rank}")


@pytest.mark.parametrize("model", [Tree, Chain])
def test_a_run_without_ranks_has_the_same_bits(model: type, alone: dict) -> None:
    simulation = Simulation(model(), nested_from=1)
    result = simulation.run(Settings("rk4", 0.02, 1e-3), channels=["*.angle", "energy.total"])
    np.testing.assert_array_equal(result.table, alone[model.__name__, "rk4"][1])


def test_all_processes_hear_the_same_error(tmp_path: Path) -> None:
    first, second = outcome("errors", 2, tmp_path)
    assert "another model" in second.pop("another model")
    assert "rank 1" in first["another model"]
    assert {name: first[name] for name in second} == second
    assert "nothing.like.this" in first["channel"]
    assert "Radau" in first["method"]
    assert "ranks 0 to 1" in first["place"]
    assert "no such file.h5" in first["resume"]
    assert "another model" in first["another model"]


def test_an_error_in_one_process_ends_all_and_names_its_part(tmp_path: Path) -> None:
    process = started(2, str(HERE / "on_ranks.py"), "fails", str(tmp_path))
    _, errors = process.communicate(timeout=120)
    assert process.returncode != 0
    assert "rank 1 (stem.stems.1): ValueError: the disk is full" in errors
    assert not list(tmp_path.iterdir())


def test_a_run_goes_on_with_the_same_bits_on_another_number_of_ranks(tmp_path: Path) -> None:
    """Large trees with all that methods remember, and closed parts with events, killed and gone on with."""
    whole = outcome("begun", 2, tmp_path)[0]
    for found in outcome("resumed", 3, tmp_path):
        for name, (times, table, ok) in whole.items():
            assert ok, name
            np.testing.assert_array_equal(found[name][0], times, err_msg=name)
            np.testing.assert_array_equal(found[name][1], table, err_msg=name)


def wait_for(process: subprocess.Popen, word: str) -> str:
    assert process.stderr is not None
    read = ""
    while word not in read:
        line = process.stderr.readline()
        assert line, read
        read += line
    time.sleep(0.2)
    return read


def command(*words: str) -> list[str]:
    main = "import sys; from kompono.edges.cli import main; sys.exit(main(sys.argv[1:]))"
    return ["-c", main, "run", f"{HERE / 'machines.py'}:Tree", *words]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are found in /proc")
def test_a_killed_process_ends_all_and_is_named() -> None:
    process = started(2, *command("--ranks", *LONG))
    told = wait_for(process, "an evaluation takes")
    assert "rank 1: stem.stems.1" in told
    ranks = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True).stdout.split()
    os.kill(int(ranks[-1]), signal.SIGKILL)
    _, errors = process.communicate(timeout=120)  # others would wait for ever
    assert process.returncode != 0
    assert "rank 1 (stem.stems.1) has died" in errors


def test_an_interrupted_run_keeps_what_was_computed(tmp_path: Path) -> None:
    """And can be gone on with: it was interrupted, and is so again."""
    file, kept = tmp_path / "run.csv", tmp_path / "run.h5"
    words = [sys.executable, *command("--ranks", "2", *LONG, "--csv", str(file), "--hdf5", str(kept))]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(words, env=environment(2), text=True, **pipes)
    wait_for(process, "an evaluation takes")
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=300)
    assert process.returncode == 3, errors
    assert output.count("Tree: 0 to") == 1  # one process speaks for all
    assert "interrupted by the user" in errors
    assert len(file.read_text().splitlines()) > 2
    before = Result.load(kept)
    assert not before.status.ok
    words = [sys.executable, *command("--ranks", "2", "--resume", str(kept), *LONG)]
    process = subprocess.Popen(words, env=environment(2), text=True, **pipes)
    wait_for(process, "an evaluation takes")
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 3, errors
    after = Result.load(kept)
    assert after.time[-1] > before.time[-1]
    shared = len(before.time) - 1  # the last row is where it was stopped
    np.testing.assert_array_equal(after["pin.angle"][:shared], before["pin.angle"][:shared])
