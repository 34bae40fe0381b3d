"""Long functions are cut into segments, and nobody sees it in the result."""

from __future__ import annotations

import numpy as np
import pytest
from compile.programs import chain, tangle

from kompono.compile import Interpreter, Kernel, objects, schedule, split

STATES = np.random.default_rng(4).normal(size=(20, 8))


def rates(program) -> np.ndarray:
    return Kernel(program, cache=False).map("derivative", np.zeros(len(STATES)), STATES)


@pytest.mark.parametrize("segment", [5, 40, 333])
def test_cuts_do_not_change_a_bit(monkeypatch, segment: int) -> None:
    program = tangle(8, 600)
    whole = rates(program)
    exact = Interpreter(program).map("derivative", np.zeros(len(STATES)), STATES)
    np.testing.assert_allclose(whole, exact, rtol=1e-10)
    monkeypatch.setattr(split, "LIMIT", 0)
    monkeypatch.setattr(split, "SEGMENT", segment)
    text = schedule.define(program, program.routines.values())
    assert text.count("define internal") > 600 / segment
    np.testing.assert_array_equal(rates(program), whole)


def test_short_functions_stay_whole() -> None:
    program = tangle(8, 600)
    assert schedule.define(program, program.routines.values()).count("define") == 1


@pytest.mark.parametrize("limit", [0, 10**9], ids=["tabled", "direct"])
def test_shared_kernels_and_several_calls_are_cut_too(monkeypatch, limit: int) -> None:
    program = chain(8)
    arguments = 0.5, np.random.default_rng(5).normal(size=16), [1.5], [-0.3]
    monkeypatch.setattr(schedule, "DIRECT_LIMIT", limit)
    whole = Kernel(program, cache=False).evaluate("derivative", *arguments)
    monkeypatch.setattr(split, "LIMIT", 0)
    monkeypatch.setattr(split, "SEGMENT", 6)
    cut = Kernel(program, cache=False).evaluate("derivative", *arguments)
    for a, b in zip(cut, whole, strict=True):
        np.testing.assert_array_equal(a, b)


def test_several_routines_are_prepared_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    assemble_all = objects.assemble_all
    monkeypatch.setattr(objects, "assemble_all", lambda texts: made.append(len(texts)) or assemble_all(texts))
    kernel = Kernel(chain(3), cache=False)
    kernel.prepare(routines=["derivative"], method="rk2")
    kernel.prepare("derivative", "rk4")
    before = sum(made)
    assert before > 0
    start, parameters = np.zeros(kernel.program.state_size), np.zeros(len(kernel.program.parameters))
    kernel.fixed("rk4", 0.0, start, step=0.1, parameters=parameters).advance(1)
    assert sum(made) == before
