"""How often a part elsewhere is asked at an event, and that what strikes inside or across its border does so as in the
open machine: three round trips at most, for any machine, also where a part needs what another one says.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from elsewhere.counting import Passes, counted_passes
from elsewhere.striking import Coupler, Handing, Held, Hung, Meeting, Talking, TalkingLoop, Twice
from elsewhere.suppliers import Supplier
from nonsmooth.grazing import Rig
from nonsmooth.rubbing_parts import Carried
from nonsmooth.same_events import same_events

from kompono import Result, Simulation, Subsystem, simulate
from kompono.elsewhere.hosts import InProcess
from kompono.request import Request
from kompono.solve.settings import settings_of
from kompono.solve.settling import Settler

pytestmark = pytest.mark.filterwarnings("ignore::kompono.ModelWarning", "ignore::kompono.RunWarning")
RUN: dict[str, Any] = {"until": 0.4, "step": 1e-3}
BOTH = ("part", "other")
MACHINES: dict[str, tuple[Callable[[], Subsystem], tuple[str, ...], Passes]] = {
    "inside": (lambda: Rig(Twice), ("part",), {("starts", (1,)), ("strikes", (2,))}),
    "slips": (Carried, ("part",), {("starts", (1,)), ("changes", (1,)), ("strikes", (2,))}),
    "handed on": (lambda: Handing(Twice), ("part",), {("starts", (1,)), ("changes", (1,)), ("strikes", (2,))}),
    "two parts": (Meeting, BOTH, {("starts", (1, 1)), ("strikes", (2, 2))}),
    "a loop": (Coupler, ("part",), {("starts", (2,)), ("strikes", (2,))}),
    "a part on a part": (Hung, BOTH, {("starts", (1, 2)), ("changes", (1, 1)), ("strikes", (2, 2))}),
    "that in a loop": (lambda: Hung(loop=True), BOTH, {("starts", (2, 2)), ("changes", (1, 1)), ("strikes", (2, 2))}),
    "a signal": (Talking, BOTH, {("starts", (1, 2)), ("strikes", (2, 3))}),  # of new speeds: it must be waited for
    "a signal in a loop": (TalkingLoop, BOTH, {("starts", (2, 3)), ("strikes", (2, 3))}),
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
    assert max(count for _, asked in passes for count in asked) == 2


def test_slip_is_marked_as_straight_alike_everywhere(supplier: Callable[[str], Supplier], monkeypatch: Any) -> None:
    """A ball slips straight along its tray, wherever that is; to mark it takes one round trip."""
    mark, trips = Settler.mark, list[int]()

    def counted(self: Any, state: np.ndarray, units: np.ndarray) -> np.ndarray:
        sessions = self.kernel.sessions(state) if self.program.opaque else []
        before = sum(session.round_trips for session in sessions)
        made = mark(self, state, units)
        trips.append(sum(session.round_trips for session in sessions) - before)
        return made

    monkeypatch.setattr(Settler, "mark", counted)
    made, run = supplier("tray"), {**RUN, "until": 0.6}
    whole = simulate(Carried(), **run)
    marks = len(trips)
    assert marks > 0
    for other in (
        simulate(Carried(), closed=["part"], **run),
        simulate(Carried(made.sealed), **run),
        simulate(Carried(made.remote), **run),
        elsewhere(Carried(), ("part",), until=0.6),
    ):
        assert other.status.ok, other.status
        assert other.statistics["steps"] == whole.statistics["steps"]
    assert sorted(trips) == [0] * (3 * marks) + [1] * (2 * marks)
