"""Feet that all touch, and slide if they have friction, in the native solver of laws: nothing is looked up.

Rows of a body on up to four feet are their gaps, then the slips of each (the name of the solver says so). While all
gaps are closed, and all slips slide or are off, it is known beforehand which rows act and whose force each follows: no
list is made of them (`law_listing`), and what the machine answers is read from fixed places. That this is how it is
are some comparisons of whole numbers, for kinds have few bits. All else goes on to `law_small`.
"""

from __future__ import annotations

import struct

from kompono.compile.emit import BOOL, Value, Variable
from kompono.compile.lanes import constant
from kompono.compile.law_few import BACK
from kompono.compile.law_small import elimination_of
from kompono.compile.law_work import Work
from kompono.translate.laws.naming import HELD, OWN, SLIDES

ASKEW = 1e-15  # of the speed of slip: a speed of its gap that is less is rounding


class _Told:
    """What the machine answers to the force of each foot, which is given."""

    def __init__(self, work: Work) -> None:
        self._feet, self._answers = work.sizes.feet, work.given.at(work.sizes.base)

    def answer(self, row: Value | int, k: int) -> Value:
        """What the k-th of them does to a gap."""
        assert isinstance(row, int)
        return self._answers[row * self._feet + k]


def solve_feet(work: Work, done: Variable) -> None:
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
        elimination = elimination_of(work, _Told(work), list(feet))
        with code.when(elimination.is_clear):
            _write(work, elimination.forces())
            done.set(True)


def _bits(number: float) -> int:
    """A number as the integer of the same bits."""
    return struct.unpack("<q", struct.pack("<d", number))[0]


def _expected(work: Work) -> Value:
    """Whether gaps are closed, and slips slide on them with no limit of their own, or are off."""
    code, sizes = work.code, work.sizes
    gaps, slips = sizes.feet, sizes.rows - sizes.feet

    def fields(first: int, count: int, name: str) -> Value:
        place = work.given.at(sizes.place(first, name)).pointer
        return code.let(f"<{count} x i64>", f"load <{count} x i64>, ptr {place}, align 8")

    def operate(name: str, left: Value, right: Value | int) -> Value:
        other = right.name if isinstance(right, Value) else f"splat (i64 {right})"
        return code.let(left.kind, f"{name} {left.kind} {left.name}, {other}")

    def none(found: Value, count: int) -> Value:
        wrong = code.let(f"<{count} x i1>", f"icmp ne {found.kind} {found.name}, zeroinitializer")
        bits = code.let(f"i{count}", f"bitcast {wrong.kind} {wrong.name} to i{count}")
        return code.let(BOOL, f"icmp eq {bits.kind} {bits.name}, 0")

    kinds = fields(gaps, slips, "kind")
    slides = operate("ashr", operate("shl", kinds, 1), 63)  # all bits, where it is SLIDES
    limited = operate("or", operate("xor", fields(gaps, slips, "count"), _bits(OWN)), fields(gaps, slips, "limit"))
    wrong = operate("or", operate("and", kinds, ~_bits(SLIDES)), operate("and", slides, limited))
    return none(operate("xor", fields(0, gaps, "kind"), _bits(HELD)), gaps) & none(wrong, slips)


def _write(work: Work, forces: list[Value]) -> None:
    """Forces of feet, and of the friction they carry, to `out`, side by side, as they are read."""
    code, sizes = work.code, work.sizes
    gaps, slips = sizes.feet, sizes.rows - sizes.feet
    wide, many = f"<{gaps} x double>", f"<{slips} x double>"
    text = "poison"
    for k, force in enumerate(forces):
        text = code.let(wide, f"insertelement {wide} {text}, double {force.name}, i64 {k}").name
    code.say(f"store {wide} {text}, ptr {work.out.pointer}, align 8")
    order = ", ".join(f"i32 {k // sizes.slips}" for k in range(slips))
    mine = code.let(many, f"shufflevector {wide} {text}, {wide} poison, <{slips} x i32> <{order}>").name
    loads = {}
    for name in ("kind", "direction", "mu"):
        place = work.given.at(sizes.place(gaps, name)).pointer
        loads[name] = code.let(many, f"load {many}, ptr {place}, align 8").name
    slides = code.let("truth", f"fcmp oeq {many} {loads['kind']}, splat (double {constant(SLIDES)})").name
    against = code.let(many, f"fneg {many} {loads['direction']}").name
    friction = code.let(many, f"fmul {many} {against}, {loads['mu']}").name
    share = code.let(many, f"select <{slips} x i1> {slides}, {many} {friction}, {many} zeroinitializer").name
    found = code.let(many, f"fmul {many} {share}, {mine}").name
    code.say(f"store {many} {found}, ptr {work.out.at(gaps).pointer}, align 8")


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
