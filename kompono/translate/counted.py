"""How much one evaluation of a routine computes."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca

from kompono.translate.program import Routine


def operations(routine: Routine, kernels: Mapping[str, ca.Function]) -> int:
    """Nodes of the expression graphs of one evaluation, equal ones once: its operations, with inputs and constants."""
    return sum(count * _different_nodes(kernels[name]) for name, count in routine.counts().items())


def _different_nodes(function: ca.Function) -> int:
    x = ca.SX.sym("x", function.nnz_in(0))
    return ca.Function("once", [x], [ca.cse(function(x))]).n_nodes()


def exceeds(routine: Routine, kernels: Mapping[str, ca.Function], limit: int) -> bool:
    """Whether one evaluation has more operations than a limit; looked at closely only where that is near."""
    most = sum(count * kernels[name].n_nodes() for name, count in routine.counts().items())
    return most > limit and operations(routine, kernels) > limit
