"""Code on several lanes computes on each what code on one computes, and lanes do not see each other."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest
from compile.programs import chain, circle, model, pendulum, tangle
from compile.test_lower import BINARY, EDGES, UNARY

from kompono.compile import ChunkEnd, Kernel, split
from kompono.compile.run_lanes import LanesRun
from kompono.errors import RunError
from kompono.translate.program import Program

WIDTHS = (2, 4, 8, 16)


def on_lanes(kernel: Kernel, states: np.ndarray, lanes: int, inputs: int = 0, parameters: int = 0) -> np.ndarray:
    """`derivative` of each row, `lanes` rows at a time; the number of rows is a multiple of them."""
    rows, n = states.shape
    wide = states.reshape(-1, lanes, n).transpose(0, 2, 1).reshape(rows // lanes, n * lanes)
    count = len(wide)
    common = np.tile(np.arange(1.0, 1.0 + inputs), (count, 1))
    values = np.arange(2.0, 2.0 + parameters).repeat(lanes)
    result = kernel.map("derivative", np.full(count, 0.5), wide, common, values, lanes=lanes)
    return result.reshape(count, -1, lanes).transpose(0, 2, 1).reshape(rows, -1)


def on_one(kernel: Kernel, states: np.ndarray, inputs: int = 0, parameters: int = 0) -> np.ndarray:
    common = np.tile(np.arange(1.0, 1.0 + inputs), (len(states), 1))
    return kernel.map("derivative", np.full(len(states), 0.5), states, common, np.arange(2.0, 2.0 + parameters))


@pytest.mark.parametrize("lanes", WIDTHS)
@pytest.mark.parametrize(("functions", "arguments"), [(UNARY, 1), (BINARY, 2)], ids=["unary", "binary"])
def test_every_operation_means_the_same(functions: dict, arguments: int, lanes: int) -> None:
    def rate(t: ca.SX, y: ca.SX, u: ca.SX, p: ca.SX) -> list:
        return [f(*[y[i] for i in range(arguments)]) for f in functions.values()]

    if arguments == 1:
        x = np.concatenate([EDGES, np.random.default_rng(0).normal(0, 2, 255)])[:, None]
    else:
        edges = np.array([(a, b) for a in EDGES for b in EDGES])
        x = np.concatenate([edges, np.random.default_rng(1).normal(0, 3, (303, 2))])
    x = x[: len(x) // 16 * 16]
    kernel = Kernel(Program(*_program(model(arguments, rate))), cache=False)
    single, wide = on_one(kernel, x), on_lanes(kernel, x, lanes)
    for j, name in enumerate(functions):
        if name in ("sin", "cos"):
            near = np.abs(x[:, 0]) < 2.0**30
            np.testing.assert_allclose(wide[near, j], single[near, j], rtol=3e-16, atol=0, err_msg=name)
        elif name in ("fmin", "fmax"):
            np.testing.assert_array_equal(wide[:, j], single[:, j], err_msg=name)
        else:
            np.testing.assert_allclose(wide[:, j], single[:, j], rtol=5e-16, atol=0, err_msg=name)


def _program(program: Program) -> tuple:
    """The same program; its `derivative` may have more outputs than states."""
    return program.kernels, program.routines, ("q",) * program.state_size, (), (), ()


@pytest.mark.parametrize("lanes", [2, 8])
def test_tables_of_shared_kernels_work_on_lanes(lanes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kompono.compile.schedule.DIRECT_LIMIT", 1)
    kernel = Kernel(chain(30), cache=False)
    states = np.random.default_rng(3).normal(size=(16, 60))
    single, wide = on_one(kernel, states, 1, 1), on_lanes(kernel, states, lanes, 1, 1)
    np.testing.assert_allclose(wide, single, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("lanes", [4, 8])
def test_code_that_is_cut_works_on_lanes(lanes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(split, "LIMIT", 100)
    monkeypatch.setattr(split, "SEGMENT", 50)
    kernel = Kernel(tangle(8, 600), cache=False)
    states = np.random.default_rng(4).normal(size=(16, 8))
    np.testing.assert_allclose(on_lanes(kernel, states, lanes), on_one(kernel, states), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("method", ["rk2", "rk4", "adams"])
@pytest.mark.parametrize("lanes", WIDTHS)
def test_a_loop_on_lanes_gives_what_single_runs_give(method: str, lanes: int) -> None:
    for program, n in ((pendulum(), 2), (circle(), 2)):
        kernel = Kernel(program, cache=False)
        starts = np.random.default_rng(5).normal(1, 0.3, (n, lanes))
        wide = kernel.fixed(method, 0.0, starts, step=0.01, every=7, lanes=lanes)
        assert wide.advance(100) is ChunkEnd.OK
        records = wide.take()
        for k in range(lanes):
            single = kernel.fixed(method, 0.0, starts[:, k], step=0.01, every=7)
            assert single.advance(100) is ChunkEnd.OK
            np.testing.assert_allclose(wide.state.reshape(n, lanes)[:, k], single.state, rtol=1e-13, atol=1e-15)
            own = np.column_stack([records[:, 0], records[:, 1:].reshape(len(records), n, lanes)[:, :, k]])
            np.testing.assert_allclose(own, single.take(), rtol=1e-13, atol=1e-15)


def test_chunks_change_nothing_on_lanes() -> None:
    kernel = Kernel(pendulum(), cache=False)
    starts = np.random.default_rng(6).normal(size=(2, 4))
    whole, cut = (kernel.fixed("adams", 0.0, starts, step=0.01, lanes=4, capacity=200) for _ in range(2))
    whole.advance(100)
    for steps in (1, 2, 30, 67):
        cut.advance(steps)
    assert np.array_equal(whole.take(), cut.take())


def test_a_lane_that_is_lost_says_when_and_leaves_the_others_alone() -> None:
    program = model(2, lambda t, y, u, p: [y[1], ca.sqrt(p[0] - t)], parameters=1)
    kernel = Kernel(program, cache=False)
    limits = np.array([9.0, 0.505, 9.0, 0.255])
    run = kernel.fixed("rk4", 0.0, np.zeros((2, 4)), step=0.01, parameters=limits, lanes=4)
    assert run.advance(100) is ChunkEnd.OK
    assert list(run.lost) == [np.inf, pytest.approx(0.5), np.inf, pytest.approx(0.25)]
    single = kernel.fixed("rk4", 0.0, np.zeros(2), step=0.01, parameters=[9.0])
    single.advance(100)
    for lane in (0, 2):
        assert np.array_equal(run.state.reshape(2, 4)[:, lane], single.state)


def test_a_loop_ends_when_all_lanes_are_lost() -> None:
    program = model(2, lambda t, y, u, p: [y[1], ca.sqrt(p[0] - t)], parameters=1)
    run = Kernel(program, cache=False).fixed(
        "rk4", 0.0, np.zeros((2, 2)), step=0.01, parameters=[0.5, 0.3], lanes=2
    )  # fmt: skip
    assert run.advance(100) is ChunkEnd.NOT_FINITE
    assert run.time == pytest.approx(0.5, abs=0.011)


def test_only_lanes_that_need_it_are_projected_again() -> None:
    """A second projection of a lane that is there already would move it by rounding."""
    kernel = Kernel(circle(), cache=False)
    starts = np.array([[1.0, 3.0], [0.0, 0.0]])
    wide = kernel.fixed("rk4", 0.0, starts, step=0.01, lanes=2)
    alone = kernel.fixed("rk4", 0.0, starts[:, 0], step=0.01)
    wide.advance(5)
    alone.advance(5)
    assert np.array_equal(wide.state.reshape(2, 2)[:, 0], alone.state)


def test_what_cannot_run_on_lanes_is_said() -> None:
    """Parts elsewhere tell of their events to one run at a time."""
    program = model(1, lambda t, y, u, p: [1.0], guards=lambda t, y, u, p: [y[0]], switches=[lambda t, y, u, p: [0.0]])
    kernel = Kernel(replace(program, away={"part": ("part",)}), cache=False)
    with pytest.raises(RunError, match="events and parts elsewhere runs on one lane"):
        kernel.fixed("rk4", 0.0, np.zeros((1, 2)), step=0.1, lanes=2)


@pytest.mark.parametrize("method", ["rk2", "rk4", "adams"])
@pytest.mark.parametrize("seed", range(3))
def test_random_events_on_lanes(method: str, seed: int) -> None:
    """Oscillators with guards at random places, whose switches turn a mode and push; chunks change nothing."""
    random = np.random.default_rng(seed)
    pull, places = random.normal(size=(2, 4)) * 4, random.normal(size=(3, 4))

    def rate(t: ca.SX, y: ca.SX, u: ca.SX, p: ca.SX) -> list:
        forces = [-p[0] * (1 + 0.5 * y[4]) * y[i] + 0.1 * ca.dot(ca.DM(pull[i]), y[:4]) for i in range(2)]
        return [y[2], y[3], *forces, 0.0]

    program = model(
        5, rate, parameters=1,
        guards=lambda t, y, u, p: [ca.dot(ca.DM(place[:2]), y[:2]) - 0.1 for place in places],
        switches=[
            lambda t, y, u, p, k=k: [y[0], y[1], 0.97 * y[2], y[3], ca.if_else(y[4] > 0.5, 0.0, 1.0 + 0.01 * k)]
            for k in range(3)
        ],
    )  # fmt: skip
    kernel, lanes = Kernel(program, cache=False), 4
    states, springs = random.normal(size=(5, lanes)), random.uniform(20, 60, lanes)
    states[4] = 0.0
    wide = kernel.fixed(method, 0.0, states, step=0.01, parameters=springs, lanes=lanes, filled=3, every=10)
    for steps in (1, 99, 7, 93):
        assert wide.advance(steps) is ChunkEnd.OK
    records = wide.take()
    assert isinstance(wide, LanesRun)
    for k in range(3):
        single = kernel.fixed(method, 0.0, states[:, k], step=0.01, parameters=springs[k : k + 1], every=10)
        assert single.advance(200) is ChunkEnd.OK
        assert len(single.events) > 3
        np.testing.assert_allclose(wide.runs[k].events, single.events, rtol=0, atol=1e-9)
        own = np.column_stack([records[:, 0], records[:, 1:].reshape(len(records), 5, lanes)[:, :, k]])
        np.testing.assert_allclose(own, single.take(), rtol=0, atol=1e-9)
        np.testing.assert_allclose(wide.state.reshape(5, lanes)[:, k], single.state, rtol=0, atol=1e-9)
        assert wide.taken[k] + wide.runs[k].accepted == single.accepted


def test_numbers_that_shrink_to_nothing_become_zero() -> None:
    """x halves at each step; below 2.2e-308 it would be a number that takes a hundred times as long."""
    kernel = Kernel(model(2, lambda t, y, u, p: [-y[0], -y[0]]), cache=False)
    run = kernel.fixed("rk2", 0.0, [1e-300, 0.0], step=1.0)
    run.advance(60)
    assert run.state[0] == 0.0 or run.state[0] >= np.finfo(float).tiny
    assert np.float64(1e-310) / 2 > 0  # the rest of the process is not affected
