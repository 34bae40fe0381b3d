"""Kernels by the hash of what they do; those of a model translated before are read when somebody wants to see them.

What the compiler must know of a kernel to find its code is little: how long it is, which functions it calls, and its
numbers. A kept translation tells that beside its kernels, so that a model that was compiled before is run without
reading them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import casadi as ca

from kompono.translate.texts import read, written


class Kernels(dict[str, ca.Function]):
    """Kernels by name, and others that are `promised`: made when they are first asked for."""

    def __init__(self, callbacks: Mapping[str, ca.Function] | None = None) -> None:
        super().__init__()
        self.callbacks = callbacks or {}  # of FMUs and suppliers, by their names in texts
        self.promised: dict[str, Callable[[], ca.Function]] = {}
        self.recipes: dict[Any, Any] = {}  # of calls that were traced into them (see `tracer`)

    def __missing__(self, name: str) -> ca.Function:
        if name not in self.promised:
            raise KeyError(name)
        self[name] = function = self.promised[name]()
        return function

    def read(self, text: str) -> ca.Function:
        """The function of a text."""
        return read(text, self.callbacks)

    def names(self, spelled: Iterable[str]) -> tuple[str, ...]:
        """What functions are called here that have these names in texts."""
        return tuple(self.callbacks[name].name() if name in self.callbacks else name for name in spelled)

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or name in self.promised


def recipes_of(kernels: dict[str, ca.Function]) -> dict[Any, Any]:
    """What calls came to that were traced into these kernels."""
    return kernels.recipes if isinstance(kernels, Kernels) else {}


def add_kernel(kernels: dict[str, ca.Function], inputs: ca.SX, outputs: ca.SX) -> str:
    """Keep a kernel under the hash of its content."""
    function = ca.Function("kernel", [inputs], [ca.densify(outputs)])
    text = written(function)
    name = hashlib.sha256(text.encode()).hexdigest()[:24]
    kernels.setdefault(name, function)
    _written.clear()
    _written[name] = text
    return name


_written: dict[str, str] = {}  # the text of the kernel made last, by its name: who keeps it asks at once


def kernel_text(name: str, kernels: Mapping[str, ca.Function]) -> str:
    """A kernel as text."""
    return _written.get(name) or written(kernels[name])
