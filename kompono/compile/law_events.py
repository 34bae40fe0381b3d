"""What a step loop does where guards of laws rose: it asks native code to settle them, and ends where that does not.

The function and what it works on are given with the run (`settle_block`), for a loop does not know the laws. Where they
are not given (runs whose derivatives jump, parts elsewhere), Python settles, as it does whatever native code leaves.
"""

from __future__ import annotations

from kompono.compile.block import ChunkEnd
from kompono.compile.emit import BOOL, INT, Value
from kompono.compile.law_state import HOLDS
from kompono.compile.law_ties import may_tie
from kompono.compile.machine import Machine
from kompono.compile.settle_block import NativeSettleBlock


def begin_anew(machine: Machine, adaptive: bool) -> None:
    """What comes does not smoothly continue what was."""
    block = machine.block
    block.set("history", 0)
    if adaptive:
        block.set("step_size", 0.0)
        block.set("old_error", 1e-4)
        block.set("after_rejection", 0)


def settle(machine: Machine, time: Value, asked: Value, adaptive: bool) -> Value:
    """Let laws settle that are `asked` to, and end the loop where Python must; whether they did."""
    code, block = machine.code, machine.block
    done = code.variable(BOOL, False)
    with code.when(asked & code.let(BOOL, f"icmp ne ptr {block.settler.name}, null")):
        machine.vector("time")[0] = time
        machine.set_inputs(time)
        laws = NativeSettleBlock(code, block.settling.name)
        laws.set("room", block.log_capacity - block.log_rows)
        count = code.let(INT, f"call i64 {block.settler.name}(ptr {block.settling.name})")
        done.set(count >= 0)
        with code.when(count >= 0):
            _log(machine, time, laws, count)
            _forget(machine)
            begin_anew(machine, adaptive)
            block.set("acting", laws.acting)
            machine.fail((block.waiting > 0) & (block.acting > 0), ChunkEnd.CLOSED)
    machine.fail(asked & ~done.get(), ChunkEnd.LAWS)
    return done.get()


def look_again(machine: Machine, happened: Value) -> None:
    """End the loop where conditions may be others by what happened: then laws on both sides of the border of a part may
    hold the same thing that did not before, or no longer, though none of their modes has changed (see `law_ties`).
    """
    program = machine.program
    if may_tie(program):
        there = program.opaque or program.away  # only who settles laws knows what they do to each other
        machine.fail(happened & (machine.block.acting >= HOLDS), ChunkEnd.LAWS if there else ChunkEnd.LOOK)


def _log(machine: Machine, time: Value, laws: NativeSettleBlock, count: Value) -> None:
    code, block, happened = machine.code, machine.block, laws.array("happened")
    with code.loop(count) as i:
        entry = block.array("log").at(block.log_rows * 2)
        entry[0], entry[1] = time, happened[i]
        block.add("log_rows")


def _forget(machine: Machine) -> None:
    """What guards of laws were has no meaning any more."""
    code, block, first = machine.code, machine.block, machine.guards - len(machine.program.laws)
    vectors = [machine.vector(name) for name in ("pending", "armed", "spared", "seen")]
    with code.loop(len(machine.program.laws)) as i:
        for vector in vectors:
            vector[i + first] = 0.0
    block.set("checked", 0)
    block.set("rated", 0)
    block.set("settled", 1)
