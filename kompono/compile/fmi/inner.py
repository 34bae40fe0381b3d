"""What the functions of an FMU do inside, written with the pieces of Kompono's own loops: no equation, no search for an
event and no projection is written twice.

Each piece is a function of a block (see `compile.block`), as a step loop is; a function of the same name without
`.inner` makes the block of an instance and calls it. All give the `ChunkEnd` they ended with.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from kompono.compile import events, sampling
from kompono.compile.block import Block, ChunkEnd, NativeBlock
from kompono.compile.emit import BOOL, INT, REAL, Array, Code, Value, always
from kompono.compile.fmi.instance import LOG_ROWS, FmuModel
from kompono.compile.fmi.tangent import PULL
from kompono.compile.law_state import HOLDS
from kompono.compile.loops import LOOPS
from kompono.compile.machine import Machine
from kompono.compile.staying import come_back

BLOCK = ctypes.sizeof(Block) // 8  # words
METHOD = "rk4"  # of co-simulation
FAR = 1 << 62
NEVER = 1e30  # behind all instants [s]
LOOP = "kompono.loop"


def inner_functions(model: FmuModel, *, flush: bool) -> str:
    """All of them as LLVM text; `flush` where the target is slow with tiny numbers."""
    made = {"rates": _rates, "settle": _settle, "drift": _drift}
    if model.guards:
        made |= {"watch": _watch, "switch": _switch}
    if model.program.rates:
        made |= {"tick": _tick}
    text = _fill(model) + "".join(_piece(model, name, make) + _asking(name) for name, make in made.items())
    if "cs" in model.kinds:
        text += LOOPS[METHOD](Machine(model.program, flush=flush), LOOP) + _steps(model)
    return text


def _fill(model: FmuModel) -> str:
    """The block of an instance."""
    code, places = Code(), model.places
    whole = Array(code, "%c")
    block = NativeBlock(code)
    code.say(f"call void @llvm.memset.p0.i64(ptr %block, i8 0, i64 {8 * BLOCK}, i1 false)")
    pointers = {
        "memory": "memory", "parameters": "parameter", "table_times": "never", "table_values": "input", "stop": "never",
        "log": "log",
    }  # fmt: skip
    for name, place in pointers.items():
        address = whole.at(places[place]).pointer
        block.set(name, Value(code, address, "ptr"))
    integers = {
        "table_rows": 1, "projecting": 1, "acting": HOLDS, "guard_checks": 1, "every": 1 << 40, "record_count": FAR,
        "recorded": FAR, "log_capacity": LOG_ROWS + model.guards,
    }  # fmt: skip
    for name, number in integers.items():
        block.set(name, number)
    time = whole[places["time"]]
    block.set("start", time)
    block.set("time", time)
    block.set("old_error", 1e-4)
    return code.define("internal void @kompono.fmi.fill(ptr %c, ptr %block) nounwind")


def _piece(model: FmuModel, name: str, make: Callable[[Machine, Value], None]) -> str:
    machine = Machine(model.program, flush=False)
    with machine.code.forever():
        make(machine, machine.block.time)
        machine.code.leave(always(machine.code))
    return machine.finish(f"kompono.fmi.{name}.inner")


def _asking(name: str) -> str:
    """The same as a function of an instance; `switch` says whether anything happened: 1000 is added then."""
    code = Code()
    code.say(f"%block = alloca [{BLOCK} x i64], align 8")
    code.say("call void @kompono.fmi.fill(ptr %c, ptr %block)")
    end = code.let(INT, f"call i64 @kompono.fmi.{name}.inner(ptr %block)")
    if name == "switch":
        end = end + code.select(NativeBlock(code).event_count > 0, Value(code, "1000", INT), Value(code, "0", INT))
    return code.define(f"internal i64 @kompono.fmi.{name}(ptr %c) nounwind", end)


def _rates(machine: Machine, time: Value) -> None:
    """`rate0`: the rates at the projected state, and the pull towards it."""
    routine = machine.program.routines.get("project")
    if routine is None:
        machine.rate(time, "state", "rate0")
        return
    machine.evaluate(routine, time, "state", "stage")
    machine.rate(time, "stage", "rate0")
    rate, state, kept = (machine.vector(name) for name in ("rate0", "state", "stage"))
    with machine.code.loop(machine.size) as i:
        rate[i] = rate[i] + PULL * (kept[i] - state[i])


def _settle(machine: Machine, time: Value) -> None:
    """Bring the state back to the conditions."""
    come_back(machine, time, "state")


def _drift(machine: Machine, time: Value) -> None:
    """`gap`: how far a projection would move the state."""
    code, gap = machine.code, machine.vector("gap")
    gap[0] = 0.0
    routine = machine.program.routines.get("project")
    if routine is None:
        return
    machine.evaluate(routine, time, "state", "corrected")
    state, kept = machine.vector("state"), machine.vector("corrected")
    with code.loop(machine.size) as i:
        gap[0] = code.math("maxnum", gap[0], code.math("fabs", kept[i] - state[i]))


def _watch(machine: Machine, time: Value) -> None:
    """`values`: the guards."""
    machine.evaluate(machine.program.routines["guards"], time, "state", "values")


def _switch(machine: Machine, time: Value) -> None:
    """Apply the switches of all guards that fired, and of those that fire because of them; arm those at rest."""
    code, block, never = machine.code, machine.block, Value(machine.code, "false", BOOL)
    with code.forever():
        block.set("log_rows", 0)
        happened = events.handle(machine, time, never)
        machine.fail(block.event_count > events.LIMIT, ChunkEnd.TOO_MANY_EVENTS)
        code.leave(~happened)
    with code.when(block.event_count > 0), code.forever():  # `come_back` may leave
        come_back(machine, time, "state")
        code.leave(always(code))


def _tick(machine: Machine, time: Value) -> None:
    """Sample what is due; `gap`: the next instant [s]."""
    sampling.tick(machine, time)
    machine.vector("gap")[0] = sampling.stop_at(machine, Value(machine.code, f"{NEVER:e}", REAL))


def _steps(model: FmuModel) -> str:
    """From a time over an interval, by equal steps that are at most as long as asked for."""
    code = Code()
    start, interval = Value(code, "%t", REAL), Value(code, "%h", REAL)
    code.say(f"%block = alloca [{BLOCK} x i64], align 8")
    time = Array(code, "%c").at(model.places["time"])
    time[0] = start
    code.say("call void @kompono.fmi.fill(ptr %c, ptr %block)")
    block = NativeBlock(code)
    ratio = code.math("ceil", interval / model.step - 1e-9)
    count = code.let(INT, f"call i64 @llvm.fptosi.sat.i64.f64(double {code.math('maxnum', ratio, 1.0).name})")
    block.set("step_size", interval / count.real())
    end = code.variable(INT, 0)
    with code.forever():
        block.set("log_rows", 0)
        block.set("budget", count - block.step)
        end.set(code.let(INT, f"call i64 @{LOOP}(ptr %block)"))
        code.leave(code.binary("!=", end.get(), int(ChunkEnd.LOG_FULL)))
    time[0] = code.select(end.get().equals(0), start + interval, block.time)
    return code.define("internal i64 @kompono.fmi.steps(ptr %c, double %t, double %h) nounwind", end.get())
