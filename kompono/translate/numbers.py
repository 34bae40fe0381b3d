"""Numbers of a model that are symbols while it is traced, and are put in afterwards.

Masses, inertias and the numbers in laws of forces and efforts (see `open_laws`) decide nothing about the structure of
the equations, as long as they are not zero. So they are traced as symbols, and what is kept of a translation serves
every model that differs in them alone; whoever asks for a routine gets it with the numbers in place. Zeros stay zeros,
and equal entries of one inertia tensor stay equal, for terms vanish by them: which these are is the *pattern* of a
solid, and part of the name of a translation. What is found numerically from masses and goes into the equations, such
as the sizes pivots are compared with, is a number among these: it is found anew for each model, by the same code.

A kernel is the same to the bit whether its expressions were traced or found on a shelf: both ways the numbers are put
into the same expressions.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from kompono.model.body import Body, Frame, MassProperties
from kompono.model.element import Element
from kompono.translate.algorithm import reads
from kompono.translate.apart import parts_of_numbers
from kompono.translate.evaluated import on_arrays
from kompono.translate.kernels import Kernels, add_kernel
from kompono.translate.program import Call, Coded, Routine
from kompono.translate.repeated import found_anywhere
from kompono.translate.texts import written

_NOTHING = ca.SX(0, 1), ca.SX(0, 1)


class Open(NamedTuple):
    """A kernel before its numbers are put in: `code` is a function of one column, its own and behind it the entries of
    a table; `table` makes that of numbers with these `names`. Both also as text, as they are kept.
    """

    code: ca.Function
    table: ca.Function
    names: tuple[str, ...]
    texts: tuple[str, str]

    @staticmethod
    def of(texts: Sequence[str], names: Sequence[str], kernels: Kernels) -> Open:
        """What was kept."""
        code, table = (kernels.read(text) for text in texts)
        return Open(code, table, tuple(names), (texts[0], texts[1]))


class Schedule(NamedTuple):
    """A routine of several calls before its numbers are put in: those with these `names` are read from these
    `slots`.
    """

    routine: Routine
    names: tuple[str, ...]
    slots: tuple[int, ...]


def pattern_of(solid: MassProperties) -> tuple[object, ...] | None:
    """What of a solid decides about structure; nothing where it is not plain numbers that can be exchanged."""
    mass, inertia = solid.mass, solid.inertia
    if type(mass) is not float or not math.isfinite(mass) or mass == 0 or type(inertia) is not np.ndarray:
        return None
    if inertia.dtype != float or inertia.shape != (3, 3) or not np.all(np.isfinite(inertia)):
        return None
    return tuple(like_places(inertia.ravel().tolist()))


def like_places(values: Sequence[float]) -> list[int]:
    """For each value the number of those like it but for the sign, counted from 1, negative where the sign is another;
    0 for zeros.
    """
    known: dict[float, float] = {}
    order = []
    for value in values:
        first = known.setdefault(abs(value), value)
        place = 1 + list(known).index(abs(value))
        order.append(0 if value == 0 else place if value == first else -place)
    return order


def _each_its_own(rows: Sequence[Sequence[float]]) -> list[int]:
    """Places of entries none of which are taken to be equal."""
    return [(k + 1) * (value != 0) for k, value in enumerate(value for row in rows for value in row)]


class OpenNumbers:
    """Symbols by name, and their values. `find` is asked for those that are found from the model, when one is
    needed.
    """

    def __init__(
        self, bodies: Mapping[str, Body], laws: Callable[[dict[Element, Any]], Mapping[str, tuple[Element, Any]]]
    ) -> None:
        self._open_laws = laws
        self.asked: dict[Element, Any] = {}  # laws as the name of the model counts them
        self.solids: dict[Body, MassProperties] = {}
        self.opened: dict[str, Open] = {}  # kernels with numbers in place -> before that
        self.coded: dict[str, Coded] = {}  # the same for who compiles them
        self.without: set[str] = set()  # kernels that need no numbers
        self.frames: dict[Frame, str] | None = None  # names of frames whose poses are numbers, see `lengths`
        self.lengths: dict[Element, tuple[str, ...]] = {}  # attributes of elements that are such numbers
        self.directions: dict[Element, tuple[str, ...]] = {}  # attributes that are directions, see `open_pairs`
        self.pairs: Callable[..., Any] | None = None  # gives joints and constraints with symbols for their numbers
        self.grounds: frozenset[Element] = frozenset()  # whose places are numbers
        self.coupled: frozenset[Element] = frozenset()  # couplings whose numbers are
        self.placed = False  # whether bodies are placed one by one, so that no mate makes a pose of where one starts
        self.scheduled: dict[str, tuple[Routine, Schedule]] = {}  # routines of several calls by name, and before that
        self.find: Callable[[], object] | None = None
        self.decide: Callable[[], object] | None = None  # notes what declared numbers decide about networks
        self.scope = ""  # what names of what is found begin with
        self.networks: dict[tuple[str, Element], Any] = {}  # with symbols in their equations, by scope
        self._symbols: dict[str, ca.SX] = {}
        self._names: dict[int, str] = {}  # by hash of the symbol
        self._values: dict[str, float] = {}
        self._found: dict[str, ca.SX] = {}
        self._patterns: dict[str, object] = {}
        self._columns: dict[str, tuple[ca.SX, ca.SX]] = {}  # of numbers for functions, and what they are made of
        for path, body in bodies.items():
            if pattern_of(body.solid) is not None:
                mass = self._symbolic(f"{path} mass", [[body.solid.mass]], [1])
                tensor = body.solid.inertia
                inertia = self._symbolic(f"{path} inertia", tensor.tolist(), like_places(tensor.ravel().tolist()))
                self.solids[body] = MassProperties(mass, inertia)
        self._declared = set(self._values)

    @cached_property
    def laws(self) -> dict[Element, Any]:
        """Forces and efforts with symbols in the place of their numbers."""
        found: dict[Element, Any] = {}
        for path, (element, law) in self._open_laws(self.asked).items():
            found[element] = law
            for k, (symbol, value) in enumerate(zip(law.symbols, law.values, strict=True)):
                self.note(f"{path} law {k}", symbol, value)
                self._declared.add(f"{path} law {k}")
        return found

    def found(self, name: str, values: np.ndarray, *, places: Sequence[int] | None = None, ones: bool = False) -> ca.SX:
        """Symbols for numbers (rows,) or (rows, columns) that were found from the model; zeros stay zeros. Or, row by
        row, zeros and equal ones are those of `places` (see `like_places`). 1 and -1 stay where `ones` are structure.
        """
        if name not in self._found:
            rows = values.reshape(len(values), -1).tolist() if values.size else []
            chosen = _each_its_own(rows) if places is None else list(places)
            units = [entry if abs(entry) == 1 else 0 for row in rows for entry in row] if ones else []
            self.decided(name, (values.shape, chosen, units))
            self._found[name] = self._symbolic(name, rows, chosen, units) if rows else ca.SX(len(values), 1)
        return self._found[name]

    def decided(self, name: str, what: object) -> None:
        """Note what else was found from the model and went into its equations."""
        self._patterns[name] = what

    def _symbolic(
        self, name: str, rows: Sequence[Sequence[float]], places: Sequence[int], units: Sequence[float] = ()
    ) -> ca.SX:
        flat = [value for row in rows for value in row]
        entries = []
        for place, value, unit in zip(places, flat, units or [0] * len(flat), strict=True):
            if unit or not place:
                entries.append(ca.SX(unit))
                continue
            symbol = self._symbol(f"{name} {abs(place)}", value if place > 0 else -value)
            entries.append(symbol if place > 0 else -symbol)
        return ca.sparsify(ca.reshape(ca.vertcat(*entries), len(rows[0]), len(rows)).T)

    def _symbol(self, name: str, value: float) -> ca.SX:
        if name not in self._symbols:
            self.note(name, ca.SX.sym(f"number_{len(self._symbols)}"), value)  # a path may hold anything
        return self._symbols[name]

    def column(self, name: str, made: ca.SX) -> ca.SX:
        """Symbols (n) that lie one behind the other in a table, for numbers that are `made` (n) of others."""
        if name not in self._columns:
            symbols = ca.SX.sym("column", made.numel())
            self._columns[name] = symbols, made
            self._names |= {symbol.element_hash(): name for symbol in ca.vertsplit(symbols)}
        return self._columns[name][0]

    def _names_of(self, names: Iterable[str]) -> tuple[list[str], ca.SX, ca.SX]:
        """Names without columns, these, and what they are made of."""
        names = list(dict.fromkeys(names))
        columns = [self._columns[name] for name in names if name in self._columns]
        symbols, made = (ca.vertcat(ca.SX(0, 1), *part) for part in zip(*columns, strict=True)) if columns else _NOTHING
        made = self._without_columns(made)
        plain = [*(name for name in names if name not in self._columns), *self.among(ca.symvar(made))]
        return list(dict.fromkeys(plain)), symbols, made

    def _without_columns(self, made: ca.SX) -> ca.SX:
        """An expression with what columns are made of in their place."""
        while inner := [name for name in dict.fromkeys(self.among(ca.symvar(made))) if name in self._columns]:
            old, new = (ca.vertcat(*part) for part in zip(*[self._columns[name] for name in inner], strict=True))
            made = ca.substitute(made, old, new)
        return made

    def note(self, name: str, symbol: ca.SX, value: float) -> None:
        """Have a symbol that stands for a number."""
        self._symbols[name], self._values[name] = symbol, value
        self._names[symbol.element_hash()] = name

    @property
    def pattern(self) -> str:
        """A name for what was found from the model, but for the numbers themselves."""
        self._completed()
        return hashlib.sha256(repr(sorted(self._patterns.items())).encode()).hexdigest()

    def _completed(self) -> None:
        find, self.find = self.find, None
        decide, self.decide = self.decide, None
        for one in (find, decide):
            if one is not None:
                one()

    def among(self, symbols: Iterable[ca.SX]) -> list[str]:
        """The names of those symbols that stand for numbers."""
        return [name for s in symbols if (name := self._names.get(s.element_hash())) is not None]

    def known(self, names: Iterable[str]) -> bool:
        """Whether there are such numbers; those of laws, and those that are found from the model, are found now."""
        names = set(names)
        for find in (lambda: self.laws, self._completed):
            if not names <= self._values.keys():
                find()
        return names <= self._values.keys()

    def worth(self, expression: ca.SX) -> ca.DM | None:
        """What an expression of numbers alone comes to; nothing if there is anything else in it."""
        expression = self._without_columns(expression)
        symbols = ca.symvar(expression)
        names = self.among(symbols)
        if len(names) < len(symbols):
            return None
        return ca.DM(ca.evalf(ca.substitute(expression, ca.vertcat(*symbols), ca.DM(self.values(names)))))

    @property
    def deciding(self) -> bool:
        """Whether declared numbers decide anything."""
        return self.decide is not None or bool(self.networks)

    def are_declared(self, names: Iterable[str]) -> bool:
        """Whether these numbers need not be found."""
        return self._declared.issuperset(names)

    def open(self, symbols: ca.SX, column: ca.SX, names: Sequence[str]) -> Open:
        """A kernel with its numbers as a second argument."""
        names, columns, told = self._names_of(names)
        numbers = ca.vertcat(*[self._symbols[name] for name in names])
        rest, places, made = extracted(column, numbers)
        code = ca.Function("open", [ca.vertcat(symbols, numbers, *places, columns)], [ca.densify(rest)])
        table = ca.Function("table", [numbers], [ca.densify(ca.vertcat(numbers, *made, told))])
        return Open(code, table, tuple(names), (written(code), written(table)))

    def closed(self, kernels: dict[str, ca.Function], opened: Open) -> str:
        """The name of a kernel with its numbers in place."""
        symbols = ca.SX.sym("x", opened.code.nnz_in(0) - opened.table.nnz_out(0))
        entries = opened.table(ca.DM([self._values[name] for name in opened.names]))
        kernel = add_kernel(kernels, symbols, opened.code(ca.vertcat(symbols, entries)))
        digest = hashlib.sha256(opened.texts[0].encode()).hexdigest()
        if kernel in self.coded and self.coded[kernel].digest != digest:  # other code that comes to the same
            same, kernel = kernels[kernel], hashlib.sha256(f"{kernel} {digest}".encode()).hexdigest()[: len(kernel)]
            kernels[kernel] = same
        self.opened[kernel] = opened
        called = tuple(function.name() for function in opened.code.find_functions())
        timed = reads(opened.code, [0], opened.texts[0])
        self.coded[kernel] = Coded(
            lambda: opened.code, digest, entries.full().ravel(), opened.code.n_instructions(), called, timed,
            opened.texts[0],
        )  # fmt: skip
        return kernel

    def values(self, names: Iterable[str]) -> list[float]:
        """Numbers by name."""
        return [self._values[name] for name in names]

    def closed_schedule(
        self, kernels: dict[str, ca.Function], schedule: Schedule, values: Sequence[float] | None = None
    ) -> Routine:
        """A routine with its numbers, or these `values`, in place: its first call writes them. What is made of numbers
        alone is a number, too: it is computed now.
        """
        given = self.values(schedule.names) if values is None else values
        known, left = dict(zip(schedule.slots, given, strict=True)), list[Call]()
        made: dict[str, Callable[[np.ndarray], list[np.ndarray]]] = {}
        for call in schedule.routine.calls:
            if known.keys() >= set(call.inputs) and found_anywhere(kernels[call.kernel]):
                if call.kernel not in made:
                    made[call.kernel] = on_arrays(kernels[call.kernel])
                (found,) = made[call.kernel](np.array([known[slot] for slot in call.inputs]))
                known.update(zip(call.outputs, found.ravel().tolist(), strict=True))
            else:
                left.append(call)
        used = {slot for call in left for slot in call.inputs}
        used |= {slot for row in schedule.routine.result for slot in row if isinstance(slot, int)}
        slots = tuple(sorted(slot for slot in known if slot in used))
        routine = replace(schedule.routine, calls=tuple(left))
        if slots:
            entries = np.array([known[slot] for slot in slots])
            kernel = add_kernel(kernels, ca.SX(0, 1), ca.SX(ca.DM(entries)))
            self.coded.setdefault(kernel, _plain_numbers(entries))
            routine = replace(routine, calls=(Call(kernel, (), slots, "numbers"), *left))
        self.scheduled[routine.name] = routine, schedule
        return routine


def plain(numbers: OpenNumbers, made: ca.SX) -> ca.SX:
    """What is made of numbers, without columns: of those that were declared or found."""
    return numbers._without_columns(made)


class NumbersWithin(OpenNumbers):
    """Numbers of a model as they are found from a part of it: names begin with that of the part."""

    def __init__(self, whole: OpenNumbers, name: str) -> None:
        self._whole, self._name, self.scope = whole, name, f"{whole.scope} {name}"
        self.find: Callable[[], object] | None = None  # who finds them is asked by who has the part

    def __getattr__(self, name: str) -> Any:
        return getattr(self._whole, name)

    @property
    def laws(self) -> dict[Element, Any]:  # type: ignore[override]
        return self._whole.laws

    def column(self, name: str, made: ca.SX) -> ca.SX:
        return self._whole.column(f"{self._name} {name}", made)

    def found(self, name: str, values: np.ndarray, *, places: Sequence[int] | None = None, ones: bool = False) -> ca.SX:
        return self._whole.found(f"{self._name} {name}", values, places=places, ones=ones)

    def decided(self, name: str, what: object) -> None:
        self._whole.decided(f"{self._name} {name}", what)


def _plain_numbers(entries: np.ndarray) -> Coded:
    """A kernel that has numbers and nothing else."""

    def code() -> ca.Function:
        column = ca.SX.sym("x", len(entries))
        return ca.Function("numbers", [column], [column])

    return Coded(code, f"{len(entries)} numbers", entries, len(entries), (), False)


def extracted(column: ca.SX, numbers: ca.SX) -> tuple[ca.SX, list[ca.SX], list[ca.SX]]:
    """A column with symbols in the place of all that is made of `numbers` alone, these symbols, and what they stand
    for; the column as it is where closed functions make it that are called by native code alone: all but the solvers of
    networks.
    """
    places, made, rest = parts_of_numbers(column, numbers)
    if made and not found_anywhere(ca.Function("made", [numbers], [ca.vertcat(*made)])):
        return column, [], []
    return rest, places, made
