"""Writes what is planned on lanes (see `packs`) among the instructions of a function for one lane."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial

import casadi as ca

from kompono.compile.lanes import Lanes
from kompono.compile.law_feet import lanes_of, row_of
from kompono.compile.law_in_line import InLine, solve_in_line
from kompono.compile.lower import Body
from kompono.compile.packs import TOGETHER, Packs, Several, widened
from kompono.compile.straight import RESULT, Instruction

_NUMBER = re.compile(r"0x([0-9A-F]{16})")


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

    def write(self) -> None:
        """All results and calls, and what they need."""
        for root, one in enumerate(self.packs.found):
            if one.op in (ca.OP_OUTPUT, ca.OP_CALL):
                self._need(root)

    @property
    def has_order(self) -> bool:
        """Whether nothing on lanes waits for itself: units that need what others of another four made may."""
        done: set[int | Several] = set()
        begun: set[int | Several] = set()
        stack: list[tuple[int | Several, bool]] = [
            (k, False) for k, one in enumerate(self.packs.found) if one.op in (ca.OP_OUTPUT, ca.OP_CALL)
        ]
        while stack:
            one, ready = stack.pop()
            if ready:
                done.add(one)
            elif one not in done:
                if one in begun:
                    return False
                begun.add(one)
                stack.append((one, True))
                stack.extend((other, False) for other in self._before(one))
        return True

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

    def call(self, call: int, ask: Callable[..., str]) -> str:
        """Call a function, or solve in line for what it would give; names the address of its results."""
        known = self.packs.feet.get(call)
        if call in self.packs.told:
            ask = partial(ask, partial(self.tell, call))
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
