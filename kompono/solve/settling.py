"""Whoever runs a program with laws has a settler: it gives the state behind an event at which guards of laws rose.

The native loop stops there; what happens at such an instant is in `instant.py`. The start of a run is one, too.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from kompono.compile.law_ties import are_untold, is_tied, told_ties
from kompono.compile.paced import Leaning
from kompono.errors import AssemblyError, ModelWarning, NoForces, RunError, warn
from kompono.translate.program import LAW_EVENTS, LawUnit

OVERLAP = 1e-6  # [m, rad] at the start
PIECES = 8  # of a step over crowded events


class Now(threading.local):
    """What holds for a run that settles: runs of an ensemble share a settler, each in a thread of its own."""

    def __init__(self) -> None:
        self.leaning = Leaning()  # below which speeds directions of slip in a plane lean
        self.known = np.zeros(0)  # what parts elsewhere told beside the guards that rose, for the next event
        self.idle: list[int] = []  # units that touched at the last event, held by joints
        self.tied = ""  # why forces may be rounding since the last event, see `compile/law_ties`
        self.shared: tuple[np.ndarray, bool] | None = None  # a state that is elsewhere, and whether laws are tied there
        self.turned = False  # whether slip that was straight has turned at the last event, and goes on


class Settler:
    """Chooses modes of all laws of a program."""

    natively = True  # native code may settle what it can, see `compile/law_settle.py`

    def __init__(self, kernel: Any, steps: bool = False, impacts: bool = False) -> None:
        self.steps = steps  # whether runs make equal steps over everything that happens, see `moreau.py`
        self.impacts = impacts  # whether what jams is stopped by an impact
        self.kernel, self.program, self.states = kernel, kernel.program, kernel.law_states()
        self.units: tuple[LawUnit, ...] = kernel.program.laws
        self.first_event = len(self.program.events) - len(LAW_EVENTS) * len(self.units)
        self.now, self.untold = Now(), are_untold(self.program)
        self.apart = bool(self.program.opaque) and "tied_derivative" in self.program.routines

    @property
    def looks_for_ties(self) -> bool:
        """Whether it is known at events which laws are tied; where all is here, who runs the machine looks."""
        return self.untold or self.apart

    @cached_property
    def table(self) -> Any:
        """The units as columns of numbers."""
        from kompono.solve.laws.table import UnitTable

        return UnitTable(self.units)

    def __call__(
        self, time: float, state: np.ndarray, inputs: np.ndarray, parameters: np.ndarray, fired: Sequence[int],
        step: float = 0.0,
    ) -> tuple[np.ndarray, list[int]]:  # fmt: skip
        """The state behind an event at which guards of some units `fired`, and numbers of what happened; `step` is
        that of the method [s], 0 if it varies.
        """
        from kompono.solve.instant import Instant
        from kompono.solve.laws.units import NoForcesFit

        instant = Instant(self, time, state.copy(), inputs, parameters, step)
        self._check_numbers(np.where(instant.touching[:, None], instant.view.numbers, 0.0))
        if not self.steps:  # which are as far inside as they moved
            self._check_shifts(instant.view.gap)
        try:
            struck = instant.strike(fired)
            try:
                changed = instant.choose(fired)
            except NoForcesFit as found:
                stopped = instant.unjam(found)
                if not stopped:
                    raise
                struck, changed = struck + stopped, instant.choose(())
        except NoForcesFit as found:
            raise NoForces(instant.jam(found)) from found
        turned = instant.straight & (instant.modes() > 0.0)
        self.now.idle, self.now.turned = instant.idle, bool(turned[list(fired)].any())
        state = instant.settled()
        if self.apart:
            self.now.shared = state.copy(), bool(instant.tied)
        else:
            self.now.tied = told_ties(self.units, instant.tied)
        return state, [self.first_event + len(LAW_EVENTS) * unit + what for unit, what in (*struck, *changed)]

    def ties(self, time: float, state: np.ndarray, inputs: np.ndarray, parameters: np.ndarray) -> bool:
        """Whether laws are tied at a state some of which is elsewhere: known where modes were chosen, or asked for."""
        known = self.now.shared
        if known is None or not np.array_equal(known[0], state):
            from kompono.solve.law_looks import LawLooks

            looks = LawLooks(self, time, inputs, parameters)
            self.states.ask_modes(state)
            looks.first(state)
            modes = self.states.modes(state)
            tied = is_tied(self.program, modes, lambda row: looks.column(row, state)[0])
            known = self.now.shared = state.copy(), tied
        return known[1]

    def mark(self, state: np.ndarray, units: np.ndarray) -> np.ndarray:
        """The same state, where slip of these units is marked as straight (`compile/straight_slip`)."""
        modes, places = self.states.modes(state), self.table.first_mode[units]
        modes[places] = -np.abs(modes[places])
        return self.states.with_modes(state, modes)

    def _check_numbers(self, numbers: np.ndarray) -> None:
        """Numbers (units, 5) are none where they left their bounds, see `Unit.numbers`."""
        names = ("mu", "mu_static", "limit", "limit_static", "restitution")
        for k, place in np.argwhere(np.isnan(numbers)):
            bounds = "0 to 1" if names[place] == "restitution" else "0 on"
            raise NoForces(f"{self.units[k].path}: {names[place]} is out of its bounds, from {bounds}")

    def _check_shifts(self, gaps: np.ndarray) -> None:
        """Nothing is inside of what an event put there."""
        for unit in self.units:
            if unit.shifts and unit.level == "position" and gaps[unit.row] < -OVERLAP:
                why = "two bodies overlap, or a limit is broken, by what changed at this instant"
                raise NoForces(f"{unit.path}: the gap is {gaps[unit.row]:.3g}: {why}")

    def step(
        self, time: float, state: np.ndarray, feed: Callable[[float], np.ndarray], parameters: np.ndarray, size: float,
        out: bool = False,
    ) -> tuple[np.ndarray, list[int]]:  # fmt: skip
        """The state a step of a size [s] later, whatever happens in it, and numbers of what did; `feed` gives inputs.
        `out`: nothing is inside of what it struck then.
        """
        from kompono.solve.moreau import MoreauStep  # few runs need it

        made = MoreauStep(self, time, state, feed, parameters, size, out)
        return made.end, [self.first_event + len(LAW_EVENTS) * unit + what for unit, what in made.happened]

    def leap(
        self, time: float, state: np.ndarray, feed: Callable[[float], np.ndarray], parameters: np.ndarray, size: float
    ) -> tuple[np.ndarray, list[int]]:  # fmt: skip
        """The same in some pieces, where events crowd: what is stable in steps of a size need not be so in these, which
        are of second order.
        """
        happened: list[int] = []
        for k in range(PIECES):
            state, more = self.step(time + k / PIECES * size, state, feed, parameters, size / PIECES, True)
            happened += more
        return state, happened

    def unsettled(
        self, time: float, state: np.ndarray, feed: Callable[[float], np.ndarray], parameters: np.ndarray, size: float
    ) -> str:
        """Which laws have no forces at or within `size` [s] after a state, in words; empty if that is not it."""
        from kompono.solve.unsettled import unsettled  # few runs need it

        return unsettled(self, time, state, feed, parameters, size)

    def start(
        self, time: float, state: np.ndarray, inputs: np.ndarray, parameters: np.ndarray, step: float = 0.0
    ) -> np.ndarray:
        """A state with modes that fit, before anything moves."""
        from kompono.solve.instant import STRIKES

        gaps = self.kernel.evaluate("law_view", time, state, inputs, parameters)[0]
        overlaps = [u for u in self.units if u.level == "position" and gaps[u.row] < -OVERLAP]
        if overlaps:
            deepest = min(overlaps, key=lambda unit: gaps[unit.row])
            more = len(overlaps) - 1
            others = f" {more} more {'gap overlaps' if more == 1 else 'gaps overlap'} less." if more else ""
            raise AssemblyError(
                f"the gap is {gaps[deepest.row]:.3g} at the start: two bodies overlap, or a limit is broken.{others}",
                path=deepest.path, fix="Start where nothing overlaps.",
            )  # fmt: skip
        state, happened = self(time, self._let_go(state, gaps), inputs, parameters, (), step)
        kinds = len(LAW_EVENTS)
        units = [
            (number - self.first_event) // kinds
            for number in happened
            if (number - self.first_event) % kinds == STRIKES
        ]
        struck = sorted({self.units[unit].path for unit in units})
        if struck:
            what = "strikes" if len(struck) == 1 else "strike"
            warn(f"{', '.join(struck)} {what} at the start: speeds are those after that blow.", ModelWarning)
        idle = sorted({self.units[unit].path for unit in self.now.idle})
        if idle:
            text = (
                "joints or drives hold what touches here: it bears nothing and does not rub. Joints rub by DryFriction."
            )
            warn(f"{', '.join(idle)}: {text}", ModelWarning)
        return state

    def _let_go(self, state: np.ndarray, gaps: np.ndarray) -> np.ndarray:
        """A state without gaps that were closed in a run before this one, which other parameters make wide."""
        from kompono.solve.instant import SHIFTED

        modes = self.states.modes(state)
        wide = [u.modes[0] for u in self.units if u.level == "position" and gaps[u.row] > SHIFTED and modes[u.modes[0]]]
        if not wide:
            return state
        modes[wide] = 0.0
        return self.states.with_modes(state, modes)


def settler_of(kernel: Any, steps: bool = False, impacts: bool = False) -> Settler | None:
    """What chooses the modes of a program's laws, told to whoever runs it; None if it has none."""
    if not kernel.program.laws:
        return None
    if not hasattr(kernel, "settle"):
        raise RunError("contact and dry friction are solved in native code only.", fix="Use native=True.")
    kernel.settle = Settler(kernel, steps, impacts)
    return kernel.settle
