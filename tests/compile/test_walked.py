"""Tables that are walked give the bits of native code, and native code takes their place in the middle of a run."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

import casadi as ca
import numpy as np
import pytest
from compile.programs import chain, model, single, tangle
from compile.programs import kernel as made

from kompono.compile import Kernel, lower, objects, schedule, tiers, walked_calls
from kompono.compile.lanes import ONE
from kompono.examples.reference.n_four_bar import NFourBar
from kompono.translate import translate
from kompono.translate.program import Call, Program, Routine

ODD = [0.0, -0.0, 1.0, -1.0, 0.5, 1e-310, -1e300, math.inf, -math.inf, math.nan, 3.7, -2.5]


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KOMPONO_EFFORT", "soon")
    monkeypatch.setattr(objects, "_INLINE", 0)
    monkeypatch.setattr(tiers, "_spent", tiers.Counter())


def native(monkeypatch: pytest.MonkeyPatch, program: Program, routines: Sequence[str] = ()) -> Kernel:
    """The same in native code from the start."""
    monkeypatch.setenv("KOMPONO_EFFORT", "full")
    kernel = Kernel(program, cache=False)
    kernel.prepare(routines=routines or list(program.routines), method="" if routines else "rk4")
    monkeypatch.setenv("KOMPONO_EFFORT", "soon")
    return kernel


def walks(kernel: Kernel, routine: str) -> bool:
    return kernel._objects.map_walks(routine, ONE)


def same(a: np.ndarray, b: np.ndarray) -> None:
    a, b = np.ascontiguousarray(a), np.ascontiguousarray(b)
    known = ~np.isnan(a)  # the payload of NaN is nobody's concern
    np.testing.assert_array_equal(np.isnan(a), np.isnan(b))
    np.testing.assert_array_equal(a[known].view(np.int64), b[known].view(np.int64))


def test_every_operation_has_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    def every(x: ca.SX) -> ca.SX:
        made = []
        for op in lower.SIMPLE:
            try:
                made.append(ca.SX.binary(op, x[1], x[2]))
            except RuntimeError:
                made.append(ca.SX.unary(op, x[1]))
        a, b, c = x[1], x[2], x[3]
        made += [a * b + c, a * b - c, c - a * b, c + a * b, a * a + c, c - a * 2.5, 2.5 * a - 0.75]
        return ca.vertcat(*made)

    routine, kernels = single("derivative", every, (1, 3, 0, 0), "rate")
    program = Program(kernels, {"derivative": routine}, ("a",), ("b", "c"), (), (), ())
    states = np.array([[a, b, c] for a in ODD for b in ODD for c in (0.3, -0.0, math.inf)])
    walked = Kernel(program, cache=False)
    given = np.zeros(len(states)), states
    same(walked.map("derivative", *given), native(monkeypatch, program).map("derivative", *given))
    assert walks(walked, "derivative")


def test_tangles_have_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    program, states = tangle(8, 600), np.random.default_rng(4).normal(size=(20, 8))
    walked = Kernel(program, cache=False)
    same(
        walked.map("derivative", np.zeros(20), states),
        native(monkeypatch, program).map("derivative", np.zeros(20), states),
    )
    assert walks(walked, "derivative")


def test_closed_functions_are_called(monkeypatch: pytest.MonkeyPatch) -> None:
    z = ca.SX.sym("z", 3)
    inner = ca.Function("inner_of_test", [z], [ca.vertcat(z[0] * z[1] + z[2], ca.sin(z[2]))], {"never_inline": True})

    def build(x: ca.SX) -> ca.SX:
        first = inner(ca.vertcat(x[1], x[2], 2.0))
        second = inner(ca.vertcat(first[1], x[1] * x[2], first[0]))
        return ca.vertcat(first[0] + second[1], second[0] * x[1])

    routine, kernels = single("derivative", build, (1, 2, 0, 0), "rate")
    program = Program(kernels, {"derivative": routine}, ("a",), ("b",), (), (), ())
    walked = Kernel(program, cache=False)
    given = np.zeros(9), np.random.default_rng(3).normal(size=(9, 2))
    same(walked.map("derivative", *given), native(monkeypatch, program).map("derivative", *given))
    assert walks(walked, "derivative")


@pytest.mark.parametrize("engine", ["absolute", "relative"])
def test_schedules_have_the_same_bits(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels that calls share, constants in kernels, numbers put in first, sines, what depends on signs."""
    monkeypatch.setattr(schedule, "DIRECT_LIMIT", 0)
    program = translate(NFourBar(windows=1), engine=engine, inline_limit=0).program
    names = ["derivative", "project", "gap"]
    assert all(len(program.routines[name].calls) > len(program.routines[name].counts()) > 5 for name in names)
    whole = native(monkeypatch, program, names)
    monkeypatch.setattr(walked_calls, "LEAST", 1)
    walked = Kernel(program, cache=False)
    rows = np.random.default_rng(2).normal(size=(4, program.state_size))
    for name in names:
        same(walked.map(name, np.arange(4.0), rows), whole.map(name, np.arange(4.0), rows))
        assert walks(walked, name)
        assert not walks(whole, name)


