"""The result of many runs: channels over runs and time, and its way to xarray."""

from __future__ import annotations

import numpy as np
import pytest
from ensembles.machines import Fragile

from kompono import Ensemble, RunError, simulate_many
from kompono.result import Status, UnknownChannel


@pytest.fixture(scope="module")
def many() -> Ensemble:
    limits = [50.0, 0.45, 60.0]
    return simulate_many(Fragile(), until=2.0, step=0.01, every=10, parameters={"limit": limits}, channels="slide.*")


def test_reads_like_a_dictionary_of_arrays(many: Ensemble) -> None:
    assert many["slide.displacement"].shape == (3, 21)
    assert many["time"] is many.time
    assert "slide.displacement" in many
    assert list(many) == list(many.names)
    assert len(many) == len(many.names)
    assert many.table.shape == (3, 21, len(many))
    assert many.units["slide.displacement"] == "m"
    assert many.runs == 3
    with pytest.raises(UnknownChannel, match=r"Did you mean 'slide\.displacement'"):
        many["slide.displacment"]
    with pytest.raises(ValueError, match="read-only"):
        many["slide.displacement"][0, 0] = 1.0


def test_a_run_is_a_result(many: Ensemble) -> None:
    result = many.run(2)
    np.testing.assert_array_equal(result["slide.displacement"], many["slide.displacement"][2])
    assert result.statistics["varied"] == {"limit": 60.0}
    assert many.run(-1).statistics["run"] == 2
    with pytest.raises(RunError, match="no run 3"):
        many.run(3)


def test_selection_keeps_runs(many: Ensemble) -> None:
    chosen = many.select("*.rate")
    assert chosen.names == ("slide.displacement.rate",)
    assert chosen.failed == many.failed == [1]


def test_words_for_people(many: Ensemble) -> None:
    assert repr(many) == f"<Ensemble Fragile: 3 runs, {len(many)} channels, 21 rows, 1 failed>"
    text = many.summary()
    for part in ("3 runs", "limit: 0.45 .. 60", "run 1: push", "rk4", "slide.displacement.rate"):
        assert part in text


def test_to_xarray(many: Ensemble) -> None:
    pytest.importorskip("xarray")
    data = many.to_xarray()
    assert data["slide.displacement"].dims == ("run", "time")
    assert data["slide.displacement"].attrs["units"] == "m"
    assert list(data["limit"].values) == [50.0, 0.45, 60.0]
    assert data.attrs["failed"] == [1]


def test_sizes_must_agree() -> None:
    with pytest.raises(ValueError, match="disagree"):
        Ensemble(np.zeros(2), ["a"], np.zeros((3, 2, 1)), status=[Status()])
