"""The car of MODELS: start, equilibrium, eigenvalues, freedom; accelerations out of the plane against `dense_car`."""

from __future__ import annotations

from math import atan2, cos, hypot, sin

import numpy as np
import pytest
from reference import dense_car
from reference.machines import BODIES, STARTS, car, start_of
from reference.problems import quaternions, vectors
from reference.support import derivative, document, eigenvalues, freedom, run

NOTHING = np.zeros(0)


@pytest.fixture(scope="module")
def rest() -> np.ndarray:
    """The state of equilibrium, from the values of MODELS and the geometry of the loop."""
    beam = 0.0348667570188875
    lower = (-0.7 * cos(beam), -0.6 + 0.7 * sin(beam))
    x, z = -0.1 - lower[0], -lower[1]
    lean, length = atan2(x, z) - beam, hypot(x, z) - 0.6
    values = {"guide.displacement": 0.9070265790244222 - 0.95}
    for side, sign in (("left", 1), ("right", -1)):
        values |= {
            f"{side}_arm.angle": sign * beam,
            f"{side}.hinge.angle": sign * lean,
            f"{side}.damper.slide.displacement": length,
        }
    assembly = car().assemble(values)
    assert not assembly.moved
    return assembly.state


def test_accelerations_at_the_start() -> None:
    result = run(car(), "rk4", 0.0, 1e-3)
    assert result["body.acceleration.z"][0] == pytest.approx(-0.1400911494021573, abs=1e-12)
    assert result["left_wheel.ring.acceleration.z"][0] == pytest.approx(-120.6042995697972, abs=1e-11)
    assert result["left_arm.angle.acceleration"][0] == pytest.approx(-120.4642084203950, abs=1e-11)


def test_it_has_six_freedoms_everywhere() -> None:
    assert freedom(car(), car().assemble().state).degrees == 6
    result = run(car(), "rk4", 0.3, 1e-3, every=100, initial=start_of("yaw 3, spins 100"))
    for row in range(len(result.time)):
        state = np.array([result[name][row] for name in (*car().program.coordinates, *car().program.speeds)])
        found = freedom(car(), state)
        assert (found.speeds, found.rank, found.degrees) == (12, 6, 6)


def test_it_rests_in_equilibrium(rest: np.ndarray) -> None:
    assert np.abs(derivative(car(), rest)).max() < 1e-10
    height = car().channel(0.0, rest, NOTHING, NOTHING, "left_wheel.ring.position.z")
    assert height == pytest.approx(0.3418862719404088, abs=1e-13)
    assert car().channel(0.0, rest, NOTHING, NOTHING, "left.damper.slide.displacement") == pytest.approx(
        0.2311455634736703
    )


def test_eigenvalues_in_equilibrium(rest: np.ndarray) -> None:
    found = eigenvalues(car(), rest)
    for expected, digits in ((-58.422 + 116.962j, 5e-4), (-4.1106 + 5.4836j, 5e-5), (6.27, 5e-3)):
        assert np.abs(found - expected).min() < 2 * digits


def test_it_stays_in_its_plane() -> None:
    result = run(car(), "rk4", 1.5, 1e-3)
    for name in ("guide.angle", "left_axle.angle", "left.damper.slide.angle", "body.position.y"):
        assert np.abs(result[name]).max() < 1e-10
    assert np.abs(result["left_arm.angle"] + result["right_arm.angle"]).max() < 1e-12


@pytest.mark.parametrize("start", STARTS)
def test_accelerations_out_of_the_plane_equal_a_dense_solve(start: str) -> None:
    result = run(car(), "rk4", 0.3, 1e-4, every=200, initial=start_of(start))
    kinds = ("position", "velocity", "angular_velocity", "acceleration", "angular_acceleration")
    motion = {kind: np.stack([vectors(result, f"{body}.{kind}") for body in BODIES], axis=1) for kind in kinds}
    turn = np.stack([quaternions(result, body) for body in BODIES], axis=1)
    for row in range(len(result.time)):
        parts = (motion["position"][row], turn[row], motion["velocity"][row], motion["angular_velocity"][row])
        state = np.concatenate([part.ravel() for part in parts])
        _, _, linear, angular = dense_car.unpack(dense_car.rate(0.0, state))
        for found, expected in ((motion["acceleration"][row], linear), (motion["angular_acceleration"][row], angular)):
            assert np.abs(found - expected).max() < 1e-9 * max(1.0, np.abs(expected).max())


def test_a_dense_integration_agrees_and_starts_like_the_stored_ones() -> None:
    times, name = np.array([0.0, 0.05]), "yaw -5, spins 200, -50"
    dense = dense_car.solve(dense_car.start(**STARTS[name]), times)
    result = run(car(), "dopri5", 0.05, 0.05, rtol=1e-12, initial=start_of(name))
    for kind in ("position", "velocity", "angular_velocity"):
        found = np.stack([vectors(result, f"{body}.{kind}") for body in BODIES], axis=1)
        assert np.abs(found - dense[kind]).max() < 1e-9 * max(1.0, np.abs(dense[kind]).max())
        assert np.array(document("car_starts")[name][kind])[0] == pytest.approx(dense[kind][0], abs=1e-13)
