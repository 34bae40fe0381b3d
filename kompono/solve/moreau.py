"""One time step over contact and friction, whatever happens in it (Moreau, Jean), for `contact="steps"` and as a last
resort where events crowd.

The smooth part is the midpoint rule. Then speeds are chosen so that speeds and impulses of all that touches in the
middle of the step fit, the same complementarity problem as for accelerations at an event:

    v_m = v + h/2 v_dot,  q_m = q + h/2 q_dot           with the modes of the last step
    w = W (v + h a0) + A z,                              a0: accelerations without forces of laws, in the middle; W at
                                                         the end, A in the middle
    v' = v + h a0 + M^-1 W^T z,  q' = q_m + h/2 N v'

Limits and measured reactions count as impulses, h times. A gap that closed parts with `restitution` times its speed.
What holds in the end is held exactly: sticking does not creep. Events are right to a step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from kompono.errors import NoForces
from kompono.solve.instant import RESTING, SLOW, STRIKES, Instant
from kompono.solve.laws.select import select
from kompono.solve.laws.units import Kind, NoForcesFit, UnitChoice, UnitMode
from kompono.solve.settling import Settler

Feed = Callable[[float], np.ndarray]
LEAST = 10  # steps a rebound must last; a shorter one is none
PROJECTIONS, NEAR = 12, 1e-7  # at most; one that moves less leaves its square


class MoreauStep:
    """A step of `size` [s] from a state; `end` is the state behind it, `happened` what did, by unit. What rebounds may
    be a little inside of what it struck; `out`: not so.
    """

    def __init__(
        self, settler: Settler, time: float, state: np.ndarray, feed: Feed, parameters: np.ndarray, size: float,
        out: bool = False,
    ) -> None:  # fmt: skip
        self.settler, self.kernel, self.parameters, self.size = settler, settler.kernel, parameters, size
        self.law_states = settler.states
        program, modes = self.kernel.program, self.law_states.places
        self.memory = slice(modes.start, modes.stop + len(program.states))  # sealed parts do not say which are states
        half, end = time + size / 2, time + size
        rate = self.kernel.evaluate("derivative", time, state, feed(time), parameters)[0]
        middle = self.law_states.moved(state, size / 2, rate)
        self.now = Instant(settler, half, middle, feed(half), parameters, size)
        free = self.law_states.moved(state, size, rate)  # on what is curved, rows have turned until then
        if program.states or program.hidden:
            rate = self._evaluate("derivative", half, middle, feed(half))
            free[self.memory] = state[self.memory] + size * rate[self.memory]
        free = self.law_states.faster(free, state, size, self._evaluate("law_free", half, middle, feed(half)))
        self.rates = self.kernel.evaluate("law_view", end, free, feed(end), parameters)[1]  # of the rows
        self.struck: list[int] = []
        self.apart: set[int] = set()  # what parts again
        chosen = [k for k in range(len(settler.units)) if self.now.touching[k]]
        after, found = self._impelled(free, chosen)
        self.end = self._moved(middle, after, half, feed)
        self.end[self.memory] = free[self.memory]
        self.now.continue_at(self.end)
        self._write(chosen, found)
        self.end = self.now.settled()
        self._correct(end, feed(end), out)
        self.happened = [(k, STRIKES) for k in self.struck] + self.now._changes()

    def _evaluate(self, routine: str, time: float, state: np.ndarray, inputs: np.ndarray) -> np.ndarray:
        return self.kernel.evaluate(routine, time, state, inputs, self.parameters)[0]

    def _impelled(self, free: np.ndarray, chosen: Sequence[int]) -> tuple[np.ndarray, UnitChoice | None]:
        """A state whose speeds have impulses of units that touch, and their modes."""
        if not chosen:
            return free, None
        back = np.zeros(len(self.rates))
        for k in chosen:
            back[self.settler.units[k].row] += self._rebound(k)
        part = self.now._part(chosen, self.rates - back)
        given = part.problem
        problem = replace(
            given, n0=self.size * given.n0, limit=self.size * given.limit, limit_static=self.size * given.limit_static
        )
        try:
            found = select(problem, part.units, self._start(chosen), [True] * len(chosen))
        except NoForcesFit as error:
            raise NoForces(self.now.jam(error)) from error
        self.slow = self.now._slow(replace(part, problem=problem), found) / self.size
        for row, impulse in zip(part.rows, found.z, strict=True):
            if impulse:
                free = self.law_states.faster(free, free, impulse, self.now.column(row)[2])
        return free, found

    def _rebound(self, number: int) -> float:
        """The speed with which a gap that closes shall open, none where it would last but a few steps."""
        unit, view = self.settler.units[number], self.now.view
        if unit.kind != Kind.ONE_SIDED or self.now.before[number] > 0:
            return 0.0
        speed = -view.rate[unit.row]
        if speed <= RESTING:
            return 0.0
        self.struck.append(number)
        back = view.numbers[number, 4] * speed
        if 2 * back <= LEAST * self.size * max(-view.w[unit.row], 0.0):
            return 0.0
        self.apart.add(number)
        return float(back)

    def _start(self, chosen: Sequence[int]) -> UnitChoice:
        """The modes of the last step. What strikes is held at first; what touched and bore nothing, bears nothing at
        first: between rough walls without clearance it could hold as much as it is held by.
        """
        modes, directions = np.full(len(chosen), int(UnitMode.HELD)), np.zeros((len(chosen), 2))
        for i, number in enumerate(chosen):
            acted = self.now.before[number] != 0
            if self.settler.units[number].kind == Kind.ONE_SIDED:
                if not acted and number not in self.struck:
                    modes[i] = UnitMode.OFF
                continue
            slip = self.rates[self.now.rows(number)]
            length = float(np.linalg.norm(slip))
            if acted and length > SLOW:
                modes[i] = UnitMode.SLIDES
                directions[i, : len(slip)] = slip / length
        return UnitChoice(modes, directions, np.zeros(sum(len(self.now.rows(number)) for number in chosen)))

    def _moved(self, middle: np.ndarray, after: np.ndarray, time: float, feed: Feed) -> np.ndarray:
        """The state at the end, from that in the middle and one with the speeds at the end."""
        end = self.law_states.faster(middle, after)
        return self.law_states.coasted(time, end, feed(time), self.parameters, self.size / 2)

    def _correct(self, time: float, inputs: np.ndarray, out: bool) -> None:
        """Bring the end on all conditions that hold there, and `out` of what they are inside of."""
        if "project" not in self.settler.program.routines:
            return
        end = self.end
        gap = self._evaluate("law_view", time, end, inputs) if out else np.zeros(0)
        inside = [unit for unit in self.settler.units if out and unit.level == "position" and gap[unit.row] < 0]
        if inside:
            modes = self.law_states.modes(end)
            shut = modes.copy()
            shut[[unit.modes[0] for unit in inside]] = 1.0
            closed = self._evaluate("project", time, self.law_states.with_modes(end, shut), inputs)
            end = self.law_states.with_modes(self.law_states.faster(closed, end), modes)
        for _ in range(PROJECTIONS):
            before, end = end, self._evaluate("project", time, end, inputs)
            if self.kernel.program.opaque or np.abs(end - before).max() <= NEAR:
                break
        self.end = end

    def _write(self, chosen: Sequence[int], found: UnitChoice | None) -> None:
        """Modes at the end: what parts from what it struck is open."""
        place = {number: i for i, number in enumerate(chosen)}
        for number, unit in enumerate(self.settler.units):
            mode, direction, slow = UnitMode.OFF, np.zeros(2), 0.0
            contact = number if unit.kind == Kind.ONE_SIDED else unit.contact
            if found is not None and number in place and contact not in self.apart:
                i = place[number]
                mode, direction, slow = UnitMode(int(found.modes[i])), found.directions[i], self.slow[i]
            self.now._write(number, mode, direction, slow)
