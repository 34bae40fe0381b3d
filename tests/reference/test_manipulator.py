"""The manipulator of MODELS: freedom, mass matrix and weight at the start."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from reference.machines import manipulator
from reference.support import derivative, example, freedom

from kompono import Simulation


def test_it_has_three_freedoms() -> None:
    found = freedom(manipulator(), manipulator().assemble().state)
    assert (found.degrees, found.conditions) == (3, 0)


def test_mass_matrix_and_weight_at_the_start() -> None:
    """From the accelerations under no torque and under unit torques: q_ddot = M^-1 (torque - weight)."""

    def accelerations(torques: np.ndarray) -> np.ndarray:
        model = example("manipulator").Manipulator()
        for link, torque in zip((model.arm.link1, model.arm.link2, model.arm.link3), torques, strict=True):
            link.motor.torque.value = ca.SX(torque)
        simulation = Simulation(model, native=False)
        return derivative(simulation, simulation.assemble().state)[3:]

    free = accelerations(np.zeros(3))
    mass = np.linalg.inv(np.column_stack([accelerations(unit) - free for unit in np.eye(3)]))
    expected = [
        [40.8867063, 4.93074053, 0.2087995],
        [4.93074053, 10.8369511, 0.56037057],
        [0.2087995, 0.56037057, 0.22910019],
    ]
    assert mass == pytest.approx(np.array(expected), rel=1e-7, abs=1e-8)
    assert -mass @ free == pytest.approx((0, -63.001651, -2.01129371), rel=1e-7, abs=1e-6)
