"""Real signals at commands: nothing that was computed is lost, none is overheard, the exit code says what it was."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from kompono.edges.cli import main
from kompono.result import Result

Write = Callable[..., str]
Capture = pytest.CaptureFixture[str]
CHAIN = """
from kompono import Body, Ground, Input
from kompono.library import Gravity, Revolute, solids

class Chain(Subsystem):
    def __init__(self, links=2):
        self.ground, self.gravity = Ground(), Gravity()
        bodies, pins, end = [], [], self.ground
        for k in range(links):
            bodies.append(Body(solids.rod(mass=1.0, length=1.0, radius=0.01)))
            pins.append(Revolute(end, bodies[-1].at(0, 0, 0.5), axis="xyz"[k % 3], angle=0.5))
            end = bodies[-1].at(0, 0, -0.5)
        self.bodies, self.pins = bodies, pins
        self.clock = Input(tick, period=1000.0)

def tick(t):
    if t:
        print("running", flush=True)
    return 0.0
"""
COMMAND = [sys.executable, "-c", "import sys; from kompono.edges.cli import main; sys.exit(main())"]
SWING = "class Swing(Subsystem): pass\n"


def press(number: int = signal.SIGINT) -> None:
    os.kill(os.getpid(), number)


def started(folder: Path, *options: str) -> subprocess.Popen[str]:
    """A command at work."""
    return subprocess.Popen(
        [*COMMAND, "run", "m.py", *options], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
@pytest.mark.parametrize("moment", range(2))
def test_a_translation_is_ended_at_any_time(model_file: Write, tmp_path: Path, number: int, moment: int) -> None:
    model_file(CHAIN + "\nprint('ready', flush=True)\n", "m.py")
    command = started(tmp_path, "--no-cache", "--set", "links=24", "--engine", "absolute", "--until", "0.1")
    assert command.stdout is not None
    assert command.stdout.readline() == "ready\n"
    time.sleep(random.Random(17 * moment + number).uniform(0.05, 1.0))
    command.send_signal(number)
    _, said = command.communicate(timeout=300)
    assert command.returncode == 128 + number, said
    assert said in ("kompono: interrupted\n", "kompono: ended by SIGTERM\n")


@pytest.mark.parametrize("numbers", [[2, 2, 2], [15, 2], [1]], ids=str)
def test_a_run_is_ended_and_all_its_files_are_written(model_file: Write, tmp_path: Path, numbers: list[int]) -> None:
    if signal.getsignal(numbers[0]) == signal.SIG_IGN:
        pytest.skip("under nohup this signal is meant to be overheard, by children, too")
    model_file(CHAIN, "m.py")
    files = ("--csv", "a.csv", "--hdf5", "a.h5")
    main(["run", "m.py", "--until", "0.01", "--every", "10000", "--quiet", *files])  # compiled from here on
    command = started(tmp_path, "--until", "1e6", "--every", "10000", "--quiet", *files)
    assert command.stdout is not None
    assert command.stdout.readline() == "running\n"
    generator = random.Random(sum(numbers))
    for number in numbers:
        command.send_signal(number)
        time.sleep(generator.uniform(0.0, 0.1))
    _, said = command.communicate(timeout=300)
    assert command.returncode == 3, said
    assert "interrupted by the user" in said
    text, stored = Result.load(tmp_path / "a.csv"), Result.load(tmp_path / "a.h5")
    np.testing.assert_array_equal(text.table, stored.table)
    assert len(text.time) > 1
    assert not stored.status.ok


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
def test_files_that_are_being_written_are_finished(
    recorder, model_file: Write, capsys: Capture, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    write = Result.to_csv

    def interrupted(self: Result, path: Path) -> None:
        press(number)
        write(self, path)
        press(number)

    monkeypatch.setattr(Result, "to_csv", interrupted)
    assert main(["run", model_file(SWING), "--csv", "a.csv", "--hdf5", "a.h5", "--plot", "a.png"]) == 128 + number
    said = capsys.readouterr()
    assert len(Result.load("a.csv").time) == len(Result.load("a.h5").time) == 11
    assert Path("a.png").exists()
    assert "interrupted when the run was over: it is complete, and so are its files" in said.err
    assert "a.h5" in said.out


def test_a_model_that_runs_itself_when_it_is_loaded_can_be_interrupted_afterwards(
    model_file: Write, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pressed(*_: object, **__: object) -> None:
        press()
        time.sleep(0.01)
        raise AssertionError("not heard")

    body = CHAIN + "\nfrom kompono import simulate as run\nrun(Chain(), until=0.01)\n"
    name = model_file(body)
    monkeypatch.setattr("kompono.inspect", pressed, raising=False)
    assert main(["inspect", name]) == 130
    assert capsys.readouterr().err == "kompono: interrupted\n"


def test_a_view_that_waits_is_ended_by_ctrl_c(model_file: Write, tmp_path: Path) -> None:
    model_file(CHAIN, "m.py")
    command = subprocess.Popen(
        [*COMMAND, "view", "m.py", "--port", "0"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert command.stdout is not None
    assert "Ctrl-C ends it" in command.stdout.readline()
    command.send_signal(signal.SIGTERM)
    _, said = command.communicate(timeout=300)
    assert (command.returncode, said) == (0, "")


def test_handlers_are_given_back(recorder, model_file: Write) -> None:
    known = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.getsignal(number) for number in known]
    assert main(["run", model_file(SWING)]) == 0
    assert [signal.getsignal(number) for number in known] == before
