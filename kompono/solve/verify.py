"""Whether a step was short enough for the motion: asked of a few recorded states after a run of equal steps.

From such a state one step of h is made, and two of h / 2. Where the step is right, the two differ by a small share of
the motion in that time; where it is much too long (a spring stiffer than the step can follow, half a turn in a step),
by as much as the motion itself. A run most of whose samples differ so is not a result. A single sample may: where a
motion jumps (an impact), it does whatever the step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kompono.compile.block import ChunkEnd
from kompono.solve.methods import METHODS

SAMPLES = 8  # states of a run that are looked at
ABSURD = 0.5  # of the motion: an error above this in one step
FINE = 0.01  # of the motion: an error in one step below this is what a suggested step has
NOISE = 1e-2  # of the largest range: what varies less than this counts as little
REST = 1e-10  # [m, rad, m/s, rad/s] what varies less does not move: it is what rounding leaves of forces in balance
STEADY = 0.01  # of a value: speeds that vary less are steady, and what they vary by is rounding
HALVINGS = 24  # of the step when a better one is sought
ROOM = 400  # records of a few steps with up to a hundred events


@dataclass(frozen=True)
class Samples:
    """Some records (time, state..., inputs...) of a run, and the range of each state in all of them."""

    rows: np.ndarray
    ranges: np.ndarray


def pick(rows: np.ndarray, size: int, speeds: slice) -> Samples:
    """Samples spread over a run, those with the greatest speeds and the greatest change of them among them."""
    states = rows[:, 1 : 1 + size]
    ranges = np.ptp(np.ascontiguousarray(states.T), axis=1) if len(rows) else np.zeros(size)
    count = len(rows)
    chosen = {int(i) for i in np.linspace(0, count - 1, SAMPLES - 2)} if count else set()
    if count > SAMPLES and speeds.stop > speeds.start:
        fast = np.abs(states[:, speeds])
        chosen.add(int(np.argmax(fast)) // fast.shape[1])
        chosen.add(int(np.argmax(np.abs(np.diff(states[:, speeds], axis=0)))) // fast.shape[1])
    return Samples(rows[sorted(chosen)].copy(), ranges)


class StepCheck:
    """Steps of two sizes from given states, with the native loop of the run itself."""

    def __init__(self, kernel: Any, parameters: np.ndarray, settings: Any) -> None:
        self.kernel, self.parameters, self.settings = kernel, parameters, settings
        self.count = METHODS[settings.method].warm
        self._runs: dict[float, Any] = {}

    def error(self, row: np.ndarray, ranges: np.ndarray, h: float) -> float:
        """Error of a step h [s] from a record, as a share of the motion, NaN if nothing moves or no step is made."""
        coarse, fine = (self.after(row, h / n, n * self.count) for n in (1, 2))
        if fine is None:
            return np.nan
        if coarse is None:
            return np.inf
        program = self.kernel.program
        start, end = len(program.coordinates), len(program.coordinates) + len(program.speeds)
        before, squares = row[1 : 1 + program.state_size], np.zeros(2)
        for part in (slice(0, start), slice(start, end)):
            least = max(ranges[part].max(initial=0.0), STEADY * np.abs(fine[part]).max(initial=0.0))
            scale = np.maximum(ranges[part], NOISE * least)
            scale = np.where(ranges[part] > REST, np.maximum(scale, REST), np.inf)
            wrong, moved = ((x - y)[part] / scale for x, y in ((coarse, fine), (fine, before)))
            squares += [wrong @ wrong, moved @ moved]
        return float(np.sqrt(squares[0] / squares[1])) if squares[1] > 1e-18 else np.nan

    def after(self, row: np.ndarray, h: float, steps: int) -> np.ndarray | None:
        """The state some steps h [s] behind a record, None if they cannot be made."""
        end = 1 + self.kernel.program.state_size
        if not np.all(np.isfinite(row)):
            return None
        run = self._runs.get(h)
        if run is None:
            run = self._runs[h] = self.kernel.fixed(
                self.settings.method, float(row[0]), row[1:end], step=h, parameters=self.parameters, inputs=row[end:],
                capacity=ROOM, every=steps, project=self.settings.stabilize,
            )  # fmt: skip
        else:
            run.hold(row[end:])
            run.restart(float(row[0]), row[1:end])
        good = run.advance(steps) is ChunkEnd.OK
        run.take()
        return run.state.copy() if good else None

    def verdict(self, samples: Samples) -> tuple[str, np.ndarray]:
        """Nothing, or why the step of the run is too long, with a better one, and the first record where it is."""
        h = self.settings.step
        errors = np.array([self.error(row, samples.ranges, h) for row in samples.rows])
        known = errors[~np.isnan(errors)]
        if not len(known) or np.count_nonzero(known > ABSURD) * 2 <= len(known):
            return "", samples.rows[:0]
        first = samples.rows[int(np.argmax(errors > ABSURD))]
        typical = float(np.median(known))
        how = f"{100 * typical:.2g} % of the motion" if typical < 100 else "many times the motion"
        better = self.better(samples)
        message = (
            f"the step of {h:.3g} s is too long for this motion: it makes an error of {how} "
            f"in a single step; try {f'step={better:g}' if better else 'a much smaller step'} or method='dopri5'"
        )
        return message, first

    def better(self, samples: Samples) -> float | None:
        """A step [s] with a small error at the first sample, where things have not gone wrong yet, if one is found."""
        for halvings in range(1, HALVINGS):
            h = self.settings.step / 2**halvings
            if not self.error(samples.rows[0], samples.ranges, h) >= FINE:
                return rounded(h)
        return None


def rounded(step: float) -> float:
    """A round number not above a step [s]."""
    power = 10.0 ** np.floor(np.log10(step) + 1e-12)
    share = step / power
    return float(f"{power * max(n for n in (1, 2, 5) if n <= share * (1 + 1e-9)):.1g}")
