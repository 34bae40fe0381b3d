"""Functions that belong to something of one process: to an instance of an FMU, to a line to a supplier.

While a process runs they are named by a counter, for two that come from one file are two. The counter says nothing to
another process, so in code that is kept they are named by where their owner is in its model.
"""

from __future__ import annotations

import hashlib
import itertools
import re
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Mapping
from typing import Any

_count = itertools.count()
_made: weakref.WeakValueDictionary[str, Placed] = weakref.WeakValueDictionary()
_NAME = re.compile(r"((?:fmu|remote)_\d+)_(\d+)")


class Placed(ABC):
    """Who has functions called `stem` and a number."""

    def __init__(self, kind: str) -> None:
        self.kind, self.stem = kind, f"{kind}_{next(_count)}"
        self.place = ""  # in its model, once that is translated
        _made[self.stem] = self

    @abstractmethod
    def makers(self) -> Mapping[int, Callable[[], Any]]:
        """What makes its functions, or gives them if they were made, by number."""

    def have_place(self, path: str, taken: Container[str]) -> None:
        """Be known by a place in the model from now on, one that is not `taken`; where code of it is kept, calls in it
        are named by that.
        """
        if not self.place or self.place in taken:
            others = (f"{path} {number}" for number in itertools.count(2))
            self.place = next(place for place in itertools.chain([path], others) if place not in taken)

    @property
    def known_as(self) -> str:
        """The beginning of the names of its functions in code that is kept."""
        return f"{self.kind}_{hashlib.sha256(self.place.encode()).hexdigest()[:16]}" if self.place else self.stem


def find_placed(name: str) -> tuple[Placed, int] | None:
    """Whose function a name is, and its number there; None for any other function."""
    matched = _NAME.fullmatch(name)
    owner = _made.get(matched[1]) if matched else None
    return (owner, int(matched[2])) if matched and owner is not None else None


def spelled(name: str) -> str:
    """How a function is called in code that is kept: one of these by the place of its owner, any other by its name."""
    found = find_placed(name)
    return name if found is None else f"{found[0].known_as}_{found[1]}"
