"""Multipliers for fixed modes: held, sliding, redundant, limited by measured reactions."""

from __future__ import annotations

import numpy as np
import pytest
from solve.laws.problems import HELD, SLIDES, box, cold, posed, random_rough, rough

from kompono.solve.laws.forces import forces
from kompono.solve.laws.units import Kind, LawProblem, SolvedUnit, UnitChoice


def test_held_rows_do_not_move() -> None:
    problem, units = random_rough(np.random.default_rng(0), 4, 0.3)
    z = forces(problem, units, cold(units, 8))
    assert np.allclose(problem.b + problem.A @ z, 0.0, atol=1e-12)


def test_redundant_forces_are_least() -> None:
    problem, units = box(np.random.default_rng(1), 8, 0.0, 1.0, planar=True)
    z = forces(problem, units, cold(units, 24))
    assert np.allclose(z, -np.linalg.pinv(problem.A, rcond=1e-10) @ problem.b, atol=1e-9)


def test_feet_of_a_box_share_friction_by_their_normal_forces() -> None:
    """Pushed through the height of its feet it does not turn, and all of them are as near to slipping."""
    units = rough(4, planar=True)
    rows = [
        np.concatenate([way, np.cross([x, y, -0.2], way)])
        for x, y in [(1, 1), (1, -1), (-1, 1), (-1, -1)]
        for way in np.eye(3)[[2, 0, 1]]
    ]
    problem = posed(rows, [1.5, 0.0, -9.81, 0.0, 0.0, 0.0], units, 0.4, mass=np.diag([2.0, 2, 2, 0.3, 0.4, 0.5]))
    z = forces(problem, units, cold(units, 12)).reshape(4, 3)
    assert np.ptp(z[:, 0]) > 0.2
    assert np.allclose(np.hypot(z[:, 1], z[:, 2]) / z[:, 0], 1.5 / 9.81, rtol=1e-12)


def test_table_on_four_legs_is_symmetric() -> None:
    units = [SolvedUnit(Kind.ONE_SIDED, k) for k in range(4)]
    legs = [[1.0, x, y] for x, y in [(1, 1), (1, -1), (-1, 1), (-1, -1)]]
    problem = posed(legs, [-10.0, 0.0, 0.0], units, mass=np.diag([3.0, 1e-4, 1e4]))
    assert np.allclose(forces(problem, units, cold(units, 4)), 7.5, rtol=1e-12)


def test_sliding_friction_follows_its_normal_force() -> None:
    problem, units = random_rough(np.random.default_rng(2), 1, 0.4)
    choice = UnitChoice(np.array([HELD, SLIDES]), np.array([[0, 0], [-1.0, 0]]), np.zeros(2))
    z = forces(problem, units, choice)
    assert z[1] == pytest.approx(0.4 * z[0])
    assert (problem.b + problem.A @ z)[0] == pytest.approx(0.0, abs=1e-14)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_pin_whose_reaction_depends_on_its_friction(sign: float) -> None:
    rng = np.random.default_rng(3)
    B, n0, none = 0.3 * rng.normal(size=(2, 1)), np.array([40.0, -9.0]), np.zeros(1)
    problem = LawProblem(np.eye(1), none, B, n0, np.array([0.2]), np.array([0.2]), np.array([3.0]), np.array([3.0]))
    units = [SolvedUnit(Kind.DRY, 0, first=0, count=2)]
    z = forces(problem, units, UnitChoice(np.array([SLIDES]), np.array([[sign, 0.0]]), none))
    assert z[0] == pytest.approx(-sign * (0.2 * np.linalg.norm(n0 + B @ z) + 3.0), rel=1e-14)
