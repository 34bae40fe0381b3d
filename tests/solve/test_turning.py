"""Loops that are drawn half a turn off are closed the right way round."""

from __future__ import annotations

import numpy as np
import pytest

from kompono import Body, Ground, Subsystem, evaluate, simulate
from kompono.library import Gravity, Prismatic, Spherical, solids

pytestmark = pytest.mark.filterwarnings("ignore::kompono.ModelWarning")
LEGS = 3


class Platform(Subsystem):
    """A plate on legs, each a rod and a cap that slides on it; drawn with every cap upside down."""

    def __init__(self) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.plate = Body(solids.cylinder(mass=1.0, length=0.02, radius=0.3), start_position=(0, 0, 0.9))
        self.rods = [Body(solids.rod(mass=0.2, length=0.6, radius=0.01)) for _ in range(LEGS)]
        self.caps = [Body(solids.rod(mass=0.1, length=0.4, radius=0.01)) for _ in range(LEGS)]
        angles = 2 * np.pi * np.arange(LEGS) / LEGS
        places = [0.3 * np.array([np.cos(a), np.sin(a), 0.0]) for a in angles]
        self.feet = [
            Spherical(self.ground.at(*p), rod.at(0, 0, -0.3)) for p, rod in zip(places, self.rods, strict=True)
        ]
        self.heads = [Spherical(self.plate.at(*p), cap.at(0, 0, 0.2)) for p, cap in zip(places, self.caps, strict=True)]
        self.sleeves = [
            Prismatic(rod.at(0, 0, 0.3), cap.at(0, 0, -0.2, orientation=(0, 1, 0, 0)), axis="z")
            for rod, cap in zip(self.rods, self.caps, strict=True)
        ]


def test_all_legs_of_a_platform() -> None:
    """Three at once: one in eight guesses at random would have all of them right."""
    cut = [f"sleeves.{k}" for k in range(LEGS)]
    result = simulate(Platform(), until=0.002, cut=cut).check()
    assert result.statistics["degrees_of_freedom"] == 9
    assert result["drift.position"].max() < 1e-12
    values = evaluate(Platform(), cut=cut)
    for k in range(LEGS):  # the cap's frame is upside down in the cap, and lies as the rod's in space
        rod, cap = (np.array([values[f"{part}.{k}.orientation.e{i}"] for i in range(4)]) for part in ("rods", "caps"))
        assert abs(rod @ cap) < 1e-9
