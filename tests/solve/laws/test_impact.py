"""Impacts: known answers, three laws that agree, energy that never grows, contacts at once."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from solve.laws.problems import box, posed, random_rough, rough

from kompono.solve.laws.impact import energy_change, impact
from kompono.solve.laws.units import Kind, LawProblem, SolvedUnit

SHARED = Path(__file__).parents[4] / "shared" / "reference" / "data" / "nonsmooth"

SEEDS = range(4) if os.environ.get("KOMPONO_LAWS") else (0,)  # of random impacts: 10,000, or 2,560
FOLLOWED = ("poisson", "newton", "stronge")  # along the impulse of a single contact


def balls(masses, velocities):
    """Touching balls in a row."""
    n = len(masses)
    W = np.array([[-float(k == j) + float(k == j + 1) for k in range(n)] for j in range(n - 1)])
    units = [SolvedUnit(Kind.ONE_SIDED, j) for j in range(n - 1)]
    return posed(W, velocities, units, mass=np.diag(masses)), units, W / np.array(masses)


@pytest.mark.parametrize("law", FOLLOWED)
def test_three_touching_balls(law: str) -> None:
    problem, units, back = balls([1.0, 1.0, 1.0], [1.0, 0.0, 0.0])
    impulses, _ = impact(problem, units, np.ones(2), law)
    assert np.array([1.0, 0.0, 0.0]) + back.T @ impulses == pytest.approx([-1 / 3, 2 / 3, 2 / 3], abs=1e-12)


def test_rocking_block_on_two_corners() -> None:
    width, height = 0.1, 0.5
    units = rough(2)
    W = [[0, 1, -width], [1, 0, height], [0, 1, width], [1, 0, height]]
    inertia = (width**2 + height**2) / 3
    omega = 0.65088111471735049095
    velocity = np.array([-omega * height, -omega * width, omega])
    problem = posed(W, velocity, units, 5.0, mass=np.diag([1.0, 1.0, inertia]))
    assert problem.b[0] < 0.0 < 1e-15 + abs(problem.b[2])
    impulses, _ = impact(problem, units, np.zeros(4))
    after = velocity + np.linalg.solve(np.diag([1.0, 1.0, inertia]), np.array(W).T @ impulses)
    assert after[2] == pytest.approx(0.61333028117596488571, rel=1e-10)


@pytest.mark.parametrize("planar", [False, True])
@pytest.mark.parametrize("law", FOLLOWED)
@pytest.mark.parametrize(("mu", "expected"), [(0.1, [5.4, -0.54]), (0.4, [5.4, -0.57142857142857142857])])
def test_ball_slides_through_or_grips(law: str, mu: float, expected: list[float], planar: bool) -> None:
    units = rough(1, planar)
    W, way = np.diag([1.0, 3.5**0.5, 3.5**0.5][: 3 if planar else 2]), np.array([0.6, 0.8])
    problem = posed(W, np.ones(len(W)), units, mu)
    problem.b[:] = [-3.0, *(2.0 * way)] if planar else [-3.0, 2.0]
    impulses, after = impact(problem, units, [0.8, 0.0], law)
    tangent = impulses[1:] @ way if planar else impulses[1]
    assert [impulses[0], tangent] == pytest.approx(expected, rel=1e-12)
    assert after[0] == pytest.approx(2.4)


def stepped(A, velocity, mu, e, law, steps=400_000):
    """One contact in many small increments of its normal impulse."""
    (wn, wt), p, squeezed, taken, given = velocity, 0.0, None, 0.0, 0.0
    dp = -3.0 * velocity[0] / A[0, 0] / steps * 20
    while True:
        stick = -A[0, 1] / A[1, 1]
        slides = abs(wt) > 2 * dp * (abs(A[0, 1]) + mu * A[1, 1])
        friction = -mu * np.sign(wt) if slides else float(np.clip(stick - wt / A[1, 1] / dp, -mu, mu))
        before, wn, wt, p = (
            wn,
            wn + dp * (A[0, 0] + A[0, 1] * friction),
            wt + dp * (A[0, 1] + A[1, 1] * friction),
            p + dp,
        )
        if wn < 0.0:
            taken -= dp * (wn + before) / 2
        elif squeezed is None:
            squeezed = p
        else:
            given += dp * (wn + before) / 2
        done = {"newton": wn >= -e * velocity[0], "stronge": given >= e**2 * taken}
        if squeezed is not None and (p >= (1 + e) * squeezed if law == "poisson" else done[law]):
            return np.array([wn, wt])


@pytest.mark.parametrize("law", FOLLOWED)
@pytest.mark.parametrize(
    ("mixed", "slip", "mu"), [(0.9, 1.0, 0.3), (-0.9, 1.0, 0.3), (0.9, -0.5, 0.2), (1.2, -0.6, 0.5), (0.5, 0.4, 0.9)]
)
def test_one_coupled_contact_in_small_increments(law: str, mixed: float, slip: float, mu: float) -> None:
    A, units = np.array([[1.0, mixed], [mixed, 2.0]]), rough(1)
    problem = posed(np.linalg.cholesky(A), [0.0, 0.0], units, mu)
    problem.b[:] = [-1.0, slip]
    _, after = impact(problem, units, [0.7, 0.0], law)
    assert after == pytest.approx(stepped(A, (-1.0, slip), mu, 0.7, law), abs=2e-3)


@pytest.mark.parametrize("law", ["poisson", "stronge"])
def test_laws_agree_without_friction(law: str) -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        problem, units = random_rough(rng, 1, 0.0)
        expected = impact(problem, units, [0.6, 0.0], "newton")[0]
        assert impact(problem, units, [0.6, 0.0], law)[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("law", "times", "planar"),
    [("poisson", 2000, False), ("poisson", 500, True), ("stronge", 40, False), ("stronge", 20, True)],
)
def test_energy_never_grows(law: str, times: int, planar: bool, seed: int) -> None:
    """Ten thousand impacts by Poisson's law, some by Stronge's."""
    rng, worst = np.random.default_rng(seed), 0.0
    for k in range(times):
        count, mu = int(rng.integers(1, 4)), rng.uniform(0, 1.2)
        if k % 3:
            problem, units = random_rough(rng, count, mu, planar, int(rng.integers(3, 3 * count + 5)))
        else:
            problem, units = box(rng, count + 1, mu, 5.0, planar)
        e = rng.uniform(0, 1, size=len(units)) if k % 2 else np.ones(len(units))
        impulses, after = impact(problem, units, e, law)
        change, size = energy_change(problem.b, after, impulses)
        worst = max(worst, change / max(size, 1e-300))
        for unit in units:
            if unit.kind == Kind.ONE_SIDED:
                assert impulses[unit.row] >= -1e-9 * np.abs(impulses).max()
                assert after[unit.row] >= -1e-9 * np.abs(problem.b).max()
    assert worst <= 1e-12


def test_contacts_apart_are_treated_apart() -> None:
    problem, units = random_rough(np.random.default_rng(4), 1, 0.5)
    problem.b[:] = [-1.0, 0.7]
    alone = impact(problem, units, [0.5, 0.0])[0]
    A, B = np.kron(np.eye(2), problem.A), np.kron(np.eye(2), problem.B)
    twice = np.tile(problem.mu, 2)
    both = LawProblem(A, np.tile(problem.b, 2), B, np.zeros(2), twice, twice, 0 * twice, 0 * twice)
    assert impact(both, rough(2), np.tile([0.5, 0.0], 2))[0] == pytest.approx(np.tile(alone, 2), rel=1e-13)


def test_given_limits_take_no_impulse() -> None:
    units = [SolvedUnit(Kind.ONE_SIDED, 0), SolvedUnit(Kind.DRY, 1)]
    problem = replace(posed(np.eye(2), [-1.0, 1.0], units), limit=np.array([0.0, 5.0]))
    assert impact(problem, units, [0.5, 0.0])[0] == pytest.approx([1.5, 0.0])


@pytest.mark.skipif(not SHARED.exists(), reason="no shared reference")
def test_rough_impacts_of_the_reference() -> None:
    for case in json.loads((SHARED / "n29_rough_impact.json").read_text()).values():
        if not isinstance(case, dict):
            continue
        tt, nt, nn = (float(value) for value in case["mobility"])
        mu = np.array([0.0, float(case["mu"])])
        A = np.array([[nn, nt], [nt, tt]])
        b = np.array([float(case["v_before"][1]), float(case["v_before"][0])])
        problem = LawProblem(A, b, np.array([[1.0, 0.0]]), np.zeros(1), mu, mu, 0 * mu, 0 * mu)
        for law in FOLLOWED:
            impulses, after = impact(problem, rough(1), [float(case["e"]), 0.0], law)
            found = [*impulses, *after, energy_change(b, after, impulses)[0]]
            keys = ["normal_impulse", "tangential_impulse", "vn_after", "vt_after", "energy_change"]
            assert found == pytest.approx([float(case[law][key]) for key in keys], rel=1e-12, abs=1e-14)
