"""Rows of slots of a schedule's calls, without what follows from the rest of a row.

A call of a shared kernel reads and writes places of the workspace, and its row in a table says which. What one call
makes lies side by side, and whoever reads all of it finds it so in each of its rows: such slots are one entry of the
row, and distances that are part of the kernel's code. That is half of what a large schedule reads besides its values.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import casadi as ca
import numpy as np

from kompono.compile.copied import Lying
from kompono.compile.lanes import Lanes
from kompono.compile.lower import Calls, lower
from kompono.translate.program import Call


class RowLayout(NamedTuple):
    """Which columns of a row are left, and for each column one of these (by its number) and a distance from it."""

    left: tuple[int, ...]
    places: tuple[tuple[int, int], ...]

    def row(self, call: Call) -> Iterable[int]:
        """What is left of the row of a call."""
        slots = (*call.inputs, *call.outputs)
        return (slots[column] for column in self.left)


def row_layouts(calls: Iterable[Call]) -> dict[str, RowLayout]:
    """By kernel; only what is so in all of its calls."""
    rows: dict[str, list[Sequence[int]]] = {}
    for call in calls:
        rows.setdefault(call.kernel, []).append((*call.inputs, *call.outputs))
    return {kernel: _layout(np.array(several, dtype=np.int64)) for kernel, several in rows.items()}


def _layout(rows: np.ndarray) -> RowLayout:
    """The layout of rows (calls, columns)."""
    known: dict[bytes, int] = {}  # columns that are left, by their slots less that of the first call
    left, places = list[int](), list[tuple[int, int]]()
    for column, slots in enumerate(rows.T):
        base = known.setdefault((slots - slots[0]).tobytes(), len(left))
        if base == len(left):
            left.append(column)
        places.append((base, int(slots[0] - rows[0, left[base]])))
    return RowLayout(tuple(left), tuple(places))


def kernel_of_rows(name: str, function: ca.Function, layout: RowLayout, lanes: Lanes, turns: bool) -> str:
    """A kernel as a function of the workspace (twice: what it reads never is what it writes) and its row of slots."""
    from kompono.compile import split

    lines: list[str] = []
    n, real = function.nnz_in(0), lanes.real
    known: set[str] = set()

    def say(made: str, how: str) -> str:
        if made not in known:
            known.add(made)
            lines.append(f"{made} = {how}")
        return made

    def place(column: int) -> str:
        (base, distance), array = layout.places[column], "in" if column < n else "out"
        row = say(f"%r{base}", f"getelementptr i32, ptr %row, i64 {base}")
        wide = say(f"%w{base}", f"zext i32 {say(f'%s{base}', f'load i32, ptr {row}')} to i64")
        first = say(f"%{array}{base}", f"getelementptr {real}, ptr %{array}, i64 {wide}")
        return say(f"%a{column}", f"getelementptr {real}, ptr {first}, i64 {distance}")

    def read(i: int) -> str:
        lines.append(f"%x{i} = load {real}, ptr {place(i)}{lanes.aligned}")
        return f"%x{i}"

    def write(j: int, value: str) -> list[str]:
        return [f"store {real} {value}, ptr {place(n + j)}{lanes.aligned}"]

    def address(i: int) -> str:
        return f"getelementptr {real}, ptr {place(i)}, i64 0"

    def follows(i: int) -> bool:
        (base, distance), before = layout.places[i], layout.places[i - 1]
        return i > 0 and before == (base, distance - 1)

    calls = Calls()
    lower(function, lines, read, write, lanes=lanes, calls=calls, turns=turns, lying=Lying(address, follows))
    head = f"internal void @k.{name}(ptr noalias readonly %in, ptr noalias %out, ptr noalias readonly %row)"
    arguments = ("%in", "%out", "%row")
    return split.function(f"{head} {lanes.stack}noinline nounwind", f"k.{name}", arguments, lines, lanes, calls.size)
