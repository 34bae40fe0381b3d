"""What cannot be exported is refused where it stands, with a way out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fmu.fmu_models import Swing

from kompono import Input, KomponoError, ModelError, RunError, Subsystem, export_fmu
from kompono.examples.woodpecker import Woodpecker


class Called(Swing):
    """A swing whose torque Python computes."""

    def __init__(self) -> None:
        super().__init__()
        self.wind = Input(lambda t: 0.1 * t, period=0.01, unit="N")


class Tabled(Swing):
    """A swing with a table."""

    def __init__(self) -> None:
        super().__init__()
        self.wind = Input(table=([0.0, 1.0], [0.0, 1.0]), unit="N")


@pytest.mark.filterwarnings("ignore::kompono.errors.ModelWarning")
@pytest.mark.parametrize(
    ("model", "options", "error", "words"),
    [
        (Called, {}, ModelError, "wind: it is fed by a Python callable"),
        (Tabled, {}, ModelError, "wind: it is fed by a table"),
        (Woodpecker, {}, ModelError, "contact='soft'"),
        (Swing, {"engine": "discrete"}, RunError, "engine='relative'"),
        (Swing, {"fmi": 1}, RunError, "fmi=2 or fmi=3"),
        (Swing, {"kind": "se"}, RunError, "'both'"),
        (Swing, {"platforms": "arm64-macos"}, RunError, "macOS cannot be made yet"),
        (Swing, {"platforms": "x86_64-linus"}, RunError, "Did you mean 'x86_64-linux'"),
        (Swing, {"platforms": ("x86_64-linux", "x86_64-linux-v3")}, RunError, "share a folder"),
        (Swing, {"platforms": ()}, RunError, "without code"),
        (Swing, {"step": 0.0}, RunError, "step"),
        (Swing, {"until": float("nan")}, RunError, "until"),
        (Swing, {"colour": "red"}, RunError, "colour"),
        (Swing, {"channels": "no.such"}, KomponoError, "no.such"),
        (Swing, {"inputs": {"torque": (lambda t: t, 0.1)}}, ModelError, "a Python callable"),
    ],
)
def test_it_is_refused(
    model: type[Subsystem], options: dict[str, Any], error: type[Exception], words: str, tmp_path: Path
) -> None:
    target = tmp_path / "model.fmu"
    with pytest.raises(error) as found:
        export_fmu(model(), target, **options)
    assert words in str(found.value)
    assert not target.exists()


def test_files_end_in_fmu(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"end in \.fmu"):
        export_fmu(Swing(), tmp_path / "swing.zip")
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="cannot write"):
        export_fmu(Swing(), tmp_path / "file" / "swing.fmu", platforms="x86_64-linux")


def test_a_number_takes_the_place_of_a_callable(tmp_path: Path) -> None:
    made = export_fmu(Called(), tmp_path / "called.fmu", inputs={"wind": 0.25}, kind="me", platforms="x86_64-linux")
    assert {variable.name: variable.start for variable in made.variables.inputs} == {"torque": 0.0, "wind": 0.25}


def test_a_command_exports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from kompono.edges.cli import main

    target = tmp_path / "pendulum.fmu"
    asked = [
        "export",
        "fmu",
        "examples/reference/simple_pendulum.py",
        "--fmi",
        "2",
        "--kind",
        "me",
        "--out",
        str(target),
    ]
    assert main([*asked, "--channels", "bob.position.x", "--platform", "x86_64-linux"]) == 0
    assert "FMI 2.0, model exchange" in capsys.readouterr().out
    assert target.stat().st_size < 50_000
    assert main([*asked, "--kind", "both", "--input", "wind=x"]) == 1
