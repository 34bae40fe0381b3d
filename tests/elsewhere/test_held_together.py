"""What a part elsewhere and its owner hold together is shared as in the open model: forces at rest to 1e-9 N, events
and ways to 1e-12; remote is sealed, and it takes as many round trips as other laws.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest
from elsewhere.counting import counted_passes
from elsewhere.suppliers import Supplier
from nonsmooth.held_from_both_sides import END, Bench, Braked, Hall, Hoist, Jaws, Works
from nonsmooth.known import names, times

from kompono import (
    Body,
    Ground,
    Parameter,
    Result,
    Simulation,
    Subsystem,
    evaluate,
    resume,
    simulate,
    simulate_many,
    time,
)
from kompono.compile.law_state import HOLDS, TIED
from kompono.elsewhere.hosts import InProcess
from kompono.library import AppliedLoad, Clutch, Revolute, Weld
from kompono.request import Request
from kompono.solve.settings import settings_of

Find = Callable[[str], Supplier]
WEAK, BARELY = 15.0, 19.63
SWING = 5 * ca.sin(24 * ca.pi * time)  # [N m]


class Hard(Braked):
    """It holds 2 N m."""

    def __init__(self) -> None:
        super().__init__(2.0)


class Pair(Subsystem):
    """Two parts have a brake each on one shaft, and its owner a third one; together they hold 3.5 N m."""

    def __init__(self, one: Callable[[], Any] = Braked, other: Callable[[], Any] = Hard) -> None:
        self.ground, self.one, self.other = Ground(), one(), other()
        self.hold, self.too = Weld(self.ground, self.one.frame), Weld(self.ground, self.other.frame)
        self.shaft = Weld(self.one.wheel, self.other.wheel)
        self.clutch = Clutch(self.one.frame, self.one.wheel, axis="z", limit=0.5)
        self.turn = AppliedLoad(self.one.wheel, torque=(0, 0, SWING))


class Linked(Subsystem):
    """The same brakes on cranks of 0.1 and 0.12 m that a rod joins, and the owner's on one of them."""

    def __init__(self) -> None:
        self.ground, self.one, self.other = Ground(), Braked(), Hard()
        self.hold = Weld(self.ground, self.one.frame)
        self.too = Weld(self.ground.at(0, 0.3, 0), self.other.frame)
        self.rod = Body(mass=0.2, inertia=(0.01, 0.01, 0.01))
        self.first = Revolute(self.one.wheel.at(0.1, 0, 0), self.rod, axis="z")
        self.last = Revolute(self.other.wheel.at(0.12, 0, 0), self.rod.at(0.02, 0.3, 0), axis="z")
        self.clutch = Clutch(self.one.frame, self.one.wheel, axis="z", limit=0.5)
        self.turn = AppliedLoad(self.one.wheel, torque=(0, 0, 100 * time))


@cache
def whole(make: Callable[[], Any], method: str = "rk4", until: float = END) -> Result:
    """The open model."""
    return simulate(make(), until=until, method=method).check()


def elsewhere(model: Subsystem, *parts: str, closed: tuple[str, ...] = (), **run: Any) -> Result:
    """With parts kept by keepers in this process, as ranks keep them."""
    hosts = {part: InProcess() for part in parts}
    simulation = Simulation(model, elsewhere=hosts, closed=closed, contact=run.pop("contact", "events"))
    return simulation.run(settings_of(Request(**{"until": END, **run}))).check()


def alike(one: Result, other: Result, named: bool = True) -> None:
    """The same events and ways, and forces at rest and in the end."""
    found, others = (
        sorted(zip(names(r) if named else ["any"] * len(times(r)), times(r), strict=True)) for r in (one, other)
    )
    assert [name for name, _ in found] == [name for name, _ in others]
    assert max(abs(a - b) for (_, a), (_, b) in zip(found, others, strict=True)) < 1e-12
    for name in set(one) & set(other):
        if "position" in name:
            assert abs(one[name][-1] - other[name][-1]) < 1e-12, name
        if name.endswith("normal") or ".force." in name:
            assert np.abs((one[name] - other[name])[[0, 1, -1]]).max() < 1e-9, name


def sealed_and_remote(sealed: Result, remote: Result) -> None:
    """The same but for rounding of a machine at rest, which stays where it is only if all of its state is here."""
    assert list(sealed) == list(remote)
    assert max(abs(a - b) for a, b in zip(times(sealed), times(remote), strict=True)) < 1e-12
    for name in sealed:
        if "position" in name or "angle" in name:
            assert np.abs(sealed[name] - remote[name]).max() < 1e-15, name


def shares(result: Result) -> None:
    """1 and 2 N m hold until there are 3, and slip together."""
    assert times(result) == pytest.approx([0.03, 0.03], abs=1e-12)
    held = result.time < 0.03
    assert np.abs(result["clutch.friction"] + 200 / 3 * result.time)[held].max() < 1e-12


