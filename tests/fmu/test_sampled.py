"""Sampled modes in FMUs: events at announced times, and the same numbers as in our own runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from fmu.fmu_models import Sampled, Swing

from kompono import Fmu, simulate

fmpy = pytest.importorskip("fmpy")


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize(("kind", "bound"), [("ModelExchange", 1e-6), ("CoSimulation", 1e-12)])
def test_samples_of_an_fmu(exported: Callable[..., Path], version: int, kind: str, bound: float) -> None:
    ours = simulate(Sampled(), until=1.0, step=1e-3, every=10)
    table = fmpy.simulate_fmu(
        str(exported(Sampled, version)), fmi_type=kind, stop_time=1.0, output_interval=1e-2, relative_tolerance=1e-9,
        output=["pin.angle", "torque"],
    )  # fmt: skip
    rows = table[np.searchsorted(table["time"], ours.time + 1e-9) - 1]
    for name in ("pin.angle", "torque"):
        assert np.abs(rows[name] - ours[name]).max() < bound


def test_an_fmu_that_announces_its_events(exported: Callable[..., Path]) -> None:
    class Rig(Swing):
        def __init__(self, file: Path) -> None:
            super().__init__()
            self.plant = Fmu(file, trust=True)

    ours = simulate(Sampled(), until=1.0, step=1e-3, every=10)
    result = simulate(Rig(exported(Sampled, 3)), until=1.0, step=1e-3, every=10)
    times = [time for time, path in result.statistics["events"] if path == "plant.timed"]
    assert np.abs(np.array(times[:50]) - 5e-3 * np.arange(1, 51)).max() < 1e-11
    assert np.abs(result["plant.pin_angle"] - ours["pin.angle"]).max() < 1e-11


def test_a_start_in_between(exported: Callable[..., Path]) -> None:
    """Instants are multiples of the period whenever a simulation starts."""
    start = 0.012
    table = fmpy.simulate_fmu(
        str(exported(Sampled, 2)), fmi_type="ModelExchange", start_time=start, stop_time=start + 0.02,
        output_interval=1e-3, output=["torque"],
    )  # fmt: skip
    changes = table["time"][1:][np.diff(np.array(table["torque"])) != 0]
    assert np.allclose(sorted(set(np.round(changes, 9))), [0.015, 0.02, 0.025, 0.03], atol=1e-9)
