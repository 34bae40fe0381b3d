"""The native solver of laws with fixed modes: multipliers z of rows that are held or slide, without events.

The machine answers linearly: w = b + A z on the rows of the laws, N = n0 + B z on reactions that limit friction.
A row that is held has w = 0; one that slides has z = -d (mu abs(N) + limit), N some of the measured reactions and d the
direction of the slip; all others have z = 0. Columns of A and B come from the machine itself, one `respond` for each
row that is not off. Only abs(N) is not linear: Newton's method turns a known direction of N until it stays, which for
a single reaction is a matter of its sign. Multipliers of sliding rows are eliminated first, the held rows that remain
get the solution of least norm (see `law_least`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from kompono.compile.emit import BOOL, INT, REAL, Array, Code, Value, Variable, room
from kompono.compile.law_least import Equations, add, dot, make_equations, solve_least
from kompono.compile.lanes import Lanes
from kompono.compile.lower import called_symbol
from kompono.errors import CompileError
from kompono.translate.laws.naming import FIELDS, OFF, SLIDES, Sizes, sizes

VERSION = 1  # of the algorithm
MOST = 64  # rows that may be held or slide at the same time; with more of them all z are NaN
_TRIES = 12  # of Newton's method
_CHANGE = 1e-14  # of z, relative to the largest: that is settled
_NEAR = 1e-10  # where a change that grows again is rounding


@dataclass(frozen=True)
class _Work:
    """The columns of a call and the memory of the solver.

    Active rows are numbered with those that slide first: `which` is their place in the table. `columns` has what the
    machine answers to one unit of each, `curves` the equations of sliding rows: coefficients of all active multipliers
    and the right side.
    """

    code: Code
    sizes: Sizes
    most: int
    given: Array
    out: Array
    which: Array
    columns: Array
    curves: Array
    measured: Array
    sides: Array
    z: Array
    sliding: Variable
    active: Variable
    held: Equations

    def law(self, i: Value, field: str) -> Value:
        """An entry of the table of laws, of a row by its place there."""
        return self.given[i * len(FIELDS) + (self.sizes.factor + FIELDS.index(field))]

    @property
    def n0(self) -> Array:
        """Measured reactions without multipliers."""
        return self.given.at(self.sizes.factor + len(FIELDS) * self.sizes.rows)

    def column(self, a: Value) -> Array:
        """What the machine answers to an active row: A z on rows, B z on measures."""
        return self.columns.at(a * (self.sizes.rows + self.sizes.measures))

    def curve(self, s: Value) -> Array:
        """The equation of a sliding row."""
        return self.curves.at(s * (self.most + 1))


def define(name: str, lanes: Lanes) -> str:
    """The solver of this name: [factor | table | n0] -> [z], and declarations of what it calls."""
    known = sizes(name)
    if known is None:
        raise CompileError(f"{name} is not the name of a solver of laws.")
    if lanes.count > 1:
        raise CompileError("a model with laws that change its structure runs on one lane.", fix="Use lanes=1.")
    code = Code(lanes)
    work = _memory(code, known)
    with code.loop(known.rows) as i:
        work.out[i] = 0.0
    _count_rows(work)
    count = work.active.get()
    with code.when(count > work.most), code.loop(known.rows) as i:
        work.out[i] = math.nan
    with code.when((count > 0) & (count <= work.most)):
        _list_rows(work)
        _ask(work, called_symbol(known.respond, lanes))
        _newton(work)
        with code.loop(count) as a:
            work.out[work.which[a]] = work.z[a]
    head = f"void @{called_symbol(name, lanes)}(ptr noalias readonly %in, ptr noalias %out) nounwind"
    return f"declare void @{called_symbol(known.respond, lanes)}(ptr, ptr) nounwind\n" + code.define(head)


def _memory(code: Code, known: Sizes) -> _Work:
    most = max(1, min(known.rows, MOST))
    which, sides, z = (room(code, most) for _ in range(3))
    return _Work(
        code, known, most, Array(code, "%in"), Array(code, "%out"), Array(code, which.pointer, INT),
        room(code, most * max(1, known.rows + known.measures)), room(code, most * (most + 1)),
        room(code, max(1, known.measures)), sides, z, code.variable(INT, 0), code.variable(INT, 0),
        make_equations(code, most),
    )  # fmt: skip


def _count_rows(work: _Work) -> None:
    """How many rows slide, and how many are not off."""
    code = work.code
    with code.loop(work.sizes.rows) as i:
        kind = work.law(i, "kind")
        work.active.set(work.active.get() + code.select(kind.equals(OFF), Value(code, "0", INT), 1))
        work.sliding.set(work.sliding.get() + code.select(kind.equals(SLIDES), Value(code, "1", INT), 0))


def _list_rows(work: _Work) -> None:
    """Number the active rows, those that slide first."""
    code = work.code
    slides, held = code.variable(INT, 0), code.variable(INT, work.sliding.get())
    with code.loop(work.sizes.rows) as i:
        kind = work.law(i, "kind")
        for cell, condition in ((slides, kind.equals(SLIDES)), (held, ~(kind.equals(SLIDES) | kind.equals(OFF)))):
            with code.when(condition):
                work.which[cell.get()] = i
                cell.set(cell.get() + 1)


def _ask(work: _Work, respond: str) -> None:
    """What the machine answers to one unit of each active multiplier."""
    code, factor = work.code, work.sizes.factor
    load = room(code, factor + work.sizes.rows)
    code.copy(load, work.given, factor)
    with code.loop(work.sizes.rows) as i:
        load[i + factor] = 0.0
    with code.loop(work.active.get()) as a:
        place = work.which[a] + factor
        load[place] = 1.0
        code.call(respond, [load, work.column(a)])
        load[place] = 0.0


def _newton(work: _Work) -> None:
    """Solve until abs(N) of all sliding rows is known."""
    code, count = work.code, work.active.get()
    with code.loop(count) as a:
        work.z[a] = 0.0
        work.sides[a] = 0.0
    tries, before = code.variable(INT, 0), code.variable(REAL, math.inf)
    with code.forever():
        limited, turned = _slip_equations(work)
        code.leave((tries.get() > 0) & ~turned)
        _eliminate(work)
        _held_equations(work)
        solve_least(work.held, count - work.sliding.get())
        change, largest = _accept(work)
        tries.set(tries.get() + 1)
        stays = (change <= _CHANGE * largest) | ((change <= _NEAR * largest) & (change >= before.get()))
        before.set(change)
        code.leave(~limited | stays | (tries.get() >= _TRIES))


def _slip_equations(work: _Work) -> tuple[Value, Value]:
    """z + d (mu n (n0 + B z) + limit) = 0 for rows that slide, n the present direction of N.

    Whether a measured reaction limits any of them, and whether the direction of one is another than the last time.
    """
    code, count = work.code, work.active.get()
    limited, turned = code.variable(BOOL, False), code.variable(BOOL, False)
    with code.loop(work.sliding.get()) as s:
        row, curve = work.which[s], work.curve(s)
        direction = work.law(row, "direction")
        with code.loop(count) as a:
            curve[a] = 0.0
        curve[s] = 1.0
        curve[count] = 0.0 - direction * work.law(row, "limit")
        size = _integer(work, row, "count")
        with code.when(size > 0):
            limited.set(True)
            first = _integer(work, row, "first")
            side = _point(work, first, size)
            turned.set(turned.get() | (size > 1) | ~side.equals(work.sides[s]))
            work.sides[s] = side
            _add_limit(work, curve, direction * work.law(row, "mu"), first, size)
    return limited.get(), turned.get()


def _integer(work: _Work, row: Value, field: str) -> Value:
    return work.code.let(INT, f"call i64 @llvm.fptosi.sat.i64.f64(double {work.law(row, field).name})")


def _point(work: _Work, first: Value, size: Value) -> Value:
    """The direction of N at the present z, to its places in `measured`; 1 or -1 as the sign of its first component.

    Where N is zero a single reaction counts as positive, several have no direction.
    """
    code, rows = work.code, work.sizes.rows
    n, n0, square = work.measured.at(first), work.n0.at(first), code.variable(REAL, 0.0)
    with code.loop(size) as j:
        value = code.variable(REAL, n0[j])
        with code.loop(work.active.get()) as a:
            value.set(value.get() + work.column(a).at(first + rows)[j] * work.z[a])
        n[j] = value.get()
        square.set(square.get() + value.get() * value.get())
    nowhere, norm = square.get().equals(0.0), code.math("sqrt", square.get())
    instead = code.select(size.equals(1), Value(code, "1.0", REAL), 0.0)
    with code.loop(size) as j:
        n[j] = code.select(nowhere, instead, n[j] / norm)
    return code.select(n[0] < 0.0, Value(code, "-1.0", REAL), 1.0)


def _add_limit(work: _Work, curve: Array, factor: Value, first: Value, size: Value) -> None:
    """Add factor * n (n0 + B z) to an equation."""
    code, count, n = work.code, work.active.get(), work.measured.at(first)
    with code.loop(count) as a:
        answer = work.column(a).at(first + work.sizes.rows)
        curve[a] = curve[a] + factor * dot(code, n, answer, size)
    curve[count] = curve[count] - factor * dot(code, n, work.n0.at(first), size)


def _eliminate(work: _Work) -> None:
    """Solve the equations of sliding rows for their own multipliers, Gauss-Jordan with the largest pivots."""
    code, sliding = work.code, work.sliding.get()
    width = work.active.get() + 1
    with code.loop(sliding) as s:
        pivot = _largest_below(work, s)
        mine, other = work.curve(s), work.curve(pivot)
        with code.when(~pivot.equals(s)), code.loop(width) as a:
            kept = mine[a]
            mine[a] = other[a]
            other[a] = kept
        inverse = 1.0 / mine[s]
        with code.loop(width) as a:
            mine[a] = mine[a] * inverse
        with code.loop(sliding) as i:
            curve = work.curve(i)
            share = curve[s]
            with code.when(~(i.equals(s) | share.equals(0.0))), code.loop(width) as a:
                curve[a] = curve[a] - share * mine[a]


def _largest_below(work: _Work, s: Value) -> Value:
    """The equation, from s on, with the largest coefficient of multiplier s."""
    code = work.code
    best, largest = code.variable(INT, s), code.variable(REAL, 0.0)
    with code.loop(work.sliding.get() - s) as i:
        size = code.math("fabs", work.curve(i + s)[s])
        with code.when(size > largest.get()):
            largest.set(size)
            best.set(i + s)
    return best.get()


def _held_equations(work: _Work) -> None:
    """b + A z = 0 on held rows, the multipliers of sliding rows inserted."""
    code, held, sliding, count = work.code, work.held, work.sliding.get(), work.active.get()
    with code.loop(count - sliding) as i:
        row, target = work.which[i + sliding], held.row(held.matrix, i)
        with code.loop(count - sliding) as j:
            target[j] = work.column(j + sliding)[row]
        right = code.variable(REAL, 0.0 - work.law(row, "offset"))
        with code.loop(sliding) as s:
            answer, curve = work.column(s)[row], work.curve(s)
            right.set(right.get() - answer * curve[count])
            add(code, target, 0.0 - answer, curve.at(sliding), count - sliding)
        held.right[i] = right.get()


def _accept(work: _Work) -> tuple[Value, Value]:
    """Take over the multipliers of held rows, find those of sliding rows; the largest change and the largest z."""
    code, sliding, count = work.code, work.sliding.get(), work.active.get()
    change, largest, value = code.variable(REAL, 0.0), code.variable(REAL, 0.0), code.variable(REAL, 0.0)
    result = work.held.result
    with code.loop(count) as a:
        with code.when(a < sliding):
            curve = work.curve(a)
            value.set(curve[count] - dot(code, curve.at(sliding), result, count - sliding))
        with code.when(a >= sliding):
            value.set(result[a - sliding])
        change.set(code.math("maxnum", change.get(), code.math("fabs", value.get() - work.z[a])))
        largest.set(code.math("maxnum", largest.get(), code.math("fabs", value.get())))
        work.z[a] = value.get()
    return change.get(), largest.get()
