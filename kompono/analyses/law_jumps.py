"""Derivatives of a run through changes of contact and friction: what an event of laws does to the columns S = dy/dp.

An event happens where the guard h of a unit crosses zero, at a time that moves with the parameters,

    t' = - (h_y S + h_p) / (h_t + h_y f-),    S+ = R_y (S + f- t') + R_p + R_t t' - f+ t'

with rates f- and f+ before and behind it and the reset R. Where nothing strikes R leaves the state as it is. What an
impact does is an algorithm in Python; it, and guards, which see forces that redundant rows share, are differenced to
sixth order along the directions asked for. There a gap that touches goes on to touch, so that the same happens on all
sides; where it does not the run has no derivative, and says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kompono.errors import RunError
from kompono.solve.settling import Now, Settler
from kompono.translate.program import LAW_EVENTS

STENCIL = ((1, 45.0 / 60.0), (2, -9.0 / 60.0), (3, 1.0 / 60.0))  # of a first derivative, sixth order
STRIDE = 1e-4  # of one of its steps, for guards
SHORT = 3e-6  # for impacts: gaps must go on to touch
JUMP = 1e-9  # [m/s, rad/s] a change of speeds below this is none
TOGETHER = 1e-11  # [s] events closer than this are one
NOBODY = -1  # laws were asked without one, see `compile/paced`

At = tuple[float, np.ndarray, np.ndarray]  # time, state, parameters


@dataclass(frozen=True, eq=False)
class LawChange:
    """What laws did at an instant: time, state and parameters before it, the state behind it, numbers of what happened,
    the unit whose guard rose (or `NOBODY`: its time is held as ends of steps are), and the length of equal steps [s].
    """

    at: At
    after: np.ndarray
    happened: list[int]
    unit: int
    step: float


class JumpingSettler:
    """Chooses modes as `near` does for the state alone, and lets columns (state, k) behind it jump; `units`
    (parameters, k) are the directions in which parameters change.
    """

    steps = False

    def __init__(self, near: Settler, units: np.ndarray, inputs_at: Callable[[float], np.ndarray]) -> None:
        self.near, self.units, self.inputs_at = near, units, inputs_at
        self._last, self._size = -np.inf, near.program.state_size

    @property
    def now(self) -> Now:
        """What the run that settles in this thread tells."""
        return self.near.now

    def start(
        self, time: float, state: np.ndarray, inputs: np.ndarray, parameters: np.ndarray, step: float = 0.0
    ) -> Any:
        """A state with modes that fit; columns are as they are."""
        begun = self.near.start(time, state[: self._size], inputs, parameters, step)
        return np.concatenate([begun, state[self._size :]])

    def unsettled(self, time: float, state: np.ndarray, *others: Any) -> str:
        """Which laws have no forces, in words."""
        return self.near.unsettled(time, state[: self._size], *others)

    def leap(self, time: float, *_: Any) -> Any:
        """Steps over crowded events have no derivatives."""
        raise RunError(f"events crowd at {time:g} s: a run has no derivatives there.", fix="Ask until a time before.")

    def __call__(
        self, time: float, state: np.ndarray, inputs: np.ndarray, parameters: np.ndarray, fired: Sequence[int],
        step: float = 0.0,
    ) -> tuple[np.ndarray, list[int]]:  # fmt: skip
        """The state and its columns behind an event, and numbers of what happened."""
        before, columns = state[: self._size].copy(), state[self._size :].reshape(-1, self._size).T
        after, happened = self.near(time, before, inputs, parameters, fired, step)
        if self.now.leaning.asked:
            change = LawChange((time, before, parameters.copy()), after, happened, NOBODY, step)
            return np.concatenate([after, self.jump(change, columns).T.ravel()]), happened
        if not len(fired):
            raise RunError(
                f"what an event or a sample switches at {time:g} s catches something, and contact or friction settle "
                "behind that blow: a run has no derivatives there.", fix="Ask until a time before.",
            )  # fmt: skip
        if len(fired) > 1 or time - self._last < TOGETHER:
            path = self.near.units[int(fired[0])].path
            raise RunError(
                f"two changes happen together at {time:g} s: which comes first decides, so nothing is smooth.",
                path=path, fix="Ask until a time before, or tell them apart by a little.",
            )  # fmt: skip
        self._last = time
        change = LawChange((time, before, parameters.copy()), after, happened, int(fired[0]), step)
        return np.concatenate([after, self.jump(change, columns).T.ravel()]), happened

    def jump(self, change: LawChange, columns: np.ndarray) -> np.ndarray:
        """Columns (state, k) behind a change, from those before it."""
        if change.unit == NOBODY:
            return columns
        at, number = change.at, self.near.units[change.unit].guard
        time, _, parameters = at
        leaving, entering = self._rate(at), self._rate((time, change.after, parameters))
        still = np.zeros_like(parameters)

        def guard(t: float, y: np.ndarray, p: np.ndarray) -> np.ndarray:
            return self.near.kernel.evaluate("guards", t, y, self.inputs_at(t), p)[0][[number]]

        speed = _along(guard, at, (1.0, leaving, still), STRIDE)[0]
        found = []
        for column, unit_parameters in zip(columns.T, self.units.T, strict=True):
            later = -_along(guard, at, (0.0, column, unit_parameters), STRIDE)[0] / speed
            moved = column + later * leaving
            found.append(self._reset(change, (later, moved, unit_parameters)) - later * entering)
        return np.array(found).reshape(len(found), self._size).T

    def _reset(self, change: LawChange, way: At) -> np.ndarray:
        """What the reset does to a direction."""
        at, speeds = change.at, self.near.states.speeds
        if np.abs(change.after[speeds] - at[1][speeds]).max(initial=0.0) <= JUMP:
            return way[1]

        def settle(t: float, y: np.ndarray, p: np.ndarray) -> np.ndarray:
            there, events = self.near(t, y, self.inputs_at(t), p, [change.unit], change.step)
            if events != change.happened:
                raise RunError(
                    f"what an impact does at {at[0]:g} s changes with the least change of the motion.",
                    path=self.near.units[change.unit].path, fix="Ask until a time before.",
                )  # fmt: skip
            return there[speeds]

        moved = way[1].copy()
        moved[speeds] = _along(settle, at, way, SHORT)
        return moved

    def _rate(self, at: At) -> np.ndarray:
        time, state, parameters = at
        return self.near.kernel.evaluate("derivative", time, state, self.inputs_at(time), parameters)[0]


def _along(value: Callable[..., np.ndarray], at: At, way: At, stride: float) -> np.ndarray:
    """The derivative of a value at a time, a state and parameters along a direction of all three."""
    size = max(abs(way[0]), np.abs(way[1]).max(initial=0.0), np.abs(way[2]).max(initial=0.0))
    if not size:
        return np.zeros_like(value(*at))
    step, total = stride / size, 0.0
    for times, weight in STENCIL:
        for sign in (1.0, -1.0):
            there = [start + sign * times * step * change for start, change in zip(at, way, strict=True)]
            total = total + sign * weight * value(*there)
    return np.asarray(total) / step


def one_by_one(events: list[tuple[float, str]], program: Any) -> list[tuple[float, str]]:
    """Events with those that laws had at one instant as one: that they were is known where they happened."""
    laws = {f"{unit.path}.{what}" for unit in program.laws for what in LAW_EVENTS}
    kept: list[tuple[float, str]] = []
    for time, name in events:
        if not (kept and name in laws and kept[-1][1] in laws and kept[-1][0] == time):
            kept.append((time, name))
    return kept
