"""An implicit stage in native code: the state y with y = b + g f(y), by Newton's method.

The matrix is exact and compiled (see `translate/slopes`), and is taken anew as soon as the iteration converges slowly:
stiff directions of a mechanism turn with it. Where it converges well the factors serve on, within the stage and in the
next ones, for g is the same in all stages of a step. Changes are measured in units of the tolerance; an iteration ends
when what is left, judged by its rate of convergence, is a small share of that (Hairer, Wanner: Solving ODEs II, IV.8).

Of models with parts that only answer (sealed ones, FMUs) the matrix is 1 - g J of the whole state, with J by forward
differences. Newton's method converges as well with it, or more matrices are made.
"""

from __future__ import annotations

from kompono.compile import lu
from kompono.compile.block import has_slopes
from kompono.compile.emit import BOOL, INT, REAL, Array, Value
from kompono.compile.error_level import plus_square
from kompono.compile.machine import Machine
from kompono.compile.schedule import symbol
from kompono.compile.staying import NEAR
from kompono.translate.program import Program
from kompono.translate.slopes import IMPLICIT, moving_places

SOLVED, PACE, WANTED, STRAYS, JACOBIANS = range(5)  # numbers in the vector `newton`: of stages,
SOLVES, DENSE, RADIUS, SURE, UNSURE, PATIENCE, IMPLICIT_STEPS, LENGTH = range(5, 13)  # and of what `loop_stiff` decides
NAME = "kompono.newton"
_SMALL = 5e-4  # of the tolerance: what may be left of a stage
_MOST = 10  # iterations
_SLOW = 0.25  # share of a change the next one may be without a new matrix
_STRIDE = 2.0**-26  # of a difference, relative to a number and one
_NOTHING = 1e-6  # of the tolerance: a change that ends the iteration whatever came before


def patterns(program: Program) -> list[list[tuple[int, float | None]]]:
    """Where X and F are not zero: entry by entry, column by column, with the value of those that are constant."""
    if not has_slopes(program):
        return []
    routine = program.routines[IMPLICIT]
    found = []
    for (name, _), result in zip(routine.outputs, routine.result, strict=True):
        if name in ("turning", "following"):
            found.append([(k, s if isinstance(s, float) else None) for k, s in enumerate(result) if s != 0.0])
    return found


def solve_stage(machine: Machine, time: Value, g: Value) -> Value:
    """Solve for `stage`, from a guess there, with b in `base`; whether that succeeded."""
    if NAME not in machine.beside:
        machine.beside[NAME] = _function(machine)
    machine.code.say(f"call void @{NAME}(ptr %block, double {time.name}, double {g.name})")
    return machine.vector("newton")[SOLVED] > 0.0


def _function(loop: Machine) -> str:
    """The iteration as a function of the block, time and g."""
    machine = Machine(loop.program, flush=False, implicit=True)
    code, newton = machine.code, machine.vector("newton")
    time, g = Value(code, "%time", REAL), Value(code, "%g", REAL)
    last, count, slow = code.variable(REAL, 0.0), code.variable(INT, 0), code.variable(INT, 0)
    newton[SOLVED] = 0.0
    with code.forever():
        fresh = code.variable(BOOL, newton[WANTED] > 0.0)
        _evaluate(machine, time)
        _solve(machine, g)
        change = _size(machine)
        number = change < 1e100
        first = count.get().equals(0)
        pace = change / code.math("maxnum", last.get(), 1e-300)
        left = code.select(first, newton[PACE], pace / code.math("maxnum", 1.0 - pace, 1e-3))
        converges = first | (pace < 1.0)
        done = number & converges & ((left * change <= _SMALL) | (change <= _NOTHING))
        newton[SOLVED] = code.select(done, 1.0, 0.0)
        newton[PACE] = code.select(
            done, code.math("maxnum", 1e-3, code.math("minnum", 1.0, code.math("pow", left, 0.8))), 1.0
        )
        newton[WANTED] = code.select((pace > _SLOW) & ~first, 1.0, 0.0)
        slow.set(code.select(fresh.get() & ~converges, slow.get() + 1, slow.get()))
        last.set(change)
        count.set(count.get() + 1)
        code.leave(done | ~number | (slow.get() > 1) | (count.get() >= _MOST))
    return code.define(f"internal void @{NAME}(ptr %block, double %time, double %g) nounwind noinline")


