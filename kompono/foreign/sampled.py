"""Co-simulation as a sampled controller: an FMU that is stepped at whole multiples of its period.

At an instant the FMU makes its step up to it with the inputs it was given at the instant before, then is given those of
now, and its outputs are held until the next instant. So everything that passes through it is late by up to one period.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from kompono.errors import RunError
from kompono.foreign.archive import Unpacked
from kompono.foreign.instance import Instance
from kompono.foreign.told import Told

Read = Callable[[str], float]


class Stepper:
    """An FMU for co-simulation in one run; all its outputs share it."""

    def __init__(
        self, unpacked: Unpacked, told: Told, values: Mapping[str, float], every: float, kind: type[Instance] = Instance
    ) -> None:
        self._unpacked, self._told, self._values, self._every = unpacked, told, dict(values), every
        self._kind = kind
        self.inputs: Callable[[], Sequence[str]] = tuple  # channels that feed it
        self._instance: Instance | None = None
        self.reset()

    def reset(self) -> None:
        """A run begins."""
        self._count, self._outputs = -1, np.zeros(0)

    def __deepcopy__(self, memo: dict[int, Any]) -> Stepper:
        made = Stepper(self._unpacked, self._told, self._values, self._every, self._kind)
        made.inputs = self.inputs
        memo[id(self)] = made
        return made

    def output(self, number: int, time: float, read: Read) -> float:
        """An output at an instant; whoever asks first makes the step."""
        count = round(time / self._every)
        if count != self._count:
            self._go(count, read)
        return float(self._outputs[number])

    def _go(self, count: int, read: Read) -> None:
        if self._instance is None:
            self._instance = self._kind(self._unpacked, self._told, "cs", self._values)
        elif self._count < 0:
            self._instance.begin()
        if self._count >= 0 and count != self._count + 1:
            raise RunError(
                f"the FMU was at {self._count * self._every:g} s and is asked for {count * self._every:g} s."
            )
        if self._count >= 0:
            self._instance.step(self._count * self._every, self._every)
        given = [read(name) for name in self.inputs()]
        if given:
            self._instance.write([v.reference for v in self._told.inputs], given)
        self._outputs = self._instance.read([v.reference for v in self._told.outputs])
        self._count = count


class Held:
    """One output of a stepper, as a callable input."""

    def __init__(self, stepper: Stepper, number: int) -> None:
        self.stepper, self.number = stepper, number

    def reset(self) -> None:
        """A run begins."""
        self.stepper.reset()

    def __call__(self, t: float, read: Read) -> float:
        """Its value from now on."""
        return self.stepper.output(self.number, t, read)
