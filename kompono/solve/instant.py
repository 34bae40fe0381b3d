"""What laws do at an event: who strikes whom, then what holds and what slides from here on.

The rows that are concerned (gaps that are closed or touch, friction that acts) are asked for their answer to each
other's forces, A = W M^-1 W^T with all joints held. Where something approaches, speeds jump (`laws/impact.py`). Then
modes are chosen so that accelerations and forces fit (`laws/select.py`), and what holds is brought to rest exactly.
A contact whose rebound would be lower than `LOWEST` closes for good, so that a bouncing ball comes to rest, and so does
one that a blow elsewhere lifts less than that: else two stops of one machine would hand on what is left for ever.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from kompono.compile.law_bounds import (
    BRIEF,
    CLOSES,
    LOWEST,
    NEAR,
    OPENS,
    PARTING,
    RESTING,
    SLIPS,
    SLOW,
    STICKS,
    STRIKES,
    TOUCHING,
)
from kompono.compile.slow_slip import finest
from kompono.solve.law_looks import Column, LawLooks
from kompono.solve.laws.alone import impulse_alone, mode_alone
from kompono.solve.laws.impact import impact
from kompono.solve.laws.leaning import leaning_below
from kompono.solve.laws.select import select
from kompono.solve.laws.straight import unmarked
from kompono.solve.laws.tied import tied_units
from kompono.solve.laws.turned import turning
from kompono.solve.laws.units import Kind, LawProblem, LawsInPlay, NoForcesFit, SolvedUnit, UnitChoice, UnitMode

if TYPE_CHECKING:
    from kompono.solve.settling import Settler

JAMMED = 1e-6  # a slip speed [m/s, rad/s] below which what no forces keep sliding stops
IMMOBILE = 1e-12  # of the mobility of other rows: what a row has less is rounding
SHIFTED = 1e-8  # [m, rad] a gap that events made this wide is not closed any more
STILL = np.zeros(2)


class Instant:
    """One moment of a machine whose laws settle; `state` changes."""

    def __init__(
        self, settler: Settler, time: float, state: np.ndarray, inputs: np.ndarray, parameters: np.ndarray, step: float
    ) -> None:
        self.settler, self.time, self.state, self.inputs, self.parameters = settler, time, state, inputs, parameters
        self.step = min(step or BRIEF, settler.now.leaning.times * finest(step))
        self.units, self.table = settler.units, settler.table
        self._looks = LawLooks(settler, time, inputs, parameters)
        self.asked: list[int] = []  # units of the last small problem
        self.idle: list[int] = []  # gaps that are closed, but that joints and drives hold
        self.tied: list[int] = []  # units that hold the same on both sides of a border, if that is looked for
        settler.states.ask_modes(state)
        self.view = self._looks.first(state)
        self._modes, self.straight = unmarked(settler.states.modes(state), self.table)  # all of them, as they change
        self.before = self.modes()  # the first of each unit
        self.modes_before = self._modes.copy()
        self.touching, self._struck, self.turned = self._touching(), False, set[int]()

    def modes(self) -> np.ndarray:
        """The first mode of each unit now: closed, or slips."""
        return self._modes[self.table.first_mode]

    def settled(self) -> np.ndarray:
        """The state with the modes that were chosen."""
        return self.settler.states.with_modes(self.state, self._modes)

    def continue_at(self, state: np.ndarray) -> None:
        """Go on with another state, whose modes are the present ones but where laws choose others."""
        self.state, self._modes = state, unmarked(self.settler.states.other_modes(self._modes, state), self.table)[0]

    def column(self, row: int) -> Column:
        """What a unit force on a row does: to rows, measures and speeds."""
        return self._looks.column(row, self.state)

    def rows(self, number: int) -> list[int]:
        """The rows of a unit."""
        unit = self.units[number]
        return [unit.row, unit.row + 1] if unit.kind == Kind.PLANAR else [unit.row]

    def _touching(self) -> np.ndarray:
        """Of each unit: whether its gap is closed, or was; whether friction acts there."""
        table, view = self.table, self.view
        near = np.where(table.by_speed, view.rate[table.row] < SLOW, view.gap[table.row] < TOUCHING)
        gone = table.shifts & (view.gap[table.row] > SHIFTED)
        return table.of_contact(near | ((self.before > 0) & ~gone), without=True)

    # -- impacts

    def strike(self, fired: Sequence[int]) -> list[tuple[int, int]]:
        """Let what approaches strike: speeds jump. What happened, by unit."""
        near = self.table.gap & self.touching & (self.view.rate[self.table.row] < -RESTING)
        approach = np.flatnonzero(near).tolist()
        if not approach:
            return []
        chosen = self._bearing()
        if len(chosen) == 1 and self._mobility(approach[0]) > 0.0:
            row, a = self.units[approach[0]].row, self._mobility(approach[0])
            self._jump([row], [impulse_alone(a, float(self.view.rate[row]), self._restitution(approach[0]))])
        else:
            self._strike_together(approach, chosen)
        return [(k, STRIKES) for k in approach]

    def _strike_together(self, approach: Sequence[int], chosen: Sequence[int]) -> None:
        """The impulses of several rows that may move one another."""
        part = self._part(chosen, self.view.rate)
        rebound = np.array([self._restitution(k) for k in chosen])
        named = {self.units[k].impact for k in approach}
        law = named.pop() if len(named) == 1 else "poisson"  # the one that never adds energy, where several meet
        impulses, after = impact(part.problem, part.units, rebound, law)
        left = np.minimum(-RESTING, NEAR * part.problem.b)  # speeds that are as good as none
        through = [i for i, k in enumerate(chosen) if k in approach and (after < left)[part.units[i].row]]
        if through:
            raise NoForcesFit(through)
        self._jump(part.rows, impulses)

    def unjam(self, jam: NoForcesFit) -> list[tuple[int, int]]:
        """Stop slip that no forces can go with, if that is allowed or it is all but over: an impact without collision.
        It is the one of a contact that closes next to not at all: as its friction presses it together, the impulse
        grows until it no longer slips. What happened, by unit; nothing if nothing can be stopped.
        """
        concerned = {self.asked[k] for k in jam.units if k < len(self.asked)}
        slips = {k: float(np.linalg.norm(self.view.rate[self.rows(k)])) for k in self.asked}
        jammed = [
            self.units[k].contact for k in self.asked
            if self.units[k].contact >= 0 and concerned & {k, self.units[k].contact} and slips[k] > SLOW
            and (self.settler.impacts or slips[k] <= JAMMED)
        ]  # fmt: skip
        if not jammed:
            return []
        rate = self.view.rate.copy()
        rate[[self.units[k].row for k in jammed]] = -0.5 * RESTING
        chosen = self._bearing()
        part = self._part(chosen, rate)
        impulses, _ = impact(part.problem, part.units, np.zeros(len(chosen)), "poisson")
        if not np.any(impulses):
            return []
        self._jump(part.rows, impulses)
        return [(k, STRIKES) for k in dict.fromkeys(jammed)]

    def _mobility(self, number: int) -> float:
        """How a force on the first row of a unit moves that row."""
        return float(self.column(self.units[number].row)[0][self.units[number].row])

    def _bearing(self) -> list[int]:
        """Units that take impulses: all that touch, but friction that no impulse limits, which gives way."""
        table = self.table
        limited = table.measured & (self.view.numbers[:, 0] != 0)
        return np.flatnonzero(self.touching & ((table.own >= 0) | limited)).tolist()

    def _restitution(self, number: int) -> float:
        """That of a unit, none where the rebound would be too low to matter, or it does not approach: what rests closed
        while another contact is struck bears the blow, and rounding of its speed must not decide on that.
        """
        unit = self.units[number]
        if unit.kind != Kind.ONE_SIDED:
            return 0.0
        given, speed = self.view.numbers[number, 4], -self.view.rate[unit.row]
        back = max(-self.view.w[unit.row], 0.0)
        return 0.0 if speed <= RESTING or given * speed <= np.sqrt(2 * back * LOWEST) else float(given)

    def _jump(self, rows: Sequence[int], impulses: Sequence[float] | np.ndarray) -> None:
        """Change the speeds, and look again."""
        self._struck = True
        self.state = self.state if self._looks.met is None else self._looks.met
        self._push(rows, impulses)
        self.view = self._looks.again(self.state)

    def _push(self, rows: Sequence[int], impulses: Sequence[float] | np.ndarray) -> None:
        """Change the speeds by impulses on some rows."""
        for row, impulse in zip(rows, impulses, strict=True):
            if impulse:
                column = self.column(row)
                self.state = self.settler.states.faster(self.state, self.state, impulse, column[2])
                self._looks.push(impulse, column)

    # -- modes

    def choose(self, fired: Sequence[int]) -> list[tuple[int, int]]:
        """Choose modes that fit and bring to rest what holds. What happened, by unit."""
        table, parted, self.tied = self.table, np.zeros(len(self.units), dtype=bool), []
        self.turned = set() if self._struck else turning(self, fired)
        opening = np.flatnonzero(table.gap & (self.view.rate[table.row] > RESTING))
        parted[[k for k in opening.tolist() if self._parts(k)]] = True
        while True:
            left = self.touching & ~table.of_contact(parted, without=False)
            chosen = np.flatnonzero(left).tolist()
            self._modes[table.places[~left[table.owner]]] = 0.0
            if not chosen or (len(chosen) == 1 and self._chosen_alone(chosen[0], chosen[0] in fired)):
                return self._changes()
            part = self._part(chosen, self.view.w)
            self.idle = self._immobile(chosen, part)
            start = self._start(chosen)
            free = np.array([self._free(k) for k in chosen])
            left = {i: UnitMode.HELD for i, k in enumerate(chosen) if k in fired and self._held(k)}
            try:
                found = self._selected(part, start, free, left)
                lifted = self._lifted(chosen, part, found)
            except NoForcesFit:
                lifted = {k for k in chosen if self._opens(k)}
                if not lifted:
                    raise
            if not lifted:
                break
            parted[list(lifted)] = True
        self.tied = tied_units(self.units, chosen, part, found) if self.settler.looks_for_ties else []
        slow = self._slow(part, found)
        for i, number in enumerate(chosen):
            self._write(number, UnitMode(int(found.modes[i])), found.directions[i], slow[i])
        self._rest(chosen, found)
        return self._changes()

    def _immobile(self, chosen: Sequence[int], part: LawsInPlay) -> list[int]:
        mobility = part.problem.A.diagonal()
        still = mobility <= IMMOBILE * mobility.max(initial=0.0)
        return [k for i, k in enumerate(chosen) if self.table.gap[k] and still[part.units[i].row]]

    def _lifted(self, chosen: Sequence[int], part: LawsInPlay, found: UnitChoice) -> set[int]:
        """Units that were to be held, but fly higher than LOWEST if they are let go: their force says how soon they
        would be back.
        """
        lifted = set()
        for i, number in enumerate(chosen):
            row, speed = part.units[i].row, float(self.view.rate[self.units[number].row])
            if found.modes[i] == UnitMode.HELD and self._opens(number):
                back = max(float(part.problem.A[row, row] * found.z[row]), 0.0)
                if speed * speed > 2 * back * LOWEST:
                    lifted.add(number)
        return lifted

    def _chosen_alone(self, number: int, fired: bool) -> bool:
        """Choose the mode of the only unit that acts, if that is obvious."""
        unit = self.units[number]
        if unit.kind == Kind.PLANAR or unit.count:
            return False
        slip, b, numbers = float(self.view.rate[unit.row]), float(self.view.w[unit.row]), self.view.numbers[number]
        way = float(np.sign(slip)) if unit.kind == Kind.DRY and self._speed(number) > SLOW else 0.0
        limits, left = (float(numbers[2]), float(numbers[3])), fired and self._held(number)
        found = mode_alone(unit.kind, self._mobility(number), b, limits, way, left)
        if found is None:
            return False
        if self._opens(number) and slip * slip > -2.0 * b * LOWEST:  # it flies higher than that, if let go
            found = UnitMode.OFF, 0.0
        self._write(number, found[0], np.array([found[1], 0.0]))
        if found[0] == UnitMode.HELD and slip:
            self._push([unit.row], [-slip / self._mobility(number)])
        return True

    def _selected(self, part: LawsInPlay, start: UnitChoice, free: np.ndarray, left: dict[int, UnitMode]) -> UnitChoice:
        """Modes that fit. What left its mode need not, where directions of slip that leaned are chosen anew."""
        try:
            return select(part.problem, part.units, start, free, left)
        except NoForcesFit:
            if not left:
                raise
        return select(part.problem, part.units, start, free)

    def _opens(self, number: int) -> bool:
        """Whether a unit is a gap that opens, be it next to not at all."""
        unit = self.units[number]
        return unit.kind == Kind.ONE_SIDED and bool(self.view.rate[unit.row] > RESTING)

    def _parts(self, number: int) -> bool:
        """Whether a gap opens by its speed, whatever acts on it; if it also slips, be it as slow as it may: to hold it
        would not stop that, as the blows to come would.
        """
        unit = self.units[number]
        fast = unit.level != "position" or bool(self.view.rate[unit.row] > PARTING)
        return self._opens(number) and (fast or self._slips(number))

    def _slips(self, contact: int) -> bool:
        """Whether friction of a contact slips."""
        own = [k for k, unit in enumerate(self.units) if unit.kind != Kind.ONE_SIDED and unit.contact == contact]
        return any(np.linalg.norm(self.view.rate[self.rows(k)]) > SLOW for k in own)

    def _held(self, number: int) -> bool:
        """Whether a unit was closed, or did stick."""
        unit, before = self.units[number], self.before[number]
        return bool(before > 0) if unit.kind == Kind.ONE_SIDED else bool(before == 0 and self._acted(number))

    def _speed(self, number: int) -> float:
        """How fast friction slips [m/s, rad/s]."""
        return 0.0 if number in self.turned else float(np.linalg.norm(self.view.rate[self.rows(number)]))

    def _acted(self, number: int) -> bool:
        return (contact := self.units[number].contact) < 0 or bool(self.before[contact] > 0)

    def _free(self, number: int) -> bool:
        """Whether a unit may change: one that slips goes on."""
        unit = self.units[number]
        return unit.kind == Kind.ONE_SIDED or self._speed(number) <= SLOW

    def _start(self, chosen: Sequence[int]) -> UnitChoice:
        """The modes there are; what slips does so in the direction of its speed."""
        modes, directions = np.zeros(len(chosen), dtype=int), np.zeros((len(chosen), 2))
        for i, number in enumerate(chosen):
            unit, slip = self.units[number], self.view.rate[self.rows(number)]
            if unit.kind == Kind.ONE_SIDED:
                modes[i] = UnitMode.HELD if self.before[number] > 0 else UnitMode.OFF
                continue
            modes[i] = UnitMode.HELD
            speed = self._speed(number)
            if speed > SLOW:
                modes[i] = UnitMode.SLIDES
                directions[i, : len(slip)] = slip / speed
        return UnitChoice(modes, directions, np.zeros(sum(len(self.rows(number)) for number in chosen)))

    def _rest(self, chosen: Sequence[int], found: UnitChoice) -> None:
        """Bring rows that hold to rest, and give gaps that are closed no speed."""
        held = [row for i, number in enumerate(chosen) if found.modes[i] == UnitMode.HELD for row in self.rows(number)]
        if not held or not np.any(self.view.rate[held]):
            return
        matrix = np.array([self.column(row)[0][held] for row in held]).T
        self._push(held, -np.linalg.lstsq(matrix, self.view.rate[held], rcond=1e-10)[0])

    def _slow(self, part: LawsInPlay, found: UnitChoice) -> np.ndarray:
        """The slip speed (units) below which the direction of planar friction leans to the chosen one."""
        speeds = np.array([np.linalg.norm(self.view.rate[self.rows(k)]) for k in self.asked])
        return leaning_below(part, found, speeds, self.step, self.settler.now.leaning)

    def _write(self, number: int, mode: UnitMode, direction: np.ndarray = STILL, slow: float = 0.0) -> None:
        unit = self.units[number]
        if unit.kind == Kind.ONE_SIDED:
            values = [float(mode == UnitMode.HELD)]
        elif unit.kind == Kind.DRY:
            values = [float(np.sign(direction[0])) if mode == UnitMode.SLIDES else 0.0]
        else:
            values = [slow * (mode == UnitMode.SLIDES), *direction]
        for place, value in zip(unit.modes, values, strict=True):
            self._modes[place] = value

    def _changes(self) -> list[tuple[int, int]]:
        table, old, new = self.table, self.before, self.modes()
        acts, acted = (table.of_contact(modes > 0, without=True) for modes in (new, old))
        turned = (np.sign(old) != np.sign(new)) | self._turned_round()
        changed = np.where(table.gap, old != new, acts & (turned | ~acted))
        found = []
        for number in np.flatnonzero(changed).tolist():
            names = (OPENS, CLOSES) if table.gap[number] else (STICKS, SLIPS)
            found.append((number, names[int(new[number] != 0)]))
        return found

    def _turned_round(self) -> np.ndarray:
        """Of each unit: whether it slips in a plane, and slip passed through nothing and goes on against the direction
        chosen before; where there is some, its direction turns by and by, which is no event.
        """
        turned, planar, places = np.zeros(len(self.units), dtype=bool), self.table.planar, self.table.direction
        if planar.size:
            row, against = self.table.row[planar], (self.modes_before[places] * self._modes[places]).sum(axis=1) < 0
            slow = np.hypot(self.view.rate[row], self.view.rate[row + 1]) <= SLOW
            turned[planar] = against & (slow | np.isin(planar, list(self.turned)))
        return turned

    def jam(self, found: NoForcesFit) -> str:
        """Where no forces fit, and what friction there is too much, in words."""
        concerned, why = [self.asked[k] for k in found.units if k < len(self.asked)], ""
        paths = sorted({self.units[number].path for number in concerned}) or [self.units[0].path]
        if found.critical is not None:
            mu = [self.view.numbers[k, 0] for k, unit in enumerate(self.units) if unit.contact == concerned[0]]
            paths = [self.units[concerned[0]].path]
            why = f" (mu {max(mu):.6g} is above {found.critical:.6g} here)"
        elif not any(self._mobility(number) > 0.0 for number in concerned):
            why = " (nothing gives way there: what meets is driven or held)"
        return f"no contact forces fit: {', '.join(paths)}{why}"

    # -- a small problem of some units

    def _part(self, chosen: Sequence[int], b: np.ndarray) -> LawsInPlay:
        self.asked = list(chosen)
        rows = [row for number in chosen for row in self.rows(number)]
        place = {row: i for i, row in enumerate(rows)}
        at = {number: i for i, number in enumerate(chosen)}
        units = [
            SolvedUnit(Kind(unit.kind), place[unit.row], at.get(unit.contact), unit.first, unit.count, unit.path)
            for unit in (self.units[number] for number in chosen)
        ]
        columns = [self.column(row) for row in rows]
        matrix = np.array([column[0][rows] for column in columns]).T.reshape(len(rows), len(rows))
        measured = np.array([column[1] for column in columns]).T.reshape(len(self.view.measures), len(rows))
        limits = self.view.numbers[chosen].T[:4]
        problem = LawProblem(matrix, b[rows], measured, self.view.measures, *limits, driven=self.table.driven)
        return LawsInPlay(units, rows, problem)
