"""Routines of one call, of few and of many, give what the interpreter gives."""

from __future__ import annotations

import numpy as np
import pytest
from compile.programs import chain, circle, pendulum

from kompono.compile import Interpreter, Kernel, compile_program, schedule
from kompono.errors import CompileError, RunError
from kompono.translate.program import Call, Program, Routine


@pytest.mark.parametrize("links", [1, 2, 7, 40])
@pytest.mark.parametrize("limit", [0, 10**9], ids=["tabled", "direct"])
@pytest.mark.parametrize("constants", [True, False])
def test_many_calls_agree_with_the_interpreter(monkeypatch, links: int, limit: int, constants: bool) -> None:
    monkeypatch.setattr(schedule, "DIRECT_LIMIT", limit)
    program = chain(links + 2, constants)
    rng = np.random.default_rng(links)
    time, state, inputs, parameters = 0.5, rng.normal(size=program.state_size), [1.5], [-0.3]
    native = Kernel(program, cache=False).evaluate("derivative", time, state, inputs, parameters)
    exact = Interpreter(program).evaluate("derivative", time, state, inputs, parameters)
    assert [a.shape for a in native] == [a.shape for a in exact]
    for a, b in zip(native, exact, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13)


def test_code_size_follows_kernels_not_calls(monkeypatch) -> None:
    monkeypatch.setattr(schedule, "DIRECT_LIMIT", 0)

    def lines(links: int) -> int:
        program = chain(links)
        return schedule.define(program, program.routines.values()).count("\n")

    assert lines(10) == lines(300)


def test_map_reads_rows_where_they_lie() -> None:
    kernel = Kernel(pendulum(inputs=1), cache=False)
    rows = np.random.default_rng(2).normal(size=(50, 4))
    channels = kernel.map("outputs", rows[:, 0], rows[:, 1:3], rows[:, 3:])
    assert channels.shape == (50, 2)
    np.testing.assert_allclose(channels[:, 0], rows[:, 2] ** 2 / 2 - np.cos(rows[:, 1]), rtol=1e-14)
    np.testing.assert_array_equal(channels[:, 1], rows[:, 0])
    expected = Interpreter(kernel.program).map("outputs", rows[:, 0], rows[:, 1:3], rows[:, 3:])
    np.testing.assert_allclose(channels, expected, rtol=1e-14)
    backwards = kernel.map("outputs", rows[::-1, 0], rows[::-1, 1:3], rows[::-1, 3:])
    np.testing.assert_array_equal(backwards, channels[::-1])
    assert kernel.map("outputs", [], np.zeros((0, 2)), np.zeros((0, 1))).shape == (0, 2)


def test_map_takes_columns_and_transposed_states() -> None:
    kernel = Kernel(pendulum(), cache=False)
    states = np.asfortranarray(np.random.default_rng(3).normal(size=(20, 2)))
    channels = kernel.map("outputs", range(20), states)
    np.testing.assert_allclose(channels[:, 0], states[:, 1] ** 2 / 2 - np.cos(states[:, 0]), rtol=1e-14)


def test_instructions_are_counted() -> None:
    program = circle()
    counts = Kernel(program, cache=False).instructions
    assert set(counts) == {"derivative", "project"}
    assert counts["project"] > counts["derivative"] > 0


def test_compile_program_chooses() -> None:
    assert isinstance(compile_program(circle(), cache=False), Kernel)
    assert isinstance(compile_program(circle(), native=False), Interpreter)


def test_wrong_sizes_and_names_are_told() -> None:
    kernel = Kernel(circle(), cache=False)
    with pytest.raises(RunError, match="values"):
        kernel.evaluate("derivative", 0.0, [1.0])
    with pytest.raises(RunError, match="derivative"):
        kernel.evaluate("derivativ", 0.0, [1.0, 0.0])
    with pytest.raises(RunError, match="shape"):
        kernel.map("derivative", [0.0], [[1.0]])


def test_a_schedule_that_does_not_fit_is_refused() -> None:
    program = circle()
    good = program.routines["derivative"]
    call = good.calls[0]
    bad_shape = Routine("derivative", good.inputs, good.outputs, (Call(call.kernel, (0,), (3,), "arm"),), ((3, 3),), 4)
    bad_name = Routine("derivative", good.inputs, good.outputs, (Call("nobody", (0,), (3,)),), ((3, 3),), 4)
    for routine, text in ((bad_shape, "arm"), (bad_name, "nobody")):
        broken = Program(program.kernels, {"derivative": routine}, ("q",), ("v",), (), ())
        with pytest.raises(CompileError, match=text):
            Kernel(broken, cache=False).evaluate("derivative", 0.0, [1.0, 0.0])
