"""An ensemble over the machines of a Dask cluster.

The program goes to the workers, not the model: symbolic kernels and schedules as plain data, from which every worker
makes native code for its own processor (kept in its own cache). So workers need no file of the user's.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from kompono.compile import cache, compile_program, native_lanes
from kompono.errors import RunError
from kompono.given import shown
from kompono.result import extra
from kompono.solve.inputs import Feed, Source
from kompono.solve.many import Batch, run_group
from kompono.solve.outcome import Outcome
from kompono.solve.progress import Progress
from kompono.solve.settling import settler_of
from kompono.translate.program import Program

TASKS_PER_THREAD = 4  # so that a slow worker does not keep all others waiting
KERNELS = 8  # a worker keeps

_lock = threading.Lock()


def run_on_cluster(
    client: Any, program: Program, batch: Batch, sources: tuple[Source, ...], own_lanes: bool, progress: Progress
) -> Iterator[tuple[np.ndarray, list[Outcome]]]:
    """Make all runs on the workers of a `dask.distributed.Client`; gives numbers of runs and outcomes, as they come."""
    distributed = extra("distributed", "dask")
    if not isinstance(client, distributed.Client):
        raise RunError(f"client is {shown(client)}.", fix="Give a dask.distributed.Client.")
    if any(source.is_callable for source in sources):
        raise RunError("callable inputs cannot go to other machines.", fix="Use a table, or leave `client` out.")
    places = max(sum(client.nthreads().values()), 1)
    groups = batch.groups()
    share = -(-len(groups) // (TASKS_PER_THREAD * places))
    tasks = [np.concatenate(groups[i : i + share]) for i in range(0, len(groups), share)]
    shared = client.scatter((program, sources), broadcast=True, hash=False)
    key = cache.key("program", program.routines.values())
    futures = [client.submit(_task, shared, key, batch.part(runs), own_lanes, pure=False) for runs in tasks]
    numbers = {future.key: runs for future, runs in zip(futures, tasks, strict=True)}
    try:
        done, waiting = 0, set(futures)
        while waiting and not progress.interrupted:
            for future in _finished(distributed, waiting):
                waiting.discard(future)
                runs = numbers[future.key]
                done += len(runs)
                progress.update(done * batch.settings.until)
                yield runs, future.result()
    finally:
        client.cancel(futures)


def _finished(distributed: Any, waiting: set[Any]) -> set[Any]:
    """Those of some futures that are done, after a while at most; so Ctrl-C is heard."""
    try:
        return distributed.wait(waiting, timeout=0.2, return_when="FIRST_COMPLETED").done
    except TimeoutError:
        return set()


class Kernels:
    """The kernels a worker has made, by program: the last few, for memory is short where many models run."""

    def __init__(self) -> None:
        self.made: dict[str, Any] = {}

    def get(self, key: str, program: Program) -> Any:
        """The kernel of a program; those asked for longest ago go first."""
        with _lock:
            kernel = self.made.pop(key, None) or compile_program(program)
            settler_of(kernel)
            self.made[key] = kernel
            while len(self.made) > KERNELS:
                del self.made[next(iter(self.made))]
            return kernel


@functools.cache
def _kernels() -> Kernels:
    return Kernels()


def _task(shared: tuple[Program, tuple[Source, ...]], key: str, batch: Batch, own_lanes: bool) -> list[Outcome]:
    """What a worker does: some groups of runs, one after the other."""
    program, sources = shared
    kernel = _kernels().get(key, program)
    if own_lanes:
        batch = replace(batch, lanes=native_lanes())
    quiet = Progress(batch.settings.until, show=False)
    outcomes: list[Outcome] = []
    for runs in batch.groups():
        outcomes += run_group(kernel, batch.part(runs), lambda: Feed(sources), _no_reader, quiet)
    return outcomes


def _no_reader(_: np.ndarray) -> Any:
    """Inputs on a cluster are not callable; nobody reads."""
    return None
