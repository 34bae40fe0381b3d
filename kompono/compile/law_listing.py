"""Which rows of a table of laws act, and whose force each of them follows, four rows at a time and without branches.

The force of every row is a share of that of one row: all of its own if it is held, of its gap's if it is friction that
slides on it (see `law_carried`), none if it is off. Rows that act are the bits of one number, so that the first of them
are found without a loop.
"""

from __future__ import annotations

from kompono.compile.emit import INT, Array, Value, room
from kompono.compile.lanes import Lanes
from kompono.compile.law_work import Work
from kompono.translate.laws.naming import BACK, HELD, OFF, OWN, SLIDES

TOGETHER = Lanes(4)
_REAL, _INTEGER, _TRUTH = TOGETHER.real, TOGETHER.integer, TOGETHER.truth


class Listing:
    """All rows of a table: `gaps` whose force each follows, `shares` of it; `count` of those that act, and whether none
    of them slides by itself (`is_easy`).
    """

    def __init__(self, work: Work) -> None:
        code, rows = work.code, work.sizes.rows
        self.work, self.code = work, code
        self.gaps = Array(code, room(code, rows).pointer, INT)
        self.shares = room(code, rows)
        self._acting, matters, alone = (Value(code, "0", INT) for _ in range(3))
        for first in sorted({*range(0, rows - 3, 4), rows - 4}):
            acts, slides, counts = self._group(first)
            self._acting = self._united(self._acting, acts, first)
            alone, matters = self._united(alone, slides, first), self._united(matters, counts, first)
        if work.sizes.purpose == "back":
            self._acting = code.select(matters.equals(0), Value(code, "0", INT), self._acting)
        self.is_easy = alone.equals(0)
        self.count = code.let(INT, f"call i64 @llvm.ctpop.i64(i64 {self._acting.name})")

    def _wide(self, text: str, kind: str = _REAL) -> str:
        return self.code.let(kind, text).name

    def _field(self, first: int, name: str) -> str:
        """An entry of four rows."""
        place = self.work.given.at(self.work.sizes.place(first, name))
        return self._wide(f"load {_REAL}, ptr {place.pointer}, align 8")

    def _is(self, value: str, number: float) -> str:
        return self._wide(f"fcmp oeq {_REAL} {value}, {TOGETHER.constant(number)}", _TRUTH)

    def _both(self, left: str, right: str) -> str:
        return self._wide(f"and {_TRUTH} {left}, {right}", _TRUTH)

    def _not(self, value: str) -> str:
        return self._wide(f"xor {_TRUTH} {value}, {TOGETHER.all('i1', 'true')}", _TRUTH)

    def _choose(self, truth: str, yes: str, no: str, kind: str = _REAL) -> str:
        return self._wide(f"select {_TRUTH} {truth}, {kind} {yes}, {kind} {no}", kind)

    def _group(self, first: int) -> tuple[str, str, str]:
        """Of four rows, which act, which of these slide by themselves, and which are off by more than rounding."""
        kind = self._field(first, "kind")
        slides = self._is(kind, SLIDES)
        alone = self._both(self._is(self._field(first, "count"), OWN), self._is(self._field(first, "limit"), 0.0))
        rides = self._both(slides, alone)
        own = f"<{', '.join(f'i64 {first + k}' for k in range(4))}>"
        unit = self._wide(f"fptosi {_REAL} {self._field(first, 'unit')} to {_INTEGER}", _INTEGER)
        gaps = self._choose(rides, unit, own, _INTEGER)
        rides = self._both(rides, self._is(self._kinds(gaps), HELD))
        gaps = self._choose(rides, gaps, own, _INTEGER)
        off = self._wide(f"or {_TRUTH} {self._is(kind, OFF)}, {rides}", _TRUTH)
        way = self._wide(f"fneg {_REAL} {self._field(first, 'direction')}")
        friction = self._wide(f"fmul {_REAL} {way}, {self._field(first, 'mu')}")
        share = self._choose(off, TOGETHER.constant(0.0), TOGETHER.constant(1.0))
        share = self._choose(rides, friction, share)
        for array, value, held in ((self.gaps, gaps, _INTEGER), (self.shares, share, _REAL)):
            self.code.say(f"store {held} {value}, ptr {array.at(first).pointer}, align 8")
        acts = self._not(off)
        return acts, self._both(acts, slides), self._both(acts, self._matters(first))

    def _matters(self, first: int) -> str:
        size = self._wide(f"call {_REAL} @llvm.fabs.{TOGETHER.suffix}({_REAL} {self._field(first, 'offset')})")
        return self._wide(f"fcmp ugt {_REAL} {size}, {TOGETHER.constant(BACK)}", _TRUTH)

    def _kinds(self, rows: str) -> str:
        """Kinds of four rows, wherever they are."""
        found, kinds = "poison", self.work.given.at(self.work.sizes.place(0, "kind"))
        for k in range(4):
            row = self.code.let(INT, f"extractelement {_INTEGER} {rows}, i64 {k}")
            found = self._wide(f"insertelement {_REAL} {found}, double {kinds[row].name}, i64 {k}")
        return found

    def _united(self, bits: Value, more: str, first: int) -> Value:
        """Bits of all rows with those of four."""
        narrow = self.code.let("i4", f"bitcast {_TRUTH} {more} to i4")
        wide = self.code.let(INT, f"zext i4 {narrow.name} to i64")
        place = self.code.let(INT, f"shl i64 {wide.name}, {first}")
        return self.code.let(INT, f"or i64 {bits.name}, {place.name}")

    def acting(self) -> list[Value]:
        """The first four rows that act; 64 where there are fewer."""
        left, found = self._acting, []
        for _ in range(4):
            found.append(self.code.let(INT, f"call i64 @llvm.cttz.i64(i64 {left.name}, i1 false)"))
            fewer = left - 1
            left = self.code.let(INT, f"and i64 {left.name}, {fewer.name}")
        return found

    def write(self, z: Array | None) -> None:
        """Forces of all rows to `out`, from those of rows that act, in their places; or none."""
        for k in range(self.work.sizes.rows):
            self.work.out[k] = 0.0 if z is None else self.shares[k] * z[self.gaps[k]]
