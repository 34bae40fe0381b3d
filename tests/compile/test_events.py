"""Events in the native loops: found where they are, handled in order, seen by nobody who has none."""

from __future__ import annotations

import itertools
import math
import re

import casadi as ca
import numpy as np
import pytest
from compile.programs import circle, model, pendulum

from kompono.compile import ChunkEnd, Kernel
from kompono.compile.block import Block
from kompono.compile.loops import LOOPS
from kompono.compile.machine import Machine
from kompono.compile.run import Run
from kompono.errors import CompileError

FIXED = ["rk2", "rk4", "adams"]
METHODS = [*FIXED, "dopri5"]
GRAVITY, RESTITUTION = 9.81, 0.8


def ball(restitution: float = RESTITUTION) -> Kernel:
    """A ball that falls to the floor and comes back slower."""
    program = model(
        2,
        lambda t, y, u, p: [y[1], -GRAVITY],
        guards=lambda t, y, u, p: [-y[0]],
        switches=[lambda t, y, u, p: [y[0], -restitution * y[1]]],
    )
    return Kernel(program, cache=False)


def latch() -> Kernel:
    """x' = -x until x falls to 1/2, then x' = -4 x^2; the mode is the last state."""
    program = model(
        2,
        lambda t, y, u, p: [ca.if_else(y[1] > 0.5, -4 * y[0] ** 2, -y[0]), 0],
        guards=lambda t, y, u, p: [0.5 - y[0]],
        switches=[lambda t, y, u, p: [y[0], 1]],
    )
    return Kernel(program, cache=False)


def clock(guards, switches, rate=lambda t, y, u, p: [1, 0], **more) -> Kernel:
    """The state (time, something)."""
    return Kernel(model(2, rate, guards=guards, switches=switches, **more), cache=False)


def start(kernel: Kernel, method: str, state, until: float, step: float = 0.01, **more) -> Run:
    """A run that has not moved."""
    if method == "dopri5":
        return kernel.adaptive(0.0, state, until=until, rtol=1e-10, atol=1e-10, capacity=10**5, **more)
    return kernel.fixed(method, 0.0, state, step=step, capacity=10**5, **more)


def finish(run: Run, until: float, step: float = 0.01) -> ChunkEnd:
    """All of it at once."""
    return run.advance(10**6 if hasattr(run, "aim") else round(until / step))


def bounces(height: float, count: int) -> np.ndarray:
    fall = math.sqrt(2 * height / GRAVITY)
    flights = 2 * fall * RESTITUTION ** np.arange(1, count)
    return fall + np.concatenate([[0.0], np.cumsum(flights)])


# -- where and what --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_a_ball_bounces_on_time(method: str) -> None:
    run = start(ball(), method, [1.0, 0.0], 3.0)
    assert finish(run, 3.0) is ChunkEnd.OK
    expected = bounces(1.0, 9)
    expected = expected[expected < 3.0]
    np.testing.assert_array_equal(run.events[:, 1], 0)
    np.testing.assert_allclose(run.events[:, 0], expected, rtol=0, atol=1e-10)
    assert run.time == pytest.approx(3.0)
    after, speed = 3.0 - expected[-1], math.sqrt(2 * GRAVITY) * RESTITUTION ** len(expected)
    np.testing.assert_allclose(run.state, [speed * after - GRAVITY * after**2 / 2, speed - GRAVITY * after], atol=1e-8)


@pytest.mark.parametrize("method", METHODS)
def test_an_event_is_located_just_behind_the_crossing(method: str) -> None:
    run = start(ball(), method, [1.0, 0.0], 1.0)
    finish(run, 1.0)
    (time, _), rows = run.events[0], run.take()
    before, after = rows[rows[:, 0] == time]
    assert -1e-11 < before[1] <= 0
    assert time - math.sqrt(2 / GRAVITY) < 2e-12
    assert after[1] == before[1]
    assert after[2] == -RESTITUTION * before[2]


def latched(time: np.ndarray) -> np.ndarray:
    """The latch, exactly."""
    when = math.log(2)
    return np.where(time < when, np.exp(-time), 1 / (2 + 4 * (time - when)))


