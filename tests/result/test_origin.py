"""A result says where it comes from, in memory and in files: what changes a run changes it, and nothing else does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import kompono
from kompono import Body, Ground, Input, Parameter, Result, Subsystem, simulate
from kompono.library import JointEffort, Prismatic


class Pushed(Subsystem):
    """A mass on a rail."""

    def __init__(self, drag: float = 0.1) -> None:
        self.ground, self.mass = Ground(), Parameter(2.0)
        self.block = Body(mass=self.mass, inertia=(1, 1, 1))
        self.rail = Prismatic(self.ground, self.block, axis="x", displacement=0.1)
        self.force = Input(1.0)
        self.asked = Input(lambda t: 2.0 * t, period=0.01)
        self.push = JointEffort(self.rail, self.force + self.asked - drag * self.rail.v)


def test_what_was_run_is_told() -> None:
    result = simulate(
        Pushed(), until=0.1, parameters={"mass": 3.0}, inputs={"force": ([0, 1], [0, 5])},
        initial={"rail.displacement": 0.2}, method="dopri5",
    )  # fmt: skip
    origin = result.origin
    assert origin["kompono"] == kompono.__version__
    assert origin["parameters"] == {"mass": 3.0}
    assert origin["initial"] == {"rail.displacement": 0.2}
    assert origin["inputs"]["force"] == {"times": [0, 1], "values": [0, 5]}
    assert origin["inputs"]["asked"]["every"] == 0.01
    assert origin["options"]["method"] == "dopri5"


def test_equations_are_known_by_what_they_compute() -> None:
    first, same, other = (simulate(Pushed(drag), until=0.01).origin["equations"] for drag in (0.1, 0.1, 0.2))
    assert first == same != other


@pytest.mark.parametrize("suffix", ["h5", "parquet"])
def test_files_keep_it_and_are_smaller_than_their_numbers(suffix: str, tmp_path: Path) -> None:
    result = simulate(Pushed(), until=5.0, channels=["rail.*", "block.position.*", "energy.*"])
    path = tmp_path / f"run.{suffix}"
    result.to_hdf5(path) if suffix == "h5" else result.to_parquet(path)
    stored = Result.load(path)
    assert stored.origin == result.origin
    assert np.array_equal(stored.table, result.table)
    assert path.stat().st_size < 0.7 * result.table.nbytes
