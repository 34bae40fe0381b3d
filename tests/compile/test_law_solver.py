"""The native solver of laws with fixed modes against numpy: rows held and sliding, redundant rows, limits of friction
by measured reactions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

import casadi as ca
import numpy as np
import pytest
from compile.programs import model
from scipy.optimize import root

from kompono.compile import Kernel, law_solver, schedule
from kompono.compile.lanes import ONE, Lanes
from kompono.compile.law_lanes import define_lanes
from kompono.compile.law_work import MOST
from kompono.errors import CompileError
from kompono.solve.laws.forces import System, solve, state_of
from kompono.solve.laws.units import Kind, LawProblem, SolvedUnit, UnitChoice, UnitMode
from kompono.translate.laws.naming import HELD, OFF, OWN, PUSHES, SLIDES, Sizes, is_solver, sizes, told_name
from kompono.translate.laws.stand_in import make_stand_in


def respond_of(rows: int, measures: int, name: str = "") -> ca.Function:
    """A machine that is given as matrices: its factor is A and B, column by column."""
    factor = (rows + measures) * rows
    x = ca.SX.sym("x", factor + rows)
    matrix = ca.reshape(x[:factor], rows + measures, rows)
    answer = ca.densify(matrix @ x[factor:])
    return ca.Function(name or f"respond{rows}_{measures}", [x], [answer], {"never_inline": True})


@cache
def solver(rows: int, measures: int, name: str = "", purpose: str = "laws") -> Kernel:
    """A program that calls the solver alone: its state is the solver's column."""
    factor = (rows + measures) * rows
    stand_in = make_stand_in(respond_of(rows, measures, name), factor, rows, measures, purpose)
    return Kernel(model(stand_in.nnz_in(), lambda t, y, u, p: [stand_in(y)]), cache=False)


@dataclass
class Laws:
    """A set of laws on a machine, w = b + A z, N = n0 + B z."""

    a: np.ndarray
    b: np.ndarray
    big_b: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    n0: np.ndarray = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        m = len(self.b)
        self.big_b = self.big_b.reshape(len(self.n0), m)
        self.table = np.zeros((m, 8))
        self.table[:, 7] = np.arange(m)
        self.table[:, 2] = self.b

    def hold(self, *rows: int) -> Laws:
        self.table[list(rows), 0] = HELD
        return self

    def slide(self, row: int, d: float, mu: float = 0.0, limit: float = 0.0, first: int = 0, count: int = 0) -> Laws:
        self.table[row] = [SLIDES, d, self.b[row], mu, limit, first, count, row]
        return self

    def solve(self, name: str = "", purpose: str = "laws") -> np.ndarray:
        """What the native solver gives."""
        factor = np.vstack([self.a, self.big_b]).ravel(order="F")
        given = np.concatenate([factor, self.table.ravel(order="F"), self.n0])
        return solver(len(self.b), len(self.n0), name, purpose).evaluate("derivative", 0.0, given)[0]

    def residual(self, z: np.ndarray) -> np.ndarray:
        """How far multipliers are from the laws."""
        w, n = self.b + self.a @ z, self.n0 + self.big_b @ z
        found = []
        for i, (kind, d, _, mu, limit, first, count, _) in enumerate(self.table):
            size = np.linalg.norm(n[int(first) : int(first + count)])
            found.append(z[i] if kind == OFF else w[i] if kind == HELD else z[i] + d * (mu * size + limit))
        return np.array(found)


def machine(rng: np.random.Generator, rows: int, rank: int, measures: int = 0) -> Laws:
    """A random machine whose rows have this rank, and loads that are consistent with it."""
    j = rng.normal(size=(rows, rank))
    return Laws(j @ j.T, j @ rng.normal(size=rank), rng.normal(size=(measures, rows)), rng.normal(size=measures))


def close(z: np.ndarray, expected: np.ndarray, tolerance: float = 1e-10) -> None:
    np.testing.assert_allclose(z, expected, rtol=0, atol=tolerance * max(1.0, np.abs(expected).max()))


def test_names_tell_sizes() -> None:
    for known in (Sizes(12, 3, 4, "respond3_abc_2", "back"), Sizes(12, 3, 4, "respond3_abc_2", "slope", 7)):
        assert sizes(known.name) == known
        assert is_solver(known.name)
    assert sizes("respond3_abc_2") is None
    assert not is_solver("laws_1_2_respond")


