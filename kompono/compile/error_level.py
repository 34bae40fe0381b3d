"""The share of a closed part in the error norm of an adaptive method: a level, so that it tells little of the inside.

Errors are measured in units of a tolerance that does not depend on the state, and the sum of their squares is rounded
up to a power of two: a norm is at most 1.41 times too large, a step 6 % too small. The same wherever the part is, so
that steps have the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence

from kompono.compile.emit import INT, REAL, Code, Value, plus_product
from kompono.compile.tableaux import DORMAND_PRINCE_ERROR

NOMINAL = 2.0**-5  # a number inside, which relative tolerances are relative to: between centimetres and radians
ESTIMATE = tuple((k, weight) for k, weight in enumerate(DORMAND_PRINCE_ERROR) if weight)  # the one error there is
_FINEST = 1e-14  # tolerance: below it rounding would be looked at
_LEAST, _MOST = 2.0**-40, 2.0**40  # of a level: what is beyond makes no difference to a step


def plus_square(code: Code, total: Value, given: Sequence[Value]) -> Value:
    """A sum with the square of an error in units of the tolerance at the larger of two states: error, states, relative
    and absolute tolerance. Nothing is fused, so that the sum does not depend on the loop around it.
    """
    error, state, other, relative, absolute = given
    kind = error.kind
    largest = code.math("maxnum", code.math("fabs", state), code.math("fabs", other))

    def let(operation: str, left: Value, right: Value) -> Value:
        return code.let(kind, f"{operation} {kind} {left.name}, {right.name}")

    part = let("fdiv", error, let("fadd", absolute, let("fmul", relative, largest)))
    return let("fadd", total, let("fmul", part, part))


def hidden_error(code: Code, h: Value, rates: Sequence[Value]) -> Value:
    """The error of a number inside a closed part from its rates in the stages of `ESTIMATE`: their weights add up to
    nothing, so differences are summed, and what is the same in all rates is not in it, not even by rounding.
    """
    error = code.math("fabs", 0.0)
    for (_, weight), rate in list(zip(ESTIMATE, rates, strict=True))[1:]:
        error = plus_product(error, h * weight, rate - rates[0])
    return error


def plus_hidden_square(code: Code, total: Value, error: Value, relative: Value, absolute: Value) -> Value:
    """A sum with the square of such an error in units of its tolerance."""
    nominal, least = code.math("fabs", NOMINAL), code.math("fabs", _FINEST)
    absolute = code.math("maxnum", absolute, least)
    return plus_square(code, total, (error, nominal, nominal, relative, absolute))


def level(code: Code, total: Value) -> Value:
    """A sum of squares rounded up to a power of two; what is not a number stays so."""
    bits = code.let(INT, f"bitcast double {total.name} to i64")
    below = (1 << 52) - 1
    raised = code.let(INT, f"add i64 {bits.name}, {below}")
    cut = code.let(INT, f"and i64 {raised.name}, {-(1 << 52)}")
    rounded = code.let(REAL, f"bitcast i64 {cut.name} to double")
    rounded = code.select(total > _LEAST, code.select(total < _MOST, rounded, _MOST), _LEAST)
    return code.select(total.equals(total), rounded, total)