def test_a_schedule_is_asked_often_earlier(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel that twenty calls share is walked twenty times."""
    monkeypatch.setattr(tiers, "MANY", 100)
    monkeypatch.setattr(schedule, "DIRECT_LIMIT", 0)
    monkeypatch.setattr(walked_calls, "LEAST", 1)
    kernel, state = Kernel(repeated(20), cache=False), np.array([0.3])
    found = [kernel.evaluate("derivative", 0.0, state)[0] for _ in range(4)]
    assert walks(kernel, "derivative")
    found += [kernel.evaluate("derivative", 0.0, state)[0] for _ in range(2)]
    assert not walks(kernel, "derivative")
    expected = 0.3
    for _ in range(20):
        expected = math.sin(expected) + 0.5
    np.testing.assert_allclose(found, expected, rtol=1e-14)


def repeated(count: int) -> Program:
    """One kernel again and again, each time of what it gave before."""
    name, function = made(lambda x: ca.sin(x) + 0.5, 1)
    calls = tuple(Call(name, (1 + k,), (2 + k,), "") for k in range(count))
    sizes = (("time", 1), ("state", 1), ("inputs", 0), ("parameters", 0))
    routine = Routine("derivative", sizes, (("rate", 1),), calls, ((1 + count,),), 2 + count)
    return Program({name: function}, {"derivative": routine}, ("a",), (), (), (), ())


def test_constants_and_inputs_among_results(monkeypatch: pytest.MonkeyPatch) -> None:
    def outputs(t, y, u, p):
        return [y[0], 4.0, u[0], p[0] * y[1] + t, 0.0]

    program = model(2, lambda t, y, u, p: [y[1], ca.sin(y[0])], outputs=outputs, inputs=1, parameters=1)
    given = np.array([0.5]), np.array([[1.5, -2.0]]), np.array([[7.0]]), np.array([3.0])
    walked = Kernel(program, cache=False).map("outputs", *given)
    same(walked, native(monkeypatch, program).map("outputs", *given))
    np.testing.assert_array_equal(walked, [[1.5, 4.0, 7.0, -5.5, 0.0]])


def test_what_is_asked_often_becomes_native(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiers, "MANY", 10)
    kernel, state = Kernel(tangle(4, 300), cache=False), np.ones(4)
    first = kernel.evaluate("derivative", 0.0, state)[0]
    assert walks(kernel, "derivative")
    for _ in range(10):
        same(kernel.evaluate("derivative", 0.0, state)[0], first)
    assert not walks(kernel, "derivative")
    again = Kernel(tangle(4, 300), cache=False)  # another model of the same kind goes on counting
    same(again.evaluate("derivative", 0.0, state)[0], first)
    assert not walks(again, "derivative")


@pytest.mark.parametrize("method", ["rk4", "dopri5"])
def test_a_run_takes_native_code_over(monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    program = model(2, lambda t, y, u, p: [y[1], -ca.sin(y[0]) - 0.1 * y[1] * ca.fabs(y[1])])

    def start(kernel: Kernel):
        if method == "rk4":
            return kernel.fixed("rk4", 0.0, [1.0, 0.0], step=1e-3)
        return kernel.adaptive(0.0, [1.0, 0.0], until=math.inf, rtol=1e-8)

    whole = start(native(monkeypatch, program))
    assert whole.takeover is None
    whole.advance(300)
    monkeypatch.setattr(tiers, "MANY", 100)
    run = start(Kernel(program, cache=False))
    walked, chunks = run._function, 0
    while chunks < 3:
        run.advance(100)
        chunks += 1
        deadline = time.monotonic() + 30
        while chunks == 1 and run.takeover(run.evaluations) is walked and time.monotonic() < deadline:
            time.sleep(0.01)
    assert run._function is not walked
    same(run.state, whole.state)


def test_full_effort_walks_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KOMPONO_EFFORT", "full")
    kernel = Kernel(chain(3), cache=False)
    run = kernel.fixed("rk4", 0.0, np.zeros(6), step=0.1, parameters=np.zeros(len(kernel.program.parameters)))
    assert run.takeover is None
    assert not walks(kernel, "derivative")