@pytest.mark.parametrize("method", ["rk4", "dopri5"])
def test_brakes_inside_and_outside_share_by_what_they_can_bear(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An event and the start take one round trip, as with other laws."""
    passes = counted_passes(monkeypatch)
    shares(elsewhere(Bench(), "part", method=method))
    assert passes == {("starts", (1,)), ("changes", (1,))}


@pytest.mark.parametrize("method", ["rk4", "dopri5", "adams"])
def test_remote_brakes_are_sealed_ones(supplier: Find, method: str) -> None:
    made, errors = supplier("braked"), "parts" if method == "dopri5" else "whole"
    options: dict[str, Any] = {"until": END, "method": method, "errors": errors}
    remote = simulate(Bench(made.remote), **options).check()
    shares(remote)
    sealed_and_remote(simulate(Bench(made.sealed), **options), remote)


def test_rows_are_tied_and_let_go_again_and_again(supplier: Find) -> None:
    """Two parts at suppliers' and their owner hold one shaft, which slips and sticks in turn, eleven changes."""
    made, open_model = supplier("braked"), whole(Pair, until=0.25)
    assert len(open_model.statistics["events"]) == 33
    assert all(what.endswith((".slips", ".sticks")) for what in names(open_model))
    alike(open_model, elsewhere(Pair(), "one", "other", until=0.25))
    remote = simulate(Pair(made.remote, supplier("harder").remote), until=0.25).check()
    alike(open_model, remote, named=False)


def test_brakes_that_a_loop_joins() -> None:
    """Each bears what it can until all do."""
    alike(whole(Linked), elsewhere(Linked(), "one", "other"))


@pytest.mark.parametrize("method", ["rk4", "dopri5"])
def test_jaws_elsewhere_lift_a_block_off_the_floor_of_their_owner(method: str) -> None:
    alike(whole(Hoist, method), elsewhere(Hoist(), "jaws", method=method))


def test_jaws_at_a_suppliers_lift_a_block_off_the_floor_of_their_owner(supplier: Find) -> None:
    made = supplier("jaws")
    remote = simulate(Hoist(made.remote), until=END).check()
    alike(whole(Hoist), remote, named=False)
    sealed_and_remote(simulate(Hoist(made.sealed), until=END), remote)


@pytest.mark.parametrize(("make", "part", "closed"), [(Works, "cell", "cell.jaws"), (Hall, "station", "station.jaws")])
def test_a_closed_part_of_a_part_elsewhere(make: Any, part: str, closed: str) -> None:
    """Also where both sides of what is held are in the part elsewhere."""
    alike(whole(make), elsewhere(make(), part, closed=(closed,)))


@pytest.mark.parametrize("squeeze", [WEAK, BARELY])
def test_jaws_that_are_too_weak_slip(squeeze: float) -> None:
    make = partial(Hoist, partial(Jaws, squeeze))
    alike(whole(make), elsewhere(make(), "jaws"))


def test_steps_over_contact_share_as_well() -> None:
    found = elsewhere(Bench(), "part", until=0.028, contact="steps")
    assert np.abs(found["clutch.friction"] + 200 / 3 * found.time).max() < 1e-12


def test_a_run_that_lost_its_link_while_laws_are_tied_goes_on(supplier: Find, tmp_path: Path) -> None:
    made, file = supplier("braked"), tmp_path / "run.h5"
    first = simulate(Bench(made.remote), until=END).check()
    made.breaks = 300
    try:
        with pytest.warns(match="nobody answers"):
            begun = simulate(Bench(made.remote), hdf5=file, until=END)
    finally:
        made.breaks = None
    assert 0.001 < begun.time[-1] < 0.03
    found = resume(Bench(made.remote), file).check()
    shares(found)
    assert all(np.array_equal(first[name], found[name]) for name in first)


def test_ensembles_share_as_well(supplier: Find) -> None:
    tops = np.array([1.0, 3.0])
    top: Any = Parameter(2.0)
    model: Any = Bench(supplier("braked").remote, limit=top)
    model.top = top
    runs = simulate_many(model, parameters={"top": tops}, until=0.02, step=1e-3, lanes=1)
    assert not runs.failed
    assert np.abs(runs["clutch.friction"][:, -1] + 2.0 * tops / (1.0 + tops)).max() < 1e-12


def test_single_states_and_records_are_judged_alike() -> None:
    """What an owner knows of modes elsewhere it knows from having chosen them, or asks for."""
    simulation, found = Simulation(Bench(), elsewhere={"part": InProcess()}), list[tuple[int, int]]()
    kernel, asked = simulation.kernel, simulation.kernel.level

    def level(time: float, state: np.ndarray, *given: Any) -> int:
        known = asked(time, state, *given)
        kernel.settle.now.shared = None
        found.append((known, asked(time, state, *given)))
        return known

    kernel.level = level
    assert simulation.run(settings_of(Request(until=0.05))).status.ok
    assert set(found) == {(TIED, TIED), (HOLDS, HOLDS)}
    assert dict(evaluate(simulation)) == dict(evaluate(Simulation(Bench(), closed=["part"])))
