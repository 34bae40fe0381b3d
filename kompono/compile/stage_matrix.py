"""The matrix of implicit stages in native code: made, measured, factored, and solved with.

It is S of `translate/slopes`, exact and compiled, for speeds and states of one's own; coordinates follow. Where most of
S is always zero it is kept and factored as a sparse one, if that pays (`sparse_lu.py`). Such factors are made without
row exchanges, so each is tried: where a solution with it does not fulfil its equations, dense factors are made.

Of models with parts that only answer (sealed ones, FMUs) the matrix is 1 - g J of the whole state, with J by forward
differences.
"""

from __future__ import annotations

from kompono.compile import lu
from kompono.compile.block import has_slopes, stage_entries, stage_plan
from kompono.compile.emit import BOOL, INT, Array, Value
from kompono.compile.machine import Machine
from kompono.compile.schedule import symbol
from kompono.compile.sparse_lu import SparseLU, SparseRows, Tables
from kompono.translate.program import IMPLICIT, Program
from kompono.translate.slopes import moving_places

_STRIDE = 2.0**-26  # of a difference, relative to a number and one
_FULFILLED = 1e-6  # of the terms of an equation: what a solution may leave of it
_EXCHANGED = 13  # place in the vector `newton`: whether the factors are dense ones


class StageMatrix:
    """The matrix of one machine, and its tables of places."""

    def __init__(self, machine: Machine) -> None:
        self.machine, program = machine, machine.program
        self.exact = has_slopes(program)
        self.size = len(program.speeds) + len(program.states) if self.exact else machine.size
        self.tables, self._rows, self._coupling, self._sparse = Tables(machine.code, "kompono.places"), None, None, None
        if stage_entries(program):
            square, coupling = (program.routines[IMPLICIT].entries[k] for k in (1, 2))
            self._rows = SparseRows(machine.code, self.size, self.size, square, self.tables)
            count = max(len(program.coordinates), 1)
            self._coupling = SparseRows(machine.code, self.size, count, coupling, self.tables)
            self._places = self.tables.put(square)
            plan = stage_plan(program)
            self._sparse = SparseLU(machine.code, plan, self.tables) if plan is not None else None

    def make(self, time: Value, state: str) -> None:
        """The rate at a state to `mean`, and the matrix there, not factored."""
        if self.exact:
            self._evaluate(time, state)
        else:
            self._difference(time, state)

    def _evaluate(self, time: Value, state: str) -> None:
        machine, routine = self.machine, self.machine.program.routines[IMPLICIT]
        machine.vector("time")[0] = time
        machine.set_inputs(time)
        names = ["entries" if name == "square" and self._rows else name for name, _ in routine.outputs[1:]]
        given = [machine.vector(name) for name in ("time", state, "inputs", "given")]
        made = [machine.vector("mean"), *map(machine.vector, names)]
        machine.code.call(symbol(routine.name), [*given, *made, machine.vector("work")])

    def _difference(self, time: Value, state: str) -> None:
        """By forward differences; modes have no rate, and are not moved."""
        machine, code, size = self.machine, self.machine.code, self.size
        routine, program = machine.program.routines["derivative"], machine.program
        first, modes = len(program.coordinates) + len(program.speeds), len(program.modes)
        place, rate, moved = (machine.vector(name) for name in (state, "mean", "rate_beside"))
        square, g = machine.vector("square"), machine.vector("given")[len(program.parameters)]
        machine.evaluate(routine, time, state, "mean")
        with code.loop(size * size) as k:
            square[k] = 0.0
        with code.loop(modes) as k:
            square[(k + first) * (size + 1)] = 1.0
        with code.loop(size - modes) as k:
            j = code.select(k < first, k, k + modes)
            kept = place[j]
            place[j] = kept + _STRIDE * (1.0 + code.math("fabs", kept))
            stride = place[j] - kept
            machine.evaluate(routine, time, state, "rate_beside")
            place[j] = kept
            with code.loop(size) as i:
                share = g * (moved[i] - rate[i]) / stride
                square[i * size + j] = code.select(i.equals(j), 1.0, 0.0) - share
        machine.block.add("evaluations", size - modes)

    def add_product(self, source: Array, target: Array, sign: float) -> None:
        """target = matrix * source + sign * target, before it is factored."""
        if self._rows is not None:
            self._rows.add(self.machine.vector("entries"), source, target, sign)
            return
        code, square = self.machine.code, self.machine.vector("square")
        with code.loop(self.size) as i:
            row, total = square.at(i * self.size), code.variable(self.machine.lanes.real, sign * target[i])
            with code.loop(self.size) as j:
                total.set(total.get() + row[j] * source[j])
            target[i] = total.get()

    def factor(self) -> None:
        """Factor it; `power` is taken for a right side to try sparse factors with."""
        code, newton = self.machine.code, self.machine.vector("newton")
        if self._sparse is None:
            self._factor_dense()
            return
        factors, row = self.machine.vector("factors"), self.machine.vector("row")
        self._sparse.factor(self.machine.vector("entries"), factors, row)
        newton[_EXCHANGED] = 0.0
        with code.when(~self._fulfils(self.machine.vector("power"), self.machine.vector("solved"))):
            newton[_EXCHANGED] = 1.0
            self._factor_dense()

    def _factor_dense(self) -> None:
        code, square = self.machine.code, self.machine.vector("square")
        if self._rows is not None:
            with code.loop(self.size * self.size) as k:
                square[k] = 0.0
            entries = self.machine.vector("entries")
            with code.loop(len(self.machine.program.routines[IMPLICIT].entries[1])) as k:
                square[self._places[k]] = entries[k]
        lu.factor(code, square, self._pivots, self.size)

    def _fulfils(self, right: Array, solution: Array) -> Value:
        """Whether what the factors say of a right side fulfils each equation, compared with its terms."""
        assert self._rows is not None
        code = self.machine.code
        code.copy(solution, right, self.size)
        self.solve(solution)
        fine = code.variable(BOOL, True)

        def judge(i: Value, total: Value, terms: Value) -> None:
            left = code.math("fabs", total - right[i])
            fine.set(fine.get() & (left <= _FULFILLED * (terms + code.math("fabs", right[i]))))

        self._rows.each(self.machine.vector("entries"), solution, judge)
        return fine.get()

    def solve(self, values: Array) -> None:
        """values = matrix^-1 values, with its factors."""
        code, square = self.machine.code, self.machine.vector("square")
        if self._sparse is None:
            lu.solve(code, square, self._pivots, values, self.size)
            return
        exchanged = self.machine.vector("newton")[_EXCHANGED] > 0.0
        with code.when(exchanged):
            lu.solve(code, square, self._pivots, values, self.size)
        with code.when(~exchanged):
            self._sparse.solve(self.machine.vector("factors"), values, self.machine.vector("row"))

    def solve_reduced(self, change: Array) -> None:
        """change = (1 - g J)^-1 change, with coordinates eliminated."""
        if not self.exact:
            self.solve(change)
            return
        machine, code = self.machine, self.machine.code
        q, places = len(machine.program.coordinates), moving_places(machine.program)
        solved, coupling = machine.vector("solved"), machine.vector("coupling")
        for k, place in enumerate(places):
            solved[k] = change[place]
        if self._coupling is not None:
            self._coupling.add(coupling, change, solved)
        else:
            with code.loop(len(places)) as i:
                row, total = coupling.at(i * q), code.variable(machine.lanes.real, solved[i])
                with code.loop(q) as j:
                    total.set(total.get() + row[j] * change[j])
                solved[i] = total.get()
        self.solve(solved)
        self._follow(change, solved)
        for k, place in enumerate(places):
            change[place] = solved[k]

    def _follow(self, change: Array, solved: Array) -> None:
        """Coordinates of the change: X r_q + F d_z, entry by entry."""
        machine, q = self.machine, len(self.machine.program.coordinates)
        totals: list[Value | None] = [None] * q
        for (name, entries), source in zip(_followed(machine.program), (change, solved), strict=True):
            factors = machine.vector(name)
            for k, (place, constant) in enumerate(entries):
                row, column = place % q, place // q
                term = source[column]
                if constant != 1.0:
                    term = (factors[k] if constant is None else constant) * term
                before = totals[row]
                totals[row] = term if before is None else before + term
        for row, total in enumerate(totals):
            if total is not None:
                change[row] = total

    @property
    def _wide(self) -> bool:
        return self.machine.lanes.count > 1

    @property
    def _pivots(self) -> Array:
        if self._wide:
            return self.machine.vector("pivots")
        return Array(self.machine.code, self.machine.vector("pivots").pointer, INT)


def _followed(program: Program) -> list[tuple[str, list[tuple[int, float | None]]]]:
    """Entries of X and F: where they lie, column by column, and the value of those that are constant."""
    routine = program.routines[IMPLICIT]
    rows = zip(routine.outputs, routine.entries, routine.result, strict=True)
    return [
        (name, [(k, s if isinstance(s, float) else None) for k, s in zip(places, result, strict=True)])
        for (name, _), places, result in rows
        if name in ("turning", "following")
    ]


def patterns(program: Program) -> list[list[tuple[int, float | None]]]:
    """All that code for a matrix depends on beside sizes."""
    if not has_slopes(program):
        return []
    found = [entries for _, entries in _followed(program)]
    for places in program.routines[IMPLICIT].entries[1:3]:
        found.append([(place, None) for place in places])
    return found
