"""Closed parts in processes of their own: the same bits as here, and a reason when one of them is lost."""

from __future__ import annotations

import os
import signal
from typing import Any

import numpy as np
import pytest
from parts.machines import Rig, Walker

from kompono import Simulation, simulate, simulate_many
from kompono.compile.walls import station
from kompono.errors import ModelError
from kompono.examples.car import Car
from kompono.examples.engine import Engine
from kompono.solve.integrate import Settings

pytestmark = [
    pytest.mark.filterwarnings("ignore::kompono.ModelWarning"),
    pytest.mark.skipif(not station.available(), reason="no worker processes on this system"),
]

LONG = os.environ.get("KOMPONO_LAWS")
METHODS = ["rk4", "dopri5", "adams"] if LONG else ["rk4", "dopri5"]
CHANNELS = ["*.position.*", "*.displacement", "*.force.z", "energy.*", "drift.*"]


def same(first: Any, second: Any) -> None:
    """Two results have the same bits."""
    assert first.status.ok, first.status
    assert second.status.ok, second.status
    assert first.names == second.names
    assert np.array_equal(first.time, second.time)
    assert not [name for name in first.names if not np.array_equal(first[name], second[name])]


@pytest.mark.parametrize(
    ("make", "closed", "isolate"),
    [
        (Car, ["left.damper", "right.damper"], ["*.damper"]),
        (Walker, ["drive", "guide"], ["*"]),
        *([(Engine, ["cylinder1"], ["cylinder1"])] if LONG else []),
    ],
)
def test_same_bits_as_in_one_process(make: Any, closed: list[str], isolate: list[str]) -> None:
    """Loops through the border, parts on grounds of their own."""
    request = {"until": 0.01, "step": 1e-3, "closed": closed, "channels": CHANNELS}
    same(simulate(make(), **request), simulate(make(), **request, isolate=isolate))


@pytest.fixture(scope="module")
def rigs() -> tuple[Simulation, Simulation]:
    """Loops through the border, redundant loops inside, events and modes inside: all parts closed, two elsewhere."""
    closed = {"closed": ["platform", "struts.*"]}
    return Simulation(Rig(), **closed), Simulation(Rig(), **closed, isolate=["struts.0", "platform"])


@pytest.mark.parametrize("method", METHODS)
def test_every_method(rigs: tuple[Simulation, Simulation], method: str) -> None:
    settings = Settings(method, until=0.02, step=1e-3)
    same(*[rig.run(settings, channels=CHANNELS) for rig in rigs])


def test_each_part_has_a_process(rigs: tuple[Simulation, Simulation]) -> None:
    rigs[1].kernel.prepare(method="rk4")
    workers = rigs[1].kernel.places.processes()
    assert set(workers) == {"struts.0", "platform"}
    assert len({os.getpid(), *workers.values()}) == 3
    assert not rigs[0].kernel.places.processes()


@pytest.mark.parametrize("method", METHODS)
def test_a_killed_worker_ends_the_run_with_all_up_to_it(rigs: tuple[Simulation, Simulation], method: str) -> None:
    whole, parted = rigs

    def kill(time: float) -> float:
        if time >= 0.02 and not killed:
            killed.append(time)
            os.kill(parted.kernel.places.processes()["platform"], signal.SIGKILL)
        return 4.0

    settings, killed = Settings(method, until=0.05, step=1e-3), []
    inputs = {"struts.0.pull": (kill, 1e-3)}
    with pytest.warns(match="platform"):
        result = parted.run(settings, channels=CHANNELS, inputs=inputs)
    assert not result.status.ok
    assert result.status.message.startswith("platform: its worker process was ended by SIGKILL")
    assert "t = 0.02" in result.status.message
    undisturbed = whole.run(settings, channels=CHANNELS, inputs={"struts.0.pull": (lambda t: 4.0, 1e-3)})
    rows = len(result.time)
    assert rows > 15
    for name in result.names:
        assert np.array_equal(result[name], undisturbed[name][:rows]), name
    again = parted.run(settings, channels=CHANNELS)  # with a new worker
    assert again.status.ok


def test_a_worker_killed_in_a_method_of_scipy() -> None:
    simulation = Simulation(Car(), closed=["left.damper"], isolate=["left.damper"])

    derivative = simulation.kernel.evaluate
    count = 0

    def evaluate(routine: str, time: float, *rest: Any) -> Any:
        nonlocal count
        if routine == "derivative" and time > 0.02 and not count:
            count += 1
            os.kill(simulation.kernel.places.processes()["left.damper"], signal.SIGKILL)
        return derivative(routine, time, *rest)

    simulation.kernel.evaluate = evaluate
    with pytest.warns(match="SIGKILL"):
        result = simulation.run(Settings("RK45", until=0.05, step=1e-3), channels="body.position.z")
    assert "left.damper" in result.status.message
    assert len(result.time) > 10
    assert np.isfinite(result["body.position.z"]).all()


def test_many_runs_share_workers() -> None:
    request = {"until": 0.02, "closed": ["*.damper"], "runs": 6, "channels": "body.position.*", "threads": 2}
    initial = {"guide.displacement": np.linspace(0.9, 0.92, 6)}
    first = simulate_many(Car(), **request, initial=initial)
    second = simulate_many(Car(), **request, initial=initial, isolate=["left.damper"])
    assert not first.failed
    assert not second.failed
    assert np.array_equal(first["body.position.z"], second["body.position.z"])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"isolate": ["left"]}, r"closed=\['left'\]"),
        ({"closed": ["left"], "isolate": ["lift"]}, "left"),
        ({"closed": ["left", "left.damper"], "isolate": ["left", "left.damper"]}, r"left\.damper: it is inside left"),
        ({"closed": ["left"], "isolate": 3}, "isolate"),
    ],
)
def test_what_cannot_be_isolated_is_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(Exception, match=said) as caught:
        simulate(Car(), until=0.01, **options)
    assert isinstance(caught.value, ModelError) or "isolate" in str(caught.value)


def test_a_closed_part_inside_an_isolated_one_goes_with_it() -> None:
    request = {"until": 0.02, "closed": ["left", "left.damper"], "channels": "body.position.*"}
    same(simulate(Car(), **request), simulate(Car(), **request, isolate=["left"]))
