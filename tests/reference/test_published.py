"""Published problems and the machines of MODELS: every error, drift and energy change below its limit."""

from __future__ import annotations

import numpy as np
import pytest
from reference import machines  # noqa: F401 (adds the car and the manipulator to the list)
from reference.problems import PROBLEMS, TURN, Problem, gained, revolution, swing
from reference.support import example, run, table

from kompono import Simulation


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: f"{problem.name}, {problem.how}")
def test_a_problem_is_solved(problem: Problem) -> None:
    done = problem.solve()
    assert not done.failures()


def test_the_closed_forms_themselves_are_right() -> None:
    pendulum, bars = table("A01_exact"), table("A02_exact_N1_2_5_40")
    assert swing(pendulum["t"])[0] == pytest.approx(pendulum["x"], abs=1e-11)
    for windows in (1, 2, 5, 40):
        assert np.sin(revolution(windows, bars["t"])) == pytest.approx(bars[f"x_N{windows}"], abs=1e-12)


def test_the_double_four_bar_ends_where_exudyn_converges_to() -> None:
    result = run(example("reference/n_four_bar").NFourBar(2), "rk4", 10.0, 1e-3, every=1000)
    tip = 2 * result["uprights.0.position.x"][-1], 2 * result["uprights.0.position.y"][-1]
    assert tip == pytest.approx((0.3284581115408154, 0.944518538178601), abs=1e-9)
    assert result["energy.total"][0] == pytest.approx(35.835, abs=1e-12)
    rate = 2 * result["uprights.0.velocity.x"][-1], 2 * result["uprights.0.velocity.y"][-1]
    assert rate == pytest.approx((1.423050003, -0.4948670827), abs=3e-6)  # second-order error of the published run


@pytest.mark.parametrize(("windows", "limit"), [(1, 1e-7), (2, 1e-3)])
def test_singular_positions_are_passed_at_any_step(windows: int, limit: float) -> None:
    """Some stage of some step lands next to a singular position: the energy may notice, the branch may not change."""
    simulation = Simulation(example("reference/n_four_bar").NFourBar(windows))
    feet = [f"feet.{k}.angle" for k in range(windows + 1)]
    for step in np.linspace(0.9e-3, 1.1e-3, 60):
        result = run(simulation, "rk4", 10.0, step, every=50, channels=["feet.*.angle", "energy.*", "drift.*"])
        assert np.abs(gained(result)).max() < limit
        assert all(np.abs(result[foot] - result[feet[0]]).max() < 1e-9 for foot in feet)
        assert result["drift.position"].max() < 1e-12


@pytest.mark.parametrize(
    ("windows", "method", "step", "until"),
    [(2, "rk4", 0.0010057644110275689, 10.0), (5, "dopri5", 0.05, 10.0)],
)
def test_singular_positions_are_passed_by_a_turned_mechanism(
    windows: int, method: str, step: float, until: float
) -> None:
    model = example("reference/n_four_bar").NFourBar(windows, turn=TURN)
    every = max(1, round(0.05 / step))
    result = run(model, method, until, step, rtol=1e-10, every=every, channels=["feet.0.angle", "energy.*"])
    assert np.abs(gained(result)).max() < 1e-4
    assert np.abs(result["feet.0.angle"] + revolution(windows, result.time)).max() < 4e-6
