"""Units of laws that are alike (the corners of a box), side by side on lanes.

Each unit of a contact is the same code with other numbers, written out once for each. What the solver of laws is told
of up to four units is followed back from there: where four instructions are the same operation, they become one on four
lanes, and so do those that made their operands. Where they differ (numbers that were folded, a value all of them
share), four numbers are put together, or one is spread. So nothing is traced anew, any law has this, and bits are those
of the instructions one by one: sums keep their order, and what takes in a product one by one does so on lanes.

Guards of units follow: results that need only what belongs to one unit each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import casadi as ca

from kompono.compile.law_feet import row_of
from kompono.compile.straight import RESULT, ROUND, TURNS, Instruction
from kompono.translate.laws.naming import FIELDS, Sizes, sizes

TOGETHER = 4  # units on lanes
MOST = 4000  # instructions of a function that is looked at: longer ones are cut, see `split`
_WIDE = {
    ca.OP_ADD, ca.OP_SUB, ca.OP_MUL, ca.OP_DIV, ca.OP_NEG, ca.OP_SQ, ca.OP_TWICE, ca.OP_INV, ca.OP_LT, ca.OP_LE,
    ca.OP_EQ, ca.OP_NE, ca.OP_AND, ca.OP_OR, ca.OP_NOT, ca.OP_IF_ELSE_ZERO, ca.OP_SIGN, ca.OP_SQRT, ca.OP_FABS,
    ca.OP_FMIN, ca.OP_FMAX,
}  # fmt: skip
_MIXED = -1  # of several units

Several = tuple[int, ...]  # instructions, one on each lane


@dataclass(frozen=True)
class Pack:
    """One operation on lanes, whose operands are several values each; `side` is the one that is a product and taken in
    (its factors come first then, -1: none).
    """

    op: int
    operands: tuple[Several, ...]
    side: int = -1


@dataclass
class Packs:
    """What is done on lanes: packs by their instructions, the pack and lane of an instruction, and by call which packs
    its arguments are taken from: of each argument pack and lane.
    """

    found: Sequence[Instruction]
    fused: dict[int, int]
    made: dict[Several, Pack | None] = field(default_factory=dict)
    places: dict[int, tuple[Several, int]] = field(default_factory=dict)
    told: dict[int, dict[int, tuple[Several, int]]] = field(default_factory=dict)
    feet: dict[int, Sizes] = field(default_factory=dict)  # of calls that are solved in line
    units: dict[int, int] = field(default_factory=dict)  # of instructions: a number for each unit

    def follow(self, several: Several, count: int) -> bool:
        """Plan a pack and all it is made of; whether there is one. The first `count` lanes are meant."""
        waiting = [several]
        while waiting:
            now = waiting.pop()
            if now in self.made:
                continue
            self.made[now] = pack = self._matched(now)
            if pack is None:
                continue
            waiting.extend(pack.operands)
            for lane, k in enumerate(now[:count]):
                if now[:count].count(k) == 1:
                    self.places.setdefault(k, (now, lane))
        return self.made[several] is not None

    def field_of(self, call: int, name: str, row: int) -> Several:
        """What a solver is told of a row of all feet."""
        known, operands = self.feet[call], self.found[call].operands
        return widened(tuple(operands[known.place(row_of(known, foot, row), name)] for foot in range(known.feet)))

    def looked_at(self, call: int) -> list[Several]:
        """What is looked at where a call is solved in line."""
        if call not in self.feet:
            return []
        return [self.field_of(call, name, row) for name in FIELDS for row in range(1 + self.feet[call].slips)]

    def _matched(self, several: Several) -> Pack | None:
        found, first = self.found, self.found[several[0]]
        if len(set(several)) == 1 or first.op not in _WIDE or any(found[k].op != first.op for k in several):
            return None
        sides = {self.fused.get(k, -1) for k in several}
        if len(sides) > 1:
            return None
        (side,) = sides
        if side < 0:
            return Pack(first.op, tuple(zip(*[found[k].operands for k in several], strict=True)))
        products = [found[found[k].operands[side]] for k in several]
        if len({one.op for one in products}) > 1:
            return None
        factors = zip(*[one.operands for one in products], strict=True)
        return Pack(first.op, (*factors, tuple(found[k].operands[1 - side] for k in several)), side)


def packs_of(found: Sequence[Instruction], fused: dict[int, int]) -> Packs | None:
    """What can be done on lanes; None if there is nothing."""
    if len(found) > MOST or any(one.op in (ROUND, TURNS) for one in found):
        return None
    packs = Packs(found, fused)
    for k, one in enumerate(found):
        known = sizes(one.function.name()) if one.op == ca.OP_CALL and one.function is not None else None
        if known is not None:
            _seed(packs, k, known)
    if not packs.places:
        return None
    _seed_results(packs)
    return packs


def _seed(packs: Packs, call: int, known: Sizes) -> None:
    """Start from what a solver is told of units."""
    operands = packs.found[call].operands
    told = packs.told.setdefault(call, {})
    number, rows = -1, []
    for number, rows in enumerate(_groups(packs.found, operands, known)):
        for field_name in FIELDS:
            for row in rows:
                places = [known.place(i, field_name) for i in row]
                several = widened(tuple(operands[place] for place in places))
                if packs.follow(several, len(row)) or all(packs.found[k].op == ca.OP_CONST for k in several):
                    told.update({place: (several, lane) for lane, place in enumerate(places)})
        for row in rows:
            for lane, i in enumerate(row):
                packs.units.update(dict.fromkeys(_results(packs.found, call, i), TOGETHER * number + lane))
    if known.columns or known.transposed or not known.feet:
        return
    if number == 0 and len(rows) == 1 + known.slips:
        packs.feet[call] = known
    for gap in range(known.feet):
        first = known.base + known.feet * gap
        several = widened(tuple(operands[first : first + known.feet]))
        if packs.follow(several, known.feet):
            told.update({first + lane: (several, lane) for lane in range(known.feet)})


def _results(found: Sequence[Instruction], call: int, index: int) -> list[int]:
    return [k for k, one in enumerate(found) if one.op == RESULT and one.operands == (call,) and one.index == index]


def _groups(found: Sequence[Instruction], operands: Sequence[int], known: Sizes) -> Iterator[list[list[int]]]:
    """Up to four units each, one behind the other, that have equally many rows: of each group the first rows, the
    second ones, and so on. Units of one row are so short that putting their numbers together costs more than it saves.
    """
    units: dict[float, list[int]] = {}
    for row in range(known.rows):
        said = found[operands[known.place(row, "unit")]]
        if said.op != ca.OP_CONST:
            return
        units.setdefault(said.constant, []).append(row)
    rows, first = list(units.values()), 0
    while first < len(rows):
        last = first + 1
        while last < min(len(rows), first + TOGETHER) and len(rows[last]) == len(rows[first]):
            last += 1
        if last > first + 1 and len(rows[first]) > 1:
            yield [list(several) for several in zip(*rows[first:last], strict=True)]
        first = last


def widened(several: Several) -> Several:
    """Two or four of them."""
    return several if len(several) in (2, TOGETHER) else several + several[-1:] * (TOGETHER - len(several))


def _seed_results(packs: Packs) -> None:
    """Go on with results that need what belongs to one unit: of several units those that are made alike."""
    found, unit = packs.found, packs.units
    unit.update({k: lane + TOGETHER * 1000 for k, (_, lane) in packs.places.items() if k not in unit})
    shapes: dict[tuple, dict[int, int]] = {}
    of: dict[int, int | None] = {}
    for k, one in enumerate(found):
        several = {of[i] for i in one.operands if of.get(i) is not None}
        own = unit.get(k)
        lanes = {_lane(u) for u in several} | ({_lane(own)} if own is not None else set())
        of[k] = None if not lanes else lanes.pop() if len(lanes) == 1 else _MIXED
        if one.op == ca.OP_CALL:
            of[k] = None
        lane = of[k]
        if one.op == ca.OP_OUTPUT and lane is not None and lane != _MIXED:
            made = one.operands[0]
            shapes.setdefault(_shape(packs, made, 4), {}).setdefault(lane, made)
    for lanes in shapes.values():
        count = len(lanes)
        if count > 1:
            packs.follow(widened(tuple(lanes[k] for k in sorted(lanes))), count)


def _lane(unit: int | None) -> int:
    return _MIXED if unit is None or unit < 0 else unit % TOGETHER


def _shape(packs: Packs, k: int, depth: int) -> tuple:
    """What an instruction is, and what made its operands."""
    one = packs.found[k]
    inner = tuple(_shape(packs, i, depth - 1) for i in one.operands) if depth and one.op in _WIDE else ()
    return one.op, packs.fused.get(k, -1), inner
