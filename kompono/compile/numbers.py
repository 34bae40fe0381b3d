"""Code of routines without their numbers: a model with other numbers has the same code.

A routine is compiled for its *shape*: its instructions, with the place of a number in a table where they have one. The
table is a variable of the object, empty in the cache; it is filled in when the object is taken, before it is linked. So
a changed mass or stiffness asks for no code, as long as the same instructions are left: 0, 1/2, 1, 2 and their
negatives stay in the code, and which numbers are equal is part of a shape.

A number from the table is one load, as it is from LLVM's own constants; bits are the same (decision 140).
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import NamedTuple

import casadi as ca
import numpy as np

from kompono.compile.lanes import ONE
from kompono.errors import CompileError
from kompono.foreign.places import spelled
from kompono.translate.algorithm import algorithm
from kompono.translate.program import Coded, Routine, TableRoutine

HEAD = 32  # bytes before the table, by which it is found in an object


class Shape(NamedTuple):
    """What is left of a function without its numbers: a hash, and the numbers (n,), each once."""

    digest: str
    numbers: np.ndarray

    @property
    def head(self) -> bytes:
        """What stands before the table."""
        return hashlib.sha256(f"numbers of {self.digest}".encode()).digest()


def shape_of(function: ca.Function) -> Shape:
    """The shape of an SX function."""
    from kompono.compile.lifted import PLAIN

    read = algorithm(function)
    constant = read.op == ca.OP_CONST
    values = read.constants[constant]
    plain = np.isin(np.abs(values), PLAIN) | ~np.isfinite(values)
    bits, first, kind = np.unique(values.view(np.int64), return_index=True, return_inverse=True)
    order = np.argsort(first[~plain[first]])
    numbers = values[first[~plain[first]][order]]
    place = np.full(len(bits), -1, dtype=np.int64)
    place[np.flatnonzero(~plain[first])[order]] = np.arange(len(numbers))
    digest = hashlib.sha256(repr((function.nnz_in(), function.nnz_out(), len(read.op))).encode())
    for column in (read.op, read.result, *(np.where(constant, 0, part) for part in (read.first, read.second))):
        digest.update(np.ascontiguousarray(column).tobytes())
    digest.update(place[kind].tobytes() + np.where(plain, values, 0.0).tobytes())
    if np.any(read.op == ca.OP_CALL):
        nodes = function.instructions_sx()
        calls = [spelled(nodes[k].which_function().name()) for k in np.flatnonzero(read.op == ca.OP_CALL).tolist()]
        digest.update(repr(calls).encode())
    return Shape(digest.hexdigest(), numbers)


def empty_table(symbol: str, shape: Shape) -> str:
    """Room for the numbers of a shape, behind what they are found by."""
    head, count = "\\" + shape.head.hex("\\"), len(shape.numbers)
    kinds = f"[{HEAD} x i8]", f"[{count} x double]"
    kind, value = ", ".join(kinds), f'{kinds[0]} c"{head}", {kinds[1]} zeroinitializer'
    return f"@{symbol} = hidden global {{ {kind} }} {{ {value} }}, align 16\n"


class Table:
    """The table of a routine in LLVM text. Its entries are the numbers of the routine's kernel, or, where the kernel is
    `coded`, what its code wants behind its own inputs, whatever numbers these are. It is not `searched` for numbers of
    the code if that reads it by places alone.
    """

    def __init__(self, routine: str, shape: Shape, coded: Coded | None, searched: bool = True) -> None:
        self.symbol, self.shape, self.coded = f"kompono.numbers.{routine}", shape, coded
        bits = [] if coded or not searched else shape.numbers.view(np.int64).tolist()
        self._place = {number: k for k, number in enumerate(bits)}

    def place(self, value: float) -> int:
        """Where a number of the code stands; -1 if it stays there."""
        return self._place.get(int(np.float64(value).view(np.int64)), -1)

    def load(self, place: int) -> str:
        """The line that reads an entry, which is then called `%n<place>`."""
        return f"%n{place} = load double, ptr {self.address(place)}, !invariant.load !{{}}"

    def address(self, place: int) -> str:
        """The address of an entry."""
        return f"getelementptr (i8, ptr @{self.symbol}, i64 {HEAD + 8 * place})"

    def text(self) -> str:
        """The empty table: not a constant, so that nobody counts on what is in it."""
        return empty_table(self.symbol, self.shape)


class TabledNumbers:
    """Numbers of straight-line code as it is written: entries of a table, if there is one, each read once."""

    def __init__(self, table: Table | None, lines: list[str]) -> None:
        self._table, self._lines, self._read = table, lines, set[int]()

    def constant(self, value: float) -> str:
        """A number of the code."""
        place = self._table.place(value) if self._table else -1
        return self.entry(place) if place >= 0 else ONE.constant(value)

    def entry(self, place: int) -> str:
        """An entry of the table."""
        assert self._table is not None
        if place not in self._read:
            self._read.add(place)
            self._lines.append(self._table.load(place))
        return f"%n{place}"

    def address(self, place: int) -> str:
        """How the address of an entry is found."""
        assert self._table is not None
        return f"getelementptr i8, ptr @{self._table.symbol}, i64 {HEAD + 8 * place}"

    def text(self) -> str:
        """The table, if anything of it is used."""
        return self._table.text() if self._table and len(self._table.shape.numbers) else ""


def filled(data: bytes, shape: Shape) -> bytes:
    """An object with its numbers."""
    if not len(shape.numbers):
        return data
    begin = data.find(shape.head)
    if begin < 0 or data.find(shape.head, begin + 1) >= 0:
        raise CompileError("internal: the table of an object cannot be found.")
    begin += HEAD
    return data[:begin] + shape.numbers.astype("<f8").tobytes() + data[begin + 8 * len(shape.numbers) :]


def table_of_instances(routine: TableRoutine) -> Table:
    """The table of a routine whose instances have numbers."""
    return Table(routine.name, Shape(f"instances of {routine.name}", routine.numbers), None, searched=False)


def without_numbers(routine: Routine, shape: Shape) -> Routine:
    """The routine with the shape of its kernel in the place of the kernel's name, or so many empty numbers."""
    if isinstance(routine, TableRoutine):
        return replace(routine, numbers=np.zeros(len(routine.numbers)))
    return replace(routine, calls=(replace(routine.calls[0], kernel=shape.digest), *routine.calls[1:]))
