"""The size of a request before it starts: rows, channels, bytes, steps; what cannot fit is refused."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kompono.errors import RunError
from kompono.notice import tell
from kompono.room import amount, check_memory, free_memory
from kompono.solve.methods import METHODS

if TYPE_CHECKING:
    from kompono.solve.integrate import Settings
    from kompono.solve.outcome import Outputs
    from kompono.translate.program import Program

ENDLESS = 1e9  # s: the end of runs in real time that nobody has set one for
LIST_ENTRY = 120  # bytes a row costs beside its numbers where SciPy makes it
LITTLE = 2**20  # bytes that any process which runs at all has
PER_RUN = 1000  # bytes: status, events and what else there is of each run of an ensemble


@dataclass(frozen=True)
class Estimate:
    """What a request will hold: `rows` of `channels` for each of `runs`, after so many `steps` (None: as many as the
    method chooses). `row` is what a row of states takes, in bytes, with all channels computed from it.
    """

    rows: int
    channels: int
    steps: int | None
    row: int
    runs: int = 1
    held: int = 1  # runs whose states are held at once
    each: int = PER_RUN  # bytes a run takes beside its rows
    paced: bool = False  # whether it is a run in real time

    @property
    def result(self) -> int:
        """Bytes of the times and channels asked for."""
        return 8 * self.rows * (self.runs * self.channels + 1)

    @property
    def needed(self) -> int:
        """Bytes that are needed at once, at least."""
        working = self.row * self.rows * min(self.held, self.runs)
        return max(working, self.result) if self.runs == 1 else self.result + working + self.each * self.runs

    def __str__(self) -> str:
        runs = f"{self.runs:,} runs of " if self.runs > 1 else ""
        steps = "" if self.steps is None else f", {self.steps:,} steps{' each' * (self.runs > 1)}"
        size = f"{amount(self.result)} (at least {amount(self.needed)} while it runs)"
        return f"{runs}{self.rows:,} rows of {self.channels} channels: {size}{steps}"

    def check(self, every: int = 1) -> None:
        """Raise RunError for what cannot fit into memory; `every` is how seldom steps are recorded now. Of what takes
        little nobody asks how much is free, for that takes longer than a short run.
        """
        if self.needed > LITTLE:
            check_memory(self.needed, f"{self._what}", self._way_out(every))

    @property
    def _what(self) -> str:
        runs = f"{self.runs:,} runs with " if self.runs > 1 else ""
        return f"{runs}{self.rows:,} rows of {self.channels} channel{'s' * (self.channels != 1)}"

    def _way_out(self, every: int) -> str:
        least = replace(self, rows=2)
        if least.needed > free_memory():
            fewer = max(int(free_memory() / (2 * least.needed / self.runs)), 1)
            return f"Make fewer runs at a time, e.g. runs={_round(fewer, down=True)}, and keep what you need of each."
        seldom = _round(every * max(2.0, 2 * self.needed / max(free_memory(), 1.0)))
        ways = f"Record less: every={seldom}, channels=['*.angle'] for those you need"
        last = " or fewer runs" * (self.runs > 1) + " or the last seconds alone (keep=60)" * self.paced
        return f"{ways}, an earlier end{last}."


Before = Callable[[Estimate], object]  # who wants to know the size of a run before it begins


def rows_of(settings: Settings, paced: bool = False) -> int | None:
    """Records of a run, None where a run in real time has no end and keeps all."""
    if paced and settings.until >= ENDLESS and math.isinf(settings.keep):
        return None
    span = min(settings.span, settings.keep)
    return math.floor(span / (settings.step * settings.every)) + 2


def estimate(
    settings: Settings, outputs: Outputs, program: Program, runs: int = 1, held: int = 1, paced: bool = False
) -> Estimate | None:
    """The size of runs of a program with these settings and channels; None for a run without an end."""
    rows = rows_of(settings, paced)
    if rows is None:
        return None
    method = METHODS[settings.method]
    extra = 0 if method.native else LIST_ENTRY
    row = 8 * (1 + program.state_size + len(program.inputs) + len(outputs.computed)) + extra
    steps = None if method.chooses_steps else math.ceil(settings.span / settings.step - 1e-9)
    each = 16 * (program.state_size + len(program.parameters)) + PER_RUN
    return Estimate(rows, len(outputs.wanted), steps, row, runs, held, each, paced)


def announce(name: str, size: Estimate | None, every: int, before: Before | None = None) -> None:
    """Tell the size of a request, refuse what cannot fit, and let who wants to know look at it."""
    if size is None:
        return
    tell(f"{name}: {size}")
    size.check(every)
    if before is None:
        return
    try:
        before(size)
    except TypeError as error:
        raise RunError(
            f"before= cannot take the size of the run: {error}.", fix="Give a function of one Estimate."
        ) from error


def check_runs(settings: Settings, runs: int) -> None:
    """Refuse, before anything is translated, so many runs as could not fit with a single channel."""
    Estimate(rows_of(settings) or 0, 1, None, 16, runs).check(settings.every)


def _round(value: float, down: bool = False) -> int:
    """The next number 1, 2 or 5 times a power of ten."""
    power = 10 ** math.floor(math.log10(max(value, 1.0)))
    sizes = [factor * power for factor in (1, 2, 5, 10)]
    return next(s for s in reversed(sizes) if s <= value) if down else next(s for s in sizes if s >= value * (1 - 1e-9))
