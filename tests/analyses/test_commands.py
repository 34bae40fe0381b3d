"""`kompono statics` and `kompono modes` on the command line, and the picture of a frequency response."""

from __future__ import annotations

from pathlib import Path

import pytest

from kompono.edges.cli import main

MODEL = """
from kompono import Body, Ground, Input, Parameter, Subsystem
from kompono.library import JointEffort, Prismatic, solids


class Table(Subsystem):
    def __init__(self):
        self.ground = Ground()
        self.slide = Body(solids.box(mass=2.0, size=(0.1, 0.1, 0.1)))
        self.stiffness = Parameter(50.0)
        self.rail = Prismatic(self.ground, self.slide, axis="x")
        self.force = Input(1.0, unit="N")
        self.motor = JointEffort(self.rail, self.force - self.stiffness * self.rail.displacement - 0.4 * self.rail.v)
"""


@pytest.fixture
def model(tmp_path: Path) -> str:
    path = tmp_path / "table.py"
    path.write_text(MODEL)
    return str(path)


def test_statics(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["statics", model, "--set", "stiffness=20"]) == 0
    shown = capsys.readouterr().out
    assert "at rest, stable" in shown
    assert "0.05" in shown


def test_trim(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    line = ["statics", model, "--near", "rail.displacement=0.1", "--hold", "rail.displacement", "--trim", "force"]
    assert main(line) == 0
    assert "force                                                   5" in capsys.readouterr().out


def test_modes_and_their_picture(model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    picture = tmp_path / "response.png"
    asked = ["--input", "force", "--output", "rail.displacement", "--plot", str(picture)]
    assert main(["modes", model, *asked]) == 0
    assert "0.795" in capsys.readouterr().out  # Hz: sqrt(25 - 0.01) / 2 pi
    assert picture.stat().st_size > 10_000


def test_what_is_asked_wrongly(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["modes", model, "--plot", "x.png"]) == 1
    assert "an input and an output" in capsys.readouterr().err
    assert main(["statics", model, "--near", "rail.displacement=far"]) == 1
    assert "'far' is not a number" in capsys.readouterr().err
