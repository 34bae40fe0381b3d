"""Exact derivatives of what an FMU computes, along any direction, and what depends on what.

The rates an importer sees are those of the model and, where loops must stay closed, x' = f(p) + PULL (p - x) with the
projected state p = project(x). Importers integrate with errors of their own and know nothing of conditions. What they
lose is pulled back, and rates are never asked for where the conditions do not hold, as in our own steps (see
`staying`). On the conditions p is x, so the motion is the same.
"""

from __future__ import annotations

import casadi as ca

from kompono.compile.schedule import whole_length
from kompono.translate.held import derived
from kompono.translate.kernels import add_kernel
from kompono.translate.program import Call, Program, Routine, TableRoutine
from kompono.translate.slopes import symbolic

PULL = 20.0  # [1/s]: a tenth of a second forgets 86 % of what an integrator lost
LARGEST = 60_000  # instructions of rates and outputs that are differentiated


def continuous_places(program: Program) -> list[int]:
    """Where the continuous states are in the state: coordinates, speeds, and behind the modes a model's own states."""
    first = len(program.coordinates) + len(program.speeds)
    last = first + len(program.modes)
    return [*range(first), *range(last, last + len(program.states))]


class Sensitive:
    """Rates, outputs and guards of a model as one column of expressions of time, state, inputs and parameters."""

    def __init__(self, program: Program, outputs: Routine) -> None:
        self.program, self.derivative = program, program.routines["derivative"]
        self.sizes = [size for _, size in self.derivative.inputs]
        self.inputs = ca.SX.sym("x", sum(self.sizes))
        places = continuous_places(program)
        self.continuous = len(places)
        values = symbolic(program.kernels, outputs, self.inputs)[0]
        state, given, pull = self.inputs[[1 + place for place in places]], self.inputs, 0.0
        if "project" in program.routines:
            kept = symbolic(program.kernels, program.routines["project"], self.inputs)[0]
            given = ca.vertcat(self.inputs[0], kept, self.inputs[1 + self.sizes[1] :])
            pull = PULL * (kept[places] - state)
        rates = symbolic(program.kernels, self.derivative, given)[0][places] + pull
        guards = (
            symbolic(program.kernels, program.routines["guards"], self.inputs)[:1]
            if "guards" in program.routines
            else []
        )
        self.results = ca.vertcat(rates, values, *guards)
        _, size, inputs, parameters = self.sizes
        self.known = ca.vertcat(state, self.inputs[1 + size : 1 + size + inputs + parameters])

    def tangent(self, kernels: dict[str, ca.Function]) -> Routine:
        """The change of all results per change of states, inputs and parameters. Its parameters are those of the model
        and then these changes.
        """
        seed = ca.SX.sym("seed", self.known.numel())
        change = ca.densify(derived(self.results, lambda found: ca.jtimes(found, self.known, seed)))
        given = ca.vertcat(self.inputs, seed)
        size, count = given.numel(), change.numel()
        name = add_kernel(kernels, given, change)
        call = Call(name, tuple(range(size)), tuple(range(size, size + count)), "directional derivative")
        *most, (label, parameters) = self.derivative.inputs
        inputs = (*most, (label, parameters + seed.numel()))
        return Routine("tangent", inputs, (("change", count),), (call,), (call.outputs,), size + count)

    def dependencies(self) -> list[list[int]]:
        """For each result, which of the states and inputs (numbered in this order) it depends on."""
        known = self.known[: self.continuous + self.sizes[2]]
        sparsity = ca.jacobian_sparsity(self.results, known)
        found: list[list[int]] = [[] for _ in range(self.results.numel())]
        for row, column in zip(*sparsity.get_triplet(), strict=True):
            found[row].append(column)
        return [sorted(columns) for columns in found]


def sensitive(program: Program, outputs: Routine) -> Sensitive | None:
    """The derivatives of a model, if it is not too large for them."""
    names = [name for name in ("derivative", "project", "guards") if name in program.routines]
    routines = [*(program.routines[name] for name in names), outputs]
    if any(isinstance(routine, TableRoutine) for routine in routines):
        return None
    length = sum(whole_length(program.kernels[name]) * n for r in routines for name, n in r.counts().items())
    return Sensitive(program, outputs) if length <= LARGEST else None
