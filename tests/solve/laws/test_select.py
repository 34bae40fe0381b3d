"""Modes that fit: against all modes tried, redundant, with friction, in any order, from modes before, Painleve."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from solve.laws.problems import HELD, OFF, SLIDES, all_fitting, box, cold, posed, random_rough, rod, wrong

from kompono.solve.laws.forces import System
from kompono.solve.laws.select import Search, select
from kompono.solve.laws.units import Kind, LawProblem, NoForcesFit, SolvedUnit, UnitChoice

SHARED = Path(__file__).parents[4] / "shared" / "reference" / "data" / "nonsmooth"


@pytest.mark.parametrize("seed", range(30))
def test_one_sided_and_given_limits_have_one_answer(seed: int) -> None:
    rng = np.random.default_rng(seed)
    kinds = rng.integers(0, 2, size=6)
    units = [SolvedUnit(Kind(kind), k, path=f"u{k}") for k, kind in enumerate(kinds)]
    W = rng.normal(size=(6, 8))
    problem = posed(W, rng.normal(size=8), units, limit=rng.uniform(0, 0.5, size=6))
    answers = all_fitting(problem, units)
    assert len(answers) == 1
    for mode in (HELD, OFF):
        choice = select(problem, units, cold(units, 6, mode), [True] * 6)
        assert np.allclose(choice.z, answers[0].z, atol=1e-10)
        assert (choice.modes == answers[0].modes).all()


@pytest.mark.parametrize("seed", range(20))
def test_little_friction_has_an_answer_that_all_modes_have(seed: int) -> None:
    problem, units = random_rough(np.random.default_rng(seed), 3, 0.3)
    answers = all_fitting(problem, units)
    choice = select(problem, units, cold(units, 6), [True] * 6)
    assert any(np.allclose(choice.z, answer.z, atol=1e-9) for answer in answers)


@pytest.mark.parametrize("planar", [False, True])
@pytest.mark.parametrize("count", [1, 2, 4, 8])
def test_friction_never_fails(count: int, planar: bool) -> None:
    rng = np.random.default_rng(count)
    for _ in range(15):
        problem, units = random_rough(rng, count, rng.uniform(0, 0.3), planar)
        choice = select(problem, units, cold(units, len(problem.b)), [True] * len(units))
        assert wrong(problem, units, choice) < 1e-8


@pytest.mark.parametrize("planar", [False, True])
@pytest.mark.parametrize("feet", [4, 8])
def test_box_on_many_feet(feet: int, planar: bool) -> None:
    rng = np.random.default_rng(feet)
    for _ in range(20):
        problem, units = box(rng, feet, rng.uniform(0, 0.8), rng.uniform(0, 10), planar)
        choice = select(problem, units, cold(units, len(problem.b)), [True] * len(units))
        assert wrong(problem, units, choice) < 1e-8


def test_redundant_rows_without_friction() -> None:
    rng = np.random.default_rng(8)
    for _ in range(100):
        rank, m = int(rng.integers(3, 7)), int(rng.integers(4, 25))
        units = [SolvedUnit(Kind.ONE_SIDED, k, path=f"u{k:02}") for k in range(m)]
        problem = posed(rng.normal(size=(m, rank)) + np.eye(rank)[0], rng.normal(size=rank), units)
        choice = select(problem, units, cold(units, m), [True] * m)
        assert wrong(problem, units, choice) < 1e-8


def test_sizes_do_not_matter() -> None:
    """Small bodies beside large ones, other units: the same modes."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        problem, units = random_rough(rng, 3, 0.4)
        scale = np.repeat(10.0 ** rng.uniform(-5, 5, size=3), 2)
        other = replace(problem, A=problem.A * np.outer(scale, scale), b=problem.b * scale * 1e-6)
        first = select(problem, units, cold(units, 6), [True] * 6)
        second = select(other, units, cold(units, 6), [True] * 6)
        assert (first.modes == second.modes).all()
        assert np.allclose(first.z, second.z * scale * 1e6, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("planar", [False, True])
def test_order_of_units_does_not_matter(planar: bool) -> None:
    step = 3 if planar else 2
    for seed in range(15):
        rng = np.random.default_rng(seed)
        problem, units = random_rough(rng, 4, 0.5, planar)
        choice = select(problem, units, cold(units, 4 * step), [True] * 8)
        order = rng.permutation(4)
        rows = np.concatenate([np.arange(step) + step * k for k in order])
        moved = replace(problem, A=problem.A[np.ix_(rows, rows)], b=problem.b[rows])
        renamed = [replace(u, path=units[2 * order[k // 2] + k % 2].path) for k, u in enumerate(units)]
        other = select(moved, renamed, cold(units, 4 * step), [True] * 8)
        assert np.allclose(other.z, choice.z[rows], atol=1e-9)


@pytest.mark.parametrize("count", [2, 6])
def test_modes_before_need_few_solves(count: int) -> None:
    rng, solves = np.random.default_rng(5), []
    for _ in range(40):
        problem, units = random_rough(rng, count, 0.3)
        choice = select(problem, units, cold(units, 2 * count), [True] * 2 * count)
        later = replace(problem, b=problem.b * (1 + 0.01 * rng.normal(size=2 * count)))
        search = Search(System(later, units), choice, [True] * 2 * count, {})
        search.found()
        solves.append(search.solves)
    assert np.median(solves) == 1
    assert np.quantile(solves, 0.95) <= 2


def test_excluded_stick_slides_with_the_lower_limit() -> None:
    none, units = np.zeros((0, 1)), [SolvedUnit(Kind.DRY, 0)]
    limits = [np.zeros(1), np.zeros(1), np.array([2.0]), np.array([3.0])]
    problem = LawProblem(np.eye(1), np.array([3.0]), none, np.zeros(0), *limits)
    stuck = select(problem, units, cold(units, 1), [True])
    assert stuck.modes[0] == HELD
    assert stuck.z[0] == pytest.approx(-3.0)
    slid = select(problem, units, stuck, [True], {0: HELD})
    assert slid.modes[0] == SLIDES
    assert slid.directions[0, 0] == 1.0
    assert slid.z[0] == pytest.approx(-2.0)


def test_released_contact_takes_its_friction_along() -> None:
    problem, units = posed(np.eye(2), [0.0, 1.0], cold_units(), 0.5), cold_units()
    choice = select(problem, units, cold(units, 2), [True, True], {0: HELD})
    assert choice.modes.tolist() == [OFF, OFF]


def test_contact_that_closes_goes_on_sliding() -> None:
    units = cold_units()
    problem = posed(np.eye(2), [-9.81, 0.0], units, 0.5)
    start = UnitChoice(np.array([OFF, OFF]), np.array([[0.0, 0], [-1.0, 0]]), np.zeros(2))
    choice = select(problem, units, start, [True, False])
    assert choice.modes.tolist() == [HELD, SLIDES]
    assert choice.z == pytest.approx([9.81, 0.5 * 9.81])


def cold_units() -> list[SolvedUnit]:
    """One contact with friction."""
    return [SolvedUnit(Kind.ONE_SIDED, 0), SolvedUnit(Kind.DRY, 1, contact=0, first=0, count=1)]


def test_slip_in_a_plane_begins_along_its_acceleration() -> None:
    units = [SolvedUnit(Kind.PLANAR, 0)]
    A, b = np.array([[2.0, 0.7], [0.7, 1.0]]), np.array([5.0, 3.0])
    limit = np.array([0.9])
    problem = LawProblem(A, b, np.zeros((0, 2)), np.zeros(0), np.zeros(1), np.zeros(1), limit, limit)
    choice = select(problem, units, cold(units, 2), [True])
    w = b + A @ choice.z
    assert choice.directions[0] == pytest.approx(w / np.linalg.norm(w), abs=1e-12)
    assert choice.z == pytest.approx(-0.9 * choice.directions[0])


def test_sliding_rod_slides() -> None:
    choice = select(*rod(1.0, 0.0, 0.5))
    assert choice.modes.tolist() == [HELD, SLIDES]
    assert choice.z[0] == pytest.approx(8.2174109132927646716, rel=1e-12)


def test_rod_that_jams_has_no_forces() -> None:
    with pytest.raises(NoForcesFit) as caught:
        select(*rod(1.1071487177940905030, 0.0, 1.5))
    assert caught.value.units == (0,)
    assert caught.value.critical == pytest.approx(4.0 / 3.0, rel=1e-12)
    assert "contact00" in str(caught.value)


def test_rod_with_two_answers_keeps_its_modes() -> None:
    problem, units, start, free = rod(1.1071487177940905030, 5.0, 1.5)
    assert problem.b[0] == pytest.approx(12.550679774997896964)
    closed = select(problem, units, start, free)
    assert closed.z[0] == pytest.approx(62.753398874989484820, rel=1e-11)
    opened = select(problem, units, replace(start, modes=np.array([OFF, OFF])), free)
    assert opened.modes.tolist() == [OFF, OFF]


@pytest.mark.skipif(not SHARED.exists(), reason="no shared reference")
def test_critical_friction_of_the_rod() -> None:
    for case in json.loads((SHARED / "n17_painleve.json").read_text())["critical"]:
        critical = float(case["mu_critical"])
        theta = float(case["theta"])
        select(*rod(theta, 0.0, 0.999 * critical))
        with pytest.raises(NoForcesFit) as caught:
            select(*rod(theta, 0.0, 1.001 * critical))
        assert caught.value.critical == pytest.approx(critical, rel=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_friction_by_measured_reactions(seed: int) -> None:
    """Pins whose friction follows two measured components, which depend on all friction, and a guide with one."""
    rng = np.random.default_rng(seed)
    units = [SolvedUnit(Kind.DRY, k, first=2 * k, count=2 if k < 3 else 1, path=f"pin{k}") for k in range(4)]
    W = rng.normal(size=(4, 6))
    mu, more = np.full(4, 0.05), rng.uniform(0, 0.1, size=4)
    given = posed(W, rng.normal(size=6), units)
    measured = {"B": 0.3 * rng.normal(size=(7, 4)), "n0": 8 * rng.normal(size=7)}
    problem = replace(given, **measured, mu=mu, mu_static=1.2 * mu, limit=more, limit_static=more)
    answers = all_fitting(problem, units)
    choice = select(problem, units, cold(units, 4), [True] * 4)
    assert any(np.allclose(choice.z, answer.z, atol=1e-10) for answer in answers)


def carried(drive: float, limit: float) -> tuple[LawProblem, list[SolvedUnit], UnitChoice, list[bool]]:
    """A block of 2 kg on a floor, held as well by friction with a limit, on what accelerates upwards."""
    units = [SolvedUnit(Kind.ONE_SIDED, 0, path="floor"), SolvedUnit(Kind.DRY, 1, path="jaws")]
    b, none, bound = np.array([-9.81, -9.81 - drive]), np.zeros(2), np.array([0.0, limit])
    problem = LawProblem(np.full((2, 2), 0.5), b, np.zeros((0, 2)), np.zeros(0), none, none, bound, bound, driven=True)
    return problem, units, UnitChoice(np.array([HELD, HELD]), np.zeros((2, 2)), np.zeros(2)), [True, True]


@pytest.mark.parametrize("drive", [1e-6, 1e-3, 1.0])
def test_what_is_torn_gives_way_where_it_is_weak(drive: float) -> None:
    """Strong friction lifts the block off its floor, weak friction slips; driven down, it slips in any case."""
    lifted, left, pressed = (select(*carried(*given)) for given in ((drive, 30.0), (drive, 10.0), (-drive, 30.0)))
    assert lifted.modes.tolist() == [OFF, HELD]
    assert lifted.z == pytest.approx([0.0, 2 * (9.81 + drive)])
    assert left.modes.tolist() == [HELD, SLIDES]
    assert left.z == pytest.approx([2 * 9.81 - 10.0, 10.0])
    assert pressed.modes.tolist() == [HELD, SLIDES]
    assert pressed.z == pytest.approx([2 * 9.81 + 30.0, -30.0])


def test_what_nothing_parts_has_no_forces() -> None:
    """A ceiling comes down on a block on a floor."""
    units = [SolvedUnit(Kind.ONE_SIDED, 0, path="floor"), SolvedUnit(Kind.ONE_SIDED, 1, path="ceiling")]
    A, b, none = np.array([[0.5, -0.5], [-0.5, 0.5]]), np.array([-9.81, 9.81 - 1.0]), np.zeros(2)
    problem = LawProblem(A, b, np.zeros((0, 2)), np.zeros(0), none, none, none, none, driven=True)
    with pytest.raises(NoForcesFit, match="floor, ceiling"):
        select(problem, units, UnitChoice(np.array([HELD, HELD]), np.zeros((2, 2)), np.zeros(2)), [True, True])
