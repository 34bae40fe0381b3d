"""Forks wait for LLVM: the copy of a process has none of its threads, but all its locks as they stood.

Native code is made in a thread beside a run, also when the run is over (see `tiers`). Whoever forks meanwhile
(`multiprocessing` on Linux, dask) would get processes that wait for ever for a thread they do not have. So a fork takes
the locks around LLVM first, and both sides give them back.
"""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from typing import Any

from llvmlite.binding import ffi

_locks: list[AbstractContextManager[Any]] = []  # in the order in which threads take them
_of_llvmlite: Any = getattr(ffi.lib, "_lock", None)
if _of_llvmlite is not None:
    _locks.append(_of_llvmlite)


def hold_at_forks(lock: AbstractContextManager[Any]) -> None:
    """Have no fork find a lock taken, which its thread may take twice; those that are taken first are told last."""
    _locks.insert(0, lock)


def _take() -> None:
    for lock in _locks:
        lock.__enter__()


def _give() -> None:
    for lock in reversed(_locks):
        lock.__exit__(None, None, None)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_take, after_in_parent=_give, after_in_child=_give)
