"""Random mechanisms: Kompono's accelerations and reactions equal those of an independent dense solve."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, event, given, settings
from hypothesis import strategies as st
from laws.dense import solve
from laws.mechanisms import (
    SHELF,
    Case,
    difference,
    evaluate,
    loops,
    nestings,
    reaction,
    redundant_loops,
    total_wrenches,
    trees,
)

from kompono.compile import compile_program
from kompono.translate import translate

pytestmark = pytest.mark.filterwarnings("ignore::kompono.ModelWarning")
SCALE = float(os.environ.get("KOMPONO_LAWS", "1"))  # more examples: KOMPONO_LAWS=20 pytest tests/laws
PHASES = [Phase.generate, *([Phase.shrink] if "KOMPONO_LAWS" in os.environ else [])]  # shrinking takes minutes
EXACT = 1e-11


def examples(count: int, few: int | None = None) -> Any:
    """So many random examples; without KOMPONO_LAWS only a `few`, if that is given."""
    count = few if few is not None and "KOMPONO_LAWS" not in os.environ else max(1, int(count * SCALE))
    return settings(
        max_examples=count, deadline=None, derandomize=True, database=None,
        suppress_health_check=list(HealthCheck), phases=PHASES,
    )  # fmt: skip


def check_motion(case: Case, e: Any, exact: float = EXACT) -> None:
    m = case.m
    motion = np.hstack([m.x, m.v, m.w])[m.bodies]
    assert difference(e.bodies("position", "velocity", "angular_velocity"), motion) < 1e-12
    assert difference(e.accelerations, case.solution.acceleration[m.bodies]) < exact


def loaded_screws(m: Any) -> set[int]:
    """Screws with something along their coordinate: how that divides into a force and a torque is a convention."""
    loaded = {joint for joint, _ in (*(t.joint for t in m.torsions), *(d.joint for d in m.drives))}
    loaded |= {joint for gear in m.gears for joint, _ in (gear.first, gear.second)}
    return {number for number in loaded if m.joints[number].kind == "screw"}


def check_reactions(case: Case, e: Any, exact: float = EXACT) -> None:
    """Each joint's own wrench where it is unique, else what all joints together exert on each body."""
    m, skipped = case.m, loaded_screws(case.m)
    if not case.solution.redundant:
        expected = [reaction(case, number) for number in range(len(m.joints))]
        scale = max(1.0, np.abs(expected).max(initial=0.0))
        for number, joint in enumerate(e.built.joints):
            reported = np.concatenate([e.vector(joint, "force"), e.vector(joint, "torque")])
            close = np.abs(reported - expected[number]).max() < exact * scale
            assert close or number in skipped, (number, m.joints[number].kind)
    elif not (skipped or m.constraints or m.gears or m.drives):
        assert difference(total_wrenches(case, e), case.solution.constraint_wrench[m.bodies]) < exact


@examples(20, few=7)
@given(trees())
def test_trees(case: Case) -> None:
    e = evaluate(case.m)
    check_motion(case, e)
    check_reactions(case, e)


@examples(18, few=6)
@given(loops())
def test_loops(case: Case) -> None:
    e = evaluate(case.m)
    check_motion(case, e)
    check_reactions(case, e)
    event(f"redundant rows: {case.solution.redundant > 0}")


@examples(20, few=7)
@given(redundant_loops())
def test_redundant_loops(case: Case) -> None:
    event(case.note)
    e = evaluate(case.m)
    check_motion(case, e)
    check_reactions(case, e)


@examples(12, few=4)
@given(redundant_loops())
def test_redundant_rows_stay_redundant_a_little_off_the_conditions(case: Case) -> None:
    """The rank trap: inside a Runge-Kutta stage dependent rows are only nearly so, and must still be dropped."""
    e = evaluate(case.m)
    rate = e.kernel.evaluate("derivative", case.m.time, e.state)[0]
    push = np.random.default_rng(0).uniform(-1, 1, len(e.state))
    for size in (1e-8, 1e-7, 1e-6):
        moved = e.kernel.evaluate("derivative", case.m.time, e.state + size * push)[0]
        assert difference(moved, rate) < 1e4 * size


@examples(5, few=3)
@given(st.data(), st.one_of(trees(bodies=(3, 6)), loops(), redundant_loops()))
def test_nesting_changes_nothing(data: Any, case: Case) -> None:
    whole = evaluate(case.m).accelerations
    for _ in range(2):
        nesting = data.draw(nestings(len(case.m.carriers)))
        e = evaluate(case.m, nesting)
        assert difference(e.accelerations, whole) < EXACT
        check_motion(case, e)
        check_reactions(case, e)


