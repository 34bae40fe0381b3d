"""What the machine answers to forces on four rows of laws at once, each on a lane of its own.

A function `respond` maps [factor | forces] to what forces do. Its factor is the same for all forces of an instant, so
the rows that act are asked for four at a time: the same instructions, each on four columns, and the factor is read
where it lies, a single number on all lanes. Bits are those of one column alone.

    void kompono.<name>.columns(ptr factor, ptr forces, ptr answers)

Number i of column k of forces and answers is in place 4 i + k.
"""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca

from kompono.compile import split
from kompono.compile.emit import INT, Array, Code, Value, Variable, room
from kompono.compile.lanes import ONE, Lanes
from kompono.compile.law_carried import load_row
from kompono.compile.law_listing import Listing
from kompono.compile.law_work import Work
from kompono.compile.lower import called_symbol, check_shape, lower
from kompono.translate.laws.naming import rows_asked

COLUMNS = 4
WIDE = Lanes(COLUMNS)


def columns_symbol(name: str) -> str:
    """The native name of a function that answers for four columns."""
    return f"{called_symbol(name, ONE)}.columns"


def define_columns(function: ca.Function) -> str:
    """The text of that function, for a `respond` whose name tells how many rows it has."""
    lines: list[str] = []
    check_shape(function.name(), function)
    read, write = columns_of(function, lines)
    lower(function, lines, read, write, lanes=WIDE)
    symbol, places = columns_symbol(function.name()), ("%factor", "%forces", "%answers")
    given = ", ".join(f"ptr noalias {'readonly ' if place != '%answers' else ''}{place}" for place in places)
    head = f"void @{symbol}({given}) {WIDE.stack}nounwind"
    return split.function(head, f"f.{symbol}", places, lines, WIDE, 0)


def columns_of(function: ca.Function, lines: list[str]) -> tuple[Callable[[int], str], Callable[[int, str], list[str]]]:
    """How such a function reads its inputs and writes its outputs."""
    factor = function.nnz_in() - (rows_asked(function.name()) or 0)

    def read(i: int) -> str:
        if i < factor:
            lines.append(f"%p{i} = getelementptr double, ptr %factor, i64 {i}")
            lines.append(f"%single{i} = load double, ptr %p{i}")
            lines.extend(WIDE.spread(f"%x{i}", f"%single{i}"))
        else:
            lines.append(f"%p{i} = getelementptr {WIDE.real}, ptr %forces, i64 {i - factor}")
            lines.append(f"%x{i} = load {WIDE.real}, ptr %p{i}{WIDE.aligned}")
        return f"%x{i}"

    def write(j: int, value: str) -> list[str]:
        place = f"%o{j} = getelementptr {WIDE.real}, ptr %answers, i64 {j}"
        return [place, f"store {WIDE.real} {value}, ptr %o{j}{WIDE.aligned}"]

    return read, write


class Columns:
    """Rows that act, asked for four at a time: `respond` is that function, `behind` what it gets besides."""

    def __init__(self, work: Work, respond: str, behind: tuple[str, ...]) -> None:
        code, sizes = work.code, work.sizes
        self.work, self._respond = work, respond
        self._behind = [Array(code, pointer) for pointer in behind]
        self._forces = room(code, COLUMNS * max(1, sizes.rows))
        self._answers = room(code, COLUMNS * max(1, sizes.rows + sizes.measures))

    def ask_few(self, listing: Listing, acting: list[Value]) -> None:
        """What the machine answers to one unit of each row that acts, of which there are no more than four, and the
        shares of all rows that follow it.
        """
        code, integers, reals = self.work.code, WIDE.integer, WIDE.real
        rows = "poison"
        for k, row in enumerate(acting):
            rows = code.let(integers, f"insertelement {integers} {rows}, i64 {row.name}, i64 {k}").name
        for i in range(self.work.sizes.rows):
            gaps = _on_all(code, integers, "i64", listing.gaps[i])
            shares = _on_all(code, reals, "double", listing.shares[i])
            follows = code.let(WIDE.truth, f"icmp eq {integers} {rows}, {gaps}").name
            text = f"select {WIDE.truth} {follows}, {reals} {shares}, {reals} zeroinitializer"
            place = self._forces.at(i * COLUMNS)
            code.say(f"store {reals} {code.let(reals, text).name}, ptr {place.pointer}, align 32")
        self._call()

    def _call(self) -> None:
        self.work.code.call(self._respond, [self.work.given, self._forces, self._answers, *self._behind])

    def _ask(self, first: Value, count: Value) -> None:
        """What the machine answers to one unit of each of up to four acting rows, from the first on."""
        code, work = self.work.code, self.work
        for on in (True, False):
            with code.loop(count) as k:
                load_row(work, self._forces.at(k), work.which[first + k], COLUMNS, on)
            if on:
                self._call()

    def answer(self, row: Value | int, k: Value | int) -> Value:
        """What the k-th of them does to a row, or to a measure."""
        return self._answers.at(k)[row * COLUMNS]

    def ask_all(self) -> None:
        """The columns of all acting rows."""
        code, work = self.work.code, self.work
        with code.loop(COLUMNS * work.sizes.rows) as i:
            self._forces[i] = 0.0
        count, first, height = work.active.get(), code.variable(INT, 0), work.sizes.rows + work.sizes.measures
        with code.forever():
            code.leave(first.get() >= count)
            here = _fewer(first, count)
            self._ask(first.get(), here)
            with code.loop(here) as k:
                column = work.column(first.get() + k)
                with code.loop(height) as i:
                    column[i] = self.answer(i, k)
            first.set(first.get() + COLUMNS)


def _on_all(code: Code, wide: str, kind: str, value: Value) -> str:
    """A number on all lanes."""
    one = code.let(wide, f"insertelement {wide} poison, {kind} {value.name}, i64 0").name
    return code.let(wide, f"shufflevector {wide} {one}, {wide} poison, <{COLUMNS} x i32> zeroinitializer").name


def _fewer(first: Variable, count: Value) -> Value:
    """How many of four are left."""
    left, code = count - first.get(), count.code
    return code.select(left > COLUMNS, Value(code, str(COLUMNS), INT), left)