def _evaluate(machine: Machine, time: Value) -> None:
    """The rate at `stage` to `mean`, and the factors of the matrix there if they are wanted."""
    code, program, newton = machine.code, machine.program, machine.vector("newton")
    state = "stage"
    if "gap" in program.routines:
        state = "beside"
        machine.copy(state, "stage")
        with code.when(newton[STRAYS] > 0.0):
            machine.project(time, state, aside=True)
    wanted = code.variable(BOOL, newton[WANTED] > 0.0)
    with code.when(wanted.get()):
        _matrix(machine, time, state)
        newton[JACOBIANS] = newton[JACOBIANS] + 1.0
    with code.when(~wanted.get()):
        machine.evaluate(program.routines["derivative"], time, state, "mean")
    machine.block.add("evaluations")


def _differenced(machine: Machine, time: Value, state: str) -> None:
    """The rate, and 1 - g J of the whole state by forward differences."""
    code, size, routine = machine.code, machine.size, machine.program.routines["derivative"]
    place, rate, moved = (machine.vector(name) for name in (state, "mean", "rate_beside"))
    square, g = machine.vector("square"), machine.vector("given")[len(machine.program.parameters)]
    machine.evaluate(routine, time, state, "mean")
    with code.loop(size) as j:
        kept = place[j]
        place[j] = kept + _STRIDE * (1.0 + code.math("fabs", kept))
        stride = place[j] - kept
        machine.evaluate(routine, time, state, "rate_beside")
        place[j] = kept
        with code.loop(size) as i:
            share = g * (moved[i] - rate[i]) / stride
            square[i * size + j] = code.select(i.equals(j), 1.0, 0.0) - share
    machine.block.add("evaluations", size)


def _matrix(machine: Machine, time: Value, state: str) -> None:
    if has_slopes(machine.program):
        _exact(machine, time, state)
    else:
        _differenced(machine, time, state)
    if _unknowns(machine):
        _measure(machine)
    lu.factor(machine.code, machine.vector("square"), _integers(machine, "pivots"), _unknowns(machine))


def _exact(machine: Machine, time: Value, state: str) -> None:
    """The rate, and what `implicit` gives of the matrix."""
    routine = machine.program.routines[IMPLICIT]
    machine.vector("time")[0] = time
    machine.set_inputs(time)
    given = [machine.vector(name) for name in ("time", state, "inputs", "given")]
    made = [machine.vector("mean"), *(machine.vector(name) for name, _ in routine.outputs[1:])]
    machine.code.call(symbol(routine.name), [*given, *made, machine.vector("work")])


def _measure(machine: Machine) -> None:
    """The radius of S - 1, by two more factors of a power of it that goes on from matrix to matrix."""
    code, size = machine.code, _unknowns(machine)
    power, product, square = machine.vector("power"), machine.vector("solved"), machine.vector("square")

    def length(vector: Array) -> Value:
        total = code.variable(REAL, 0.0)
        with code.loop(size) as i:
            total.set(total.get() + vector[i] * vector[i])
        return code.math("sqrt", total.get())

    before = length(power)
    with code.when(~((before > 1e-100) & (before < 1e100))), code.loop(size) as i:
        power[i] = 1.0 + (i * 7919 % 101).real()  # in no direction of its own
    before = length(power)
    for source, target in ((power, product), (product, power)):
        with code.loop(size) as i:
            row, total = square.at(i * size), code.variable(REAL, 0.0 - source[i])
            with code.loop(size) as j:
                total.set(total.get() + row[j] * source[j])
            target[i] = total.get()
    after = length(power)
    radius = code.math("sqrt", after / before)
    machine.vector("newton")[RADIUS] = radius if has_slopes(machine.program) else radius * radius  # there it is g rho
    with code.loop(size) as i:
        power[i] = power[i] / code.math("maxnum", after, 1e-300)


