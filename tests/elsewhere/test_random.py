"""Random mechanisms with loops through the border: the same bits with their parts elsewhere."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from laws.mechanisms import Case, loops, nestings, redundant_loops, trees
from laws.test_accelerations import examples
from parts.test_by_parts import closings, evaluated

from kompono.compile import compile_program
from kompono.elsewhere.hosts import InProcess
from kompono.elsewhere.kernel import AwayKernel
from kompono.elsewhere.session import session_of
from kompono.translate import away_translation

pytestmark = pytest.mark.filterwarnings("ignore::kompono.ModelWarning")


@examples(3)
@given(st.data(), st.one_of(trees(bodies=(3, 5)), loops(), redundant_loops()))
def test_rates_and_projections_are_the_same(data: Any, case: Case) -> None:
    nesting = data.draw(nestings(len(case.m.carriers)))
    e = evaluated(case, nesting, data.draw(closings(nesting)))
    near = e.translation
    paths = [part.path for part in near.engine.compartment.parts]
    assume(paths)
    away = away_translation(near, paths)
    engine: Any = away.engine
    closed, now, kept = compile_program(near.program, cache=False), case.m.time, engine.kept
    kernel = AwayKernel(away.program, engine, dict.fromkeys(paths, InProcess()), cache=False)
    with ExitStack() as stack:
        state = stack.enter_context(kernel.begun(e.state))
        for routine in {"derivative", "project", "gap"} & set(away.program.routines):
            here = closed.evaluate(routine, now, e.state)[0]
            there = kernel.evaluate(routine, now, state)[0]
            if routine == "gap":
                assert np.array_equal(here, there)
                continue
            same(here[kept], there[: len(kept)])
            for place, inside in enumerate(engine.inner):
                same(here[inside], looked_at(there[len(kept) + place], len(inside)))


def same(here: np.ndarray, there: np.ndarray) -> None:
    """But for rounding: numbers of a closed part are arguments here, and stand in the code of one kept elsewhere."""
    assert np.abs(here - there).max(initial=0.0) <= 1e-12 * max(1.0, np.abs(here).max(initial=0.0))


def looked_at(handle: float, size: int) -> np.ndarray:
    """What a keeper in this process has under a handle."""
    session = session_of(handle)
    assert session is not None
    session.sync()
    keeper = session.carrier.keeper  # type: ignore[attr-defined]
    number = int(handle) & ((1 << 33) - 1)
    if number >= 1 << 32:
        return keeper._book[(number - (1 << 32)) % len(keeper._book)][:size]
    return keeper._ring[number % len(keeper._ring)][:size]