@examples(6, few=3)
@given(
    st.data(),
    st.one_of(
        trees(bodies=(2, 5), kinds=("revolute", "cylindrical", "spherical", "universal")),
        loops(bodies=(3, 4)),
        redundant_loops(),
    ),
)
def test_any_spanning_tree_gives_the_same(data: Any, case: Case) -> None:
    """Also trees that leave bodies free, down to absolute coordinates: every joint closes a loop."""
    m = case.m
    coupled = {joint for joint, _ in (*(d.joint for d in m.drives), *(t.joint for t in m.torsions))}
    coupled |= {joint for gear in m.gears for joint, _ in (gear.first, gear.second)}
    open_to_cut = [k for k in range(len(m.joints)) if k not in coupled]
    for cut in (data.draw(st.sets(st.sampled_from(open_to_cut))) if open_to_cut else set(), set(open_to_cut)):
        e = evaluate(m, cut=[f"joint{k}" for k in sorted(cut)])
        check_motion(case, e)
        check_reactions(case, e)


@examples(6, few=3)
@given(st.data(), st.one_of(trees(bodies=(2, 4)), loops(bodies=(3, 4), couplings=False), redundant_loops()))
def test_absolute_coordinates_give_the_same(data: Any, case: Case) -> None:
    """All through multipliers: the condition of the mechanism counts twice, which one refinement makes good."""
    e = evaluate(case.m, data.draw(nestings(len(case.m.carriers))), engine="absolute")
    check_motion(case, e)
    check_reactions(case, e)


@examples(4, few=2)
@given(st.data(), trees(bodies=(3, 5)))
def test_any_body_may_be_independent(data: Any, case: Case) -> None:
    body = data.draw(st.sampled_from(case.m.bodies))
    check_motion(case, evaluate(case.m, independent=[f"body{body}"]))


@examples(4, few=2)
@given(st.data(), st.one_of(trees(bodies=(2, 5)), loops(bodies=(3, 4))))
def test_gravity_of_a_part_acts_on_that_part(data: Any, case: Case) -> None:
    m = case.m
    nesting = data.draw(nestings(len(m.carriers)))
    path = data.draw(st.sampled_from([p[:k] for p in nesting for k in range(len(p) + 1)]))
    below = tuple(i for i in m.bodies if nesting[i][: len(path)] == path)
    m.local_gravity = (np.array([1.0, -2.0, 3.0]), below)
    case.solution = solve(m)
    check_motion(case, evaluate(m, nesting, local=path))


@examples(5, few=3)
@given(st.one_of(trees(bodies=(2, 5)), loops(bodies=(3, 4)), redundant_loops()))
def test_shared_kernels_equal_the_inlined_one(case: Case) -> None:
    whole, shared = evaluate(case.m), evaluate(case.m, inline_limit=0)
    assert shared.translation.engine.shared
    assert not whole.translation.engine.shared
    check_motion(case, shared)
    for routine in whole.translation.program.routines:
        if routine in ("jacobian", "implicit"):  # they follow from the derivative
            continue
        for a, b in zip(*(routine_values(e, routine) for e in (whole, shared)), strict=True):
            assert difference(a, b) < 1e-12, routine


def routine_values(e: Any, routine: str) -> list[np.ndarray]:
    values = list(e.kernel.evaluate(routine, e.time, e.state))
    if routine == "outputs":  # reactions of redundant rows are one choice of many, but the same one
        names = [channel.name for channel in e.translation.program.channels]
        values = [values[0][[not name.startswith("drift") for name in names]]]
    return values


@examples(3)
@given(st.one_of(trees(bodies=(2, 3)), loops(bodies=(3, 3)), redundant_loops(families=("aligned", "doubled"))))
def test_native_code_equals_the_interpreter(case: Case) -> None:
    e = evaluate(case.m)
    for limit in (40_000, 0):
        program = translate(e.built.model, inline_limit=limit, shelf=SHELF).program
        native = compile_program(program, cache=SHELF is not None)
        interpreted = compile_program(program, native=False)
        for routine in ("outputs", "derivative", "conditions", *(["project"] if "project" in program.routines else [])):
            results = [k.evaluate(routine, case.m.time, e.state) for k in (native, interpreted)]
            for a, b in zip(*results, strict=True):
                assert difference(a, b) < 1e-12, routine