@pytest.mark.parametrize(("method", "order"), [("rk2", 2), ("rk4", 4), ("adams", 4)])
def test_the_order_survives_an_event(method: str, order: int) -> None:
    kernel, errors = latch(), []
    for steps in (40, 80, 160, 320):
        run = kernel.fixed(method, 0.0, [1.0, 0.0], step=2.0 / steps)
        assert run.advance(steps) is ChunkEnd.OK
        rows = run.take()
        assert len(run.events) == 1
        errors.append(np.abs(rows[:, 1] - latched(rows[:, 0])).max())
    slope = np.log2(errors[0] / errors[-1]) / 3
    assert slope > order - 0.35, errors


@pytest.mark.parametrize("tolerance", [1e-5, 1e-8, 1e-11])
def test_dopri5_keeps_its_tolerance_across_an_event(tolerance: float) -> None:
    run = latch().adaptive(0.0, [1.0, 0.0], until=2.0, interval=0.01, rtol=tolerance, atol=tolerance)
    assert run.advance(10**5) is ChunkEnd.OK
    rows = run.take()
    np.testing.assert_allclose(rows[:, 0], np.arange(201) * 0.01, atol=1e-14)
    assert np.abs(rows[:, 1] - latched(rows[:, 0])).max() < 20 * tolerance
    np.testing.assert_array_equal(rows[:, 2], rows[:, 0] > math.log(2))
    assert abs(run.events[0, 0] - math.log(2)) < 20 * tolerance


@pytest.mark.parametrize("method", METHODS)
def test_guards_see_projected_states(method: str) -> None:
    program = model(
        3,
        lambda t, y, u, p: [-y[1], y[0], 0],
        project=lambda t, y, u, p: [y[0] / ca.norm_2(y[:2]), y[1] / ca.norm_2(y[:2]), y[2]],
        guards=lambda t, y, u, p: [y[1] - 0.5],
        switches=[lambda t, y, u, p: [y[0], y[1], y[2] + 1]],
    )
    run = start(Kernel(program, cache=False), method, [1.0, 0.0, 0.0], 14.0)
    assert finish(run, 14.0) is ChunkEnd.OK
    assert run.state[2] == len(run.events) == 3
    tolerance = 1e-3 if method == "rk2" else 1e-8
    np.testing.assert_allclose(run.events[:, 0], math.pi / 6 + 2 * math.pi * np.arange(3), atol=tolerance)
    rows = run.take()
    assert np.abs(np.hypot(rows[:, 1], rows[:, 2]) - 1).max() < 1e-15