def _solve(machine: Machine, g: Value) -> None:
    """Newton's change of `stage` to `corrected`, added to it."""
    code = machine.code
    base, rate, stage, change = (machine.vector(name) for name in ("base", "mean", "stage", "corrected"))
    with code.loop(machine.size) as i:
        change[i] = base[i] + g * rate[i] - stage[i]
    if has_slopes(machine.program):
        _reduced(machine)
    else:
        lu.solve(code, machine.vector("square"), _integers(machine, "pivots"), change, machine.size)
    with code.loop(machine.size) as i:
        stage[i] = stage[i] + change[i]


def _reduced(machine: Machine) -> None:
    """The change from what is left, with coordinates eliminated."""
    code, program = machine.code, machine.program
    q, places = len(program.coordinates), moving_places(program)
    change, solved, coupling = (machine.vector(name) for name in ("corrected", "solved", "coupling"))
    for k, place in enumerate(places):
        solved[k] = change[place]
    with code.loop(len(places)) as i:
        row, total = coupling.at(i * q), code.variable(REAL, solved[i])
        with code.loop(q) as j:
            total.set(total.get() + row[j] * change[j])
        solved[i] = total.get()
    lu.solve(code, machine.vector("square"), _integers(machine, "pivots"), solved, len(places))
    _follow(machine)
    for k, place in enumerate(places):
        change[place] = solved[k]


def _follow(machine: Machine) -> None:
    """Coordinates of the change: X r_q + F d_z, entry by entry where these are not zero."""
    program = machine.program
    q, change = len(program.coordinates), machine.vector("corrected")
    turning, following = patterns(program)
    totals: list[Value | None] = [None] * q
    for name, source, entries in (("turning", change, turning), ("following", machine.vector("solved"), following)):
        factors = machine.vector(name)
        for k, constant in entries:
            row, column = k % q, k // q
            term = (
                source[column] if constant == 1.0 else (factors[k] if constant is None else constant) * source[column]
            )
            before = totals[row]
            totals[row] = term if before is None else before + term
    for row, total in enumerate(totals):
        if total is not None:
            change[row] = total


def _size(machine: Machine) -> Value:
    """Root mean square of the change in units of the tolerance."""
    code = machine.code
    vectors = [machine.vector(name) for name in ("corrected", "state", "stage", "rtol", "atol")]
    total = code.variable(REAL, 0.0)
    with code.loop(machine.size) as i:
        total.set(plus_square(code, total.get(), [vector[i] for vector in vectors]))
    return code.math("sqrt", total.get() / max(machine.size, 1))


def begin_step(machine: Machine, time: Value, h: Value, g: Value) -> None:
    """Before the stages: a new matrix is wanted, its g is known, and whether stages are projected."""
    code, newton, count = machine.code, machine.vector("newton"), len(machine.program.parameters)
    given = machine.vector("given")
    code.copy(given, machine.block.array("parameters"), count)
    given[count] = g
    newton[WANTED], newton[PACE] = 1.0, 1.0
    gap = machine.program.routines.get("gap")
    if gap is not None:  # as far as an explicit step strays
        machine.combine("stage", "state", [(h, "rate0")])
        machine.evaluate(gap, time + h, "stage", "gap")
        wide = machine.vector("gap")[0] > 1.0
        if machine.tells_nearness:
            near = machine.vector("near")
            wide = wide | (near[0] < NEAR) | (near[1] < machine.vector("rank")[0])
        newton[STRAYS] = code.select(wide & (machine.block.projecting > 0), 1.0, 0.0)


def _unknowns(machine: Machine) -> int:
    if not has_slopes(machine.program):
        return machine.size
    return len(machine.program.speeds) + len(machine.program.states)


def _integers(machine: Machine, name: str) -> Array:
    return Array(machine.code, machine.vector(name).pointer, INT)
