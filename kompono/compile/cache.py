"""Object code on disk, so that a model is compiled once per machine.

A file is named by the hash of everything its content depends on: the routines, the code generator (its own source),
the versions of LLVM and llvmlite, and the processor. What is read is executed, so files are sealed and lie in a folder
that only this user can write (see `store`); one that cannot be used costs a warning, no more. `KOMPONO_CACHE` names
another folder.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import os
import sys
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from kompono import written
from kompono.compile import host, store
from kompono.compile.assembler import quick
from kompono.translate.program import Routine, TableRoutine
from kompono.trust import home

BESIDE = (  # what the code generator takes from other packages, and its code depends on
    "foreign/code.py", "foreign/places.py", "sealed/kept.py", "translate/adjoint.py", "translate/algorithm.py",
    "translate/held.py", "translate/kernels.py", "translate/program.py", "translate/slopes.py",
    "translate/declared/network_newton.py", "translate/laws/naming.py", "translate/repeated.py",
)  # fmt: skip


def directory() -> Path:
    """Where object code is kept."""
    chosen = os.environ.get("KOMPONO_CACHE")
    if chosen:
        return Path(chosen)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", home() / "AppData" / "Local")) / "kompono" / "cache"
    if sys.platform == "darwin":
        return home() / "Library" / "Caches" / "kompono"
    return Path(os.environ.get("XDG_CACHE_HOME") or home() / ".cache") / "kompono"


def find(key: str) -> bytes | None:
    """The object code kept under a key, if it is there and whole."""
    return store.read(directory(), f"{key}.o")


def keep(key: str, data: bytes) -> None:
    """Keep object code under a key."""
    store.write(directory(), f"{key}.o", data)


def clear() -> int:
    """Remove all that is kept and what killed processes left; the number of files that were there."""
    return store.clear(directory())


def size() -> int:
    """Bytes on disk, with what killed processes left."""
    found = usage()
    return found.bytes + found.leftover_bytes


def usage() -> store.Usage:
    """What is on disk."""
    return store.usage(directory())


def limit() -> int:
    """Bytes that may be kept."""
    return store.limit()


def trouble() -> str:
    """Why the folder or the key is not used; empty if all is well."""
    return store.trouble(directory())


class DiskShelf:
    """Translated routines beside the object code, by name."""

    def get(self, name: str) -> bytes | None:
        """What was put under a name, or nothing."""
        return store.read(directory(), f"{name}.routine")

    def put(self, name: str, data: bytes) -> None:
        """Keep something under a name."""
        store.write(directory(), f"{name}.routine", data)


def key(kind: str, routines: Iterable[Routine], extra: object = ()) -> str:
    """The name of an object: what it is for, the routines in it, and what the code generator depends on."""
    digest = hashlib.sha256(repr((kind, extra, _generator(), host.description(), quick())).encode())
    for routine in routines:
        _digest_routine(digest, routine)
    return digest.hexdigest()


def _digest_routine(digest, routine: Routine) -> None:
    """Kernels are named by their content, so names, slots and constants say everything (paths do not matter)."""
    digest.update(repr((routine.name, routine.inputs, routine.outputs, routine.workspace)).encode())
    if isinstance(routine, TableRoutine):
        digest.update(repr((routine.loops, [table.shape for table in routine.tables])).encode())
        for table in (routine.sweeps, routine.tasks, routine.phases, *routine.tables):
            digest.update(np.ascontiguousarray(table).tobytes())
        for told in routine.exchanges:
            digest.update(repr((told.after, told.kind, told.peer, len(told.send))).encode())
            digest.update(told.send.tobytes() + told.receive.tobytes())
        digest.update(routine.numbers.tobytes())
        return
    digest.update(";".join([f"{c.kernel}:{len(c.inputs)}:{len(c.outputs)}" for c in routine.calls]).encode())
    slots = itertools.chain.from_iterable(itertools.chain(c.inputs, c.outputs) for c in routine.calls)
    digest.update(np.fromiter(slots, dtype=np.int64).tobytes())
    for slots in routine.result:
        constants = [isinstance(slot, float) for slot in slots]
        digest.update(np.array(constants, dtype=np.bool_).tobytes())
        digest.update(np.array(slots, dtype=np.float64).tobytes())


@functools.cache
def _generator() -> str:
    """A hash of the code generator itself: whoever changes it need not think of a version number."""
    return written.digest(("compile", *BESIDE))
