"""Functions of a part that is kept elsewhere, as its owner's code has them: calls with a handle in the place of x.

They have no content here. Their names say all that the compiler needs: whether values are asked for or something is
only posted, and which operation of the part that is (`kompono.compile.far`). So a name is enough to have one again
where code that calls it is read.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import casadi as ca

from kompono.callback import Callback

_FIRST = 16  # operations of functions are counted from here
_NAME = re.compile(r"far_(?:ask|post)_\d+_\d+_(\d+)_(\d+)")


class _Far(Callback):
    """A function that only its keeper can evaluate."""

    def eval(self, arguments: Any) -> list[Any]:
        raise RuntimeError("a part elsewhere is asked by native code only")


@cache
def _made(name: str, arguments: int, results: int) -> ca.Function:
    return _Far(name, arguments, results)


def far_function(number: int, values: bool, before: int, arguments: int, results: int) -> ca.Function:
    """The function of this number: it takes `before` others, a handle and what is left of `arguments`, and gives values
    or a handle.
    """
    way = "ask" if values else "post"
    return _made(f"far_{way}_{_FIRST + number}_{before}_{arguments}_{results}", arguments, results)


def find_far(name: str) -> ca.Function | None:
    """The function of this name; None if it is none of a part elsewhere."""
    matched = _NAME.fullmatch(name)
    return _made(name, int(matched[1]), int(matched[2])) if matched else None
