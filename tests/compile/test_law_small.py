"""Feet of a body that slide on a floor, up to four of which touch: straight-line code, the general solver, NumPy."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from compile.programs import model
from compile.test_law_solver import Laws, close, respond_of

from kompono.compile import Kernel, law_solver
from kompono.translate.laws.naming import HELD, OFF, OWN, SLIDES, respond_name
from kompono.translate.laws.stand_in import make_stand_in

FEET = 4


@cache
def solver(purpose: str, small: bool, feet: bool = False) -> Kernel:
    """The solver alone, with or without its straight-line code; told that all rows are those of feet, or not."""
    known, law_solver.is_small = law_solver.is_small, (law_solver.is_small if small else lambda work: False)
    try:
        rows = 3 * FEET
        name = respond_name(rows, "test", FEET if feet else 0)
        stand_in = make_stand_in(respond_of(rows, FEET, name), (rows + FEET) * rows, rows, FEET, purpose)
        kernel = Kernel(model(stand_in.nnz_in(), lambda t, y, u, p: [stand_in(y)]), cache=False)
        kernel.prepare("derivative")
        return kernel
    finally:
        law_solver.is_small = known


def feet(rng: np.random.Generator, places: np.ndarray, closed: list[int]) -> Laws:
    """A body with random inertia on feet at places (FEET, 2) [m], some of which touch and slide."""
    root = rng.normal(size=(6, 6))
    mobility = root @ root.T / 6 + np.diag([1, 1, 1, 3, 3, 3])
    rows = [np.r_[0, 0, 1, y, -x, 0] for x, y in places]
    for x, y in places:
        rows += [np.r_[1, 0, 0, 0, 0.3, -y], np.r_[0, 1, 0, -0.3, 0, x]]
    w = np.array(rows)
    measures = np.eye(3 * FEET)[:FEET]
    laws = Laws(w @ mobility @ w.T, w @ np.r_[rng.normal(size=2), -9.81, rng.normal(size=3)], measures, np.zeros(FEET))
    laws.table[:, 7] = [*range(FEET), *np.repeat(range(FEET), 2)]
    for k in closed:
        laws.table[k, 0] = HELD
        way, mu = rng.normal(size=2), 0.4 * rng.random()
        for i in range(2):
            row = FEET + 2 * k + i
            laws.table[row, :7] = SLIDES, way[i] / np.linalg.norm(way), laws.b[row], mu, 0.0, k, OWN
    return laws


def least(laws: Laws) -> np.ndarray:
    """The least forces that hold the gaps, by NumPy."""
    gaps = np.flatnonzero(laws.table[:FEET, 0] == HELD)
    pushes = carried(laws)
    normal = -np.linalg.pinv((laws.a @ pushes)[np.ix_(gaps, gaps)], rcond=1e-9) @ laws.b[gaps]
    return pushes[:, gaps] @ normal


def given(laws: Laws, fixed: bool = False) -> np.ndarray:
    """What a solver is told; one that knows that rows are those of feet also what these do to the gaps."""
    factor = np.vstack([laws.a, laws.big_b]).ravel(order="F")
    told = np.concatenate([factor, laws.table.ravel(order="F"), laws.n0])
    return np.concatenate([told, (laws.a @ carried(laws))[:FEET].ravel()]) if fixed else told


def carried(laws: Laws) -> np.ndarray:
    """What one newton on each foot is on all rows, with the friction it carries."""
    found = np.zeros((3 * FEET, FEET))
    found[range(FEET), range(FEET)] = 1.0
    for row in range(FEET, 3 * FEET):
        if laws.table[row, 0] == SLIDES:
            found[row, int(laws.table[row, 7])] = -laws.table[row, 1] * laws.table[row, 3]
    return found


@pytest.mark.parametrize("purpose", ["laws", "motion", "back"])
def test_feet_that_slide(purpose: str) -> None:
    """Any feet of a rectangle, of a line and of no shape, in any order; four of them, and three on a line, are
    redundant.
    """
    rng = np.random.default_rng(3)
    square = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1.0]])
    for _ in range(60):
        shape = rng.integers(4)
        places = [square * rng.random(2), square[:, :1] * [1, 0.5] * rng.random((4, 1)), rng.normal(size=(4, 2)),
                  square[[0, 1, 1, 2]]][shape]  # fmt: skip
        closed = sorted(rng.permutation(FEET)[: rng.integers(FEET + 1)].tolist())
        laws = feet(rng, rng.permutation(places), closed)
        quick, general = (solver(purpose, small).evaluate("derivative", 0.0, given(laws))[0] for small in (True, False))
        close(quick, general, 1e-11)
        close(quick, least(laws), 1e-11)
        fixed = solver(purpose, True, True).evaluate("derivative", 0.0, given(laws, True))[0]
        close(fixed, quick, 1e-13)  # no list is made, but the same is computed


def test_feet_that_are_not_as_they_are_said_to_be() -> None:
    """A limit of its own, a slip that sticks, one that follows another measure: these are looked at row by row."""
    rng = np.random.default_rng(11)
    square = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1.0]])
    for place, value in ((4, 2.0), (0, HELD), (6, 0.0), (6, 1.0)):
        laws = feet(rng, square, [0, 1, 2, 3])
        laws.table[FEET + 3, place] = value
        fixed, general = (solver("laws", *ways).evaluate("derivative", 0.0, given(laws, ways[1]))[0]
                          for ways in ((True, True), (False, False)))  # fmt: skip
        close(fixed, general, 1e-11)


def test_what_is_rounding_is_not_brought_back() -> None:
    laws = feet(np.random.default_rng(2), np.array([[1, 1], [1, -1], [-1, 1], [-1, -1.0]]), [0, 1, 2, 3])
    laws.table[FEET:, 0] = OFF
    for size, moved in ((1e-17, False), (1e-12, True), (np.nan, True)):
        laws.table[:, 2] = [size, *[1e-18] * (3 * FEET - 1)]
        assert solver("back", True, True).evaluate("derivative", 0.0, given(laws, True))[0].any() == moved


@pytest.mark.parametrize("angle", [0.0, 1e-13, 1e-11, 1e-8, 1e-5, 1e-3, 0.1])
def test_feet_that_are_nearly_redundant(angle: float) -> None:
    """Where it is not clear whether the last row says anything, the general solver is asked."""
    rng = np.random.default_rng(5)
    laws = feet(rng, np.array([[1, 1], [1, -1], [-1, 1], [-1, -1.0]]), [0, 1, 2, 3])
    laws.a[3, 3] += angle
    quick, general = (solver("laws", small).evaluate("derivative", 0.0, given(laws))[0] for small in (True, False))
    close(quick, general, 1e-9 if angle else 1e-12)


def test_feet_without_friction_or_numbers() -> None:
    """Gaps alone share alike; what is not a number stays visible."""
    rng = np.random.default_rng(7)
    laws = feet(rng, np.array([[1, 1], [1, -1], [-1, 1], [-1, -1.0]]), [0, 1, 2, 3])
    laws.table[FEET:, 0] = OFF
    expected = -np.linalg.pinv(laws.a[:FEET, :FEET], rcond=1e-9) @ laws.b[:FEET]
    close(solver("laws", True).evaluate("derivative", 0.0, given(laws))[0][:FEET], expected, 1e-12)
    laws.table[2, 2] = np.nan
    assert np.isnan(solver("laws", True).evaluate("derivative", 0.0, given(laws))[0]).any()
