"""Events that end a run: at their instant, on every engine and native method; refused where they may not."""

from __future__ import annotations

from math import sqrt
from pathlib import Path

import numpy as np
import pytest

from kompono import (
    Body,
    Event,
    Ground,
    Mode,
    ModelError,
    SealedError,
    Subsystem,
    export_fmu,
    seal,
    simulate,
    simulate_many,
)
from kompono.library import Gravity, Prismatic, solids


class Falling(Subsystem):
    """A weight that falls past a mark and a floor."""

    def __init__(self, *, floor: float = -1.0) -> None:
        self.ground, self.gravity = Ground(), Gravity((0, 0, -10.0))
        self.weight = Body(solids.sphere(mass=1.0, radius=0.1))
        self.rail = Prismatic(self.ground, self.weight, axis="z")
        self.passed = Mode(0)
        self.mark = Event(-0.5 - self.rail.displacement, {self.passed: 1})
        self.landing = Event(floor - self.rail.displacement, stop=True)


@pytest.mark.parametrize("method", ["rk2", "rk4", "adams", "dopri5"])
@pytest.mark.parametrize("engine", ["relative", "absolute"])
def test_a_run_ends_at_the_event(engine: str, method: str) -> None:
    result = simulate(Falling(), until=5.0, step=1e-2, engine=engine, method=method)
    assert result.status.ok
    assert result.status.kind == "ended"
    assert result.time[-1] == pytest.approx(sqrt(0.2), abs=1e-11)
    assert result["rail.displacement"][-1] == pytest.approx(-1.0, abs=1e-10)
    assert [name for _, name in result.statistics["events"]] == ["mark", "landing"]
    assert result["passed"][-1] == 1


def test_a_closed_part_may_end_it() -> None:
    class Tower(Subsystem):
        def __init__(self) -> None:
            self.inside = Falling()

    result = simulate(Tower(), until=5.0, step=1e-2, closed=["inside"])
    assert result.time[-1] == pytest.approx(sqrt(0.2), abs=1e-11)


def test_members_of_an_ensemble_end_each_for_itself() -> None:
    found = simulate_many(Falling(), until=1.0, step=1e-2, initial={"rail.displacement": [0.0, -0.2, 0.4]})
    assert all(status.ok for status in found.status)
    assert [status.time for status in found.status] == pytest.approx([sqrt(0.2 * h) for h in (1.0, 0.8, 1.4)], abs=1e-9)
    assert np.isnan(found["rail.displacement"][:, -1]).all()  # nothing is made up behind it


def test_what_does_nothing_is_refused() -> None:
    with pytest.raises(ModelError, match="the event does nothing"):
        Event(Mode(0) - 1.0)
    with pytest.raises(ModelError, match="stop is 'yes'"):
        Event(Mode(0) - 1.0, stop="yes")  # type: ignore[arg-type]


def test_who_is_used_by_others_may_not_end_their_runs(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"landing: an FMU cannot end"):
        export_fmu(Falling(), tmp_path / "falling.fmu")
    pytest.importorskip("cryptography")

    class Part(Falling):
        def __init__(self) -> None:
            super().__init__()
            self.expose(self.weight)

    with pytest.raises(SealedError, match=r"landing: a sealed part cannot end"):
        seal(Part(), tmp_path / "falling.part")
