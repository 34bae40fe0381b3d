"""Both sides of a channel as native code.

    void kompono.ask(channel, which, in, arguments, out, results, lanes)   the owner: one function of the worker
    i64  kompono.serve(words)                                              the worker: answer until the owner is gone

The owner copies its arguments into memory both have, raises the number of the request and looks for the same number
as the answer. Whoever waits looks without a break for some ten microseconds, which is longer than most answers take,
and then sleeps on the socket between the two until the other sends a byte: a processor that others want too is not
kept from them, and who sleeps is woken at once where who looks again and again would have to wait for its turn. Who
looked in vain looks shorter next time, and tries again at length once in a while: two processes on one processor only
keep each other from working by looking.

The socket also tells of the end of the other. A worker that ended, or that gives no answer for `PATIENCE` seconds, is
*broken*, and all its results are not a number from then on. The owner's way of rounding and of taking tiny numbers
goes with each request, so that results have the same bits wherever they are computed.

Only one thread asks at a time; others wait for their turn.
"""

from __future__ import annotations

from kompono.compile import host
from kompono.compile.emit import INT, POINTER, Array, Code, Value, Variable
from kompono.compile.walls import channel as at

ASK, SERVE, ENTER, HOLD = "kompono.ask", "kompono.serve", "kompono.enter", "kompono.hold"
PATIENCE = 10  # [s]
LOOKS, FEW = 1000, 16  # before one sleeps: where that pays, and where it does not
_AGAIN = 64  # questions after which it is tried whether it pays by now
_NAP = 100  # [ms] after which one looks again
_GONE = 0x38  # POLLERR, POLLHUP, POLLNVAL
_NAN = "0x7FF8000000000000"
ARGUMENTS = "ptr %channel, i64 %which, ptr %in, i64 %arguments, ptr %out, i64 %results, i64 %lanes"
KINDS = "ptr, i64, ptr, i64, ptr, i64, i64"  # columns are as long as on all lanes
LOAD = -1  # a request: leave `serve` and take more code
GONE, MORE = 0, 1  # what `serve` returns


def pause() -> str:
    """What a processor wants to hear while one looks at a word again and again."""
    return "call void @llvm.x86.sse2.pause()" if host.slow_near_zero() else 'call void asm sideeffect "yield", ""()'


def declarations() -> str:
    """What the texts here call."""
    lines = [
        "declare i32 @sched_yield() nounwind",
        "declare i32 @poll(ptr, i64, i32) nounwind",
        "declare i64 @read(i32, ptr, i64) nounwind",
        "declare i64 @write(i32, ptr, i64) nounwind",
    ]
    lines += ["declare void @llvm.x86.sse2.pause()"] if host.slow_near_zero() else []
    return "\n".join(lines) + "\n"


def place(code: Code, base: str, index: int) -> str:
    """The address of a word."""
    return code.let(POINTER, f"getelementptr i64, ptr {base}, i64 {index}").name


def look(code: Code, base: str, index: int, order: str = "acquire") -> Value:
    """A word that others write."""
    return code.let(INT, f"load atomic i64, ptr {place(code, base, index)} {order}, align 8")


def tell(code: Code, base: str, index: int, value: Value | int, order: str = "release") -> None:
    """Write a word that others look at."""
    code.say(f"store atomic i64 {code.value(value, INT)}, ptr {place(code, base, index)} {order}, align 8")


def wait(code: Code, looks: Variable) -> None:
    """Between two looks."""
    looks.set(looks.get() + 1)
    code.say(pause())


def take_turn(code: Code) -> None:
    """Wait until no other thread asks."""
    looks, lock = code.variable(INT, 0), place(code, "%channel", at.LOCK)
    with code.forever():
        pair = code.let("{ i64, i1 }", f"cmpxchg ptr {lock}, i64 0, i64 1 acquire monotonic")
        code.leave(code.let("i1", f"extractvalue {{ i64, i1 }} {pair.name}, 1"))
        wait(code, looks)
        with code.when(looks.get() > LOOKS):
            code.let("i32", "call i32 @sched_yield()")


