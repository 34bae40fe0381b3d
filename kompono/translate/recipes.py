"""What a call of a traced function came to, so that the same on values in other slots need not be traced again.

A large model asks thousands of times for the same few products of blocks. The expressions of a function follow from the
function, if it knows nothing but plain numbers, words, poses of numbers and things that stay as they are while a model
is traced (joints, conditions, patterns), and from the pattern of its values: zeros, constants, which entries are the
same. Such a call is written down as a recipe, and repeated with other slots, in all routines of a model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import CellType, FunctionType
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


def with_values(
    function: Callable[..., Any], is_number: Callable[[ca.SX], bool]
) -> tuple[Callable[..., Any], list[ca.SX], tuple[object, ...] | None]:
    """A function that takes matrices of numbers it knows, and poses of such, as values behind its own; these values;
    and what tells it apart from others (see `same_function`).
    """
    same = same_function(function)
    if same is not None or not isinstance(function, FunctionType) or function.__kwdefaults__:
        return function, [], same
    known = [cell.cell_contents for cell in function.__closure__ or ()]
    count, known = len(known), [*known, *(function.__defaults__ or ())]
    places = [place for place, one in enumerate(known) if _of_numbers(one, is_number)]
    if not places:
        return function, [], None

    def made(things: Sequence[Any]) -> FunctionType:
        cells = tuple(CellType(one) for one in things[:count])
        given = tuple(things[count:]) or None
        return FunctionType(function.__code__, function.__globals__, function.__name__, given, cells)

    kinds = [type(known[place]) is Pose for place in places]
    values = [part for place in places for part in _parts(known[place])]

    def whole(*given: ca.SX) -> Any:
        own, rest, things = given[: len(given) - len(values)], iter(given[len(given) - len(values) :]), list(known)
        for place, posed in zip(places, kinds, strict=True):
            things[place] = Pose(next(rest), next(rest)) if posed else next(rest)
        return made(things)(*own)

    left = [None if place in places else one for place, one in enumerate(known)]
    same = same_function(made(left))
    return whole, values, None if same is None else (*same, tuple(places), tuple(kinds))


def _of_numbers(one: object, is_number: Callable[[ca.SX], bool]) -> bool:
    """Whether a thing is made of numbers that are put in after tracing, at least some of it."""
    if type(one) is not Pose and type(one) is not ca.SX:
        return False
    symbols = ca.symvar(ca.veccat(*_parts(one)))
    return bool(symbols) and all(is_number(symbol) for symbol in symbols)


def _parts(one: Any) -> list[ca.SX]:
    return [ca.SX(one.position), ca.SX(one.rotation)] if type(one) is Pose else [one]


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
