"""Results: names, selection, interpolation, and what people see."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kompono.errors import RunError
from kompono.result import MissingExtra, Result, Status, extra, matching

NAMES = ["body.position.z", "left_hinge.angle", "right_hinge.angle", "energy.total", "drift.position"]
UNITS = {"body.position.z": "m", "left_hinge.angle": "rad", "right_hinge.angle": "rad", "energy.total": "J"}


@pytest.fixture
def result() -> Result:
    time = np.linspace(0.0, 1.0, 11)
    table = np.column_stack([time**2, np.sin(time), np.cos(time), 5 + 0 * time, 1e-15 * time])
    statistics = {"steps": 10, "method": "rk4", "engine": "relative", "step": 0.1, "seconds_run": 0.01}
    return Result(time, NAMES, table, units=UNITS, statistics=statistics, model="Car")


def test_it_reads_like_a_dictionary(result: Result) -> None:
    assert list(result) == NAMES == list(result.names)
    assert len(result) == 5
    assert "left_hinge.angle" in result
    assert "left_hinge" not in result
    np.testing.assert_array_equal(result["body.position.z"], result.time**2)
    np.testing.assert_array_equal(dict(result)["left_hinge.angle"], np.sin(result.time))
    assert result["time"] is result.time
    assert result.get("nothing") is None
    assert result == result


def test_an_unknown_channel_offers_the_nearest(result: Result) -> None:
    with pytest.raises(RunError, match=r"^there is no channel 'body.positon.z'. Did you mean 'body.position.z'"):
        result["body.positon.z"]
    with pytest.raises(KeyError):
        result["body.positon.z"]


def test_select_takes_globs(result: Result) -> None:
    chosen = result.select("*_hinge.angle")
    assert chosen.names == ("left_hinge.angle", "right_hinge.angle")
    assert chosen.units == {"left_hinge.angle": "rad", "right_hinge.angle": "rad"}
    assert chosen.statistics == result.statistics
    assert result.select(["right*", "body.*"]).names == ("body.position.z", "right_hinge.angle")
    with pytest.raises(RunError, match=r"no channel matches 'left_hing.angle'. Did you mean 'left_hinge.angle'"):
        result.select(["body.*", "left_hing.angle"])


def test_a_name_with_brackets_matches_itself() -> None:
    assert matching("link[0].angle", ["link[0].angle", "link0.angle"]) == [0, 1]
    assert matching("*", []) == []


def test_at_is_exact_at_rows_and_linear_between(result: Result) -> None:
    for i, time in enumerate(result.time):
        assert list(result.at(time).values()) == result.table[i].tolist()
    assert result.at(0.15)["body.position.z"] == pytest.approx((0.01 + 0.04) / 2)
    for time in (-0.1, 1.1, math.nan):
        with pytest.raises(RunError, match="the result covers 0 to 1 s"):
            result.at(time)


def test_arrays_cannot_be_written(result: Result) -> None:
    for array in (result.time, result.table, result["energy.total"]):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0


def test_disagreeing_shapes_and_names_are_refused() -> None:
    with pytest.raises(ValueError, match="disagree"):
        Result(np.zeros(3), ["a"], np.zeros((2, 1)))
    for names in (["a", "a"], ["time", "a"]):
        with pytest.raises(RunError, match="different names"):
            Result(np.zeros(3), names, np.zeros((3, 2)))


def test_the_summary_tells_what_matters(result: Result) -> None:
    text = result.summary()
    assert text.startswith("Car: 0 to 1 s, 11 rows of 5 channels\n")
    for part in ("rk4, relative engine, step 0.1 s", "10 steps", "position 1e-15", "energy     5 J, changed by 0 J"):
        assert part in text
    assert "body.position.z" in text
    assert repr(result) == "<Result Car: 5 channels, 11 rows, 0 to 1 s>"


def test_a_failed_run_says_so() -> None:
    status = Status(ok=False, message="the force of left.spring is not finite", time=0.25)
    failed = Result(np.array([0.0, 0.25]), ["x"], np.array([[1.0], [np.nan]]), status=status)
    for text in (failed.summary(), repr(failed)):
        assert "ended early" in text
        assert "left.spring" in text


def test_results_without_rows_or_channels_can_be_shown() -> None:
    for empty in (Result(np.zeros(0), ["x"], np.zeros((0, 1))), Result(np.zeros(2), [], np.zeros((2, 0)))):
        assert empty.summary()
        assert repr(empty)
    with pytest.raises(RunError, match="covers nothing"):
        Result(np.zeros(0), ["x"], np.zeros((0, 1))).at(0.0)


def test_pandas(result: Result) -> None:
    frame = result.to_pandas()
    assert frame.index.name == "time"
    assert list(frame.columns) == NAMES
    np.testing.assert_array_equal(frame.to_numpy(), result.table)
    assert frame.attrs["units"]["energy.total"] == "J"


def test_xarray(result: Result) -> None:
    data = result.to_xarray()
    np.testing.assert_array_equal(data["left_hinge.angle"], result["left_hinge.angle"])
    assert data["left_hinge.angle"].attrs == {"units": "rad"}
    assert data["time"].attrs == {"units": "s"}
    assert float(data["body.position.z"].sel(time=1.0)) == 1.0


def test_a_missing_extra_is_one_line() -> None:
    with pytest.raises(MissingExtra) as caught:
        extra("no_such_package.at_all", "plot")
    assert str(caught.value) == "no_such_package is not installed. Try: pip install 'kompono[plot]'"
    assert isinstance(caught.value, ImportError)