def no_numbers(code: Code, count: str = "%results") -> None:
    """Results that are none."""
    out = Array(code, "%out")
    with code.loop(Value(code, count, INT)) as i:
        out[i] = Value(code, _NAN, "double")


def _copy(code: Code, target: str, source: str, count: str) -> None:
    size = code.let(INT, f"shl i64 {count}, 3").name
    code.say(f"call void @llvm.memcpy.p0.p0.i64(ptr {target}, ptr {source}, i64 {size}, i1 false)")


def ask_text() -> str:
    """The side of the owner."""
    code = Code()
    with code.when(look(code, "%channel", at.BROKEN).equals(0)):
        take_turn(code)
        shared = code.let(POINTER, f"load ptr, ptr {place(code, '%channel', at.SHARED)}").name
        _copy(code, place(code, shared, at.GIVEN), "%in", "%arguments")
        _request(code, shared)
        _copy(code, "%out", place(code, shared, at.TAKEN), "%results")
        tell(code, "%channel", at.LOCK, 0)
    with code.when(look(code, "%channel", at.BROKEN) > 0):
        no_numbers(code)
    return code.define(f"void @{ASK}({ARGUMENTS}) noinline nounwind")


def _request(code: Code, shared: str) -> None:
    socket = code.let("i32", f"load i32, ptr {place(code, '%channel', at.SOCKET)}").name
    code.say(f"store i64 %which, ptr {place(code, shared, at.WHICH)}")
    if host.slow_near_zero():
        code.say(f"call void @llvm.x86.sse.stmxcsr(ptr {place(code, shared, at.MODE)})")
    number = look(code, shared, at.REQUEST) + 1
    tell(code, shared, at.REQUEST, number, "seq_cst")
    with code.when(look(code, shared, at.ASLEEP, "seq_cst") > 0):
        _wake(code, socket)
    looks, naps = code.variable(INT, 0), code.variable(INT, 0)
    known = Variable(code, place(code, "%channel", at.LOOKS), INT)
    limit = _limit(code, known.get(), number)
    with code.forever():
        code.leave(look(code, shared, at.ANSWER).equals(number))
        code.leave(look(code, "%channel", at.BROKEN) > 0)
        wait(code, looks)
        with code.when(looks.get() > limit):
            tell(code, shared, at.WAITING, 1, "seq_cst")
            with code.when(~look(code, shared, at.ANSWER, "seq_cst").equals(number)):
                _nap(code, socket, naps)
            tell(code, shared, at.WAITING, 0)
    _learn(code, known, looks, limit)


def _limit(code: Code, known: Value, number: Value) -> Value:
    """How often to look this time."""
    return code.select((number % _AGAIN).equals(0), Value(code, str(LOOKS), INT), known)


def _learn(code: Code, known: Variable, looks: Variable, limit: Value) -> None:
    """How often to look next time: at length if what was waited for came meanwhile."""
    many, few = (Value(code, str(count), INT) for count in (LOOKS, FEW))
    known.set(code.select(looks.get() <= limit, many, few))


def _wake(code: Code, socket: str) -> None:
    byte = code.variable("i8", 0)
    code.let(INT, f"call i64 @write(i32 {socket}, ptr {byte.pointer}, i64 1)")


