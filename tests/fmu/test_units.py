"""Units in base units, or by name where they are not understood."""

from __future__ import annotations

import math

import pytest

from kompono.edges.fmu.units import base_units


@pytest.mark.parametrize(
    ("unit", "factor", "powers"),
    [
        ("N m", 1.0, {"kg": 1, "m": 2, "s": -2}),
        ("m/s^2", 1.0, {"m": 1, "s": -2}),
        ("N s/m", 1.0, {"kg": 1, "s": -1}),
        ("kg m^2", 1.0, {"kg": 1, "m": 2}),
        ("mm", 1e-3, {"m": 1}),
        ("kN", 1e3, {"kg": 1, "m": 1, "s": -2}),
        ("deg", math.pi / 180, {"rad": 1}),
        ("W/(m K)", 1.0, {"kg": 1, "m": 1, "s": -3, "K": -1}),
        ("1/s", 1.0, {"s": -1}),
        ("V", 1.0, {"kg": 1, "m": 2, "s": -3, "A": -1}),
        ("N m s/rad", 1.0, {"kg": 1, "m": 2, "s": -1, "rad": -1}),
    ],
)
def test_known_units(unit: str, factor: float, powers: dict[str, int]) -> None:
    found = base_units(unit)
    assert found is not None
    assert found[0] == pytest.approx(factor, rel=1e-15)
    assert found[1] == powers


@pytest.mark.parametrize("unit", ["furlong", "J/kg K", "m/", "^2", "m^x"])
def test_others_keep_their_name(unit: str) -> None:
    assert base_units(unit) is None
