"""How a run leaves its lane, goes on alone, and comes back.

Runs side by side make the same steps. Where one of them has something of its own to do (an event, a projection that
fails, a number that is lost) it leaves its lane: all it needs is copied from the memory of the lanes to a block of its
own, and the loop for one run, the one that single runs use, makes the step. At the end of the step it comes back,
unless something is left to be done, such as an event just there, or a history of rates that begins anew.

    away    0 on its lane, 1 alone, 2 over or never begun
    told    how the chunk ended that brought a run no further
    still   steps that left a run as it was; one that `RESTS` stays alone, and is not stepped
    taken   steps made on the lane

A lane without a run is NaN, so that nothing it computes is ever above, below or equal to anything: it costs nothing but
its place.
"""

from __future__ import annotations

import math

from kompono.compile.block import ChunkEnd, NativeBlock, layout
from kompono.compile.emit import BOOL, INT, POINTER, REAL, Array, Code, Value
from kompono.compile.lanes import ONE
from kompono.compile.machine import Machine

ON_LANE, ALONE, OVER = 0.0, 1.0, 2.0
RESTS = 2.0  # steps that changed nothing
_CARRIED = (
    "state", "near", "rank", "armed", "pending", "values", "known", "slopes", "slopes_before", "paced", "spared",
    "seen",
)  # fmt: skip
_BEFORE = {"near": "near_before", "rank": "rank_before"}  # what a step has changed when a run leaves
_COMMON = ("counted", "distance")
_LEAVE, _FOLLOW, _FILL = (f"kompono.lane.{name}" for name in ("leave", "follow", "fill"))
SAME_TIME = 1e-9  # of a step: records closer than that are of one time


class LaneMoves:
    """The moves of runs between lanes and their own blocks, inside a loop on lanes."""

    def __init__(self, machine: Machine, remembers: tuple[str, ...]) -> None:
        self.machine, self.lanes = machine, machine.lanes.count
        texts = _Texts(machine, remembers)
        machine.beside |= {_LEAVE: texts.leave(), _FOLLOW: texts.follow(), _FILL: texts.fill()}

    @property
    def here(self) -> Value:
        """Which lanes have a run."""
        return self.machine.vector("away")[0].equals(ON_LANE)

    def leave(self, who: Value, time: Value, unseen: Value) -> None:
        """Let runs go that are at the beginning of a piece of a step, `time`; of those `unseen` the guards are looked
        at again.
        """
        code = self.machine.code
        for lane in range(self.lanes):
            goes, anew = (code.let(BOOL, f"extractelement {v.kind} {v.name}, i64 {lane}") for v in (who, unseen))
            with code.when(goes):
                code.say(f"call void @{_LEAVE}(ptr %block, i64 {lane}, double {time.name}, i1 {anew.name})")

    def follow(self) -> None:
        """Bring runs that are alone to the present step, and back to their lanes if that is all; the loop ends if one
        cannot do so by itself.
        """
        machine, code = self.machine, self.machine.code
        away = Array(code, machine.vector("away").pointer)
        asks, alone = code.variable(INT, 0), code.variable(INT, 0)
        for lane in range(self.lanes):
            with code.when(away[lane].equals(ALONE)):
                alone.set(1)
                asks.set(asks.get() + code.let(INT, f"call i64 @{_FOLLOW}(ptr %block, i64 {lane})"))
        machine.fail(asks.get() > 0, ChunkEnd.ALONE)
        if machine.program.laws:
            with code.when(alone.get() > 0):
                self._find_acting(away)

    def _find_acting(self, away: Array) -> None:
        """The most that laws do on any lane."""
        code, block, acting = self.machine.code, self.machine.block, self.machine.code.variable(INT, 0)
        with code.loop(self.lanes) as lane, code.when(away[lane].equals(ON_LANE)):
            own = NativeBlock(code, _own(code, block, lane))
            acting.set(code.select(own.acting > acting.get(), own.acting, acting.get()))
        block.set("acting", acting.get())

    def fill(self) -> None:
        """Write the states of runs that are alone into the last record."""
        code, away = self.machine.code, Array(self.machine.code, self.machine.vector("away").pointer)
        for lane in range(self.lanes):
            with code.when(away[lane].equals(ALONE)):
                code.say(f"call void @{_FILL}(ptr %block, i64 {lane})")


def _own(code: Code, block: NativeBlock, lane: Value) -> str:
    """Where the block of the run of a lane is."""
    place = code.let(POINTER, f"getelementptr ptr, ptr {block.others.name}, i64 {lane.name}").name
    return code.let(POINTER, f"load ptr, ptr {place}").name


