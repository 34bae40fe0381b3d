"""By parts = whole: random mechanisms in random nestings with random components closed, against an independent dense
solve.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st
from laws.mechanisms import Case, difference, evaluate, held_together, loops, nestings, redundant_loops, trees
from laws.test_accelerations import EXACT, check_motion, check_reactions, examples

from kompono.errors import ModelError, TranslationError

pytestmark = pytest.mark.filterwarnings("ignore::kompono.ModelWarning")


@st.composite
def closings(draw: Any, nesting: list[tuple[str, ...]]) -> list[str]:
    """Paths of components that shall be closed."""
    levels = sorted({path[:k] for path in nesting for k in range(1, len(path) + 1)})
    assume(levels)
    chosen = draw(st.lists(st.sampled_from(levels), min_size=1, max_size=4, unique=True))
    return [".".join(f"part_{name}" for name in path) for path in chosen]


def evaluated(case: Case, nesting: list[tuple[str, ...]], closed: list[str], **options: Any) -> Any:
    try:
        return evaluate(case.m, nesting, closed=closed, **options)
    except (ModelError, TranslationError) as error:
        event(str(error)[:40])
        assume("closed" not in str(error))  # an element of the owner acts on a joint inside, a part has no bodies
        assume("that joint closes a loop" not in str(error))  # bodies of one part that only its owner connects
        raise


@examples(5, few=3)
@given(st.data(), st.one_of(trees(bodies=(3, 6)), loops(), redundant_loops()))
def test_parts_solve_what_the_whole_solves(data: Any, case: Case) -> None:
    nesting = data.draw(nestings(len(case.m.carriers)))
    e = evaluated(case, nesting, data.draw(closings(nesting)))
    check_motion(case, e)
    check_reactions(case, e)
    event(f"{case.note} redundant {case.solution.redundant > 0}")


@examples(4)
@given(st.data(), held_together())
def test_parts_that_constraints_hold_together(data: Any, case: Case) -> None:
    nesting = data.draw(nestings(len(case.m.carriers)))
    closed = data.draw(closings(nesting))
    check_motion(case, evaluated(case, nesting, closed))
    check_motion(case, evaluated(case, nesting, closed, engine="absolute"), 1e-10)
    event(f"redundant {case.solution.redundant > 0}")


@examples(3, few=2)
@given(st.data(), st.one_of(trees(bodies=(3, 5)), loops(), redundant_loops()))
def test_parts_solve_what_the_whole_solves_with_bodies_placed_one_by_one(data: Any, case: Case) -> None:
    nesting = data.draw(nestings(len(case.m.carriers)))
    e = evaluated(case, nesting, data.draw(closings(nesting)), engine="absolute")
    check_motion(case, e, 1e-10)


@examples(2)
@given(st.data(), st.one_of(loops(), redundant_loops()))
def test_parts_project_as_the_whole_does(data: Any, case: Case) -> None:
    nesting = data.draw(nestings(len(case.m.carriers)))
    e = evaluated(case, nesting, data.draw(closings(nesting)))
    engine = e.translation.engine
    assume("project" in e.translation.program.routines)
    push = np.random.default_rng(1).uniform(-1e-6, 1e-6, len(e.state))
    push[engine.nq + engine.nv :] = 0
    projected = e.kernel.evaluate("project", case.m.time, e.state + push)[0]
    conditions = e.kernel.evaluate("conditions", case.m.time, projected)
    assert max(np.abs(values).max(initial=0.0) for values in conditions[:2]) < 1e-10
    flat = evaluate(case.m, nesting)
    if engine.speed_names() == flat.translation.engine.speed_names():
        rates = [kernel.evaluate("derivative", case.m.time, projected)[0] for kernel in (e.kernel, flat.kernel)]
        assert difference(*rates) < 1e-8
        if not case.solution.redundant:  # else how a violation is undone is one of many ways
            whole = flat.kernel.evaluate("project", case.m.time, e.state + push)[0]
            assert np.abs(projected - whole).max() < 1e-10


@examples(2)
@given(st.data(), st.one_of(trees(bodies=(3, 4)), loops(bodies=(3, 4)), redundant_loops()))
def test_parts_move_as_the_whole_does(data: Any, case: Case) -> None:
    nesting = data.draw(nestings(len(case.m.carriers)))
    e = evaluated(case, nesting, data.draw(closings(nesting)))
    flat = evaluate(case.m, nesting)
    assume(e.translation.engine.speed_names() == flat.translation.engine.speed_names())
    parts, whole = moved(e, case.m.time), moved(flat, case.m.time)
    assume(np.abs(whole).max() < 100.0)  # some of them fly away, and rounding with them
    assert difference(parts, whole) < EXACT


def moved(e: Any, time: float, step: float = 2e-3) -> np.ndarray:
    """The state half a second later, by rk4 with projection."""
    state = np.array(e.state)
    for k in range(round(0.5 / step)):
        t = time + k * step
        a = e.kernel.evaluate("derivative", t, state)[0]
        b = e.kernel.evaluate("derivative", t + step / 2, state + step / 2 * a)[0]
        c = e.kernel.evaluate("derivative", t + step / 2, state + step / 2 * b)[0]
        d = e.kernel.evaluate("derivative", t + step, state + step * c)[0]
        state = state + step / 6 * (a + 2 * b + 2 * c + d)
        if "project" in e.translation.program.routines:
            state = e.kernel.evaluate("project", t + step, state)[0]
    return state
