"""What FMI 2 and 3 have in common: functions of an instance that get and set values, hold its time and its state, and
say what is wrong. Each gives an fmi status: 0 is well, 3 an error.

What is asked for is computed when it is asked for, once: `known` has a word for rates, outputs and guards, and all that
changes an instance clears them.

Event indicators have a margin. A guard fires when it rises above zero, and is armed again at or below it. Importers
look for changes of sign and may stop a rounding error before one. So the indicator of an armed guard is a little lower
than the guard, that of one that has fired a little higher: where an importer stops, the guard is beyond zero.
"""

from __future__ import annotations

from kompono.compile import sampling
from kompono.compile.block import ChunkEnd
from kompono.compile.emit import BOOL, INT, REAL, Array, Code, Value, Variable
from kompono.compile.fmi.instance import (
    GUARD,
    INPUT,
    OUTPUT,
    PARAMETER,
    RATE,
    SAVED,
    STATE,
    FmuModel,
)
from kompono.compile.schedule import symbol
from kompono.translate.program import Routine

OK, ERROR = 0, 3
MARGIN = 1e-12  # of an event indicator, relative to the guard at the start where that is above one
MANY = 100.0  # times the tolerance: what a state may drift before model exchange asks for an event
KNOWN = {RATE: 0, OUTPUT: 1, GUARD: 2}  # words of `known`
DECLARATIONS = """declare ptr @calloc(i64, i64)
declare void @free(ptr)
declare i32 @strcmp(ptr, ptr)
declare i64 @strlen(ptr)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
"""
TROUBLES = {
    ChunkEnd.NOT_FINITE: "a number is not finite any more",
    ChunkEnd.OFF_CONSTRAINTS: "the loops do not close any more",
    ChunkEnd.UNMET: "a condition is switched on where it is not met",
    ChunkEnd.GUARD_NOT_FINITE: "the guard of an event is not a number",
    ChunkEnd.TOO_MANY_EVENTS: "one event causes the next, without end",
}
NO_SUCH = "there is no variable of this value reference, or it cannot be set now"
BAD_STATE = "this is no state of this FMU"
NOT_SUPPORTED = "this FMU has no such function"
BAD_TOKEN = "the token is not that of this FMU"
BAD_KIND = "this FMU was not exported for that"
BAD_STEP = "a step is a positive, finite time"
MESSAGES = (
    *TROUBLES.values(), "the run failed", NO_SUCH, BAD_STATE, NOT_SUPPORTED, BAD_TOKEN, BAD_KIND, BAD_STEP,
)  # fmt: skip


class Body(Code):
    """The body of a function of an instance `%c`."""

    def __init__(self, model: FmuModel) -> None:
        super().__init__()
        self.model = model

    def at(self, place: str, kind: str = REAL) -> Array:
        """A part of the instance (see `FmuModel.places`), or a vector of its step loop."""
        known = self.model.places
        word = known[place] if place in known else self.model.memory(place)
        return Array(self, Array(self, "%c").at(word).pointer, kind)

    def ask(self, name: str, *arguments: str, kind: str = INT) -> Value:
        """Call a function of the instance."""
        given = ", ".join(("ptr %c", *arguments))
        return self.let(kind, f"call {kind} @kompono.fmi.{name}({given})")

    def touch(self) -> None:
        """Nothing is known any more."""
        known = self.at("known", INT)
        for k in KNOWN.values():
            known[k] = 0

    def run(self, routine: Routine, target: str) -> None:
        """Evaluate a routine at the present state."""
        names = ("time", "state", "input", "parameter", target, "work")
        self.call(symbol(routine.name), [self.at(name) for name in names])

    def end(self, name: str, arguments: str = "", result: Value | None = None) -> str:
        """The finished function; without a result it is well."""
        if result is not None and result.kind == INT:
            result = self.let("i32", f"trunc i64 {result.name} to i32")
        given = ", ".join(filter(None, ("ptr %c", arguments)))
        return self.define(f"internal i32 @kompono.fmi.{name}({given}) nounwind", result or Value(self, str(OK), "i32"))


def truth(code: Code, value: Value) -> Value:
    """Whether a word is not zero."""
    return code.binary("!=", value, 0)


def message(number: int) -> str:
    """The name of a message."""
    return f"@kompono.fmi.message.{number}"


def common_functions(model: FmuModel) -> str:
    """All of them as LLVM text."""
    makers = (_known, _lookup, _get, _set, _reset, _initialize, _completed, _update, _indicators, _advance)
    return _constants(model) + _complain(model) + "".join(make(model) for make in makers)


