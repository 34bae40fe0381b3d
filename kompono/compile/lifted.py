"""Code without numbers: what closed functions compute, with every literal in a table beside the code.

Object code shows literals as they are: masses and stiffnesses can be read out of it. Here all but 0, 1/2, 1, 2 and
their negatives are loads from a table, each number once. The code is the same to the last bit of its results, names in
it are counted, and equal structures with other numbers have equal code.

    void kompono.<hash>.<k>.<lanes>(ptr in, ptr out, ptr numbers)

reads a column of doubles, writes a column, and touches nothing else; on W lanes entry i of a column takes the places
i W .. i W + W - 1, while numbers are single on any lanes. The hash is that of the code written for one lane, before any
target is chosen; it and all numbers in names are spelled with letters, so that no name looks like a declared number.
What a table costs is measured in decision 51.
"""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Iterable
from dataclasses import dataclass

import casadi as ca

from kompono.compile import law_solver, split
from kompono.compile.emit import prelude
from kompono.compile.lanes import ONE, Lanes
from kompono.compile.law_columns import WIDE, columns_of
from kompono.compile.lower import Calls, check_shape, lower
from kompono.errors import CompileError
from kompono.translate.laws.naming import is_solver, rows_asked, sizes

PLAIN = (0.0, 0.5, 1.0, 2.0)  # numbers that tell nothing: they stay in the code, as do their negatives
_HERE = "own"  # stands for the hash until the text is known
_COLUMNS = 0  # in the place of a number of lanes: several columns at once
_WRITTEN = ("%out", "%answers")


def symbol(digest: str, number: int, lanes: int) -> str:
    """The native name of a lifted function."""
    return f"kompono.{digest}.{_letters(f'{number:x}')}.{_letters(f'{lanes:x}')}"


def _letters(hexadecimal: str) -> str:
    """The same number with a to p for digits."""
    return "".join("abcdefghijklmnop"[int(digit, 16)] for digit in hexadecimal)


class Table:
    """Numbers in order of first use; equal ones (to the bit) once."""

    def __init__(self) -> None:
        self._places: dict[bytes, int] = {}

    def place(self, value: float) -> int:
        """Where a number is, from now on."""
        return self._places.setdefault(struct.pack("<d", value), len(self._places))

    @property
    def data(self) -> bytes:
        """All numbers as little-endian doubles."""
        return b"".join(self._places)


@dataclass(frozen=True)
class Lifted:
    """Closed functions without their numbers: `text(lanes)` for LLVM, the table, and what the code is called by."""

    functions: tuple[ca.Function, ...]  # those called from outside, in order
    numbers: bytes
    digest: str

    def text(self, lanes: Lanes = ONE) -> str:
        """The code on so many lanes."""
        body = _define(self.functions, lanes, Table()).replace(f"@kompono.{_HERE}.", f"@kompono.{self.digest}.")
        return prelude(body, lanes) + body

    @property
    def solves(self) -> bool:
        """Whether it has laws, which are solved on one lane."""
        return any(is_solver(inner.name()) for function in self.functions for inner in function.find_functions())

    def symbols(self, lanes: int) -> list[str]:
        """The native names of the functions called from outside."""
        return [symbol(self.digest, number, lanes) for number in range(len(self.functions))]


def lift(functions: Iterable[ca.Function]) -> Lifted:
    """Take the numbers out of closed functions and of all they call."""
    functions = tuple(functions)
    table = Table()
    text = _define(functions, ONE, table)
    return Lifted(functions, table.data, _letters(hashlib.sha256(text.encode()).hexdigest()[:24]))


class _PassOn(Calls):
    """Calls of functions in the same text, which get the same table."""

    def __init__(self, numbers: dict[str, int]) -> None:
        super().__init__()
        self.numbers = numbers

    def spell(self, function: ca.Function, lanes: Lanes, given: str, taken: str) -> str:
        name = symbol(_HERE, self.numbers[function.name()], lanes.count)
        return f"call void @{name}(ptr {given}, ptr {taken}, ptr %numbers)"


def _define(functions: tuple[ca.Function, ...], lanes: Lanes, table: Table) -> str:
    """Definitions of functions, numbered in order, and behind them of those they call."""
    outside = {function.name(): function for function in functions}
    if len(outside) < len(functions):
        raise CompileError("two closed functions have one name.")
    inside = {f.name(): f for function in functions for f in function.find_functions()}
    known = outside | inside
    if any(function.class_name() != "SXFunction" for function in known.values()):
        raise CompileError("it calls machine code that is sealed already.", fix="Seal a part that has no sealed parts.")
    numbers = {name: k for k, name in enumerate(known)}
    texts = []
    for name, function in known.items():
        if is_solver(name):
            texts.append(_solver(name, numbers, lanes))
            continue
        texts.append(_function(function, numbers, lanes, table, "" if name in outside else "internal "))
        if lanes == ONE and rows_asked(name) is not None:
            texts.append(_function(function, numbers, WIDE, table, "internal ", columns=True))
    return "".join(texts)


def _solver(name: str, numbers: dict[str, int], lanes: Lanes) -> str:
    """The solver of laws, which asks a function of the same text."""
    known = sizes(name)
    assert known is not None
    solver, respond = (symbol(_HERE, numbers[one], lanes.count) for one in (name, known.respond))
    asked = symbol(_HERE, numbers[known.respond], _COLUMNS)
    return law_solver.define_as(name, lanes, law_solver.Callee(solver, respond, asked, "internal ", ("%numbers",)))


def _function(
    function: ca.Function, numbers: dict[str, int], lanes: Lanes, table: Table, linkage: str, columns: bool = False
) -> str:
    """A function; one that is asked for several `columns` at once has other arguments (see `law_columns`)."""
    lines: list[str] = []
    real = lanes.real
    check_shape("of a closed part", function)

    def read_single(i: int) -> str:
        lines.append(f"%p{i} = getelementptr {real}, ptr %in, i64 {i}")
        lines.append(f"%x{i} = load {real}, ptr %p{i}{lanes.aligned}")
        return f"%x{i}"

    def write_single(j: int, value: str) -> list[str]:
        return [f"%o{j} = getelementptr {real}, ptr %out, i64 {j}", f"store {real} {value}, ptr %o{j}{lanes.aligned}"]

    read, write = columns_of(function, lines) if columns else (read_single, write_single)
    places = ("%factor", "%forces", "%answers", "%numbers") if columns else ("%in", "%out", "%numbers")
    lifted: dict[int, str] = {}

    def constant(value: float) -> str:
        if abs(value) in PLAIN or not math.isfinite(value):
            return lanes.constant(value)
        place = table.place(value)
        if place not in lifted:
            lifted[place] = name = f"%l{place}"
            single = name if lanes.count == 1 else f"%s{place}"
            lines.append(f"%n{place} = getelementptr double, ptr %numbers, i64 {place}")
            lines.append(f"{single} = load double, ptr %n{place}")
            lines.extend([] if lanes.count == 1 else lanes.spread(name, single))
        return lifted[place]

    calls = _PassOn(numbers)
    lower(function, lines, read, write, lanes=lanes, calls=calls, constant=constant)
    name = symbol(_HERE, numbers[function.name()], _COLUMNS if columns else lanes.count)
    arguments = ", ".join(f"ptr noalias {'' if one in _WRITTEN else 'readonly '}{one}" for one in places)
    head = f"{linkage}void @{name}({arguments}) {lanes.stack}nounwind"
    return split.function(head, f"{name}.cut", places, lines, lanes, calls.size)
