"""Native runs through singular positions and with overconstrained loops: what is lost is bounded."""

from __future__ import annotations

import numpy as np
import pytest
from reference.support import example

from kompono import Result, Simulation, Subsystem
from kompono.solve.integrate import Settings


def long_run(model: Subsystem, engine: str, until: float) -> Result:
    s = Simulation(model, engine=engine)
    result = s.run(Settings("rk4", until, 1e-3, 10), channels=("energy.*", "drift.*"), progress=False)
    assert result.status.ok, result.status.message
    return result


def lost(result: Result) -> float:
    """Largest change of energy, relative to the largest kinetic energy."""
    return float(np.abs(result["energy.total"] - result["energy.total"][0]).max() / result["energy.kinetic"].max())


@pytest.mark.parametrize("engine", ["relative", "absolute"])
@pytest.mark.parametrize("windows", [1, 2])
def test_windows_pass_their_singular_positions(windows: int, engine: str) -> None:
    result = long_run(example("reference/n_four_bar").NFourBar(windows), engine, 10.0)
    assert lost(result) < 2e-9
    assert result["drift.position"].max() < 1e-13
    assert result["drift.velocity"].max() < 3e-13  # at a singular position
    assert result["energy.kinetic"].max() > 30 * windows


@pytest.mark.parametrize("engine", ["relative", "absolute"])
def test_the_six_bar_of_bricard_turns_on(engine: str) -> None:
    result = long_run(example("reference/bricard").Bricard(), engine, 20.0)
    assert lost(result) < 1e-9
    assert result["drift.position"].max() < 1e-13
    assert result["drift.velocity"].max() < 1e-12


@pytest.mark.parametrize("engine", ["relative", "absolute"])
@pytest.mark.parametrize(("method", "order"), [("rk2", 2), ("rk4", 4)])
def test_steps_that_stray_keep_the_order_and_the_energy(method: str, order: int, engine: str) -> None:
    """A window at 60 rad/s with up to 0.12 rad a step: second stages are 2 mm off the joints."""
    model = example("reference/n_four_bar").NFourBar(1, speed=60.0)

    def run(how: str, step: float, engine: str = engine) -> Result:
        settings, shown = Settings(how, 0.1, step, 1, 1e-12, 1e-14), ("energy.*", "drift.*", "uprights.0.position.x")
        return Simulation(model, engine=engine).run(settings, channels=shown, progress=False)

    exact = run("dopri5", 1e-2, "relative")["uprights.0.position.x"][-1]
    errors = []
    for step in (2e-3, 1e-3, 5e-4):
        result = run(method, step)
        assert result["drift.position"].max() < 1e-8  # what is left at the singular position; elsewhere 1e-15
        assert np.median(result["drift.position"]) < 1e-15
        assert lost(result) < (40 * step) ** order
        errors.append(abs(result["uprights.0.position.x"][-1] - exact))
    assert np.log2(errors[0] / errors[2]) / 2 > order - 0.3, errors