def _constants(model: FmuModel) -> str:
    lines = []
    for number, words in enumerate(MESSAGES):
        lines.append(f'{message(number)} = private constant [{len(words) + 1} x i8] c"{words}\\00"')
    lines.append('@kompono.fmi.category = private constant [15 x i8] c"logStatusError\\00"')
    lines.append('@kompono.fmi.format = private constant [3 x i8] c"%s\\00"')
    lines.append(f'@kompono.fmi.token = private constant [{len(model.token) + 1} x i8] c"{model.token}\\00"')
    table = ", ".join(f"i32 {number}" for number in model.table.ravel())
    lines.append(f"@kompono.fmi.table = private constant [{model.table.size} x i32] [{table}]")
    for name in ("state", "inputs", "parameters"):
        values = getattr(model, name)
        data = "".join(f"\\{byte:02x}" for byte in values.astype("<f8").tobytes())
        lines.append(f'@kompono.fmi.start.{name} = private constant [{8 * len(values)} x i8] c"{data}", align 8')
    return "\n".join(lines) + "\n"


def _complain(model: FmuModel) -> str:
    """Tell the importer how a chunk ended, if that was not well; the status."""
    code = Body(model)
    end, result = Value(code, "%end", INT), code.variable("i32", OK)
    bad = truth(code, end)
    with code.when(bad):
        text = code.variable("ptr", Value(code, message(len(TROUBLES)), "ptr"))
        for number, trouble in enumerate(TROUBLES):
            with code.when(end.equals(int(trouble))):
                text.set(Value(code, message(number), "ptr"))
        result.set(code.ask("say", f"ptr {text.get().name}", kind="i32"))
    return code.end("complain", "i64 %end", result.get())


def _known(model: FmuModel) -> str:
    """Have rates, outputs or guards computed."""
    code = Body(model)
    kind, result, known = Value(code, "%kind", INT), code.variable("i32", OK), code.at("known", INT)
    margins, indicator = code.at("margin"), code.at("indicator")

    def when_missing(which: int) -> Value:
        return kind.equals(which) & known[KNOWN[which]].equals(0)

    def complain(end: Value) -> None:
        result.set(code.ask("complain", f"i64 {end.name}", kind="i32"))

    with code.when(when_missing(RATE)):
        complain(code.ask("rates"))
        known[KNOWN[RATE]] = 1
    with code.when(when_missing(OUTPUT)):
        code.run(model.outputs, "output")
        known[KNOWN[OUTPUT]] = 1
    if model.guards:
        with code.when(when_missing(GUARD)):
            complain(code.ask("watch"))
            armed, values = code.at("armed"), code.at("values")
            with code.loop(model.guards) as k:
                side = code.select(armed[k] > 0.0, Value(code, "-1.0", REAL), 1.0)
                indicator[k] = values[k] + side * margins[k]
            known[KNOWN[GUARD]] = 1
    return code.end("know", "i64 %kind", result.get())


def _lookup(model: FmuModel) -> str:
    """A column of the table of variables, -1 for a value reference there is not."""
    code = Code()
    row = code.let(INT, "zext i32 %vr to i64")
    count = len(model.table)
    known = row < count
    place = (code.select(known, row, Value(code, "0", INT)) * 3) + Value(code, "%column", INT)
    address = code.let("ptr", f"getelementptr i32, ptr @kompono.fmi.table, i64 {place.name}")
    number = code.let("i32", f"load i32, ptr {address.name}")
    wide = code.let(INT, f"sext i32 {number.name} to i64")
    result = code.select(known, wide, Value(code, "-1", INT))
    return code.define("internal i64 @kompono.fmi.look(i32 %vr, i64 %column) nounwind", result)


def reference(code: Code, array: str, index: Value, column: int) -> Value:
    """A column of the table of variables, of one of some value references."""
    place = code.let("ptr", f"getelementptr i32, ptr {array}, i64 {index.name}")
    vr = code.let("i32", f"load i32, ptr {place.name}")
    return code.let(INT, f"call i64 @kompono.fmi.look(i32 {vr.name}, i64 {column})")


def _get(model: FmuModel) -> str:
    code = Body(model)
    count, values, result = Value(code, "%n", INT), Array(code, "%values"), code.variable("i32", OK)
    well = code.variable(BOOL, True)
    with code.loop(count) as i:
        place, kind = reference(code, "%vr", i, 0), reference(code, "%vr", i, 1)
        bad = place < 0
        with code.when(bad):
            well.set(False)
        with code.when(~bad):
            answer = code.ask("know", f"i64 {kind.name}", kind="i32")
            worse = code.let(BOOL, f"icmp sgt i32 {answer.name}, {result.get().name}")
            with code.when(worse):
                result.set(answer)
            values[i] = Array(code, "%c")[place]
    _say_unless(code, well.get(), NO_SUCH, result)
    return code.end("get", "ptr %vr, i64 %n, ptr %values", result.get())


def _set(model: FmuModel) -> str:
    code = Body(model)
    count, values, result = Value(code, "%n", INT), Array(code, "%values"), code.variable("i32", OK)
    well, running = code.variable(BOOL, True), truth(code, code.at("running", INT)[0])
    with code.loop(count) as i:
        place, kind = reference(code, "%vr", i, 0), reference(code, "%vr", i, 1)
        may = kind.equals(INPUT) | kind.equals(PARAMETER) | (kind.equals(STATE) & ~running)
        with code.when(may):
            Array(code, "%c")[place] = values[i]
        with code.when(~may):
            well.set(False)
    code.touch()
    _say_unless(code, well.get(), NO_SUCH, result)
    return code.end("set", "ptr %vr, i64 %n, ptr %values", result.get())


