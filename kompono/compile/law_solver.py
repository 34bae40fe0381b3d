"""The native solver of laws with fixed modes: multipliers z of rows that are held or slide, without events.

The machine answers linearly: w = b + A z on the rows of the laws, N = n0 + B z on reactions that limit friction.
A row that is held has w = 0; one that slides has z = -d (mu abs(N) + limit), N some of the measured reactions and d the
direction of the slip; all others have z = 0. Columns of A and B come from the machine itself, one `respond` for each
row that is not off. Only abs(N) is not linear: Newton's method turns a known direction of N until it stays, which for
a single reaction is a matter of its sign. Where that does not come to rest there are no such forces, and all z are NaN;
where N is no more than rounding its direction has no meaning and need not stay. Friction that slides on a closed gap
is no row of its own (see `law_carried`). Multipliers of other sliding rows are eliminated first (see `law_slip`); the
held rows that remain are symmetric (see `law_symmetric`), or not so if friction follows a reaction (see `law_regular`,
and `law_least` if some are redundant). Few rows are one linear problem without loops first (see `law_few`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from kompono.compile.emit import BOOL, INT, REAL, Array, Code, Value, Variable
from kompono.compile.lanes import Lanes
from kompono.compile.law_carried import list_rows, write_carried
from kompono.compile.law_columns import Columns, columns_symbol
from kompono.compile.law_feet import solve_feet
from kompono.compile.law_few import BACK, FewRows, are_few
from kompono.compile.law_least import add, dot, solve_least
from kompono.compile.law_regular import solve_regular
from kompono.compile.law_shares import PASSES, first_weights, next_weights
from kompono.compile.law_slip import solve_for_slipping, write_slip_equations
from kompono.compile.law_slope import write_pulled, write_slopes
from kompono.compile.law_small import is_small, solve_small
from kompono.compile.law_symmetric import factor, refine, solve_all, solve_shared
from kompono.compile.law_torn import TURNS, add_torn
from kompono.compile.law_work import Work, make_work
from kompono.compile.lower import called_symbol
from kompono.errors import CompileError
from kompono.translate.laws.naming import OFF, SLIDES, sizes

VERSION = 14  # of the algorithm
FEW = 3  # rows that are solved in straight-line code first; more of them are redundant as often as not
_TRIES = 80  # of Newton's method
_HASTE = 15  # from then on half of its steps
_CHANGE = 1e-14  # of z, relative to the largest: that is settled
_NEAR = 1e-10  # where a change that grows again is rounding
_IMMOBILE = 1e-12  # of the most mobile row of a unit: a row that forces move less is moved by rounding
_ROUNDING = 1e-12  # of the terms of N: a friction that changes less with its direction is rounding


@dataclass(frozen=True)
class Callee:
    """Native names of a solver and of the functions it asks for one column and for four, and arguments all of them have
    behind their own.
    """

    solver: str
    respond: str
    columns: str
    linkage: str = ""
    behind: tuple[str, ...] = ()


def define(name: str, lanes: Lanes) -> str:
    """The solver of this name: [factor | table | n0] -> [z], and declarations of what it calls."""
    known = sizes(name)
    if known is None:
        raise CompileError(f"{name} is not the name of a solver of laws.")
    respond, columns = called_symbol(known.respond, lanes), columns_symbol(known.respond)
    asked = f"declare void @{respond}(ptr, ptr) nounwind\ndeclare void @{columns}(ptr, ptr, ptr) nounwind\n"
    return asked + define_as(name, lanes, Callee(called_symbol(name, lanes), respond, columns))


def define_as(name: str, lanes: Lanes, callee: Callee) -> str:
    """The solver of this name in a text that has its own ways to call."""
    known = sizes(name)
    if known is None:
        raise CompileError(f"{name} is not the name of a solver of laws.")
    if lanes.count > 1:
        raise CompileError("a model with laws that change its structure runs on one lane.", fix="Use lanes=1.")
    code = Code(lanes)
    work = make_work(code, known)
    if not are_few(known, FEW):
        _solve(work, callee)
    else:
        done, behind = code.variable(REAL, 0.0), [Array(code, pointer) for pointer in callee.behind]
        few = FewRows(code, known, lambda load, column: code.call(callee.respond, [load, column, *behind]))
        few.solve(done.set)
        with code.when(done.get().equals(0.0)):
            _solve(work, callee)
    given = ", ".join(
        ["ptr noalias readonly %in", "ptr noalias %out", *(f"ptr noalias readonly {p}" for p in callee.behind)]
    )
    return code.define(f"{callee.linkage}void @{callee.solver}({given}) nounwind")


def _solve(work: Work, callee: Callee) -> None:
    """For any number of rows; few that act are tried first."""
    code, columns = work.code, Columns(work, callee.columns, callee.behind)
    done = code.variable(BOOL, False)
    if is_small(work):
        if work.sizes.feet:
            solve_feet(work, done)
        with code.when(~done.get()):
            solve_small(work, columns, done)
    with code.when(~done.get()):
        _solve_any(work, columns)


def _solve_any(work: Work, columns: Columns) -> None:
    code, known = work.code, work.sizes
    with code.loop(known.found) as i:
        work.out[i] = 0.0
    list_rows(work)
    if known.purpose == "back":
        _count_nothing(work)
    count = work.active.get()
    with code.when(count > work.most), code.loop(known.found) as i:
        work.out[i] = math.nan
    with code.when((count > 0) & (count <= work.most)):
        with code.when(work.sliding.get() > 0):
            _list_sliding_first(work)
        columns.ask_all()
        if known.columns or known.transposed:
            write = write_pulled if known.transposed else write_slopes
            write(work, partial(_held_equations, work), lambda: _accept(work, Value(code, "1.0", REAL)))
        else:
            _write_forces(work)


def _write_forces(work: Work) -> None:
    code = work.code
    _newton(work)
    with code.loop(work.active.get()) as a:
        work.out[work.which[a]] = work.z[a]
    write_carried(work, work.out)


def _count_nothing(work: Work) -> None:
    """Count no rows as active if what they are off is rounding."""
    code = work.code
    most = code.variable(REAL, 0.0)
    with code.loop(work.sizes.rows) as i, code.when(~work.law(i, "kind").equals(OFF)):
        size = code.math("fabs", work.law(i, "offset"))
        most.set(code.select(size <= most.get(), most.get(), size))
    work.active.set(code.select(most.get() <= BACK, Value(code, "0", INT), work.active.get()))


def _list_sliding_first(work: Work) -> None:
    """Number the active rows anew, those that slide first."""
    code = work.code
    slides, held = code.variable(INT, 0), code.variable(INT, work.sliding.get())
    with code.loop(work.sizes.rows) as i:
        kind = work.kinds[i]
        for cell, condition in ((slides, kind.equals(SLIDES)), (held, ~(kind.equals(SLIDES) | kind.equals(OFF)))):
            with code.when(condition):
                work.which[cell.get()] = i
                cell.set(cell.get() + 1)


def _newton(work: Work) -> None:
    """Solve until abs(N) of all sliding rows is known; NaN if that does not come to rest."""
    code, count = work.code, work.active.get()
    with code.loop(count) as a:
        work.z[a] = 0.0
        work.sides[a] = 0.0
    tries, before, share = code.variable(INT, 0), code.variable(REAL, math.inf), code.variable(REAL, 1.0)
    settled, redundant, steady = (code.variable(BOOL, False) for _ in range(3))
    sticks = first_weights(work)
    with code.forever():
        limited, turned, reach = write_slip_equations(work)
        limited = limited | (work.carried.count.get() > 0)
        shared = ~redundant.get() | steady.get() | (tries.get() >= PASSES)
        settled.set((tries.get() > 0) & ~turned & shared)
        code.leave(settled.get())
        solve_for_slipping(work)
        _held_equations(work, lambda row: work.law(row, "offset"))
        with code.when(~limited):
            _solve_symmetric(work, sticks)
        with code.when(limited):
            _solve_other(work, tries.get(), sticks, (redundant, steady))
        change, largest = _accept(work, share.get())
        tries.set(tries.get() + 1)
        rounding = (change <= _NEAR * largest) | (change <= _ROUNDING * reach)
        shared = ~redundant.get() | steady.get() | (tries.get() >= PASSES)
        settled.set(
            ~limited | (shared & (change <= _CHANGE * largest)) | (shared & rounding & (change >= before.get()))
        )
        before.set(change)
        code.leave(settled.get() | (tries.get() >= _TRIES))
        share.set(code.select(tries.get() >= _HASTE, Value(code, "0.5", REAL), 1.0))
    with code.when(~settled.get()), code.loop(count) as a:
        work.z[a] = math.nan


def _solve_other(work: Work, tries: Value, sticks: Value, found: tuple[Variable, Variable]) -> None:
    """Held rows where friction follows a reaction: independent, or shared by weights that become better each time until
    they stay.
    """
    code, rest, (redundant, steady) = work.code, work.active.get() - work.sliding.get(), found
    with code.when(~solve_regular(work.held, rest)):
        redundant.set(sticks)
        with code.when((tries > 0) & (tries < PASSES) & sticks & ~steady.get()):
            steady.set(next_weights(work))
        solve_least(work.held, work.weights, rest)
        if work.sizes.purpose == "driven":
            with code.when(~sticks | steady.get() | (tries >= PASSES - 1)):
                _held_equations(work, lambda row: work.law(row, "offset"))
                add_torn(work.held, work.weights, rest)


def _solve_symmetric(work: Work, sticks: Value) -> None:
    """Held rows where no friction follows a reaction: independent, or shared, or, where only the motion is wanted,
    borne by the first that suffice.
    """
    code, rest = work.code, work.active.get() - work.sliding.get()
    rank = factor(work.held, rest)
    with code.when(rank >= rest):
        solve_all(work.held, rest)
    if work.sizes.purpose in ("motion", "speeds", "back"):
        with code.when(rank < rest):
            solve_all(work.held, rank)
        return
    with code.when(rank < rest):
        solve_shared(work.held, work.weights, rank, rest)
        more = PASSES - 1 if work.sizes.purpose in ("laws", "driven") else 0
        passes = code.select(sticks, Value(code, str(more), INT), 0)
        with code.loop(passes):
            _accept(work, Value(code, "1.0", REAL))
            code.leave(next_weights(work))
            solve_shared(work.held, work.weights, rank, rest)
        refine(work.held, rank, rest)
        if work.sizes.purpose == "driven":
            turns = code.select(add_torn(work.held, work.weights, rest) & sticks, Value(code, str(TURNS), INT), 0)
            with code.loop(turns):
                _accept(work, Value(code, "1.0", REAL))
                next_weights(work)
                solve_shared(work.held, work.weights, rank, rest)
                refine(work.held, rank, rest)
                add_torn(work.held, work.weights, rest)


def _held_equations(work: Work, offset: Callable[[Value], Value]) -> None:
    """b + A z = 0 on held rows, the multipliers of sliding rows inserted; `offset` tells b of a row."""
    code, held, sliding, count = work.code, work.held, work.sliding.get(), work.active.get()
    with code.loop(count - sliding) as i:
        row, target = work.which[i + sliding], held.row(held.matrix, i)
        with code.loop(count - sliding) as j:
            target[j] = work.column(j + sliding)[row]
        right = code.variable(REAL, 0.0 - offset(row))
        with code.loop(sliding) as s:
            answer, curve = work.column(s)[row], work.curve(s)
            right.set(right.get() - answer * curve[count])
            add(code, target, 0.0 - answer, curve.at(sliding), count - sliding)
        held.right[i] = right.get()
    _leave_out(work)


def _leave_out(work: Work) -> None:
    """Empty the equations of held rows that nothing can move: joints hold them, and what they answer is rounding."""
    code, held, sliding = work.code, work.held, work.sliding.get()
    rest, largest = work.active.get() - sliding, work.mobility
    for bound in (False, True):
        with code.loop(rest) as i:
            row = work.which[i + sliding]
            unit, own = work.integer(row, "unit"), code.math("fabs", work.column(i + sliding)[row])
            if not bound:
                largest[unit] = 0.0
                continue
            largest[unit] = code.math("maxnum", largest[unit], own)
    with code.loop(rest) as i:
        row = work.which[i + sliding]
        own = code.math("fabs", work.column(i + sliding)[row])
        with code.when(own <= _IMMOBILE * largest[work.integer(row, "unit")]):
            held.right[i] = 0.0
            with code.loop(rest) as j:
                held.row(held.matrix, i)[j] = 0.0
                held.row(held.matrix, j)[i] = 0.0


def _accept(work: Work, share: Value) -> tuple[Value, Value]:
    """Go this share of the way to the multipliers found, held rows and sliding ones; the largest change of all of it,
    and the largest z.
    """
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
        work.z[a] = code.select(share.equals(1.0), value.get(), work.z[a] + share * (value.get() - work.z[a]))
    return change.get(), largest.get()
