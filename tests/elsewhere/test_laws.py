"""Contact, friction, samples and states of one's own in parts that are kept elsewhere: as closed and sealed ones."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from elsewhere.machines import Swinging, Weight
from elsewhere.suppliers import Supplier
from nonsmooth.grazing import Rig
from nonsmooth.loose_parts import Owner
from nonsmooth.rubbing_parts import Carried, Heavy, Rocked, Swung
from nonsmooth.same_events import same_events

from kompono import Simulation, Subsystem, evaluate, resume, simulate, simulate_many
from kompono.elsewhere.hosts import InProcess
from kompono.request import Request
from kompono.solve.settings import settings_of

pytestmark = pytest.mark.filterwarnings("ignore::kompono.ModelWarning")
Find = Callable[[str], Supplier]
LONG = bool(os.environ.get("KOMPONO_LAWS"))
RUN: dict[str, Any] = {"until": 0.6, "step": 1e-3}
MACHINES: dict[str, tuple[Any, str, int]] = {  # a machine, a channel of it, and its events in that time
    "skid": (Rocked, "pin.angle", 1),
    "tray": (Carried, "tilt.angle", 6),
    **({"double": (Heavy, "rail.displacement", 5), "rough": (Swung, "pin.angle", 2)} if LONG else {}),
}


def elsewhere(model: Subsystem, **run: Any) -> Any:
    """A run with its part kept by a keeper in this process, as ranks keep it."""
    return Simulation(model, elsewhere={"part": InProcess()}).run(settings_of(Request(**{**RUN, **run})))


def same(one: Any, other: Any) -> None:
    assert other.status.ok, other.status
    assert list(one) == list(other)
    assert all(np.array_equal(one[name], other[name]) for name in one)
    assert one.statistics["events"] == other.statistics["events"]


def test_a_loose_body_has_the_coordinates_of_the_open_model_there(supplier: Find) -> None:
    made, run = supplier("yard"), {**RUN, "until": 0.147}
    whole, sealed = simulate(Owner(), **run), simulate(Owner(made.sealed), **run)
    same(sealed, simulate(Owner(made.remote), **run))
    for other in (sealed, elsewhere(Owner(), **run)):
        same_events(whole, other, 9, named=False)
        assert np.abs(other["part.brick.position.x"] - whole["part.brick.position.x"]).max() < 1e-12


@pytest.mark.parametrize("name", MACHINES)
def test_events_of_the_open_machine(supplier: Find, name: str) -> None:
    """Kept elsewhere as a closed part, and remote, which is sealed to the last bit."""
    machine, channel, least = MACHINES[name]
    made = supplier(name)
    for method in ("rk4", "adams") if LONG else ("rk4",):
        whole = simulate(machine(), method=method, **RUN)
        sealed = simulate(machine(made.sealed), method=method, **RUN)
        remote = simulate(machine(made.remote), method=method, **RUN)
        same(sealed, remote)
        for other in (remote, elsewhere(machine(), method=method)):
            same_events(whole, other, least, named=False)
            if method == "rk4":
                assert np.abs(other[channel] - whole[channel]).max() < 1e-10


def test_a_touch_within_a_step_is_seen(supplier: Find) -> None:
    """Guards of parts come with their slopes, wherever they are."""
    made, run = supplier("chamber"), {"until": 0.3, "step": 1e-2}
    events = simulate(Rig(), **run).statistics["events"]
    sealed, remote = (simulate(Rig(make), **run) for make in (made.sealed, made.remote))
    same(sealed, remote)
    assert len(events) == 4
    for other in (sealed, elsewhere(Rig(), **run)):
        told = other.check().statistics["events"]
        assert [what.rpartition(".")[2] for _, what in told] == ["strikes"] * 4
        assert max(abs(a - b) for (a, _), (b, _) in zip(told, events, strict=True)) < 1e-12


def test_a_run_goes_on_among_events(supplier: Find, tmp_path: Any) -> None:
    """A link that is lost between events, or while laws settle."""
    made = supplier("tray")
    whole = simulate(Carried(made.remote), **RUN)
    for breaks in (3_000, 5_003, 7_010) if LONG else (5_003,):
        file, model = tmp_path / f"run{breaks}.h5", Carried(made.remote)
        made.breaks = breaks
        try:
            with pytest.warns(match="nobody answers"):
                simulate(model, hdf5=file, **RUN)
        finally:
            made.breaks = None
        same(whole, resume(Carried(made.remote), file))


def test_every_place_where_a_link_may_break(supplier: Find) -> None:
    """Around an event: whatever is asked there, the run ends with its reason and what it has."""
    made = supplier("skid")
    simulation, settings = Simulation(Rocked(made.remote)), settings_of(Request(until=0.3, step=1e-3))
    found = simulation.run(settings)
    when, trips = found.statistics["events"][0][0], found.statistics["round_trips"]["part"]
    middle = int(trips * when / 0.3)
    for breaks in range(middle - 40, middle + 80, 1 if LONG else 9):
        made.breaks = breaks
        try:
            with pytest.warns(match="nobody answers"):
                result = simulation.run(settings)
        finally:
            made.breaks = None
        assert "part" in result.status.message
        assert np.array_equal(result["pin.angle"], found["pin.angle"][: len(result.time)])


def test_ensembles_and_single_states(supplier: Find) -> None:
    made, initial = supplier("tray"), {"rail.displacement": np.linspace(0, 0.1, 3)}
    one, other = (
        simulate_many(Carried(kind), initial=initial, until=0.2, step=1e-3, lanes=1)
        for kind in (made.sealed, made.remote)
    )
    assert not other.failed
    assert np.array_equal(one["tilt.angle"], other["tilt.angle"])
    assert one.statistics["events"] == other.statistics["events"]
    one, other = (evaluate(Simulation(Carried(kind))) for kind in (made.sealed, made.remote))
    assert dict(one) == dict(other)


@pytest.mark.parametrize("method", ["rk4", "adams", "dopri5"] if LONG else ["dopri5"])
def test_samples_and_states_inside(supplier: Find, method: str) -> None:
    run: dict[str, Any] = {"until": 0.2, "step": 1e-3, "method": method, "errors": "parts"}
    closed = simulate(Swinging(), closed=["part"], **run)
    other = elsewhere(Swinging(), **run)
    assert all(np.array_equal(closed[name], other[name]) for name in closed)
    made = supplier("controlled")
    sealed, remote = simulate(Swinging(made.sealed), **run), simulate(Swinging(made.remote), **run)
    assert remote.status.ok
    assert all(np.array_equal(sealed[name], remote[name]) for name in sealed)
    whole = simulate(Swinging(), **{**run, "errors": "whole"})
    assert np.abs(whole["top.angle"] - remote["top.angle"]).max() < 1e-9
    assert np.ptp(remote["top.angle"]) > 0.01


@pytest.mark.parametrize("method", ["rk4", "dopri5"])
def test_a_part_without_coordinates_runs_elsewhere(method: str) -> None:
    closed = simulate(Swinging(Weight), closed=["part"], method=method, errors="parts", **{**RUN, "until": 0.1})
    other = elsewhere(Swinging(Weight), method=method, until=0.1)
    assert other.status.ok, other.status
    assert all(np.array_equal(closed[name], other[name]) for name in closed)
