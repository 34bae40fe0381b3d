"""Every SX operation means natively what it means in CasADi."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from compile.programs import model, single

from kompono.compile import Kernel
from kompono.compile.straight import instructions
from kompono.errors import CompileError
from kompono.translate.program import Program

UNARY = {
    "neg": lambda x: -x, "sq": lambda x: x**2, "cube": lambda x: x**3, "twice": lambda x: x + x, "inv": lambda x: 1 / x,
    "sqrt": ca.sqrt, "exp": ca.exp, "log": ca.log, "sin": ca.sin, "cos": ca.cos, "tan": ca.tan, "asin": ca.asin,
    "acos": ca.acos, "atan": ca.atan, "sinh": ca.sinh, "cosh": ca.cosh, "tanh": ca.tanh, "asinh": ca.asinh,
    "acosh": ca.acosh, "atanh": ca.atanh, "fabs": ca.fabs, "sign": ca.sign, "floor": ca.floor, "ceil": ca.ceil,
    "erf": ca.erf, "expm1": ca.expm1, "log1p": ca.log1p, "not": ca.logic_not, "constpow": lambda x: x**2.5,
    "negative power": lambda x: x**-3, "root": lambda x: x**0.5, "third": lambda x: x ** (1 / 3), "self": lambda x: x,
}  # fmt: skip
BINARY = {
    "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y, "div": lambda x, y: x / y,
    "pow": lambda x, y: x**y, "atan2": ca.atan2, "hypot": ca.hypot, "fmod": ca.fmod, "remainder": ca.remainder,
    "fmin": ca.fmin, "fmax": ca.fmax, "copysign": ca.copysign, "lt": lambda x, y: x < y, "le": lambda x, y: x <= y,
    "eq": lambda x, y: x == y, "ne": lambda x, y: x != y, "and": ca.logic_and, "or": ca.logic_or,
    "if_else_zero": lambda x, y: ca.if_else(x, y, 0), "branch": lambda x, y: ca.if_else(x < y, x, 2 * y),
    "both": lambda x, y: ca.if_else(ca.logic_and(x > 0, ca.logic_not(y > 0)), x, y),
    "guarded division": lambda x, y: ca.if_else(ca.fabs(x) > 0, y / x, 7),
    "guarded root": lambda x, y: ca.if_else(x > 0, ca.sqrt(x), ca.log(-x) + y),
}  # fmt: skip
EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, 3.0, -3.0, 1e-300, -1e300, np.inf, -np.inf, np.nan, 1e-9, 7.25, -7.25]


def both(functions: dict, arguments: int, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All functions at once, natively and in CasADi, over the rows of x."""
    routine, kernels = single(
        "derivative",
        lambda s: ca.vertcat(*[f(*[s[1 + i] for i in range(arguments)]) for f in functions.values()]),
        (1, arguments, 0, 0),
        "rate",
    )
    program = Program(kernels, {"derivative": routine}, ("q",) * arguments, (), (), ())
    native = Kernel(program, cache=False).map("derivative", np.zeros(len(x)), x)
    (function,) = kernels.values()
    exact = np.array([function(np.concatenate([[0.0], row])).full().ravel() for row in x])
    return native, exact


def compare(functions: dict, native: np.ndarray, exact: np.ndarray) -> None:
    for j, name in enumerate(functions):
        np.testing.assert_allclose(native[:, j], exact[:, j], rtol=4e-15, atol=1e-300, err_msg=name)
        if name in ("fmin", "fmax"):
            continue  # of 0 and -0 either may be the smaller one
        zero = exact[:, j] == 0
        assert np.array_equal(np.signbit(native[zero, j]), np.signbit(exact[zero, j])), name


def test_unary_operations_agree_with_casadi() -> None:
    x = np.concatenate([EDGES, np.random.default_rng(0).normal(0, 2, 200)])[:, None]
    compare(UNARY, *both(UNARY, 1, x))


def test_binary_operations_agree_with_casadi() -> None:
    edges = np.array([(a, b) for a in EDGES for b in EDGES])
    x = np.concatenate(
        [edges, np.random.default_rng(1).normal(0, 3, (300, 2)), np.round(np.mgrid[-4:5, -4:5].reshape(2, -1).T)]
    )
    compare(BINARY, *both(BINARY, 2, x))


def test_the_branch_not_taken_does_not_spoil_the_other() -> None:
    program = model(1, lambda t, y, u, p: [ca.if_else(y[0] != 0, 1 / y[0], 5)])
    assert Kernel(program, cache=False).evaluate("derivative", 0.0, [0.0])[0] == [5.0]


def test_constants_survive_exactly() -> None:
    values = [0.1, 1e-320, np.pi, -1e308, np.inf]
    program = model(1, lambda t, y, u, p: [ca.SX(v) for v in values])
    assert list(Kernel(program, cache=False).evaluate("derivative", 0.0, [0.0])[0]) == values


def test_an_operation_without_native_code_is_named() -> None:
    program = model(1, lambda t, y, u, p: [ca.erfinv(y[0])])
    with pytest.raises(CompileError, match="OP_ERFINV"):
        Kernel(program, cache=False).evaluate("derivative", 0.0, [0.5])


def test_a_function_of_matrices_is_refused() -> None:
    x = ca.MX.sym("x", 2)
    program = model(1, lambda t, y, u, p: [y[0]])
    (name,) = program.kernels
    broken = Program({name: ca.Function("f", [x], [x[0]])}, program.routines, ("q",), (), (), ())
    with pytest.raises(CompileError, match="SX"):
        Kernel(broken, cache=False).evaluate("derivative", 0.0, [0.5])


def test_quotients_with_one_divisor_are_divided_once() -> None:
    x, y = ca.SX.sym("x", 3), ca.SX.sym("y")
    function = ca.Function("f", [ca.vertcat(x, y)], [ca.densify(ca.vertcat(x / y, 1 / y, x[0] / x[1], x / 7))])
    operations = [one.op for one in instructions(function)]
    assert (operations.count(ca.OP_INV), operations.count(ca.OP_DIV)) == (1, 4)
    functions = {str(k): lambda a, b, k=k: ca.vertcat(a / b, 2 * a / b, 1 / b, a / 7)[k] for k in range(4)}
    compare(functions, *both(functions, 2, np.random.default_rng(2).normal(0, 2, (100, 2))))
