"""Equations of a network that stay nonlinear, solved by Newton's iteration in native code.

One damped step is a closed function; the solver, another one, repeats it until it is done (`compile/newton.py`). It
begins where the translation found a solution for the start of a run, so an answer depends on nothing that came before.
What is not solved after `MOST` steps is not a number, which ends the run. One more step is taken as an expression: so
the answer is differentiated as the solution it is, with the solver's result held.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable

import casadi as ca
import numpy as np

from kompono.translate.symbolic import Vector
from kompono.translate.texts import written

MOST = 60  # steps
HALVINGS = 12  # of a step that leads too far
DONE = 1e-11  # what may be left of an equation, of the sum of its terms
_NAME = re.compile(r"newton_(\d+)_(\d+)_(step_\w+)")
Told = Callable[[Vector], np.ndarray]
_GUESSES = (0.0, 1.0, -1.0, 1e-3, -1e-3, 1e3, 1e6)


def solver_of(name: str) -> tuple[int, int, str] | None:
    """How many unknowns and others a solver has, and the step it repeats, by its name; None for other functions."""
    found = _NAME.fullmatch(name)
    return (int(found[1]), int(found[2]), found[3]) if found else None


def newton(system: Vector, unknowns: Vector, told: Told | None = None) -> tuple[Vector, ca.SX]:
    """Expressions for the unknowns (n) that make the system (n) zero, and whether the solver finds them (1 or 0);
    `told(symbols)` are numbers for other symbols at the start.
    """
    others = ca.vertcat(ca.SX(0, 1), *[s for s in ca.symvar(system) if not ca.depends_on(s, unknowns)])
    size = unknowns.numel()
    step = _step(system, unknowns, others)
    column = ca.SX.sym("given", size + 1 + others.numel())
    state = column[: size + 1]
    for _ in range(MOST):
        state = step(ca.vertcat(state, column[size + 1 :]))
    name = f"newton_{size}_{others.numel()}_{step.name()}"
    solver = ca.Function(name, [column], [state], {"never_inline": True})
    guess = _guess(step, told(others) if told else np.ones(others.numel()), size)
    found = solver(ca.vertcat(ca.DM(guess), 0, others))
    rough, done = found[:size], found[size]
    rough = ca.vertcat(*[ca.if_else(done, entry, np.nan) for entry in ca.vertsplit(rough)])
    factors, left = (ca.substitute(e, unknowns, rough) for e in (ca.jacobian(system, unknowns), system))
    return rough - ca.solve(ca.densify(factors), ca.densify(left)), done


def _step(system: Vector, unknowns: Vector, others: Vector) -> ca.Function:
    """A damped step: (unknowns, done, others) to (unknowns, done). What is done stays as it is."""
    done = ca.SX.sym("done")
    factors = ca.densify(ca.jacobian(system, unknowns))
    terms = ca.fabs(factors) @ ca.fabs(unknowns) + ca.fabs(system - factors @ unknowns)
    full = -ca.solve(factors, ca.densify(system))
    residual = ca.Function("residual", [unknowns, others], [system])

    def size_of(left: Vector) -> ca.SX:
        """The largest entry, in units of the terms here; not a number if one is not."""
        return sum(ca.vertsplit((left / (terms + 1e-300)) ** 2), ca.SX(0))

    here = size_of(system)
    chosen, found = full * 0.5**HALVINGS, ca.SX(0)
    for halvings in range(HALVINGS):
        share = 0.5**halvings
        there = size_of(residual(unknowns + share * full, others))
        good = ca.logic_and(there <= (1 - share / 2) * here, ca.logic_not(found))
        chosen = ca.if_else(good, share * full, chosen)
        found = ca.logic_or(found, good)
    left = ca.fabs(system) - DONE * terms
    now = ca.SX(1)
    for entry in ca.vertsplit(left):
        now = ca.logic_and(now, entry <= 0)
    stay = ca.logic_or(done, now)
    moved = [ca.if_else(stay, x, x + dx) for x, dx in zip(ca.vertsplit(unknowns), ca.vertsplit(chosen), strict=True)]
    column = ca.vertcat(unknowns, done, others)
    plain = ca.Function("plain", [column], [ca.densify(ca.cse(ca.vertcat(*moved, stay)))])
    x = ca.SX.sym("x", column.numel())
    name = hashlib.sha256(written(ca.Function("plain", [x], [plain(x)])).encode()).hexdigest()[:24]
    return ca.Function(f"step_{name}", [x], [plain(x)], {"never_inline": True})


def _guess(step: ca.Function, others: np.ndarray, size: int) -> np.ndarray:
    """Where to begin: a solution at the start if one is found, else zeros."""
    for guess in _GUESSES:
        state = np.append(np.full(size, guess), 0.0)
        for _ in range(MOST):
            state = np.asarray(step(np.concatenate([state, others]))).ravel()
            if state[-1] or not np.all(np.isfinite(state)):
                break
        if state[-1] == 1.0:
            return state[:-1]
    return np.zeros(size)
