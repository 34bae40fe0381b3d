"""Which operation of a kernel first gives no number where all it is given are numbers: in words, with the numbers, and
what keeps it from that.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np

ABOVE = "keep that at or above zero, e.g. by ca.fmax(x, 0)"
POSITIVE = "keep that above zero, e.g. by ca.fmax(x, 1e-9)"
WITHIN = "keep that between -1 and 1, e.g. by ca.fmin(ca.fmax(x, -1), 1)"
DIVISOR = "keep the divisor from zero"
POWER = "only whole powers of negative numbers, and positive ones of zero, are numbers"
LARGE = "if the motion grew without bound, take a smaller step or method='dopri5'"

_WORDS = {
    ca.OP_SQRT: ("the square root of {0:.3g}", ABOVE),
    ca.OP_LOG: ("the logarithm of {0:.3g}", POSITIVE),
    ca.OP_LOG1P: ("the logarithm of 1 + {0:.3g}", POSITIVE),
    ca.OP_ASIN: ("the arc sine of {0:.17g}", WITHIN),
    ca.OP_ACOS: ("the arc cosine of {0:.17g}", WITHIN),
    ca.OP_ATANH: ("the inverse hyperbolic tangent of {0:.17g}", WITHIN),
    ca.OP_ACOSH: ("the inverse hyperbolic cosine of {0:.17g}", "keep that at or above 1, e.g. by ca.fmax(x, 1)"),
    ca.OP_DIV: ("{0:.3g} divided by {1:.3g}", DIVISOR),
    ca.OP_INV: ("1 divided by {0:.3g}", DIVISOR),
    ca.OP_POW: ("{0:.3g} to the power of {1:.3g}", POWER),
    ca.OP_CONSTPOW: ("{0:.3g} to the power of {1:.3g}", POWER),
    ca.OP_EXP: ("the exponential of {0:.3g}", LARGE),
}


@dataclass(frozen=True)
class Undefined:
    """An operation on numbers that gives none, what helps, and whether it is not defined there (else too large)."""

    words: str
    advice: str
    undefined: bool


def first_undefined(kernel: ca.Function, given: np.ndarray) -> Undefined | None:
    """The first operation of a kernel, of one column of numbers, that gives no number from numbers; None if one of its
    functions is to blame whose inside nobody sees, or none of its operations is.
    """
    work = np.zeros(kernel.sz_w())
    for k in range(kernel.n_instructions()):
        op = kernel.instruction_id(k)
        if op == ca.OP_CALL:
            return None
        places, target = kernel.instruction_input(k), kernel.instruction_output(k)
        if op == ca.OP_OUTPUT:
            continue
        if op == ca.OP_CONST:
            work[target[0]] = kernel.instruction_constant(k)
            continue
        if op == ca.OP_INPUT:
            work[target[0]] = given[places[1]]
            continue
        values = [float(work[place]) for place in places]
        found = float(ca.DM.unary(op, *values) if len(values) == 1 else ca.DM.binary(op, *values))
        if not np.isfinite(found) and np.all(np.isfinite(values)):
            words, advice = _WORDS.get(op, ("a number that grew too large", LARGE))
            if op == ca.OP_SQRT and values[0] == -1:
                advice = f"{advice}; a Table with beyond='refuse' gives this outside its points"
            large = advice == LARGE or (np.isinf(found) and bool(np.all(values)) and advice in (DIVISOR, POWER))
            return Undefined(words.format(*values), LARGE if large else advice, not large)
        work[target[0]] = found
    return None
