"""Numbers taken out of code: the same results to the last bit, and nothing to read."""

from __future__ import annotations

import re
import struct
from typing import Any

import casadi as ca
import numpy as np
import pytest
from sealed.files import HERE, SECRETS, functions, run

from kompono.compile import assembler, lifted, schedule, split, targets
from kompono.compile.emit import prelude
from kompono.compile.lanes import ONE, Lanes
from kompono.compile.lower import called_symbol
from kompono.errors import CompileError


def both(function: ca.Function, lanes: Lanes) -> tuple[np.ndarray, np.ndarray]:
    """Results of the code with its literals and of that without."""
    x = np.random.default_rng(3).normal(size=function.nnz_in() * lanes.count)
    plain, other = (np.zeros(function.nnz_out() * lanes.count) for _ in range(2))
    texts = [schedule.define_called(f, lanes) for f in (function, *function.find_functions())]
    objects = [assembler.assemble(prelude(text, lanes) + text) for text in texts]
    run(objects, called_symbol(function.name(), lanes), [x, plain])
    code = lifted.lift([function])
    table = np.frombuffer(code.numbers).copy()
    run([assembler.assemble(code.text(lanes))], lifted.symbol(code.digest, 0, lanes.count), [x, other, table])
    return plain, other


def busy(size: int) -> ca.Function:
    """A function with many kinds of operations and literals."""
    x = ca.SX.sym("x", 3)
    a, b, c = x[0], x[1], x[2]
    for k in range(size):
        a, b, c = (
            ca.sin(0.37 * b) - (k + 0.1) * c,
            a * b - 4.75,
            ca.fmax(b, -0.3) * 1.7 + ca.if_else(a < 0.2, 3.3 - a, c),
        )
    return ca.Function(
        "busy", [x], [ca.vertcat(a, b / 7.7, ca.constpow(ca.fabs(c) + 0.9, 1.3), 11.5, 0, -0.25 * a - b)]
    )


@pytest.mark.parametrize("count", [1, 4, 8])
@pytest.mark.parametrize(
    "function", [busy(4), functions()["resolve"], functions()["move"]], ids=["busy", "calls", "sine"]
)
def test_the_same_bits(function: ca.Function, count: int) -> None:
    plain, other = both(function, Lanes(count))
    assert np.all(np.isfinite(plain))
    assert plain.tobytes() == other.tobytes()


def test_long_functions_are_cut_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(split, "LIMIT", 100)
    monkeypatch.setattr(split, "SEGMENT", 60)
    plain, other = both(busy(12), ONE)
    assert plain.tobytes() == other.tobytes()


def readable(data: bytes, value: float) -> bool:
    """Whether a number, its negative or its inverse can be read in bytes, as a double, a float (of processors with the
    lowest byte first, which all targets have) or text.
    """
    forms = [sign * number for sign in (1, -1) for number in (value, 1 / value)]
    packed = [struct.pack(kind, form) for form in forms for kind in ("<d", "<f")]
    texts = {
        text for form in forms for text in (repr(form), f"{form:g}", f"{form:.17g}", struct.pack(">d", form).hex())
    }
    return any(word in data for word in packed) or any(text.encode() in data.lower() for text in texts)


@pytest.mark.parametrize("name", [*HERE, targets.WASM])
def test_no_number_and_no_name_is_in_the_code(name: str) -> None:
    target = targets.TARGETS[name]
    code = lifted.lift(functions().values())
    for count in target.lanes:
        data = targets.assemble(code.text(Lanes(count)), target, code.symbols(count))
        assert not [value for value in SECRETS if readable(data, value)]
        assert b"secret" not in data
        assert b"/" not in b" ".join(re.findall(rb"[ -~]{6,}", data))  # no paths
        magic = {"linux": b"\x7fELF", "windows": b"\x64\x86", "macos": b"\xcf\xfa\xed\xfe", "unknown": b"\0asm"}
        assert data.startswith(magic[targets.system(target.triple).split("-")[1]])
    assert all(readable(code.numbers, value) for value in SECRETS[:2])


def test_the_search_would_find_them() -> None:
    text = schedule.define_called(functions()["move"], ONE)
    for name in ("x86_64-linux-v3", "x86_64-windows-v3"):
        data = targets.assemble(prelude(text, ONE) + text, targets.TARGETS[name])
        assert readable(data, 13.23)
        assert b"secret" in data


def test_equal_structures_have_equal_code() -> None:
    def scaled(by: float) -> Any:
        x = ca.SX.sym("x", 2)
        return lifted.lift([ca.Function("f", [x], [by * x[0] + x[1]])])

    assert scaled(3.5).digest == scaled(4.5).digest
    assert scaled(3.5).numbers == struct.pack("<d", 3.5)
    assert scaled(2.0).digest != scaled(3.5).digest  # 2 tells nothing and stays


def test_unknown_targets_are_named() -> None:
    with pytest.raises(CompileError, match="x86_64-linux-v3"):
        targets.chosen(["x86_64-linux-v4"])
    with pytest.raises(CompileError, match="no target"):
        targets.chosen([])


def test_this_machine_takes_the_best_that_fits() -> None:
    assert targets.fitting(["arm64-macos"] if targets.here() != "aarch64-macos" else ["x86_64-linux"]) is None
    names = [name for name in HERE if targets.system(targets.TARGETS[name].triple) == targets.here()]
    assert targets.fitting(HERE) in names
