"""Feet that all touch, and slide if they have friction, in the native solver of laws: nothing is looked up.

Rows of a body on up to four feet are their gaps, then the slips of each (the name of the solver says so). While all
gaps are closed, and all slips slide or are off, it is known beforehand which rows act and whose force each follows: no
list is made of them (`law_listing`), and what the machine answers is read from fixed places. That this is how it is
are some comparisons of whole numbers, for kinds have few bits. All else goes on to `law_small`.
"""

from __future__ import annotations

import struct

from kompono.compile.emit import INT, Array, Value, Variable
from kompono.compile.law_columns import Columns
from kompono.compile.law_few import BACK
from kompono.compile.law_small import elimination_of
from kompono.compile.law_work import Work
from kompono.translate.laws.naming import HELD, OWN, SLIDES

ASKEW = 1e-15  # of the speed of slip: a speed of its gap that is less is rounding


def solve_feet(work: Work, columns: Columns, done: Variable) -> None:
    """Forces of all rows to `out`, and `done`, if that is how the rows are."""
    code, feet = work.code, range(work.sizes.feet)
    touching = _expected(work)
    if work.sizes.purpose in ("back", "speeds"):
        still = ~_matters(work)
        with code.when(touching & still):
            for row in range(work.sizes.rows):
                work.out[row] = 0.0
            done.set(True)
        touching = touching & ~still
    with code.when(touching):
        shares = [_share(work, row) for row in range(len(feet), work.sizes.rows)]
        columns.ask_feet(shares)
        elimination = elimination_of(work, columns, list(feet))
        with code.when(elimination.is_clear):
            forces = elimination.forces()
            for row, force in enumerate(forces):
                work.out[row] = force
            for k, share in enumerate(shares):
                work.out[len(feet) + k] = share * forces[k // work.sizes.slips]
            done.set(True)


def _bits(number: float) -> int:
    """A number as the integer of the same bits."""
    return struct.unpack("<q", struct.pack("<d", number))[0]


def _expected(work: Work) -> Value:
    """Whether gaps are closed, and slips slide on them with no limit of their own, or are off."""
    code, sizes = work.code, work.sizes
    given, wrong = Array(code, work.given.pointer, INT), Value(code, "0", INT)

    def whole(text: str) -> Value:
        return code.let(INT, text)

    for row in range(sizes.rows):
        kind = given[sizes.place(row, "kind")].name
        if row < sizes.feet:
            other = whole(f"xor i64 {kind}, {_bits(HELD)}")
        else:
            slides = whole(f"ashr i64 {whole(f'shl i64 {kind}, 1').name}, 63")  # all bits, where it is SLIDES
            count = whole(f"xor i64 {given[sizes.place(row, 'count')].name}, {_bits(OWN)}")
            limit = whole(f"or i64 {count.name}, {given[sizes.place(row, 'limit')].name}")
            off = whole(f"and i64 {kind}, {~_bits(SLIDES)}")
            other = whole(f"or i64 {off.name}, {whole(f'and i64 {slides.name}, {limit.name}').name}")
        wrong = whole(f"or i64 {wrong.name}, {other.name}")
    return wrong.equals(0)


def _share(work: Work, row: int) -> Value:
    """What friction takes of the force of its gap."""
    slides = work.given[work.sizes.place(row, "kind")].equals(SLIDES)
    friction = (0.0 - work.given[work.sizes.place(row, "direction")]) * work.given[work.sizes.place(row, "mu")]
    return work.code.select(slides, friction, 0.0)


def _matters(work: Work) -> Value:
    """Whether a gap, or its speed, is off by more than rounding; or by no number."""
    code, sizes = work.code, work.sizes

    def off(row: int) -> Value:
        return code.math("fabs", work.given[sizes.place(row, "offset")])

    found = []
    for foot in range(sizes.feet):
        bound: Value | float = BACK
        if sizes.purpose == "speeds":
            bound = off(sizes.feet + foot * sizes.slips)
            for k in range(1, sizes.slips):
                bound = code.math("maxnum", bound, off(sizes.feet + foot * sizes.slips + k))
            bound = ASKEW * bound
        found.append(off(foot) <= bound)
    small = found[0]
    for one in found[1:]:
        small = small & one
    return ~small
