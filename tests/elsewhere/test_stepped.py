"""Equal steps over contact and friction with parts elsewhere, and with sealed parts that have states of their own."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from elsewhere.machines import Braked
from elsewhere.striking import Coupler, Hung
from elsewhere.suppliers import Supplier
from nonsmooth.rubbing_parts import Carried

from kompono import Result, RunError, Simulation, Subsystem, resume, simulate
from kompono.elsewhere.hosts import InProcess
from kompono.request import Request
from kompono.solve.settings import settings_of

pytestmark = pytest.mark.filterwarnings("ignore::kompono.ModelWarning")
Find = Callable[[str], Supplier]
LONG = bool(os.environ.get("KOMPONO_LAWS"))
RUN: dict[str, Any] = {"until": 0.25, "step": 2e-3}
MACHINES: dict[str, tuple[Callable[[], Subsystem], list[str]]] = {
    "tree": (Carried, ["part"]),
    "loop": (Coupler, ["part"]),
    **({"hung": (Hung, ["part", "other"])} if LONG else {}),
}


def elsewhere(model: Subsystem, *parts: str) -> Result:
    hosts = {path: InProcess() for path in parts}
    return Simulation(model, elsewhere=hosts, contact="steps").run(settings_of(Request(**RUN)))


def same_motion(one: Result, other: Result) -> None:
    assert one.status.ok
    assert other.status.ok, other.status
    assert one.statistics["events"] == other.statistics["events"]
    for name in set(one) & set(other):
        assert np.abs(one[name] - other[name]).max() < 1e-11 * max(1.0, np.abs(one[name]).max()), name


@pytest.mark.parametrize("name", MACHINES)
def test_steps_of_the_closed_machine(name: str) -> None:
    """The open one is projected in another way where something has struck."""
    machine, parts = MACHINES[name]
    there = elsewhere(machine(), *parts)
    same_motion(simulate(machine(), contact="steps", closed=parts, **RUN), there)
    assert len(there.statistics["events"]) >= 3


def test_a_lost_link_ends_steps_and_they_go_on(supplier: Find, tmp_path: Any) -> None:
    made, run = supplier("tray"), {"contact": "steps", **RUN}
    whole = simulate(Carried(made.remote), **run)
    same_motion(simulate(Carried(made.sealed), **run), whole)
    middle = whole.statistics["round_trips"]["part"] // 2
    for breaks in range(middle, middle + 12, 1 if LONG else 7):
        file, made.breaks = tmp_path / f"{breaks}.h5", breaks
        try:
            with pytest.warns(match="nobody answers"):
                part = simulate(Carried(made.remote), hdf5=file, **run)
        finally:
            made.breaks = None
        assert np.array_equal(part["tilt.angle"], whole["tilt.angle"][: len(part.time)])
    gone_on = resume(Carried(made.remote), file)
    assert np.array_equal(gone_on["tilt.angle"], whole["tilt.angle"])


def test_states_inside(supplier: Find) -> None:
    """A sealed part says how many numbers it keeps, not which of them are states: all are stepped."""
    made, run = supplier("controlled"), {"contact": "steps", **RUN}
    same_motion(simulate(Braked(), **run), simulate(Braked(made.sealed), **run))
    for model, hosts in ((Braked(made.remote), {}), (Braked(), {"part": InProcess()})):
        with pytest.raises(RunError, match=r"part: contact='steps' does not go with .*states of its own"):
            Simulation(model, elsewhere=hosts, contact="steps").run(settings_of(Request(**RUN)))
