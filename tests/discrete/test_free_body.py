"""A body nobody holds: second order of the step, points exact to it, and what stays the same over ten million steps."""

from __future__ import annotations

import numpy as np
import pytest
from reference.support import example

from kompono import Body, Output, Simulation, Subsystem, simulate
from kompono.library import Gravity, solids
from kompono.solve.integrate import Settings


class Thrown(Subsystem):
    """A box that tumbles about its unstable axis while it falls; a point of it is watched."""

    def __init__(self) -> None:
        self.gravity = Gravity((0, 0, -9.8))
        self.box = Body(
            solids.box(mass=10, size=(0.1, 0.4, 0.9)), start_velocity=(-2, 2, 8), start_angular_velocity=(0.1, 5, 0.1)
        )
        corner = self.box.at(0.05, 0.2, 0.45)
        for kind in ("position", "velocity", "acceleration"):
            for k, axis in enumerate("xyz"):
                setattr(self, f"{kind}_{axis}", Output(getattr(corner, kind)[k]))


def vector(result, kind: str) -> np.ndarray:
    return np.column_stack([result[f"{kind}_{axis}"] for axis in "xyz"])


def test_free_motion_is_of_second_order() -> None:
    exact = simulate(Thrown(), until=1.0, step=0.1, method="dopri5", rtol=1e-12)
    errors = []
    for n in (1, 2, 4):
        result = simulate(Thrown(), until=1.0, step=1e-3 / n, every=100 * n, engine="discrete")
        errors.append(np.abs(vector(result, "position") - vector(exact, "position")).max())
    assert errors[0] < 1e-4
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2, abs=0.1)
    assert np.log2(errors[1] / errors[2]) == pytest.approx(2, abs=0.1)


@pytest.mark.parametrize(("of", "rate"), [("position", "velocity"), ("velocity", "acceleration")])
def test_points_move_as_their_velocities_say(of: str, rate: str) -> None:
    """Eqs 14 and 16: differences of a point's positions over a step are its velocities, to the square of the step."""
    errors = []
    for step in (1e-3, 5e-4):
        result = simulate(Thrown(), until=0.5, step=step, engine="discrete")
        change = (vector(result, of)[2:] - vector(result, of)[:-2]) / (2 * step)
        errors.append(np.abs(change - vector(result, rate)[1:-1]).max())
    assert errors[0] < 1e-3
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.1)


def test_ten_million_steps_keep_momentum_energy_and_the_rotation_matrix() -> None:
    """A hundred seconds of the symmetric top, whose motion is known: nothing wanders off."""
    model = example("reference/free_body").SymmetricTop()
    simulation = Simulation(model, engine="discrete")
    result = simulation.run(Settings("leapfrog", 100.0, 1e-5, 1_000_000), progress=False)
    assert result.statistics["steps"] == 10_000_000
    moments = np.array([0.04, 0.04, 0.02])
    w = np.column_stack([result[f"top.angular_velocity.{k}"] for k in "xyz"])
    e = np.column_stack([result[f"top.orientation.e{k}"] for k in range(4)])
    momentum = np.array([turned(e[k], moments * turned(e[k], w[k], back=True)) for k in range(len(w))])
    assert np.abs(momentum - momentum[0]).max() < 1e-10
    assert np.ptp(result["energy.total"]) < 1e-9 * result["energy.total"][0]
    assert result["drift.position"].max() < 1e-14
    assert np.abs([result[f"top.velocity.{k}"][-1] for k in "xyz"]).max() == 0.0


def turned(e: np.ndarray, vector: np.ndarray, back: bool = False) -> np.ndarray:
    """A vector turned by a quaternion, or back."""
    q = e[1:] * (-1 if back else 1)
    return vector + 2 * np.cross(q, np.cross(q, vector) + e[0] * vector)
