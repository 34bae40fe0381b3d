"""Pictures are drawn without a display, whatever the channels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kompono.edges.plot import _label, plot_result
from kompono.errors import RunError
from kompono.result import Result, Status


def some(names: list[str], units: dict[str, str] | None = None, rows: int = 20, **more) -> Result:
    time = np.linspace(0, 1, rows)
    return Result(time, names, np.outer(np.sin(6 * time), np.arange(len(names))), units=units, **more)


def test_panels_by_unit(tmp_path: Path) -> None:
    units = {"body.position.z": "m", "a.angle": "rad", "b.angle": "rad", "drift.position": "m"}
    result = some([*units, "gain"], units, model="Car")
    assert plot_result(result, "*", tmp_path / "all.png").read_bytes().startswith(b"\x89PNG")
    text = plot_result(result, ["*.angle", "drift.*"], tmp_path / "angles.svg").read_text()
    assert "angle [rad]" in text
    assert "drift of position [m]" in text
    assert "position.z" not in text


def test_many_channels_are_capped_with_a_note(tmp_path: Path) -> None:
    names = [f"part{i}.angle" for i in range(100)] + [f"part{i}.other" for i in range(20)]
    units = {f"part{i}.other": f"unit{i}" for i in range(20)}
    text = plot_result(some(names, units), "*", tmp_path / "many.svg").read_text()
    assert "and 92 more, not drawn" in text
    assert "13 more units not drawn" in text
    assert "part7.angle" in text
    assert "part8.angle" not in text


@pytest.mark.parametrize("value", [0.0, np.nan, np.inf, -1e300, 1e-320])
def test_odd_values_can_be_drawn(tmp_path: Path, value: float) -> None:
    result = Result(np.arange(3.0), ["a", "drift.position"], np.full((3, 2), value), status=Status(False, "nan", 2.0))
    assert plot_result(result, path=tmp_path / "odd.png").exists()


def test_wrong_requests(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"\.png, \.svg, \.pdf"):
        plot_result(some(["a"]), "*", tmp_path / "a.bmp")
    with pytest.raises(RunError, match="nothing to draw"):
        plot_result(some(["a"], rows=0), "*", tmp_path / "a.png")
    with pytest.raises(RunError, match="no channel matches 'b'"):
        plot_result(some(["a"]), "b", tmp_path / "a.png")


@pytest.mark.parametrize(
    ("names", "label"),
    [
        (["a.b.position.x", "c.position.z"], "position [m]"),
        (["a.angle.rate", "b.angle.rate"], "angle rate [m]"),
        (["a.angular_velocity.x"], "angular velocity [m]"),
        (["a.position.x", "a.length"], "[m]"),
        (["energy.kinetic", "energy.total"], "energy [m]"),
        (["x"], "x [m]"),
    ],
)
def test_axes_are_named_after_what_they_show(names: list[str], label: str) -> None:
    assert _label(names, "m") == label
