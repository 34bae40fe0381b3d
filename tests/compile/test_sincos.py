"""The sine and cosine of lanes are good to 1 ulp, everywhere up to their limit, and say NaN beyond it."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from compile.programs import model, single

from kompono.compile import Kernel, sincos
from kompono.compile.straight import COSINE, SINE, TURNS, in_turns, instructions
from kompono.translate.program import Program

mpmath = pytest.importorskip("mpmath")
needs_fused = pytest.mark.skipif(not sincos.available(), reason="this processor takes the C library's")


@pytest.fixture(scope="module", params=[2, 4, 8])
def evaluate(request: pytest.FixtureRequest):
    lanes = request.param
    program = model(2, lambda t, y, u, p: [ca.sin(y[0]), ca.cos(y[0])])
    kernel = Kernel(program, cache=False)

    def evaluated(x: np.ndarray) -> np.ndarray:
        """Sine and cosine (2, n) of x (n,)."""
        padded = np.resize(x, -(-len(x) // lanes) * lanes).reshape(-1, 1, lanes)
        states = np.concatenate([padded, np.zeros_like(padded)], axis=1).reshape(len(padded), -1)
        wide = kernel.map("derivative", np.zeros(len(padded)), states, lanes=lanes).reshape(-1, 2, lanes)
        return wide.transpose(1, 0, 2).reshape(2, -1)[:, : len(x)]

    return evaluated


def largest_error(values: np.ndarray, x: np.ndarray) -> float:
    """In units of the last place, against 200 bits."""
    worst = 0.0
    with mpmath.workprec(200):
        for number, sine, cosine in zip(x.tolist(), *values.tolist(), strict=True):
            for value, exact in ((sine, mpmath.sin(number)), (cosine, mpmath.cos(number))):
                unit = np.spacing(abs(float(exact)))
                worst = max(worst, abs(float((mpmath.mpf(value) - exact) / mpmath.mpf(float(unit)))))
    return worst


@needs_fused
@pytest.mark.parametrize("size", [1e-300, 1e-8, 0.1, 0.8, 4.0, 100.0, 1e5, 1e9])
def test_within_one_ulp(evaluate, size: float) -> None:
    x = np.random.default_rng(7).uniform(-size, size, 2000)
    assert largest_error(evaluate(x), x) < 0.8


@needs_fused
def test_within_one_ulp_where_it_is_hardest(evaluate) -> None:
    """Next to multiples of pi/4: there the reduced argument is smallest, or the polynomials are at their end."""
    n = np.concatenate([np.arange(-50.0, 50.0), np.random.default_rng(8).integers(-(2**30), 2**30, 900)])
    x = n * (np.pi / 4)
    for moved in (x, np.nextafter(x, np.inf), np.nextafter(x, -np.inf)):
        moved = moved[np.abs(moved) < sincos.LIMIT]
        assert largest_error(evaluate(moved), moved) < 0.8


def test_many_against_numpy(evaluate) -> None:
    x = np.random.default_rng(9).uniform(-1e5, 1e5, 400_000)
    sine, cosine = evaluate(x)
    np.testing.assert_allclose(sine, np.sin(x), rtol=4.5e-16, atol=0)
    np.testing.assert_allclose(cosine, np.cos(x), rtol=4.5e-16, atol=0)


@needs_fused
def test_beyond_its_limit_it_does_not_guess(evaluate) -> None:
    x = np.array([np.nan, np.inf, -np.inf, 2 * sincos.LIMIT, -1e300, 0.0])
    values = evaluate(x)
    assert np.isnan(values[:, :5]).all()
    assert list(values[:, 5]) == [0.0, 1.0]


@needs_fused
def test_sines_made_together_are_those_made_alone() -> None:
    """Eleven angles of one model fill one register and a half; some are beyond what lanes know."""
    count = 11
    routine, kernels = single(
        "derivative",
        lambda s: ca.vertcat(*[f(s[1 + i]) for f in (ca.sin, ca.cos) for i in range(count)]),
        (1, count, 0, 0),
        "rate",
    )
    program = Program(kernels, {"derivative": routine}, ("q",) * count, (), (), ())
    alone, names = single("derivative", lambda s: ca.sin(s[1]), (1, 1, 0, 0), "rate")
    one = Kernel(Program(names, {"derivative": alone}, ("q",), (), (), ()), cache=False)
    angles = np.random.default_rng(4).normal(0, 100, (50, count))
    angles[::7, 3], angles[::5, 9], angles[2, 0], angles[3, 1] = 1e12, -(2.0**31), np.inf, np.nan
    found = Kernel(program, cache=False).map("derivative", np.zeros(50), angles)
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(found, np.hstack([np.sin(angles), np.cos(angles)]), rtol=0, atol=3e-16)
    sines = one.map("derivative", np.zeros(angles.size), angles.reshape(-1, 1)).reshape(angles.shape)
    assert np.array_equal(found[:, :count], sines, equal_nan=True)


def test_sines_of_sines_wait_for_one_another() -> None:
    x = ca.SX.sym("x", 4)
    inner = ca.sin(x[:2]) + 0.3
    function = ca.Function("f", [x], [ca.vertcat(ca.cos(inner), ca.sin(x[2]), inner * x[3])])
    found = in_turns(instructions(function))
    batches = [len(one.operands) for one in found if one.op == TURNS]
    assert batches == [3, 2]
    made = {k for k, one in enumerate(found) if one.op == TURNS}
    assert all(operand < k for k, one in enumerate(found) for operand in one.operands)
    assert all(one.operands[0] in made for one in found if one.op in (SINE, COSINE))