def test_the_stand_in_is_found_and_gives_no_numbers() -> None:
    stand_in = make_stand_in(respond_of(3, 2), 15, 3, 2)
    assert (stand_in.nnz_in(), stand_in.nnz_out()) == (15 + 24 + 2, 3)
    assert np.isnan(stand_in(np.ones(41)).full()).all()
    program = solver(3, 2).program
    names = schedule.called(program, program.routines.values())
    assert set(names) == {stand_in.name(), "respond3_2"}
    assert schedule.whole_length(stand_in) > schedule.whole_length(respond_of(3, 2))
    with pytest.raises(CompileError, match="numbers"):
        make_stand_in(respond_of(3, 2), 15, 4, 2)


def test_what_is_no_solver_is_refused() -> None:
    with pytest.raises(CompileError, match="one lane"):
        law_solver.define(Sizes(1, 1, 0, "respond").name, Lanes(4))
    with pytest.raises(CompileError, match="not the name"):
        define_lanes("respond", Lanes(4))
    with pytest.raises(CompileError, match="not the name"):
        law_solver.define("respond", ONE)


@pytest.mark.parametrize("rows", [1, 2])
def test_a_solver_that_is_told_asks_nobody(rows: int) -> None:
    """The same bits, and a reaction that turns with the forces is found."""
    rng = np.random.default_rng(4)
    for _ in range(20):
        root_of_a = rng.normal(size=(rows, rows))
        laws = Laws(
            root_of_a @ root_of_a.T, rng.normal(size=rows), 0.5 * rng.normal(size=(3, rows)), rng.normal(size=3)
        )
        laws.slide(0, rng.choice([-1.0, 1.0]), mu=0.6, limit=0.1, count=3).hold(*range(1, rows))
        asked, told = laws.solve(), laws.solve(told_name(rows, 3))
        np.testing.assert_array_equal(asked, told)
        if np.isfinite(told).all():
            assert np.abs(laws.residual(told)).max() < 1e-12 * max(1.0, np.abs(told).max())


@pytest.mark.parametrize(("rows", "measures"), [(1, 0), (3, 4), (6, 3), (8, 2)])
def test_lanes_give_what_single_ones_do(rows: int, measures: int) -> None:
    """Each lane with a machine, redundant or not, whose rows are held, slide by a limit or a reaction, or are off."""
    lanes, given, expected = 8, [], []
    for seed in range(10 * lanes):
        rng = np.random.default_rng(seed)
        laws = machine(rng, rows, rows - (rng.random() < 0.3 and rows > 1), measures)
        laws.big_b *= 0.1
        for row in range(rows):
            kind = rng.choice(["hold", "limit", "reaction", "off", "off"])
            if kind == "hold":
                laws.hold(row)
            elif kind == "limit" or (kind == "reaction" and not measures):
                laws.slide(row, rng.choice([-1.0, 1.0]), limit=rng.random())
            elif kind == "reaction":
                count = int(rng.choice([PUSHES, *range(1, measures + 1)]))
                first = int(rng.integers(0, measures - max(count, 1) + 1))
                laws.slide(row, rng.choice([-1.0, 1.0]), 0.4 * rng.random(), rng.choice([0.0, 0.2]), first, count)
        if seed == 5:
            laws.hold(0).table[:, 2] = np.nan  # a lane that is lost
        factor = np.vstack([laws.a, laws.big_b]).ravel(order="F")
        given.append(np.concatenate([factor, laws.table.ravel(order="F"), laws.n0]))
        expected.append(laws.solve())
    wide = np.array(given).reshape(-1, lanes, len(given[0])).transpose(0, 2, 1).reshape(10, -1)
    kernel = solver(rows, measures)
    found = kernel.map("derivative", np.zeros(10), wide, np.zeros((10, 0)), lanes=lanes)
    found = found.reshape(10, rows, lanes).transpose(0, 2, 1).reshape(-1, rows)
    assert np.isnan(found[5]).all()
    found[5] = expected[5]
    scale = np.nanmax(np.abs(expected), axis=1, keepdims=True, initial=1.0)
    np.testing.assert_allclose(found / scale, np.array(expected) / scale, rtol=0, atol=1e-9)
    assert np.isfinite(found).all(axis=1).sum() > 60


