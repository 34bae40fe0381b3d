"""Names of functions that are repeated until they are done: the solvers of nonlinear networks, and their steps."""

from __future__ import annotations

import re

import casadi as ca

_SOLVER = re.compile(r"newton_(\d+)_(\d+)_(step_\w+)")
_STEP = re.compile(r"step_[0-9a-f]{24}")


def solver_of(name: str) -> tuple[int, int, str] | None:
    """How many unknowns and others a solver has, and the step it repeats, by its name; None for other functions."""
    found = _SOLVER.fullmatch(name)
    return (int(found[1]), int(found[2]), found[3]) if found else None


def found_anywhere(function: ca.Function) -> bool:
    """Whether a function can be evaluated here: other closed functions than these are called by native code alone."""
    return all(of_solver(inner.name()) for inner in function.find_functions())


def of_solver(name: str) -> bool:
    """Whether a function is such a solver, or the step of one."""
    return solver_of(name) is not None or _STEP.fullmatch(name) is not None
