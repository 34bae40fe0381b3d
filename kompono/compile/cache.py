"""Object code on disk, so that a model is compiled once per machine.

A file is named by the hash of everything its content depends on: the routines, the code generator (its own source),
the versions of LLVM and llvmlite, and the processor. Files begin with a checksum; one that does not match, because a
disk filled up or a process died, is removed and made again. Writing goes to a temporary file that then takes the place
of the final one, so processes may share the directory. A directory that cannot be written costs a warning, no more.
`KOMPONO_CACHE` names another directory.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import itertools
import os
import sys
import tempfile
import warnings
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from kompono.compile import host
from kompono.translate.program import Routine, TableRoutine

_MAGIC = b"kompono1"
_HEADER = len(_MAGIC) + hashlib.sha256().digest_size


def directory() -> Path:
    """Where object code is kept."""
    chosen = os.environ.get("KOMPONO_CACHE")
    if chosen:
        return Path(chosen)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "kompono" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "kompono"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kompono"


def find(key: str) -> bytes | None:
    """The object code kept under a key, if it is there and whole."""
    return _read(directory() / f"{key}.o")


def keep(key: str, data: bytes) -> None:
    """Keep object code under a key."""
    _write(directory() / f"{key}.o", data)


def clear() -> int:
    """Remove all object code; the number of files that were there."""
    files = _files()
    for path in files:
        path.unlink(missing_ok=True)
    return len(files)


def size() -> int:
    """Bytes of object code on disk."""
    return sum(path.stat().st_size for path in _files())


def _files() -> list[Path]:
    return [*directory().glob("*.o"), *directory().glob("*.routine")]


class Shelf:
    """Translated routines beside the object code, by name."""

    def get(self, name: str) -> bytes | None:
        """What was put under a name, or nothing."""
        return _read(directory() / f"{name}.routine")

    def put(self, name: str, data: bytes) -> None:
        """Keep something under a name."""
        _write(directory() / f"{name}.routine", data)


def key(kind: str, routines: Iterable[Routine], extra: object = ()) -> str:
    """The name of an object: what it is for, the routines in it, and what the code generator depends on."""
    digest = hashlib.sha256(repr((kind, extra, _generator(), host.description())).encode())
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
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _read(path: Path) -> bytes | None:
    try:
        content = path.read_bytes()
    except OSError:
        return None
    data = content[_HEADER:]
    if content[:_HEADER] == _MAGIC + hashlib.sha256(data).digest():
        return data
    with contextlib.suppress(OSError):  # then it will be overwritten, or made again each time
        path.unlink(missing_ok=True)
    return None


def _write(path: Path, data: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".", delete=False) as file:
            temporary = Path(file.name)
            try:
                file.write(_MAGIC + hashlib.sha256(data).digest() + data)
                file.close()
                os.replace(temporary, path)
            except OSError:
                temporary.unlink(missing_ok=True)
                raise
    except OSError as error:
        advice = "Set KOMPONO_CACHE to a directory you can write."
        warnings.warn(f"native code is not kept: {error}. {advice}", stacklevel=2)
