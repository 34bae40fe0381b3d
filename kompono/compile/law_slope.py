"""How forces of laws change in some directions, at fixed modes: the linear equations of the last pass, solved again.

Held rows keep w = 0, and rows that slide z = -d (mu n N + limit) with the direction n of N: so the changes dz obey the
equations of the forces themselves, with what rows and measures change at fixed forces in the place of b and n0, and
without a limit. What d, mu and limit themselves change is told with these (see `translate/laws/along`). The machine is
asked once for each active row, whatever the number of directions. Of redundant rows the first pivots bear all changes,
as rates want it; who wants the forces themselves gets no numbers there. The transposed solves for one unit of each row
that is held and each measure, one after the other, and keeps of each what weights of the forces make of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from kompono.compile.emit import BOOL, INT, REAL, Array, Value, Variable, room
from kompono.compile.law_carried import write_carried
from kompono.compile.law_least import dot, solve_least
from kompono.compile.law_regular import solve_regular
from kompono.compile.law_slip import solve_for_slipping, write_slip_equations
from kompono.compile.law_symmetric import factor, solve_all
from kompono.compile.law_work import Work
from kompono.translate.laws.naming import FIELDS, OFF, SLIDES

Held = Callable[[Callable[[Value], Value]], None]  # writes the equations of held rows, from what is b on each
Accept = Callable[[], object]  # takes what was found to `z`


def write_slopes(work: Work, held: Held, accept: Accept) -> None:
    """Changes of all forces, direction by direction, to `out`."""
    code, sizes = work.code, work.sizes
    solver = _Directions(work, held, accept)
    changes = solver.forces.at(sizes.rows)
    with code.loop(sizes.columns) as column:
        solver.solve(changes.at(column * (sizes.rows + sizes.measures)), work.out.at(column * sizes.rows))


def write_pulled(work: Work, held: Held, accept: Accept) -> None:
    """What weights of the changes of all forces are for rows and measures, to `out`."""
    code, sizes = work.code, work.sizes
    solver = _Directions(work, held, accept)
    weights, width = solver.forces.at(sizes.rows), sizes.rows + sizes.measures
    change, found = room(code, max(width, 1)), room(code, max(sizes.rows, 1))
    matters = room(code, max(width, 1))
    with code.loop(width) as i:
        change[i] = 0.0
        matters[i] = code.select(work.sliding.get() > 0, Value(code, "1.0", REAL), 0.0)
    with code.loop(sizes.rows) as i:
        found[i] = 0.0
        kind = work.kinds[i]
        matters[i] = code.select(kind.equals(OFF) | kind.equals(SLIDES), Value(code, "0.0", REAL), 1.0)
    with code.loop(width) as column, code.when(matters[column] > 0.0):
        change[column] = 1.0
        solver.solve(change, found)
        work.out[column] = dot(code, weights, found, Value(code, str(sizes.rows), INT))
        change[column] = 0.0


class _Directions:
    """Solves for one direction after the other, with factors that are made once where they can be."""

    def __init__(self, work: Work, held: Held, accept: Accept) -> None:
        code, sizes = work.code, work.sizes
        self.work, self._held, self._accept = work, held, accept
        self.forces = work.given.at(sizes.factor + len(FIELDS) * sizes.rows + sizes.measures)
        self._rank: Variable = code.variable(INT, -1)
        self._independent: Variable = code.variable(BOOL, True)
        with code.loop(work.active.get() - work.sliding.get()) as i:
            work.weights[i] = 1.0

    def solve(self, change: Array, found: Array) -> None:
        """Changes of all forces where rows and measures change so."""
        work, rank, independent, forces = self.work, self._rank, self._independent, self.forces
        code, sizes, count = work.code, work.sizes, work.active.get()
        rest = count - work.sliding.get()
        with code.loop(count) as a:
            work.z[a] = forces[work.which[a]]
            work.sides[a] = 0.0
        limited, _, _ = write_slip_equations(work)
        limited = limited | (work.carried.count.get() > 0)
        _change_right_sides(work, change.at(sizes.rows))
        solve_for_slipping(work)
        self._held(lambda row: change[row])
        with code.when(~limited):
            with code.when(rank.get() < 0):
                rank.set(factor(work.held, rest))
            solve_all(work.held, rank.get())
            independent.set(rank.get() >= rest)
        with code.when(limited):
            independent.set(solve_regular(work.held, rest))
            with code.when(~independent.get()):
                solve_least(work.held, work.weights, rest)
        self._accept()
        with code.loop(count) as a:
            found[work.which[a]] = work.z[a]
        write_carried(work, found)
        with code.loop(sizes.rows) as i, code.when(~forces[i].equals(forces[i])):
            found[i] = math.nan
        if sizes.purpose in ("share", "bear"):
            with code.when(~independent.get()), code.loop(count) as a:
                found[work.which[a]] = math.nan


def _change_right_sides(work: Work, change: Array) -> None:
    """Of the equations of sliding rows: only what their measures change at fixed forces is left."""
    code, count = work.code, work.active.get()
    with code.loop(work.sliding.get()) as s:
        row, curve = work.which[s], work.curve(s)
        given, first = work.integer(row, "count"), work.integer(row, "first")
        size = code.select(given < 0, Value(code, "1", INT), given)
        share = work.law(row, "direction") * work.law(row, "mu")
        curve[count] = 0.0 - share * dot(code, work.measured.at(first), change.at(first), size)
