"""Rows that want different motions of one machine: the native solver lets forces grow where drives may be the cause."""

from __future__ import annotations

import numpy as np
import pytest
from compile.test_law_solver import Laws, close, machine

LEFT = 1e-6  # of the loads, by which rows contradict each other here


def held(rows: int, b: list[float]) -> Laws:
    """Equal rows on one body of 2 kg."""
    return Laws(np.full((rows, rows), 0.5), np.array(b)).hold(*range(rows))


@pytest.mark.parametrize("seed", range(6))
def test_what_agrees_is_solved_as_ever(seed: int) -> None:
    """To the bit, with redundant rows or without, also where friction that sticks shares."""
    rng = np.random.default_rng(seed)
    for rank in (2, 3, 5):
        laws = machine(rng, 5, rank, 1).hold(0, 1, 2, 3, 4)
        laws.table[3:, 4] = 1.0  # limits of friction that sticks
        np.testing.assert_array_equal(laws.solve(purpose="driven"), laws.solve())


@pytest.mark.parametrize("rows", [2, 4, 6])
def test_forces_grow_where_rows_tear(rows: int) -> None:
    """A half of equal rows wants another acceleration: it pulls against the other half, and the sum holds the body."""
    away = [0.0] * (rows // 2) + [9.81 * LEFT] * (rows // 2)
    laws = held(rows, [-9.81 - more for more in away])
    z = laws.solve(purpose="driven")
    assert z.sum() == pytest.approx(2 * 9.81, rel=1e-5)
    assert (z[: rows // 2] < -100.0).all()
    assert (z[rows // 2 :] > 100.0).all()
    close(held(rows, [-9.81] * rows).solve(purpose="driven"), np.full(rows, 2 * 9.81 / rows))


def test_forces_grow_where_friction_follows_what_it_rubs_on() -> None:
    """The same where a row that slides makes the equations unsymmetric."""
    laws = held(3, [-9.81, -9.81 * (1 + LEFT), 0.0])
    laws.a[2] = laws.a[:, 2] = [0.0, 0.0, 0.5]
    laws.big_b, laws.n0 = np.array([[1.0, 0.0, 0.0]]), np.zeros(1)
    laws.slide(2, 1.0, mu=0.3, count=-1)
    z = laws.solve(purpose="driven")
    assert z[0] < -100.0
    assert z[0] + z[1] == pytest.approx(2 * 9.81, rel=1e-5)
    assert z[2] == pytest.approx(-0.3 * z[0], rel=1e-9)


def test_what_joints_hold_does_not_tear() -> None:
    """A row that nothing moves, with a motion of its own, adds no forces to others."""
    laws = Laws(np.diag([0.5, 0.5, 0.0]), np.array([-9.81, 1.0, 1e-3])).hold(0, 1, 2)
    laws.table[:, 7] = 0
    close(laws.solve(purpose="driven"), np.array([2 * 9.81, -2.0, 0.0]))
