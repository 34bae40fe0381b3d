"""Sub-structures that are traced once: a step through a joint, the way from one body to the next.

Python on CasADi takes 5 to 10 us an operation, whatever the operation does. A *pattern* is a function of matrices whose
operations are made once, on symbols, for each sparsity of its arguments, and kept as a CasADi function; where it is
used again, CasADi puts the arguments in by itself (25 us, and 0.1 us an operation). Zeros and ones among the arguments
vanish as they do when the operations are made one by one, so expressions are the same, node by node.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import casadi as ca

from kompono.translate.recipes import Lasting
from kompono.translate.symbolic import Matrix

MOST = 4096  # kept at a time; who has more sparsities than that begins anew


class Pattern(Lasting):
    """A function of matrices, all it depends on being among its arguments, that gives a tuple of matrices."""

    def __init__(self, function: Callable[..., Sequence[Any]]) -> None:
        self._function = function
        self._made: dict[Hashable, ca.Function] = {}

    def __call__(self, *values: Any) -> list[Matrix]:
        """The matrices for these arguments."""
        given = [value if type(value) is ca.SX else ca.SX(value) for value in values]
        key = tuple([tuple(value.sparsity().compress()) for value in given])
        made = self._made.get(key)
        if made is None:
            if len(self._made) >= MOST:
                self._made.clear()
            symbols = [ca.SX.sym("x", value.sparsity()) for value in given]
            made = self._made[key] = traced("pattern", symbols, self._function(*symbols))
        return made.call(given, True, False)


class Instance(Lasting):
    """What one element does, asked of it once, on symbols; model symbols in it beside those stay as they are."""

    def __init__(self, symbols: Sequence[ca.SX], outputs: Sequence[Any]) -> None:
        known = {entry.element_hash() for column in symbols for entry in ca.symvar(column)}
        found = ca.symvar(ca.veccat(*[ca.SX(out) for out in outputs]))
        self._free = [symbol for symbol in found if symbol.element_hash() not in known]
        self._function = traced("instance", [*symbols, *self._free], outputs)

    def __call__(self, *values: Matrix) -> list[Matrix]:
        """The outputs for these arguments."""
        return self._function.call([*values, *self._free], True, False)


def traced(name: str, symbols: Sequence[ca.SX], outputs: Sequence[Any]) -> ca.Function:
    """A function of symbols, without zeros in its outputs that are known to be some."""
    return ca.Function(name, list(symbols), [ca.sparsify(ca.SX(out)) for out in outputs])
