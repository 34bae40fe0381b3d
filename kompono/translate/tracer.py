"""Trace a model into routines: inlined into one straight-line kernel, or as a schedule of small shared kernels.

The translation code is written as plain functions on SX matrices, run through `tracer.call(function, *values)`. An
`InlineTracer` simply runs them: the routine becomes one kernel, constants fold across components, nothing goes through
memory. A `SharingTracer` runs each on fresh symbols, keeps the resulting kernel under the hash of its content and
notes a call, so that a thousand equal links compile one kernel. There a traced value is an SX matrix whose entries are
slots of the workspace or constants; constants are baked into the kernel and results that turn out constant stay
constants, so the zeros of a planar mechanism vanish across kernels as well.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import casadi as ca

from kompono.errors import TranslationError
from kompono.translate.apart import NumbersApart
from kompono.translate.kernels import add_kernel, recipes_of
from kompono.translate.numbers import OpenNumbers, Schedule
from kompono.translate.program import Call, Routine
from kompono.translate.recipes import Recipe, same_function, with_values
from kompono.translate.symbolic import Matrix, Scalar, Vector, constants_kept, entries_of, sparse, with_entries


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


class SharingTracer(Tracer):
    """Values are slots of a workspace; kernels are shared by content."""

    def __init__(self, inputs: Sequence[tuple[str, ca.SX]], kernels: dict[str, ca.Function]) -> None:
        super().__init__(inputs, kernels)
        self.calls: list[Call] = []
        self.slots: dict[int, int] = {}  # element hash of a slot symbol -> slot
        self._alive: list[ca.SX] = []
        self._number_slots: dict[str, ca.SX] = {}  # of numbers that are put in after tracing
        self._made_of_numbers: dict[int, tuple[ca.SX, ca.SX]] = {}  # expressions of these, and their slots, by hash
        self._recipes: dict[Any, Recipe] = recipes_of(kernels)  # what calls came to, by function and pattern of values
        self.values = {name: self._allocate(symbols.numel()) for name, symbols in inputs}
        slots = ca.vertcat(*self.values.values())
        self._inputs = {s.element_hash(): slots[i] for i, s in enumerate(ca.vertsplit(self.symbols))}

    def _allocate(self, size: int) -> ca.SX:
        symbols = [ca.SX.sym("s") for _ in range(size)]
        for symbol in symbols:
            self.slots[symbol.element_hash()] = len(self._alive)
            self._alive.append(symbol)
        return ca.vertcat(*symbols) if symbols else ca.SX(0, 1)

    def lookup(self, symbol: ca.SX) -> Scalar:
        """The slot of a model symbol."""
        key = symbol.element_hash()
        if key in self._inputs and key not in self._providers:
            return self._inputs[key]
        for name in self.numbers.among([symbol]) if self.numbers is not None else ():
            if name not in self._number_slots:
                self._number_slots[name] = self._allocate(1)
            return self._number_slots[name]
        return super().lookup(symbol)

    def call(self, function: Callable[..., Any], *values: Any, path: str = "", free: bool = False) -> Any:
        """Run `function` on traced values as one kernel; returns traced values of the same shapes."""
        self.path = path or self.path
        same, enclosed = None, list[ca.SX]()
        if not free and self.numbers is not None:
            function, enclosed, same = with_values(function, self._is_number)
        elif not free:
            same = same_function(function)
        given = [value if type(value) is ca.SX else ca.SX(value) for value in (*values, *enclosed)]
        pattern, slots = self._pattern(given) if same is not None else (None, {})
        if same is not None and pattern is None:
            given = self._slotted(given)
            pattern, slots = self._pattern(given)
        known = self._recipes.get((same, pattern)) if pattern is not None else None
        if known is not None:
            return self._repeat(known, list(slots), path)
        locals_by_slot: dict[int, tuple[ca.SX, ca.SX]] = {}
        arguments = [self._localize(value, locals_by_slot) for value in given]
        outputs = function(*arguments)
        single = not isinstance(outputs, tuple | list)
        outputs = [ca.sparsify(ca.SX(out)) for out in ([outputs] if single else outputs)]
        own = outputs
        outputs = self._resolve_free_symbols(outputs, locals_by_slot)
        count = len(self.calls)
        results, plan = self._emit(outputs, locals_by_slot, path)
        if pattern is not None and outputs is own:
            made = self.calls[-1] if len(self.calls) > count else None
            self._recipes[same, pattern] = self._recipe(made, outputs, plan, slots, single)
        return results[0] if single else tuple(results)

    def _pattern(self, values: Sequence[ca.SX]) -> tuple[Any, dict[int, int]]:
        """What of values decides about the expressions made of them: zeros, constants, and which entries are the same;
        and the slots of these in order. Nothing for values that are not all in slots.
        """
        order: dict[int, int] = {}
        found = []
        for value in values:
            entries: list[int | str] = []
            for entry in entries_of(value):
                if entry.is_constant():
                    entries.append(float(entry).hex())
                    continue
                slot = self.slots.get(entry.element_hash())
                if slot is None:
                    return None, {}
                entries.append(order.setdefault(slot, len(order)))
            pattern = value.sparsity()
            found.append((value.shape, tuple(pattern.colind()), tuple(pattern.row()), tuple(entries)))
        return tuple(found), order

    def _recipe(
        self, made: Call | None, outputs: Sequence[ca.SX], plan: list[list[Scalar | int]], slots: dict[int, int],
        single: bool,
    ) -> Recipe:  # fmt: skip
        rows: list[list[Scalar | tuple[bool, int]]] = []
        for row in plan:
            items: list[Scalar | tuple[bool, int]] = []
            for item in row:
                if isinstance(item, int):
                    items.append((True, item))
                else:
                    items.append(item if item.is_constant() else (False, slots[self.slots[item.element_hash()]]))
            rows.append(items)
        inputs = tuple(slots[slot] for slot in made.inputs) if made else ()
        return Recipe(made.kernel if made else "", inputs, len(made.outputs) if made else 0, outputs, rows, single)

    def _repeat(self, recipe: Recipe, slots: Sequence[int], path: str) -> Any:
        """The same call with values in other slots."""
        first = len(self._alive)
        new = ca.vertsplit(self._allocate(recipe.made)) if recipe.made else []
        if recipe.made:
            inputs = tuple(slots[k] for k in recipe.inputs)
            self.calls.append(Call(recipe.kernel, inputs, tuple(range(first, first + recipe.made)), path))
        results = []
        for pattern, row in zip(recipe.patterns, recipe.rows, strict=True):
            entries = [
                item if not isinstance(item, tuple) else new[item[1]] if item[0] else self._alive[slots[item[1]]]
                for item in row
            ]
            results.append(with_entries(pattern, entries))
        return results[0] if recipe.single else tuple(results)

    def _localize(self, value: ca.SX, table: dict[int, tuple[ca.SX, ca.SX]]) -> ca.SX:
        entries = []
        for entry in entries_of(value):
            if entry.is_constant():
                entries.append(entry)
                continue
            slot = self._in_slot(entry)
            entries.append(table.setdefault(slot.element_hash(), (ca.SX.sym("x"), slot))[0])
        return with_entries(value, entries)

    def _slotted(self, values: Sequence[ca.SX]) -> list[ca.SX]:
        """Values with slots in the place of what is made of numbers."""
        made = self._made([entry for value in values for entry in entries_of(value) if not entry.is_constant()])

        def slot(entry: ca.SX) -> ca.SX:
            known = made.get(entry.element_hash())
            return entry if entry.is_constant() else self._in_slot(entry) if known is None else known

        return [with_entries(value, [slot(entry) for entry in entries_of(value)]) for value in values]

    def _in_slot(self, entry: ca.SX) -> ca.SX:
        key = entry.element_hash()
        if key in self.slots:
            return entry
        return self._made_of_numbers[key][1] if key in self._made_of_numbers else self._made([entry])[key]

    def _made(self, entries: Sequence[ca.SX]) -> dict[int, ca.SX]:
        """The slots, by hash, of values that are made of numbers alone, or of inputs that mean what they are."""
        new = {entry.element_hash(): entry for entry in entries}
        new = {key: e for key, e in new.items() if key not in self.slots and key not in self._made_of_numbers}
        found = {key: ca.SX(self.lookup(entry)) for key, entry in new.items() if entry.is_symbolic()}
        left = [entry for key, entry in new.items() if key not in found]
        if left:
            column, inputs = ca.vertcat(*left), self._inputs.keys() - self._providers.keys()
            if not all(self._is_number(one) or one.element_hash() in inputs for one in ca.symvar(column)):
                raise TranslationError("internal: a traced value is not a slot")
            made = self.call(lambda: column, free=True)
            found |= {entry.element_hash(): made[k] for k, entry in enumerate(left)}
        for key, slot in found.items():
            if all(self._is_number(symbol) for symbol in ca.symvar(new[key])):
                self._made_of_numbers[key] = new[key], slot
        return found

    def _is_number(self, symbol: ca.SX) -> bool:
        return self.numbers is not None and bool(self.numbers.among([symbol]))

    def _resolve_free_symbols(self, outputs: list[ca.SX], table: dict[int, tuple[ca.SX, ca.SX]]) -> list[ca.SX]:
        known = {local.element_hash() for local, _ in table.values()}
        entries = ca.veccat(*outputs)
        free = [symbol for symbol in ca.symvar(entries) if symbol.element_hash() not in known]
        if not free:
            return outputs
        replacements = [self._localize(ca.SX(self.lookup(symbol)), table) for symbol in free]
        replaced = ca.substitute(outputs, [ca.vertcat(*free)], [ca.densify(ca.vertcat(*replacements))])
        return [ca.sparsify(out) for out in replaced]

    def _emit(
        self, outputs: list[ca.SX], table: dict[int, tuple[ca.SX, ca.SX]], path: str
    ) -> tuple[list[ca.SX], list[list[Scalar | int]]]:
        slot_of_local = {local.element_hash(): slot for local, slot in table.values()}
        fresh: dict[int, int] = {}
        computed: list[ca.SX] = []
        plan: list[list[Scalar | int]] = []
        for out in outputs:
            row: list[Scalar | int] = []
            for entry in entries_of(out):
                key = entry.element_hash()
                if entry.is_constant():
                    row.append(entry)
                elif key in slot_of_local:
                    row.append(slot_of_local[key])
                else:
                    if key not in fresh:
                        fresh[key] = len(computed)
                        computed.append(entry)
                    row.append(fresh[key])
            plan.append(row)
        slots = self._record(computed, table, path) if computed else []
        results = []
        for out, row in zip(outputs, plan, strict=True):
            entries = [slots[item] if isinstance(item, int) else item for item in row]
            results.append(with_entries(out, entries))
        return results, plan

    def _slot(self, entry: ca.SX) -> int:
        return self.slots[self._in_slot(entry).element_hash()]

    def _record(self, computed: list[ca.SX], table: dict[int, tuple[ca.SX, ca.SX]], path: str) -> list[ca.SX]:
        column = ca.vertcat(*computed)
        used = {symbol.element_hash() for symbol in ca.symvar(column)}
        pairs = [(local, slot) for local, slot in table.values() if local.element_hash() in used]
        name = add_kernel(self.kernels, ca.vertcat(*[local for local, _ in pairs]), column)
        result = self._allocate(len(computed))
        outputs = [self.slots[symbol.element_hash()] for symbol in ca.vertsplit(result)]
        inputs = tuple(self.slots[slot.element_hash()] for _, slot in pairs)
        self.calls.append(Call(name, inputs, tuple(outputs), path))
        return ca.vertsplit(result)

    def routine(self, name: str, outputs: Sequence[tuple[str, Matrix]]) -> Routine:
        """The finished schedule, without calls nobody needs."""
        results = []
        for _, value in outputs:
            dense = [ca.SX(entry) for entry in ca.vertsplit(ca.vec(ca.densify(ca.SX(value))))]
            results.append(tuple(float(e) if e.is_constant() else self._slot(e) for e in dense))
        needed = {slot for row in results for slot in row if isinstance(slot, int)}
        kept = []
        for call in reversed(self.calls):
            if needed.intersection(call.outputs):
                kept.append(call)
                needed.update(call.inputs)
        sizes = tuple((label, len(row)) for (label, _), row in zip(outputs, results, strict=True))
        routine = Routine(name, self.inputs, sizes, tuple(reversed(kept)), tuple(results), len(self._alive))
        if self.numbers is None:
            return routine
        found = {number: self.slots[slot.element_hash()] for number, slot in self._number_slots.items()}
        used = {number: slot for number, slot in found.items() if slot in needed}
        apart, slots = NumbersApart(self.kernels).of(routine, tuple(used.values()))
        return self.numbers.closed_schedule(self.kernels, Schedule(apart, tuple(used), slots))


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
