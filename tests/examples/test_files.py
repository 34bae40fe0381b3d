"""Examples from files: the press of a STEP drawing keeps its energy, the five-bar of a URDF follows its circle."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from reference.support import example

from kompono import inspect, simulate

quiet = pytest.mark.filterwarnings("ignore::kompono.ModelWarning")


@quiet
def test_the_press_of_a_drawing_keeps_its_energy() -> None:
    pytest.importorskip("OCP")
    press: Any = example("press")
    model = press.Press()
    assert inspect(model).degrees_of_freedom == 1
    result = simulate(model, until=0.5, step=1e-3)
    assert np.ptp(result["energy.total"]) < 1e-8 * result["energy.kinetic"].max()
    assert np.ptp(result["guide.displacement"]) == pytest.approx(0.12, abs=1e-4)  # twice the crank
    assert abs(result["drift.position"]).max() < 1e-14


@quiet
def test_the_five_bar_follows_its_circle() -> None:
    fivebar: Any = example("fivebar")
    result = simulate(fivebar.FiveBar(), until=0.6, step=1e-3)
    for name in ("left", "right"):
        error = np.abs(result[f"targets.{name}"] - result[f"arm.{name}.angle"])
        assert error.max() < 0.02
    assert abs(result["drift.position"]).max() < 1e-14
