"""Attributes that are made when they are first asked for, because most are not: what a machine looks like, where a run
ended, where it comes from.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Late:
    """An attribute of an object: what it was set to, or what a function of the object gives, which is asked once. One
    that is None raises what `missing` makes, if that is given.
    """

    def __init__(self, missing: Callable[[], Exception] | None = None) -> None:
        self._missing = missing

    def __set_name__(self, owner: type, name: str) -> None:
        self._place = f"_{name}"

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        value = vars(instance)[self._place]
        if callable(value):
            value = vars(instance)[self._place] = value(instance)
        if value is None and self._missing is not None:
            raise self._missing()
        return value

    def __set__(self, instance: Any, value: object) -> None:
        vars(instance)[self._place] = value
