"""The mass matrix that decisions are made by: its kinetic energy is that of the run, whatever hangs together."""

from __future__ import annotations

import numpy as np
import pytest
from translate.test_numbers import FULL

from kompono import Body, Ground, Joint, Subsystem
from kompono.compile import Interpreter
from kompono.library import Prismatic, Revolute, Rotor, Spherical
from kompono.translate import translate
from kompono.translate.engines.relative import RelativeEngine
from kompono.translate.rank.rank import _mobility


class Slides(Subsystem):
    """Two slides across each other move other coordinates of one body, whose inertia joins them."""

    def __init__(self, count: int = 2) -> None:
        self.ground = Ground()
        bodies = [Body(mass=0.7 + 0.1 * k, inertia=FULL) for k in range(4 * count)]
        parts: list[Joint] = []
        for k, (first, second, ball, bob) in enumerate(zip(*[iter(bodies)] * 4, strict=True)):
            parts += [
                Prismatic(self.ground.at(k, 0, 0), first, axis="x"),
                Prismatic(first, second.at(0.1, 0.2, 0.3), axis="y"),
                Spherical(second.at(0, 0.1, 0), ball.at(0, 0, 0.3)),
                Revolute(self.ground.at(0, k, 1.0), bob.at(0.1, 0, 0.2), axis="y"),
            ]
        self.bodies, self.parts = bodies, parts
        self.rotor = Rotor(parts[3], inertia=0.003, ratio=17.0)


@pytest.mark.parametrize("count", [1, 3])
def test_the_mass_matrix_is_that_of_the_kinetic_energy(count: int) -> None:
    translation = translate(Slides(count))
    engine, program = translation.engine, translation.program
    assert isinstance(engine, RelativeEngine)
    probe = engine.probe
    values = probe.samples(1)[0]
    mass = probe._mass_matrix(values)
    assert np.array_equal(mass != 0, mass.T != 0)
    outputs = Interpreter(program).evaluate("outputs", 0.0, values[1 : 1 + probe.nq + probe.nv])[0]
    energy = outputs[[channel.name for channel in program.channels].index("energy.kinetic")]
    speeds = values[1 + probe.nq :][: probe.nv]
    assert speeds @ mass @ speeds / 2 == pytest.approx(energy, rel=1e-12)
    rows = np.random.default_rng(1).uniform(-1, 1, (3, probe.nv))
    np.testing.assert_allclose(_mobility(mass, rows), rows @ np.linalg.solve(mass, rows.T), rtol=1e-10)
