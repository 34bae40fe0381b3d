"""Where a vector of a keeper comes from, and what may therefore be done with it.

Numbers inside a part must not leave it, whatever frames somebody writes. So a keeper knows of each vector what it is,
in some rows behind its own, and refuses what no step loop asks for:

    KIND    nothing (zeros), a jump, a rate, a state, or a state that is the start moved by offsets (`OFFERED`)
    SELF    of a state its name, the same after corrections; of a rate that of the state it was evaluated at
    FROM    of a state, that of the state it was reached from by adding rates; of a rate, that of its state
    ROOT    the start it all began with
    WEIGHT  of a rate, how many rates it is the sum of

A sum is a state (its states have weights with the sum 1) or, of rates at states around one, a rate; all have the same
root, so a run cannot be moved by numbers somebody knows. A jump, a change of speeds alone, is in no sum: it makes
another state of its own. An error is estimated from rates at states that were reached from one: speeds, which are in
rates, cancel in it. A state is compared with its own correction only.
"""

from __future__ import annotations

from collections.abc import Sequence

from kompono.compile.emit import Array, Value, anywhere, spread

ROWS = KIND, SELF, FROM, ROOT, WEIGHT = range(5)
JUMP, RATE, STATE, OFFERED = 0.5, 1.0, 2.0, 3.0
MOST = 1e12  # factor of a vector in a sum
_CLOSE = 1e-9  # that a sum of weights may be off


class Descent:
    """The rows of one vector, which begin behind the `size` numbers of it; lane by lane."""

    def __init__(self, vector: Array, size: int) -> None:
        self._rows = vector.at(size)

    def __getitem__(self, row: int) -> Value:
        return self._rows[row]

    def set(self, *values: Value | float) -> None:
        """All rows."""
        for row, value in zip(ROWS, values, strict=True):
            self._rows[row] = value

    @property
    def is_state(self) -> Value:
        """Whether functions can be asked about it."""
        return self[KIND] >= STATE

    def around(self, name: Value) -> Value:
        """Whether it belongs to a state of that name, or to one that was reached from there."""
        return self[SELF].equals(name) | self[FROM].equals(name)


class Sum:
    """What base + sum of factor * term is, while terms are added."""

    def __init__(self, base: Descent) -> None:
        code = base[KIND].code
        self.code, self.base = code, base
        number, truth = code.lanes.real, code.lanes.truth
        self._states = code.variable(number, code.select(base.is_state, spread(code, 1.0), 0.0))
        self._rates, self._root = code.variable(number, base[WEIGHT]), code.variable(number, base[ROOT])
        self._plain, self._good = code.variable(truth, True), code.variable(truth, True)
        self._around = code.variable(truth, base[KIND].equals(RATE))

    def add(self, factor: Value, term: Descent) -> None:
        """One more term."""
        code, root = self.code, self._root.get()
        states, rates = self._states.get(), self._rates.get()
        self._states.set(states + code.select(term.is_state, factor, 0.0))
        self._rates.set(rates + factor * term[WEIGHT])
        self._plain.set(self._plain.get() & ~term.is_state)
        self._around.set(self._around.get() & term.around(self.base[SELF]))
        self.join(term)
        self._good.set(self._good.get() & (factor * factor <= MOST**2) & ~term[KIND].equals(JUMP))
        self._root.set(code.select(root.equals(0.0), term[ROOT], root))

    def join(self, other: Descent) -> None:
        """What else is put together with it has the same root."""
        root = self._root.get()
        self._good.set(self._good.get() & (other[ROOT].equals(root) | other[ROOT].equals(0.0) | root.equals(0.0)))

    def describe(self, target: Descent, name: Value) -> Value:
        """Write down what it is, a state under a new name; whether it is anything, on all lanes."""
        code, plain, root = self.code, self._plain.get(), self._root.get()
        off = self._states.get() - 1.0
        state = off * off <= _CLOSE**2
        rate = plain & self._states.get().equals(0.0) & self._around.get()
        nothing = spread(code, 0.0)
        reached = code.select(plain & self.base.is_state, self.base[SELF], nothing)
        weight = self._rates.get()
        good = self._good.get() & (state | (rate & (weight * weight <= MOST**2)))
        rows = (
            code.select(state, spread(code, STATE), RATE), code.select(state, nothing + name, self.base[SELF]),
            code.select(state, reached, self.base[FROM]), root, code.select(state, nothing, weight),
        )  # fmt: skip
        target.set(*rows)
        return ~anywhere(~good)


def same_state(one: Descent, other: Descent) -> Value:
    """Whether both are a state before or after corrections, on all lanes."""
    return ~anywhere(~(one.is_state & other.is_state & one[SELF].equals(other[SELF])))


def makes_an_error(state: Descent, end: Descent, rates: Sequence[Descent]) -> Value:
    """Whether rates are those of the stages of one step from a state to its end."""
    good = state.is_state & end.is_state & end[ROOT].equals(state[ROOT])
    for rate in rates:
        off = rate[WEIGHT] - 1.0
        good = good & rate[KIND].equals(RATE) & rate.around(state[SELF]) & (off * off <= _CLOSE**2)
    return ~anywhere(~good)
