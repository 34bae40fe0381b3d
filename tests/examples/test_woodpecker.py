"""The woodpecker: its two rhythms, and what each contact does in a cycle."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from reference.support import example

from kompono import Event, Mode, Result, simulate

PERIOD, DROP = 0.1459760651, 0.0194453793  # [s], [m]; dopri5 with rtol 1e-13 over 20 s


@pytest.fixture(scope="module")
def toy() -> Any:
    return example("woodpecker")


@pytest.fixture(scope="module")
def settled(toy: Any) -> Result:
    """A run of 8 s that notes how deep the sleeve is where the bird swings forth through -0.2 rad."""

    class Noted(toy.Woodpecker):
        def __init__(self) -> None:
            super().__init__()
            self.depth = Mode(0)
            self.note = Event(self.bird.tilt.angle + 0.2, {self.depth: self.slide.displacement})

    result = simulate(Noted(), until=8.0, step=2e-4, channels=["depth", "touch.*"])
    assert result.status.ok
    return result


def test_it_settles_on_one_cycle(toy: Any, settled: Result) -> None:
    assert np.abs(np.diff(toy.pecks(settled))[-5:] - PERIOD).max() < 1e-6
    depth = settled["depth"][np.flatnonzero(np.diff(settled["depth"])) + 1]
    assert np.abs(np.diff(depth)[-5:] + DROP).max() < 1e-6


def test_a_cycle_has_these_events(toy: Any, settled: Result) -> None:
    first, last = toy.pecks(settled)[-2:]
    names = [name for time, name in settled.statistics["events"] if first <= time < last and name != "note"]
    assert [name.removeprefix("touch.") for name in names] == [
        "beak.strikes", "upper.strikes", "upper.closes", "upper.slips", "upper.opens", "lower.strikes",
        "lower.strikes", "lower.closes", "lower.slips", "lower.sticks", "lower.slips", "lower.opens", "upper.strikes",
    ]  # fmt: skip


def test_nothing_goes_through_the_pole_and_what_rubs_stays_in_its_cone(settled: Result) -> None:
    for name in ("beak", "lower", "upper"):
        assert settled[f"touch.{name}.gap"].min() > -1e-12
        normal, friction = settled[f"touch.{name}.normal"], settled[f"touch.{name}.friction"]
        assert np.all(np.abs(friction) <= 0.3 * normal + 1e-10)  # it opens to 1e-12 s


def test_another_start_leads_to_pairs_of_pecks(toy: Any) -> None:
    between = np.diff(toy.pecks(simulate(toy.Woodpecker(swing=-4.0), until=5.0, step=2e-4, channels=[])))
    assert sorted(between[-2:]) == pytest.approx([0.13791, 0.16737], abs=2e-4)


def test_without_friction_it_falls_freely(toy: Any) -> None:
    result = simulate(toy.Woodpecker(mu=0.0), until=0.5, step=2e-4, channels=["*.position.z"])
    masses = {"sleeve": 1.5e-4, "bird": 2.25e-3}
    z = sum(mass * result[f"{name}.{part}.position.z"] for name, mass in masses.items() for part in ("core", "shell"))
    t = result.time
    fall = z[0] + (z[1] - z[0] + 9.81 * 4.8e-3 * t[1] ** 2 / 2) / t[1] * t - 9.81 * 4.8e-3 * t**2 / 2
    assert np.abs(z - fall).max() < 1e-9
