"""Routines of tables that read numbers behind the parameters, and where these numbers come from: as text and back.

The routines themselves have no numbers, so they are those of all models that differ in numbers alone (see `stored`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple
from functools import partial
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from kompono.translate.kernels import Kernels, kernel_text
from kompono.translate.program import Column, Loop, TableRoutine

_TABLES = ("sweeps", "tasks", "phases")


class Numbered(NamedTuple):
    """Routines by name. A number that they read is one of those somebody `gives`, by its place among these, or, where
    that is -1, one of the `values`: what `table` (a function as text) makes of the numbers of a model with these
    `names`.
    """

    routines: Mapping[str, TableRoutine]
    gives: tuple[int, ...]
    table: str
    names: tuple[str, ...]
    values: np.ndarray

    def text(self, kernels: dict[str, ca.Function]) -> dict[str, Any]:
        """All of it but the values, with the kernels it runs."""
        used = {loop.kernel for routine in self.routines.values() for loop in routine.loops}
        return {
            "routines": {name: _told(routine) for name, routine in self.routines.items()},
            "gives": self.gives, "table": self.table, "numbers": self.names,
            "kernels": {name: kernel_text(name, kernels) for name in sorted(used)},
        }  # fmt: skip

    @staticmethod
    def of(data: dict[str, Any], kernels: Kernels, values: np.ndarray) -> Numbered:
        """What was kept; kernels are read when somebody asks for them."""
        for name, text in data["kernels"].items():
            if name not in kernels:
                kernels.promised[name] = partial(kernels.read, text)
        routines = {name: _read(name, told) for name, told in data["routines"].items()}
        return Numbered(routines, tuple(data["gives"]), data["table"], tuple(data["numbers"]), values)


def worked_out(table: str, numbers: Sequence[float]) -> np.ndarray:
    """What a table (a function as text) makes of numbers."""
    return ca.Function.deserialize(table)(ca.DM(numbers)).full().ravel()


def _told(routine: TableRoutine) -> dict[str, Any]:
    return {
        "inputs": routine.inputs, "outputs": routine.outputs, "workspace": routine.workspace,
        "loops": [astuple(loop) for loop in routine.loops], "tables": [table.tolist() for table in routine.tables],
        **{name: getattr(routine, name).tolist() for name in _TABLES},
    }  # fmt: skip


def _read(name: str, told: dict[str, Any]) -> TableRoutine:
    inputs, outputs = (tuple((label, size) for label, size in told[key]) for key in ("inputs", "outputs"))
    loops = tuple(
        Loop(kernel, _places(reads), _places(writes), table, lanes, tuple(Column(*one) for one in columns), filled)
        for kernel, reads, writes, table, lanes, columns, filled in told["loops"]
    )
    sweeps, tasks, phases = (
        np.array(told[key], dtype=np.int32).reshape(-1, 4 if key == "sweeps" else 2) for key in _TABLES
    )
    tables = tuple(np.array(rows, dtype=np.int32) for rows in told["tables"])
    return TableRoutine(
        name,
        inputs,
        outputs,
        (),
        (),
        told["workspace"],
        loops=loops,
        tables=tables,
        sweeps=sweeps,
        tasks=tasks,
        phases=phases,
    )


def _places(several: list[list[int]]) -> tuple[tuple[int, int, int], ...]:
    return tuple((array, column, offset) for array, column, offset in several)
