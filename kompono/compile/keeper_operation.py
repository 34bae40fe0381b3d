"""What operations of a keeper have in common: arguments that are checked, vectors that are found and kept.

Operations are functions of the context, the number of what is made, arguments and their count, and where values go;
they give how many doubles they wrote there, or something negative.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kompono.compile.descent import ROWS as DESCENT
from kompono.compile.descent import Descent
from kompono.compile.emit import INT, POINTER, Array, Code, Value, Variable, room
from kompono.compile.far import Broken
from kompono.compile.keeper_frames import HEAD, Context, failure
from kompono.compile.lanes import Lanes
from kompono.sealed.kept import KeptPart


def rows_of(part: KeptPart) -> int:
    """Numbers of a vector, with what says what it is."""
    return part.size + len(DESCENT)


@contextmanager
def unless_broken(code: Code, result: Variable, status: Value) -> Iterator[None]:
    """Go on if a status is 0; else it is the result."""
    result.set(code.select(status < 0, status, result.get()))
    with code.when(status >= 0):
        yield


class Operation:
    """What operations have in common."""

    def __init__(self, part: KeptPart, lanes: Lanes) -> None:
        self.part, self.lanes, self.code = part, lanes, Code(lanes)
        self.result = self.code.variable(INT, 0)
        self.count = Value(self.code, "%count", INT)
        self.arguments, self.out = Array(self.code, "%arguments"), Array(self.code, "%out", lanes.real)

    def room(self, rows: int) -> Array:
        """Room for a column."""
        return room(self.code, max(rows, 1))

    def vector(self) -> Array:
        """Room for a vector and what it is."""
        return self.room(rows_of(self.part))

    def descent(self, vector: Array) -> Descent:
        """What a vector is."""
        return Descent(vector, self.part.size)

    def name(self) -> Value:
        """A new name for a state."""
        context = Context(self.code)
        name = context.get("names") + 1
        context.set("names", name)
        return name.real()

    def speeds(self) -> Iterator[Value]:
        """Inside a loop, the place of each speed in x."""
        if not self.part.speeds:
            return
        with self.code.loop(len(self.part.speeds)) as k:
            place = self.code.let(POINTER, f"getelementptr i64, ptr @speeds, i64 {k.name}")
            yield self.code.let(INT, f"load i64, ptr {place.name}")

    def row(self, index: Value | int) -> str:
        """The address of a row of arguments."""
        return self.arguments.at(index * self.lanes.count).pointer

    def number(self, index: Value | int) -> Value:
        """A row of arguments as a value on all lanes."""
        return Array(self.code, self.row(index), self.lanes.real)[0]

    @contextmanager
    def given(self, good: Value) -> Iterator[None]:
        """Go on if the arguments are as they should be."""
        with unless_broken(self.code, self.result, self.code.select(good, Value(self.code, "0", INT), -1)):
            yield

    @contextmanager
    def allowed(self, good: Value) -> Iterator[None]:
        """Go on if nothing of the inside is shown."""
        refused = self.code.select(good, Value(self.code, "0", INT), failure(Broken.REFUSED))
        with unless_broken(self.code, self.result, refused):
            yield

    @contextmanager
    def found(self, index: Value | int, target: Array) -> Iterator[None]:
        """Go on with a vector that is named by a row."""
        text = f"call i64 @find(ptr %context, ptr {self.row(index)}, ptr {target.pointer})"
        with unless_broken(self.code, self.result, self.code.let(INT, text)):
            yield

    def keep(self, source: Array) -> None:
        """Store what was made."""
        self.result.set(self.code.let(INT, f"call i64 @keep(ptr %context, i64 %number, ptr {source.pointer})"))

    def finish(self, name: str) -> str:
        return self.code.define(f"internal i64 @{name}{HEAD}", self.result.get())


def rows_are(made: Operation, count: int) -> Value:
    return made.count.equals(count * made.lanes.count)
