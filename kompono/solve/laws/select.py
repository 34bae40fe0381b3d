"""Choose modes that fit: the complementarity problem of all laws at one instant, on accelerations or velocities.

The present modes are tried first; the worst flaw is mended, ties together, until nothing is wrong. When modes repeat,
the first flaw by path is mended instead. What does not end that way starts again from the answer of other methods:
Lemke's on polygonal friction, Newton's on the projected equations, all combinations where they are few, random modes.
Whatever a method proposes is mended and checked by the same rules, so that there is one meaning of a fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from kompono.solve.laws.check import ONE_SIDED, Flaw, Freedom, flaws, limited
from kompono.solve.laws.forces import HELD, OFF, SLIDES, System, UnitStates, choice_of, solve, state_of
from kompono.solve.laws.jam import critical_friction
from kompono.solve.laws.proposals import proposals
from kompono.solve.laws.tearing import Looked, looked_on
from kompono.solve.laws.units import Kind, LawProblem, NoForcesFit, SolvedUnit, UnitChoice, UnitMode

TIE = 1e-6  # flaws as large as the worst but for this part are mended with it
TORN_TIE = 0.5  # the same where rows tear at each other: what gives way at next to the same time
PASSES = 6  # for directions, before modes are looked at again
AT_LIMIT = 1e-8  # of what friction may be: it is at its limit
UNLOADED = 1e-9  # of the largest force of a contact: what slips with less is about to open


def select(
    problem: LawProblem, units: Sequence[SolvedUnit], start: UnitChoice, free: Sequence[bool] | np.ndarray,
    excluded: Mapping[int, UnitMode] | None = None,
) -> UnitChoice:  # fmt: skip
    """Modes, directions and multipliers that fit all laws at once, near those of `start`.

    `free` (units) may change; others keep mode and direction, but friction that slides (its direction is given in
    `start`, even while it is off) is switched with its contact. `excluded` modes are never chosen. Raises NoForcesFit.
    """
    return Search(System(problem, units), start, free, excluded or {}).found()


def _fits(looked: Looked) -> bool:
    return looked[1] and not looked[2]


class Search:
    """One search for modes; `solves` counts the sets of modes that were tried."""

    def __init__(
        self, system: System, start: UnitChoice, free: Sequence[bool] | np.ndarray, excluded: Mapping[int, UnitMode]
    ) -> None:
        self.system, self.start, self.solves = system, state_of(start), 0
        self.freedom = Freedom([bool(value) for value in free], {unit: int(mode) for unit, mode in excluded.items()})
        planar = int(Kind.PLANAR)
        self.turning = [k for k, kind in enumerate(system.layout.kinds) if kind == planar and self.freedom.free[k]]
        self.concerned: set[int] = set()
        self.tear = 0.0
        if system.problem.driven:
            self._look_at_tearing()

    def found(self) -> UnitChoice:
        """The first consistent choice."""
        for state, looked in self._starts():
            choice = self.mended(state, looked)
            if choice is not None:
                return choice
        cause, critical = critical_friction(self.system, self.start, self.freedom)
        concerned = cause or sorted(self.concerned)
        raise NoForcesFit(concerned, critical, [self.system.layout.paths[unit] for unit in concerned])

    def _starts(self) -> Iterator[tuple[UnitStates, Looked | None]]:
        """Where to begin, with what is known of it."""
        for state in self._together():
            yield state, None
        begun = self.tidy(self.start.copy())
        looked = self._looked(begun)
        if self._closing(looked):
            squeezed = self._squeezed(begun)
            held = self._looked(squeezed)
            if _fits(held):
                yield squeezed, held
        yield begun, looked
        for state in proposals(self.system, self.tidy(self.start.copy()), self.freedom):
            yield self.tidy(state), None

    def _look_at_tearing(self) -> None:
        """If rows that are held now tear at each other: how far that has gone when the first gives way. Nothing need be
        excluded then, for such modes do not fit.
        """
        state = self.start.copy()
        looked_on(self._looked_once, state)
        if state.torn:
            self.tear, self.freedom = state.tear, Freedom(self.freedom.free, {})

    def _together(self) -> Iterator[UnitStates]:
        """Where friction has just reached its limit, all that has slips at once: which of several was seen first is
        rounding. What bears next to nothing any more lifts.
        """
        layout = self.system.layout
        left = [unit for unit in self.freedom.excluded if layout.kinds[unit] != ONE_SIDED]
        if not left:
            return
        state = self.tidy(self.start.copy())
        for unit in left:
            state.modes[unit] = HELD
        z, _ = solve(self.system, state, self.turning, PASSES)
        at_limit = limited(self.system, state, z, self.freedom, AT_LIMIT)
        pushing = [row for k, kind in enumerate(layout.kinds) if kind == ONE_SIDED for row in layout.rows[k]]
        least = UNLOADED * max((float(z[row]) for row in pushing), default=0.0)
        for unit, way in at_limit.items():
            state.modes[unit], state.ways[unit] = SLIDES, way
        for unit in at_limit:
            contact = layout.contacts[unit]
            if contact is not None and self.freedom.free[contact] and float(z[layout.rows[contact][0]]) < least:
                state.modes[contact] = OFF
                self._follow(state, contact)
        if not at_limit.keys() <= set(left) or any(state.modes[unit] == OFF for unit in at_limit):
            yield self.tidy(state)

    def _closing(self, looked: Looked) -> bool:
        """Whether contacts close, where so many may stick that it is open which of them bear."""
        layout, free = self.system.layout, self.freedom.free
        rough = {layout.contacts[k] for k in range(layout.count) if layout.contacts[k] is not None and free[k]}
        closing = any(flaw.mode == HELD and layout.kinds[flaw.unit] == ONE_SIDED for flaw in looked[2])
        return closing and len(rough) > 2 and not self.freedom.excluded

    def _squeezed(self, begun: UnitStates) -> UnitStates:
        """All contacts that bear without friction, sticking. What jaws squeeze is held in many ways: closed one after
        the other, as each is pressed, contacts would end with few that bear, and some that slip.
        """
        layout, state = self.system.layout, begun.copy()
        smooth = [k for k in range(layout.count) if layout.contacts[k] is None or not self.freedom.free[k]]
        for unit in self._bearing(smooth):
            state.modes[unit] = HELD
            self._follow(state, unit)
        return state

    def _bearing(self, smooth: list[int]) -> list[int]:
        """Contacts that bear if only these units act."""
        system, layout, place = self.system, self.system.layout, {unit: i for i, unit in enumerate(smooth)}
        rows = [row for unit in smooth for row in layout.rows[unit]]
        at = {row: i for i, row in enumerate(rows)}
        units = []
        for unit in smooth:
            (first, last), contact = layout.measures[unit], layout.contacts[unit]
            found = (Kind(layout.kinds[unit]), at[layout.rows[unit][0]], None if contact is None else place[contact])
            units.append(SolvedUnit(*found, first, last - first, layout.paths[unit]))
        numbers = (values[smooth] for values in (system.problem.mu, system.problem.mu_static))
        limits = (values[smooth] for values in (system.problem.limit, system.problem.limit_static))
        answer = system.A[np.ix_(rows, rows)], system.b[rows], system.B[:, rows], system.n0
        part = LawProblem(*answer, *numbers, *limits, driven=system.problem.driven)
        ways = np.array([self.start.ways[unit] for unit in smooth])
        start = UnitChoice(np.array([self.start.modes[unit] for unit in smooth]), ways, np.zeros(len(rows)))
        try:
            found = select(part, units, start, [self.freedom.free[unit] for unit in smooth])
        except NoForcesFit:
            return []
        return [unit for i, unit in enumerate(smooth) if layout.kinds[unit] == ONE_SIDED and found.modes[i] == HELD]

    def _looked(self, state: UnitStates) -> Looked:
        """Multipliers of these modes, whether directions were found, and what is wrong."""
        return looked_on(self._looked_once, state)

    def _looked_once(self, state: UnitStates) -> Looked:
        z, settled = solve(self.system, state, self.turning, PASSES)
        self.solves += 1
        state.z = z
        return z, settled, flaws(self.system, state, z, self.freedom)

    def mended(self, state: UnitStates, looked: Looked | None = None) -> UnitChoice | None:
        """Mend flaws one after the other, or nothing if that does not end."""
        layout, seen, patient = self.system.layout, set(), True
        for _ in range(20 + 6 * layout.count):
            (z, settled, wrong), looked = looked or self._looked(state), None
            if not wrong and settled:
                return choice_of(state, z)
            if not wrong:
                continue
            self.concerned.update(flaw.unit for flaw in wrong)
            key = tuple(zip(state.modes, ((x > 0, y > 0) for x, y in state.ways), strict=True))
            if key in seen:
                if not patient:
                    return None
                patient = False
                seen.clear()
            seen.add(key)
            if not self._changed(state, wrong, patient):
                return None
        return None

    def _changed(self, state: UnitStates, wrong: list[Flaw], patient: bool) -> bool:
        """Mend the worst flaws (patient), or the first by path; whether anything could be mended."""
        wrong = [flaw for flaw in wrong if flaw.mode is not None]
        if not wrong:
            return False
        if patient:
            worst = max(flaw.size for flaw in wrong) * (1.0 - (TORN_TIE if state.torn else TIE))
            chosen = [flaw for flaw in wrong if flaw.size >= worst]
        else:
            chosen = [min(wrong, key=lambda flaw: self.system.layout.order.index(flaw.unit))]
        for flaw in chosen:
            if flaw.mode is not None:
                state.modes[flaw.unit] = flaw.mode
                state.ways[flaw.unit] = flaw.way
        for flaw in chosen:
            if self.system.layout.kinds[flaw.unit] == ONE_SIDED:
                self._follow(state, flaw.unit)
        return True

    def _follow(self, state: UnitStates, contact: int) -> None:
        """Friction of a contact that opened or closed."""
        for unit in self.system.layout.frictions[contact]:
            if state.modes[contact] == OFF:
                state.modes[unit] = OFF
            elif state.modes[unit] == OFF:
                self._begin(state, unit)

    def _begin(self, state: UnitStates, unit: int) -> None:
        """Friction that begins to act: it goes on sliding, or sticks if it may."""
        way = self.start.ways[unit]
        moving = way != (0.0, 0.0)
        if (moving and not self.freedom.free[unit]) or not self.freedom.allows(unit, HELD):
            state.modes[unit], state.ways[unit] = SLIDES, way if moving else self._incipient(state, unit)
        else:
            state.modes[unit] = HELD

    def _incipient(self, state: UnitStates, unit: int) -> tuple[float, float]:
        """The direction in which a unit would begin to slip: against the force that holds it, else as it moves."""
        rows = list(self.system.layout.rows[unit])
        held = state.copy()
        held.modes[unit] = HELD
        z, _ = solve(self.system, held)
        value = -z[rows]
        if not value.any():
            value = (self.system.b + self.system.A @ z)[rows]
        size = float(np.linalg.norm(value))
        parts = (value / size).tolist() if size > 0.0 else [1.0]
        return (parts[0], parts[1] if len(parts) == 2 else 0.0)

    def tidy(self, state: UnitStates) -> UnitStates:
        """Modes without contradictions: none that is excluded, friction only where its contact is closed."""
        layout, allows, free = self.system.layout, self.freedom.allows, self.freedom.free
        state.tear = self.tear
        for unit, kind in enumerate(layout.kinds):
            if kind == ONE_SIDED and not allows(unit, state.modes[unit]):
                state.modes[unit] = HELD if state.modes[unit] == OFF else OFF
        for unit, kind in enumerate(layout.kinds):
            contact = layout.contacts[unit]
            if kind == ONE_SIDED:
                self._follow(state, unit)
            elif contact is None and state.modes[unit] == OFF and free[unit]:
                self._begin(state, unit)
        for unit, kind in enumerate(layout.kinds):
            mode = state.modes[unit]
            if kind == ONE_SIDED or mode == OFF:
                continue
            if not allows(unit, mode):
                state.modes[unit] = SLIDES if mode == HELD else HELD
            if state.modes[unit] == SLIDES and state.ways[unit] == (0.0, 0.0):
                state.ways[unit] = self._incipient(state, unit)
        return state
