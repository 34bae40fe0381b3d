"""Unwrapping: whole turns and nothing else, following the rate where it is known."""

from __future__ import annotations

import numpy as np
import pytest

from kompono.result import unwrap
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
