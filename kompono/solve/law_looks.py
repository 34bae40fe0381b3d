"""What laws are at one instant, asked with as few questions as can be: parts elsewhere are a round trip away.

Routines are those of `translate/parts/law_routines.py`; open models have two of them, `law_view` and `law_respond`.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from kompono.solve.laws.units import Kind

if TYPE_CHECKING:
    from kompono.solve.settling import Settler

VIEWED = 5  # columns of a view
MOTION = 18  # numbers of the motion of a port; the last six are its speeds
Column = tuple[np.ndarray, ...]


@dataclass
class LawView:
    """The laws at a state: gap, rate and free acceleration of the rows, free measures, five numbers of each unit."""

    gap: np.ndarray
    rate: np.ndarray
    w: np.ndarray
    measures: np.ndarray
    numbers: np.ndarray


class LawLooks:
    """Questions at one time; `met` is the state with speeds that meet all conditions, where that was told."""

    def __init__(self, settler: Settler, time: float, inputs: np.ndarray, parameters: np.ndarray) -> None:
        self._settler, self._time, self._inputs, self._parameters = settler, time, inputs, parameters
        self._routines = settler.program.routines
        self._columns: dict[int, Column] = {}
        self._moves = np.zeros((0, MOTION))  # of ports, where they were told
        self.met: np.ndarray | None = None

    def first(self, state: np.ndarray) -> LawView:
        """The laws at a state, with what forces on all rows do if that can be asked for at once; what parts elsewhere
        wait for is not asked again if it was told beside the guards.
        """
        if "law_columns" not in self._routines:
            return self._view("law_view", state)
        size = max(unit.row + (unit.kind == Kind.PLANAR) for unit in self._settler.units) + 1
        forces = np.eye(size).ravel()
        now = self._settler.now
        known, now.known = now.known, np.zeros(0)
        if not len(known):
            return self._view("law_columns", state, forces)
        met = known[len(known) - len(state) :] if "met" in dict(self._routines["law_columns"].outputs) else None
        waited = known if met is None else known[: len(known) - len(state)]
        view = self._view("law_known", state if met is None else met, np.concatenate([forces, waited]))
        self.met = met
        return view

    def again(self, state: np.ndarray) -> LawView:
        """The laws behind a blow: `met`, or the first state if there was none, with other speeds."""
        if "law_foretold" in self._routines:
            return self._view("law_foretold", state, self._moves.ravel())
        return self._view("law_again" if "law_again" in self._routines else "law_view", state)

    def column(self, row: int, state: np.ndarray) -> Column:
        """What a unit force on a row does: to rows, measures, speeds, and ports where these are of interest."""
        if row not in self._columns:
            force = np.zeros(dict(self._routines["law_view"].outputs)["gap"])
            force[row] = 1.0
            self._columns[row] = tuple(self._evaluate("law_respond", state, force))
        return self._columns[row]

    def push(self, impulse: float, column: Column) -> None:
        """Speeds have changed by an impulse on a row."""
        if len(self._moves):
            self._moves[:, -6:] += impulse * column[-1].reshape(-1, 6)

    def _evaluate(self, routine: str, state: np.ndarray, more: np.ndarray | None = None) -> list[np.ndarray]:
        given = self._parameters if more is None else np.concatenate([self._parameters, more])
        return self._settler.kernel.evaluate(routine, self._time, state, self._inputs, given)

    def _view(self, routine: str, state: np.ndarray, more: np.ndarray | None = None) -> LawView:
        found = self._evaluate(routine, state, more)
        self.met = None
        if len(found) > VIEWED:
            self._remember([name for name, _ in self._routines[routine].outputs], found)
        return LawView(found[0], found[1], found[2], found[3], found[4].reshape(-1, 5))

    def _remember(self, names: list[str], found: list[np.ndarray]) -> None:
        """What is told beside a view."""
        starts = [k for k in range(VIEWED, len(names)) if names[k] == "w"]
        if starts:
            self._columns = {row: tuple(found[k:j]) for row, (k, j) in enumerate(pairwise([*starts, len(names)]))}
        if "met" in names:
            self.met = found[names.index("met")]
        if "moves" in names:
            self._moves = found[names.index("moves")].reshape(-1, MOTION).copy()
