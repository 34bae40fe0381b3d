"""Walls on the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kompono import Result, seal
from kompono.compile.walls import station
from kompono.edges.cli import main
from kompono.examples.car import standing_damper
from kompono.sealed import keys

pytestmark = pytest.mark.skipif(not station.available(), reason="no worker processes on this system")
CAR = "kompono.examples.car:Car"


@pytest.mark.filterwarnings("ignore::kompono.ModelWarning")
def test_parts_in_processes_of_their_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = ["run", CAR, "--until", "0.01", "--channels", "body.position.z", "--closed", "*.damper", "--csv"]
    assert main([*run, str(tmp_path / "here.csv")]) == 0
    assert main([*run, str(tmp_path / "there.csv"), "--isolate", "left.damper"]) == 0
    here, there = (Result.load(tmp_path / name) for name in ("here.csv", "there.csv"))
    assert len(here.time) == 11
    assert np.array_equal(here["body.position.z"], there["body.position.z"])
    capsys.readouterr()
    assert main(["run", CAR, "--isolate", "left.damper"]) != 0
    assert "closed=['left.damper']" in capsys.readouterr().err


def test_a_file_shows_that_it_has_webassembly(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keys.own() or keys.make("Ada")
    seal(standing_damper(), tmp_path / "damper.part", targets=["wasm32"])
    assert main(["inspect", str(tmp_path / "damper.part")]) == 0
    assert "wasm32" in capsys.readouterr().out
