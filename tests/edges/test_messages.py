"""No command shows a traceback unless `--debug` is given; closed and full streams lead to no complaint of Python's."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kompono.edges.cli import main

Write = Callable[..., str]
Capture = pytest.CaptureFixture[str]
PENDULUM = """
from kompono import Body, Field, Ground, Input
from kompono.library import Gravity, Revolute, solids

class Pendulum(Subsystem):
    def __init__(self):
        self.ground, self.gravity = Ground(), Gravity()
        self.rod = Body(solids.rod(mass=1.0, length=1.0, radius=0.01))
        self.pin = Revolute(self.ground, self.rod.at(0, 0, 0.5), axis="y", angle=0.5)
"""
LAW = """        self.field = Mine()

class Mine(Field):
    def acceleration(self, *_):
        {}

model = Pendulum()
"""
BROKEN = {
    "a syntax error": ("class X(:\n", 2, "SyntaxError"),
    "a name that is not there": ("x = y\n", 2, "NameError"),
    "an exit": ("raise SystemExit(5)\n", 2, "SystemExit: 5"),
    "no end": ("def f():\n    f()\nf()\n", 2, "RecursionError"),
    "no memory": ("raise MemoryError\n", 2, "MemoryError"),
    "an exception of its own kind": ("class E(BaseException): pass\nraise E('odd')\n", 1, "odd"),
    "an exception that cannot be shown": (
        "class E(Exception):\n    def __str__(self): return 1 / 0\nraise E\n",
        2,
        "str() failed",
    ),
    "a long message": ("raise ValueError('x' * 100_000)\n", 2, "ValueError: xxx"),
    "a closed generator": ("raise GeneratorExit\n", 1, "GeneratorExit"),
    "defaults that are none": (PENDULUM + "    run_defaults = 5\n", 1, "run_defaults 5"),
    "an exit in a law": (PENDULUM + LAW.format("raise SystemExit(4)"), 1, "sys.exit(4)"),
    "an odd exception in a law": (PENDULUM + LAW.format("raise BaseException('odd')"), 1, "odd"),
    "a law without end": (PENDULUM + LAW.format("return self.acceleration()"), 1, "RecursionError"),
}


@pytest.mark.parametrize("command", ["run", "inspect", "cost", "report", "view"])
@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_model_is_a_few_lines(model_file: Write, capsys: Capture, command: str, kind: str) -> None:
    text, code, cause = BROKEN[kind]
    if kind.startswith("defaults") and command not in ("run", "report"):
        pytest.skip("asks for no defaults")
    options = ["--html", "a.html"] if command == "view" else []
    found = main([command, model_file(text, "broken.py"), *options])
    said = capsys.readouterr().err
    assert (found, "Traceback" in said, cause in said) == (code, False, True), said
    assert said.count("\n") < 8
    assert len(said) < 1500


def test_debug_shows_it_all(model_file: Write, capsys: Capture) -> None:
    for arguments in (["run", model_file("x = 1 / 0\n"), "--debug"], ["--debug", "run", model_file("x = 1 / 0\n")]):
        assert main(arguments) == 2
        said = capsys.readouterr().err
        assert "Traceback (most recent call last)" in said
        assert "kompono: cannot load double_swing.py: ZeroDivisionError" in said


def test_what_goes_wrong_inside_names_the_line_of_the_user(model_file: Write, capsys: Capture, monkeypatch) -> None:
    monkeypatch.setattr("kompono.simulate", lambda model, **_: model.fail(), raising=False)
    body = "class Swing(Subsystem):\n    def fail(self):\n        return [][1]\n"
    assert main(["run", model_file(body)]) == 1
    assert "IndexError: list index out of range" in (said := capsys.readouterr().err)
    assert "double_swing.py:5 in fail: return [][1]" in said


def test_what_is_nobodys_line_asks_for_debug(model_file: Write, capsys: Capture, monkeypatch) -> None:
    monkeypatch.setattr("kompono.inspect", lambda *_, **__: int("x"), raising=False)
    assert main(["inspect", model_file("class Swing(Subsystem): pass\n")]) == 1
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("place", [".", "/", "/dev/null", "nothing.py", "n" * 5000, "no.such.module", "a\udcff.py"])
@pytest.mark.parametrize("command", ["run", "inspect", "view"])
def test_what_is_no_model_is_one_line(model_file: Write, capsys: Capture, command: str, place: str) -> None:
    model_file("")
    assert main([command, place]) in (1, 2)
    said = capsys.readouterr().err
    assert said.startswith("kompono: ")
    assert said.count("\n") == 1


def test_verbose_says_how_much_it_is(model_file: Write, capsys: Capture) -> None:
    assert main(["run", model_file(PENDULUM), "--until", "0.1", "--verbose"]) == 0
    assert "Pendulum: 102 rows of 33 channels: " in capsys.readouterr().err
    assert main(["run", model_file(PENDULUM), "--until", "0.1"]) == 0
    assert capsys.readouterr().err == ""


def test_a_speed_that_is_no_number_is_refused(model_file: Write, capsys: Capture) -> None:
    assert main(["view", model_file(PENDULUM), "--speed", "nan", "--html", "a.html"]) == 1
    assert "speed" in capsys.readouterr().err


def test_a_request_that_cannot_fit_is_refused(model_file: Write, capsys: Capture) -> None:
    assert main(["run", model_file(PENDULUM), "--until", "1e9"]) == 1
    assert "Record less: every=" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("end", "code"),
    [
        ("inspect m.py | head -1", "0 1"),
        ("run --help | true", "0 1"),
        ("--help > /dev/full", "0"),
        ("inspect m.py > /dev/full", "1"),
        ("inspect m.py >&- 2>&- <&-", "0"),
        ("run m.py --until 0.1 --csv a.csv > /dev/full", "0"),
        ("run m.py --until 0.1 --csv b.csv >&-", "0"),
    ],
)
def test_streams_that_are_closed_or_full(model_file: Write, tmp_path: Path, end: str, code: str) -> None:
    model_file(PENDULUM, "m.py")
    kompono = f"'{sys.executable}' -c 'import sys; from kompono.edges.cli import main; sys.exit(main())'"
    command, pipe, rest = end.partition("|")
    shell = f"{{ {kompono} {command}; echo $? > code; }} {pipe} {rest}"
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, cwd=tmp_path)
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    assert (tmp_path / "code").read_text().strip() in code.split()
    if "--csv" in end:
        assert len(next(tmp_path.glob("?.csv")).read_text().splitlines()) >= 102


def test_letters_a_terminal_does_not_know(model_file: Write, tmp_path: Path, monkeypatch) -> None:
    model_file(PENDULUM.replace("Pendulum", "Péndulo"), "m.py")
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    code = "import sys; from kompono.edges.cli import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", code, "inspect", "m.py"], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.returncode == 0
    assert "P\\xe9ndulo" in done.stdout
