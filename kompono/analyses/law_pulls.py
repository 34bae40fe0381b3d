"""Gradients that come back through changes of contact and friction: the transposed of what `law_jumps` does to columns.

A run notes what its laws did. On the way back each such instant is a linear map of all ways in which the state before
it may move: these are found from the projection there, so that closed loops stay closed and what is held stays held,
and each is let through the event as a column is. That takes six impacts for each freedom and each parameter where
something strikes; where nothing does, a few evaluations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from kompono.analyses.law_jumps import JumpingSettler, LawChange
from kompono.solve.settling import Settler

NOTHING = 1e-10  # of the largest: ways that the projection leaves this little of are none


class NotingSettler(JumpingSettler):
    """The same, and notes each change."""

    def __init__(self, near: Settler, units: np.ndarray, inputs_at: Callable[[float], np.ndarray]) -> None:
        super().__init__(near, units, inputs_at)
        self.changes: list[LawChange] = []

    def jump(self, change: LawChange, columns: np.ndarray) -> np.ndarray:
        """Columns behind the change, which is noted."""
        self.changes.append(change)
        return super().jump(change, columns)


class PulledChanges:
    """Takes gradients back through changes; `projected(time, state, parameters)` is the derivative of the projection by
    state and asked parameters (state, state + names), whose places among all are `places` and sizes `scales`.
    """

    def __init__(
        self, near: Settler, inputs_at: Callable[[float], np.ndarray], projected: Callable[..., np.ndarray],
        places: Sequence[int], scales: Sequence[float],
    ) -> None:  # fmt: skip
        self._near, self._inputs_at, self._projected = near, inputs_at, projected
        self._places, self._scales = list(places), np.array(scales)
        first = len(near.program.coordinates) + len(near.program.speeds)
        self._modes = [first + place for unit in near.units for place in unit.modes]

    def pulled(self, change: LawChange, gradient: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The gradient by the state before a change, and what parameters get of it, from that behind it."""
        size = len(gradient)
        known = self._projected(*change.at)
        known[self._modes, :] = known[:, self._modes] = 0.0
        ways, sizes, mixed = np.linalg.svd(known[:, :size])
        rank = int(np.count_nonzero(sizes > NOTHING * sizes[0]))
        moved = known[:, size:] * self._scales
        units = np.zeros((len(change.at[2]), rank + len(self._places)))
        units[self._places, rank + np.arange(len(self._places))] = self._scales
        settler = JumpingSettler(self._near, units, self._inputs_at)
        found = gradient @ settler.jump(change, np.hstack([ways[:, :rank], moved]))
        before = (sizes[:rank] * found[:rank]) @ mixed[:rank]
        return before, found[rank:] / self._scales