class _Texts:
    """The functions beside the loop that move one run."""

    def __init__(self, machine: Machine, remembers: tuple[str, ...]) -> None:
        self.program, self.lanes, self.machine = machine.program, machine.lanes, machine
        self.wide, self.one = layout(machine.program, machine.lanes), layout(machine.program, ONE)
        self.carried = [name for name in (*_CARRIED, *remembers) if name in self.one]

    def _begin(self) -> None:
        self.code = Code(self.lanes)
        self.block = NativeBlock(self.code)
        self.lane = Value(self.code, "%lane", INT)
        self.pointer = _own(self.code, self.block, self.lane)
        self.own = NativeBlock(self.code, self.pointer)
        self.memory = Array(self.code, self.block.memory.name)
        self.owned = Array(self.code, self.own.memory.name)

    def _place(self, name: str, i: Value | int = 0) -> tuple[Array, Value]:
        """A number of this lane: the vector, and where in it."""
        return self.memory.at(self.wide[name][0]), self.lane + i * self.lanes.count

    def _get(self, name: str, i: Value | int = 0) -> Value:
        vector, index = self._place(name, i)
        return vector[index]

    def _set(self, name: str, value: Value | float, i: Value | int = 0) -> None:
        vector, index = self._place(name, i)
        vector[index] = value

    def leave(self) -> str:
        """From the lane to the block of the run; the lane's next state is NaN."""
        self._begin()
        code, block, own = self.code, self.block, self.own
        for name in self.carried:
            offset, size = self.one[name]
            target = self.owned.at(offset)
            with code.loop(size) as i:
                target[i] = self._get(_BEFORE.get(name, name) if self.machine.tells_nearness else name, i)
        for name in _COMMON:
            code.copy(self.owned.at(self.one[name][0]), self.memory.at(self.wide[name][0]), self.one[name][1])
        for name in ("step", "inside", "history", "rated"):
            own.set(name, getattr(block, name))
        own.set("time", Value(code, "%time", REAL))
        own.set("event_count", 0)
        own.set("settled", 0)
        own.set("checked", code.select(Value(code, "%unseen", BOOL), Value(code, "0", INT), 1))
        self._set("away", ALONE)
        with code.loop(self.program.state_size) as i:
            self._set("next", math.nan, i)
        return code.define(
            f"internal void @{_LEAVE}(ptr %block, i64 %lane, double %time, i1 %unseen) nounwind noinline"
        )

    def follow(self) -> str:
        """To the present step; 1 if the run needs Python for that."""
        self._begin()
        code, block, own = self.code, self.block, self.own
        asks = code.variable(INT, 0)
        behind, rests = own.step < block.step, self._get("still") >= RESTS
        with code.when(behind & rests):
            own.add("accepted")
            own.set("step", block.step)
            own.set("time", self._grid(block.step))
        with code.when(behind & ~rests):
            own.set("budget", block.step - own.step)
            ended = code.let(INT, f"call i64 {block.alone.name}(ptr {self.pointer})")
            asks.set(code.select(ended.equals(0), Value(code, "0", INT), 1))
            self._set("told", ended.real())
        with code.when(asks.get().equals(0) & ~rests):
            self._show()
            self._come_back()
        return code.define(f"internal i64 @{_FOLLOW}(ptr %block, i64 %lane) nounwind noinline", asks.get())

    def _grid(self, index: Value) -> Value:
        block, code = self.block, self.code
        product = code.let(REAL, f"fmul double {index.real().name}, {block.step_size.name}")
        return code.let(REAL, f"fadd double {block.start.name}, {product.name}")

    def _show(self) -> None:
        """What a run recorded behind an event at the beginning of its step counts, not what was there before."""
        code, block, own = self.code, self.block, self.own
        size = self.program.state_size
        latest = self._grid(block.step - 1) + SAME_TIME * block.step_size
        with code.when(block.rows > 0), code.loop(own.rows) as i:
            row = Array(code, own.records.name).at(i * (1 + size + len(self.program.inputs)))
            with code.when(row[0] <= latest):
                self._write_last(row.at(1))
        own.set("rows", 0)

    def _write_last(self, state: Array) -> None:
        """A state into this lane of the last record."""
        code, block, size = self.code, self.block, self.program.state_size
        width = 1 + self.lanes.count * size + len(self.program.inputs)
        target = Array(code, block.records.name).at((block.rows - 1) * width + 1)
        with code.loop(size) as i:
            target[i * self.lanes.count + self.lane] = state[i]

    def _come_back(self) -> None:
        """To the lane, if nothing is left that others on lanes do not do."""
        code, block, own = self.code, self.block, self.own
        fits = own.inside.equals(0)
        for name in ("history", "checked", "rated"):
            fits = fits & getattr(own, name).equals(getattr(block, name))
        free = code.variable(BOOL, fits)
        offset, guards = self.one["pending"]
        with code.loop(guards) as k:
            free.set(free.get() & (self.owned.at(offset)[k] <= 0.0))
        with code.when(free.get()):
            for name in self.carried:
                offset, size = self.one[name]
                with code.loop(size) as i:
                    self._set(name, self.owned.at(offset)[i], i)
            self._set("away", ON_LANE)
            self._set("still", 0.0)

    def fill(self) -> str:
        """The state of the run into the last record."""
        self._begin()
        self._write_last(self.owned.at(self.one["state"][0]))
        return self.code.define(f"internal void @{_FILL}(ptr %block, i64 %lane) nounwind noinline")
