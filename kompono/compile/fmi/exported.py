"""The functions an importer calls, by the names and arguments FMI gives them; each hands on to one of ours.

A function is its result, its arguments (`a0` is the instance) and its body. All that FMI lists are there, because some
importers refuse a library that lacks one; those an FMU need not have refuse when they are called.
"""

from __future__ import annotations

from kompono.compile.fmi.instance import FmuModel

P, N, L, D, B = "ptr", "i32", "i64", "double", "i8 zeroext"  # pointer, int, size, double, bool
NOMINAL = 1e-4  # of states: importers scale absolute tolerances by it
Signature = tuple[list[str], str]  # kinds of arguments, body
OK, NO = "ret i32 0", "%r = call i32 @kompono.fmi.refuse(ptr %a0)\n  ret i32 %r"


def exported_functions(model: FmuModel, version: int) -> dict[str, str]:
    """LLVM text of each function by its name."""
    table = _fmi2(model) if version == 2 else _fmi3(model)
    return {f"fmi{version}{name}": _text(f"fmi{version}{name}", *function) for name, function in table.items()}


def _text(name: str, kinds: list[str], body: str) -> str:
    given = ", ".join(f"{kind} %a{i}" for i, kind in enumerate(kinds))
    result = "ptr" if "ret ptr" in body else "void" if "ret void" in body else "i32"
    return f"define {result} @{name}({given}) nounwind {{\n  {body}\n}}\n"


def _hand(name: str, *arguments: str) -> str:
    """Hand on to a function of ours."""
    given = ", ".join(("ptr %a0", *arguments))
    return f"%r = call i32 @kompono.fmi.{name}({given})\n  ret i32 %r"


def _word(model: FmuModel, place: str) -> str:
    return f"%{place} = getelementptr i64, ptr %a0, i64 {model.places[place]}"


def _copied(model: FmuModel, inwards: bool) -> str:
    """Continuous states, to or from the importer."""
    lines = _moved(model, "state", inwards)
    return "\n  ".join([*lines, *(_touched(model) if inwards else []), OK])


def _moved(model: FmuModel, vector: str, inwards: bool) -> list[str]:
    """Copy what is continuous of a vector of the step loop from or to the importer's `a1`."""
    program, lines = model.program, []
    motion = len(program.coordinates) + len(program.speeds)
    spans = [(0, 0, motion), (motion + len(program.modes), motion, len(program.states))]
    for ours, theirs, count in spans:
        if count:
            here, there = f"%here{ours}", f"%there{ours}"
            lines += [f"{here} = getelementptr double, ptr %a0, i64 {model.memory(vector) + ours}"]
            lines += [f"{there} = getelementptr double, ptr %a1, i64 {theirs}"]
            to, source = (here, there) if inwards else (there, here)
            lines += [f"call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {source}, i64 {8 * count}, i1 false)"]
    return lines


def _touched(model: FmuModel) -> list[str]:
    known = f"%known = getelementptr i64, ptr %a0, i64 {model.places['known']}"
    return [known, "call void @llvm.memset.p0.i64(ptr %known, i8 0, i64 24, i1 false)"]


def _rates(model: FmuModel) -> str:
    known = "%r = call i32 @kompono.fmi.know(ptr %a0, i64 4)"
    return "\n  ".join([known, *_moved(model, "rate0", False), "ret i32 %r"])


def _set_time(model: FmuModel) -> str:
    return "\n  ".join([_word(model, "time"), "store double %a1, ptr %time", *_touched(model), OK])


def _experiment(model: FmuModel, tolerance_given: str, tolerance: str, start: str) -> str:
    """The tolerance, if one is given, and the time."""
    return "\n  ".join(
        [
            _word(model, "time"), f"store double {start}, ptr %time", _word(model, "tolerance"),
            "%before = load double, ptr %tolerance", f"%positive = fcmp ogt double {tolerance}, 0.0",
            f"%use = and i1 {tolerance_given}, %positive",
            f"%new = select i1 %use, double {tolerance}, double %before", "store double %new, ptr %tolerance", OK,
        ]
    )  # fmt: skip


def _nominal(model: FmuModel) -> str:
    lines = []
    for i in range(model.continuous):
        lines += [f"%p{i} = getelementptr double, ptr %a1, i64 {i}", f"store double {NOMINAL:e}, ptr %p{i}"]
    return "\n  ".join([*lines, OK])


def _completed(flag: str) -> str:
    lines = ["%far = call i32 @kompono.fmi.completed(ptr %a0)", f"%flag = trunc i32 %far to {flag}"]
    if flag == "i32":
        lines[1:] = ["%flag = add i32 %far, 0"]
    return "\n  ".join([*lines, f"store {flag} %flag, ptr %a2", f"store {flag} 0, ptr %a3", OK])


def _updated(flag: str, stores: list[str]) -> str:
    lines = ["%changed = alloca i64", "%r = call i32 @kompono.fmi.update(ptr %a0, ptr %changed)"]
    lines += ["%wide = load i64, ptr %changed", f"%flag = trunc i64 %wide to {flag}"]
    return "\n  ".join([*lines, *stores, "ret i32 %r"])


