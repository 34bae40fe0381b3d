"""The machines of the papers with some of their parts closed: the motion of the open ones.

Which tree is chosen may depend on what is closed, and so may the error of a step; hence the tight tolerance.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

from kompono import simulate
from kompono.examples.car import Car
from kompono.examples.engine import Engine
from kompono.examples.kuka import Kuka
from kompono.examples.manipulator import Manipulator

pytestmark = pytest.mark.filterwarnings("ignore::kompono.ModelWarning")
LONG = "KOMPONO_LAWS" in os.environ
CASES: list[tuple[Any, float, list[str]]] = [
    (Car, 1.5, ["left"]),
    (Car, 1.5, ["*"]),
    (Manipulator, 0.5, ["arm"]),
    (Manipulator, 0.5, ["arm.link2", "arm.link3"]),
]
CASES += [
    (Car, 1.5, ["left.damper", "right"]),
    (Car, 1.5, ["left_wheel", "right_wheel", "right.damper"]),
    (Manipulator, 0.5, ["*"]),
    (Engine, 0.1, ["cylinder1"]),
    (Engine, 0.1, ["cylinder*"]),
    (Kuka, 0.05, ["axis6"]),
    (Kuka, 0.05, ["axis1", "axis4"]),
] * LONG


@pytest.mark.parametrize(
    ("machine", "until", "closed"), CASES, ids=lambda value: getattr(value, "__name__", str(value))
)
def test_parts_move_the_machines_of_the_papers(machine: Any, until: float, closed: list[str]) -> None:
    request = {"until": until, "step": 1e-2, "method": "dopri5", "rtol": 1e-11}
    request |= {"channels": ["*.position.*", "*.orientation.*", "*.velocity.*"]}
    whole, parts = simulate(machine(), **request), simulate(machine(), **request, closed=closed)
    assert whole.status.ok
    assert parts.status.ok
    assert set(whole) == set(parts)
    for name in whole:
        assert np.abs(whole[name] - parts[name]).max() < 1e-8 * (1 + np.abs(whole[name]).max()), name
