"""A consistent start: close the loops from the user's guess, on coordinates and on speeds.

What the user gave stays as long as the loops can be closed with it, which is looked for with care; only then what was
given less firmly may move. Speeds follow by linear solves. What cannot be satisfied is refused by name, what was not
kept is listed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kompono.compile.law_state import shortest
from kompono.errors import AssemblyError
from kompono.solve.bodies import bring_near, follow, turn_roots
from kompono.solve.close import LoopGap, close
from kompono.solve.kept import NotKept, not_kept
from kompono.solve.loops import RANK, TOLERANCE, Loops
from kompono.solve.speeds import match_speeds
from kompono.translate.structure.independent import implied_rows, rank_of

if TYPE_CHECKING:
    from kompono.translate.starts.asked import AskedStart


@dataclass(frozen=True)
class Assembly:
    """The consistent state and the names of the coordinates and speeds that had to move, with their changes.

    `redundant` names the closing elements whose multipliers are not unique, because their conditions depend on others.
    `purpose` says what they were moved for, `not_kept` what was asked for and is not so. A `gap` [`gap_unit`] remains
    at the element `open_at` where lengths of a redundant loop are rounded; `unused` says what nothing can use.
    """

    state: np.ndarray
    moved: dict[str, float]
    degrees_of_freedom: int
    redundant: tuple[str, ...] = ()
    purpose: str = "to close the loops"
    not_kept: tuple[NotKept, ...] = ()
    gap: float = 0.0
    gap_unit: str = ""
    open_at: str = ""
    unused: tuple[str, ...] = ()


def assemble(kernel: Any, time: float, start: AskedStart, inputs: np.ndarray, parameters: np.ndarray) -> Assembly:
    """Close all loops at `time`."""
    loops = Loops(kernel, time, inputs, parameters, start)
    try:
        return _assembled(loops)
    except AssemblyError:
        if not loops.borrowed:
            raise
    return _assembled(Loops(kernel, time, inputs, parameters, start, anew=True))


def _assembled(loops: Loops) -> Assembly:
    kernel, start = loops.kernel, loops.start
    guess = bring_near(loops, start.state)
    state, closed, matrix = guess, LoopGap(), np.zeros((0, loops.nv))
    asked = bool(start.rows.elements) or loops.targets.size or loops.speeds.size
    if asked:
        state, closed = close(loops, guess)
        state = match_speeds(loops, turn_roots(loops, state), closed.rank, 100 * closed.gap)
        _check_speeds(loops, state, closed)
        if "derivative" in kernel.program.routines and start.rows.elements:
            _check_accelerations(loops, state, closed)
        matrix = loops.conditions(state)[2]
    names = (*kernel.program.coordinates, *kernel.program.speeds, *kernel.program.modes, *kernel.program.states)
    moved = {n: float(b - a) for n, a, b in zip(names, guess, state, strict=True) if abs(b - a) > 1e-10}
    state = follow(loops, state)
    return Assembly(
        state,
        moved,
        degrees_of_freedom(matrix, closed.rank),
        _not_unique(matrix, start.rows.elements, closed.rank),
        _purpose(loops, moved),
        not_kept(loops, state) if asked or start.bodies else (),
        closed.gap,
        closed.unit,
        closed.open_at,
        start.unused,
    )


def moves(assembly: Assembly) -> str:
    """What assembly had to move, in words; empty if nothing by much."""
    large = {name: change for name, change in assembly.moved.items() if abs(change) > 1e-6}
    listed = ", ".join(f"{name} by {change:+.6g}" for name, change in list(large.items())[:6])
    return listed + (f" and {len(large) - 6} more" if len(large) > 6 else "")


def remarks(assembly: Assembly) -> list[str]:
    """Everything a user must know about a start, one sentence each."""
    said = list(assembly.unused)
    moved = moves(assembly)
    if moved:
        said.append(f"assembly moved {moved} {assembly.purpose}.")
    if assembly.not_kept:
        listed = "; ".join(str(item) for item in assembly.not_kept[:6])
        more = len(assembly.not_kept) - 6
        said.append(f"start values could not be kept: {listed}" + (f"; and {more} more." if more > 0 else "."))
    if assembly.open_at:
        said.append(
            f"{assembly.open_at}: a gap of {assembly.gap:.3g} {assembly.gap_unit} remains, because points or lengths "
            "of its loop are rounded and the loop is redundant; give them exactly to close it."
        )
    return said


def degrees_of_freedom(matrix: np.ndarray, rank: float = RANK) -> int:
    """Speeds less independent conditions, from G (rows, speeds)."""
    return matrix.shape[1] - rank_of(matrix, rank)


def _not_unique(matrix: np.ndarray, rows: Sequence[str], rank: float) -> tuple[str, ...]:
    """Elements with rows in some combination lambda^T G = 0."""
    if not rows:
        return ()
    implied = implied_rows(matrix, rank)
    shared = np.abs(implied).max(axis=1, initial=0.0) > 1e-6
    return tuple(dict.fromkeys(name for name, free in zip(rows, shared, strict=True) if free))


def _purpose(loops: Loops, moved: dict[str, float]) -> str:
    """What coordinates or speeds were moved for: loops, or drives and couplings, or both."""
    names = (*loops.kernel.program.coordinates, *loops.kernel.program.speeds)
    changed = np.array([abs(moved.get(name, 0.0)) > 1e-6 for name in names], dtype=bool)
    kinds: set[bool] = set()
    for part in loops.parts if changed.any() and loops.rows.elements else ():
        if changed[part.coordinates].any() or changed[loops.nq + part.speeds].any():
            kinds |= {loops.rows.coupling[k] for k in part.rows}
    words = {False: "to close the loops", True: "to agree with drives and couplings"}
    return " and ".join(words[kind] for kind in sorted(kinds)) or "to agree with start values"


def _check_speeds(loops: Loops, state: np.ndarray, closed: LoopGap) -> None:
    _, g_dot, matrix, _ = loops.conditions(state)
    scale = 1.0 + np.abs(state[loops.nq : loops.nq + loops.nv]).max(initial=0.0)
    if np.abs(g_dot).max(initial=0.0) > (TOLERANCE + 100 * closed.gap) * scale:
        _contradiction(loops, g_dot, matrix, "speeds")


def _check_accelerations(loops: Loops, state: np.ndarray, closed: LoopGap) -> None:
    _, _, matrix, bias = loops.conditions(state)
    derivative = shortest("derivative", loops.kernel.program, state)
    acceleration = loops.evaluate(derivative, state)[0][loops.nq : loops.nq + loops.nv]
    residual = matrix @ acceleration + bias
    scale = 1.0 + np.abs(bias).max(initial=0.0) + (np.abs(matrix) @ np.abs(acceleration)).max(initial=0.0)
    if np.abs(residual).max(initial=0.0) > (1e-6 + 100 * closed.gap) * scale:
        _contradiction(loops, residual, matrix, "accelerations")


def check_solvable(
    kernel: Any, time: float, start: AskedStart, inputs: np.ndarray, parameters: np.ndarray, assembly: Assembly
) -> None:
    """Raise AssemblyError if no accelerations at all meet the conditions; for programs without `derivative`."""
    if not start.rows.elements:
        return
    loops = Loops(kernel, time, inputs, parameters, start)
    _, _, matrix, bias = loops.conditions(assembly.state)
    residual = matrix @ np.linalg.lstsq(matrix, -bias, rcond=RANK)[0] + bias
    if np.abs(residual).max(initial=0.0) > (1e-6 + 100 * assembly.gap) * (1.0 + 2 * np.abs(bias).max(initial=0.0)):
        _contradiction(loops, residual, matrix, "accelerations")


def _contradiction(loops: Loops, residual: np.ndarray, matrix: np.ndarray, what: str) -> None:
    """Name the elements with the largest residuals, and those whose conditions are the same as theirs."""
    rows = loops.rows.elements
    worst = np.flatnonzero(np.abs(residual) > 0.1 * np.abs(residual).max())
    others = np.setdiff1d(np.arange(len(residual)), worst)
    involved = {rows[int(i)]: None for i in worst}
    for i in worst if len(others) else []:
        share = np.linalg.lstsq(matrix[others].T, matrix[i], rcond=None)[0]
        involved.update({rows[int(k)]: None for k in others[np.abs(share) > 1e-6]})
    largest = int(np.argmax(np.abs(residual)))
    unit = loops.rows.units()[largest]
    per = {"speeds": "/s", "accelerations": "/s^2"}[what] if unit else ""
    raise AssemblyError(
        f"drives and constraints ask for contradictory {what} (largest residual {abs(residual[largest]):.3g}"
        f"{' ' + unit + per if unit else ''}).",
        path=" and ".join(involved),
        fix="Remove one of the drives, or make their motions agree.",
    )