# -- several, none, too many -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_two_guards_in_one_step_come_in_order_of_time(method: str) -> None:
    kernel = clock(
        lambda t, y, u, p: [y[0] - 0.158, y[0] - 0.152],
        [lambda t, y, u, p: [y[0], 10 * y[1] + 1], lambda t, y, u, p: [y[0], 10 * y[1] + 2]],
    )
    run = (
        start(kernel, method, [0.0, 0.0], 0.5, max_step=0.1)
        if method == "dopri5"
        else start(kernel, method, [0.0, 0.0], 0.5, step=0.1)
    )
    assert finish(run, 0.5, 0.1) is ChunkEnd.OK
    np.testing.assert_allclose(run.events, [[0.152, 1], [0.158, 0]], atol=1e-11)
    np.testing.assert_allclose(run.state, [0.5, 21.0], rtol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_guards_that_fire_together_switch_lowest_first(method: str) -> None:
    guard = lambda t, y, u, p: [y[0] - 0.25, 2 * (y[0] - 0.25), 0.25 - y[0]]  # noqa: E731
    switches = [lambda t, y, u, p, k=k: [y[0], 10 * y[1] + k] for k in (1, 2, 3)]
    run = start(clock(guard, switches), method, [0.0, 0.0], 0.5)
    assert finish(run, 0.5) is ChunkEnd.OK
    np.testing.assert_array_equal(run.events[:, 1], [0, 1])
    assert run.events[0, 0] == run.events[1, 0] == pytest.approx(0.25, abs=1e-11)
    assert run.state[1] == 12.0


@pytest.mark.parametrize("method", METHODS)
def test_a_switch_may_cause_the_next_at_the_same_time(method: str) -> None:
    kernel = clock(
        lambda t, y, u, p: [y[1] - 0.5, y[0] - 0.123],
        [lambda t, y, u, p: [y[0], 7], lambda t, y, u, p: [y[0], 1]],
    )
    run = start(kernel, method, [0.0, 0.0], 0.3)
    assert finish(run, 0.3) is ChunkEnd.OK
    np.testing.assert_array_equal(run.events[:, 1], [1, 0])
    assert run.events[0, 0] == run.events[1, 0]
    assert run.state[1] == 7.0


@pytest.mark.parametrize("method", METHODS)
def test_grazing_is_no_event(method: str) -> None:
    kernel = clock(
        lambda t, y, u, p: [-((t - 0.105) ** 2), y[0] * (0 * t), -1.0 - t],
        [lambda t, y, u, p: [y[0], y[1] + 1]] * 3,
    )
    run = start(kernel, method, [0.0, 0.0], 0.5)
    assert finish(run, 0.5) is ChunkEnd.OK
    assert run.events.shape == (0, 2)
    assert run.state[1] == 0.0


@pytest.mark.parametrize("method", METHODS)
def test_a_guard_that_starts_above_zero_waits_until_it_was_below(method: str) -> None:
    kernel = clock(lambda t, y, u, p: [ca.cos(2 * math.pi * t)], [lambda t, y, u, p: [y[0], y[1] + 1]])
    run = start(kernel, method, [0.0, 0.0], 2.0, **({"max_step": 0.1} if method == "dopri5" else {}))
    assert finish(run, 2.0) is ChunkEnd.OK
    np.testing.assert_allclose(run.events[:, 0], [0.75, 1.75], atol=1e-11)


@pytest.mark.parametrize("method", METHODS)
def test_an_event_on_the_grid_is_seen_once(method: str) -> None:
    kernel = clock(lambda t, y, u, p: [t - 0.25], [lambda t, y, u, p: [y[0], y[1] + 1]])
    run = start(kernel, method, [0.0, 0.0], 0.5, step=1 / 64)
    assert finish(run, 0.5, 1 / 64) is ChunkEnd.OK
    np.testing.assert_allclose(run.events, [[0.25, 0]], atol=1e-11)
    assert run.state[1] == 1.0


@pytest.mark.parametrize("method", METHODS)
def test_events_without_end_end_the_run(method: str) -> None:
    flip = [lambda t, y, u, p: [y[0], -1], lambda t, y, u, p: [y[0], 1]]
    kernel = clock(lambda t, y, u, p: [ca.if_else(t > 0.1, y[1], -1), ca.if_else(t > 0.1, -y[1], -1)], flip)
    run = start(kernel, method, [0.0, 1.0], 0.5)
    assert finish(run, 0.5) is ChunkEnd.TOO_MANY_EVENTS
    assert run.time == pytest.approx(0.1, abs=1e-11)
    assert len(run.events) == 101
    assert np.all(run.events[:, 0] == run.time)


@pytest.mark.parametrize("method", METHODS)
def test_inputs_that_jump_fire_at_once(method: str) -> None:
    kernel = clock(lambda t, y, u, p: [u[0]], [lambda t, y, u, p: [y[0], y[1] + 1]], inputs=1)
    run = start(kernel, method, [0.0, 0.0], 0.2, inputs=[-1.0])
    finish(run, 0.1)
    if method == "dopri5":
        run.aim(0.3)
    time = run.time
    run.set_inputs([1.0])
    run.advance(10)
    np.testing.assert_array_equal(run.events, [[time, 0]])


# -- records, chunks, memory -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", FIXED)
def test_the_grid_is_kept_and_events_are_recorded_twice(method: str) -> None:
    run = ball().fixed(method, 0.0, [1.0, 0.0], step=0.01, capacity=10**4)
    run.advance(200)
    rows, events = run.take(), run.events
    extra = np.isin(rows[:, 0], events[:, 0])
    np.testing.assert_array_equal(rows[~extra, 0], 0.0 + np.arange(201) * 0.01)
    np.testing.assert_array_equal(rows[extra, 0], np.repeat(events[:, 0], 2))
    assert np.all(np.diff(rows[:, 0]) >= 0)
    sparse = ball().fixed(method, 0.0, [1.0, 0.0], step=0.01, every=10)
    sparse.advance(200)
    np.testing.assert_array_equal(sparse.take(), rows[~extra][::10])


def test_dopri5_records_every_step_and_both_sides_of_events() -> None:
    run = start(ball(), "dopri5", [1.0, 0.0], 2.0)
    finish(run, 2.0)
    rows, events = run.take(), run.events
    assert len(rows) == run.accepted + 1 + len(events)
    for time in events[:, 0]:
        before, after = rows[rows[:, 0] == time]
        assert before[2] < 0 < after[2]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("capacity", [1, 2, 7])
def test_chunks_change_nothing(method: str, capacity: int) -> None:
    kernel = ball()
    whole = start(kernel, method, [1.0, 0.0], 3.0)
    finish(whole, 3.0)
    parts = start(kernel, method, [1.0, 0.0], 3.0)
    parts._block.capacity = capacity
    rows = []
    for chunk in itertools.cycle([1, 2, 5]):
        left = 300 - parts.step if method != "dopri5" else 10**6
        status = parts.advance(min(chunk, left))
        assert status in (ChunkEnd.OK, ChunkEnd.BUFFER_FULL)
        rows.append(parts.take())
        if status is ChunkEnd.OK and (parts.done if method == "dopri5" else parts.step == 300):
            break
    np.testing.assert_array_equal(np.concatenate(rows), whole.take())
    np.testing.assert_array_equal(parts.events, whole.events)
    np.testing.assert_array_equal(parts.state, whole.state)
    assert (parts.evaluations, parts.accepted) == (whole.evaluations, whole.accepted)


@pytest.mark.parametrize("method", METHODS)
def test_the_log_grows(method: str) -> None:
    kernel = clock(lambda t, y, u, p: [ca.sin(2 * math.pi * 100 * t)], [lambda t, y, u, p: [y[0], y[1] + 1]])
    more = {"max_step": 1e-3} if method == "dopri5" else {}
    run = start(kernel, method, [0.0, 0.0], 4.0, step=1e-3, **more)
    assert finish(run, 4.0, 1e-3) is ChunkEnd.OK
    events = run.events
    assert run.state[1] == len(events) == pytest.approx(400, abs=1)
    np.testing.assert_allclose(events[1:, 0], np.round(events[1:, 0], 2), atol=2e-12)


@pytest.mark.parametrize("method", METHODS)
def test_restart_forgets_guards(method: str) -> None:
    kernel = ball()
    run = start(kernel, method, [1.0, 0.0], 3.0)
    run.advance(60)
    run.take()
    run.restart(0.0, [-1.0, 1.0])  # below the floor: nothing fires until it was above
    count = len(run.events)
    run.advance(10)
    assert len(run.events) == count


def test_a_guard_without_switch_is_told() -> None:
    program = model(1, lambda t, y, u, p: [1], guards=lambda t, y, u, p: [y[0]])
    with pytest.raises(CompileError, match="switch_0"):
        Kernel(program, cache=False).fixed("rk4", 0.0, [0.0], step=0.1)


@pytest.mark.parametrize("method", METHODS)
def test_models_without_guards_have_no_trace_of_them(method: str) -> None:
    for program in (circle(), pendulum(inputs=1)):
        text = LOOPS[method](Machine(program), "loop")
        assert "guards" not in text
        assert "switch" not in text
        fields = [int(index) for index in re.findall(r"getelementptr i64, ptr %block, i64 (\d+)", text)]
        assert max(fields) < Block.log.offset // 8  # what events need lies behind all other fields
    run = start(Kernel(pendulum(), cache=False), method, [1.0, 0.0], 0.1)
    finish(run, 0.1)
    assert run.events.shape == (0, 2)