def _nap(code: Code, socket: str, naps: Variable) -> None:
    """Sleep until a byte comes, nobody is at the other end, or some time has passed, of which there is an end."""
    asked, byte = code.variable(INT, 0), code.variable("i8", 0)  # int fd, short events, short revents
    asked.set(code.let(INT, f"or i64 {code.let(INT, f'zext i32 {socket} to i64').name}, {1 << 32}"))
    count = code.let("i32", f"call i32 @poll(ptr {asked.pointer}, i64 1, i32 {_NAP})").name
    naps.set(naps.get() + code.let(INT, f"zext i1 {code.let('i1', f'icmp eq i32 {count}, 0').name} to i64"))
    found = code.let(INT, f"lshr i64 {asked.get().name}, 48")
    with code.when(code.let(INT, f"and i64 {found.name}, 1") > 0):
        code.let(INT, f"call i64 @read(i32 {socket}, ptr {byte.pointer}, i64 1)")
    with code.when(code.let(INT, f"and i64 {found.name}, {_GONE}") > 0):
        tell(code, "%channel", at.BROKEN, at.LOST)
    with code.when(naps.get() > PATIENCE * 1000 // _NAP):
        tell(code, "%channel", at.BROKEN, at.SILENT)


def serve_text() -> str:
    """The side of the worker; words: shared memory, table of functions, socket."""
    code = Code()
    shared, table = (code.let(POINTER, f"load ptr, ptr {place(code, '%words', k)}").name for k in range(2))
    socket = code.let("i32", f"load i32, ptr {place(code, '%words', 2)}").name
    looks, result, known = code.variable(INT, 0), code.variable(INT, -1), code.variable(INT, LOOKS)
    with code.forever():
        number = look(code, shared, at.REQUEST)
        asked = ~number.equals(look(code, shared, at.ANSWER))
        limit = _limit(code, known.get(), number)
        with code.when(asked):
            _learn(code, known, looks, limit)
            _answer(code, shared, table, number, result)
            with code.when(look(code, shared, at.WAITING, "seq_cst") > 0):
                _wake(code, socket)
            looks.set(0)
        with code.when(~asked):
            wait(code, looks)
            with code.when(looks.get() > limit):
                _sleep(code, shared, socket, result)
        code.leave(result.get() >= 0)
    return code.define(f"i64 @{SERVE}(ptr %words) noinline nounwind", result.get())


def _answer(code: Code, shared: str, table: str, number: Value, result: Variable) -> None:
    if host.slow_near_zero():
        code.say(f"call void @llvm.x86.sse.ldmxcsr(ptr {place(code, shared, at.MODE)})")
    which = code.let(INT, f"load i64, ptr {place(code, shared, at.WHICH)}")
    with code.when(which >= 0):
        entry = code.let(POINTER, f"getelementptr ptr, ptr {table}, i64 {which.name}").name
        function = code.let(POINTER, f"load ptr, ptr {entry}").name
        given, taken = place(code, shared, at.GIVEN), place(code, shared, at.TAKEN)
        code.say(f"call void {function}(ptr {given}, ptr {taken})")
    with code.when(which < 0):
        result.set(MORE)
    tell(code, shared, at.ANSWER, number, "seq_cst")


def _sleep(code: Code, shared: str, socket: str, result: Variable) -> None:
    """Until a byte comes; a request that was made meanwhile is seen."""
    tell(code, shared, at.ASLEEP, 1, "seq_cst")
    quiet = look(code, shared, at.REQUEST, "seq_cst").equals(look(code, shared, at.ANSWER))
    with code.when(quiet):
        byte = code.variable("i8", 0)
        count = code.let(INT, f"call i64 @read(i32 {socket}, ptr {byte.pointer}, i64 1)")
        with code.when(count <= 0):
            result.set(GONE)
    tell(code, shared, at.ASLEEP, 0)


def hold_text() -> str:
    """`take_turn` for Python: a function of a channel. Whoever has it lets others go on by a zero in LOCK."""
    code = Code()
    take_turn(code)
    return code.define(f"i64 @{HOLD}(ptr %channel) nounwind", code.let(INT, "add i64 0, 0"))


def enter_text() -> str:
    """`ask` for Python: a function of the address of its arguments."""
    code = Code()
    words = [code.let(INT, f"load i64, ptr {place(code, '%words', k)}").name for k in range(7)]
    pointers = {k: code.let(POINTER, f"inttoptr i64 {words[k]} to ptr").name for k in (0, 2, 4)}
    given = ", ".join(f"ptr {pointers[k]}" if k in pointers else f"i64 {word}" for k, word in enumerate(words))
    code.say(f"call void @{ASK}({given})")
    return f"declare void @{ASK}({KINDS})\n" + code.define(
        f"i64 @{ENTER}(ptr %words) nounwind", code.let(INT, "add i64 0, 0")
    )
