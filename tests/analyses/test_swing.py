"""A mode as a motion: in the shape of the mode, of the size asked for, with loops closed, and fit to be looked at."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kompono import Body, Ground, RunError, Subsystem, equilibrium, modes
from kompono.edges.cli import main
from kompono.examples.car import Car
from kompono.library import JointEffort, Prismatic, solids


class Two(Subsystem):
    """Two equal masses on a rail, between three equal springs: they swing together, and against each other."""

    def __init__(self) -> None:
        self.ground = Ground()
        self.first, self.second = (Body(solids.box(mass=1.0, size=(0.1, 0.1, 0.1))) for _ in range(2))
        self.one = Prismatic(self.ground, self.first, axis="x")
        self.other = Prismatic(self.ground.at(1, 0, 0), self.second, axis="x")
        x, y = self.one.displacement, self.other.displacement
        self.left, self.right = JointEffort(self.one, 9 * (y - 2 * x)), JointEffort(self.other, 9 * (x - 2 * y))


def test_two_masses_swing_together_and_against_each_other() -> None:
    found = modes(Two())
    for number, sign in ((0, 1), (1, -1)):
        result = found.swing(number, amplitude=0.05, cycles=1)
        one, other = result["one.displacement"], result["other.displacement"]
        assert other == pytest.approx(sign * one, abs=1e-12)
        assert np.abs(one).max() == pytest.approx(0.05, rel=1e-3)
        assert one[0] == pytest.approx(one[-1], abs=1e-12)
        assert result.time[-1] == pytest.approx(1 / found[number].frequency)


def test_loops_stay_closed_and_it_can_be_seen() -> None:
    found = modes(Car(), equilibrium(Car()))
    result = found.swing(-1)
    assert result["drift.position"].max() < 1e-11
    moved = np.ptp(np.stack([result[name] for name in result.names if ".position." in name]), axis=1).max()
    assert 0.02 < moved < 1.0
    assert result.scene is not None


def test_pages_from_the_shell_and_wrong_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "two.py"
    file.write_text("from analyses.test_swing import Two as Machine\n", encoding="utf-8")
    out = tmp_path / "mode.html"
    assert main(["modes", f"{file}:Machine", "--mode", "1", "--out", str(out)]) == 0
    assert out.stat().st_size > 100_000
    assert main(["modes", f"{file}:Machine", "--mode", "1"]) == 1
    assert "--out" in capsys.readouterr().err
    with pytest.raises(RunError, match="there is no mode 7"):
        modes(Two()).swing(7)
