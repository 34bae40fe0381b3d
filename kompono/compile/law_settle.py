"""Events of one row, settled in native code: a stop that is struck, a brake that grips, a contact that opens.

What happens at an event is in `solve/instant.py`, for any number of laws; here are the cases in which one row decides
by itself, so that a step loop need not end for them. Whatever else there is (several rows that move one another,
friction by a reaction, ties, events that crowd) is left to it, with nothing changed. The function is the same for all
programs: their laws are a table of numbers (`settle_block`). Products are not fused, so that its bits are those of the
same sums in Python.
"""

from __future__ import annotations

from collections.abc import Callable

from kompono.compile.crowd import EVENTS, RING, STEPS
from kompono.compile.emit import BOOL, INT, REAL, Code, Value, Variable, prelude
from kompono.compile.lanes import ONE
from kompono.compile.law_bounds import (
    CLOSES,
    LOWEST,
    NEAR,
    OPENS,
    PARTING,
    RESTING,
    ROUNDING,
    SLIPS,
    SLOW,
    STICKS,
    STRIKES,
    TOUCHING,
)  # fmt: skip
from kompono.compile.law_state import HOLDS
from kompono.compile.settle_block import SETTLE, UNIT, NativeSettleBlock
from kompono.translate.program import LAW_EVENTS

LEFT = -1  # what is returned where it is left to others
_NUMBERS = 5  # of a unit in `law_view`: mu, its static value, limit, its static value, restitution


def settle_text() -> str:
    """The function of a `SettleBlock`: how many things happened, whose numbers are written there, or LEFT."""
    body = _Settling().written().replace(" contract", "")
    return prelude(body, ONE) + body


