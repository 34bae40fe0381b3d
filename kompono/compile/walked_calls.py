"""Schedules that are walked: each shared kernel is a table of rows, and a loop goes through the calls.

A large model has some hundred kernels that thousands of calls share (`schedule`). LLVM takes seconds for them, before
anything moves. So a schedule that is not asked often has its kernels as tables, too (see `walked`): for each call its
inputs are taken from the workspace, the rows of its kernel are walked, its results are put back. Bits are those of
native code.

Walking a schedule once is walking its kernels many times, so that it is asked often much earlier: `walks` says how
many.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kompono.compile.emit import INT, POINTER, Array, Code, Value, room
from kompono.compile.lanes import ONE
from kompono.compile.lower import called_symbol
from kompono.compile.walked import WALK, Walked, walks_kernel
from kompono.translate.program import Call, Program, Routine, TableRoutine

LEAST = 100  # calls from which on a schedule is walked; shorter ones may be straight-line code
_FIELDS = 7  # of a kernel: first row, rows, first constant, constants, inputs, results, first closed function


def may_walk(routine: Routine) -> bool:
    """Whether a routine is a schedule that may be walked, whatever its kernels are."""
    return not isinstance(routine, TableRoutine) and len(routine.calls) > LEAST


def walks(routines: Sequence[Routine]) -> float:
    """How often one evaluation walks through the code of routines."""
    return sum(len(one.calls) for one in routines) / max(sum(len(one.counts()) for one in routines), 1)


class WalkedCalls:
    """The tables of a schedule's kernels."""

    def __init__(self, program: Program, calls: Sequence[Call]) -> None:
        self.calls = calls
        self.names = list(dict.fromkeys(call.kernel for call in calls))
        self.walkable = all(walks_kernel(program, name) for name in self.names)
        self._tables = [Walked(program, _alone(program, name)) for name in self.names] if self.walkable else []

    @property
    def fits(self) -> bool:
        """Whether all kernels can be walked."""
        return self.walkable and all(table.fits for table in self._tables)

    def text(self, stem: str, code: Code) -> dict[str, tuple[Sequence[int] | np.ndarray, type]]:
        """Write the loop over all calls into the body of the routine; the tables it reads, by name."""
        fields, rows, constants, names = [], list[np.ndarray](), list[float](), list[str]()
        first = 0
        for table in self._tables:
            results = len(table.call.outputs)
            own = table.image[results : table.plain]
            fields += [first, len(table.rows), len(constants), len(own), table.given, results, len(names)]
            rows.append(np.array(table.rows, dtype=np.uint16).reshape(-1))
            constants += own
            names += [f"ptr @{called_symbol(name, ONE)}" for name in table.functions]
            first += len(table.rows)
        self.called = names
        self._loop(stem, code)
        number = {name: k for k, name in enumerate(self.names)}
        return {
            f"{stem}.kernels": (fields, np.int32),
            f"{stem}.code": (np.concatenate(rows), np.uint16),
            f"{stem}.constants": (np.array(constants), np.float64),
            f"{stem}.calls": ([number[call.kernel] for call in self.calls], np.int32),
            f"{stem}.rows": ([slot for call in self.calls for slot in (*call.inputs, *call.outputs)], np.int32),
        }

    def declared(self, stem: str) -> str:
        """Closed functions that kernels call, and the walker."""
        listed = ", ".join(self.called) or "ptr null"
        table = f"@{stem}.called = private constant [{max(len(self.called), 1)} x ptr] [{listed}]\n"
        return table + f"declare void @{WALK}(ptr, i64, ptr, ptr)\n"

    def _loop(self, stem: str, code: Code) -> None:
        size = max([table.size for table in self._tables], default=1)
        places = room(code, max(size, 1))
        row = code.variable(POINTER, code.let(POINTER, f"getelementptr i8, ptr @{stem}.rows, i64 0"))
        work = Array(code, "%work")

        def integer(table: str, index: Value | int) -> Value:
            place = code.let(POINTER, f"getelementptr i32, ptr {table}, i64 {code.value(index, INT)}").name
            return code.let(INT, f"zext i32 {code.let('i32', f'load i32, ptr {place}').name} to i64")

        with code.loop(len(self.calls)) as call:
            kernel = integer(f"@{stem}.calls", call) * _FIELDS
            first, count, fixed, constants, inputs, results, called = (
                integer(f"@{stem}.kernels", kernel + k) for k in range(_FIELDS)
            )
            source = Array(code, f"@{stem}.constants").at(fixed)
            target = places.at(results)
            with code.loop(constants) as i:
                target[i] = source[i]
            given, slots = places.at(results + constants), row.get().name
            with code.loop(inputs) as i:
                given[i] = work[integer(slots, i)]
            rows = code.let(POINTER, f"getelementptr [5 x i16], ptr @{stem}.code, i64 {first.name}").name
            asked = code.let(POINTER, f"getelementptr ptr, ptr @{stem}.called, i64 {called.name}").name
            code.say(f"call void @{WALK}(ptr {rows}, i64 {count.name}, ptr {places.pointer}, ptr {asked})")
            with code.loop(results) as i:
                work[integer(slots, inputs + i)] = places[i]
            width = (inputs + results).name
            row.set(code.let(POINTER, f"getelementptr i32, ptr {slots}, i64 {width}"))


def _alone(program: Program, name: str) -> Routine:
    """A kernel as a routine of its own: results, then constants, then inputs are its first places."""
    kernel = program.kernels[name]
    inputs, results = kernel.nnz_in(0), kernel.nnz_out(0)
    made = tuple(range(inputs, inputs + results))
    call = Call(name, tuple(range(inputs)), made, "")
    return Routine(name, (("inputs", inputs),), (("results", results),), (call,), (made,), inputs + results)
