"""Inertia of the solids against integration over their volume."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from kompono import MassProperties
from kompono.library import solids


def moments(inside: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray], mass: float, size: float) -> np.ndarray:
    """Moments of a uniform body about x, y, z, by a fine grid of midpoints."""
    n = 140
    axis = (np.arange(n) + 0.5) / n * 2 * size - size
    x, y, z = np.meshgrid(axis, axis, axis, indexing="ij")
    weight = inside(x, y, z).astype(float)
    weight *= mass / weight.sum()
    return np.array([np.sum(weight * (a * a + b * b)) for a, b in ((y, z), (x, z), (x, y))])


@pytest.mark.parametrize(
    ("solid", "inside"),
    [
        (
            solids.box(mass=2, size=(0.6, 1.0, 1.6)),
            lambda x, y, z: (abs(x) < 0.3) & (abs(y) < 0.5) & (abs(z) < 0.8),
        ),
        (
            solids.cylinder(mass=2, length=1.4, radius=0.5, axis="x"),
            lambda x, y, z: (abs(x) < 0.7) & (y * y + z * z < 0.25),
        ),
        (
            solids.rod(mass=2, length=1.4, radius=0.5),
            lambda x, y, z: (abs(z) < 0.7) & (x * x + y * y < 0.25),
        ),
        (
            solids.tube(mass=2, length=1.4, radius=0.7, wall=0.3, axis="y"),
            lambda x, y, z: (abs(y) < 0.7) & (x * x + z * z < 0.49) & (x * x + z * z > 0.16),
        ),
        (solids.sphere(mass=2, radius=0.8), lambda x, y, z: x * x + y * y + z * z < 0.64),
    ],
    ids=["box", "cylinder", "rod", "tube", "sphere"],
)
def test_inertia_is_the_integral_over_the_volume(solid: MassProperties, inside: Callable[..., np.ndarray]) -> None:
    inertia = np.asarray(solid.inertia)
    assert np.allclose(np.diag(inertia), moments(inside, 2.0, 0.8), rtol=0.02)
    assert np.allclose(inertia, np.diag(np.diag(inertia)))


def test_thin_limits() -> None:
    slender = np.diag(solids.rod(mass=3, length=2, axis="y").inertia)
    assert np.allclose(slender, [1, 0, 1])
    ring = np.diag(solids.ring(mass=3, radius=2, axis="x").inertia)
    assert np.allclose(ring, [12, 6, 6])
    assert np.allclose(np.diag(solids.tube(mass=3, length=1e-9, radius=2, wall=1e-9, axis="x").inertia), ring)
    assert not np.any(solids.point(mass=1).inertia)


def test_a_slanted_axis_turns_the_tensor() -> None:
    axis = np.array([0.6, 0.0, 0.8])
    inertia = np.asarray(solids.cylinder(mass=2, length=1, radius=0.2, axis=axis).inertia)
    straight = np.diag(solids.cylinder(mass=2, length=1, radius=0.2).inertia)
    assert axis @ inertia @ axis == pytest.approx(straight[2])
    assert np.allclose(np.linalg.eigvalsh(inertia), np.sort(straight))


def test_given_takes_moments_or_a_tensor() -> None:
    assert np.allclose(solids.given(mass=1, inertia=(1, 2, 3)).inertia, np.diag([1, 2, 3]))
    tensor = [[2, 0.1, 0], [0.1, 2, 0], [0, 0, 3]]
    assert np.allclose(solids.given(mass=1, inertia=tensor).inertia, tensor)