def test_nothing_active_gives_zero_without_asking() -> None:
    laws = machine(np.random.default_rng(1), 5, 5, 2)
    laws.a[:] = laws.big_b[:] = np.nan
    np.testing.assert_array_equal(laws.solve(), np.zeros(5))


@pytest.mark.parametrize("seed", range(20))
def test_independent_rows_are_held(seed: int) -> None:
    rng = np.random.default_rng(seed)
    laws = machine(rng, 8, 8)
    chosen = np.flatnonzero(rng.random(8) < rng.random())
    laws.hold(*chosen)
    z = laws.solve()
    expected = np.zeros(8)
    expected[chosen] = np.linalg.solve(laws.a[np.ix_(chosen, chosen)], -laws.b[chosen])
    close(z, expected, 1e-8)
    assert np.all(np.abs(laws.residual(z)) <= 1e-14 * (np.abs(laws.a) @ np.abs(z)))


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize(("rows", "rank"), [(2, 1), (6, 3), (12, 6), (12, 11), (30, 6)])
def test_redundant_rows_share(rows: int, rank: int, seed: int) -> None:
    laws = machine(np.random.default_rng(seed), rows, rank).hold(*range(rows))
    close(laws.solve(), -np.linalg.pinv(laws.a, rcond=1e-9) @ laws.b)


def test_rows_of_zeros_and_equal_rows() -> None:
    j = np.array([[1.0, 0], [0, 0], [1, 0], [0, 1e-3], [0, 0], [2, 0]])
    laws = Laws(j @ j.T, j @ np.array([2.0, 3.0])).hold(*range(6))
    close(laws.solve(), [-1 / 18, 0, -1 / 18, -3e3, 0, -1 / 9] * np.array([6, 1, 6, 1, 1, 6]), 1e-14)


@pytest.mark.parametrize("difference", [1e-1, 1e-2, 1e-3, 3e-4, 1e-4])
def test_nearly_equal_rows(difference: float) -> None:
    """From clearly independent to hardly so, where elimination leaves it to least norms."""
    rng = np.random.default_rng(7)
    j = rng.normal(size=(5, 6))
    j[3] = j[0] + difference * j[3]
    laws = Laws(j @ j.T, j @ rng.normal(size=6)).hold(*range(5))
    z = laws.solve()
    assert np.all(np.abs(laws.residual(z)) < 1e-13 * (np.abs(laws.a) @ np.abs(z)))
    close(z, np.linalg.solve(laws.a, -laws.b), 1e-14 / difference**2)


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_rows_of_other_units(scale: float) -> None:
    rng = np.random.default_rng(3)
    j = rng.normal(size=(6, 6)) * np.array([1.0, scale, 1, scale, 1, scale])[:, None]
    laws = Laws(j @ j.T, j @ rng.normal(size=6)).hold(*range(6))
    z = laws.solve()
    assert np.all(np.abs(laws.residual(z)) < 1e-9 * (np.abs(laws.a) @ np.abs(z)))


def test_given_limits() -> None:
    rng = np.random.default_rng(4)
    laws = machine(rng, 6, 6).slide(1, -1.0, mu=0.3, limit=2.5).slide(4, 0.6, limit=5.0)
    np.testing.assert_array_equal(laws.solve(), [0, 2.5, 0, 0, -3.0, 0])
    z = laws.hold(0, 2, 5).solve()
    assert z[1] == 2.5
    close(laws.residual(z), np.zeros(6), 1e-12)


def contact(mu: float, slip: float) -> Laws:
    """A brick with a normal row 0 and a tangent row 1 that pulls the normal along; N is the normal's multiplier."""
    a = np.array([[2.0, 0.5], [0.5, 1.0]])
    return Laws(a, np.array([-9.81, 0.3]), np.array([[1.0, 0]]), np.zeros(1)).hold(0).slide(1, slip, mu, count=1)


@pytest.mark.parametrize("slip", [1.0, -1.0])
def test_friction_of_a_contact(slip: float) -> None:
    normal = 9.81 / (2.0 - 0.4 * slip * 0.5)
    close(contact(0.4, slip).solve(), [normal, -slip * 0.4 * normal], 1e-15)


