"""The commands: what reaches `simulate`, what is written, what is said, and the exit codes."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import kompono
from kompono.compile import cache
from kompono.edges.cli import main
from kompono.errors import ModelWarning, RunError
from kompono.result import Result, Status, extras

Write = Callable[..., str]
Capture = pytest.CaptureFixture[str]

SWING = """
class Swing(Subsystem):
    def __init__(self, *, links=2):
        self.links = links
        self.damping = Parameter(0.1)
"""
DEFAULTS = "    run_defaults = {'until': 1.5, 'step': 1e-3, 'method': 'rk4', 'initial': {'a.angle': 1.0}}\n"


def test_options_reach_simulate(recorder, model_file: Write) -> None:
    options = "--until 2 --step 0.01 --method dopri5 --engine relative --rtol 1e-9 --atol 1e-10 --every 5"
    more = "--channels rod.* --channels energy.* --set links=4 --set damping=0.5 --initial pin.angle=0.1"
    flags = "--initial pin.angle.rate=-10 --no-stabilize --no-cache --quiet"
    assert main(["run", model_file(SWING), *options.split(), *more.split(), *flags.split()]) == 0
    assert recorder.model.links == 4
    assert recorder.request == {
        "until": 2.0,
        "step": 0.01,
        "method": "dopri5",
        "engine": "relative",
        "rtol": 1e-9,
        "atol": 1e-10,
        "every": 5,
        "channels": ["rod.*", "energy.*"],
        "parameters": {"damping": 0.5},
        "initial": {"pin.angle": 0.1, "pin.angle.rate": -10.0},
        "stabilize": False,
        "cache": False,
        "progress": False,
    }


def test_strengths_of_links_by_path_or_for_all(recorder, model_file: Write) -> None:
    options = ["--engine", "discrete", "--stiffness", "pin=1e6,1e4", "--stiffness", "*_axle=1e5", "--damping", "20"]
    assert main(["run", model_file(SWING), *options]) == 0
    assert recorder.request["stiffness"] == {"pin": (1e6, 1e4), "*_axle": 1e5}
    assert recorder.request["damping"] == {"*": 20.0}


def test_what_is_not_given_is_left_to_simulate(recorder, model_file: Write) -> None:
    assert main(["run", model_file(SWING)]) == 0
    assert recorder.request == {"until": 1.0}


def test_the_models_defaults_yield_to_the_command(recorder, model_file: Write) -> None:
    assert main(["run", model_file(SWING + DEFAULTS), "--step", "0.1", "--initial", "b.angle=2"]) == 0
    initial = {"a.angle": 1.0, "b.angle": 2.0}
    assert recorder.request == {"until": 1.5, "step": 0.1, "method": "rk4", "initial": initial}


def test_an_unknown_default_is_refused(recorder, model_file: Write, capsys: Capture) -> None:
    assert main(["run", model_file(SWING + "    run_defaults = {'untill': 1.5}\n")]) == 1
    assert "Did you mean 'until'" in capsys.readouterr().err


def test_files_are_written_and_named(recorder, model_file: Write, capsys: Capture, tmp_path: Path) -> None:
    outputs = ["--csv", "out/a.csv", "--parquet", "out/a.parquet", "--hdf5", "out/a.h5", "--plot"]
    assert main(["run", model_file(SWING), *outputs]) == 0
    for name in ("a.csv", "a.parquet", "a.h5"):
        np.testing.assert_array_equal(Result.load(tmp_path / "out" / name)["energy.total"], 2.0)
    assert (tmp_path / "Swing.png").read_bytes().startswith(b"\x89PNG")
    said = capsys.readouterr()
    assert said.out.startswith("Swing: 0 to 1 s, 11 rows of 3 channels\n")
    for part in ("10 steps", "drift", "energy", "out/a.csv", "out/a.parquet", "out/a.h5", "Swing.png"):
        assert part in said.out
    assert said.err == ""


def test_quiet_is_quiet(recorder, model_file: Write, capsys: Capture) -> None:
    assert main(["run", model_file(SWING), "--quiet", "--csv", "a.csv"]) == 0
    assert capsys.readouterr() == ("", "")


def test_a_run_that_is_wrong_on_the_way_says_from_when_on(recorder, model_file: Write, capsys: Capture) -> None:
    recorder.status = Status(False, "gauge: the channel is not a number", 0.3)
    assert main(["run", model_file(SWING), "--guard-checks", "3", "--max-steps", "9"]) == 3
    assert capsys.readouterr().err == "kompono: wrong from 0.3 s on: gauge: the channel is not a number\n"


@pytest.mark.parametrize("rows", [4, 0])
def test_a_run_that_ended_early_writes_what_it_has(recorder, model_file: Write, capsys: Capture, rows: int) -> None:
    recorder.status, recorder.rows = Status(False, "the force of spring is not finite", 1.0), rows
    assert main(["run", model_file(SWING), "--csv", "a.csv", "--plot", "a.svg"]) == 3
    assert len(Result.load("a.csv").time) == rows
    assert capsys.readouterr().err == "kompono: ended early at 1 s: the force of spring is not finite\n"
    assert Path("a.svg").exists() == (rows > 0)


def test_an_error_of_the_run_is_one_message(monkeypatch, model_file: Write, capsys: Capture) -> None:
    def refuse(*_, **__) -> None:
        raise RunError("unknown method 'rk5'.", fix="Did you mean 'rk4'?")

    monkeypatch.setattr(kompono, "simulate", refuse, raising=False)
    assert main(["run", model_file(SWING), "--method", "rk5"]) == 1
    assert capsys.readouterr() == ("", "kompono: unknown method 'rk5'. Did you mean 'rk4'?\n")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--set", "links"], "--set links: expected NAME=VALUE."),
        (["--set", "lynks=2"], "Did you mean 'links'?"),
        (["--initial", "a.angle=fast"], "--initial a.angle: 'fast' is not a number."),
        (["--stiffness", "pin=hard"], "--stiffness pin: 'hard' is not a number."),
        (["--plot", "a.gif"], "cannot draw a picture into 'a.gif'."),
        (["--csv", "."], "cannot write '.': it is a folder."),
    ],
)
def test_wrong_requests_are_refused_before_the_run(recorder, model_file, capsys, options, message) -> None:
    assert main(["run", model_file(SWING), *options]) == 1
    assert message in capsys.readouterr().err
    assert recorder.model is None


def test_a_missing_extra_is_told_before_the_run(recorder, monkeypatch, model_file: Write, capsys: Capture) -> None:
    def absent(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(extras.importlib, "import_module", absent)
    assert main(["run", model_file(SWING), "--plot"]) == 1
    assert capsys.readouterr().err == "kompono: matplotlib is not installed. Try: pip install 'kompono[plot]'\n"
    assert recorder.model is None


def test_a_file_that_cannot_be_written_is_a_message(recorder, model_file: Write, capsys: Capture) -> None:
    assert main(["run", model_file(SWING), "--csv", "double_swing.py/a.csv"]) == 1
    assert capsys.readouterr().err.startswith("kompono: ")


def test_a_broken_file_shows_its_line_and_cause(model_file: Write, capsys: Capture) -> None:
    assert main(["run", model_file("x = 1 / 0\n", "broken.py")]) == 2
    message = capsys.readouterr().err
    assert "ZeroDivisionError: division by zero" in message
    assert "broken.py:3: x = 1 / 0" in message
    assert "Traceback" not in message


def test_warnings_are_one_line(recorder, model_file: Write, capsys: Capture) -> None:
    text = f"import warnings\nfrom kompono.errors import {ModelWarning.__name__}\n{SWING}"
    text += "warnings.warn('body: nobody connects it', ModelWarning)\n"
    assert main(["run", model_file(text)]) == 0
    assert capsys.readouterr().err == "kompono: warning: body: nobody connects it\n"


def test_ctrl_c_outside_the_run(monkeypatch, model_file: Write, capsys: Capture) -> None:
    def interrupt(*_, **__) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(kompono, "simulate", interrupt, raising=False)
    assert main(["run", model_file(SWING)]) == 130
    assert capsys.readouterr().err == "kompono: interrupted\n"


def test_inspect_prints_the_report(monkeypatch, model_file: Write, capsys: Capture) -> None:
    monkeypatch.setattr(kompono, "inspect", lambda model: f"{type(model).__name__}: {model.links} links", raising=False)
    assert main(["inspect", model_file(SWING), "--set", "links=7"]) == 0
    assert capsys.readouterr().out == "Swing: 7 links\n"


def test_cache_is_measured_and_cleared(monkeypatch, capsys: Capture) -> None:
    monkeypatch.setattr(cache, "directory", lambda: "here")
    monkeypatch.setattr(cache, "size", lambda: 2_500_000)
    monkeypatch.setattr(cache, "clear", lambda: 12)
    assert main(["cache"]) == 0
    assert main(["cache", "--clear"]) == 0
    first, *_, last = capsys.readouterr().out.splitlines()
    assert (first, last) == ("2.5 MB of compiled kernels in here", "12 files removed")


def test_version_and_usage(capsys: Capture) -> None:
    for arguments, code in ((["--version"], 0), (["run"], 2), (["run", "a.py", "--step", "big"], 2)):
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        assert caught.value.code == code
    assert re.match(r"kompono (\d+\.\d+\.\d+|unknown)\n", capsys.readouterr().out)


# -- real time


def test_realtime_options_reach_the_run(recorder, model_file: Write) -> None:
    options = "--realtime --frame 0.005 --speed 2 --behind slip --keep 30 --udp 6000 --send rod.* --receive torque"
    assert main(["run", model_file(SWING), *options.split()]) == 0
    realtime = recorder.request["realtime"]
    assert (realtime.frame, realtime.speed, realtime.behind, realtime.keep) == (0.005, 2.0, "slip", 30.0)
    (link,) = realtime.observers
    assert (link.host, link.port, link.outputs, link.inputs) == ("127.0.0.1", 6000, ["rod.*"], ["torque"])


def test_realtime_by_shared_memory_and_on_another_host(recorder, model_file: Write) -> None:
    options = "--realtime --udp 0.0.0.0:6000 --shared-memory arm --send rod.*"
    assert main(["run", model_file(SWING), *options.split()]) == 0
    udp, memory = recorder.request["realtime"].observers
    assert udp.host == "0.0.0.0"
    assert memory.path.name.endswith("-arm")


def test_without_realtime_there_is_none(recorder, model_file: Write) -> None:
    assert main(["run", model_file(SWING)]) == 0
    assert "realtime" not in recorder.request


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--frame 0.01", "--frame belongs to runs in real time. Add --realtime."),
        ("--realtime --frame 0", "frame = 0.0 is not positive"),
        ("--realtime --udp 6000", "--udp needs channels to send"),
        ("--realtime --send rod.*", "--send and --receive need a way"),
        ("--realtime --udp here --send rod.*", "expected [HOST:]PORT"),
    ],
)
def test_wrong_realtime_options_are_errors(
    recorder, model_file: Write, capsys: Capture, options: str, message: str
) -> None:
    assert main(["run", model_file(SWING), *options.split()]) == 1
    assert message in capsys.readouterr().err
    assert recorder.model is None
