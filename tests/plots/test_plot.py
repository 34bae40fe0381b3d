"""Pictures are drawn without a display, whatever the channels, and show what was asked for."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from plots.results import some, wave

from kompono import Ensemble
from kompono.edges.plot import plot
from kompono.edges.plot.curves import at_times
from kompono.edges.plot.names import duration, label, shorten
from kompono.errors import RunError
from kompono.result import Result, Status, UnknownChannel, extras


def lines(picture) -> list[list[np.ndarray]]:
    """Values of the curves of each panel; those that stand in legends are empty and left out."""
    return [[line.get_ydata() for line in axis.get_lines() if len(line.get_ydata())] for axis in picture.figure().axes]


def texts(picture) -> str:
    """All words of a picture."""
    return "\n".join(text.get_text() for text in picture.figure().findobj(lambda artist: hasattr(artist, "get_text")))


def test_panels_by_unit(tmp_path: Path) -> None:
    units = {"body.position.z": "m", "a.angle": "rad", "b.angle": "rad", "drift.position": "m"}
    result = some([*units, "gain"], units, model="Car")
    assert result.plot(out=tmp_path / "all.png").save(tmp_path / "a" / "b.pdf").read_bytes().startswith(b"%PDF")
    assert (tmp_path / "all.png").read_bytes().startswith(b"\x89PNG")
    picture = result.plot("*.angle", "drift.*")
    assert [len(panel) for panel in lines(picture)] == [2, 1]
    assert "angle [rad]" in texts(picture)
    assert "drift of position [m]" in texts(picture)
    assert "position.z" not in texts(picture)
    assert picture.save(tmp_path / "angles.svg").read_text().startswith("<?xml")


def test_the_curves_are_the_channels_in_the_order_of_the_patterns() -> None:
    result = wave()
    (velocity,), (position,) = lines(result.plot("*.velocity.x", "*.position.x"))
    np.testing.assert_array_equal(velocity, result["mass.velocity.x"])
    np.testing.assert_array_equal(position, result["mass.position.x"])


def test_one_channel_over_another() -> None:
    figure = wave().plot("mass.velocity.x", x="mass.position.x").figure()
    (line,) = figure.axes[0].get_lines()
    np.testing.assert_array_equal(line.get_xdata(), wave()["mass.position.x"])
    assert figure.axes[0].get_xlabel() == "mass.position.x [m]"


def test_results_side_by_side_have_a_legend() -> None:
    picture = wave().plot("*.position.x", compare={"half": wave(gain=0.5)})
    ((first, second),) = lines(picture)
    np.testing.assert_allclose(second, first / 2)
    assert "Wave" in texts(picture)
    assert "half" in texts(picture)
    several = wave(statistics={"method": "rk2", "step": 0.01}).plot(
        compare=[wave(statistics={"method": "rk4", "step": 1e-3})]
    )
    assert "rk2, 10 ms" in texts(several)
    assert "rk4, 1 ms" in texts(several)
    assert "run 2" in texts(wave().plot(compare=wave()))


def test_difference_to_a_reference_with_other_rows() -> None:
    """The reference is interpolated with an error far below that of a straight line (here 4e-4)."""
    ((position,),) = lines(wave().plot("*.position.x", difference=wave(rows=81, gain=0.75)))
    assert np.abs(position - 0.25 * wave()["mass.position.x"]).max() < 2e-6
    ((exact,),) = lines(wave().plot("*.position.x", difference=wave(rows=1001)))
    assert np.abs(exact).max() < 1e-14  # at common times nothing is interpolated
    rows, _ = at_times(wave(until=0.5), "mass.position.x", wave().time)
    assert rows.sum() == 51


def test_magnitudes_on_a_logarithmic_axis() -> None:
    figure = wave().plot("*.position.x", log=True).figure()
    assert figure.axes[0].get_yscale() == "log"
    drawn = figure.axes[0].get_lines()[0].get_ydata()
    assert np.isnan(drawn[0])  # zero has no logarithm
    assert np.nanmin(drawn) > 0


def test_an_ensemble_is_drawn_as_bands() -> None:
    time = np.linspace(0, 1, 5)
    table = np.arange(1.0, 102.0)[:, None, None] * (1 + time)[None, :, None]
    table[100, 3:] = np.nan  # the largest run fails
    status = [Status()] * 100 + [Status(False, "lost", 0.5)]
    picture = Ensemble(time, ["a.angle"], table, status=status, units={"a.angle": "rad"}).plot("a.angle")
    ((median,),) = lines(picture)
    np.testing.assert_allclose(median, [51, 63.75, 76.5, 88.375, 101])
    wide, middle = (band.get_paths()[0].get_extents() for band in picture.figure().axes[0].collections)
    assert wide.y0 == 1
    assert middle.y0 == 6
    assert wide.y1 == 200
    assert "101 runs" in texts(picture)
    with pytest.raises(RunError, match="an ensemble has no difference"):
        plot(Ensemble(time, ["a"], table, status=status), difference=wave())


def test_many_channels_are_capped_with_a_note() -> None:
    names = [f"part{i}.angle" for i in range(100)] + [f"part{i}.other" for i in range(20)]
    words = texts(some(names, {f"part{i}.other": f"unit{i}" for i in range(20)}).plot("*"))
    assert "and 92 more, not drawn" in words
    assert "13 more panels not drawn" in words
    assert "part7" in words
    assert "part8\n" not in words


def test_of_many_channels_what_moves_is_drawn_from_its_start() -> None:
    time = np.linspace(0.0, 1.0, 11)
    names = [*(f"pin{i}.angle" for i in range(3)), *(f"pin{i}.angle.rate" for i in range(3)), "energy.total"]
    names += [f"rod{i}.position.x" for i in range(20)]
    table = np.zeros((11, len(names)))
    table[:, 1], table[:, 6] = 5.0 + time, 100.0 - time
    units = dict.fromkeys(names[:3], "rad") | {"energy.total": "J"}
    (angle,), (energy,) = lines(Result(time, names, table, units=units).plot())
    assert angle == pytest.approx(time)
    assert energy == pytest.approx(-time)


@pytest.mark.parametrize("value", [0.0, np.nan, np.inf, -1e300, 1e-320])
def test_odd_values_can_be_drawn(tmp_path: Path, value: float) -> None:
    result = Result(np.arange(3.0), ["a", "drift.position"], np.full((3, 2), value), status=Status(False, "nan", 2.0))
    assert result.plot(out=tmp_path / "odd.png", log=True).size[0] > 0
    assert "ended early at 2 s" in texts(result.plot())


def test_wrong_requests(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"\.png, \.svg, \.pdf"):
        some(["a"]).plot(out=tmp_path / "a.bmp")
    with pytest.raises(RunError, match="nothing to draw"):
        some(["a"], rows=0).plot()
    with pytest.raises(
        UnknownChannel, match=r"no channel matches 'mass\.positon\.x'\. Did you mean 'mass\.position\.x'"
    ):
        wave().plot("mass.positon.x")
    with pytest.raises(UnknownChannel, match="for the x axis"):
        wave().plot(x="mass.position.y")
    with pytest.raises(RunError, match="unit, quantity, channel"):
        wave().plot(panels="colour")
    with pytest.raises(UnknownChannel, match="the reference has no channel"):
        wave().plot(difference=some(["a"]))
    with pytest.raises(RunError, match="no window"):
        wave().plot().show()


def test_without_matplotlib_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = extras.importlib.import_module

    def absent(name: str) -> object:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name)

    monkeypatch.setattr(extras.importlib, "import_module", absent)
    with pytest.raises(RunError) as caught:
        wave().plot(out="a.png")
    assert str(caught.value) == "matplotlib is not installed. Try: pip install 'kompono[plot]'"


def test_a_notebook_shows_the_picture_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    data, size = wave().plot("*.position.x")._repr_png_()
    assert data.startswith(b"\x89PNG")
    assert size["width"] == 720
    shown = []
    shell = type("Shell", (), {"kernel": 1})()
    monkeypatch.setitem(sys.modules, "IPython", type("M", (), {"get_ipython": staticmethod(lambda: shell)}))
    monkeypatch.setitem(sys.modules, "IPython.display", type("D", (), {"display": staticmethod(shown.append)}))
    picture = wave().plot()
    picture.show()
    assert shown == [picture]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["a.b.position.x", "c.position.z"], "position [m]"),
        (["a.b.position.z", "c.position.z"], "position z [m]"),
        (["a.angle.rate", "b.angle.rate"], "angle rate [m]"),
        (["a.angular_velocity.x"], "angular velocity x [m]"),
        (["a.position.x", "a.length"], "[m]"),
        (["energy.kinetic", "energy.total"], "energy [m]"),
        (["drift.position", "drift.velocity"], "drift [m]"),
        (["x"], "x [m]"),
    ],
)
def test_axes_are_named_after_what_they_show(names: list[str], expected: str) -> None:
    assert label(names, "m") == expected
    assert label(names, "") == (expected.removesuffix("[m]").strip() or "value")


@pytest.mark.parametrize(
    ("names", "shared", "rest"),
    [
        (["arm.link1.bearing.angle", "arm.link2.bearing.angle"], "arm.*.bearing.angle", ["link1", "link2"]),
        (["body.position.z", "left.ring.position.z"], "*.position.z", ["body", "left.ring"]),
        (["a.angle", "a.angle.rate"], "a.*", ["angle", "angle.rate"]),
        (["a", "b.c"], "", ["a", "b.c"]),
        (["a.b"], "a.b", ["a.b"]),
    ],
)
def test_what_names_share_is_said_once(names: list[str], shared: str, rest: list[str]) -> None:
    assert shorten(names) == (shared, rest)


def test_units_and_durations() -> None:
    assert label(["a.acceleration.z"], "m/s^2") == "acceleration z [m/s²]"
    assert [duration(t) for t in (2.0, 1e-2, 1e-3, 1e-4, 2e-6)] == ["2 s", "10 ms", "1 ms", "0.1 ms", "2 µs"]


def test_plot_is_also_a_function_of_several_results() -> None:
    assert len(lines(plot([wave(), wave(gain=2)], "*.position.x"))[0]) == 2
