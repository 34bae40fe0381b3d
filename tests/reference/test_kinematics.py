"""Linkages by their closed forms: what counts as a freedom, what as redundant, and assembly from a rough guess."""

from __future__ import annotations

import numpy as np
import pytest
from reference.problems import bennett_gap, bricard_gap
from reference.support import example, freedom, run

from kompono import ModelWarning, Simulation, inspect


@pytest.mark.parametrize(
    ("file", "name", "degrees", "redundant"),
    [
        ("n_four_bar", "NFourBar", 1, 6),
        ("andrews_squeezer", "AndrewsSqueezer", 1, 9),
        ("bennett", "Bennett", 1, 3),
        ("bricard", "Bricard", 1, 1),
        ("slider_crank", "SliderCrank", 0, 3),
        ("four_bar", "FourBar", 0, 3),
    ],
)
def test_freedoms_and_redundant_conditions(file: str, name: str, degrees: int, redundant: int) -> None:
    simulation = Simulation(getattr(example(f"reference/{file}"), name)(), native=False)
    found = freedom(simulation, simulation.assemble().state)
    assert (found.degrees, found.redundant) == (degrees, redundant)
    assert f"{degrees} degrees of freedom" in str(inspect(simulation.translation.model.model))


@pytest.mark.parametrize(("file", "name", "off", "gap"), [
    ("bennett", "Bennett", 0.2, bennett_gap), ("bricard", "Bricard", 0.15, bricard_gap),
])  # fmt: skip
def test_a_rough_guess_is_assembled_and_told(file: str, name: str, off: float, gap) -> None:
    simulation = Simulation(getattr(example(f"reference/{file}"), name)(off=off))
    with pytest.warns(ModelWarning, match="assembly moved"):
        result = run(simulation, "rk4", 0.0, 1e-3)
    assert gap(result) < 1e-12
    assert result["drift.position"][0] < 1e-14


def test_the_squeezer_closes_as_three_circles_do() -> None:
    module = example("reference/andrews_squeezer")
    result = run(module.AndrewsSqueezer(), "rk4", 0.03, 1e-6, every=500)
    for row, beta in enumerate(result["o.angle"]):
        expected = module.closed_angles(beta)
        for pin, angle in zip(("f", "b", "g", "a5", "h", "a7"), expected, strict=True):
            assert abs(np.exp(1j * result[f"{pin}.angle"][row]) - np.exp(1j * angle)) < 1e-12
