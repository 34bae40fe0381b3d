"""WebAssembly: modules without a linker, rooms they run in, and what they cannot do there."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from walls.native import asker

from kompono.compile import lifted, targets
from kompono.compile.lanes import ONE
from kompono.compile.walls import room
from kompono.compile.walls.module import ARITIES, module
from kompono.compile.walls.room import Room
from kompono.errors import CompileError, SealedError

pytest.importorskip("wasmtime")
WASM = targets.TARGETS[targets.WASM]
FORM = "(ptr noalias readonly %in, ptr noalias %out, ptr noalias readonly %numbers) nounwind {"


def functions() -> list[ca.Function]:
    """Every operation, and a function that calls another."""
    x = ca.SX.sym("x", 3)
    a, b, c = x[0], x[1], x[2]
    unary = [ca.sin, ca.cos, ca.tan, ca.exp, ca.log, ca.sqrt, ca.fabs, ca.floor, ca.ceil, ca.atan, ca.tanh, ca.erf]
    every = [f(3.7 * a) for f in unary] + [a**b, ca.atan2(a, b), ca.fmax(a, c), ca.fmin(b, c), ca.copysign(a, -b)]
    every += [ca.if_else(a > b, 2.9 * c, b), ca.fmod(c, a), ca.hypot(a, b), a * b + 7.3 * c]
    inner = ca.Function("inner", [x], [ca.vertcat(*every)], {"never_inline": True})
    outer = ca.Function("outer", [x], [ca.sum1(inner.call([2.3 * x], False, True)[0])])
    return [ca.Function("every", [x], [ca.vertcat(*every)]), outer]


@pytest.fixture(scope="module")
def made() -> tuple[lifted.Lifted, bytes]:
    code = lifted.lift(functions())
    return code, targets.assemble(code.text(ONE), WASM, code.symbols(1))


def opened(code: lifted.Lifted, data: bytes) -> Room:
    sizes = [(f.nnz_in(), f.nnz_out()) for f in code.functions]
    known = {f"f_{k}": (code.symbols(1)[k], *size) for k, size in enumerate(sizes)}
    return Room("part", data, known, code.numbers)


@pytest.mark.parametrize("lanes", [1, 4])
def test_a_module_computes_what_casadi_does(made: tuple[lifted.Lifted, bytes], lanes: int) -> None:
    there = opened(*made)
    rng = np.random.default_rng(3)
    for k, function in enumerate(made[0].functions):
        call = asker(there, there.number(f"kompono.f_{k}.{lanes}"), (function.nnz_in(), function.nnz_out()), lanes)
        x = rng.uniform(0.2, 0.9, (3, lanes))
        found = call(x).reshape(-1, lanes)
        wanted = np.column_stack([np.array(function(x[:, j])).ravel() for j in range(lanes)])
        assert np.abs(found - wanted).max() < 1e-14 * (1 + np.abs(wanted).max())
    assert not there.trouble()


def test_no_names_and_no_numbers_are_in_a_module(made: tuple[lifted.Lifted, bytes]) -> None:
    data = made[1]
    assert data.startswith(b"\0asm")
    assert not [word for word in (b"inner", b"outer", b"linking", b"producers") if word in data]
    assert not [value for value in (3.7, 2.9, 7.3, 2.3) if np.float64(value).tobytes() in data]


def test_damaged_modules_are_refused_or_compute(made: tuple[lifted.Lifted, bytes]) -> None:
    rng, refused = np.random.default_rng(5), 0
    for _ in range(60):
        data = bytearray(made[1])
        for place in rng.integers(0, len(data), rng.integers(1, 8)):
            data[place] = rng.integers(256)
        try:
            there = opened(made[0], bytes(data[: rng.integers(len(data) // 2, len(data) + 1)]))
        except SealedError:
            refused += 1
        else:
            asker(there, 0, (3, made[0].functions[0].nnz_out()))([0.3, 0.4, 0.5])
            there.trouble()
    assert refused > 40


def written(body: str, more: str = "", exported: str = "f") -> Room:
    """A room with one function written by hand."""
    text = f'target triple = "{WASM.triple}"\n{more}define void @f{FORM}\n{body}\nret void\n}}\n'
    return Room("part", targets.assemble(text, WASM, ["f"]), {"f_0": (exported, 1, 1)}, b"")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("br label %l\nl:\n%v = load volatile double, ptr %in\nbr label %l\nd:", "come to an end"),
        ("store double 1.0, ptr inttoptr (i32 2000000000 to ptr)", "out of bounds"),
        ("call void @llvm.trap()", "unreachable"),
        ("call void @f(ptr %in, ptr %out, ptr %numbers)\nstore volatile double 1.0, ptr %out", "exhausted"),
    ],
)
def test_what_goes_wrong_inside_is_told(body: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "FUEL", 10_000_000)
    there = written(body, "declare void @llvm.trap()\n")
    assert np.isnan(asker(there, 0)([1.0]))
    assert said in there.trouble()
    assert said in there.trouble()  # as often as it is asked
    there.revive()
    assert not there.broken


@pytest.mark.parametrize("name", ["open", "fd_write", "system"])
def test_a_module_that_wants_more_than_mathematics_is_refused(name: str) -> None:
    with pytest.raises(SealedError, match=name):
        written(f"%y = call i32 @{name}(ptr %in)", f"declare i32 @{name}(ptr)\n")


def test_a_function_of_mathematics_has_its_own_form() -> None:
    with pytest.raises(SealedError, match="sin"):
        written("%y = call i32 @sin(ptr %in)", "declare i32 @sin(ptr)\n")


def test_a_function_that_is_not_there_is_missed() -> None:
    with pytest.raises(SealedError, match="lacks"):
        written("", exported="g")


def test_what_needs_a_linker_is_refused_when_it_is_made() -> None:
    text = f'target triple = "{WASM.triple}"\n@data = global [3 x double] zeroinitializer\n'
    with pytest.raises(CompileError, match="linker"):
        targets.assemble(f"{text}define ptr @f() {{\nret ptr @data\n}}\n", WASM, ["f"])
    with pytest.raises(CompileError, match="no WebAssembly"):
        module(b"\x7fELF....", [])


def test_all_functions_that_may_be_imported_are_those_of_the_c_library() -> None:
    import ctypes

    library = ctypes.CDLL(None)
    assert not [name for name in ARITIES if not hasattr(library, name)]
