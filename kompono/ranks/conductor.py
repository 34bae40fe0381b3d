"""How the first process leads the others: to a `Simulation` it is a kernel, and its runs are runs.

What native loops decide they decide together (`compile/together.py`), so time, counters and statuses of the first
process are those of all. States and records are collected when somebody asks for them. Whatever is not stepped, such as
channels, is computed here with the whole model.
"""

from __future__ import annotations

import itertools
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kompono.compile import ChunkEnd, Kernel
from kompono.compile.walls.places import Places
from kompono.ranks.member import Member

_BUFFER = 1 << 23  # doubles of the records of all processes at most, as of one


class Conductor:
    """The kernel of a model on ranks; `homes` lists for each process where what it tells is in the whole state.
    `timed` is told once how long an evaluation and its message take [s].
    """

    def __init__(
        self, whole: Kernel, member: Member, homes: list[np.ndarray], timed: Callable[[float, float], None]
    ) -> None:
        self.program, self.member, self.homes = whole.program, member, homes
        self._timed: Callable[[float, float], None] | None = timed
        self._whole, self._numbers = whole, itertools.count()
        self._gone: deque[int] = deque()  # runs nobody has any more
        self.learned = whole.learned

    def ask(self, name: str, *arguments: Any) -> Any:
        """Let all processes do something; what this one gets."""
        forgotten = tuple(self._gone.popleft() for _ in range(len(self._gone)))
        self.member.world.say((name, arguments, forgotten))
        return self.member.perform(name, arguments, forgotten)

    def joined(self, parts: list[np.ndarray]) -> np.ndarray:
        """Whole states (rows, n) from what each process told."""
        found = np.empty((len(parts[0]), self.program.state_size))
        for places, part in zip(self.homes, parts, strict=True):
            found[:, places] = part
        return found

    # -- the face of a kernel

    def prepare(
        self, routine: str = "", method: str = "", *, routines: Any = (), lanes: int = 1, soon: bool = False
    ) -> None:  # fmt: skip
        """Have native code made: steps by all, channels here."""
        self.ask("prepare", method)
        self._whole.prepare(routine, "", routines=routines, lanes=lanes, soon=soon)

    @contextmanager
    def begun(self, state: np.ndarray, lanes: int = 1) -> Iterator[np.ndarray]:
        """The state a run begins with."""
        with self._whole.begun(state, lanes) as first:
            yield first

    @property
    def lasts(self) -> bool:
        """Whether a run can go on in other processes, on any number of ranks."""
        return self._whole.lasts

    def counts(self, state: np.ndarray) -> dict[str, Any]:
        """What else there is to say about a run after it."""
        return self._whole.counts(state)

    @property
    def places(self) -> Places:
        """Where parts run that do not run here: none of a tree."""
        return self._whole.places

    def has(self, routine: str) -> bool:
        """Whether a routine can be evaluated at once."""
        return routine == "derivative" or self._whole.has(routine)

    def evaluate(
        self, routine: str, time: float, state: ArrayLike, inputs: ArrayLike = (), parameters: ArrayLike = ()
    ) -> tuple[np.ndarray, ...]:
        """One array per output of the routine."""
        if routine != "derivative":
            return self._whole.evaluate(routine, time, state, inputs, parameters)
        given = (np.asarray(value, dtype=float) for value in (state, inputs, parameters))
        return (self.joined(self.ask("evaluate", float(time), *given))[0],)

    def map(self, *arguments: Any, **options: Any) -> np.ndarray:
        """The first output of a routine over rows, here."""
        return self._whole.map(*arguments, **options)

    def fixed(self, method: str, time: float, state: ArrayLike, **options: Any) -> SpreadRun:
        """A run of equal steps."""
        return self._begin("fixed", (method, time), state, options)

    def adaptive(self, time: float, state: ArrayLike, **options: Any) -> SpreadRun:
        """A run of dopri5."""
        return self._begin("adaptive", (time,), state, {"rtol": 1e-6, "atol": 1e-9, **options})

    def _begin(self, kind: str, arguments: tuple[Any, ...], state: ArrayLike, options: dict[str, Any]) -> SpreadRun:
        width = 1 + self.program.state_size + len(self.program.inputs)
        options["capacity"] = max(min(options.get("capacity", 4096), _BUFFER // width), 1)
        options.pop("lanes", None)
        number, start = next(self._numbers), np.array(state, dtype=float)
        self.ask("begin", number, kind, (*arguments, start), options)
        if self._timed is not None:
            parameters = np.asarray(options.get("parameters", ()), dtype=float)
            self._timed(*self.ask("timing", arguments[-1], start, np.zeros(len(self.program.inputs)), parameters))
            self._timed = None
        run = SpreadRun(self, number)
        weakref.finalize(run, self._gone.append, number)
        return run


def _same(name: str) -> Any:
    """What the run of the first process knows of all."""
    return property(lambda self: getattr(self._own, name))


def _told(name: str) -> Callable[..., Any]:
    """What all are told in the same words."""
    return lambda self, *arguments: self._conductor.ask("call", self._number, name, *arguments)


class SpreadRun:
    """A run of all processes, seen from the first."""

    unanswered = ""  # a process that is lost ends all
    takeover = None  # code is native from the start
    tied = None  # there are no laws

    time, rows, step, done, step_size = (_same(name) for name in ("time", "rows", "step", "done", "step_size"))
    evaluations, accepted, rejected = (_same(name) for name in ("evaluations", "accepted", "rejected"))
    events, guard_values, lost = (_same(name) for name in ("events", "guard_values", "lost"))
    hold, set_inputs, join, aim = (_told(name) for name in ("hold", "set_inputs", "join", "aim"))

    def __init__(self, conductor: Conductor, number: int) -> None:
        self._conductor, self._number = conductor, number
        self._own = conductor.member.runs[number]

    @property
    def state(self) -> np.ndarray:
        """The whole state now, collected."""
        return self._conductor.joined(self._ask("state"))[0]

    def advance(self, steps: int) -> ChunkEnd:
        """Go on by so many steps (adaptive: attempts) or until something ends the chunk."""
        return self._ask("advance", steps)

    def part(self, end: float, take: Callable[[], object]) -> ChunkEnd:
        """A part of the present step, without a record; `take` is not needed, for there are no events."""
        return self._ask("part", end)

    def restart(self, time: float, state: ArrayLike) -> None:
        """Go on from another state."""
        self._ask("restart", float(time), np.array(state, dtype=float))

    def take(self) -> np.ndarray:
        """The records (time, state..., inputs...) since the last `take`, one per row."""
        own, parts = self._ask("take")
        inputs = own[:, 1 + len(self._conductor.member.places) :]
        return np.hstack([own[:, :1], self._conductor.joined(parts), inputs])

    def snapshot(self) -> tuple[dict[str, float], np.ndarray]:
        """All that a run needs to go on, whatever the number of processes then."""
        fields, alike, parts = self._ask("snapshot")
        return fields, np.concatenate([alike, self._conductor.joined(parts).ravel()])

    def recall(self, fields: Mapping[str, float], vectors: np.ndarray) -> None:
        """Be where another run was."""
        self._ask("recall", dict(fields), vectors)

    def interpolate(self, times: ArrayLike) -> np.ndarray:
        """States (not projected) at times inside the last accepted step, one per row."""
        return self._conductor.joined(self._ask("interpolate", np.asarray(times, dtype=float)))

    def _ask(self, name: str, *arguments: Any) -> Any:
        return self._conductor.ask(name, self._number, *arguments)