class _Settling:
    """The function while it is written."""

    def __init__(self) -> None:
        self.code = Code()
        self.block = NativeSettleBlock(self.code)
        self.units = self.block.unit_count
        self.answer = self.code.variable(INT, LEFT)
        self.told = self.code.variable(INT, 0)

    def written(self) -> str:
        """Its text."""
        code = self.code
        with code.forever():  # left as soon as it is clear that others must do it
            self._begin()
            self._look()
            self._touch()
            self._strike()
            chosen, unit = self._part()
            code.leave(chosen > 1)
            with code.when(chosen.equals(1)):
                self._choose(unit)
            code.leave(self._refused.get())
            self._tell_changes()
            self._keep()
            code.leave(Value(code, "true", BOOL))
        return code.define(f"i64 @{SETTLE}(ptr %block) nounwind", self.answer.get())

    # -- what is known

    def _unit(self, k: Value, name: str) -> Value:
        return self.block.array("units", INT).at(k * len(UNIT) + UNIT.index(name))[0]

    def _number(self, k: Value, place: int) -> Value:
        return self.block.array("numbers")[k * _NUMBERS + place]

    def _mode(self, array: str, k: Value) -> Value:
        return self.block.array(array)[self.block.first_mode + self._unit(k, "place")]

    def _speed(self, k: Value) -> Value:
        """How fast a unit slips, or its gap opens."""
        code, rate, row = self.code, self.block.array("rate"), self._unit(k, "row")
        along, across = rate[row], code.variable(REAL, 0.0)
        with code.when(self._unit(k, "kind").equals(2)):
            across.set(rate[row + 1])
        length = code.math("sqrt", along * along + across.get() * across.get())
        return code.select(self._unit(k, "kind").equals(2), length, code.math("fabs", along))

    def _begin(self) -> None:
        """A copy of the state and of the parameters, behind which forces are; leave where events crowd."""
        code, block, crowded = self.code, self.block, self.code.variable(BOOL, False)
        self._refused = code.variable(BOOL, False)
        self._asked = code.variable(INT, -1)
        fired, counts, now = block.array("fired"), block.array("counts", INT), block.array("time")[0]
        with code.loop(self.units) as k, code.when(fired[k] > 0.0):
            ring, n = block.array("crowd").at(k * RING), counts[k] + 1
            crowds = (n > EVENTS) & (now - ring[n % RING] < float(STEPS) * block.usual_step)
            crowded.set(crowded.get() | crowds)
        code.leave(crowded.get() | (2 * self.units > block.room))
        self._each("made", "state", block.size)
        self._each("given", "parameters", block.parameter_count)
        with code.loop(block.row_count) as i:
            block.array("given").at(block.parameter_count)[i] = 0.0

    def _each(self, target: str, source: str, count: Value) -> None:
        goal, given = self.block.array(target), self.block.array(source)
        with self.code.loop(count) as i:
            goal[i] = given[i]

    def _look(self) -> None:
        """What the laws are at the state as it is made so far."""
        self._ask("view", "view_call")

    def _ask(self, function: str, call: str) -> None:
        """Evaluate a routine, which a call describes (see `loop_map`)."""
        where, given = getattr(self.block, function), getattr(self.block, call)
        self.code.let(INT, f"call i64 {where.name}(ptr {given.name})")

    def _mobility(self, row: Value) -> Value:
        """How a force on a row moves it; what it does to speeds is kept."""
        code, block = self.code, self.block
        with code.when(~self._asked.get().equals(row)):
            force = block.array("given").at(block.parameter_count + row)
            force[0] = 1.0
            self._ask("respond", "respond_call")
            force[0] = 0.0
            self._asked.set(row)
        return block.array("answer")[row]

    def _push(self, impulse: Value) -> None:
        """Change the speeds by an impulse on the row that was asked for."""
        speeds, change = self.block.array("made").at(self.block.first_speed), self.block.array("speeds")
        with self.code.loop(self.block.speed_count) as i:
            speeds[i] = speeds[i] + impulse * change[i]

    def _say(self, k: Value, what: int | Value) -> None:
        self.block.array("happened")[self.told.get()] = (self.block.first_event + k * len(LAW_EVENTS) + what).real()
        self.told.set(self.told.get() + 1)

    # -- impacts

    def _touch(self) -> None:
        """Of each unit: whether its gap is closed, or was; whether friction acts there."""
        code, block, touching = self.code, self.block, self.block.array("touching", INT)
        gap, rate = block.array("gap"), block.array("rate")
        with code.loop(self.units) as k:
            row, contact = self._unit(k, "row"), self._unit(k, "contact")
            near = code.select(self._unit(k, "level") > 0, rate[row] - SLOW, gap[row] - TOUCHING) < 0.0
            found = code.variable(BOOL, near | (self._mode("state", k) > 0.0))
            with code.when(self._unit(k, "kind") > 0):
                found.set(contact < 0)
                with code.when(contact >= 0):
                    found.set(touching[contact] > 0)
            touching[k] = self._as_number(found.get())

    def _as_number(self, truth: Value) -> Value:
        return self.code.select(truth, Value(self.code, "1", INT), 0)

    def _count(self, belongs: Callable[[Value], Value]) -> tuple[Value, Value]:
        """How many units belong, and the last of them."""
        code, count, last = self.code, self.code.variable(INT, 0), self.code.variable(INT, 0)
        with code.loop(self.units) as k:
            one = belongs(k)
            count.set(count.get() + self._as_number(one))
            last.set(code.select(one, k, last.get()))
        return count.get(), last.get()

    def _strike(self) -> None:
        """Let one contact strike by itself; leave where more take part."""
        code, touching, rate = self.code, self.block.array("touching", INT), self.block.array("rate")

        def approaches(k: Value) -> Value:
            return self._unit(k, "kind").equals(0) & (touching[k] > 0) & (rate[self._unit(k, "row")] < -RESTING)

        def takes_part(k: Value) -> Value:
            feeds = (self._unit(k, "count") > 0) & ~self._number(k, 0).equals(0.0)
            gives_way = (self._unit(k, "kind") > 0) & (self._unit(k, "contact") < 0) & ~feeds
            return (touching[k] > 0) & ~gives_way

        count, k = self._count(approaches)
        others, _ = self._count(takes_part)
        with code.when(count > 0):
            row = self._unit(k, "row")
            speed, a = rate[row], self._mobility(row)
            self._refused.set(~(others.equals(1) & (a > 0.0) & (self._number(k, 4) >= 0.0)))
            with code.when(~self._refused.get()):
                impulse = (0.0 - (1.0 + self._restitution(k))) * speed / a
                self._each("made", "met", self.block.size)
                self._push(impulse)
                self._say(k, STRIKES)
                self._ask("again", "again_call")
        code.leave(self._refused.get())

    def _restitution(self, k: Value) -> Value:
        """That of a contact that approaches, none where the rebound would be too low."""
        code, row = self.code, self._unit(k, "row")
        given, speed = self._number(k, 4), 0.0 - self.block.array("rate")[row]
        back = code.math("maxnum", 0.0 - self.block.array("w")[row], 0.0)
        return code.select(given * speed <= code.math("sqrt", 2.0 * back * LOWEST), 0.0, given)

    # -- modes

    def _part(self) -> tuple[Value, Value]:
        """Open what parts, and all that need not be looked at; how many units are left, and the last of them."""
        code, rate = self.code, self.block.array("rate")
        touching, parted = self.block.array("touching", INT), self.block.array("parted", INT)
        with code.loop(self.units) as k:
            parted[k] = 0
        with code.loop(self.units) as k:
            opening = rate[self._unit(k, "row")]
            with code.when(self._unit(k, "kind").equals(0) & (opening > RESTING)):
                fast = (self._unit(k, "level") > 0) | (opening > PARTING) | (parted[k] > 0)
                parted[k] = self._as_number(fast)
        with code.loop(self.units) as k:  # what slips, be it as slow as it may, parts as well
            contact = self._unit(k, "contact")
            with code.when((self._unit(k, "kind") > 0) & (contact >= 0)), code.when(self._speed(k) > SLOW):
                opens = rate[self._unit(contact, "row")] > RESTING
                parted[contact] = code.select(opens, Value(code, "1", INT), parted[contact])

        def is_left(k: Value) -> Value:
            own = self._unit(k, "kind").equals(0)
            contact, gone = code.select(own, k, self._unit(k, "contact")), code.variable(BOOL, False)
            with code.when(contact >= 0):
                gone.set(parted[contact] > 0)
            return (touching[k] > 0) & ~gone.get()

        with code.loop(self.units) as k, code.when(~is_left(k)):
            self._write(k, Value(code, "0.0", REAL))
        return self._count(is_left)

    def _write(self, k: Value, mode: Value) -> None:
        """The modes of a unit; what is none of a row is zero."""
        place = self.block.array("made").at(self.block.first_mode + self._unit(k, "place"))
        with self.code.loop(self._unit(k, "length")) as i:
            place[i] = 0.0
        place[0] = mode

    def _acted(self, k: Value) -> Value:
        """Whether friction acted before."""
        code, contact = self.code, self._unit(k, "contact")
        found = code.variable(BOOL, contact < 0)
        with code.when(contact >= 0):
            found.set(self._mode("state", contact) > 0.0)
        return found.get()

    def _choose(self, k: Value) -> None:
        """The mode of the only unit that acts, if that is obvious."""
        code, row, kind = self.code, self._unit(k, "row"), self._unit(k, "kind")
        slip, before = self.block.array("rate")[row], self._mode("state", k)
        one_sided = kind.equals(0)
        held = code.select(
            one_sided, self._as_number(before > 0.0), self._as_number(before.equals(0.0) & self._acted(k))
        )
        left = (self.block.array("fired")[k] > 0.0) & (held > 0)
        hard = kind.equals(2) | (self._unit(k, "count") > 0)
        self._refused.set(hard)
        with code.when(~hard):
            a, b = self._mobility(row), self.block.array("w")[row]
            mode, holds = code.variable(REAL, 0.0), code.variable(BOOL, False)
            self._refused.set(~(a > 0.0))
            with code.when(one_sided):
                flies = (slip > RESTING) & (slip * slip > (0.0 - 2.0 * b) * LOWEST)  # higher than that, if let go
                holds.set((b < 0.0) & ~left & ~flies)
                mode.set(code.select(holds.get(), Value(code, "1.0", REAL), 0.0))
                self._refused.set(self._refused.get() | ~((b > 0.0) | ((b < 0.0) & ~left)))
            with code.when(~one_sided):
                turned = (self.block.array("fired")[k] > 0.0) & (slip * before < 0.0)
                self._grip(k, (a, b, slip), left, (mode, holds))
                self._refused.set(self._refused.get() | (turned & (code.math("fabs", slip) > SLOW)))
            with code.when(~self._refused.get()):
                self._write(k, mode.get())
            with code.when(~self._refused.get() & holds.get() & ~slip.equals(0.0)):
                self._push((0.0 - slip) / a)

    def _grip(self, k: Value, row: tuple[Value, Value, Value], left: Value, found: tuple[Variable, Variable]) -> None:
        """Whether friction with a given limit sticks or slides, and where to."""
        code, (a, b, slip), (mode, holds) = self.code, row, found
        sliding, sticking, force = self._number(k, 2), self._number(k, 3), code.math("fabs", b) / a
        moves = code.math("fabs", slip) > SLOW
        holds.set(~moves & ~left & (force < (1.0 - NEAR) * sticking))
        beyond = code.select(left, force - (1.0 - ROUNDING) * sliding, force - (1.0 + NEAR) * sticking) > 0.0
        self._refused.set(self._refused.get() | ~(moves | holds.get() | beyond))
        way = code.select(moves, slip, b)
        sign = code.select(way > 0.0, Value(code, "1.0", REAL), -1.0)
        mode.set(code.select(holds.get(), 0.0, sign))

    # -- the end

    def _tell_changes(self) -> None:
        """What changed, unit by unit."""
        code, one = self.code, Value(self.code, "1", INT)
        with code.loop(self.units) as k:
            old, new, contact = self._mode("state", k), self._mode("made", k), self._unit(k, "contact")
            one_sided = self._unit(k, "kind").equals(0)
            with code.when(one_sided & ~old.equals(new)):
                self._say(k, code.select(new > 0.0, CLOSES * one, OPENS))
            acts = code.variable(BOOL, contact < 0)
            with code.when(contact >= 0):
                acts.set(self._mode("made", contact) > 0.0)
            other = ~self._sign(old).equals(self._sign(new)) | ~self._acted(k)
            with code.when(~one_sided & acts.get() & other):
                self._say(k, code.select(new.equals(0.0), STICKS * one, SLIPS))

    def _sign(self, value: Value) -> Value:
        one = Value(self.code, "1.0", REAL)
        return self.code.select(value > 0.0, one, self.code.select(value < 0.0, -1.0 * one, 0.0))

    def _keep(self) -> None:
        """Keep the state and count the event."""
        code, block = self.code, self.block
        fired, counts, now = block.array("fired"), block.array("counts", INT), block.array("time")[0]
        with code.loop(self.units) as k, code.when(fired[k] > 0.0):
            block.array("crowd").at(k * RING)[counts[k] % RING] = now
            counts[k] = counts[k] + 1
        self._each("state", "made", block.size)
        gap, rubs = (lambda k: self._unit(k, "kind").equals(0)), (lambda k: self._unit(k, "contact") < 0)
        closed, _ = self._count(lambda k: gap(k) & (self._mode("made", k) > 0.0))
        stuck, _ = self._count(lambda k: ~gap(k) & rubs(k) & self._mode("made", k).equals(0.0))
        waiting, _ = self._count(lambda k: gap(k) | ~rubs(k))
        some = self._as_number(~waiting.equals(self.units))
        block.set("acting", code.select((closed > 0) | (stuck > 0), Value(code, str(HOLDS), INT), some))
        self.answer.set(self.told.get())
