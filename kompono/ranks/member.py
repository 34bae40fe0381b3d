"""What one process has of a model on ranks, and does when it is told to.

Every method named in `COMMANDS` is called in all processes with the same arguments at the same time. States are whole
where they are told, own entries where they are kept.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np

from kompono.compile import ChunkEnd
from kompono.compile.snapshot import recall_share, share_of
from kompono.compile.spread import SpreadKernel
from kompono.ranks.world import World

LOOKS = 5  # evaluations that are timed
COMMANDS = (
    "prepare", "begin", "call", "advance", "part", "restart", "state", "take", "interpolate", "evaluate", "timing",
    "snapshot", "recall",
)  # fmt: skip


class Member:
    """One process: its kernel, and `places` (n): where its state is in that of the `whole`; `tells` (n): whether it is
    the one that tells an entry that others have as well.
    """

    def __init__(
        self, world: World, kernel: SpreadKernel, places: np.ndarray, tells: np.ndarray, whole: int, name: str
    ) -> None:
        self.world, self.kernel, self.places, self.tells, self.whole = world, kernel, places, tells, whole
        self.name = name  # of what it has, for people
        self.runs: dict[int, Any] = {}

    def perform(self, name: str, arguments: tuple[Any, ...], forgotten: tuple[int, ...]) -> Any:
        """Do what all are told; an error here ends all processes, for others may be waiting for this one."""
        try:
            for number in forgotten:
                del self.runs[number]
            assert name in COMMANDS
            return getattr(self, name)(*arguments)
        except Exception as error:
            self.world.fail(error, f" ({self.name})")

    def prepare(self, method: str) -> None:
        """Have native code made."""
        self.kernel.prepare(routine="derivative", method=method)

    def begin(self, number: int, kind: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
        """A new run: `kind` "fixed" or "adaptive" with its arguments, the last of which is the whole state."""
        *others, state = arguments
        if kind == "adaptive":
            for name in ("rtol", "atol"):
                options[name] = np.broadcast_to(options[name], self.whole)[self.places].astype(float)
            options["atol"][~self.tells] = np.inf
        self.runs[number] = getattr(self.kernel, kind)(*others, state[self.places], **options)

    def call(self, number: int, name: str, *arguments: Any) -> Any:
        """What is the same for all: `hold`, `set_inputs`, `join`, `aim`."""
        return getattr(self.runs[number], name)(*arguments)

    def advance(self, number: int, steps: int) -> ChunkEnd:
        """Go on by so many steps."""
        return self.runs[number].advance(steps)

    def part(self, number: int, end: float) -> ChunkEnd:
        """A part of a step; no records are made in it."""
        return self.runs[number].part(end, lambda: None)

    def restart(self, number: int, time: float, state: np.ndarray) -> None:
        """Go on from another state."""
        self.runs[number].restart(time, state[self.places])

    def state(self, number: int) -> list[np.ndarray]:
        """The state of all."""
        return self._collect(self.runs[number].state[None, :])

    def take(self, number: int) -> tuple[np.ndarray, list[np.ndarray]]:
        """The records of all since the last time: those of this process, and states."""
        rows = self.runs[number].take()
        return rows, self._collect(rows[:, 1 : 1 + len(self.places)])

    def interpolate(self, number: int, times: np.ndarray) -> list[np.ndarray]:
        """States of all at times inside the last step."""
        return self._collect(self.runs[number].interpolate(times))

    def snapshot(self, number: int) -> tuple[dict[str, float], np.ndarray, list[np.ndarray]]:
        """Fields, what all have alike, and vectors of all."""
        fields, alike, vectors = share_of(self.runs[number])
        return fields, alike, self._collect(vectors)

    def recall(self, number: int, fields: dict[str, float], vectors: np.ndarray) -> None:
        """Be where another run was."""
        recall_share(self.runs[number], fields, vectors, self.whole, self.places)

    def evaluate(self, time: float, state: np.ndarray, inputs: np.ndarray, parameters: np.ndarray) -> list[np.ndarray]:
        """The rate of the whole."""
        (rate,) = self.kernel.evaluate("derivative", time, state[self.places], inputs, parameters)
        return self._collect(rate[None, :])

    def timing(self, time: float, state: np.ndarray, inputs: np.ndarray, parameters: np.ndarray) -> tuple[float, float]:
        """Seconds of an evaluation with its messages, and of such a message alone: the shortest of some."""
        spread = self.kernel.program.spread
        assert spread is not None
        counts = spread.counts if sum(spread.counts) else (1,) * spread.ranks
        best = np.inf
        for _ in range(LOOKS):
            begun = perf_counter()
            self.kernel.evaluate("derivative", time, state[self.places], inputs, parameters)
            best = min(best, perf_counter() - begun)
        return best, self.world.latency(counts)

    def _collect(self, values: np.ndarray) -> list[np.ndarray]:
        return self.world.collect(values[:, self.tells])
