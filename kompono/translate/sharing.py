"""Trace a model into schedules of small kernels that are shared by content.

A traced value is an SX matrix whose entries are slots of the workspace or constants; constants are baked into the
kernel and results that turn out constant stay constants, so the zeros of a planar mechanism vanish across kernels as
well. Numbers that are put in after tracing are slots like others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import casadi as ca

from kompono.errors import TranslationError
from kompono.translate.apart import NumbersApart
from kompono.translate.kernels import add_kernel, recipes_of
from kompono.translate.numbers import Schedule, plain
from kompono.translate.program import Call, Routine
from kompono.translate.recipes import Recipe, same_function, with_values
from kompono.translate.symbolic import Matrix, Scalar, Vector, entries_of, with_entries
from kompono.translate.tracer import Tracer


class SharingTracer(Tracer):
    """Values are slots of a workspace; kernels are shared by content."""

    def __init__(self, inputs: Sequence[tuple[str, ca.SX]], kernels: dict[str, ca.Function]) -> None:
        super().__init__(inputs, kernels)
        self.calls: list[Call] = []
        self.slots: dict[int, int] = {}  # element hash of a slot symbol -> slot
        self._alive: list[ca.SX] = []
        self._number_slots: dict[str, ca.SX] = {}  # of numbers that are put in after tracing
        self._made_of_numbers: dict[int, tuple[ca.SX, ca.SX]] = {}  # expressions of these, and their slots, by hash
        self._told: dict[str, ca.SX] = {}  # slots of numbers for functions, by name
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

    def told(self, name: str, made: Vector) -> Vector:
        """Slots of its own, also for what is a number elsewhere: whoever calls copies them at once."""
        assert self.numbers is not None
        if name not in self._told:
            table: dict[int, tuple[ca.SX, ca.SX]] = {}
            (column,) = self._resolve_free_symbols([plain(self.numbers, made)], table)
            self._told[name] = ca.vertcat(*self._record(ca.vertsplit(column), table, name))
        return self._told[name]

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
