"""An SX function as a list of instructions in which every value is made once, and which products sums take in.

CasADi works in registers that are written again and again; here an operand is the number of the instruction that made
it. What is computed twice is one value; CasADi finds that as well (`cse`), at ten times the cost. Whoever writes code
from a function (`lower` for LLVM, `walked` for tables) starts from these lists, so that an instruction means the same
to all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import casadi as ca
import numpy as np

from kompono.translate.algorithm import algorithm, operand_counts

RESULT = -1  # the operation of an instruction that takes one result of a call
ROUND = -2  # what parts elsewhere were asked so far is sent, and all replies are waited for

_ANY = 1 << 120  # above all numbers of operations on values
_PRODUCTS = {ca.OP_MUL, ca.OP_SQ}


class Instruction(NamedTuple):
    """One SX instruction after renaming: operands are the numbers of the instructions that made them."""

    op: int
    operands: tuple[int, ...] = ()
    index: int = 0  # of the input, output or result
    constant: float = 0.0
    function: ca.Function | None = None  # that is called


def instructions(function: ca.Function) -> list[Instruction]:
    """The instructions of a function, in its order, equal ones once."""
    read = algorithm(function)
    counts = operand_counts(function, read.op)
    maker: list[int] = [0] * (function.sz_w() + 1)  # register -> the instruction that made what is in it
    found: list[Instruction] = []
    known: dict[int, int] = {}  # operation and what it works on, as one number -> the instruction
    bits, nodes = read.constants.view(np.int64), None
    make, rows = tuple.__new__, zip(*(column.tolist() for column in read[:4]), strict=True)
    for k, (op, result, first, second) in enumerate(rows):
        if op == ca.OP_OUTPUT:
            found.append(Instruction(op, (maker[first],), second))
            continue
        if op == ca.OP_CALL:
            nodes = function.instructions_sx() if nodes is None else nodes
            _called(function, k, nodes[k].which_function(), maker, found)
            continue
        if op == ca.OP_CONST:
            key, entry = _ANY + int(bits[k]), (op, (), 0, float(read.constants[k]), None)
        elif op == ca.OP_INPUT:
            key, entry = op << 80 | second, (op, (), second, 0.0, None)
        elif counts[op] == 2:
            operands = maker[first], maker[second]
            key, entry = op << 80 | operands[0] << 40 | operands[1], (op, operands, 0, 0.0, None)
        else:
            operands = (maker[first],)
            key, entry = op << 80 | operands[0], (op, operands, 0, 0.0, None)
        number = known.setdefault(key, len(found))
        if number == len(found):
            found.append(make(Instruction, entry))
        maker[result] = number
    return found


def _called(function: ca.Function, k: int, called: ca.Function, maker: list[int], found: list[Instruction]) -> None:
    """Append a call and its results."""
    call = len(found)
    found.append(Instruction(ca.OP_CALL, tuple([maker[i] for i in function.instruction_input(k)]), function=called))
    for index, register in enumerate(function.instruction_output(k)):
        if register >= 0:
            maker[register] = len(found)
            found.append(Instruction(RESULT, (call,), index))


def length(function: ca.Function) -> int:
    """How many instructions a function has."""
    return len(instructions(function))


def in_rounds(instructions: list[Instruction]) -> list[Instruction]:
    """The same with as few rounds of questions to parts elsewhere as there can be: everything that does not need a
    reply comes first, then all questions that can be put by then are put at the same time.
    """
    asks = [k.function is not None and k.function.name().startswith("far_ask_") for k in instructions]
    if not any(asks):
        return instructions
    level: list[int] = []
    for k in instructions:
        before = [level[i] + (k.op == RESULT and asks[i]) for i in k.operands]
        level.append(max(before, default=0))
    order = sorted(range(len(instructions)), key=level.__getitem__)
    sent = {level[k] for k, ask in enumerate(asks) if ask}
    found: list[Instruction] = []
    place: dict[int, int] = {}
    for position, k in enumerate(order):
        if position and level[k] != level[order[position - 1]] and level[order[position - 1]] in sent:
            found.append(Instruction(ROUND))
        place[k] = len(found)
        found.append(instructions[k]._replace(operands=tuple([place[i] for i in instructions[k].operands])))
    return found


def zero_results(function: ca.Function) -> tuple[int, ...]:
    """Which results of a function are zero whatever its arguments."""
    found = instructions(function)
    made = [(k.index, found[k.operands[0]]) for k in found if k.op == ca.OP_OUTPUT]
    return tuple(sorted(index for index, maker in made if maker.op == ca.OP_CONST and maker.constant == 0))


def fusions(instructions: Sequence[Instruction]) -> dict[int, int]:
    """Sums that take in a product nobody else uses: their number -> the operand that is the product."""
    uses = Counter(chain.from_iterable([instruction.operands for instruction in instructions]))
    found = {}
    for k, instruction in enumerate(instructions):
        if instruction.op in (ca.OP_ADD, ca.OP_SUB):
            for side, operand in enumerate(instruction.operands):
                if instructions[operand].op in _PRODUCTS and uses[operand] == 1:
                    found[k] = side
                    break
    return found
