"""The instructions of an SX function as arrays, read at once.

CasADi tells instructions one by one, at several microseconds each, and a machine has a hundred thousand of them. What
it writes to keep a function has them all in one piece: four integers of four bytes each, every byte two letters. That
piece is found by its last instruction, and believed if others, looked at one by one, stand where they should; a
function written in another way is asked as before.
"""

from __future__ import annotations

import struct
from collections.abc import Collection
from typing import NamedTuple

import casadi as ca
import numpy as np

_LETTERS = 32  # of one instruction
_LOOKS = 12  # instructions that are compared
_TRIES = 100  # places where the last instruction may seem to stand

_operands: dict[int, int] = {}  # operation -> how many operands it has


class Algorithm(NamedTuple):
    """Instructions in order: operation, where the result goes, and two operands, as integers (n,); `constants` (n,)
    have the numbers of those that are one. Of an input the operands are the argument and the place in it; of an output
    the result is the number of the output, the operands the register and the place in it.
    """

    op: np.ndarray
    result: np.ndarray
    first: np.ndarray
    second: np.ndarray
    constants: np.ndarray


def algorithm(function: ca.Function, text: str = "") -> Algorithm:
    """All instructions of an SX function; `text` is what `serialize` gives, if that is known."""
    count = function.n_instructions()
    records = _found(function, text or function.serialize(), count) if count > 2 * _LOOKS else None
    if records is None:
        records = np.array([_told(function, k) for k in range(count)], dtype="<i4").reshape(count, 4)
    constants = np.ascontiguousarray(records[:, 2:]).view("<f8").ravel()
    op, result, first, second = np.ascontiguousarray(records.T)
    return Algorithm(op, result, first, second, constants)


def reads(function: ca.Function, places: Collection[int], text: str = "") -> bool:
    """Whether some of these places of the first argument of an SX function matter to it."""
    found = algorithm(function, text)
    return bool(np.isin(found.second[(found.op == ca.OP_INPUT) & (found.first == 0)], list(places)).any())


def operand_counts(function: ca.Function, op: np.ndarray) -> dict[int, int]:
    """How many operands each operation of a function has that works on registers alone."""
    kinds, places = np.unique(op, return_index=True)
    for kind, place in zip(kinds.tolist(), places.tolist(), strict=True):
        if kind not in _operands and kind not in (ca.OP_CALL, ca.OP_CONST, ca.OP_INPUT, ca.OP_OUTPUT):
            _operands[kind] = len(function.instruction_input(place))
    return _operands


def _told(function: ca.Function, k: int) -> tuple[int, int, int, int]:
    """One instruction as CasADi tells it; the second operand of a call, and of what has only one, means nothing."""
    op, given, made = function.instruction_id(k), function.instruction_input(k), function.instruction_output(k)
    if op == ca.OP_CONST:
        first, second = struct.unpack("<ii", struct.pack("<d", function.instruction_constant(k)))
        return op, made[0], first, second
    if op == ca.OP_OUTPUT:
        return op, made[0], given[0], made[1]
    if op == ca.OP_CALL:
        return op, 0, 0, 0
    return op, made[0], given[0], given[-1]


def _found(function: ca.Function, text: str, count: int) -> np.ndarray | None:
    """The instructions (n, 4) in the text of a function."""
    if function.instruction_id(count - 1) != ca.OP_OUTPUT:
        return None
    ending = _spelled(struct.pack("<4i", *_told(function, count - 1)))
    looks = [(k, _told(function, k)) for k in np.linspace(0, count - 1, min(count, _LOOKS)).astype(int).tolist()]
    end = len(text)
    for _ in range(_TRIES):
        last = text.rfind(ending, 0, end)
        begin = last + _LETTERS - count * _LETTERS
        if last < 0 or begin < 0:
            return None
        letters = np.frombuffer(text[begin : last + _LETTERS].encode(), dtype=np.uint8) - ord("a")
        if letters.max() < 16:
            low, high = letters[::2], letters[1::2]
            records = (low | high << 4).view("<i4").reshape(count, 4)
            if all(_same(records[k], told) for k, told in looks):
                return records
        end = last + _LETTERS - 1
    return None


def _same(record: np.ndarray, told: tuple[int, int, int, int]) -> bool:
    """Whether an instruction is what CasADi tells of it."""
    if told[0] == ca.OP_CALL:
        return bool(record[0] == ca.OP_CALL)
    known = 4 if told[0] in (ca.OP_CONST, ca.OP_INPUT, ca.OP_OUTPUT) else 3
    return record[:known].tolist() == list(told[:known])


def _spelled(data: bytes) -> str:
    """Bytes as CasADi writes them: two letters each, the lower half first."""
    return "".join(chr(97 + (byte & 15)) + chr(97 + (byte >> 4)) for byte in data)
