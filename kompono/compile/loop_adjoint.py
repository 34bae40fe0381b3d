"""The native loop that goes back along the stored steps of a run and takes the gradient of a cost with it.

Rows of what was stored are time, kind and state; from a row to the next lies a piece of a step of an explicit
Runge-Kutta method (kind -1) or an event (its number). Of each piece the stages are made again, with all projections,
whose states are kept on a `tape`; then everything is gone through backwards with transposed derivatives (see
`translate/adjoint`). The result is the gradient of the very steps, to rounding. Lengths of steps are held as they were;
a step of Dormand and Prince that an event has cut is gone back as one that ends there.
"""

from __future__ import annotations

from kompono.compile.block import ChunkEnd
from kompono.compile.emit import INT, Array, Value, Variable
from kompono.compile.loop_fixed import weighted
from kompono.compile.machine import MOST_PROJECTIONS, Machine
from kompono.compile.staying import NEAR, note_rank
from kompono.compile.tableaux import Tableau
from kompono.translate.adjoint import GRADIENT
from kompono.translate.program import PULL


def adjoint_loop(machine: Machine, tableau: Tableau, name: str) -> str:
    """Up to `budget` rows back, from row `step` on."""
    code, block = machine.code, machine.block
    size, width = _own(machine), 2 + _own(machine)
    last = block.step - block.budget
    with code.forever():
        k = block.step
        code.leave((k <= 0) | (k <= last))
        machine.stop_if_asked()
        later = block.array("records").at(k * width)
        earlier = block.array("records").at((k - 1) * width)
        code.copy(machine.vector("state"), earlier.at(2), size)
        kind = later[1]
        with code.when(kind < 0.0):
            _piece(machine, tableau, earlier[0], later[0])
        for number in range(_events(machine)):
            with code.when(kind.equals(float(number))):
                state = machine.vector("state")
                _pull(machine, f"switch_{number}", earlier[0], state, state.at(size))
                code.copy(state.at(size), machine.vector("mean").at(size), size)
        machine.fail(~machine.finite("state"), ChunkEnd.NOT_FINITE)
        block.set("step", k - 1)
    return machine.finish(name)


def _own(machine: Machine) -> int:
    """Length of the state of the model itself."""
    return sum(name.startswith(GRADIENT) for name in machine.program.states)


def _events(machine: Machine) -> int:
    return sum(name.startswith(f"{PULL}switch_") for name in machine.program.routines)


def _piece(machine: Machine, tableau: Tableau, time: Value, end: Value) -> None:
    """Back over one piece of a step."""
    code, size, groups = machine.code, _own(machine), len(tableau.b)
    h = end - time
    counts = [code.variable(INT, 0) for _ in range(groups)]  # of projections of the end, and of all stages but one
    _again(machine, tableau, time, end, h, counts)
    gradient, total = machine.vector("dense0"), machine.vector("dense1")
    shares = [machine.vector(name) for name in _names(tableau)]
    code.copy(gradient, machine.vector("state").at(size), size)
    _unproject(machine, end, 0, counts[0], gradient)
    with code.loop(size) as i:
        total[i] = gradient[i]
        for weight, share in zip(tableau.b, shares, strict=True):
            share[i] = h * weight * gradient[i]
    for stage in reversed(range(groups)):
        at = time if stage == 0 else time + tableau.c[stage] * h
        _pull(machine, "derivative", at, machine.vector("state" if stage == 0 else f"past{stage}"), shares[stage])
        code.copy(gradient, machine.vector("mean").at(size), size)
        if stage:
            _unproject(machine, at, stage, counts[stage], gradient)
        with code.loop(size) as i:
            total[i] = total[i] + gradient[i]
            for weight, share in zip(tableau.a[stage], shares, strict=False):
                if weight:
                    share[i] = share[i] + h * weight * gradient[i]
    code.copy(machine.vector("state").at(size), total, size)


def _names(tableau: Tableau) -> list[str]:
    return [f"rate{i}" for i in range(len(tableau.b))]


def _again(
    machine: Machine, tableau: Tableau, time: Value, end: Value, h: Value, counts: list[Variable]
) -> None:  # fmt: skip
    """The stages of a step as the run made them: their states in `past<i>`, what was projected on the tape."""
    code, gap, names = machine.code, machine.program.routines.get("gap"), _names(tableau)
    if machine.tells_nearness:
        machine.evaluate(machine.program.routines["project"], time, "state", "corrected", "near")
    machine.rate(time, "state", "rate0")
    for stage in range(1, len(names)):
        at = time + tableau.c[stage] * h
        machine.combine("stage", "state", weighted(h, tableau.a[stage], names))
        if gap is not None:
            if stage == 1:
                machine.evaluate(gap, at, "stage", "gap")
                wide = machine.vector("gap")[0] > 1.0
                if machine.tells_nearness:
                    near = machine.vector("near")
                    wide = wide | (near[0] < NEAR) | (near[1] < machine.vector("rank")[0])
                machine.strays.set(wide & (machine.block.projecting > 0))
            with code.when(machine.strays.get()):
                _project(machine, at, "stage", stage, counts[stage])
        machine.copy(f"past{stage}", "stage")
        machine.rate(at, "stage", names[stage])
    machine.combine("next", "state", weighted(h, tableau.b, names))
    _project(machine, end, "next", 0, counts[0])
    if machine.tells_nearness:
        note_rank(machine)
        machine.fail(machine.vector("near")[1] < machine.vector("rank")[0], ChunkEnd.OFF_CONSTRAINTS)


def _project(machine: Machine, time: Value, state: str, group: int, count: Variable) -> None:
    """Project, and keep what is projected each time on the tape."""

    def keep(number: Value) -> None:
        machine.code.copy(_tape(machine, group, number), machine.vector(state), _own(machine))
        count.set(number + 1)

    machine.project(time, state, note=keep)


def _tape(machine: Machine, group: int, number: Value) -> Array:
    return machine.vector("tape").at((number + group * MOST_PROJECTIONS) * _own(machine))


def _unproject(machine: Machine, time: Value, group: int, count: Variable, gradient: Array) -> None:
    """Take a gradient back through the projections of a group."""
    if PULL + "project" not in machine.program.routines:
        return
    code, size = machine.code, _own(machine)
    with code.loop(count.get()) as i:
        _pull(machine, "project", time, _tape(machine, group, count.get() - 1 - i), gradient)
        code.copy(gradient, machine.vector("mean").at(size), size)


def _pull(machine: Machine, routine: str, time: Value, at: Array, gradient: Array) -> None:
    """The transposed derivative of a routine at a state, times a gradient: to `mean` behind the state, and what
    parameters get of it is added to their sum."""
    code, size = machine.code, _own(machine)
    beside, mean, state = (machine.vector(name) for name in ("beside", "mean", "state"))
    code.copy(beside, at, size)
    code.copy(beside.at(size), gradient, size)
    machine.evaluate(machine.program.routines[PULL + routine], time, "beside", "mean")
    machine.block.add("evaluations")
    with code.loop(machine.size - 2 * size) as i:
        state[i + 2 * size] = state[i + 2 * size] + mean[i + 2 * size]
