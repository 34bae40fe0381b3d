"""`kompono plot` and `kompono animate` on stored results."""

from __future__ import annotations

from pathlib import Path

import pytest
from plots.results import wave

from kompono.edges.cli import main

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two results, and we are in it."""
    monkeypatch.chdir(tmp_path)
    wave().to_hdf5("one.h5")
    wave(rows=51, gain=0.5).to_csv("two.csv")
    return tmp_path


def test_files_and_globs_in_one_list(stored: Path, capsys: Capture) -> None:
    assert main(["plot", "one.h5", "two.csv", "*.position.x", "--out", "out/x.svg", "--label", "fine"]) == 0
    assert capsys.readouterr().out == "out/x.svg\n"
    assert (stored / "out" / "x.svg").read_text().startswith("<?xml")


def test_difference_phase_and_scale(stored: Path) -> None:
    assert main(["plot", "one.h5", "--difference", "two.csv", "--log", "--out", "d.png"]) == 0
    assert main(["plot", "one.h5", "*.velocity.x", "--x", "mass.position.x", "--title", "Phase", "--out", "p.pdf"]) == 0
    assert (stored / "p.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["plot", "one.h5", "mass.positon.x", "--out", "a.png"], "Did you mean 'mass.position.x'"),
        (["plot", "on.h5", "*", "--out", "a.png"], "there is no file 'on.h5'. Did you mean 'one.h5'?"),
        (["plot", "car.py", "*"], "'car.py' is no file of results."),
        (["plot", "one.h5", "--out", "a.gif"], "cannot draw a picture into 'a.gif'."),
        (["plot", "one.h5"], "no window can be opened here."),
        (["plot", "one.h5", "--label", "a", "--label", "b", "--out", "a.png"], "2 labels for 1 results."),
        (["animate", "one.h5", "--out", "a.avi"], "cannot write a movie into 'a.avi'."),
        (["animate", "one.h5", "--out", "a.gif"], "does not know what its model looks like."),
        (["animate", "one.h5", "--out", "a.gif", "--size", "big"], "--size big: expected WIDTHxHEIGHT"),
    ],
)
def test_wrong_requests_are_one_message(stored: Path, capsys: Capture, arguments: list[str], message: str) -> None:
    assert main(arguments) == 1
    assert message in capsys.readouterr().err
