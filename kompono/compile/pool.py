"""Native code by which several threads share the tasks of a routine that do not depend on each other.

The first word of the workspace is the address of a `Pool`, or zero where a thread works alone. Whoever evaluates a
routine publishes one phase after the other as a ticket: number of the phase since the start, tasks in all, tasks
taken. Helpers, and the publisher itself, take tasks by adding one to the ticket as long as it is the one they saw; the
publisher goes on when all tasks are done. So nobody waits for a helper that is late, only for tasks that were taken.
"""

from __future__ import annotations

import sys

from kompono.compile.emit import INT, POINTER, Code, Value, flush_tiny

TICKET, DONE, STOP, TASK = 0, 8, 16, 24  # words of a pool, each on a cache line of its own
WORDS = 40
_BITS = 20  # of a number of tasks
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


def _counts(code: Code, ticket: Value) -> tuple[Value, Value]:
    """Tasks taken, tasks in all."""
    taken = code.let(INT, f"and i64 {ticket.name}, {_MASK}")
    moved = code.let(INT, f"lshr i64 {ticket.name}, {_BITS}")
    return taken, code.let(INT, f"and i64 {moved.name}, {_MASK}")


def publish(code: Code, stem: str, first: Value, count: Value) -> None:
    """Share `count` tasks from the `first` on (pool in %pool) and see them done."""
    for k, argument in enumerate(_ARGUMENTS):
        code.say(f"store ptr {argument}, ptr {_word(code, TASK + k)}")
    code.say(f"store i64 {first.name}, ptr {_word(code, TASK + 6)}")
    code.say(f"store atomic i64 0, ptr {_word(code, DONE)} release, align 8")
    before = _look(code, TICKET)
    epoch = (before // (1 << 2 * _BITS) + 1) * (1 << 2 * _BITS)
    ticket = epoch + count * (1 << _BITS)
    code.say(f"store atomic i64 {ticket.name}, ptr {_word(code, TICKET)} release, align 8")
    code.say(f"call void @{stem}.help(ptr %pool)")
    looks = code.variable(INT, 0)
    with code.forever():
        code.leave(_look(code, DONE).equals(count))
        _wait(code, looks)


def help_function(stem: str) -> str:
    """`STEM.help(pool)`: take tasks until there are none."""
    code = Code()
    with code.forever():
        ticket = _look(code, TICKET)
        taken, count = _counts(code, ticket)
        code.leave(taken >= count)
        following = ticket + 1
        text = f"cmpxchg ptr {_word(code, TICKET)}, i64 {ticket.name}, i64 {following.name} acq_rel acquire"
        won = code.let("i1", f"extractvalue {{ i64, i1 }} {code.let('pair', text).name}, 1")
        with code.when(won):
            arguments = [code.let(POINTER, f"load ptr, ptr {_word(code, TASK + k)}").name for k in range(6)]
            first = code.let(INT, f"load i64, ptr {_word(code, TASK + 6)}")
            pointers = ", ".join(f"ptr {argument}" for argument in arguments)
            code.say(f"call void @{stem}.task({pointers}, i64 {(first + taken).name})")
            code.let(INT, f"atomicrmw add ptr {_word(code, DONE)}, i64 1 acq_rel")
    return code.define(f"internal void @{stem}.help(ptr %pool) noinline nounwind")


def worker_function(name: str, stem: str) -> str:
    """`NAME(pool)`: help until the pool is told to stop, with tiny numbers as zeros like the step loop."""
    code = Code()
    restore = flush_tiny(code)
    looks = code.variable(INT, 0)
    with code.forever():
        code.say(f"call void @{stem}.help(ptr %pool)")
        code.leave(_look(code, STOP) > 0)
        _wait(code, looks)
    restore()
    return code.define(f"i64 @{name}(ptr %pool) nounwind", looks.get())
