"""An implicit stage in native code: the state y with y = b + g f(y), by Newton's method.

The matrix (see `stage_matrix`) is taken anew as soon as the iteration converges slowly: stiff directions of a mechanism
turn with it. Where it converges well the factors serve on, within the stage and in the
next ones, for g is the same in all stages of a step. Changes are measured in units of the tolerance; an iteration ends
when what is left, judged by its rate of convergence, is a small share of that (Hairer, Wanner: Solving ODEs II, IV.8).
"""

from __future__ import annotations

from kompono.compile.emit import BOOL, INT, REAL, Array, Value, spread
from kompono.compile.error_level import plus_square
from kompono.compile.machine import Machine
from kompono.compile.stage_matrix import StageMatrix
from kompono.compile.staying import NEAR

SOLVED, PACE, WANTED, STRAYS, JACOBIANS = range(5)  # numbers in the vector `newton`: of stages,
SOLVES, DENSE, RADIUS, SURE, UNSURE, PATIENCE, IMPLICIT_STEPS, LENGTH = range(5, 13)  # and of what `loop_stiff` decides
# the next one is of `stage_matrix`
NAME = "kompono.newton"
SMALL = 5e-4  # of the tolerance: what may be left of a stage
MOST = 10  # iterations
SLOW = 0.25  # share of a change the next one may be without a new matrix
NOTHING = 1e-6  # of the tolerance: a change that ends the iteration whatever came before


def solve_stage(machine: Machine, time: Value, g: Value) -> Value:
    """Solve for `stage`, from a guess there, with b in `base`; whether that succeeded."""
    if NAME not in machine.beside:
        machine.beside[NAME] = _function(machine)
    machine.code.say(f"call void @{NAME}(ptr %block, double {time.name}, double {g.name})")
    return machine.vector("newton")[SOLVED] > 0.0


def _function(loop: Machine) -> str:
    """The iteration as a function of the block, time and g."""
    machine = Machine(loop.program, flush=False, implicit=True)
    code, newton, matrix = machine.code, machine.vector("newton"), StageMatrix(machine)
    time, g = Value(code, "%time", REAL), Value(code, "%g", REAL)
    last, count, slow = code.variable(REAL, 0.0), code.variable(INT, 0), code.variable(INT, 0)
    newton[SOLVED] = 0.0
    with code.forever():
        fresh = code.variable(BOOL, newton[WANTED] > 0.0)
        _evaluate(matrix, time)
        move_stage(matrix, g)
        change = size_of_change(machine)
        number = change < 1e100
        first = count.get().equals(0)
        pace = change / code.math("maxnum", last.get(), 1e-300)
        left = code.select(first, newton[PACE], pace / code.math("maxnum", 1.0 - pace, 1e-3))
        converges = first | (pace < 1.0)
        done = number & converges & ((left * change <= SMALL) | (change <= NOTHING))
        newton[SOLVED] = code.select(done, 1.0, 0.0)
        newton[PACE] = code.select(
            done, code.math("maxnum", 1e-3, code.math("minnum", 1.0, code.math("pow", left, 0.8))), 1.0
        )
        newton[WANTED] = code.select((pace > SLOW) & ~first, 1.0, 0.0)
        slow.set(code.select(fresh.get() & ~converges, slow.get() + 1, slow.get()))
        last.set(change)
        count.set(count.get() + 1)
        code.leave(done | ~number | (slow.get() > 1) | (count.get() >= MOST))
    return matrix.tables.text + code.define(
        f"internal void @{NAME}(ptr %block, double %time, double %g) nounwind noinline"
    )


def _evaluate(matrix: StageMatrix, time: Value) -> None:
    """The rate at `stage` to `mean`, and the factors of the matrix there if they are wanted."""
    machine = matrix.machine
    code, program, newton = machine.code, machine.program, machine.vector("newton")
    state = "stage"
    if "gap" in program.routines:
        state = "beside"
        machine.copy(state, "stage")
        with code.when(newton[STRAYS] > 0.0):
            machine.project(time, state, aside=True)
    wanted = code.variable(BOOL, newton[WANTED] > 0.0)
    with code.when(wanted.get()):
        matrix.make(time, state)
        if matrix.size:
            measure(matrix)
        matrix.factor()
        newton[JACOBIANS] = newton[JACOBIANS] + 1.0
    with code.when(~wanted.get()):
        machine.evaluate(program.routines["derivative"], time, state, "mean")
    machine.block.add("evaluations")


def measure(matrix: StageMatrix, now: Value | None = None) -> None:
    """The radius of S - 1, by two more factors of a power of it that goes on from matrix to matrix; on several lanes,
    of those that iterate `now`.
    """
    machine, size = matrix.machine, matrix.size
    code, power, product = machine.code, machine.vector("power"), machine.vector("solved")

    def length(vector: Array) -> Value:
        total = code.variable(machine.lanes.real, 0.0)
        with code.loop(size) as i:
            total.set(total.get() + vector[i] * vector[i])
        return code.math("sqrt", total.get())

    before = length(power)
    fine = (before > 1e-100) & (before < 1e100)
    if now is None:
        with code.when(~fine), code.loop(size) as i:
            power[i] = 1.0 + (i * 7919 % 101).real()  # in no direction of its own
    else:
        with code.loop(size) as i:
            power[i] = code.select(fine, power[i], 1.0 + (i * 7919 % 101).real())
    before = length(power)
    for source, target in ((power, product), (product, power)):
        code.copy(target, source, size)
        matrix.add_product(source, target, -1.0)
    after = length(power)
    radius = code.math("sqrt", after / before)
    radius = radius if matrix.exact else radius * radius  # there it is g rho
    newton = machine.vector("newton")
    newton[RADIUS] = radius if now is None else code.select(now, radius, newton[RADIUS])
    with code.loop(size) as i:
        power[i] = power[i] / code.math("maxnum", after, 1e-300)


def move_stage(matrix: StageMatrix, g: Value, now: Value | None = None) -> None:
    """Newton's change of `stage` to `corrected`, added to it; on several lanes, on those that iterate `now`."""
    machine, code = matrix.machine, matrix.machine.code
    base, rate, stage, change = (machine.vector(name) for name in ("base", "mean", "stage", "corrected"))
    with code.loop(machine.size) as i:
        change[i] = base[i] + g * rate[i] - stage[i]
    matrix.solve_reduced(change)
    with code.loop(machine.size) as i:
        moved = stage[i] + change[i]
        stage[i] = moved if now is None else code.select(now, moved, stage[i])


def size_of_change(machine: Machine) -> Value:
    """Root mean square of the change in units of the tolerance."""
    code = machine.code
    vectors = [machine.vector(name) for name in ("corrected", "state", "stage", "rtol", "atol")]
    total = code.variable(machine.lanes.real, 0.0)
    with code.loop(machine.size) as i:
        total.set(plus_square(code, total.get(), [vector[i] for vector in vectors]))
    return code.math("sqrt", total.get() / float(max(machine.size, 1)))


def begin_step(machine: Machine, time: Value, h: Value, g: Value) -> None:
    """Before the stages: a new matrix is wanted, its g is known, and whether stages are projected."""
    code, newton, count = machine.code, machine.vector("newton"), len(machine.program.parameters)
    given = machine.vector("given")
    code.copy(given, Array(code, machine.block.parameters.name, machine.lanes.real), count)
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
        if machine.lanes.count == 1:
            wide = wide & (machine.block.projecting > 0)
        else:
            wide = code.select(machine.block.projecting > 0, wide, False)
        newton[STRAYS] = code.select(wide, spread(code, 1.0), 0.0)
