"""What a call of a traced function came to, so that the same on values in other slots need not be traced again.

A large model asks thousands of times for the same few products of blocks. The expressions of a function follow from the
function, if it knows nothing but plain numbers, words, poses of numbers and things that stay as they are while a model
is traced (joints, conditions, patterns), and from the pattern of its values: zeros, constants, which entries are the
same. Such a call is written down as a recipe, and repeated with other slots, in all routines of a model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from kompono.model.joint import Joint
from kompono.spatial.pose import Pose
from kompono.translate.symbolic import Scalar


class Lasting:
    """What is the same whenever a model is traced: a function that knows it is told apart by which one it is."""


class Recipe(NamedTuple):
    """What a call came to: its kernel, which of the slots it was given go in, how many it makes; of each output its
    pattern and entries: constants, (True, which was made) or (False, which was given).
    """

    kernel: str
    inputs: tuple[int, ...]
    made: int
    patterns: Sequence[ca.SX]
    rows: list[list[Scalar | tuple[bool, int]]]
    single: bool


class _This:
    """One thing, equal to nothing else; it is not forgotten as long as somebody compares with it."""

    def __init__(self, thing: object) -> None:
        self._thing = thing

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _This) and other._thing is self._thing

    def __hash__(self) -> int:
        return id(self._thing)


def same_function(function: Callable[..., Any]) -> tuple[object, ...] | None:
    """What tells functions apart that give the same for the same values; nothing where they know more than that."""
    code = getattr(function, "__code__", None)
    if code is None:
        return (_This(function),) if isinstance(function, Lasting) else None
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    known = [code]
    for one in (*cells, *(function.__defaults__ or ())):
        told = (type(one), one) if type(one) in _PLAIN else _told(one)
        if told is None:
            return None
        known.append(told)
    return tuple(known)


_PLAIN = (int, bool, float, str, type(None))


def _told(one: object) -> object:
    """The same of one thing a function knows."""
    if isinstance(one, Lasting | Joint):
        return _This(one)
    if isinstance(one, Pose):
        parts = _numbers(one.position), _numbers(one.rotation)
        return None if None in parts else parts
    if type(one) is tuple and all(type(part) is int for part in one):
        return one
    return None


def _numbers(matrix: Any) -> object:
    """A matrix of numbers: where it has entries, and these to the last bit; None for others."""
    given = matrix if type(matrix) is ca.DM else ca.SX(matrix)
    if type(given) is ca.SX:
        if not given.is_constant():
            return None
        given = ca.DM(given)
    pattern, entries = given.sparsity(), np.array(given.nonzeros(), dtype=float)
    return given.shape, tuple(pattern.row()), tuple(pattern.colind()), entries.tobytes()
