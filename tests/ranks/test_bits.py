"""The same bits on any number of processes (here threads with wires between them), and the fewest messages."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

from kompono import Subsystem
from kompono.compile import compile_program
from kompono.compile.messages import largest_message
from kompono.compile.spread import SpreadKernel
from kompono.ranks.tree import make_plan
from kompono.translate import Translation, translate
from kompono.translate.engines.large.share import Share, SpreadEngine

from .emulated import Post, in_step
from .machines import Chain, Forest, Tree

MODELS: dict[str, Callable[[], Subsystem]] = {"tree": Tree, "chain": Chain, "forest": Forest}


@lru_cache
def translated(name: str) -> Translation:
    return translate(MODELS[name](), nested_from=1)


def start(name: str) -> np.ndarray:
    program = translated(name).program
    state = np.random.default_rng(3).uniform(-0.5, 0.5, program.state_size)
    for k, coordinate in enumerate(program.coordinates):
        if coordinate.endswith(".e0"):
            state[k : k + 4] /= np.linalg.norm(state[k : k + 4])
    return state


class Parts:
    """A model on several threads."""

    def __init__(self, name: str, ranks: int, wanted: dict[str, int] | None = None) -> None:
        whole = translated(name)
        self.program, self.post = whole.program, Post(ranks)
        self.plan = make_plan(whole, ranks, wanted)
        self.kernels, self.places = [], []
        for rank in range(ranks):
            share = Share(self.plan.homes, rank, ranks, self.plan.by_levels, self.plan.posed)
            engine = SpreadEngine(whole.model, whole.engine.tree, {}, share)
            program = engine.program(self.plan.state_size)
            wires = self.post.wires(rank, engine.counts, largest_message(program.routines["derivative"]))
            self.kernels.append(SpreadKernel(program, wires))
            known = {n: k for k, n in enumerate((*self.program.coordinates, *self.program.speeds))}
            self.places.append(np.array([known[n] for n in (*program.coordinates, *program.speeds)]))

    def all(self, job: Callable[[SpreadKernel, np.ndarray, int], np.ndarray]) -> np.ndarray:
        """What each has of a vector of the whole, put together; who has the same must agree."""
        for kernel in self.kernels:  # one at a time, for they share the compiler
            kernel.prepare("derivative")
        tasks = [
            lambda k=kernel, p=places, r=rank: job(k, p, r)
            for rank, (kernel, places) in enumerate(zip(self.kernels, self.places, strict=True))
        ]
        whole = np.full(self.program.state_size, np.nan)
        for places, part in zip(self.places, in_step(tasks), strict=True):
            seen = ~np.isnan(whole[places])
            np.testing.assert_array_equal(whole[places][seen], part[seen])
            whole[places] = part
        return whole


def values(name: str) -> dict[str, Any]:
    program = translated(name).program
    return {"inputs": np.full(len(program.inputs), 0.2), "parameters": np.full(len(program.parameters), 35.0)}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_accelerations_have_the_same_bits(name: str, ranks: int) -> None:
    parts, state, given = Parts(name, ranks), start(name), values(name)
    rate = parts.all(lambda kernel, places, _: kernel.evaluate("derivative", 0.1, state[places], **given)[0])
    expected = compile_program(translated(name).program).evaluate("derivative", 0.1, state, **given)[0]
    np.testing.assert_array_equal(rate, expected)
    assert parts.plan.by_levels == (name == "chain" and ranks > 1)
    gathered = ranks if ranks > 1 else 0
    of_three_trees = 0 if ranks == 3 else gathered  # two processes share the bar of one of them
    assert parts.post.messages == {"tree": gathered, "chain": 3 * (ranks - 1), "forest": of_three_trees}[name]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("method", ["rk4", "adams"])
def test_steps_have_the_same_bits(name: str, method: str) -> None:
    state, given = start(name), values(name)

    def run(kernel: Any, places: np.ndarray) -> np.ndarray:
        run = kernel.fixed(method, 0.0, state[places], step=1e-3, **given)
        assert run.advance(12).name == "OK"
        return run.state.copy()

    found = Parts(name, 2)
    for kernel in found.kernels:
        kernel.prepare(method=method)
    ends = found.all(lambda kernel, places, _: run(kernel, places))
    whole = compile_program(translated(name).program)
    np.testing.assert_array_equal(ends, run(whole, np.arange(len(state))))


@pytest.mark.parametrize("name", MODELS)
def test_adaptive_steps_do_not_depend_on_the_number_of_ranks(name: str) -> None:
    state, given = start(name), values(name)
    ends, steps = [], []
    for ranks in (1, 2, 3):
        parts = Parts(name, ranks)
        seen: set[int] = set()
        counts: dict[int, Any] = {}

        def run(kernel: Any, places: np.ndarray, rank: int) -> np.ndarray:
            atol = np.full(len(places), 1e-9)
            atol[counts[rank]] = np.inf  # noqa: B023
            run = kernel.adaptive(0.0, state[places], until=0.03, rtol=1e-7, atol=atol, **given)
            assert run.advance(1000).name == "OK"
            steps.append((run.accepted, run.rejected, run.step_size))
            return run.state.copy()

        for rank, (kernel, places) in enumerate(zip(parts.kernels, parts.places, strict=True)):
            kernel.prepare(method="dopri5")
            counts[rank] = np.array([place in seen for place in places.tolist()])
            seen |= set(places.tolist())
        ends.append(parts.all(run))
    np.testing.assert_array_equal(ends[0], ends[1])
    np.testing.assert_array_equal(ends[0], ends[2])
    assert len(set(steps)) == 1
    assert steps[0][0] > 3
    plain = compile_program(translated(name).program).adaptive(0.0, state, until=0.03, rtol=1e-7, atol=1e-9, **given)
    plain.advance(1000)
    np.testing.assert_allclose(ends[0], plain.state, rtol=1e-7, atol=1e-9)


def test_all_end_where_one_is_not_finite() -> None:
    parts, state = Parts("tree", 2), start("tree")
    times = []

    def run(kernel: Any, places: np.ndarray, rank: int) -> np.ndarray:
        own = state[places].copy()
        run = kernel.fixed("rk4", 0.0, own, step=1e-3)
        assert run.advance(3).name == "OK"
        if rank == 1:
            run.state[-1] = np.inf
        assert run.advance(3).name == "NOT_FINITE"
        times.append(run.time)
        return own

    for kernel in parts.kernels:
        kernel.prepare(method="rk4")
    parts.all(run)
    assert times == [3e-3, 3e-3]
