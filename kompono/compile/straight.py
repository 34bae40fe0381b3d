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
from kompono.translate.laws.naming import is_solver

RESULT = -1  # the operation of an instruction that takes one result of a call
ROUND = -2  # what parts elsewhere were asked so far is sent, and all replies are waited for
TURNS = -3  # sines and cosines of all its operands at once
SINE, COSINE = -4, -5  # one of these, by its place among the operands

_PRODUCTS = {ca.OP_MUL, ca.OP_SQ}
_CHOOSING = {ca.OP_EQ, ca.OP_NE, ca.OP_FMIN, ca.OP_FMAX}
_MARKED = {ca.OP_COPYSIGN}  # see `translate/alike.py`
_QUOTIENTS = {ca.OP_DIV, ca.OP_INV}
_TURNED = {ca.OP_SIN: SINE, ca.OP_COS: COSINE}


class Instruction(NamedTuple):
    """One SX instruction after renaming: operands are the numbers of the instructions that made them."""

    op: int
    operands: tuple[int, ...] = ()
    index: int = 0  # of the input, output or result
    constant: float = 0.0
    function: ca.Function | None = None  # that is called


def instructions(function: ca.Function, text: str = "") -> list[Instruction]:
    """The instructions of a function, in its order, equal ones once; `text` is what it is written as, if known."""
    read = algorithm(function, text)
    counts = operand_counts(function, read.op)
    maker: list[int] = [0] * (function.sz_w() + 1)  # register -> the instruction that made what is in it
    found: list[Instruction] = []
    known: dict[tuple[int, ...], int] = {}  # operation and what it works on -> the instruction
    bits, nodes, none = read.constants.view(np.int64), None, ()
    make, find, append, size = tuple.__new__, known.get, found.append, 0
    rows = zip(*(column.tolist() for column in read[:4]), strict=True)
    for k, (op, result, first, second) in enumerate(rows):  # once for each of 100,000: what is most is asked first
        count = counts.get(op)
        if count == 2:
            operands = maker[first], maker[second]
            key, entry = (op, *operands), (op, operands, 0, 0.0, None)
        elif count is not None:
            operands = (maker[first],)
            key, entry = (op, *operands), (op, operands, 0, 0.0, None)
        elif op == ca.OP_INPUT:
            key, entry = (op, second), (op, none, second, 0.0, None)
        elif op == ca.OP_CONST:
            key, entry = (op, int(bits[k])), (op, none, 0, float(read.constants[k]), None)
        else:
            if op == ca.OP_OUTPUT:
                append(Instruction(op, (maker[first],), second))
            else:
                nodes = function.instructions_sx() if nodes is None else nodes
                _called(function, k, nodes[k].which_function(), maker, found)
            size = len(found)
            continue
        number = find(key)
        if number is None:
            known[key] = number = size
            append(make(Instruction, entry))
            size += 1
        maker[result] = number
    return with_reciprocals(found)


def with_reciprocals(instructions: list[Instruction]) -> list[Instruction]:
    """The same with one division for all quotients that have their divisor in common: they are products with its
    reciprocal. A processor makes eight products in the time of a division, and sums take them in. What is compared
    stays as it is (see `fusions`). Where laws are solved for, which is one long wait, what is divided by a number is
    multiplied by its reciprocal, too. What is marked to be alike in all kernels is always multiplied, but never by the
    reciprocal of a number.
    """
    marked = _made_for(_MARKED, instructions)
    compared = _made_for(_CHOOSING, instructions) - marked
    quotients = [k for k, one in enumerate(instructions) if one.op in _QUOTIENTS and k not in compared]
    divisors = Counter([instructions[k].operands[-1] for k in quotients])
    shared = {k for k, count in divisors.items() if count > 1 and instructions[k].op != ca.OP_CONST}
    if any(one.function is not None and is_solver(one.function.name()) for one in instructions):
        shared |= {k for k in divisors if instructions[k].op == ca.OP_CONST}
    turned = {k for k in quotients if k not in marked and instructions[k].operands[-1] in shared}
    turned |= {
        k for k in marked.intersection(quotients) if instructions[instructions[k].operands[-1]].op != ca.OP_CONST
    }
    if not turned:
        return instructions
    found: list[Instruction] = []
    place: list[int] = []  # of what each instruction has become
    reciprocal: dict[int, int] = {}
    make = tuple.__new__
    for k, (op, before, index, constant, function) in enumerate(instructions):
        count = len(before)
        if count == 2:
            operands = place[before[0]], place[before[1]]
        else:
            operands = (place[before[0]],) if count == 1 else tuple([place[i] for i in before])
        if k in turned:
            if before[-1] not in reciprocal:
                reciprocal[before[-1]] = len(found)
                found.append(Instruction(ca.OP_INV, operands[-1:]))
            if op == ca.OP_INV:
                place.append(reciprocal[before[-1]])
                continue
            op, operands = ca.OP_MUL, (operands[0], reciprocal[before[-1]])
        place.append(len(found))
        found.append(make(Instruction, (op, operands, index, constant, function)))
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


