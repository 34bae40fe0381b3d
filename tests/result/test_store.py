"""Round trips to disk: every bit of every double, and for Parquet and HDF5 everything else."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from kompono.errors import RunError
from kompono.result import Result, Status

doubles = st.floats(width=64)
texts = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=12)
names = texts.filter(lambda name: name not in ("", "time"))
ONE_FOLDER = settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])


@st.composite
def results(draw: st.DrawFn) -> Result:
    channels = draw(st.lists(names, max_size=4, unique=True))
    rows = draw(st.integers(0, 5))
    numbers = draw(hnp.arrays(np.float64, (rows, len(channels) + 1), elements=doubles))
    status = Status(draw(st.booleans()), draw(texts), draw(st.floats(0, 1e9)))
    statistics = {"steps": draw(st.integers(0, 10**9)), "method": draw(texts), "seconds_run": draw(st.floats(0, 1e9))}
    units = {name: draw(st.sampled_from(["m", "rad/s^2", ""])) for name in channels}
    return Result(
        numbers[:, 0], channels, numbers[:, 1:], units=units, status=status, statistics=statistics, model=draw(texts)
    )


def bits(array: np.ndarray) -> list[int]:
    """The bits of each double, with all NaN alike (their payload is nobody's data)."""
    return np.where(np.isnan(array), np.nan, array).astype(np.float64).view(np.int64).ravel().tolist()


def assert_same_numbers(one: Result, other: Result) -> None:
    assert one.names == other.names
    assert one.table.shape == other.table.shape
    assert bits(np.array(one.time)) == bits(np.array(other.time))
    assert bits(np.array(one.table)) == bits(np.array(other.table))


@pytest.mark.parametrize("suffix", ["parquet", "h5", "hdf5"])
@ONE_FOLDER
@given(result=results())
def test_everything_comes_back(result: Result, suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"result.{suffix}"
    (result.to_parquet if suffix == "parquet" else result.to_hdf5)(path)
    back = Result.load(path)
    assert_same_numbers(back, result)
    for attribute in ("units", "status", "statistics", "model"):
        assert getattr(back, attribute) == getattr(result, attribute)


@ONE_FOLDER
@given(result=results())
def test_csv_keeps_names_and_numbers(result: Result, tmp_path: Path) -> None:
    path = tmp_path / "result.csv"
    result.to_csv(path)
    assert_same_numbers(Result.load(path), result)


def test_csv_is_plain(tmp_path: Path) -> None:
    path = tmp_path / "result.csv"
    Result(np.array([0.0, 0.1]), ["a.x", "a.y"], np.array([[1 / 3, -0.0], [1e-300, np.inf]])).to_csv(path)
    lines = path.read_text().splitlines()
    assert lines[:3] == ["time,a.x,a.y", "0.0,0.3333333333333333,-0.0", "0.1,1e-300,inf"]
    assert [line[:15] for line in lines[3:]] == ["# kompono notes", "# kompono end: "]
    assert np.loadtxt(path, delimiter=",", skiprows=1).shape == (2, 3)  # others take the rest for comments


def test_statistics_may_hold_numpy_numbers(tmp_path: Path) -> None:
    result = Result(np.zeros(1), [], np.zeros((1, 0)), statistics={"steps": np.int64(3), "step": np.float64(0.1)})
    result.to_parquet(tmp_path / "result.parquet")
    assert Result.load(tmp_path / "result.parquet").statistics == {"steps": 3, "step": 0.1}


def test_files_of_others_are_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    (tmp_path / "b.csv").write_text("time,y\n1,two\n")
    (tmp_path / "c.csv").write_text("time,y\n1,2\n1\n")
    (tmp_path / "d.csv").write_text("")
    (tmp_path / "g.csv").write_text("time,y\n1,2,3,4\n")
    (tmp_path / "e.mat").write_text("")
    with h5py.File(tmp_path / "f.h5", "w") as file:
        file["time"] = [1.0]
    for name in ("a.csv", "b.csv", "c.csv", "d.csv", "e.mat", "f.h5", "g.csv"):
        with pytest.raises(RunError, match=name):
            Result.load(tmp_path / name)
