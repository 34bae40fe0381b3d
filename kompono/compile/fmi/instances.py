"""Instances of an FMU as a whole: made and freed, their state kept and restored, derivatives along a direction."""

from __future__ import annotations

from kompono.compile.emit import BOOL, INT, Array, Code, Value
from kompono.compile.fmi.common import (
    BAD_KIND,
    BAD_STATE,
    BAD_TOKEN,
    ERROR,
    MESSAGES,
    NO_SUCH,
    NOT_SUPPORTED,
    Body,
    message,
    reference,
)
from kompono.compile.fmi.instance import (
    ENVIRONMENT,
    GUARD,
    INPUT,
    LOGGER,
    NAME,
    OUTPUT,
    PARAMETER,
    RATE,
    SAVED,
    STATE,
    FmuModel,
)

CALLS = {  # how the importer wants to be told something
    2: (
        "call void (ptr, ptr, i32, ptr, ptr, ...) %logger(ptr %environment, ptr %name, i32 3, "
        "ptr @kompono.fmi.category, ptr @kompono.fmi.format, ptr %text)"
    ),
    3: "call void %logger(ptr %environment, i32 3, ptr @kompono.fmi.category, ptr %text)",
}


def instance_functions(model: FmuModel, version: int) -> str:
    """All of them as LLVM text."""
    return _say(version) + _make(model) + _free() + _refused() + _kept(model) + _written(model) + _directional(model)


def _say(version: int) -> str:
    """Tell the importer what is wrong, if it listens."""
    return f"""define internal i32 @kompono.fmi.say(ptr %c, ptr %text) nounwind {{
  %environment.at = getelementptr ptr, ptr %c, i64 {ENVIRONMENT}
  %logger.at = getelementptr ptr, ptr %c, i64 {LOGGER}
  %name.at = getelementptr ptr, ptr %c, i64 {NAME}
  %environment = load ptr, ptr %environment.at
  %logger = load ptr, ptr %logger.at
  %name = load ptr, ptr %name.at
  %silent = icmp eq ptr %logger, null
  br i1 %silent, label %done, label %tell
tell:
  {CALLS[version]}
  br label %done
done:
  ret i32 {ERROR}
}}
"""


def _make(model: FmuModel) -> str:
    """A new instance, or null: `%kind` 0 is model exchange, 1 co-simulation."""
    code = Code()
    made = code.variable("ptr", Value(code, "null", "ptr"))
    differ = code.let("i32", "call i32 @strcmp(ptr %token, ptr @kompono.fmi.token)")
    known = code.let(BOOL, f"icmp eq i32 {differ.name}, 0")
    offered = " ".join(map(str, (int("me" in model.kinds), int("cs" in model.kinds)))).split()
    kind = Value(code, "%kind", INT)
    fits = kind.equals(0) & Value(code, offered[0], BOOL) | kind.equals(1) & Value(code, offered[1], BOOL)
    length = code.let(INT, "call i64 @strlen(ptr %name)")
    words = model.places["end"] + 1
    size = length + 8 * words
    memory = code.let("ptr", f"call ptr @calloc(i64 {size.name}, i64 1)")
    there = code.let(BOOL, f"icmp ne ptr {memory.name}, null")
    with code.when(there):
        copy = code.let("ptr", f"getelementptr i64, ptr {memory.name}, i64 {words - 1}")
        code.say(f"call void @llvm.memcpy.p0.p0.i64(ptr {copy.name}, ptr %name, i64 {length.name}, i1 false)")
        for place, value in ((ENVIRONMENT, "%environment"), (LOGGER, "%logger"), (NAME, copy.name)):
            Array(code, memory.name, "ptr")[place] = Value(code, value, "ptr")
        for good, words_ in ((known, BAD_TOKEN), (fits, BAD_KIND)):
            with code.when(~good):
                code.let("i32", f"call i32 @kompono.fmi.say(ptr {memory.name}, ptr {message(MESSAGES.index(words_))})")
        with code.when(known & fits):
            code.let("i32", f"call i32 @kompono.fmi.reset(ptr {memory.name})")
            made.set(memory)
        with code.when(~(known & fits)):
            code.say(f"call void @free(ptr {memory.name})")
    arguments = "ptr %name, ptr %token, ptr %environment, ptr %logger, i64 %kind"
    return code.define(f"internal ptr @kompono.fmi.make({arguments}) nounwind", made.get())


def _free() -> str:
    return "define internal void @kompono.fmi.end(ptr %c) nounwind {\n  call void @free(ptr %c)\n  ret void\n}\n"


def _refused() -> str:
    number = MESSAGES.index(NOT_SUPPORTED)
    return f"""define internal i32 @kompono.fmi.refuse(ptr %c) nounwind {{
  %r = call i32 @kompono.fmi.say(ptr %c, ptr {message(number)})
  ret i32 %r
}}
"""


def _size(model: FmuModel) -> int:
    """Bytes of the state of an instance."""
    return 8 * (model.places["end"] - SAVED)


