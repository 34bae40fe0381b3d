"""What every native loop needs: the model's routines, its inputs, records and vectors, as pieces of native code."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kompono.compile.away import Away
from kompono.compile.block import ChunkEnd, NativeBlock, guard_count, layout
from kompono.compile.emit import (
    BOOL,
    INT,
    REAL,
    Array,
    Code,
    Value,
    Variable,
    anywhere,
    flush_tiny,
    plus_product,
    spread,
)
from kompono.compile.far import LARGE_CHANGE, LOST
from kompono.compile.lanes import ONE, Lanes
from kompono.compile.law_state import ACTS, IDLE, TIED
from kompono.compile.schedule import symbol
from kompono.compile.together import ByItself, InStep
from kompono.compile.walls.channel import BROKEN
from kompono.compile.walls.places import symbol_of
from kompono.translate.program import Program, Routine

MOST_PROJECTIONS = 12  # a state that still changes by `LOST` after so many is not near the constraints
_SUMS = 8  # that are made side by side where one would make each element wait for the last
_COMMON = ("time", "distance", "inputs", "counted", "sampling", "reads")  # vectors that are the same on all lanes


class Machine:
    """One model inside one native loop, simulated on one or more lanes at once.

    Sizes are known here, so LLVM unrolls and vectorizes what is small.
    """

    def __init__(
        self, program: Program, lanes: Lanes = ONE, *, flush: bool = True, implicit: bool = False, waiting: bool = False
    ) -> None:
        self.program, self.waiting = program, waiting  # for the first gap that closes
        self.lanes = lanes
        self.code = Code(lanes)
        self.block = NativeBlock(self.code)
        self.size = program.state_size
        self.own = self.size - len(program.opaque)  # numbers of the state; handles of parts elsewhere end it
        self.moving, self.kept = moving_and_kept(program, self.own)
        self.guards = guard_count(program)
        self._memory = self.block.array("memory")
        self._places = layout(program, lanes, implicit)
        self.beside: dict[str, str] = {}  # texts of functions that this one calls, by name
        self._parameters = self.block.array("parameters")
        self.status = self.code.variable(INT, ChunkEnd.OK)
        self.together = ByItself(self) if program.spread is None else InStep(self)
        self.flush = flush  # what is for another processor does not
        self._restore = flush_tiny(self.code) if flush else lambda: None
        self.sampling = [self.vector("sampling")[k] for k in range(3 * len(program.rates))]  # read once
        self.strays = self.code.variable(lanes.truth, False)  # whether the stages of this step are projected
        self.elsewhere = [f"@{symbol_of(stem, lanes)}" for stem in program.away]  # where parts run that are not here
        self.away = Away(self) if program.opaque else None
        self.far_same = self.code.variable(lanes.truth, True)  # whether the last projection left parts elsewhere alone,
        self.far_moved = self.code.variable(lanes.truth, False)  # or changed speeds there by more than next to nothing,
        self.far_finite = self.code.variable(lanes.truth, True)  # and whether what they last were asked about is finite

    def vector(self, name: str) -> Array:
        """A vector of the run's memory (see `block.layout`)."""
        place = self._memory.at(self._places[name][0])
        common = name in _COMMON and not (name == "time" and self.lanes.apart)
        return place if common else Array(self.code, place.pointer, self.lanes.real)

    def finish(self, name: str) -> str:
        """The text of the loop as a function of the block that returns the status."""
        self._restore()
        text = self.code.define(f"i64 @{name}(ptr %block) {self.lanes.stack}nounwind", self.status.get())
        return "".join([f"{place} = external global i8\n" for place in self.elsewhere] + [*self.beside.values(), text])

    # -- vectors -----------------------------------------------------------------------------------------------------

    def copy(self, target: str, source: str) -> None:
        """target = source."""
        self.code.copy(self.vector(target), self.vector(source), self.size)

    def _copy_where(self, condition: Value, target: str, source: str) -> None:
        """target = source on the lanes where the condition holds; with one lane, it does."""
        if self.lanes.count == 1:
            self.copy(target, source)
            return
        old, new = self.vector(target), self.vector(source)
        with self.code.loop(self.size) as i:
            old[i] = self.code.select(condition, new[i], old[i])

    def combine(self, target: str, base: str, terms: Sequence[tuple[Value, str]]) -> None:
        """target = base + sum of factor * vector; with base "" the sum alone."""
        if self.away:
            self.away.combine(target, base, terms)
        combine_own(self, target, base, terms)

    def finite(self, *names: str, certain: bool = False) -> Value:
        """Whether no element is NaN or infinite, lane by lane: 0 * x is 0 for finite x only.

        Of parts elsewhere that is heard with the next reply; what is `certain` was asked before (`far_finite`).
        """
        if self.away and not certain:
            for name in names:
                self.away.check(name)
            return self._own_finite(*names) & self.away.unflagged()
        return self._own_finite(*names) & self.far_finite.get() if self.away else self._own_finite(*names)

    def _own_finite(self, *names: str) -> Value:
        code, vectors = self.code, [self.vector(name) for name in names]
        parts = [code.variable(self.lanes.real, 0.0) for _ in range(_SUMS)]  # none waits for another

        def add(part: Variable, index: Value | int) -> None:
            for vector in vectors:
                part.set(part.get() + 0.0 * vector[index])

        for first, count in self.moving:
            with code.loop(count // _SUMS) as i:
                for k, part in enumerate(parts):
                    add(part, i * _SUMS + (first + k))
            for k in range(count % _SUMS):
                add(parts[k], first + count - 1 - k)
        total = parts[0].get()
        for part in parts[1:]:
            total = total + part.get()
        return self.together.everywhere(total.equals(0.0))

    def grid(self, index: Value, spacing: Value) -> Value:
        """start + index * spacing, rounded twice as Python would, so that both sides agree on every bit."""
        product = self.code.let(REAL, f"fmul double {index.real().name}, {spacing.name}")
        return self.code.let(REAL, f"fadd double {self.block.start.name}, {product.name}")

    # -- the model ---------------------------------------------------------------------------------------------------

    def set_inputs(self, time: Value) -> None:
        """Inputs at a time: linear between the rows of the table, constant before the first and after the last."""
        count = len(self.program.inputs)
        if not count:
            return
        code, block = self.code, self.block
        times, values, rows = block.array("table_times"), block.array("table_values"), block.table_rows
        if self.lanes.apart:  # then they do not change
            code.copy(self.vector("inputs"), values, count)
            return
        low, high = (
            code.variable(INT, 0),
            code.variable(INT, rows),
        )  # times[low] <= time < times[high], the ends excepted
        with code.forever():
            code.leave(high.get() - low.get() <= 1)
            middle = (low.get() + high.get()) // 2
            below = times[middle] <= time
            low.set(code.select(below, middle, low.get()))
            high.set(code.select(below, high.get(), middle))
        left = low.get()
        right = code.select(high.get() < rows, high.get(), left)
        inside = (right > left) & (time > times[left])
        span = code.select(inside, times[right] - times[left], 1.0)
        share = code.select(inside, (time - times[left]) / span, 0.0)
        target, first, second = self.vector("inputs"), values.at(left * count), values.at(right * count)
        with code.loop(count) as i:
            target[i] = first[i] + share * (second[i] - first[i])

    def rate(self, time: Value, state: str, target: str) -> None:
        """target = derivative(time, state); that of the present state may have come with its guards."""
        if tells_rates(self.program) and state == "state":
            known = self.block.rated > 0
            with self.code.when(known):
                self.copy(target, "known")
            with self.code.when(~known):
                self._rate(time, state, target)
        else:
            self._rate(time, state, target)

    def _rate(self, time: Value, state: str, target: str) -> None:
        self.evaluate(self.program.outline("derivative"), time, state, target)
        self.block.add("evaluations")

    def project(
        self, time: Value, state: str, where: Value | bool = True, *, aside: bool = False,
        note: Callable[[Value], None] | None = None,
    ) -> Value:  # fmt: skip
        """Bring a state back to the constraints, if the model has any and the run wants it; whether that succeeded.

        On several lanes, only those of `where` move, and each only as often as it needs, as if it were alone.
        One projection leaves about the square of the change it made, so a large change asks for another. What a
        projection says of the rank there goes to `near`, except for a state `aside` of the motion. Whoever wants to
        `note` what is projected is told the number of each projection, before it.
        """
        near = self.code.variable(self.lanes.truth, True)
        if "project" not in self.program.routines:
            return near.get()
        routine = self.program.outline("project")
        code, before, after = self.code, self.vector(state), self.vector("corrected")
        self.far_same.set(True)
        self.far_moved.set(False)
        with code.when(self._projecting()):
            count, moving = code.variable(INT, 0), code.variable(self.lanes.truth, where)
            with code.forever():
                if note is not None:
                    note(count.get())
                self.evaluate(routine, time, state, "corrected", *["near"] * (self.tells_nearness and not aside))
                change = code.variable(self.lanes.real, 0.0)
                for first, size in self.moving:
                    with code.loop(size) as i:
                        square = (after[i + first] - before[i + first]) * (after[i + first] - before[i + first])
                        change.set(code.select(square > change.get(), square, change.get()))
                if self.away:
                    far, same, finite, moved = self.away.compare("corrected", state)
                    change.set(code.select(far > change.get(), far, change.get()))
                    self.far_same.set(self.far_same.get() & same)
                    self.far_moved.set(self.far_moved.get() | moved)
                    self.far_finite.set(finite)
                self._copy_where(moving.get(), state, "corrected")
                most = self.together.largest(change.get())
                near.set(~moving.get() | (most <= LOST**2))
                moving.set(moving.get() & (most > LARGE_CHANGE**2))
                count.set(count.get() + 1)
                code.leave(~anywhere(moving.get()) | (count.get() >= MOST_PROJECTIONS))
        return near.get()

    def _projecting(self) -> Value:
        """Whether there is anything to project: where all gaps are open there may not be."""
        routines, asked = self.program.routines, self.block.projecting > 0
        idle = "open_derivative" in routines and "open_project" not in routines
        return asked & (self.block.acting > 0) if idle else asked

    @property
    def tells_nearness(self) -> bool:
        """Whether projections say how near to a loss of rank the state is (vector `near`)."""
        return "project" in self.program.routines and len(self.program.outline("project").outputs) > 1

    def evaluate(self, routine: Routine, time: Value, state: str, *targets: str) -> None:
        """Write the outputs of a routine to vectors; those not named are not kept."""
        if f"tied_{routine.name}" in self.program.routines:
            tied = self.block.acting.equals(TIED)
            with self.code.when(tied):
                self._evaluate(self.program.outline(f"tied_{routine.name}"), time, state, *targets)
            with self.code.when(~tied):
                self._evaluate(routine, time, state, *targets)
            return
        if f"open_{routine.name}" not in self.program.routines:
            self._evaluate(routine, time, state, *targets)
            return
        other = self.program.routines[f"open_{routine.name}"]
        acting = self.block.acting > (ACTS if routine.name == "project" else IDLE)
        with self.code.when(acting):
            self._evaluate(routine, time, state, *targets)
        with self.code.when(~acting):
            self._evaluate(other, time, state, *targets)

    def _evaluate(self, routine: Routine, time: Value, state: str, *targets: str) -> None:
        self.vector("time")[0] = time
        self.set_inputs(time)
        wanted = [*map(self.vector, targets), *[self.vector("spare")] * (len(routine.outputs) - len(targets))]
        inputs = [self.vector("time"), self.vector(state), self.vector("inputs"), self._parameters]
        self.code.call(symbol(routine.name), [*inputs, *wanted, self.vector("work")])

    # -- the run -----------------------------------------------------------------------------------------------------

    def fail(self, condition: Value, status: ChunkEnd) -> None:
        """End the loop with a status if the condition holds.

        Of a condition lane by lane, only the lanes are lost on which it holds; the loop ends when none is left. What
        fails because nobody answers elsewhere fails for that reason, on all lanes.
        """
        stop_if_unanswered(self)
        if condition.kind != BOOL:
            lost, now = self.vector("lost"), self.block.time
            lost[0] = self.code.select(condition & (lost[0] > now), now, lost[0])
            condition = ~anywhere(lost[0] > now)
        self.status.set(self.code.select(condition, Value(self.code, str(int(status)), INT), self.status.get()))
        self.code.leave(condition)

    def stop_if_asked(self) -> None:
        """Poll the flag that another thread may raise."""
        flag = self.code.let("i32", f"load volatile i32, ptr {self.block.stop.name}")
        self.fail(self.code.let("i1", f"icmp ne i32 {flag.name}, 0"), ChunkEnd.STOPPED)

    def leave_room_for_events(self, each: Value) -> None:
        """End the loop if the next event could not be logged, or, with `each`, not be recorded: behind one that laws
        have settled comes the next one at once.
        """
        block = self.block
        rows = 1 if self.program.laws else 0
        self.fail(each & (block.rows + rows >= block.capacity), ChunkEnd.BUFFER_FULL)
        self.fail(block.log_rows + self.guards > block.log_capacity, ChunkEnd.LOG_FULL)

    def record(self, time: Value, state: str, counts: bool = True) -> None:
        """Append the row (time, state, inputs); `counts` if it is one of those the run was asked for."""
        count = len(self.program.inputs)
        width = self.lanes.count * self.size
        row = self.block.array("records").at(self.block.rows * (1 + width + count))
        row[0] = time
        self.code.copy(row.at(1), self.vector(state), self.own)
        if self.away:
            self.away.pin(state, row.at(1))
        self.set_inputs(time)
        self.code.copy(row.at(1 + width), self.vector("inputs"), count)
        self.block.add("rows")
        if counts:
            self.block.add("recorded")


class Beside(Machine):
    """The same model in a function beside the loop, which calls it seldom; some vectors are given to it by pointers."""

    def __init__(self, loop: Machine, *given: str) -> None:
        self._given = given
        super().__init__(loop.program, loop.lanes, flush=loop.flush)

    def vector(self, name: str) -> Array:
        """A vector of the run's memory, or one that is given."""
        return Array(self.code, f"%{name}", self.lanes.real) if name in self._given else super().vector(name)

    def define(self, name: str, parameters: str) -> str:
        """The text of the function."""
        self._restore()
        return self.code.define(f"internal void @{name}({parameters}) {self.lanes.stack}nounwind noinline cold")


def stop_if_unanswered(machine: Machine) -> None:
    """End the loop if a part that runs elsewhere gives no answers any more, before anything is kept of the step."""
    code = machine.code
    for place in machine.elsewhere:
        word = code.let("ptr", f"getelementptr i64, ptr {place}, i64 {BROKEN}").name
        bad = code.let(INT, f"load volatile i64, ptr {word}") > 0
        machine.status.set(code.select(bad, Value(code, str(int(ChunkEnd.ELSEWHERE)), INT), machine.status.get()))
        code.leave(bad)


def tells_slopes(program: Program) -> bool:
    """Whether guards come with the slopes of those of open gaps."""
    return _told(program, "slopes")


def tells_rates(program: Program) -> bool:
    """Whether guards come with the rate of the state: where they see forces of laws."""
    return _told(program, "rate")


def tells_off(program: Program) -> bool:
    """Whether guards come with how far what laws hold is off, and nothing else is held."""
    return _told(program, "off")


def _told(program: Program, what: str) -> bool:
    return "guards" in program.routines and any(name == what for name, _ in program.outline("guards").outputs)


def combine_own(machine: Machine, target: str, base: str, terms: Sequence[tuple[Value, str]]) -> None:
    """target = base + sum of factor * vector, of the numbers that are here; modes of laws are those of the base."""
    goal, code = machine.vector(target), machine.code
    parts = [(factor, machine.vector(name)) for factor, name in terms]
    kept = machine.kept if base else []
    for first, count in machine.moving if base else [(0, machine.own)]:
        with code.loop(count) as i:
            k = i + first
            total = machine.vector(base)[k] if base else spread(code, 0.0)  # no sum of two products: one meaning
            for factor, part in parts:
                total = plus_product(total, factor, part[k])
            goal[k] = total
    for first, count in kept if target != base else []:
        code.copy(goal.at(first), machine.vector(base).at(first), count)


def moving_and_kept(program: Program, own: int) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Places of the state that a step may change, and those of the modes of laws, which change at events alone; as
    runs.
    """
    places = program.mode_places
    named = {places[mode] for unit in program.laws for mode in unit.modes if mode in places}
    kept = sorted(place for place in named if place < own)
    return runs_of([place for place in range(own) if place not in set(kept)]), runs_of(kept)


def runs_of(places: Sequence[int]) -> list[tuple[int, int]]:
    """Places as runs of those that follow each other: first and count of each."""
    found: list[tuple[int, int]] = []
    for place in places:
        if found and sum(found[-1]) == place:
            found[-1] = found[-1][0], found[-1][1] + 1
        else:
            found.append((place, 1))
    return found
