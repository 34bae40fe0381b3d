"""Equations of a network that stay nonlinear, solved by Newton's iteration in native code.

One damped step is a closed function; the solver, another one, repeats it until it is done (`compile/newton.py`). It
begins where the translation found a solution for the start of a run, so an answer depends on nothing that came before.
What is not solved after `MOST` steps is not a number, which ends the run. One more step is taken as an expression: so
the answer is differentiated as the solution it is, with the solver's result held.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import casadi as ca
import numpy as np

from kompono.translate.apart import parts_of_numbers
from kompono.translate.symbolic import Vector
from kompono.translate.texts import written

if TYPE_CHECKING:
    from kompono.translate.numbers import OpenNumbers

MOST = 60  # steps
HALVINGS = 12  # of a step that leads too far
DONE = 1e-11  # what may be left of an equation, of the sum of its terms
_GUESSES = (0.0, 1.0, -1.0, 1e-3, -1e-3, 1e3, 1e6)


class Begun(NamedTuple):
    """Where an iteration begins: `told` knows numbers of other symbols than the unknowns at the start. Those that stand
    for `numbers` that are put in after tracing are told by these; and so is what is begun from, under a `name`.
    """

    told: Callable[[Vector], np.ndarray] | None = None
    numbers: OpenNumbers | None = None
    name: str = ""

    def parted(self, symbols: Sequence[ca.SX]) -> tuple[Vector, Vector]:
        """Symbols of the model, and those of numbers."""
        ours = [self.numbers is not None and bool(self.numbers.among([symbol])) for symbol in symbols]
        known, numbers = ([s for s, mine in zip(symbols, ours, strict=True) if mine is b] for b in (False, True))
        return ca.vertcat(ca.SX(0, 1), *known), ca.vertcat(ca.SX(0, 1), *numbers)

    def values(self, known: Vector, numbers: Vector) -> np.ndarray:
        """What these are at the start."""
        told = np.ones(known.numel()) if self.told is None else self.told(known)
        if self.numbers is None:
            return told
        return np.concatenate([told, self.numbers.values(self.numbers.among(ca.symvar(numbers)))])

    def guess(self, values: np.ndarray) -> Vector:
        """What is begun from, none of it as structure."""
        if self.numbers is None:
            return ca.SX(ca.DM(values))
        return ca.densify(self.numbers.found(f"{self.name} begins", values, places=range(1, len(values) + 1)))


def newton(system: Vector, unknowns: Vector, begun: Begun) -> tuple[Vector, ca.SX]:
    """Expressions for the unknowns (n) that make the system (n) zero, and whether the solver finds them (1 or 0)."""
    known, numbers = begun.parted([s for s in ca.symvar(system) if not ca.depends_on(s, unknowns)])
    size = unknowns.numel()
    step, others = _step(system, unknowns, known, numbers)
    column = ca.SX.sym("given", size + 1 + others.numel())
    state = column[: size + 1]
    for _ in range(MOST):
        state = step(ca.vertcat(state, column[size + 1 :]))
    name = f"newton_{size}_{others.numel()}_{step.name()}"
    solver = ca.Function(name, [column], [state], {"never_inline": True})
    told = ca.Function("told", [ca.vertcat(known, numbers)], [others])(begun.values(known, numbers))
    guess = begun.guess(_guess(step, np.asarray(told).ravel(), size))
    found = solver(ca.vertcat(guess, 0, others))
    rough, done = found[:size], found[size]
    rough = ca.vertcat(*[ca.if_else(done, entry, np.nan) for entry in ca.vertsplit(rough)])
    factors, left = (ca.substitute(e, unknowns, rough) for e in (ca.jacobian(system, unknowns), system))
    return rough - ca.solve(ca.densify(factors), ca.densify(left)), done


def _step(system: Vector, unknowns: Vector, known: Vector, numbers: Vector) -> tuple[ca.Function, Vector]:
    """A damped step: (unknowns, done, others) to (unknowns, done), and the others: what is `known`, and what is made of
    `numbers` alone. What is done stays as it is.
    """
    done = ca.SX.sym("done")
    factors = ca.densify(ca.jacobian(system, unknowns))
    terms = ca.fabs(factors) @ ca.fabs(unknowns) + ca.fabs(system - factors @ unknowns)
    full = -ca.solve(factors, ca.densify(system))
    residual = ca.Function("residual", [unknowns, known, numbers], [system])

    def size_of(left: Vector) -> ca.SX:
        """The largest entry, in units of the terms here; not a number if one is not."""
        return sum(ca.vertsplit((left / (terms + 1e-300)) ** 2), ca.SX(0))

    here = size_of(system)
    chosen, found = full * 0.5**HALVINGS, ca.SX(0)
    for halvings in range(HALVINGS):
        share = 0.5**halvings
        there = size_of(residual(unknowns + share * full, known, numbers))
        good = ca.logic_and(there <= (1 - share / 2) * here, ca.logic_not(found))
        chosen = ca.if_else(good, share * full, chosen)
        found = ca.logic_or(found, good)
    left = ca.fabs(system) - DONE * terms
    now = ca.SX(1)
    for entry in ca.vertsplit(left):
        now = ca.logic_and(now, entry <= 0)
    stay = ca.logic_or(done, now)
    changed = [ca.if_else(stay, x, x + dx) for x, dx in zip(ca.vertsplit(unknowns), ca.vertsplit(chosen), strict=True)]
    moved = ca.densify(ca.cse(ca.vertcat(*changed, stay)))
    places, made, column = parts_of_numbers(moved, numbers) if numbers.numel() else ([], [], moved)
    used = {symbol.element_hash() for symbol in ca.symvar(column)}
    single = [symbol for symbol in ca.symvar(numbers) if symbol.element_hash() in used]
    plain = ca.Function("plain", [ca.vertcat(unknowns, done, known, *single, *places)], [column])
    x = ca.SX.sym("x", plain.nnz_in(0))
    name = hashlib.sha256(written(ca.Function("plain", [x], [plain(x)])).encode()).hexdigest()[:24]
    step = ca.Function(f"step_{name}", [x], [plain(x)], {"never_inline": True})
    return step, ca.vertcat(known, *single, *made)


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