def _moved(model: FmuModel, to: str, source: str) -> str:
    return f"call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {source}, i64 {_size(model)}, i1 false)"


def _kept(model: FmuModel) -> str:
    """State of an instance: `keep` makes room and copies it, `recall` takes it back, `drop` frees it."""
    size, bad = _size(model), message(MESSAGES.index(BAD_STATE))
    here = f"%here = getelementptr i64, ptr %c, i64 {SAVED}"
    return f"""define internal i32 @kompono.fmi.keep(ptr %c, ptr %place) nounwind {{
  {here}
  %old = load ptr, ptr %place
  %none = icmp eq ptr %old, null
  br i1 %none, label %new, label %copy
new:
  %made = call ptr @calloc(i64 {size}, i64 1)
  store ptr %made, ptr %place
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %lost, label %copy
copy:
  %goal = load ptr, ptr %place
  {_moved(model, "%goal", "%here")}
  ret i32 0
lost:
  ret i32 {ERROR}
}}
define internal i32 @kompono.fmi.recall(ptr %c, ptr %state) nounwind {{
  {here}
  %null = icmp eq ptr %state, null
  br i1 %null, label %bad, label %look
look:
  %stamp = load i64, ptr %state
  %ours = icmp eq i64 %stamp, {model.stamp}
  br i1 %ours, label %good, label %bad
good:
  {_moved(model, "%here", "%state")}
  ret i32 0
bad:
  %r = call i32 @kompono.fmi.say(ptr %c, ptr {bad})
  ret i32 %r
}}
define internal i32 @kompono.fmi.drop(ptr %c, ptr %place) nounwind {{
  %old = load ptr, ptr %place
  call void @free(ptr %old)
  store ptr null, ptr %place
  ret i32 0
}}
"""


def _written(model: FmuModel) -> str:
    """State of an instance as bytes of the importer: `write` and `read`, `size` says how many they are."""
    size, bad = _size(model), message(MESSAGES.index(BAD_STATE))
    return f"""define internal i32 @kompono.fmi.size(ptr %c, ptr %size) nounwind {{
  store i64 {size}, ptr %size
  ret i32 0
}}
define internal i32 @kompono.fmi.write(ptr %c, ptr %state, ptr %bytes, i64 %size) nounwind {{
  %fits = icmp uge i64 %size, {size}
  br i1 %fits, label %good, label %bad
good:
  {_moved(model, "%bytes", "%state")}
  ret i32 0
bad:
  %r = call i32 @kompono.fmi.say(ptr %c, ptr {bad})
  ret i32 %r
}}
define internal i32 @kompono.fmi.read(ptr %c, ptr %bytes, i64 %size, ptr %place) nounwind {{
  %fits = icmp eq i64 %size, {size}
  br i1 %fits, label %look, label %bad
look:
  %stamp = load i64, ptr %bytes, align 1
  %ours = icmp eq i64 %stamp, {model.stamp}
  br i1 %ours, label %good, label %bad
good:
  %r = call i32 @kompono.fmi.keep(ptr %c, ptr %place)
  %state = load ptr, ptr %place
  {_moved(model, "%state", "%bytes")}
  ret i32 %r
bad:
  %s = call i32 @kompono.fmi.say(ptr %c, ptr {bad})
  ret i32 %s
}}
"""


def _directional(model: FmuModel) -> str:
    """The change of `%unknown` variables by a change `%seed` of `%known` ones."""
    if model.tangent is None:
        return ""
    code = Body(model)
    seeds, changes, well = code.at("seed"), code.at("sensitivity"), code.variable(BOOL, True)
    count = model.tangent.inputs[3][1] - len(model.program.parameters)
    given, wanted = Array(code, "%seed"), Array(code, "%change")
    with code.loop(count) as i:
        seeds[i] = 0.0
    with code.loop(Value(code, "%knowns", INT)) as i:
        kind, place = reference(code, "%known", i, 1), reference(code, "%known", i, 2)
        fits = kind.equals(STATE) | kind.equals(INPUT) | kind.equals(PARAMETER)
        with code.when(fits):
            seeds[place] = seeds[place] + given[i]
        with code.when(~fits):
            well.set(False)
    code.run(model.tangent, "sensitivity")
    with code.loop(Value(code, "%unknowns", INT)) as i:
        kind, place = reference(code, "%unknown", i, 1), reference(code, "%unknown", i, 2)
        with code.when(kind.equals(RATE) | kind.equals(OUTPUT) | kind.equals(GUARD)):
            wanted[i] = changes[place]
        with code.when(kind.equals(STATE)):
            wanted[i] = seeds[place]
        with code.when(place < 0):
            well.set(False)
    result = code.variable("i32", 0)
    with code.when(~well.get()):
        result.set(code.ask("say", f"ptr {message(MESSAGES.index(NO_SUCH))}", kind="i32"))
    arguments = "ptr %unknown, i64 %unknowns, ptr %known, i64 %knowns, ptr %seed, ptr %change"
    return code.end("directional", arguments, result.get())
