"""`kompono`, `kompono demo` and `kompono new`: what somebody types first."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from kompono.edges.cli import main
from kompono.edges.cli.demo import known


def test_alone_it_tells_how_to_begin(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    shown = capsys.readouterr().out
    assert all(f"kompono {word}" in shown for word in ("demo", "new", "run"))
    assert len(shown.splitlines()) < 12


def test_a_new_model_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "my-machine.py"
    assert main(["new", str(path)]) == 0
    assert main(["run", str(path), "--until", "0.1", "--set", "stiffness=20"]) == 0
    assert "MyMachine: 0 to 0.1 s" in capsys.readouterr().out
    runpy.run_path(str(path), run_name="__main__")
    assert "the right one swings up to" in capsys.readouterr().out


@pytest.mark.parametrize(("name", "why"), [("there.py", "exists"), ("there.txt", "no Python file")])
def test_no_file_is_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, why: str) -> None:
    path = tmp_path / name
    path.write_text("precious")
    assert main(["new", str(path)]) == 1
    assert why in capsys.readouterr().err
    assert path.read_text() == "precious"


def test_a_demo_writes_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "bar.html"
    pytest.importorskip("matplotlib")
    assert main(["demo", "four_bar", "--out", str(page), "--plot", str(tmp_path / "bar.png")]) == 0
    assert "FourBar: 0 to 7 s" in capsys.readouterr().out
    assert "</html>" in page.read_text(encoding="utf-8")[-200:]
    assert (tmp_path / "bar.png").stat().st_size > 10_000


def test_demos_are_listed_and_guessed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--list"]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown and about for name, about in known().items())
    assert main(["demo", "cra"]) == 1
    assert "Did you mean 'car'" in capsys.readouterr().err