def _announced(model: FmuModel) -> list[str]:
    """The next instant at which something is sampled."""
    return [_word(model, "instant"), "%when = load double, ptr %instant"]


def _directional(model: FmuModel, *arguments: str) -> str:
    return NO if model.tangent is None else _hand("directional", *arguments)


def _made(name: str, token: str, environment: str, logger: str, kind: str) -> str:
    given = f"ptr %{name}, ptr %{token}, ptr {environment}, ptr {logger}, i64 {kind}"
    return f"%c = call ptr @kompono.fmi.make({given})\n  ret ptr %c"


_GET = ("ptr %a1", "i64 %a2", "ptr %a3")
_END = "call void @kompono.fmi.end(ptr %a0)\n  ret void"
_KEPT = ("ptr %a1",)


def _fmi2(model: FmuModel) -> dict[str, Signature]:
    instantiate = "\n  ".join(
        [
            "%logger = load ptr, ptr %a4", "%place = getelementptr ptr, ptr %a4, i64 4",
            "%environment = load ptr, ptr %place", "%kind = zext i32 %a1 to i64",
            _made("a0", "a2", "%environment", "%logger", "%kind"),
        ]
    )  # fmt: skip
    info = ["call void @llvm.memset.p0.i64(ptr %a1, i8 0, i64 32, i1 false)"]
    info += ["%place = getelementptr i8, ptr %a1, i64 12", "store i32 %flag, ptr %place"]
    if model.program.rates:
        info += ["%timed = getelementptr i8, ptr %a1, i64 16", "store i32 1, ptr %timed", *_announced(model)]
        info += ["%at = getelementptr i8, ptr %a1, i64 24", "store double %when, ptr %at"]
    setup = "%given = icmp ne i32 %a1, 0\n  " + _experiment(model, "%given", "%a2", "%a3")
    step = _hand("advance", "double %a1", "double %a2") if "cs" in model.kinds else NO
    return {
        "GetTypesPlatform": ([], "ret ptr @kompono.fmi.platform"), "GetVersion": ([], "ret ptr @kompono.fmi.version"),
        "SetDebugLogging": ([P, N, L, P], OK), "Instantiate": ([P, N, P, P, P, N, N], instantiate),
        "FreeInstance": ([P], _END), "SetupExperiment": ([P, N, D, D, N, D], setup),
        "EnterInitializationMode": ([P], OK), "ExitInitializationMode": ([P], _hand("initialize")),
        "Terminate": ([P], OK), "Reset": ([P], _hand("reset")),
        "GetReal": ([P, P, L, P], _hand("get", *_GET)), "SetReal": ([P, P, L, P], _hand("set", *_GET)),
        **{f"{v}{k}": ([P, P, L, P], NO) for v in ("Get", "Set") for k in ("Integer", "Boolean", "String")},
        "GetFMUstate": ([P, P], _hand("keep", *_KEPT)), "SetFMUstate": ([P, P], _hand("recall", *_KEPT)),
        "FreeFMUstate": ([P, P], _hand("drop", *_KEPT)),
        "SerializedFMUstateSize": ([P, P, P], _hand("size", "ptr %a2")),
        "SerializeFMUstate": ([P, P, P, L], _hand("write", "ptr %a1", "ptr %a2", "i64 %a3")),
        "DeSerializeFMUstate": ([P, P, L, P], _hand("read", "ptr %a1", "i64 %a2", "ptr %a3")),
        "GetDirectionalDerivative": ([P, P, L, P, L, P, P], _directional(
            model, "ptr %a1", "i64 %a2", "ptr %a3", "i64 %a4", "ptr %a5", "ptr %a6")),
        "EnterEventMode": ([P], OK), "EnterContinuousTimeMode": ([P], OK),
        "NewDiscreteStates": ([P, P], _updated("i32", info)),
        "CompletedIntegratorStep": ([P, N, P, P], _completed("i32")), "SetTime": ([P, D], _set_time(model)),
        "SetContinuousStates": ([P, P, L], _copied(model, True)),
        "GetContinuousStates": ([P, P, L], _copied(model, False)), "GetDerivatives": ([P, P, L], _rates(model)),
        "GetEventIndicators": ([P, P, L], _hand("indicators", "ptr %a1")),
        "GetNominalsOfContinuousStates": ([P, P, L], _nominal(model)),
        "SetRealInputDerivatives": ([P, P, L, P, P], NO), "GetRealOutputDerivatives": ([P, P, L, P, P], NO),
        "DoStep": ([P, D, D, N], step), "CancelStep": ([P], NO),
        **{f"Get{kind}Status": ([P, N, P], NO) for kind in ("", "Real", "Integer", "Boolean", "String")},
    }  # fmt: skip


_OTHERS = ("Float32", "Int8", "UInt8", "Int16", "UInt16", "Int32", "UInt32", "Int64", "UInt64", "Boolean", "String")


