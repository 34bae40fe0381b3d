"""What processes that run one native loop in step decide together; alone, a process decides for itself.

A decision is a maximum over all processes, which is the same in any order; a norm is summed exactly, in fixed point
relative to the largest term. So each process goes the same way, and neither a state nor a step size depends on how many
there are. What several processes hold counts once: elsewhere its tolerance is infinite.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kompono.compile.emit import INT, REAL, Value
from kompono.compile.lanes import constant
from kompono.compile.messages import AGREED, finite_or_infinite, tell_all, whole

if TYPE_CHECKING:
    from kompono.compile.machine import Machine

_BITS = 31  # of each of the two parts of a term: 2^31 terms fit, and what is lost is 2^-62 of the largest
_ONE = float(1 << _BITS)


class ByItself:
    """One process with the whole state."""

    def __init__(self, machine: Machine) -> None:
        self.machine, self.code = machine, machine.code

    def everywhere(self, truth: Value) -> Value:
        """Whether it holds in all processes."""
        return truth

    def largest(self, value: Value) -> Value:
        """The largest of all processes."""
        return value

    def mean(self, term: Callable[[Value], Value]) -> Value:
        """The mean of terms (none negative) over the whole state."""
        total, size = self.code.variable(REAL, 0.0), self.machine.size
        with self.code.loop(size) as i:
            total.set(total.get() + term(i))
        return total.get() / max(size, 1)


class InStep(ByItself):
    """One of several processes, each with a part of the state."""

    def everywhere(self, truth: Value) -> Value:
        """Whether it holds on all processes."""
        return self.largest(self.code.select(truth, 0.0, 1.0)).equals(0.0)

    def largest(self, value: Value) -> Value:
        """The largest of all processes; infinite where one is not a number."""
        code = self.code
        heard, ranks = tell_all(code, self.machine.vector("work"), [finite_or_infinite(code, value)])
        most = code.variable(REAL, heard[0])
        with code.loop(ranks) as i:
            other = heard[i * AGREED]
            most.set(code.select(other > most.get(), other, most.get()))
        return most.get()

    def mean(self, term: Callable[[Value], Value]) -> Value:
        """The mean of terms (none negative) over the whole state."""
        code, work = self.code, self.machine.vector("work")
        most, wrong = code.variable(REAL, 0.0), code.variable(REAL, 0.0)
        with code.loop(self.machine.size) as i:
            value = term(i)
            most.set(code.select(value > most.get(), value, most.get()))
            wrong.set(wrong.get() + 0.0 * value)
        largest = self.largest(most.get() + wrong.get())
        scale, back = self._scales(largest)
        high, low = self._parts(term, scale)
        heard, ranks = tell_all(code, work, [high, low])
        sums = [code.variable(INT, 0), code.variable(INT, 0)]
        with code.loop(ranks) as i:
            for k, part in enumerate(sums):
                part.set(part.get() + whole(code, heard, i * AGREED + k))
        upper, lower = (part.get().real() for part in sums)
        total = self._exact("fadd", upper, self._exact("fmul", lower, 1 / _ONE))
        mean = total * back / float(self.whole_size)
        usual = (largest > 1e-290) & (largest < 1e290)
        return code.select(usual, mean, code.select(largest > 1.0, largest, 0.0))

    @property
    def whole_size(self) -> int:
        """Length of the whole state."""
        assert self.machine.program.spread is not None
        return max(self.machine.program.spread.state_size, 1)

    def _scales(self, largest: Value) -> tuple[Value, Value]:
        """The power of two that brings all terms up to 2^31, and its inverse."""
        code = self.code
        bits = code.let(INT, f"bitcast double {largest.name} to i64").name
        exponent = code.let(INT, f"lshr i64 {bits}, 52")
        found = []
        for power in (2045 + _BITS - exponent, exponent + 1 - _BITS):
            kept = code.let(INT, f"and i64 {power.name}, 2047").name
            shifted = code.let(INT, f"shl i64 {kept}, 52").name
            found.append(code.let(REAL, f"bitcast i64 {shifted} to double"))
        return found[0], found[1]

    def _parts(self, term: Callable[[Value], Value], scale: Value) -> tuple[Value, Value]:
        """The sum of own terms: whole part, and the rest in units of 2^-31."""
        code = self.code
        high, low = code.variable(INT, 0), code.variable(INT, 0)
        with code.loop(self.machine.size) as i:
            scaled = self._exact("fmul", term(i), scale)
            upper = code.let(INT, f"fptosi double {scaled.name} to i64")
            rest = self._exact("fmul", self._exact("fsub", scaled, upper.real()), _ONE)
            high.set(high.get() + upper)
            low.set(low.get() + code.let(INT, f"fptosi double {rest.name} to i64"))
        return high.get(), low.get()

    def _exact(self, operation: str, left: Value, right: Value | float) -> Value:
        """An operation that is rounded by itself."""
        other = right.name if isinstance(right, Value) else constant(right)
        return self.code.let(REAL, f"{operation} double {left.name}, {other}")
