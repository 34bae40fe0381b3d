"""Names of a package that are imported when they are first used: a command, or a run from the cache, needs few."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from kompono.garbage import uncollected


def later(package: str, where: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a package: `where` has the module (below it) of each name."""

    def find(name: str) -> Any:
        if name not in where:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        with uncollected():
            value = getattr(import_module(f"{package}.{where[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return find
