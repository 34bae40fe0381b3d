"""A module of WebAssembly in wasmtime, called by native code.

A module has memory of its own, whose size is fixed, and reaches nothing else: no system, no memory of ours. What it may
import are that memory, the pointer of its stack, and functions of the C library's mathematics, which take and give
numbers. Every call has fuel for about a second; a loop without end runs out of it. What goes wrong inside is a *trap*:
the room is broken then, and all its results are not a number.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import weakref
from collections.abc import Mapping
from typing import Any

from kompono.compile import assembler, jit
from kompono.compile.emit import INT, POINTER, Array, Code, Value, prelude
from kompono.compile.lanes import ONE
from kompono.compile.walls import ask, channel, station
from kompono.compile.walls.ask import look, place, tell
from kompono.compile.walls.module import ARITIES, MEMORY, STACK
from kompono.errors import SealedError

ASK, HOST = "kompono.ask_wasm", "kompono.host"
FUEL = 1_000_000_000  # instructions of one call
_FOR_STACK = 1 << 22  # bytes
_PAGE = 1 << 16
_LARGEST = 1 << 30  # bytes of memory
# words beside LOCK and BROKEN
_BASE, _CONTEXT, _TABLE, _CALL, _REFUEL, _TRAP, _ERROR, _FUEL, _GIVEN, _TAKEN, _NUMBERS = range(16, 27)
_WORDS = 32


def _wasmtime() -> Any:
    try:
        return importlib.import_module("wasmtime")
    except ImportError as cause:
        fix = "Try: pip install 'kompono[wasm]'"
        raise SealedError("WebAssembly needs the package wasmtime, which is not installed.", fix=fix) from cause


def ask_text() -> str:
    """The function that calls one of a module, lane by lane."""
    code = Code()
    with code.when(look(code, "%channel", channel.BROKEN).equals(0)):
        ask.take_turn(code)
        words = [code.let(INT, f"load i64, ptr {place(code, '%channel', k)}") for k in range(16, 27)]
        base = words[0]
        given, taken = (_array(code, base + words[k - 16]) for k in (_GIVEN, _TAKEN))
        code.say("%raw = alloca [3 x <2 x i64>], align 16")
        lanes = Value(code, "%lanes", INT)
        arguments, results = (Value(code, name, INT) // lanes for name in ("%arguments", "%results"))
        with code.loop(lanes) as lane:
            with code.loop(arguments) as i:
                given[i] = Array(code, "%in")[i * lanes + lane]
            _call(code, words)
            with code.loop(results) as i:
                Array(code, "%out")[i * lanes + lane] = taken[i]
        tell(code, "%channel", channel.LOCK, 0)
    with code.when(look(code, "%channel", channel.BROKEN) > 0):
        ask.no_numbers(code)
    return code.define(f"void @{ASK}({ask.ARGUMENTS}) noinline nounwind")


def _array(code: Code, address: Value) -> Array:
    return Array(code, code.let(POINTER, f"inttoptr i64 {address.name} to ptr").name)


def _call(code: Code, words: list[Value]) -> None:
    """One call, with new fuel; what comes back as an error or a trap breaks the room."""
    pointers = {k: code.let(POINTER, f"inttoptr i64 {words[k - 16].name} to ptr").name for k in (
        _CONTEXT, _TABLE, _CALL, _REFUEL)}  # fmt: skip
    code.let(POINTER, f"call ptr {pointers[_REFUEL]}(ptr {pointers[_CONTEXT]}, i64 {words[_FUEL - 16].name})")
    for k, word in enumerate((_GIVEN, _TAKEN, _NUMBERS)):
        slot = code.let(POINTER, f"getelementptr i64, ptr %raw, i64 {2 * k}").name
        code.say(f"store i64 {words[word - 16].name}, ptr {slot}")
    entry = code.let(POINTER, f"getelementptr ptr, ptr {pointers[_TABLE]}, i64 %which").name
    function = code.let(POINTER, f"load ptr, ptr {entry}").name
    trap, error = (place(code, "%channel", k) for k in (_TRAP, _ERROR))
    arguments = f"ptr {pointers[_CONTEXT]}, ptr {function}, ptr %raw, i64 3, ptr {trap}"
    code.say(f"store ptr {code.let(POINTER, f'call ptr {pointers[_CALL]}({arguments})').name}, ptr {error}")
    found = [code.let(INT, f"load i64, ptr {at}") for at in (trap, error)]
    bad = ~(found[0].equals(0) & found[1].equals(0))
    with code.when(bad):
        tell(code, "%channel", channel.BROKEN, channel.TRAPPED)


@functools.cache
def ask_object() -> bytes:
    """That as machine code."""
    text = ask_text()
    return assembler.assemble(prelude(text, ONE) + ask.declarations() + text, loops=True)


@functools.cache
def _host() -> tuple[Any, Mapping[str, int]]:
    """Functions of mathematics as wasmtime calls them, by name: what keeps them, and their addresses."""
    text = ""
    for name, count in ARITIES.items():
        kinds = ", ".join(["double"] * count)
        loads = "".join(
            f"%p{k} = getelementptr <2 x i64>, ptr %values, i64 {k}\n%x{k} = load double, ptr %p{k}\n"
            for k in range(count)
        )
        given = ", ".join(f"double %x{k}" for k in range(count))
        text += f"declare double @{name}({kinds})\n"
        text += (
            f"define internal ptr @{HOST}.{name}(ptr %env, ptr %caller, ptr %values, i64 %count) nounwind {{\n{loads}"
        )
        text += f"%y = call double @{name}({given})\nstore double %y, ptr %values\nret ptr null\n}}\n"
    stores = "".join(
        f"%q{k} = getelementptr ptr, ptr %table, i64 {k}\nstore ptr @{HOST}.{name}, ptr %q{k}\n"
        for k, name in enumerate(ARITIES)
    )
    text += f"define i64 @{HOST}(ptr %table) nounwind {{\n{stores}ret i64 0\n}}\n"
    function = jit.load([assembler.assemble(text)], HOST)
    table = (ctypes.c_void_p * len(ARITIES))()
    function(ctypes.addressof(table))
    return function, {name: int(table[k] or 0) for k, name in enumerate(ARITIES)}


class Room:
    """The functions of one module, by number; `numbers` are the table they get."""

    asks = ASK
    process = None

    def __init__(self, name: str, data: bytes, functions: Mapping[str, tuple[str, int, int]], numbers: bytes) -> None:
        """`functions` by what owners call them: their name in the module, and the lengths of their columns."""
        wasm = _wasmtime()
        self.name, self._wasm, self._numbers = name, wasm, numbers
        self._places = {known: k for k, known in enumerate(functions)}
        self._words = channel.Words(_WORDS)
        given = max([size for _, size, _ in functions.values()], default=0)
        taken = max([size for _, _, size in functions.values()], default=0)
        self._at = _FOR_STACK, _FOR_STACK + 8 * given, _FOR_STACK + 8 * (given + taken)
        pages = -(-(self._at[2] + len(numbers)) // _PAGE)
        if pages * _PAGE > _LARGEST:
            raise SealedError(f"its columns need {pages * _PAGE >> 20} MB of memory.", path=name)
        try:
            self._make(data, pages, [symbol for symbol, _, _ in functions.values()])
        except SealedError:
            raise
        except Exception as error:  # wasmtime's own, and what bytes that are no module can raise in its bindings
            raise SealedError(
                f"its WebAssembly cannot be used ({_first(error)}).", path=name, fix="Ask its author to seal it again."
            ) from error

    def _make(self, data: bytes, pages: int, symbols: list[str]) -> None:
        wasm = self._wasm
        config = wasm.Config()
        config.consume_fuel = True
        self._store = store = wasm.Store(wasm.Engine(config))
        store.set_limits(memory_size=pages * _PAGE, table_elements=0, instances=1, tables=0, memories=1)
        store.set_fuel(FUEL)
        module = wasm.Module(store.engine, data)
        self._memory = wasm.Memory(store, wasm.MemoryType(wasm.Limits(pages, pages)))
        kind = wasm.GlobalType(wasm.ValType.i32(), True)
        self._stack = wasm.Global(store, kind, wasm.Val.i32(_FOR_STACK))
        imports = [self._import(wanted) for wanted in module.imports]
        exports = wasm.Instance(store, module, imports).exports(store)
        self._functions = [self._export(exports, symbol) for symbol in symbols]
        self._why = ""
        self._end = weakref.finalize(self, _close, [store, module, store.engine])
        self._table = (ctypes.c_void_p * max(len(symbols), 1))(
            *[ctypes.addressof(function._func) for function in self._functions]
        )
        ffi = importlib.import_module("wasmtime._ffi")
        words = self._words
        words[_BASE] = ctypes.addressof(self._memory.data_ptr(store).contents)
        words[_CONTEXT] = ctypes.cast(store._context(), ctypes.c_void_p).value or 0
        words[_TABLE], words[_FUEL] = ctypes.addressof(self._table), FUEL
        words[_CALL] = ctypes.cast(ffi.dll.wasmtime_func_call_unchecked, ctypes.c_void_p).value or 0
        words[_REFUEL] = ctypes.cast(ffi.dll.wasmtime_context_set_fuel, ctypes.c_void_p).value or 0
        words[_GIVEN], words[_TAKEN], words[_NUMBERS] = self._at
        self._fill()

    def _import(self, wanted: Any) -> Any:
        wasm, name, kind = self._wasm, wanted.name, wanted.type
        if wanted.module == "env" and name == MEMORY and isinstance(kind, wasm.MemoryType):
            return self._memory
        if wanted.module == "env" and name == STACK and isinstance(kind, wasm.GlobalType):
            return self._stack
        number = wasm.ValType.f64()
        if wanted.module == "env" and name in ARITIES and isinstance(kind, wasm.FuncType):
            own = wasm.FuncType([number] * ARITIES[name], [number])
            if list(map(str, kind.params)) == list(map(str, own.params)) and list(map(str, kind.results)) == ["f64"]:
                return self._host_function(name, own)
        raise SealedError(
            f"its WebAssembly wants {str(name)[:40]!r} from outside, which is given to nobody.", path=self.name,
            fix="Do not use this file.",
        )  # fmt: skip

    def _host_function(self, name: str, kind: Any) -> Any:
        ffi = importlib.import_module("wasmtime._ffi")
        made = ffi.wasmtime_func_t()
        address = ctypes.cast(_host()[1][name], ffi.wasmtime_func_unchecked_callback_t)
        nothing = ctypes.cast(0, ctypes.CFUNCTYPE(None, ctypes.c_void_p))
        ffi.wasmtime_func_new_unchecked(self._store._context(), kind.ptr(), address, None, nothing, ctypes.byref(made))
        return self._wasm.Func._from_raw(made)

    def _export(self, exports: Any, symbol: str) -> Any:
        found: Any = exports.get(symbol)
        if not isinstance(found, self._wasm.Func):
            raise SealedError("its WebAssembly lacks a function.", path=self.name, fix="Ask its author for another.")
        kind = found.type(self._store)
        if list(map(str, kind.params)) != ["i32"] * 3 or list(kind.results):
            raise SealedError("a function of its WebAssembly has another form.", path=self.name)
        return found

    def _fill(self) -> None:
        """Memory as a module finds it first."""
        ctypes.memmove(self._words[_BASE] + self._at[2], self._numbers, len(self._numbers))
        self._stack.set_value(self._store, self._wasm.Val.i32(_FOR_STACK))

    @property
    def address(self) -> int:
        """Of its words, for native code."""
        return self._words.address

    def number(self, symbol: str) -> int:
        """What a function is asked for by."""
        return self._places[symbol.removeprefix("kompono.").rpartition(".")[0]]  # the same on any lanes

    @property
    def broken(self) -> bool:
        """Whether something went wrong inside."""
        return bool(self._words[channel.BROKEN])

    def trouble(self) -> str:
        """What, in words; empty if all is well."""
        if not self.broken:
            return ""
        ffi = importlib.import_module("wasmtime._ffi")
        why = self._why
        if not why and self._words[_TRAP]:
            pointer = ctypes.cast(self._words[_TRAP], ctypes.POINTER(ffi.wasm_trap_t))
            why = str(self._wasm.Trap._from_ptr(pointer))
        elif not why and self._words[_ERROR]:
            pointer = ctypes.cast(self._words[_ERROR], ctypes.POINTER(ffi.wasmtime_error_t))
            why = str(self._wasm.WasmtimeError._from_ptr(pointer))
        self._why = why
        self._words[_TRAP] = self._words[_ERROR] = 0
        if "fuel" in why:
            return "its code did not come to an end (a loop without end?)"
        return f"its WebAssembly failed ({why.strip().splitlines()[-1].strip() if why.strip() else 'a trap'})"

    def revive(self) -> None:
        """As new."""
        if not self.broken:
            return
        station.hold(self.address)
        self.trouble()
        self._why = ""
        self._fill()
        self._words[channel.BROKEN] = self._words[channel.LOCK] = 0

    def ready(self) -> None:
        """It is."""


def _close(things: list[Any]) -> None:
    """Give back what wasmtime has; at the end of Python its bindings cannot do that any more."""
    for thing in things:
        thing.close()


def _first(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:120] if lines else type(error).__name__
