"""Trace a model into routines: inlined into one straight-line kernel, or as a schedule of small shared kernels.

The translation code is written as plain functions on SX matrices, run through `tracer.call(function, *values)`. An
`InlineTracer` simply runs them: the routine becomes one kernel, constants fold across components, nothing goes through
memory. A `SharingTracer` (see `sharing`) runs each on fresh symbols, keeps the resulting kernel under the hash of its
content and notes a call, so that a thousand equal links compile one kernel.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import casadi as ca

from kompono.errors import TranslationError
from kompono.translate.kernels import add_kernel
from kompono.translate.numbers import OpenNumbers
from kompono.translate.program import Call, Routine
from kompono.translate.symbolic import Matrix, Scalar, Vector, constants_kept, sparse


class Tracer(ABC):
    """What both tracers share: the routine's inputs and the meaning of model symbols at the present state.

    `inputs` are (name, column of model symbols): time, state, inputs, parameters.
    """

    def __init__(self, inputs: Sequence[tuple[str, ca.SX]], kernels: dict[str, ca.Function]) -> None:
        self.inputs = tuple((name, symbols.numel()) for name, symbols in inputs)
        self.symbols = ca.vertcat(*[symbols for _, symbols in inputs])
        self.kernels = kernels
        self.values: dict[str, Vector] = {}
        self.path = ""  # the element being traced, for messages
        self.numbers: OpenNumbers | None = None  # symbols that may occur beside those of the inputs
        self._known: dict[int, Scalar] = {}
        self._providers: dict[int, Callable[[], Scalar]] = {}

    def unbind(self) -> None:
        """Forget all definitions: the next ones belong to another state."""
        self._known.clear()
        self._providers.clear()

    def define(self, symbols: ca.SX, provider: Callable[[], Vector]) -> None:
        """Let functions use model `symbols` (column); `provider` traces their values when one is first met."""
        for index, symbol in enumerate(ca.vertsplit(symbols)):
            self._providers[symbol.element_hash()] = lambda index=index: provider()[index]

    def lookup(self, symbol: ca.SX) -> Scalar:
        """The traced value of a model symbol."""
        key = symbol.element_hash()
        if key not in self._known:
            if key not in self._providers:
                raise TranslationError(
                    f"an expression uses the symbol {symbol.name()!r}, which is no signal of this model.",
                    path=self.path,
                    fix="Use time, joint.angle, body.position, and inputs and parameters assigned to self.",
                )
            self._known[key] = self._providers[key]()
        return self._known[key]

    def keep(self, symbols: ca.SX, column: ca.SX) -> str:
        """The name of a kernel from `symbols` to a column, with all numbers in place."""
        names = self.numbers.among(ca.symvar(column)) if self.numbers is not None else ()
        if self.numbers is None or not names:
            kernel = add_kernel(self.kernels, symbols, column)
            if self.numbers is not None:
                self.numbers.without.add(kernel)
            return kernel
        return self.numbers.closed(self.kernels, self.numbers.open(symbols, column, names))

    @abstractmethod
    def call(self, function: Callable[..., Any], *values: Any, path: str = "", free: bool = False) -> Any:
        """Run `function` on traced values; `free` says that it may contain expressions of a user (any model symbol).

        Gives a matrix, or a tuple of matrices, as the function does.
        """

    @abstractmethod
    def told(self, name: str, made: Vector) -> Vector:
        """Numbers (n) for a function that is called, one behind the other: what is `made` of numbers alone."""

    @abstractmethod
    def routine(self, name: str, outputs: Sequence[tuple[str, Matrix]]) -> Routine:
        """The finished routine with these outputs."""


class InlineTracer(Tracer):
    """Values are expressions of the routine's inputs themselves."""

    def __init__(self, inputs: Sequence[tuple[str, ca.SX]], kernels: dict[str, ca.Function]) -> None:
        super().__init__(inputs, kernels)
        self.values = dict(inputs)
        self._own = {symbol.element_hash() for symbol in ca.vertsplit(self.symbols)}

    def call(self, function: Callable[..., Any], *values: Any, path: str = "", free: bool = False) -> Any:
        """Run the function now."""
        self.path = path or self.path
        outputs = self._closed(function, values) if free else function(*values)
        if isinstance(outputs, tuple | list):
            return tuple(sparse(out) for out in outputs)
        return sparse(outputs)

    def told(self, name: str, made: Vector) -> Vector:
        """A column of the table."""
        assert self.numbers is not None
        return self.numbers.column(name, made)

    def _closed(self, function: Callable[..., Any], values: Sequence[Any]) -> Any:
        """Run on stand-ins, so that only the function's own expressions are searched for symbols to replace."""
        values = [ca.SX(value) for value in values]
        stand_ins = [constants_kept(value) for value in values]
        outputs = function(*stand_ins)
        single = not isinstance(outputs, tuple | list)
        outputs = [ca.SX(out) for out in ([outputs] if single else outputs)]
        before, after = ca.veccat(*stand_ins), ca.veccat(*values)
        moving = [i for i in range(before.numel()) if not before[i].is_constant()]
        local = {before[i].element_hash() for i in moving}
        free = [s for s in ca.symvar(ca.veccat(*outputs)) if s.element_hash() not in local]
        free = [s for s in free if s.element_hash() in self._providers or not self._is_own(s)]
        old = ca.vertcat(*[before[i] for i in moving], *free)
        new = ca.vertcat(*[after[i] for i in moving], *[ca.SX(self.lookup(s)) for s in free])
        outputs = ca.substitute(outputs, [old], [ca.densify(new)]) if old.numel() else outputs
        return outputs[0] if single else outputs

    def _is_own(self, symbol: ca.SX) -> bool:
        """Whether a symbol means what it is in every routine."""
        return symbol.element_hash() in self._own or (self.numbers is not None and bool(self.numbers.among([symbol])))

    def _check_symbols(self, column: ca.SX) -> None:
        for symbol in ca.symvar(column):
            if not self._is_own(symbol):
                self.path = ""
                self.lookup(symbol)

    def routine(self, name: str, outputs: Sequence[tuple[str, Matrix]]) -> Routine:
        """One call of one kernel."""
        count = self.symbols.numel()
        result, computed = addressed([value for _, value in outputs], count)
        sizes = tuple((label, len(row)) for (label, _), row in zip(outputs, result, strict=True))
        calls: tuple[Call, ...] = ()
        if computed:
            self._check_symbols(ca.vertcat(*computed))
            kernel = self.keep(self.symbols, ca.vertcat(*computed))
            calls = (Call(kernel, tuple(range(count)), tuple(range(count, count + len(computed))), "inlined"),)
        return Routine(name, self.inputs, sizes, calls, tuple(result), count + len(computed))


def addressed(values: Iterable[Any], first: int) -> tuple[list[tuple[int | float, ...]], list[ca.SX]]:
    """Where the entries of values will be found: constants as they are, others one behind the other from a place on;
    and these others, which are to be computed.
    """
    computed: list[ca.SX] = []
    result = []
    for value in values:
        row: list[int | float] = []
        column = ca.densify(ca.vec(ca.SX(value)))
        for entry in ca.vertsplit(column) if column.numel() else []:
            if entry.is_constant():
                row.append(float(entry))
            else:
                row.append(first + len(computed))
                computed.append(entry)
        result.append(tuple(row))
    return result, computed
