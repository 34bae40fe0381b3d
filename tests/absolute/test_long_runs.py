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
    assert result["drift.velocity"].max() < 1e-13
    assert result["energy.kinetic"].max() > 30 * windows


@pytest.mark.parametrize("engine", ["relative", "absolute"])
def test_the_six_bar_of_bricard_turns_on(engine: str) -> None:
    result = long_run(example("reference/bricard").Bricard(), engine, 20.0)
    assert lost(result) < 1e-9
    assert result["drift.position"].max() < 1e-13
    assert result["drift.velocity"].max() < 1e-12
