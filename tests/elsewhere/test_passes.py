"""How often a part elsewhere is asked at an event, and that what strikes inside or across its border does so as in the
open machine: three round trips at most, unless it needs what another part says.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from elsewhere.counting import Passes, counted_passes
from elsewhere.striking import Coupler, Handing, Held, Hung, Meeting, Talking, Twice
from elsewhere.suppliers import Supplier
from nonsmooth.grazing import Rig
from nonsmooth.rubbing_parts import Carried
from nonsmooth.same_events import same_events

from kompono import Result, Simulation, Subsystem, simulate
from kompono.elsewhere.hosts import InProcess
from kompono.request import Request
from kompono.solve.settings import settings_of

pytestmark = pytest.mark.filterwarnings("ignore::kompono.ModelWarning", "ignore::kompono.RunWarning")
RUN: dict[str, Any] = {"until": 0.4, "step": 1e-3}
BOTH = ("part", "other")
MACHINES: dict[str, tuple[Callable[[], Subsystem], tuple[str, ...], Passes]] = {
    "inside": (lambda: Rig(Twice), ("part",), {("changes", (1,)), ("strikes", (2,))}),
    "slips": (Carried, ("part",), {("changes", (1,)), ("strikes", (2,))}),
    "handed on": (lambda: Handing(Twice), ("part",), {("changes", (1,)), ("strikes", (2,))}),
    "two parts": (Meeting, BOTH, {("changes", (1, 1)), ("strikes", (2, 2))}),
    "a loop": (Coupler, ("part",), {("changes", (2,)), ("strikes", (3,))}),
    "a part on a part": (Hung, BOTH, {("changes", (1, 2)), ("strikes", (2, 3))}),
    "that in a loop": (lambda: Hung(loop=True), BOTH, {("changes", (2, 2)), ("strikes", (3, 3))}),
    "a signal": (Talking, BOTH, {("changes", (1, 2)), ("strikes", (2, 4))}),  # of new speeds: it must be waited for
}


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> Passes:
    """Round trips of each part at events, by what happened."""
    return counted_passes(monkeypatch)


def elsewhere(model: Subsystem, parts: tuple[str, ...], contact: str = "events", **run: Any) -> Result:
    hosts = {path: InProcess() for path in parts}
    return Simulation(model, elsewhere=hosts, contact=contact).run(settings_of(Request(**{**RUN, **run})))


def same_motion(one: Result, other: Result) -> None:
    """The same events within 1e-12 s, and channels within 1e-11 of their size."""
    same_events(one, other)
    for name in set(one) & set(other):
        assert np.abs(one[name] - other[name]).max() < 1e-11 * max(1.0, np.abs(one[name]).max()), name


@pytest.mark.parametrize("name", MACHINES)
def test_round_trips_of_an_event(passes: Passes, name: str) -> None:
    machine, parts, expected = MACHINES[name]
    same_motion(simulate(machine(), **RUN), elsewhere(machine(), parts))
    assert passes == expected


def test_slip_that_jams_is_stopped(passes: Passes) -> None:
    """At the start, by a blow of its own: it is looked at once more."""
    run = {"until": 0.02, "contact": "impacts"}
    same_motion(simulate(Held(), **{**RUN, **run}), elsewhere(Held(), ("part",), **run))
    assert passes == {("strikes", (2,))}


@pytest.mark.parametrize("machine", ["loop", "chain"])
def test_remote_is_sealed_to_the_last_bit(supplier: Callable[[str], Supplier], passes: Passes, machine: str) -> None:
    """Also where speeds are made consistent once, and where the motion of a port is foretold."""
    chamber, skid = supplier("chamber"), supplier("skid")
    if machine == "loop":
        sealed, remote = simulate(Coupler(chamber.sealed), **RUN), simulate(Coupler(chamber.remote), **RUN)
    else:
        sealed = simulate(Hung(skid.sealed, chamber.sealed), **RUN)
        remote = simulate(Hung(skid.remote, chamber.remote), **RUN)
    assert remote.status.ok, remote.status
    assert all(np.array_equal(sealed[name], remote[name]) for name in sealed)
    assert sealed.statistics["events"] == remote.statistics["events"]
    assert len(sealed.statistics["events"]) >= 4
    assert max(count for _, asked in passes for count in asked) == 3
