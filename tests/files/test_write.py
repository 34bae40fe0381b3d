"""`kompono import` writes Python that is the same machine; the other commands take files of other programs."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from files.drawings import two_arms
from files.robots import ARM

from kompono import evaluate, load
from kompono.edges.cli import main
from kompono.files.write import as_python

Write = Callable[..., Path]


def executed(source: str, path: Path) -> Any:
    path.write_text(source)
    spec = importlib.util.spec_from_file_location("written_machine", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("text", "name", "last"), [(ARM, "a.urdf", "SmallArm"), (two_arms(), "a.xml", "Linkage")])
def test_the_python_of_a_machine_is_the_machine(
    written: Write, tmp_path: Path, text: str, name: str, last: str
) -> None:
    machine = load(written(text, name), limits=False)
    again = getattr(executed(as_python(machine), tmp_path / "machine.py"), last)()
    one, other = evaluate(machine), evaluate(again)
    assert one.names == other.names
    assert max(abs(one[channel] - other[channel]) for channel in one.names) < 1e-12


def test_commands_take_files(written: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, out = str(written(ARM)), str(tmp_path / "arm.py")
    assert main(["import", file, "--out", out, "--set", "floating=True"]) == 0
    assert "floats freely" in capsys.readouterr().out
    assert "class SmallArm(Subsystem)" in Path(out).read_text()
    assert main(["inspect", file, "--set", "limits=False"]) == 0
    assert "3 degrees of freedom" in capsys.readouterr().out
    assert main(["inspect", str(written("<robot/>", "bad.urdf"))]) == 1
    assert "no links" in capsys.readouterr().err
