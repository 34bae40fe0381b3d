"""A sealed part with a very light body at a port: as exact as rounding lets it be, and what is lost is said."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from kompono import Body, Ground, RunWarning, Sealed, Simulation, Subsystem, heavy, seal, simulate_many
from kompono.compile import targets
from kompono.library import Distance, Gravity, Revolute
from kompono.sealed import keys
from tests.parts.test_mass_ratios import Eye, Hanging, accelerations

HERE = [targets.fitting(targets.TARGETS) or "wasm32"]


class Bearing(Subsystem):
    """`Hanging` with a rod, its eye from a file."""

    def __init__(self, file: Path) -> None:
        self.ground, self.gravity, self.part = Ground(), Gravity(), Sealed(file)
        self.load = Body(mass=1.0, inertia=(0.02, 0.03, 0.05))
        self.top = Revolute(self.ground, self.part.arm.at(0, 0, 0.2), axis=(0.6, 0.8, 0), angle=0.3)
        self.hook = Revolute(self.part.eye.at(0, 0, -0.1), self.load.at(0, 0, 0.2), axis="y", angle=0.2)
        self.rod = Distance(self.ground.at(0.5, 0.4, -0.6), self.load.at(0, 0.1, -0.1), length=0.5)


@pytest.mark.filterwarnings("ignore::kompono.ModelWarning")
@pytest.mark.parametrize(("eye", "exact"), [(1e-8, 1e-6), (1e-11, 1e-3)])
def test_what_is_lost_is_said_and_no_more_is_lost(eye: float, exact: float, tmp_path: Path, me: keys.Identity) -> None:
    file = tmp_path / "eye.part"
    seal(Eye(eye), file, targets=HERE)
    whole, sealed = accelerations(Hanging(eye, 1.0, rod=True), "relative"), accelerations(Bearing(file), "absolute")
    error = np.abs(whole - sealed).max() / np.abs(whole).max()
    simulation = Simulation(Bearing(file), engine="absolute", native=False)
    said = heavy.lost_digits(simulation, 0.0, simulation.assemble().state, np.zeros(0), simulation.parameters())
    told = re.match(r"part\.eye: .* exact to (\de-\d+) of .* ask its author", said)
    assert error < 3 * (float(told[1]) if told else heavy.EXACT) < exact
    assert bool(told) == (eye < 1e-10)
    if told:
        with pytest.warns(RunWarning, match=r"run 0: part\.eye"):
            simulate_many(Bearing(file), until=1e-3, engine="absolute", runs=2)
