"""The exact Jacobian of the state's rate, used by implicit methods, against finite differences."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from solve.machines import Oscillator, Pendulum, Swing

from kompono import Body, Ground, Simulation, Subsystem, time
from kompono.library import AppliedLoad, Bushing, Gravity, Revolute, Spherical, SpringDamper, solids


class Toy(Subsystem):
    """A ball joint, a bushing, a spring and a load that depends on time and position."""

    def __init__(self) -> None:
        self.ground = Ground((0, 0, 0.1 * ca.sin(time)))
        self.gravity = Gravity()
        self.top = Body(solids.rod(mass=1, length=1, radius=0.1))
        self.tail = Body(solids.box(mass=1, size=(0.1, 0.2, 0.3)), start_position=(0, 0, -1.2))
        self.ball = Spherical(self.ground, self.top.at(0, 0, 0.5), wx=1.0, wy=0.4)
        self.mount = Bushing(self.top.at(0, 0, -0.5), self.tail, k=(100, 100, 200, 3, 3, 3), c=(1, 1, 1, 1, 1, 1))
        self.cord = SpringDamper(self.ground.at(1, 0, 0), self.tail, k=10, c=1, rest=0.3)
        self.wind = AppliedLoad(self.tail, force=(self.tail.position[2] ** 2, ca.cos(time), 0))
        self.hinge_body = Body(solids.sphere(mass=1, radius=0.1))
        self.hinge = Revolute(self.tail, self.hinge_body.at(0.2, 0, 0), axis=(0.6, 0.8, 0), angle=0.2)


@pytest.mark.parametrize("model", [Pendulum, Oscillator, Swing, Toy])
def test_the_jacobian_is_the_derivative_of_the_rate(model: type[Subsystem]) -> None:
    simulation = Simulation(model())
    state = simulation.assemble().state
    rng = np.random.default_rng(1)
    state = state + 1e-3 * rng.standard_normal(len(state)) if model is not Swing else state
    none = np.zeros(0)

    def rate(y: np.ndarray) -> np.ndarray:
        return simulation.kernel.evaluate("derivative", 0.3, y, none, none)[0]

    size = len(state)
    exact = simulation.kernel.evaluate("jacobian", 0.3, state, none, none)[0].reshape(size, size).T
    # off the loop conditions redundant rows would count as independent: there, compare along the motion it allows
    directions = rate(state)[:, None] if model is Swing else np.eye(size)
    for direction in directions.T:
        h = 1e-6 / max(1.0, np.abs(direction).max())
        difference = (rate(state + h * direction) - rate(state - h * direction)) / (2 * h)
        assert np.abs(exact @ direction - difference).max() < 1e-6 * (1 + np.abs(exact).max())
