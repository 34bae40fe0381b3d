"""What a call of a traced function came to, so that the same on values in other slots need not be traced again.

A large model asks thousands of times for the same few products of blocks. The expressions of a function follow from the
function, if it knows nothing but plain numbers and words, and from the pattern of its values: zeros, constants, which
entries are the same. Such a call is written down as a recipe, and repeated with other slots.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import casadi as ca

from kompono.translate.symbolic import Scalar


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


def same_function(function: Callable[..., Any]) -> tuple[object, ...] | None:
    """What tells functions apart that give the same for the same values; nothing where they know more than plain
    numbers and words.
    """
    code = getattr(function, "__code__", None)
    cells = [cell.cell_contents for cell in getattr(function, "__closure__", None) or ()]
    known = [*cells, *(getattr(function, "__defaults__", None) or ())]
    if code is None or not all(type(one) in (int, bool, float, str) for one in known):
        return None
    return (code, *((type(one), one) for one in known))
