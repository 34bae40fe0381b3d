"""A machine from a file is a component like any other: exposed, extended, closed, sealed, and run from the shell."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from files.drawings import two_arms
from files.robots import ARM

from kompono import Body, Sealed, Subsystem, evaluate, inspect, load, seal, simulate
from kompono.edges.cli import main
from kompono.library import Gravity, Weld, solids

Write = Callable[..., Path]


class Cell(Subsystem):
    """An arm of a file with a load on its tool; `arm` may be closed or sealed."""

    def __init__(self, arm: Subsystem) -> None:
        self.gravity = Gravity()
        self.arm = arm
        self.load = Body(solids.sphere(mass=0.5, radius=0.05))
        tool = arm.frame("tool0") if hasattr(arm, "frame") else arm.fore.at(0.1, 0, 0)
        self.hold = Weld(tool, self.load)


def arm(written: Write) -> Subsystem:
    found = load(written(ARM), limits=False, gravity=False)
    found.expose(found.fore)
    return found


def test_it_is_exposed_extended_and_closed(written: Write) -> None:
    start = {"arm.shoulder.angle": 0.4, "arm.reach.yaw.rate": 1.0}
    names = ["load.position.*", "arm.shoulder.angle"]
    runs = [
        simulate(Cell(arm(written)), until=0.2, step=1e-3, initial=start, channels=names, closed=closed)
        for closed in ((), ("arm",))
    ]
    for axis in "xyz":
        assert np.allclose(runs[0][f"load.position.{axis}"], runs[1][f"load.position.{axis}"], atol=1e-11)
    assert np.ptp(runs[0]["arm.shoulder.angle"]) > 1e-3


def test_it_is_sealed(written: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KOMPONO_CONFIG", str(tmp_path / "config"))
    pytest.importorskip("cryptography")
    from kompono.compile import targets
    from kompono.sealed import keys

    here = [targets.fitting(targets.TARGETS) or "wasm32"]
    seal(arm(written), tmp_path / "arm.part", author=keys.make("Ada"), targets=here)
    sealed = Sealed(tmp_path / "arm.part")
    one = simulate(Cell(arm(written)), until=0.1, step=1e-3, channels=["load.position.*"])
    other = simulate(Cell(sealed), until=0.1, step=1e-3, channels=["load.position.*"])
    for axis in "xyz":
        assert np.allclose(one[f"load.position.{axis}"], other[f"load.position.{axis}"], atol=1e-9)


def test_a_part_of_an_assembly_is_closed_twice(written: Write) -> None:
    arms = load(written(two_arms(), "arms.xml"))
    assert inspect(arms).degrees_of_freedom == 4
    one, other = (evaluate(arms, closed=closed) for closed in ((), ("one", "two")))
    for name in ("one.fore", "two.fore"):
        assert np.allclose(one.vector(f"{name}.acceleration"), other.vector(f"{name}.acceleration"), atol=1e-9)


def test_commands_run_and_draw_it(written: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, out = str(written(ARM)), str(tmp_path / "run.csv")
    assert main(["run", file, "--set", "limits=False", "--until", "0.05", "--csv", out]) == 0
    assert Path(out).is_file()
    page = tmp_path / "arm.html"
    assert main(["view", file, "--set", "limits=False", "--html", str(page)]) == 0
    assert page.stat().st_size > 10_000
    assert capsys.readouterr().out
