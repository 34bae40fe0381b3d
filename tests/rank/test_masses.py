"""What conditions imply is geometry: whatever the masses, the same equations with other numbers.

Two models with the same pattern share everything that was traced and compiled. Rounding must not change a pattern: an
entry that is 1e-17 with one mass and 0 with another would.
"""

from __future__ import annotations

import functools
import itertools
import os
from collections.abc import Callable
from dataclasses import replace

import casadi as ca
import numpy as np
import pytest
from rank.machines import TURN, HangingPlate, Parallelogram, Sarrus, ScissorRing

from kompono import Body, Subsystem
from kompono.examples.kuka import Kuka
from kompono.library import DryFriction
from kompono.starting import closed_start
from kompono.translate import translate
from kompono.translate.engines.inverses import found_inverse
from kompono.translate.numbers import OpenNumbers
from kompono.translate.structure.aligned import aligned, squared

LONG = "KOMPONO_LAWS" in os.environ
FACTORS = (0.5, 1.07, 1.2, 3.0)


def rubbed() -> Sarrus:
    """With friction that follows reactions of redundant joints."""
    machine = Sarrus()
    machine.friction = DryFriction(machine.hinges[0], preload=0.02)
    return machine


MACHINES: dict[str, Callable[[], Subsystem]] = {
    "a plate on two rods": functools.partial(HangingPlate, 2),
    "a plate on four rods": functools.partial(HangingPlate, 4, TURN),
    "a parallelogram": functools.partial(Parallelogram, turn=TURN),
    "Sarrus' linkage": Sarrus,
    "Sarrus' linkage with friction": rubbed,
}
if LONG:
    MACHINES["a ring of scissors"] = ScissorRing


def scaled(make: Callable[[], Subsystem], number: int, factor: float, *, inertia: bool) -> Subsystem:
    """A machine with another mass of one of its bodies, perhaps of another inertia, too."""
    model = make()
    bodies = [element for element in model.walk() if isinstance(element, Body)]
    body = bodies[number % len(bodies)]
    solid = body.solid
    body.solid = replace(solid, mass=factor * solid.mass, inertia=(factor if inertia else 1.0) * solid.inertia)
    return model


def pattern(model: Subsystem, engine: str) -> str:
    numbers = translate(model, close=closed_start, engine=engine).engine.model.numbers
    assert numbers is not None
    return numbers.pattern


@pytest.mark.parametrize("engine", ["relative", "absolute"])
@pytest.mark.parametrize("name", MACHINES)
def test_no_mass_changes_a_pattern(name: str, engine: str) -> None:
    make = MACHINES[name]
    tried = itertools.product((0, 1, 2), FACTORS, (False, True)) if LONG else ((0, 3.0, False), (2, 0.5, True))
    expected = pattern(make(), engine)
    for number, factor, inertia in tried:
        assert pattern(scaled(make, number, factor, inertia=inertia), engine) == expected, (number, factor, inertia)


@pytest.mark.skipif(not LONG, reason="minutes; with KOMPONO_LAWS")
@pytest.mark.parametrize("engine", ["relative", "absolute"])
def test_no_mass_changes_the_pattern_of_a_robot(engine: str) -> None:
    """43 bodies, 351 conditions, 99 of them implied by others."""
    expected = pattern(Kuka(), engine)
    for number, factor in itertools.product((0, 3, 7, 12, 20, 33), FACTORS):
        assert pattern(scaled(Kuka, number, factor, inertia=bool(number % 2)), engine) == expected, (number, factor)


@pytest.mark.parametrize("noise", [0.0, 1e-16, 1e-12, 1e-9])
def test_a_span_is_known_without_its_noise(noise: float) -> None:
    """Sets of rows that a span connects: one it fills, one in part, one not at all; in any basis of it."""
    random = np.random.default_rng(3)
    part = np.array([0.6, 0.8, 0.0]), np.array([0.0, 0.6, 0.8])
    plain = np.zeros((8, 4))
    plain[[1, 4], [0, 1]] = 1.0
    plain[[0, 3, 7], 2:] = np.linalg.qr(np.column_stack(part))[0]
    mixed = plain @ np.linalg.qr(random.normal(size=(4, 4)))[0] + noise * random.normal(size=(8, 4))
    found = aligned(np.linalg.qr(mixed)[0])
    np.testing.assert_allclose(found @ found.T, plain @ plain.T, atol=1e-15 + 10 * noise)
    np.testing.assert_allclose(found.T @ found, np.eye(4), atol=1e-14)
    assert np.array_equal(squared(found) != 0, np.abs(plain @ plain.T) > 1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_entries_of_an_inverse_that_are_equal_whatever_the_numbers_are_one_number(seed: int) -> None:
    a, b, c, d, mass = np.random.default_rng(seed).uniform([3, 0.2, 0.2, 3, 1], [4, 1, 1, 4, 9]).tolist()
    inertia = np.zeros((6, 6))
    inertia[:3, :3] = mass * np.eye(3)
    inertia[3:, 3:] = [[a, b, c], [b, a, -c], [c, -c, d]]
    numbers = OpenNumbers({}, lambda _: {})
    found = found_inverse(numbers, ca.SX(inertia), "body")
    symbols = ca.symvar(found)
    assert found.nnz() == 3 + 9
    assert len(symbols) == 1 + 4  # of the mass; of a, b, c and d
    values = ca.Function("found", [ca.vertcat(*symbols)], [found])(numbers.values(numbers.among(symbols)))
    np.testing.assert_allclose(values.full() @ inertia, np.eye(6), atol=1e-13)