def test_a_pulling_normal_has_its_size() -> None:
    laws = contact(0.4, 1.0)
    laws.table[0, 2] = 9.81
    normal = -9.81 / (2.0 + 0.4 * 0.5)
    close(laws.solve(), [normal, 0.4 * normal], 1e-15)


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("measures", [1, 2, 3])
def test_friction_of_measured_reactions(measures: int, seed: int) -> None:
    """Up to four sliding rows with limits by norms of 1 to 3 measures, beside held rows."""
    rng = np.random.default_rng(seed)
    laws = machine(rng, 9, 9, 3 * measures)
    laws.big_b *= 0.2
    for row in range(1 + seed % 4):
        first = int(rng.integers(0, 2 * measures + 1))
        laws.slide(2 * row, rng.choice([-1.0, 1.0]), 0.15, rng.random(), first, measures)
    laws.hold(*(1, 3, 8)[: seed % 5])
    z = laws.solve()
    assert np.abs(laws.residual(z)).max() < 1e-12 * max(1.0, np.abs(z).max())
    active = laws.table[:, 0] != OFF

    def missing(part: np.ndarray) -> np.ndarray:
        whole = np.zeros(9)
        whole[active] = part
        return laws.residual(whole)[active]

    expected = root(missing, z[active] * 1.05 + 0.01, tol=1e-13).x
    close(z[active], expected, 1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_redundant_contacts_with_friction(seed: int) -> None:
    """Four legs of a table on three degrees of freedom, each sliding: normals share, friction follows them."""
    rng = np.random.default_rng(seed)
    j = np.vstack([np.column_stack([np.ones(4), rng.normal(size=(4, 2)), np.zeros(4)]), 0.2 * rng.normal(size=(4, 4))])
    b = j @ np.array([-9.81, 0.2, -0.1, 0.3])
    laws = Laws(j @ j.T, b, np.eye(8)[:4], np.zeros(4)).hold(0, 1, 2, 3)
    for k in range(4):
        laws.slide(4 + k, rng.choice([-1.0, 1.0]), mu=0.2, first=k, count=1)
    z = laws.solve()
    assert np.abs(laws.residual(z)).max() < 1e-11 * np.abs(z).max()
    share = np.diag(-0.2 * laws.table[4:, 1] * np.sign(z[:4]))
    matrix = laws.a[:4, :4] + laws.a[:4, 4:] @ share
    close(z[:4], -np.linalg.pinv(matrix, rcond=1e-9) @ b[:4])


def random_modes(rng: np.random.Generator) -> tuple[Laws, LawProblem, list[SolvedUnit], UnitChoice]:
    """The same laws for native code and for NumPy: gaps with friction, friction by a reaction, some of it redundant."""
    contacts, joints = int(rng.integers(0, 4)), int(rng.integers(0, 3))
    rows, measures = 2 * contacts + joints, contacts + 3 * joints
    rank = int(rng.integers(1, rows + 3)) if rows else 1
    j = rng.normal(size=(rows, rank))
    big_b = np.zeros((measures, rows))
    big_b[range(contacts), range(0, 2 * contacts, 2)] = 1.0
    big_b[contacts:] = 0.5 * rng.normal(size=(3 * joints, rank)) @ j.T
    n0 = np.concatenate([np.zeros(contacts), rng.normal(size=3 * joints)])
    laws = Laws(j @ j.T, j @ rng.normal(size=rank), big_b, n0)
    units, modes, ways = [], [], []
    mu, limit = 0.4 * rng.random(2 * contacts + joints), rng.random(2 * contacts + joints)
    for k in range(contacts):
        units += [SolvedUnit(Kind.ONE_SIDED, 2 * k), SolvedUnit(Kind.DRY, 2 * k + 1, 2 * k, k, 1)]
        modes += [UnitMode.HELD, rng.choice([UnitMode.HELD, UnitMode.SLIDES])]
    for k in range(joints):
        units.append(SolvedUnit(Kind.DRY, 2 * contacts + k, None, contacts + 3 * k, 3))
        modes.append(rng.choice([UnitMode.HELD, UnitMode.SLIDES]))
    for k, unit in enumerate(units):
        way = rng.choice([-1.0, 1.0]) if modes[k] == UnitMode.SLIDES else 0.0
        ways.append((way, 0.0))
        laws.slide(unit.row, way, mu[k], limit[k], unit.first, PUSHES if unit.count == 1 else unit.count)
        if unit.contact is not None and rng.random() < 0.6:  # its gap is told, so that it may carry it
            laws.table[unit.row, 6:] = OWN, units[unit.contact].row
            limit[k] = laws.table[unit.row, 4] = rng.choice([0.0, limit[k]])
        if modes[k] == UnitMode.HELD:
            laws.hold(unit.row)
        if unit.kind == Kind.ONE_SIDED:
            laws.table[unit.row, 3:7] = 0.0
    problem = LawProblem(laws.a, laws.b, big_b, n0, mu, mu, limit, limit)
    return laws, problem, units, UnitChoice(np.array(modes, dtype=int), np.array(ways).reshape(-1, 2), np.zeros(rows))


@pytest.mark.parametrize("seed", range(4))
def test_native_code_and_numpy_agree(seed: int) -> None:
    """In steps native code solves, at events NumPy: two programs, one meaning, on 100 random sets of laws each."""
    rng, compared = np.random.default_rng(seed), 0
    for _ in range(100):
        laws, problem, units, choice = random_modes(rng)
        if not units:
            continue
        expected, settled = solve(System(problem, units), state_of(choice))
        z = laws.solve()
        size = max(1.0, np.abs(expected).max())
        if not settled:
            assert np.isnan(z).any() or np.abs(laws.residual(z)).max() < 1e-9 * size
            continue
        if size > 1e4:
            continue
        compared += 1
        close(z, expected, 1e-8)
    assert compared > 60


def test_no_forces_give_no_numbers() -> None:
    """z = -3 |n + z / 2| has no solution for a negative n; next to zero it is all rounding, and harmless."""
    for n in (-1.0, -1e-12, 0.0, 1.0):
        laws = Laws(np.eye(1), np.zeros(1), np.array([[0.0], [0.5], [0.0]]), np.array([0.0, n, 0.0]))
        z = laws.slide(0, 1.0, mu=3.0, count=3).solve()[0]
        assert np.isnan(z) if n < 0 else abs(z + 1.2 * n) < 1e-14


def test_a_reaction_that_is_rounding_needs_no_direction() -> None:
    """Terms of N cancel: its direction is noise in every pass, the friction next to nothing."""
    rng = np.random.default_rng(8)
    for _ in range(50):
        laws = machine(rng, 2, 2, 3).hold(0)
        laws.big_b *= 30
        alone = -laws.b[0] / laws.a[0, 0]
        laws.n0[:] = -laws.big_b[:, 0] * alone
        z = laws.slide(1, 1.0, mu=0.02, count=3).solve()
        assert np.abs(z - [alone, 0]).max() < 1e-12 * max(1.0, np.abs(laws.n0).max())


def test_no_reaction_has_no_direction() -> None:
    laws = Laws(np.eye(2), np.ones(2), np.zeros((3, 2)), np.zeros(3))
    laws.slide(0, 1.0, mu=0.5, limit=0.25, count=1).slide(1, -1.0, mu=0.5, limit=0.5, first=1, count=2)
    np.testing.assert_array_equal(laws.solve(), [-0.25, 0.5])


def test_what_is_not_a_number_stays_visible() -> None:
    for place in ("a", "b"):
        laws = machine(np.random.default_rng(5), 4, 4).hold(0, 2)
        laws.table[2, 2] = np.nan if place == "b" else laws.table[2, 2]
        laws.a[2, 0] = np.nan if place == "a" else laws.a[2, 0]
        assert np.isnan(laws.solve()[[0, 2]]).all()


def test_many_rows_of_which_few_are_active() -> None:
    """More rows than can be active at a time; one active row more than that is refused loudly."""
    rows = MOST + 6
    x = ca.SX.sym("x", 2 * rows)
    respond = ca.Function(f"respond{rows}_diagonal", [x], [x[:rows] * x[rows:]], {"never_inline": True})
    stand_in = make_stand_in(respond, rows, rows, 0)
    kernel = Kernel(model(stand_in.nnz_in(), lambda t, y, u, p: [stand_in(y)]), cache=False)
    rng = np.random.default_rng(6)
    factor, b = 1.0 + rng.random(rows), rng.normal(size=rows)

    def solve(*held: int) -> np.ndarray:
        laws = Laws(np.diag(factor), b).hold(*held)
        return kernel.evaluate("derivative", 0.0, np.concatenate([factor, laws.table.ravel(order="F")]))[0]

    for held in ([3, MOST + 4], [*range(MOST - 1), MOST + 4]):
        expected = np.zeros(rows)
        expected[held] = (-b / factor)[held]
        close(solve(*held), expected, 1e-14)
    assert np.isnan(solve(*range(MOST + 1))).all()
