"""Unwrapping: whole turns and nothing else, following the rate where it is known."""

from __future__ import annotations

import numpy as np
import pytest

from kompono import Body, Ground, Subsystem, simulate
from kompono.library import Free, Spherical, solids
from kompono.result import unwrap
from kompono.result.unwrap import continuous_quaternions, with_companions
from kompono.translate.program import Channel


def wrapped(angle: np.ndarray) -> np.ndarray:
    return np.arctan2(np.sin(angle), np.cos(angle))


def test_a_slow_angle_becomes_continuous() -> None:
    times = np.linspace(0, 10, 201)
    angle = 3 * np.sin(times) * times
    values = np.column_stack([wrapped(angle), wrapped(angle)])
    result = unwrap(times, values, [Channel("a.angle", "rad", angle=True), Channel("b.angle", "rad")])
    np.testing.assert_allclose(result[:, 0], angle, atol=1e-12)
    np.testing.assert_array_equal(result[:, 1], values[:, 1])


def test_a_fast_shaft_is_followed_by_its_rate() -> None:
    times = np.linspace(0, 1, 21)
    angle = 1000 * times + 50 * times**2
    values = np.column_stack([wrapped(angle), 1000 + 100 * times])
    channels = [Channel("shaft.angle", "rad", angle=True), Channel("shaft.angle.rate", "rad/s")]
    np.testing.assert_allclose(unwrap(times, values, channels)[:, 0], angle, atol=1e-9)


def test_what_needs_no_turn_keeps_every_bit() -> None:
    values = np.random.default_rng(1).uniform(-1.5, 1.5, (50, 1))
    np.testing.assert_array_equal(unwrap(np.arange(50.0), values, [Channel("a", angle=True)]), values)


@pytest.mark.parametrize("rows", [0, 1])
def test_short_runs(rows: int) -> None:
    values = np.full((rows, 1), 4.0)
    np.testing.assert_array_equal(unwrap(np.zeros(rows), values, [Channel("a", angle=True)]), values)


def test_a_row_that_is_not_finite_spoils_no_other() -> None:
    values = np.array([[3.0], [np.nan], [-3.0]])
    result = unwrap(np.arange(3.0), values, [Channel("a", angle=True)])
    np.testing.assert_allclose(result[:, 0], [3.0, np.nan, 2 * np.pi - 3.0])


class Spinning(Subsystem):
    """A top in a ball joint that closes a loop: its quaternion is measured, up to its sign."""

    def __init__(self) -> None:
        self.ground = Ground()
        self.top = Body(solids.box(mass=1, size=(0.1, 0.2, 0.3)))
        self.free = Free(self.ground, self.top, wx=0.4, wz=9.0)
        self.ball = Spherical(self.ground, self.top)


@pytest.mark.parametrize("channels", ["ball.*", ["ball.e2", "ball.e2.rate", "ball.e2.acceleration"]])
def test_the_quaternion_of_a_closing_ball_joint_does_not_jump_and_fits_its_rates(channels: list[str]) -> None:
    result = simulate(Spinning(), until=2.0, step=1e-3, cut=["ball"], channels=channels)
    for name in (name for name in result.names if name in ("ball.e0", "ball.e1", "ball.e2", "ball.e3")):
        e, rate, second = (result[f"{name}{level}"] for level in ("", ".rate", ".acceleration"))
        assert np.abs(np.diff(e)).max() < 0.01
        assert np.abs(np.gradient(e, result.time)[1:-1] - rate[1:-1]).max() < 1e-3
        assert np.abs(np.gradient(rate, result.time)[1:-1] - second[1:-1]).max() < 1e-2


def test_four_outputs_that_are_called_like_a_quaternion_are_left_alone() -> None:
    channels = [Channel(f"part.e{k}") for k in range(4)]
    values = np.array([[1.0, 0, 0, 0], [-1.0, 0, 0, 0]])
    np.testing.assert_array_equal(continuous_quaternions(values, channels), values)
    assert with_companions(channels, [1]) == [1]
