"""Python in the loop: a callable that reads signals and writes inputs at equal intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import casadi as ca

from kompono.errors import ModelError
from kompono.given import listed, number, scalar, shown
from kompono.model.element import Element
from kompono.model.event import Mode
from kompono.model.signal import Input

_FIX = "Use e.g. Controller(function, reads=[self.pin.angle], writes=[self.motor.voltage], every=1e-3)."


class Controller(Element):
    """A Python callable in the loop: every `every` [s], from `offset` on, `function(t, *reads)` is called and what it
    returns is held by the inputs `writes`: a number for one, as many numbers for several.

    `reads` are scalar signals or expressions, and may be results. What a callable remembers begins anew with each run:
    a class is instantiated, an object with `reset()` is told, others are set back; members of an ensemble have one
    each. One that raises, or returns no finite numbers, ends the run, which keeps its results.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        reads: Sequence[Any] = (),
        writes: Sequence[Input] | Input = (),
        every: float,
        offset: float = 0.0,
    ) -> None:
        if not callable(function):
            raise ModelError(f"{shown(function)} cannot be called.", fix=_FIX)
        self._function = function
        self.every = number(every, "every [s]", positive=True, fix=_FIX)
        self.offset = number(offset, "the offset [s]", fix=_FIX)
        self.writes = (writes,) if isinstance(writes, Input) else tuple(listed(writes, "what it writes", fix=_FIX))
        one = isinstance(reads, ca.SX) and reads.is_scalar()
        given = (reads,) if one else tuple(listed(reads, "what it reads", fix=_FIX))
        self.reads = [ca.SX(scalar(read, "what it reads", truth=True, fix=_FIX)) for read in given]
        for target in self.writes:
            if not isinstance(target, Input):
                raise ModelError(f"{shown(target)} is no input, and cannot be written.", fix=_FIX)
        if not self.writes:
            raise ModelError("it writes no input, so it would do nothing.", fix=_FIX)
        self._held = [self._mode(k, target) for k, target in enumerate(self.writes)]

    def _mode(self, number: int, target: Input) -> Mode:
        """What holds one of its answers; the callable says what it becomes."""
        mode = Mode(0.0, every=self.every, offset=self.offset, unit=target.unit)
        mode.next = ca.SX(mode)
        mode._owner, mode._name = self, f"held.{number}"  # type: ignore[assignment]
        return mode
