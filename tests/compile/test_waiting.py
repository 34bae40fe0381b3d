"""As long as all gaps are open, nothing is traced or compiled of what they do when they close; when the first one
closes, the run goes on with the bits it would have had anyway.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from kompono import Body, Ground, Simulation, Subsystem, simulate
from kompono.compile import Kernel, objects, tiers
from kompono.compile.lanes import ONE
from kompono.errors import CompileError
from kompono.library import EndStops, Gravity, Revolute, solids
from kompono.translate.tracer import InlineTracer

CLOSED = {"derivative", "project", "guards"}


class FourBar(Subsystem):
    """A crank that falls onto a stop."""

    def __init__(self) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.crank, self.rocker = (Body(solids.rod(mass=m, length=0.5, axis="x", radius=0.01)) for m in (1.3, 1.0))
        self.coupler = Body(solids.rod(mass=2.0, length=1.0, axis="x", radius=0.01))
        self.a = Revolute(self.ground, self.crank.at(-0.25, 0, 0), axis="y", angle=0.7)
        self.b = Revolute(self.crank.at(0.25, 0, 0), self.coupler.at(-0.5, 0, 0), axis="y", angle=-0.7)
        self.c = Revolute(self.ground.at(1, 0, 0), self.rocker.at(-0.25, 0, 0), axis="y", angle=0.7)
        self.d = Revolute(self.rocker.at(0.25, 0, 0), self.coupler.at(0.5, 0, 0), axis="y")
        self.stop = EndStops(self.a, -0.2, 0.8, restitution=0.4)


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KOMPONO_EFFORT", "quick")
    monkeypatch.setattr(tiers, "_spent", tiers.Counter())


@pytest.fixture
def traced(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Names of routines that are traced."""
    found: set[str] = set()
    routine = InlineTracer.routine

    def seen(self: Any, name: str, *rest: Any) -> Any:
        found.add(name)
        return routine(self, name, *rest)

    monkeypatch.setattr(InlineTracer, "routine", seen)
    return found


@pytest.mark.parametrize("method", ["rk4", "dopri5"])
def test_a_run_that_waits_has_the_bits_of_one_that_does_not(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    options: dict[str, Any] = {"until": 0.3, "step": 2e-3, "method": method}
    waiting = simulate(FourBar(), **options)
    assert any("strikes" in name for _, name in waiting.statistics["events"])
    monkeypatch.setattr(objects.Objects, "_can_wait", False)
    whole = simulate(FourBar(), **options)
    assert waiting.status.ok
    assert whole.status.ok
    for name in whole.names:
        np.testing.assert_array_equal(waiting[name], whole[name], err_msg=name)


@pytest.mark.parametrize("method", ["rk4", "dopri5"])
def test_objects_of_one_name_have_one_text(method: str) -> None:
    """A loop that waits and the whole one are found by the same name in the cache."""
    made = objects.Objects(Simulation(FourBar()).program, use_cache=False)
    waiting, whole = (
        {part.key: part.text() for part in made._loop_parts(name, ONE) if part.loops}
        for name in (f"{method} waiting", method)
    )
    assert waiting.keys() & whole.keys()
    assert all(waiting[key] == whole[key] for key in waiting.keys() & whole.keys())


def test_nothing_of_closed_gaps_is_traced_while_all_are_open(traced: set[str]) -> None:
    simulate(FourBar(), until=0.01, step=1e-3, cache=False)
    assert {f"open_{name}" for name in CLOSED} <= traced
    assert not traced & CLOSED


def test_the_whole_loop_is_taken_where_a_gap_is_closed_at_the_start(traced: set[str]) -> None:
    model = FourBar()
    model.stop = EndStops(model.a, -0.2, 0.7)
    simulate(model, until=0.004, step=1e-3, cache=False)
    assert traced >= CLOSED


def test_a_twin_with_other_outputs_is_refused() -> None:
    program = Simulation(FourBar(), cache=False).program
    routines = dict(program.routines)
    routines["open_derivative"] = replace(routines["open_project"], name="open_derivative")
    with pytest.raises(CompileError, match="derivative is not what its callers take it for"):
        Kernel(replace(program, routines=routines), cache=False).prepare(method="rk4")


def test_runs_in_real_time_wait_for_nothing(traced: set[str]) -> None:
    Simulation(FourBar(), cache=False).prepare("rk4", "outputs", soon=False)
    assert traced >= CLOSED
