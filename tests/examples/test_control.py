"""Examples with control: the cascade follows its targets within limits, the boom rests where oil holds its weight."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from reference.support import example

from kompono import simulate


def test_the_cascade_follows_and_arrives() -> None:
    cascade: Any = example("cascade")
    result = simulate(cascade.Cascade(), **cascade.Cascade.run_defaults)
    assert result.status.ok
    for name, (_, end) in cascade.AXES.items():
        error = result[f"{name}_axis.target"] - result[f"{name}.angle"]
        assert np.abs(error).max() < 0.01
        assert result[f"{name}.angle"][-1] == pytest.approx(end, abs=5e-5)
        assert np.abs(result[f"{name}_axis.speed.command"]).max() <= 20.0
        assert np.abs(result[f"{name}_axis.amplifier.command"]).max() <= 48.0


def test_the_boom_follows_and_oil_holds_its_weight() -> None:
    hydraulic: Any = example("hydraulic")
    result = simulate(hydraulic.Boom(), **hydraulic.Boom.run_defaults)
    assert result.status.ok
    assert np.abs(result["target"] - result["pivot.angle"]).max() < 0.03
    last = -1
    push = (
        hydraulic.AREA_A * result["cylinder.pressure_a"][last] - hydraulic.AREA_B * result["cylinder.pressure_b"][last]
    )
    assert push == pytest.approx(hydraulic.holding(result["pivot.angle"][last], 500.0), rel=0.05)  # and the cylinder
    for side in "ab":  # no side runs empty, none is above the supply
        assert result[f"cylinder.pressure_{side}"].min() > 1e5
        assert result[f"cylinder.pressure_{side}"].max() < 180e5
