"""Native code by which several threads share the rows of a sweep.

The first word of the workspace is the address of a `Pool`, or zero where a thread works alone. Whoever evaluates a
routine publishes one sweep after the other as a ticket: number of the sweep since the start, chunks in all, chunks
taken. Helpers, and the publisher itself, take chunks by adding one to the ticket as long as it is the one they saw;
the publisher goes on when all chunks are done. So nobody waits for a helper that is late or has been put to sleep, only
for chunks that were taken.
"""

from __future__ import annotations

import sys

from kompono.compile.emit import INT, POINTER, Code, Value

TICKET, DONE, STOP, TASK = 0, 8, 16, 24  # words of a pool, each on a cache line of its own
WORDS = 40
_BITS = 20  # of a number of chunks
_MASK = (1 << _BITS) - 1
_ARGUMENTS = ("%in0", "%in1", "%in2", "%in3", "%out0", "%work")
_PATIENCE = 200  # looks at a word before the processor is offered to others


def declarations() -> str:
    """What the texts below call."""
    return "declare i32 @sched_yield()\n" if sys.platform != "win32" else ""


def _word(code: Code, index: int) -> str:
    return code.let(POINTER, f"getelementptr i64, ptr %pool, i64 {index}").name


def _look(code: Code, index: int) -> Value:
    return code.let(INT, f"load atomic i64, ptr {_word(code, index)} acquire, align 8")


def _wait(code: Code, looks) -> None:
    """Count looks; after some, let other threads have the processor."""
    looks.set(looks.get() + 1)
    with code.when(looks.get() >= _PATIENCE):
        looks.set(0)
        if sys.platform != "win32":
            code.let("i32", "call i32 @sched_yield()")


def _chunks(code: Code, ticket: Value) -> tuple[Value, Value]:
    """Chunks taken, chunks in all."""
    taken = code.let(INT, f"and i64 {ticket.name}, {_MASK}")
    moved = code.let(INT, f"lshr i64 {ticket.name}, {_BITS}")
    return taken, code.let(INT, f"and i64 {moved.name}, {_MASK}")


def publish(code: Code, stem: str, sweep: Value, rows: Value, per_chunk: int) -> None:
    """Share a sweep of `rows` rows (pool in %pool) and see it done."""
    for k, argument in enumerate(_ARGUMENTS):
        code.say(f"store ptr {argument}, ptr {_word(code, TASK + k)}")
    code.say(f"store i64 {sweep.name}, ptr {_word(code, TASK + 6)}")
    code.say(f"store i64 {rows.name}, ptr {_word(code, TASK + 7)}")
    code.say(f"store atomic i64 0, ptr {_word(code, DONE)} release, align 8")
    before = _look(code, TICKET)
    chunks = (rows + (per_chunk - 1)) // per_chunk
    epoch = (before // (1 << 2 * _BITS) + 1) * (1 << 2 * _BITS)
    ticket = epoch + chunks * (1 << _BITS)
    code.say(f"store atomic i64 {ticket.name}, ptr {_word(code, TICKET)} release, align 8")
    code.say(f"call void @{stem}.help(ptr %pool)")
    looks = code.cell(INT, 0)
    with code.forever():
        code.leave(_look(code, DONE).equals(chunks))
        _wait(code, looks)


def help_function(stem: str) -> str:
    """`STEM.help(pool)`: take chunks until there are none."""
    code = Code()
    with code.forever():
        ticket = _look(code, TICKET)
        taken, chunks = _chunks(code, ticket)
        code.leave(taken >= chunks)
        following = ticket + 1
        text = f"cmpxchg ptr {_word(code, TICKET)}, i64 {ticket.name}, i64 {following.name} acq_rel acquire"
        won = code.let("i1", f"extractvalue {{ i64, i1 }} {code.let('pair', text).name}, 1")
        with code.when(won):
            arguments = [code.let(POINTER, f"load ptr, ptr {_word(code, TASK + k)}").name for k in range(6)]
            sweep, rows = (code.let(INT, f"load i64, ptr {_word(code, TASK + 6 + k)}") for k in range(2))
            begin, end = rows * taken // chunks, rows * (taken + 1) // chunks
            pointers = ", ".join(f"ptr {argument}" for argument in arguments)
            numbers = ", ".join(f"i64 {value.name}" for value in (sweep, begin, end))
            code.say(f"call void @{stem}.part({pointers}, {numbers})")
            code.let(INT, f"atomicrmw add ptr {_word(code, DONE)}, i64 1 acq_rel")
    return code.define(f"internal void @{stem}.help(ptr %pool) noinline nounwind")


def worker_function(name: str, stem: str) -> str:
    """`NAME(pool)`: help until the pool is told to stop."""
    code = Code()
    looks = code.cell(INT, 0)
    with code.forever():
        code.say(f"call void @{stem}.help(ptr %pool)")
        code.leave(_look(code, STOP) > 0)
        _wait(code, looks)
    return code.define(f"i64 @{name}(ptr %pool) nounwind", looks.get())
