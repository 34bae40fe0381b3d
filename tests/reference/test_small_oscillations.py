"""Linearization, and a ground that turns."""

from __future__ import annotations

from math import pi, sqrt

import numpy as np
import pytest
from reference.support import eigenvalues, example, run
from scipy.integrate import solve_ivp

from kompono import Simulation

G = 9.81


@pytest.mark.parametrize(
    ("rods", "squares"), [(False, (2 - sqrt(2), 2 + sqrt(2))), (True, (3 - 6 / sqrt(7), 3 + 6 / sqrt(7)))]
)
def test_the_double_pendulum_has_the_textbook_frequencies(rods: bool, squares: tuple[float, float]) -> None:
    simulation = Simulation(example("reference/double_pendulum").DoublePendulum(rods=rods))
    found = eigenvalues(simulation, simulation.assemble().state)
    assert np.abs(found.real).max() < 1e-12
    assert np.sort(found.imag)[2:] ** 2 == pytest.approx(G * np.array(squares), rel=1e-12)


def test_the_double_pendulum_swings_in_a_mode() -> None:
    """theta2 / theta1 = sqrt(2) in the slow mode of two points; a small amplitude keeps its cosine for ten seconds."""
    small = 1e-4
    model = example("reference/double_pendulum").DoublePendulum(angle1=small, angle2=(sqrt(2) - 1) * small)
    result = run(model, "dopri5", 10.0, 0.1, rtol=1e-12)
    expected = small * np.cos(sqrt((2 - sqrt(2)) * G) * result.time)
    assert np.abs(result["hook.angle"] - expected).max() < 1e-6 * small


def test_foucault_at_the_pole() -> None:
    """The plane of the swing turns back by the Earth's angle; in the inertial frame it is an ordinary pendulum."""
    swing, turn = 1e-4, 2 * pi / 200
    result = run(example("reference/foucault").Foucault(latitude=pi / 2, swing=swing), "dopri5", 30.0, 0.05, rtol=1e-12)
    path, t, rate = result["south"] + 1j * result["east"], result.time, sqrt(G)
    expected = path[0] * np.exp(-1j * turn * t) * (np.cos(rate * t) + 1j * turn / rate * np.sin(rate * t))
    assert np.abs(path - expected).max() < 1e-6 * swing


def test_foucault_at_45_degrees_equals_the_motion_in_the_turning_frame() -> None:
    swing, turn = 0.1, 2 * pi / 200 * np.array([-sqrt(0.5), 0, sqrt(0.5)])
    result = run(example("reference/foucault").Foucault(swing=swing), "dopri5", 30.0, 0.5, rtol=1e-12)

    def rate(_: float, y: np.ndarray) -> np.ndarray:
        p, v = y[:3], y[3:]
        a = np.array([0, 0, -G]) - 2 * np.cross(turn, v) - np.cross(turn, np.cross(turn, p))
        return np.concatenate([v, a - (v @ v + p @ a) / (p @ p) * p])

    start = np.array([-np.sin(swing), 0, -np.cos(swing), 0, 0, 0])
    done = solve_ivp(rate, (0, 30), start, method="DOP853", rtol=1e-12, atol=1e-14, t_eval=result.time)
    assert np.abs(result["south"] - done.y[0]).max() < 1e-10
    assert np.abs(result["east"] - done.y[1]).max() < 1e-10
