"""Feet that all touch, and slide if they have friction: nothing is looked up, and feet are side by side on lanes.

Rows of a body on up to four feet are their gaps, then the slips of each (the name of the solver says so). While all
gaps are closed, and all slips slide or are off, it is known beforehand which rows act and whose force each follows: no
list is made of them (`law_listing`), and what the machine answers is given. All else goes on to `law_small`.

Routines that call a solver do the same in line, with numbers that have not been stored yet (see `law_in_line`): so
these functions know numbers of rows by field, wherever they come from, and give the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kompono.compile.emit import BOOL, Code, Value, Variable
from kompono.compile.lanes import Lanes
from kompono.compile.law_small import Elimination, elimination_of
from kompono.compile.law_work import Work
from kompono.translate.laws.naming import ASKEW, BACK, HELD, OFF, OWN, SLIDES, Sizes

_CORRECTIONS = ("back", "speeds")  # purposes of which what is off may be rounding


@dataclass(frozen=True)
class Feet:
    """What is known of feet: numbers of the table, by field and row of each foot (0: its gap, then its slips), each
    with all feet on lanes; and what the k-th foot does to the gap of the i-th.
    """

    code: Code
    sizes: Sizes
    lanes: Lanes  # as many as there are feet, or more: the last foot again
    field: Callable[[str, int], Value]
    told: Callable[[int, int], Value]

    def answer(self, row: int, k: int) -> Value:
        """What the k-th foot does to a gap."""
        return self.told(row, k)

    def law(self, i: int, field: str) -> Value:
        """A number of a gap."""
        return self.lane(self.field(field, 0), i)

    def lane(self, several: Value, number: int) -> Value:
        """The number of one foot."""
        return self.code.let("double", f"extractelement {self.lanes.real} {several.name}, i64 {number}")

    def let(self, text: str) -> Value:
        """Numbers on lanes."""
        return self.code.let(self.lanes.real, text)

    def compared(self, how: str, left: Value, right: Value | float) -> Value:
        """Truth on lanes."""
        other = right.name if isinstance(right, Value) else self.lanes.constant(right)
        return self.code.let(self.lanes.truth, f"fcmp {how} {self.lanes.real} {left.name}, {other}")

    def both(self, left: Value, right: Value, how: str = "and") -> Value:
        """Truths on lanes as one."""
        return self.code.let(self.lanes.truth, f"{how} {self.lanes.truth} {left.name}, {right.name}")

    def all(self, truth: Value) -> Value:
        """Whether something holds on all lanes."""
        count = self.lanes.count
        bits = self.code.let(f"i{count}", f"bitcast {self.lanes.truth} {truth.name} to i{count}")
        return self.code.let(BOOL, f"icmp eq {bits.kind} {bits.name}, -1")

    @property
    def corrects(self) -> bool:
        """Whether forces only correct what is off."""
        return self.sizes.purpose in _CORRECTIONS

    def touching(self) -> Value:
        """Whether gaps are closed, and slips slide on them with no limit of their own, or are off."""
        found = self.compared("oeq", self.field("kind", 0), HELD)
        for row in range(1, 1 + self.sizes.slips):
            kind = self.field("kind", row)
            slides = self.compared("oeq", kind, SLIDES)
            slides = self.both(slides, self.compared("oeq", self.field("count", row), OWN))
            slides = self.both(slides, self.compared("oeq", self.field("limit", row), 0.0))
            found = self.both(found, self.both(slides, self.compared("oeq", kind, OFF), "or"))
        return self.all(found)

    def still(self) -> Value:
        """Whether what is off is rounding everywhere, and all of it numbers."""
        real, suffix = self.lanes.real, self.lanes.suffix
        off = [
            self.let(f"call {real} @llvm.fabs.{suffix}({real} {self.field('offset', row).name})")
            for row in range(1 + self.sizes.slips)
        ]
        if self.sizes.purpose == "back":
            return self.all(self.compared("ole", off[0], BACK))
        most = off[1]
        for one in off[2:]:
            most = self.let(f"call {real} @llvm.maxnum.{suffix}({real} {most.name}, {real} {one.name})")
        bound = self.let(f"fmul {real} {most.name}, {self.lanes.constant(ASKEW)}")
        return self.all(self.compared("ole", off[0], bound))

    def elimination(self) -> Elimination:
        """The equations of the gaps."""
        return elimination_of(self, self, list(range(self.sizes.feet)))

    def forces(self, found: list[Value]) -> list[Value]:
        """Forces of gaps, and of the slips they carry, on lanes."""
        real, normal = self.lanes.real, Value(self.code, "poison", self.lanes.real)
        for lane in range(self.lanes.count):
            one = found[min(lane, len(found) - 1)]
            normal = self.let(f"insertelement {real} {normal.name}, double {one.name}, i64 {lane}")
        forces = [normal]
        for row in range(1, 1 + self.sizes.slips):
            against = self.let(f"fneg {real} {self.field('direction', row).name}")
            share = self.let(f"fmul {real} {against.name}, {self.field('mu', row).name}")
            slides = self.compared("oeq", self.field("kind", row), SLIDES)
            share = self.let(f"select {self.lanes.truth} {slides.name}, {real} {share.name}, {real} zeroinitializer")
            forces.append(self.let(f"fmul {real} {share.name}, {normal.name}"))
        return forces


def solve_feet(work: Work, done: Variable) -> None:
    """Forces of all rows to `out`, and `done`, if that is how the rows are."""
    code, feet = work.code, _stored(work)
    touching = feet.touching()
    if feet.corrects:
        with code.when(touching & feet.still()):
            for row in range(work.sizes.rows):
                work.out[row] = 0.0
            done.set(True)
        touching = touching & ~done.get()
    with code.when(touching):
        elimination = feet.elimination()
        with code.when(elimination.is_clear):
            for row, several in enumerate(feet.forces(elimination.forces())):
                for foot in range(work.sizes.feet):
                    work.out[row_of(work.sizes, foot, row)] = feet.lane(several, foot)
            done.set(True)


def row_of(sizes: Sizes, foot: int, row: int) -> int:
    """The place in the table of a row of a foot."""
    return foot if row == 0 else sizes.feet + foot * sizes.slips + row - 1


def lanes_of(sizes: Sizes) -> Lanes:
    """On which feet are: two or four."""
    return Lanes(2 if sizes.feet == 2 else 4)


def _stored(work: Work) -> Feet:
    """Feet of which all is in the column of arguments."""
    code, sizes, lanes = work.code, work.sizes, lanes_of(work.sizes)
    answers = work.given.at(sizes.base)

    def field(name: str, row: int) -> Value:
        text = "poison"
        for lane in range(lanes.count):
            place = sizes.place(row_of(sizes, min(lane, sizes.feet - 1), row), name)
            text = code.let(
                lanes.real, f"insertelement {lanes.real} {text}, double {work.given[place].name}, i64 {lane}"
            ).name
        return Value(code, text, lanes.real)

    return Feet(code, sizes, lanes, field, lambda i, k: answers[i * sizes.feet + k])