def in_turns(instructions: list[Instruction]) -> list[Instruction]:
    """The same with sines and cosines made together, as many at a time as can be: everything that needs none of them
    comes first, then what needs only those of the first time, and so on. One alone stays as it is, and so do those of
    functions with calls, whose order matters.
    """
    if any(one.op == ca.OP_CALL for one in instructions):
        return instructions
    level: list[int] = []
    angles: dict[int, dict[int, int]] = {}  # by level: instruction -> place among those of that level
    for one in instructions:
        level.append(max([level[i] for i in one.operands], default=0))
        if one.op in _TURNED:
            own = angles.setdefault(level[-1], {})
            own.setdefault(one.operands[0], len(own))
            level[-1] += 1
    together = {number: own for number, own in angles.items() if len(own) > 1}
    if not together:
        return instructions
    order = sorted(range(len(instructions)), key=level.__getitem__)
    found: list[Instruction] = []
    place, made = [0] * len(instructions), dict[int, int]()
    now = 0
    for k in order:
        while now < level[k]:
            if now in together:
                made[now] = len(found)
                found.append(Instruction(TURNS, tuple([place[i] for i in together[now]])))
            now += 1
        one = instructions[k]
        place[k] = len(found)
        if one.op in _TURNED and level[k] - 1 in together:
            index = together[level[k] - 1][one.operands[0]]
            found.append(Instruction(_TURNED[one.op], (made[level[k] - 1],), index))
        else:
            found.append(one._replace(operands=tuple([place[i] for i in one.operands])))
    return found


def zero_results(function: ca.Function) -> tuple[int, ...]:
    """Which results of a function are zero whatever its arguments."""
    found = instructions(function)
    made = [(k.index, found[k.operands[0]]) for k in found if k.op == ca.OP_OUTPUT]
    return tuple(sorted(index for index, maker in made if maker.op == ca.OP_CONST and maker.constant == 0))


def fusions(instructions: Sequence[Instruction]) -> dict[int, int]:
    """Sums that take in a product: their number -> the operand that is the product. It is one that nobody else uses,
    or, in what is compared or marked, the first one: such an expression comes to the same bits whoever else uses parts
    of it, so that two that are made alike are equal.
    """
    uses = Counter(chain.from_iterable([instruction.operands for instruction in instructions]))
    compared = _made_for(_CHOOSING | _MARKED, instructions)
    found = {}
    for k, instruction in enumerate(instructions):
        if instruction.op in (ca.OP_ADD, ca.OP_SUB):
            for side, operand in enumerate(instruction.operands):
                if instructions[operand].op in _PRODUCTS and (k in compared or uses[operand] == 1):
                    found[k] = side
                    break
    return found


def _made_for(operations: set[int], instructions: Sequence[Instruction]) -> set[int]:
    """What some operations are given, and all that is made of. Of those that choose: what is asked to be equal to
    something, or is the smaller or larger of two, as a command and what a limit left of it, which `raw == limited`
    compares, perhaps from different kernels.
    """
    found = {i for one in instructions if one.op in operations for i in one.operands}
    if found:
        for k in range(len(instructions) - 1, -1, -1):
            if k in found:
                found.update(instructions[k].operands)
    return found


def absorbed(instructions: Sequence[Instruction], fused: dict[int, int]) -> set[int]:
    """Products nobody needs but the sums that take them in."""
    taken = Counter([instructions[k].operands[side] for k, side in fused.items()])
    uses = Counter(chain.from_iterable([instruction.operands for instruction in instructions]))
    return {product for product, count in taken.items() if uses[product] == count}
