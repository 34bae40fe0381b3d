"""Native code that calls an FMU by address: one function for each of its functions (see `foreign.code`).

An instance answers one thread at a time, so a word guards it. What an FMU answers with an error is not a number, which
ends the step that asked. The code has addresses of this process in it, and is never kept.
"""

from __future__ import annotations

import ctypes

from kompono.compile import assembler
from kompono.compile.emit import Array, Code
from kompono.compile.lanes import Lanes
from kompono.compile.lower import called_symbol
from kompono.foreign.code import EVENT, GUARDS, RATES, Functions, find

_NAN = "0x7FF8000000000000"


def known(name: str) -> bool:
    """Whether a closed function is one of an FMU."""
    return find(name) is not None


def foreign_object(name: str, lanes: Lanes) -> bytes:
    """The object with a function of an FMU."""
    found = find(name)
    assert found is not None
    text = _one(*found, called_symbol(name, Lanes(1)) if lanes.count == 1 else "one")
    if lanes.count > 1:
        text = text.replace("define void", "define internal void") + _each(*found, called_symbol(name, lanes), lanes)
    return assembler.assemble("declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)\n" + text)


def _pointer(address: int) -> str:
    return f"inttoptr (i64 {address} to ptr)"


def _references(name: str, references: tuple[int, ...]) -> str:
    values = ", ".join(f"i32 {reference}" for reference in references)
    return f"@{name} = private constant [{len(references)} x i32] [{values}]\n"


def _one(owner: Functions, number: int, symbol: str) -> str:
    """The function for one lane."""
    instance, described = owner.instance, owner.described[number]
    version, count = instance.told.version, owner.states
    handle = f"ptr {_pointer(0 if owner.answers else instance.handle)}"
    kind = "Real" if version == 2 else "Float64"
    lock, lines, made = f"ptr {_pointer(ctypes.addressof(owner.lock))}", [], []

    def ask(function: str, *arguments: str) -> None:
        address = _pointer(instance.address(function))
        kinds = ", ".join(argument.split()[0] for argument in (handle, *arguments))
        made.append(f"%s{len(made)}")
        lines.append(f"{made[-1]} = call i32 ({kinds}) {address}({', '.join((handle, *arguments))})")

    def variables(verb: str, table: str, size: int, place: str) -> None:
        tail = (f"i64 {size}",) if version == 3 else ()
        ask(f"{verb}{kind}", f"ptr @{table}", f"i64 {size}", f"ptr {place}", *tail)

    text = ""
    if number in owner.answers:  # it is behind a wall
        address = ctypes.cast(owner.answers[number], ctypes.c_void_p).value or 0
        lines.append(f"%answered = call i32 (ptr, ptr) {_pointer(address)}(ptr %in, ptr %out)")
        return _locked(symbol, lock, lines, ["%answered"], described.results)
    if owner.epochs is not None:
        lines += _in_epoch(owner, number)
        made.append("%restored")
    if number == EVENT:
        address = ctypes.cast(owner.asked[1], ctypes.c_void_p).value or 0
        made.append("%happened")
        lines.append(f"%happened = call i32 (ptr, ptr) {_pointer(address)}(ptr %in, ptr %out)")
        return text + _locked(symbol, lock, lines, made, described.results)
    lines += ["%t = load double, ptr %in", "%x = getelementptr double, ptr %in, i64 1"]
    ask("SetTime", "double %t")
    if count:
        ask("SetContinuousStates", "ptr %x", f"i64 {count}")
    if described.inputs and owner.inputs:
        text += _references(f"{symbol}.inputs", owner.inputs)
        lines.append(f"%u = getelementptr double, ptr %in, i64 {1 + count}")
        variables("Set", f"{symbol}.inputs", len(owner.inputs), "%u")
    if number == RATES:
        ask("GetDerivatives" if version == 2 else "GetContinuousStateDerivatives", "ptr %out", f"i64 {count}")
    elif number == GUARDS:
        ask("GetEventIndicators", "ptr %out", f"i64 {described.results}")
    else:
        text += _references(f"{symbol}.outputs", described.references)
        variables("Get", f"{symbol}.outputs", described.results, "%out")
    return text + _locked(symbol, lock, lines, made, described.results)


def _in_epoch(owner: Functions, number: int) -> list[str]:
    """Have the FMU in the epoch that is asked for, the last argument; most often it is."""
    assert owner.epochs is not None
    place = owner.arguments(number) - 1
    address = ctypes.cast(owner.asked[0], ctypes.c_void_p).value or 0
    return [
        f"%epoch.at = getelementptr double, ptr %in, i64 {place}", "%epoch = load double, ptr %epoch.at",
        f"%now = load double, ptr {_pointer(ctypes.addressof(owner.epochs.current))}",
        "%same = fcmp oeq double %epoch, %now", "br i1 %same, label %there, label %other", "other:",
        f"%moved = call i32 (ptr, ptr) {_pointer(address)}(ptr %epoch.at, ptr %out)", "br label %there", "there:",
        "%restored = phi i32 [0, %go], [%moved, %other]",
    ]  # fmt: skip


def _locked(symbol: str, lock: str, lines: list[str], made: list[str], results: int) -> str:
    """The function of these lines, which give the statuses `made`; one thread at a time."""
    worst = [f"%b{k} = icmp ugt i32 {status}, 1" for k, status in enumerate(made)]
    worst += ["%any0 = or i1 false, %b0", *(f"%any{k} = or i1 %any{k - 1}, %b{k}" for k in range(1, len(made)))]
    spoil = [f"%o{k} = getelementptr double, ptr %out, i64 {k}" for k in range(results)]
    spoil += [f"store double {_NAN}, ptr %o{k}" for k in range(results)]
    body, spoiled = "\n  ".join([*lines, *worst]), "\n  ".join(spoil)
    return f"""define void @{symbol}(ptr %in, ptr %out) nounwind {{
  br label %wait
wait:
  %busy = atomicrmw xchg {lock}, i64 1 acquire
  %free = icmp eq i64 %busy, 0
  br i1 %free, label %go, label %wait
go:
  {body}
  br i1 %any{len(made) - 1}, label %bad, label %done
bad:
  {spoiled}
  br label %done
done:
  store atomic i64 0, {lock} release, align 8
  ret void
}}
"""


def _each(owner: Functions, number: int, symbol: str, lanes: Lanes) -> str:
    """All lanes, one after the other."""
    code, given, results = Code(), owner.arguments(number), owner.described[number].results
    code.say(f"%given = alloca [{given} x double], align 8")
    code.say(f"%taken = alloca [{results} x double], align 8")
    with code.loop(lanes.count) as lane:
        with code.loop(given) as i:
            Array(code, "%given")[i] = Array(code, "%in")[i * lanes.count + lane]
        code.say("call void @one(ptr %given, ptr %taken)")
        with code.loop(results) as i:
            Array(code, "%out")[i * lanes.count + lane] = Array(code, "%taken")[i]
    return code.define(f"void @{symbol}(ptr %in, ptr %out) nounwind")
