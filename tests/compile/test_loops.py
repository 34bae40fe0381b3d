"""The native step loops: order, chunks, records, inputs, projection and failure."""

from __future__ import annotations

import math
import threading

import casadi as ca
import numpy as np
import pytest
from compile.programs import circle, model, pendulum
from scipy.integrate import solve_ivp

from kompono.compile import ChunkEnd, Kernel, schedule
from kompono.errors import RunError

FIXED = ["rk2", "rk4", "adams"]
START = [2.0, 0.3]


def exact(until: float | np.ndarray) -> np.ndarray:
    """The pendulum by SciPy, to rounding."""
    ends = np.atleast_1d(until)
    rate = lambda t, y: [y[1], -math.sin(y[0])]  # noqa: E731
    result = solve_ivp(rate, (0, ends[-1]), START, method="DOP853", rtol=1e-13, atol=1e-14, t_eval=ends)
    return result.y.T if np.ndim(until) else result.y[:, -1]


@pytest.fixture(scope="module")
def kernel() -> Kernel:
    return Kernel(pendulum(), cache=False)


@pytest.fixture(scope="module")
def round_kernel() -> Kernel:
    return Kernel(circle(), cache=False)


# -- accuracy --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("method", "order"), [("rk2", 2), ("rk4", 4), ("adams", 4)])
def test_order_of_convergence(kernel: Kernel, method: str, order: int) -> None:
    errors = []
    for steps in (400, 800, 1600):  # the largest error on the way: at one instant, errors may cancel
        run = kernel.fixed(method, 0.0, START, step=8.0 / steps, every=steps // 100)
        assert run.advance(steps) is ChunkEnd.OK
        rows = run.take()
        errors.append(np.abs(rows[1:, 1:] - exact(rows[1:, 0])).max())
    slopes = np.log2(np.divide(errors[:-1], errors[1:]))
    assert np.all(np.abs(slopes - order) < 0.35), slopes


def test_dopri5_is_of_fifth_order(kernel: Kernel) -> None:
    errors = []
    for steps in (20, 40, 80):
        h = 4.0 / steps
        run = kernel.adaptive(0.0, START, until=4.0, rtol=1.0, atol=1.0, first_step=h, max_step=h)
        run.advance(10**6)
        assert run.accepted == steps
        errors.append(np.abs(run.state - exact(4.0)).max())
    slopes = np.log2(np.divide(errors[:-1], errors[1:]))
    assert np.all(slopes > 4.6), slopes
    assert np.all(slopes < 6.2), slopes


@pytest.mark.parametrize("tolerance", [1e-4, 1e-7, 1e-10])
def test_dopri5_keeps_its_tolerance_and_ends_on_time(kernel: Kernel, tolerance: float) -> None:
    run = kernel.adaptive(0.0, START, until=10.0 / 3, rtol=tolerance, atol=tolerance)
    assert run.advance(10**6) is ChunkEnd.OK
    assert run.done
    assert run.time == 10.0 / 3
    assert np.abs(run.state - exact(10.0 / 3)).max() < 20 * tolerance


def test_dopri5_reuses_the_last_rate(kernel: Kernel) -> None:
    run = kernel.adaptive(0.0, START, until=10.0)
    run.advance(10**6)
    assert run.evaluations == 6 * (run.accepted + run.rejected) + 2  # one at the start, one to guess the first step


def test_dopri5_takes_about_as_many_steps_as_hairers_code(kernel: Kernel) -> None:
    from scipy.integrate import ode

    run = kernel.adaptive(0.0, START, until=20.0, rtol=1e-8, atol=1e-8)
    run.advance(10**6)
    accepted = []
    reference = ode(lambda t, y: [y[1], -math.sin(y[0])]).set_integrator("dopri5", rtol=1e-8, atol=1e-8, nsteps=10**5)
    reference.set_solout(lambda t, y: accepted.append(t))
    reference.set_initial_value(START, 0.0)
    reference.integrate(20.0)
    assert abs(run.accepted - (len(accepted) - 1)) <= 2


# -- records ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", FIXED)
def test_fixed_records_lie_on_the_grid(kernel: Kernel, method: str) -> None:
    run = kernel.fixed(method, 1.0, START, step=0.1, every=5)
    assert run.advance(22) is ChunkEnd.OK
    rows = run.take()
    np.testing.assert_array_equal(rows[:, 0], 1.0 + np.arange(0, 25, 5) * 0.1)
    np.testing.assert_array_equal(rows[0, 1:], START)
    assert (run.step, run.time, run.accepted) == (22, 1.0 + 22 * 0.1, 22)
    assert len(run.take()) == 0


@pytest.mark.parametrize("interval", [0.001, 0.01, 0.35, 1.0, 7.0])
def test_dense_records_are_as_accurate_as_the_steps(kernel: Kernel, interval: float) -> None:
    run = kernel.adaptive(0.0, START, until=7.0, interval=interval, rtol=1e-8, atol=1e-8, capacity=10**4)
    assert run.advance(10**6) is ChunkEnd.OK
    rows = run.take()
    count = round(7.0 / interval)
    np.testing.assert_array_equal(rows[:, 0], np.minimum(0.0 + interval * np.arange(count + 1), 7.0))
    assert rows[-1, 0] == 7.0
    np.testing.assert_array_equal(rows[-1, 1:], run.state)
    assert np.abs(rows[1:, 1:] - exact(np.minimum(rows[1:, 0], 7.0))).max() < 3e-7


def test_close_records_do_not_shorten_steps_and_far_ones_are_hit(kernel: Kernel) -> None:
    counts = {}
    for interval in (None, 1e-3, 0.4, 2.0):
        run = kernel.adaptive(0.0, START, until=8.0, interval=interval, rtol=1e-6, atol=1e-6, capacity=10**4)
        run.advance(10**6)
        counts[interval] = run.accepted
    assert counts[1e-3] == counts[None]
    assert counts[2.0] <= counts[None] + 8


def test_every_accepted_step_is_recorded_without_interval(kernel: Kernel) -> None:
    run = kernel.adaptive(0.0, START, until=5.0)
    run.advance(10**6)
    rows = run.take()
    assert len(rows) == run.accepted + 1
    assert np.all(np.diff(rows[:, 0]) > 0)


def test_the_last_step_can_be_interpolated(kernel: Kernel) -> None:
    run = kernel.adaptive(0.0, START, until=5.0, rtol=1e-9, atol=1e-9)
    run.advance(20)
    rows = run.take()
    (before, after) = rows[-2, 0], rows[-1, 0]
    times = np.linspace(before, after, 5)
    states = run.interpolate(times)
    np.testing.assert_allclose(states[[0, -1]], rows[-2:, 1:], atol=1e-14)
    np.testing.assert_allclose(states, exact(times), atol=1e-7)


# -- chunks ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", FIXED)
def test_fixed_chunks_change_nothing(kernel: Kernel, method: str) -> None:
    whole = kernel.fixed(method, 0.0, START, step=0.01, every=3)
    whole.advance(100)
    parts = kernel.fixed(method, 0.0, START, step=0.01, every=3, capacity=7)
    rows = []
    while parts.step < 100:
        status = parts.advance(min(3, 100 - parts.step))
        assert status in (ChunkEnd.OK, ChunkEnd.BUFFER_FULL)
        if status is ChunkEnd.BUFFER_FULL:
            rows.append(parts.take())
    rows.append(parts.take())
    np.testing.assert_array_equal(np.concatenate(rows), whole.take())
    np.testing.assert_array_equal(parts.state, whole.state)
    assert parts.evaluations == whole.evaluations


@pytest.mark.parametrize("interval", [None, 0.01, 0.5])
@pytest.mark.parametrize("which", ["kernel", "round_kernel"])
def test_adaptive_chunks_change_nothing(request, which: str, interval: float | None) -> None:
    kernel = request.getfixturevalue(which)
    start = START if which == "kernel" else [1.0, 0.0]
    whole = kernel.adaptive(0.0, start, until=9.0, interval=interval, capacity=10**4)
    assert whole.advance(10**6) is ChunkEnd.OK
    parts = kernel.adaptive(0.0, start, until=9.0, interval=interval, capacity=3)
    rows = []
    while not parts.done or parts.rows or not rows or rows[-1][-1, 0] < 9.0:
        assert parts.advance(1) in (ChunkEnd.OK, ChunkEnd.BUFFER_FULL)
        rows.append(parts.take())
        if not len(rows[-1]):
            rows.pop()
    np.testing.assert_array_equal(np.concatenate(rows), whole.take())
    np.testing.assert_array_equal(parts.state, whole.state)
    assert (parts.evaluations, parts.accepted) == (whole.evaluations, whole.accepted)


def test_the_end_may_be_moved_on(kernel: Kernel) -> None:
    run = kernel.adaptive(0.0, START, until=2.0, interval=0.5, rtol=1e-9, atol=1e-9)
    run.advance(10**6)
    run.aim(4.0)
    assert not run.done
    run.advance(10**6)
    np.testing.assert_allclose(run.take()[:, 0], np.arange(9) * 0.5)
    np.testing.assert_allclose(run.state, exact(4.0), atol=1e-7)


@pytest.mark.parametrize("method", FIXED)
def test_restart_forgets_the_past(kernel: Kernel, method: str) -> None:
    run = kernel.fixed(method, 0.0, [0.1, 0.0], step=0.05)
    run.advance(10)
    run.take()
    run.restart(3.0, START)
    run.advance(10)
    fresh = kernel.fixed(method, 3.0, START, step=0.05)
    fresh.advance(10)
    np.testing.assert_array_equal(run.take(), fresh.take())


# -- inputs ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def driven() -> Kernel:
    """q' = u0, v' = u1 * p."""
    return Kernel(model(2, lambda t, y, u, p: [u[0], u[1] * p[0]], inputs=2, parameters=1), cache=False)


@pytest.mark.parametrize("method", FIXED)
def test_held_inputs_and_parameters(driven: Kernel, method: str) -> None:
    run = driven.fixed(method, 0.0, [0.0, 0.0], step=0.1, parameters=[3.0], inputs=[2.0, -1.0])
    run.advance(10)
    np.testing.assert_allclose(run.state, [2.0, -3.0], rtol=1e-14)
    run.set_inputs([0.0, 1.0])
    run.advance(10)
    np.testing.assert_allclose(run.state, [2.0, 0.0], atol=1e-14)
    rows = run.take()
    assert rows.shape == (21, 5)
    np.testing.assert_array_equal(rows[[0, -1], 3:], [[2.0, -1.0], [0.0, 1.0]])


@pytest.mark.parametrize("method", FIXED)
def test_a_table_is_followed_linearly_and_held_at_its_ends(driven: Kernel, method: str) -> None:
    times, values = [0.0, 0.5, 0.5, 2.0], [[0.0, 1.0], [1.0, 2.0], [5.0, 2.0], [8.0, -1.0]]
    run = driven.fixed(method, -1.0, [0.0, 0.0], step=1 / 64, parameters=[1.0], inputs=(times, values))
    assert run.advance(256) is ChunkEnd.OK
    rows = run.take()
    for column in range(2):
        expected = np.interp(rows[:, 0], times, np.array(values)[:, column])
        expected[rows[:, 0] == 0.5] = values[2][column]
        np.testing.assert_allclose(rows[:, 3 + column], expected, atol=1e-14)
    if method != "adams":  # its predictor looks across the jump and the kinks
        area = 0.25 + 1.5 * 6.5 + 8.0
        assert abs(run.state[0] - area) < (1e-12 if method == "rk2" else 0.02)


def test_an_input_table_drives_dopri5(driven: Kernel) -> None:
    times = np.linspace(0, 3, 4)
    run = driven.adaptive(
        0.0, [0.0, 0.0], until=3.0, parameters=[1.0], inputs=(times, np.c_[times, times]), interval=0.1
    )
    assert run.advance(10**5) is ChunkEnd.OK
    rows = run.take()
    np.testing.assert_allclose(rows[:, 1], rows[:, 0] ** 2 / 2, atol=1e-10)
    np.testing.assert_allclose(rows[:, 3], rows[:, 0], atol=1e-14)


def test_wrong_tables_are_refused(driven: Kernel) -> None:
    for inputs in (([0.0, -1.0], [[0, 0], [0, 0]]), ([0.0, 1.0], [[0], [0]]), [1.0], [1.0, 2.0, 3.0]):
        with pytest.raises(RunError):
            driven.fixed("rk4", 0.0, [0.0, 0.0], step=0.1, parameters=[1.0], inputs=inputs)


# -- projection ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", FIXED)
def test_projection_follows_every_step(round_kernel: Kernel, method: str) -> None:
    kept = round_kernel.fixed(method, 0.0, [1.0, 0.0], step=0.2)
    free = round_kernel.fixed(method, 0.0, [1.0, 0.0], step=0.2, project=False)
    kept.advance(200)
    free.advance(200)
    radius = np.linalg.norm(kept.take()[:, 1:], axis=1)
    assert np.abs(radius - 1).max() < 1e-15
    assert np.abs(np.linalg.norm(free.take()[:, 1:], axis=1) - 1).max() > 1e-6


@pytest.mark.parametrize("interval", [None, 0.01, 3.0])
def test_projection_in_adaptive_steps_and_between(round_kernel: Kernel, interval: float | None) -> None:
    run = round_kernel.adaptive(0.0, [1.0, 0.0], until=12.0, interval=interval, rtol=1e-4, atol=1e-4)
    assert run.advance(10**6) is ChunkEnd.OK
    rows = run.take()
    assert np.abs(np.linalg.norm(rows[:, 1:], axis=1) - 1).max() < 1e-15
    free = round_kernel.adaptive(0.0, [1.0, 0.0], until=12.0, interval=interval, rtol=1e-4, atol=1e-4, project=False)
    free.advance(10**6)
    assert np.abs(np.linalg.norm(free.take()[:, 1:], axis=1) - 1).max() > 1e-7
    assert free.evaluations == 6 * (free.accepted + free.rejected) + 2


def test_projection_counts_its_calls() -> None:
    """Once a step if it changes little; a large change is projected again, up to twelve times, and what is still far
    off then ends the run at the last good state.
    """
    program = model(2, lambda t, y, u, p: [0, 0], project=lambda t, y, u, p: [y[0] + p[0], y[1]], parameters=1)
    kernel = Kernel(program, cache=False)
    for change, calls in ((2.0**-21, 17), (2.0**-12, 12 * 17), (1.0, 0)):
        run = kernel.fixed("rk4", 0.0, [0.0, 0.0], step=0.5, parameters=[change])
        assert run.advance(17) is (ChunkEnd.OK if calls else ChunkEnd.OFF_CONSTRAINTS)
        np.testing.assert_array_equal(run.state, [calls * change, 0.0])


# -- ends ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def failing() -> Kernel:
    """Grows like tan(t): infinite at pi/2; NaN beyond q = 10."""
    rate = lambda t, y, u, p: [ca.if_else(y[0] < 10, 1 + y[0] ** 2, ca.sqrt(-y[0])), 0]  # noqa: E731
    return Kernel(model(2, rate), cache=False)


@pytest.mark.parametrize("method", FIXED)
def test_not_a_number_ends_the_loop_with_the_last_good_state(failing: Kernel, method: str) -> None:
    run = failing.fixed(method, 0.0, [0.0, 0.0], step=0.01)
    assert run.advance(1000) is ChunkEnd.NOT_FINITE
    assert np.all(np.isfinite(run.state))
    assert 1.4 < run.time < 1.58
    rows = run.take()
    np.testing.assert_array_equal(rows[-1, 1:], run.state)
    assert rows[-1, 0] == run.time
    assert run.advance(10) is ChunkEnd.NOT_FINITE


def test_not_a_number_ends_adaptive_runs(failing: Kernel) -> None:
    run = failing.adaptive(0.0, [0.0, 0.0], until=5.0)
    assert run.advance(10**6) is ChunkEnd.NOT_FINITE
    assert run.time == pytest.approx(math.atan(10), abs=1e-4)
    start = failing.adaptive(0.0, [11.0, 0.0], until=5.0)
    assert start.advance(10) is ChunkEnd.NOT_FINITE
    assert start.time == 0.0


def test_a_singularity_makes_the_step_too_small() -> None:
    kernel = Kernel(model(1, lambda t, y, u, p: [y[0] ** 2]), cache=False)  # 1 / (1 - t)
    run = kernel.adaptive(0.0, [1.0], until=2.0, min_step=1e-8)
    assert run.advance(10**6) is ChunkEnd.STEP_TOO_SMALL
    assert run.time == pytest.approx(1.0, abs=1e-3)
    assert run.rejected > 0


def test_the_stop_flag_ends_a_chunk(kernel: Kernel) -> None:
    run = kernel.fixed("rk4", 0.0, START, step=1e-6, every=10**12)
    timer = threading.Timer(0.05, lambda: run.stop_flag.__setitem__(0, 1))
    timer.start()
    assert run.advance(10**12) is ChunkEnd.STOPPED
    timer.join()
    assert 0 < run.step < 10**12
    run.stop_flag[0] = 0
    assert run.advance(5) is ChunkEnd.OK


def test_a_run_of_no_length(kernel: Kernel) -> None:
    run = kernel.adaptive(1.0, START, until=1.0, interval=0.1)
    assert run.advance(10) is ChunkEnd.OK
    assert run.done
    assert run.take().shape == (1, 3)
    fixed = kernel.fixed("rk4", 1.0, START, step=0.1)
    assert fixed.advance(0) is ChunkEnd.OK
    assert fixed.take().shape == (1, 3)


def test_an_empty_state_is_carried_through() -> None:
    kernel = Kernel(model(0, lambda t, y, u, p: []), cache=False)
    run = kernel.adaptive(0.0, [], until=1.0, interval=0.5)
    assert run.advance(100) is ChunkEnd.OK
    np.testing.assert_array_equal(run.take(), [[0.0], [0.5], [1.0]])


def test_wrong_settings_are_refused(kernel: Kernel) -> None:
    with pytest.raises(RunError, match="rk4"):
        kernel.fixed("rk5", 0.0, START, step=0.1)
    with pytest.raises(RunError, match="adaptive"):
        kernel.fixed("dopri5", 0.0, START, step=0.1)
    with pytest.raises(RunError, match="step"):
        kernel.fixed("rk4", 0.0, START, step=0.0)
    with pytest.raises(RunError, match="state"):
        kernel.fixed("rk4", 0.0, [1.0], step=0.1)
    with pytest.raises(RunError, match="end"):
        kernel.adaptive(0.0, START, until=-1.0)
    with pytest.raises(RunError, match="tolerances"):
        kernel.adaptive(0.0, START, until=1.0, rtol=0.0, atol=0.0)


def test_a_large_model_is_linked_to_the_loop(monkeypatch) -> None:
    from kompono.compile import objects

    inline = Kernel(circle(), cache=False)
    monkeypatch.setattr(objects, "_INLINE", 0)
    monkeypatch.setattr(schedule, "DIRECT_LIMIT", 0)
    linked = Kernel(circle(), cache=False)
    for method in FIXED:
        runs = [kernel.fixed(method, 0.0, [1.0, 0.0], step=0.1) for kernel in (inline, linked)]
        assert [run.advance(50) for run in runs] == [ChunkEnd.OK] * 2
        np.testing.assert_allclose(runs[0].state, runs[1].state, rtol=1e-13)


def test_runs_in_threads_do_not_meet(kernel: Kernel) -> None:
    runs = [kernel.fixed("rk4", 0.0, [0.1 * i, 0.0], step=1e-4, every=10**9) for i in range(6)]
    threads = [threading.Thread(target=run.advance, args=(50_000,)) for run in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i, run in enumerate(runs):
        alone = kernel.fixed("rk4", 0.0, [0.1 * i, 0.0], step=1e-4, every=10**9)
        alone.advance(50_000)
        np.testing.assert_array_equal(run.state, alone.state)
