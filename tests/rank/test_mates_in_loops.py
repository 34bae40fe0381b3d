"""Mates that close loops, by bodies: what their loop implies is known before the run, and no pivot looks small that is
not.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from kompono import Body, Ground, Simulation, Subsystem
from kompono.library import Gravity, LineOnLine, PlaneToPlane

AXES = [(1, 0.1, 0.2), (0.5, 1, 0.1), (-0.3, 0.8, 0.9), (0.2, -0.3, 1), (0.9, -0.7, 0.5)]


class SphericalLoop(Subsystem):
    """Five axes through one point: four links of 0.1 kg on hinges made of a line and a face each; two freedoms."""

    def __init__(self) -> None:
        axes = [np.array(axis) / np.linalg.norm(axis) for axis in AXES]
        middle = [0.05 * (a + b) for a, b in pairwise(axes)]
        self.ground, self.gravity = Ground(), Gravity()
        self.links = [Body(mass=0.1, inertia=(2e-4, 3e-4, 2.5e-4), start_position=place) for place in middle]
        ends = [(self.ground, np.zeros(3)), *zip(self.links, middle, strict=True), (self.ground, np.zeros(3))]
        pairs = [
            (one.at(*(0.1 * axis - here)), other.at(*(0.1 * axis - there)), axis)
            for ((one, here), (other, there)), axis in zip(pairwise(ends), axes, strict=True)
        ]
        self.lines = [LineOnLine(first, second, axis=axis) for first, second, axis in pairs]
        self.faces = [PlaneToPlane(first, second, axis=axis) for first, second, axis in pairs]


def test_nothing_looks_singular_that_is_not() -> None:
    """What is judged after each step: the smallest pivot relative to its reference, and rows with a multiplier."""
    sim = Simulation(SphericalLoop(), engine="absolute")
    nearness = sim.kernel.evaluate("project", 0.0, sim.assemble().state)[1]
    assert nearness.tolist() == [1.0, 35.0]


def test_a_disturbed_state_comes_back_on_all_conditions() -> None:
    sim = Simulation(SphericalLoop(), engine="absolute")
    state = sim.assemble().state
    state = state + np.random.default_rng(2).uniform(-1e-5, 1e-5, len(state))
    for _ in range(3):
        state = sim.kernel.evaluate("project", 0.0, state)[0]
    g, g_dot = sim.kernel.evaluate("conditions", 0.0, state)[:2]
    assert np.abs(g).max() < 1e-15
    assert np.abs(g_dot).max() < 1e-15
