"""Units of laws that are alike (the corners of a box), side by side on lanes.

Each unit of a contact is the same code with other numbers, written out once for each. What the solver of laws is told
of up to four units is followed back from there: where four instructions are the same operation, they become one on four
lanes, and so do those that made their operands. Where they differ (numbers that were folded, a value all of them
share), four numbers are put together, or one is spread. So nothing is traced anew, any law has this, and bits are those
of the instructions one by one: sums keep their order, and what takes in a product one by one does so on lanes.

Guards of units follow: results that need only what belongs to one unit each.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import casadi as ca

from kompono.compile.lanes import Lanes
from kompono.compile.law_feet import lanes_of, row_of
from kompono.compile.law_in_line import InLine, solve_in_line
from kompono.compile.lower import Body
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
_NUMBER = re.compile(r"0x([0-9A-F]{16})")

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
    second ones, and so on.
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
        if last > first + 1:
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
        if one.op == ca.OP_OUTPUT and of[k] is not None and of[k] != _MIXED:
            made = one.operands[0]
            shapes.setdefault(_shape(packs, made, 4), {}).setdefault(of[k], made)
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


class WideBody(Body):
    """Instructions on lanes, among those of a function for one lane."""

    def __init__(self, lines: list[str], prefix: str, lanes: Lanes) -> None:
        super().__init__(lines, prefix, lanes, False)

    def negative(self, value: str) -> str:
        """-value, of different constants too."""
        if value[0] != "<":
            return super().negative(value)
        return _NUMBER.sub(lambda number: f"0x{int(number[1], 16) ^ 1 << 63:016X}", value)

    def gather(self, values: Sequence[str]) -> str:
        """Several single numbers on the lanes."""
        real = self.lanes.real
        if len(set(values)) == 1:
            return self.spread(values[0])
        if all(value[0] != "%" for value in values):
            return f"<{', '.join(f'double {value}' for value in values)}>"
        wide = "poison"
        for lane, value in enumerate(values):
            wide = self.let(f"insertelement {real} {wide}, double {value}, i64 {lane}")
        return wide

    def spread(self, value: str) -> str:
        """One number on all lanes."""
        if value[0] != "%":
            return self.lanes.all("double", value)
        real, count = self.lanes.real, self.lanes.count
        one = self.let(f"insertelement {real} poison, double {value}, i64 0")
        return self.let(f"shufflevector {real} {one}, {real} poison, <{count} x i32> zeroinitializer")

    def lane(self, value: str, number: int) -> str:
        """The number on one lane."""
        return self.let(f"extractelement {self.lanes.real} {value}, i64 {number}")


Made = Callable[[int], str]  # the value of an instruction whose operands are there


class OnLanes:
    """Writes a function in an order in which what is on lanes comes before who needs it. `single` writes one
    instruction; values of all are in `values`, and in `wide` those of packs.
    """

    def __init__(self, packs: Packs, body: Body, values: list[str], single: Callable[[int], None]) -> None:
        self.packs, self.body, self.values, self.single = packs, body, values, single
        self.wide: dict[Several, str] = {}
        self._bodies = {n: WideBody(body.lines, f"{body.prefix}w{n}.", Lanes(n)) for n in (2, TOGETHER)}
        self._done: set[int] = set()
        self.solved: dict[int, list[str]] = {}  # forces by call that was solved in line, of each row of feet

    def write(self, order: Sequence[int]) -> None:
        """All instructions that must be there, and what they need."""
        for root in order:
            self._need(root)

    def _need(self, root: int | Several) -> None:
        stack: list[tuple[int | Several, bool]] = [(root, False)]
        while stack:
            one, ready = stack.pop()
            if one in self._done or one in self.wide:
                continue
            if ready:
                self._write(one)
                continue
            stack.append((one, True))
            stack.extend((other, False) for other in reversed(self._before(one)))

    def _before(self, one: int | Several) -> list[int | Several]:
        """What must be there first."""
        packs, found = self.packs, self.packs.found
        if isinstance(one, tuple):
            pack = packs.made.get(one)
            return list(dict.fromkeys(one)) if pack is None else list(pack.operands)
        if one in packs.places:
            return [packs.places[one][0]]
        operands = found[one].operands
        if one in packs.told:
            told = packs.told[one]
            before = [told[k][0] if k in told else operand for k, operand in enumerate(operands)]
            return [*before, *packs.looked_at(one)]
        if packs.found[one].op == RESULT and operands[0] in packs.feet:
            return list(operands)
        side = packs.fused.get(one, -1)
        if side < 0:
            return list(operands)
        return [*found[operands[side]].operands, operands[1 - side]]

    def _write(self, one: int | Several) -> None:
        packs = self.packs
        if isinstance(one, tuple):
            self.wide[one] = self._pack(one)
            return
        self._done.add(one)
        if packs.found[one].op == RESULT and packs.found[one].operands[0] in self.solved:
            self.values[one] = self._force(packs.found[one])
        elif one in packs.places:
            several, lane = packs.places[one]
            self.values[one] = self._bodies[len(several)].lane(self.wide[several], lane)
        else:
            self.single(one)

    def _pack(self, several: Several) -> str:
        pack, body = self.packs.made.get(several), self._bodies[len(several)]
        if pack is None and (forces := self._forces(several)):
            return forces
        if pack is None:
            return body.gather([self.values[k] for k in several])
        operands = [self.wide[one] for one in pack.operands]
        if pack.side < 0:
            return body.operate(pack.op, operands)
        return body.fuse(pack.op, pack.side, operands[:-1], operands[-1])

    def call(self, call: int, ask: Callable[[], str]) -> str:
        """Call a function, or solve in line for what it would give; names the address of its results."""
        known = self.packs.feet.get(call)
        if known is None:
            return ask()
        operands, body = self.packs.found[call].operands, self.body

        def wide(name: str, row: int) -> str:
            return self.wide[self.packs.field_of(call, name, row)]

        def answer(gap: int, foot: int) -> str:
            place = known.base + known.feet * gap + foot
            told = self.packs.told[call].get(place)
            if told is None:
                return self.values[operands[place]]
            return self._bodies[len(told[0])].lane(self.wide[told[0]], told[1])

        def asked() -> list[str]:
            address = ask()
            return [body.result(address, index) for index in range(known.rows)]

        code = InLine(body.lines, f"{body.prefix}feet{call}.")
        self.solved[call] = solve_in_line(code, known, wide, answer, asked)
        return ""

    def _force(self, one: Instruction) -> str:
        """One result of what was solved in line."""
        known, forces = self.packs.feet[one.operands[0]], self.solved[one.operands[0]]
        for row in range(1 + known.slips):
            for foot in range(known.feet):
                if row_of(known, foot, row) == one.index:
                    return self._bodies[lanes_of(known).count].lane(forces[row], foot)
        raise AssertionError("a solver gives forces of rows")

    def _forces(self, several: Several) -> str:
        """The same if they are those of a row of all feet; else nothing."""
        made = [self.packs.found[k] for k in several]
        calls = {one.operands[0] for one in made if one.op == RESULT}
        if len(calls) != 1 or not calls <= self.solved.keys() or any(one.op != RESULT for one in made):
            return ""
        (call,) = calls
        known, indices = self.packs.feet[call], tuple(one.index for one in made)
        for row in range(1 + known.slips):
            if indices == widened(tuple(row_of(known, foot, row) for foot in range(known.feet))):
                return self.solved[call][row]
        return ""

    def tell(self, call: int, first: int) -> None:
        """Store the arguments of a call from a place on, those on lanes as they are."""
        told, operands, k = self.packs.told[call], self.packs.found[call].operands, 0
        while k < len(operands):
            k += self._stored(told, operands, k, first)

    def _stored(self, told: dict[int, tuple[Several, int]], operands: Sequence[int], k: int, first: int) -> int:
        """Store one or more of them; how many."""
        lines, body = self.body.lines, self.body
        place = body.let(f"getelementptr double, ptr %calls, i64 {first + k}")
        for apart in (1, 2):
            run = _run(told, k, apart)
            if run:
                packs = [self.wide[told[k + i][0]] for i in range(apart)]
                wide = self._bodies[len(told[k][0])]
                width, real = wide.lanes.count, wide.lanes.real
                order = [lane + width * i for lane in range(run) for i in range(apart)]
                value, kind = packs[0], real
                if order != list(range(width)):
                    kind = f"<{len(order)} x double>"
                    mask = f"<{len(order)} x i32> <{', '.join(f'i32 {i}' for i in order)}>"
                    value = wide.let(f"shufflevector {real} {packs[0]}, {real} {packs[-1]}, {mask}")
                lines.append(f"store {kind} {value}, ptr {place}, align 8")
                return len(order)
        if k in told:
            several, lane = told[k]
            value = self.wide[several]
            value = self._bodies[len(several)].lane(value, lane)
        else:
            value = self.values[operands[k]]
        lines.append(f"store double {value}, ptr {place}")
        return 1


def _run(told: dict[int, tuple[Several, int]], k: int, apart: int) -> int:
    """How many lanes of so many packs lie one after the other from a place on, in turns; 0 if these do not."""
    heads = [told.get(k + i) for i in range(apart)]
    if any(head is None or head[1] != 0 for head in heads):
        return 0
    lane = 0
    while all(told.get(k + lane * apart + i) == (head[0], lane) for i, head in enumerate(heads) if head is not None):
        lane += 1
    return lane if lane > 1 else 0