def _say_unless(code: Body, well: Value, words: str, result: object) -> None:
    with code.when(~well):
        result.set(code.ask("say", f"ptr {message(MESSAGES.index(words))}", kind="i32"))  # type: ignore[attr-defined]


def _reset(model: FmuModel) -> str:
    """As it was made."""
    code, end = Body(model), model.places["end"]
    begin = Array(code, "%c").at(SAVED).pointer
    code.say(f"call void @llvm.memset.p0.i64(ptr {begin}, i8 0, i64 {8 * (end - SAVED)}, i1 false)")
    code.at("stamp", INT)[0] = model.stamp
    code.at("tolerance")[0] = model.tolerance
    code.at("lost")[0] = float("inf")
    for name, place in (("state", "state"), ("inputs", "input"), ("parameters", "parameter")):
        code.copy(code.at(place), Array(code, f"@kompono.fmi.start.{name}"), len(getattr(model, name)))
    return code.end("reset")


def _initialize(model: FmuModel) -> str:
    """The end of initialization: close the loops with what was set, and look at the guards for the first time."""
    code = Body(model)
    code.touch()
    result = code.variable("i32", OK)
    result.set(code.ask("complain", f"i64 {code.ask('settle').name}", kind="i32"))
    _count_instants(code)
    _sample(code, result)
    if model.guards:
        end = code.ask("switch")
        with code.when(truth(code, end % 1000)):
            result.set(code.ask("complain", f"i64 {(end % 1000).name}", kind="i32"))
        values, margins = code.at("values"), code.at("margin")
        with code.loop(model.guards) as k:
            margins[k] = MARGIN * code.math("maxnum", 1.0, code.math("fabs", values[k]))
    code.at("running", INT)[0] = 1
    code.touch()
    return code.end("initialize", "", result.get())


def _count_instants(code: Body) -> None:
    """How many instants of each sampling rate lie before the start, and when they are."""
    counted, now, told = code.at("counted"), code.at("time")[0], code.at("sampling")
    for place, number in enumerate(sampling.told(code.model.program.rates)):
        told[place] = number
    for number, (every, offset) in enumerate(code.model.program.rates):
        passed = code.math("ceil", (now - offset) / every - sampling.CLOSE)
        counted[number] = code.math("maxnum", 0.0, passed)


def _sample(code: Body, result: Variable) -> None:
    """Sample what is due, and note when the next sample is."""
    if code.model.program.rates:
        end = code.ask("tick")
        with code.when(truth(code, end)):
            result.set(code.ask("complain", f"i64 {end.name}", kind="i32"))
        code.at("instant")[0] = code.at("gap")[0]


def _completed(model: FmuModel) -> str:
    """Whether the state has drifted so far that an event shall bring it back: 1 or 0."""
    code = Body(model)
    code.ask("drift")
    far = code.at("gap")[0] > code.at("tolerance")[0] * MANY
    return code.end("completed", "", code.let(INT, f"zext i1 {far.name} to i64"))


def _update(model: FmuModel) -> str:
    """Event mode: let modes change, bring the state back; `%changed` is told whether states are others now."""
    code = Body(model)
    before, result, changed = code.at("next"), code.variable("i32", OK), code.variable(INT, 0)
    code.copy(before, code.at("state"), model.program.state_size)
    _sample(code, result)
    if model.guards:
        end = code.ask("switch")
        with code.when(truth(code, end % 1000)):
            result.set(code.ask("complain", f"i64 {(end % 1000).name}", kind="i32"))
    code.ask("drift")
    with code.when(code.at("gap")[0] > code.at("tolerance")[0]):
        result.set(code.ask("complain", f"i64 {code.ask('settle').name}", kind="i32"))
    state, motion = code.at("state"), len(model.program.coordinates) + len(model.program.speeds)
    own = motion + len(model.program.modes)
    for first, count in ((0, motion), (own, len(model.program.states))):
        with code.loop(count) as i, code.when(~state[i + first].equals(before[i + first])):
            changed.set(1)
    Array(code, "%changed", INT)[0] = changed.get()
    code.touch()
    return code.end("update", "ptr %changed", result.get())


def _indicators(model: FmuModel) -> str:
    code = Body(model)
    answer = code.ask("know", f"i64 {GUARD}", kind="i32")
    code.copy(Array(code, "%values"), code.at("indicator"), model.guards)
    return code.end("indicators", "ptr %values", answer)


def _advance(model: FmuModel) -> str:
    """A step of co-simulation."""
    if "cs" not in model.kinds:
        return ""
    code = Body(model)
    interval, result = Value(code, "%h", REAL), code.variable("i32", OK)
    good = (interval > 0.0) & (interval < float("inf"))
    with code.when(good):
        end = code.ask("steps", "double %t", "double %h")
        result.set(code.ask("complain", f"i64 {end.name}", kind="i32"))
    _say_unless(code, good, BAD_STEP, result)
    code.touch()
    return code.end("advance", "double %t, double %h", result.get())
