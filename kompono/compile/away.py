"""What a step loop does with vectors of parts that are kept elsewhere: it never sees them, only their handles.

Handles end each vector of a run. Copies and choices move them like numbers; a sum, or anything that looks at numbers,
is an operation of their keepers (`far`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from kompono.compile.emit import POINTER, Array, Value, always, anywhere, room
from kompono.compile.far import LASTING, NOTHING, ROWS, Op, spell_ask, spell_flags, spell_go, spell_post, spell_take

if TYPE_CHECKING:
    from kompono.compile.machine import Machine

Terms = Sequence[tuple[Value, str]]


class Away:
    """The parts elsewhere of a machine, by the places of their handles."""

    def __init__(self, machine: Machine) -> None:
        self.machine, self.code, self.lanes = machine, machine.code, machine.lanes
        self.sizes = [size for _, size in machine.program.opaque]
        self.places = range(machine.own, machine.size)

    def _rows(self, values: Sequence[Value | float]) -> Array:
        """Values on all lanes, in memory."""
        rows = room(self.code, len(values))
        for k, value in enumerate(values):
            rows[k] = value
        return rows

    def _post(self, op: Op, whose: str, rows: Sequence[Value | float], out: str, kind: int = 0) -> None:
        given, width = self._rows(rows), self.lanes.count
        self.code.say(spell_post(op, whose, given.pointer, len(rows) * width, out, width, kind))

    def _ask(
        self, op: Op, rows: Callable[[int], list[Value]], where: Callable[[int], Value] | None = None
    ) -> list[Array]:
        """Ask all parts (`where` one is to be asked) at the same time; what they give, 0 where nobody was asked."""
        code, width, count = self.code, self.lanes.count, ROWS[op]
        asked = []
        for place in self.places:
            values = rows(place)
            given, out = self._rows(values), room(code, count)
            for k in range(count):
                out[k] = 0.0
            asked.append((given, out, where(place) if where is not None else None))
            with code.when(asked[-1][2] or always(code)):
                code.say(spell_ask(op, given.pointer, given.pointer, len(values) * width, count * width))
        for spell in (lambda given, _: spell_go(given), lambda given, out: spell_take(given, out, count * width)):
            for given, out, wanted in asked:
                with code.when(wanted or always(code)):
                    code.say(spell(given.pointer, out.pointer))
        return [out for _, out, _ in asked]

    # -- sums

    def combine(self, target: str, base: str, terms: Terms) -> None:
        """target = base + sum of factor * vector; without a base, of the sum alone."""
        for place in self.places:
            start: Value | float = self.machine.vector(base)[place] if base else 0.0
            rows = [start, *self._terms(terms, place)]
            self._post(Op.COMBINE, self._at(terms[-1][1], place), rows, self._at(target, place))

    def combine_speeds(self, target: str, other: str, base: str, terms: Terms) -> None:
        """target = `other`, but for its speeds, which are those of base + sum of factor * vector (no base: the sum)."""
        for place in self.places:
            start: Value | float = self.machine.vector(base)[place] if base else 0.0
            rows = [self.machine.vector(other)[place], start, *self._terms(terms, place)]
            self._post(Op.COMBINE_SPEEDS, self._at(terms[-1][1], place), rows, self._at(target, place))

    def _terms(self, terms: Terms, place: int) -> list[Value]:
        return [value for factor, name in terms for value in (factor, self.machine.vector(name)[place])]

    def _at(self, name: str, place: int) -> str:
        return self.machine.vector(name).at(place).pointer

    # -- modes of laws

    def settle(self, state: str, modes: Sequence[Sequence[float]]) -> None:
        """Give a state these modes of laws, part by part."""
        for place, values in zip(self.places, modes, strict=True):
            if values:
                self._post(Op.SETTLE, self._at(state, place), [self.machine.vector(state)[place], *values],
                           self._at(state, place))  # fmt: skip

    def take_modes(self, state: str, other: str) -> None:
        """Give a state the modes of laws of another one."""
        for place, modes in zip(self.places, self.machine.program.modes_away, strict=True):
            if modes:
                rows = [self.machine.vector(name)[place] for name in (state, other)]
                self._post(Op.MODES_OF, self._at(state, place), rows, self._at(state, place))

    # -- what lasts

    def pin(self, state: str, row: Array) -> None:
        """Have a state kept for good; its handles go to a row of numbers, one vector of W lanes a place."""
        for place in self.places:
            rows = [self.machine.vector(state)[place]]
            self._post(Op.PIN, self._at(state, place), rows, row.at(place * self.lanes.count).pointer, LASTING)

    # -- looks

    def check(self, name: str) -> None:
        """Have a flag raised if a vector is not finite: known with the next reply."""
        for place in self.places:
            self._post(Op.CHECK, self._at(name, place), [self.machine.vector(name)[place]], "null", NOTHING)

    def unflagged(self) -> Value:
        """Whether no flag was raised so far, lane by lane."""
        good = self.code.variable(self.lanes.truth, True)
        for place in self.places:
            flags = self.code.let(POINTER, spell_flags(self._at("state", place)))
            good.set(good.get() & Array(self.code, flags.name, self.lanes.real)[0].equals(0.0))
        return good.get()

    def compare(self, after: str, before: str) -> tuple[Value, Value, Value, Value]:
        """The size of the largest correction, whether nothing differs, whether all is finite, and whether a speed is
        another one, lane by lane.
        """
        code, vector = self.code, self.machine.vector

        def moved(place: int) -> Value:
            return anywhere(~vector(after)[place].equals(vector(before)[place]))

        truth = self.lanes.truth
        change, same, finite, faster = (code.variable(kind, start) for kind, start in (
            (self.lanes.real, 0.0), (truth, True), (truth, True), (truth, False)))  # fmt: skip
        asked = [moved(place) for place in self.places]
        places = dict(zip(self.places, asked, strict=True))
        found = self._ask(Op.COMPARE, lambda p: [vector(after)[p], vector(before)[p]], places.__getitem__)
        for values, differs in zip(found, asked, strict=True):
            with code.when(differs):
                change.set(code.select(values[0] > change.get(), values[0], change.get()))
                same.set(same.get() & values[1].equals(1.0))
                finite.set(finite.get() & values[2].equals(1.0))
                faster.set(faster.get() | values[3].equals(1.0))
        return change.get(), same.get(), finite.get(), faster.get()

    def errors(self, h: Value, state: str, end: str, rates: Sequence[str]) -> tuple[list[Value], Value]:
        """Levels of the error of a step, part by part, and whether error and end are finite."""
        tolerances = [self.machine.vector(name) for name in ("rtol", "atol")]
        vectors = [self.machine.vector(name) for name in (state, end, *rates)]
        found = self._ask(
            Op.ERROR, lambda place: [*[v[place] for v in vectors], h, *[tolerance[place] for tolerance in tolerances]]
        )  # fmt: skip
        finite = always(self.code)
        for values in found:
            finite = finite & values[1].equals(1.0)
        return [values[0] for values in found], finite
