"""Where conditions depend on one another: the same motion however a machine is turned, on either engine, and energy
kept through singular positions to the order of the method.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from rank.machines import STILL, TURN, Delta, Drawer, HangingPlate, Parallelogram, Sarrus, ScissorRing
from scipy.integrate import solve_ivp

from kompono import Result, Simulation, Subsystem, inspect, simulate
from kompono.examples.reference.n_four_bar import NFourBar
from kompono.request import Request
from kompono.solve.settings import settings_of

pytestmark = pytest.mark.filterwarnings("ignore::kompono.ModelWarning")
MACHINES: dict[str, Callable[..., Subsystem]] = {
    "a plate on two rods": functools.partial(HangingPlate, 2),
    "a plate on four rods": functools.partial(HangingPlate, 4),
    "a Delta robot": Delta,
    "a ring of scissors": ScissorRing,
    "a parallelogram": Parallelogram,
    "Sarrus' linkage": Sarrus,
    "a drawer": Drawer,
}
LONG = "KOMPONO_LAWS" in os.environ  # more steps, larger machines


@functools.cache
def simulation(name: str, turn: tuple[float, ...], engine: str = "relative") -> Simulation:
    return Simulation(MACHINES[name](turn=turn), engine=engine)


def run(sim: Simulation, until: float, step: float = 1e-3, method: str = "rk4") -> Result:
    settings = settings_of(
        Request(
            engine=sim.engine, until=until, step=step, method=method, every=max(1, round(0.01 / step)),
            rtol=1e-11, atol=1e-13,
        )
    )  # fmt: skip
    return sim.run(settings, progress=False)


def lost(result: Result) -> float:
    """Energy lost or gained, relative to the largest kinetic energy."""
    energy = result["energy.total"]
    return float(np.abs(energy - energy[0]).max() / result["energy.kinetic"].max())


def angles(result: Result) -> np.ndarray:
    """All joint coordinates that do not see how the machine is turned, as (rows, coordinates)."""
    names = [name for name in result if name.split(".")[-1] in ("angle", "angle1", "angle2", "displacement")]
    return np.column_stack([result[name] for name in names])


@pytest.mark.parametrize("name", [name for name in MACHINES if LONG or name != "a Delta robot"])
def test_how_a_machine_is_turned_does_not_matter(name: str) -> None:
    until = 0.3 if name == "a Delta robot" else 1.2
    still, turned = (run(simulation(name, turn), until) for turn in (STILL, TURN))
    for result in (still, turned):
        assert result.status.ok, result.status.message
        assert lost(result) < 1e-7
    shaky = name == "a plate on two rods"  # one of its conditions holds to second order only: a start to 1e-8
    assert np.abs(angles(still) - angles(turned)).max() < (1e-5 if shaky else 1e-7)
    assert still.statistics["degrees_of_freedom"] == turned.statistics["degrees_of_freedom"]


SLOW = () if LONG else ("a Delta robot", "a ring of scissors", "a plate on four rods")


@pytest.mark.parametrize("name", [name for name in MACHINES if name not in SLOW])
def test_both_engines_move_alike(name: str) -> None:
    step = 2e-4 if name == "a Delta robot" else 1e-3  # at 1 ms it is off by 4e-6 m by joints, 5e-10 by bodies
    by_joints, by_bodies = (run(simulation(name, TURN, engine), 1.0, step) for engine in ("relative", "absolute"))
    assert by_joints.status.ok
    assert by_bodies.status.ok
    assert lost(by_bodies) < 1e-7
    places = [name for name in by_joints if ".position." in name and not name.startswith("drift")]
    assert max(np.abs(by_joints[place] - by_bodies[place]).max() for place in places) < 1e-7


STEPS = np.random.default_rng(0).uniform(0.9e-3, 1.1e-3, 40 if LONG else 6)


@pytest.mark.parametrize("turn", [STILL, TURN], ids=["still", "turned"])
def test_a_ring_passes_its_centre(turn: tuple[float, ...]) -> None:
    for step in STEPS:
        result = run(simulation("a ring of scissors", turn), 4.0, step)
        assert result.status.ok
        assert lost(result) < 1e-6


@pytest.mark.parametrize("windows", [2, 5, *([10, 40] if LONG else [])])
def test_rows_of_four_bars_turned_in_space_pass_where_all_bars_lie_in_line(windows: int) -> None:
    sim = Simulation(NFourBar(windows, turn=TURN))
    for step in STEPS[: 40 // windows]:
        result = run(sim, 10.0, step)
        assert result.status.ok, (step, result.status.message)
        assert lost(result) < 1e-10


@pytest.mark.parametrize("windows", [4, *([40] if LONG else [])])
def test_a_tight_tolerance_passes_singular_positions(windows: int) -> None:
    """All uprights turn alike and the couplers only move along, so the row is a pendulum of one angle."""
    result = simulate(
        NFourBar(windows), until=5.0, step=0.05, method="dopri5", rtol=1e-12, channels=["feet.*.angle", "energy.*"]
    )
    pull = 9.81 * ((windows + 1) / 2 + windows) / ((windows + 1) / 3 + windows)
    exact = solve_ivp(
        lambda _, y: [y[1], pull * np.sin(y[0])], (0.0, 5.0), [0.0, -1.0],
        method="DOP853", rtol=1e-13, atol=1e-14, t_eval=result.time,
    ).y[0]  # fmt: skip
    assert result.status.ok
    assert lost(result) < 1e-11
    for foot in (0, windows // 2, windows):
        assert np.abs(result[f"feet.{foot}.angle"] - exact).max() < 1e-9


@pytest.mark.parametrize("turn", [STILL, TURN], ids=["still", "turned"])
@pytest.mark.parametrize("platform", [1e-3, 1.0, 1e3, 1e6])
def test_masses_do_not_matter(platform: float, turn: tuple[float, ...]) -> None:
    sim = Simulation(Parallelogram(platform, turn))
    for step in STEPS[:4]:
        result = run(sim, 3.0, step)
        assert result.status.ok
        assert lost(result) < 1e-10
        assert np.abs(result["foot.angle"] - result["other.angle"]).max() < 1e-10


@pytest.mark.parametrize("engine", ["relative", "absolute"])
def test_units_of_length_do_not_matter(engine: str) -> None:
    metres, millimetres = (
        run(Simulation(Parallelogram(turn=TURN, unit=unit), engine=engine), 3.0) for unit in (1.0, 1000.0)
    )
    assert millimetres.status.ok
    assert np.abs(metres["foot.angle"] - millimetres["foot.angle"]).max() < 1e-9


def test_sarrus_turned_with_an_adaptive_method() -> None:
    fixed, adaptive = (
        run(simulation("Sarrus' linkage", TURN), 2.0, step, method)
        for step, method in ((1e-3, "rk4"), (0.01, "dopri5"))
    )
    assert adaptive.status.ok
    assert np.abs(fixed["top.position.z"] - adaptive["top.position.z"]).max() < 1e-8


@pytest.mark.parametrize("rails", [1, 2, 3, 4])
@pytest.mark.parametrize("turn", [STILL, TURN], ids=["still", "turned"])
def test_a_drawer_has_one_freedom_on_any_number_of_rails(rails: int, turn: tuple[float, ...]) -> None:
    report = inspect(Drawer(rails, turn))
    assert report.degrees_of_freedom == 1
    assert report.redundant_count == 5 * (rails - 1)
    result = simulate(Drawer(rails, turn), until=0.1)
    assert abs(result["rails.0.displacement"][-1] + 9.81 * 0.6 * 0.1**2 / 2) < 1e-12


@pytest.mark.parametrize("name", ["a plate on four rods", "a Delta robot", "a ring of scissors"])
def test_redundant_conditions_are_known_before_the_run(name: str) -> None:
    """So that no pivot has to be judged while it runs; two of the plate turn too far and are left to them."""
    program: Any = simulation(name, TURN).program
    rows = {"a plate on four rods": (10, 2), "a Delta robot": (14, 6), "a ring of scissors": (8, 4)}
    assert (program.independent, program.slips) == rows[name]


def test_a_start_where_more_conditions_are_independent_is_translated_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    sim = Simulation(HangingPlate(4))
    expected = run(sim, 0.1)
    monkeypatch.setattr("kompono.simulation.more_independent", lambda *_: sim.program.slips > 0)
    assert sim.program.slips > 0
    again = run(sim, 0.1)
    assert sim.program.slips == 0
    assert again.status.ok
    assert np.abs(again["plate.position.x"] - expected["plate.position.x"]).max() < 1e-10


def test_drift_of_velocity_is_that_of_the_speeds_as_they_are() -> None:
    """Accelerations are evaluated at consistent speeds; what is reported is not made consistent first."""
    sim = simulation("a parallelogram", TURN)
    state = sim.assemble().state.copy()
    state[len(sim.program.coordinates)] += 0.1
    names = [channel.name for channel in sim.program.channels]
    drift = sim.kernel.evaluate("outputs", 0.0, state)[0][names.index("drift.velocity")]
    g_dot = sim.kernel.evaluate("conditions", 0.0, state)[1]
    assert np.abs(g_dot).max() > 0.01
    assert abs(drift - np.abs(g_dot).max()) < 1e-14
