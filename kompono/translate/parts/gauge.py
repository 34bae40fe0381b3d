"""A gauge at the border of a part: who, in a finished program, looks at what is inside.

Coordinates, speeds and modes of a closed part may go into its own functions and nowhere else. What crosses is then
what those functions take and give (see `border`); anything else is listed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import casadi as ca

from kompono.translate.program import ARRAYS, Program, Routine, TableRoutine


@dataclass(frozen=True)
class Gauged:
    """Calls of the functions of a part in one routine, by name, and operations of others on what is inside."""

    calls: Mapping[str, int]
    looks: int

    @property
    def closed(self) -> bool:
        """Whether nobody looks inside."""
        return not self.looks


def gauge(program: Program, routine: str, inside: Collection[int], functions: Collection[str]) -> Gauged:
    """Look at one routine; `inside` are places in the state, `functions` the names of the functions of the part."""
    made: Routine = program.routines[routine]
    if isinstance(made, TableRoutine):  # kernels that walk through the whole state, and call nobody
        return Gauged({}, sum(array == ARRAYS.index("state") for loop in made.loops for array, _, _ in loop.reads))
    first = made.inputs[0][1]  # the state comes after the time
    slots = {first + place for place in inside}
    calls: Counter[str] = Counter()
    looks = 0
    for call in made.calls:
        private = {i for i, slot in enumerate(call.inputs) if slot in slots}
        found, count = _look(program.kernels[call.kernel], private, set(functions))
        calls += found
        looks += count
    return Gauged(calls, looks)


def _look(kernel: ca.Function, private: Collection[int], functions: Collection[str]) -> tuple[Counter[str], int]:
    """Calls of functions, and operations on private inputs that are no such call."""
    nodes, registers, calls, looks = kernel.instructions_sx(), set(), Counter[str](), 0
    for k in range(kernel.n_instructions()):
        op, given, taken = kernel.instruction_id(k), kernel.instruction_input(k), kernel.instruction_output(k)
        if op == ca.OP_INPUT:
            (registers.add if given[1] in private else registers.discard)(taken[0])
            continue
        if op == ca.OP_CALL:
            name = nodes[k].which_function().name()
            calls[name] += name in functions
            looks += name not in functions and bool(registers & {*given})
        elif op != ca.OP_CONST:
            looks += bool(registers & {*given[:1]} if op == ca.OP_OUTPUT else registers & {*given})
        if op != ca.OP_OUTPUT:
            registers -= {*taken}
    return +calls, looks