def _fmi3(model: FmuModel) -> dict[str, Signature]:
    stores = [f"store i8 {'%flag' if i == 4 else '0'}, ptr %a{i}" for i in (1, 2, 3, 4, 5)]
    if model.program.rates:
        stores += ["store i8 1, ptr %a5", *_announced(model), "store double %when, ptr %a6"]
    enter = "%given = icmp ne i8 %a1, 0\n  " + _experiment(model, "%given", "%a2", "%a3")
    step = NO
    if "cs" in model.kinds:
        flags = [f"store i8 0, ptr %a{i}" for i in (4, 5, 6)]
        lines = ["%r = call i32 @kompono.fmi.advance(ptr %a0, double %a1, double %a2)", _word(model, "time")]
        lines += ["%reached = load double, ptr %time", "store double %reached, ptr %a7", "ret i32 %r"]
        step = "\n  ".join([*flags, *lines])
    return {
        "GetVersion": ([], "ret ptr @kompono.fmi.version"), "SetDebugLogging": ([P, B, L, P], OK),
        "InstantiateModelExchange": ([P, P, P, B, B, P, P], _made("a0", "a1", "%a5", "%a6", "0")),
        "InstantiateCoSimulation": ([P, P, P, B, B, B, B, P, L, P, P, P], _made("a0", "a1", "%a9", "%a10", "1")),
        "InstantiateScheduledExecution": ([P, P, P, B, B, P, P, P, P, P], _made("a0", "a1", "%a5", "%a6", "2")),
        "FreeInstance": ([P], _END), "EnterInitializationMode": ([P, B, D, D, B, D], enter),
        "ExitInitializationMode": ([P], _hand("initialize")), "EnterEventMode": ([P], OK), "Terminate": ([P], OK),
        "Reset": ([P], _hand("reset")),
        "GetFloat64": ([P, P, L, P, L], _hand("get", *_GET)), "SetFloat64": ([P, P, L, P, L], _hand("set", *_GET)),
        **{f"{verb}{kind}": ([P, P, L, P, L], NO) for verb in ("Get", "Set") for kind in _OTHERS},
        "GetBinary": ([P, P, L, P, P, L], NO), "SetBinary": ([P, P, L, P, P, L], NO),
        "GetClock": ([P, P, L, P], NO), "SetClock": ([P, P, L, P], NO),
        "GetNumberOfVariableDependencies": ([P, N, P], NO), "GetVariableDependencies": ([P, N, P, P, P, P, L], NO),
        "GetFMUState": ([P, P], _hand("keep", *_KEPT)), "SetFMUState": ([P, P], _hand("recall", *_KEPT)),
        "FreeFMUState": ([P, P], _hand("drop", *_KEPT)),
        "SerializedFMUStateSize": ([P, P, P], _hand("size", "ptr %a2")),
        "SerializeFMUState": ([P, P, P, L], _hand("write", "ptr %a1", "ptr %a2", "i64 %a3")),
        "DeserializeFMUState": ([P, P, L, P], _hand("read", "ptr %a1", "i64 %a2", "ptr %a3")),
        "GetDirectionalDerivative": ([P, P, L, P, L, P, L, P, L], _directional(
            model, "ptr %a1", "i64 %a2", "ptr %a3", "i64 %a4", "ptr %a5", "ptr %a7")),
        "GetAdjointDerivative": ([P, P, L, P, L, P, L, P, L], NO),
        "EnterConfigurationMode": ([P], NO), "ExitConfigurationMode": ([P], NO),
        "GetIntervalDecimal": ([P, P, L, P, P], NO), "GetIntervalFraction": ([P, P, L, P, P, P], NO),
        "GetShiftDecimal": ([P, P, L, P], NO), "GetShiftFraction": ([P, P, L, P, P], NO),
        "SetIntervalDecimal": ([P, P, L, P], NO), "SetIntervalFraction": ([P, P, L, P, P], NO),
        "SetShiftDecimal": ([P, P, L, P], NO), "SetShiftFraction": ([P, P, L, P, P], NO),
        "EvaluateDiscreteStates": ([P], OK),
        "UpdateDiscreteStates": ([P, P, P, P, P, P, P], _updated("i8", stores)),
        "EnterContinuousTimeMode": ([P], OK), "CompletedIntegratorStep": ([P, B, P, P], _completed("i8")),
        "SetTime": ([P, D], _set_time(model)), "SetContinuousStates": ([P, P, L], _copied(model, True)),
        "GetContinuousStates": ([P, P, L], _copied(model, False)),
        "GetContinuousStateDerivatives": ([P, P, L], _rates(model)),
        "GetEventIndicators": ([P, P, L], _hand("indicators", "ptr %a1")),
        "GetNominalsOfContinuousStates": ([P, P, L], _nominal(model)),
        "GetNumberOfEventIndicators": ([P, P], f"store i64 {model.guards}, ptr %a1\n  {OK}"),
        "GetNumberOfContinuousStates": ([P, P], f"store i64 {model.continuous}, ptr %a1\n  {OK}"),
        "EnterStepMode": ([P], OK), "GetOutputDerivatives": ([P, P, L, P, P, L], NO),
        "DoStep": ([P, D, D, B, P, P, P, P], step),
        "ActivateModelPartition": ([P, N, D], NO),
    }  # fmt: skip
