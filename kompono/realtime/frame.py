"""What a frame of a live run offers: channels to read, inputs to write, and a way to end the run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property

import numpy as np

from kompono.errors import RunError, nearest


@dataclass(frozen=True)
class Live:
    """What an observer may know before the run begins: all channels it can read, with units, and inputs it can write.

    `frame` is the distance of frames [s], `speed` simulated seconds per second. `model` is the name of the model.
    """

    channels: tuple[str, ...]
    units: Mapping[str, str]
    inputs: tuple[str, ...]
    frame: float
    speed: float
    model: str = ""

    @cached_property
    def columns(self) -> dict[str, int]:
        """Places of channels by name."""
        return {name: i for i, name in enumerate(self.channels)}

    def find(self, patterns: str | Iterable[str]) -> list[int]:
        """Places of channels by name or glob, in the order of the patterns."""
        return _find(patterns, self.channels, "channel among those recorded", "Add it to channels=.")

    def find_inputs(self, patterns: str | Iterable[str] | None) -> list[int]:
        """Places of inputs by name or glob (None: all), in the order of the patterns."""
        if patterns is None:
            return list(range(len(self.inputs)))
        return _find(patterns, self.inputs, "input to be written", "Inputs fed by a table or a callable are not.")


def _find(patterns: str | Iterable[str], names: Sequence[str], what: str, hint: str) -> list[int]:
    found: dict[int, None] = {}
    for pattern in [patterns] if isinstance(patterns, str) else patterns:
        matches = [i for i, name in enumerate(names) if name == pattern or fnmatchcase(name, pattern)]
        if not matches:
            raise RunError(f"there is no {what} {pattern!r}.", fix=nearest(pattern, names) or hint)
        found.update(dict.fromkeys(matches))
    return list(found)


class LiveFrame:
    """The present of a running simulation, valid while the observer is called.

    `frame["pin.angle"]` reads a channel, `frame["torque"] = 3.0` writes an input, which holds from now on.
    `time` is the simulated time [s], `number` counts frames from 0, `load` and `delay` [s] are those of the frame just
    over, `final` tells the last one of a run that reached its end. Angles of joints that close loops are within a turn.
    """

    def __init__(
        self, live: Live, number: int, time: float, state: np.ndarray, held: np.ndarray, places: Sequence[int],
        evaluate: Callable[[], np.ndarray], *, load: float = 0.0, delay: float = 0.0, final: bool = False,
    ) -> None:  # fmt: skip
        self.live, self.number, self.time, self.state = live, number, time, state
        self.load, self.delay, self.final = load, delay, final
        self.stopped: str | None = None
        self._held, self._places, self._evaluate = held, places, evaluate
        self._values: np.ndarray | None = None

    @property
    def values(self) -> np.ndarray:
        """All channels (k,), in the order of `live.channels`; computed when first asked for."""
        if self._values is None:
            self._values = self._evaluate()
        return self._values

    def __getitem__(self, name: str) -> float:
        """The present value of a channel."""
        columns = self.live.columns
        return float(self.values[columns[name] if name in columns else self.live.find([name])[0]])

    def __setitem__(self, name: str, value: float) -> None:
        """Hold an input at a value from now on."""
        self.write(self.live.find_inputs([name]), [value])

    def write(self, inputs: Sequence[int], values: Sequence[float] | np.ndarray) -> None:
        """Hold inputs, by their places in `live.inputs`, at values from now on."""
        array = np.asarray(values, dtype=float)
        if not np.all(np.isfinite(array)):
            name = self.live.inputs[inputs[int(np.argmin(np.isfinite(array)))]]
            raise RunError(f"an input cannot be {array[~np.isfinite(array)][0]}.", path=name, fix="Write numbers.")
        self._held[[self._places[i] for i in inputs]] = array

    def stop(self, reason: str = "") -> None:
        """End the run here: as planned, or, with a reason, as one that ended early."""
        self.stopped = reason
