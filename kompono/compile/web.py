"""A model as one WebAssembly module that runs in any browser: its routines and the very step loop of native runs.

What calls it (`assets/living.js`) has no equations. It fills the block of a run (`block.Block`, a word of eight bytes
for each field) and the vectors behind it, calls `LOOP`, and reads the state. Functions come from `Math`; memory and the
pointer of the stack are given, data of the module begin at address 0.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from kompono.compile import assembler, cache, objects, sampling, schedule, targets
from kompono.compile.block import LASTING, Block, guard_count, layout, loop_routines
from kompono.compile.called import called
from kompono.compile.called import seen as read
from kompono.compile.closed import closed_body
from kompono.compile.emit import prelude
from kompono.compile.lanes import ONE
from kompono.compile.loops import LOOPS
from kompono.compile.machine import Machine
from kompono.compile.run import EVENTS
from kompono.compile.walls.module import data_end, imported, module
from kompono.errors import CompileError, RunError
from kompono.translate.program import Program, Routine, TableRoutine

LOOP = "kompono.loop"
METHODS = tuple(method for method in objects.METHODS if method not in objects.CHOOSING)  # that a page can run
MATH = (
    "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "exp", "log",
    "log1p", "expm1", "floor", "ceil", "fabs", "sqrt", "pow", "atan2", "hypot", "fmod", "remainder", "copysign", "fmin",
    "fmax", "fma",
)  # fmt: skip
_TRIPLE = f'target triple = "{targets.TARGETS[targets.WASM].triple}"\n'
_DECLARED = re.compile(r"^declare [^\n]*@([\w.]+)\([^\n]*\n", re.MULTILINE)
_DEFINED = re.compile(r"^define [^\n]*?@([\w.]+)\(", re.MULTILINE)
_FIELDS = tuple(entry[0] for entry in Block._fields_)


@dataclass(frozen=True)
class WebModule:
    """Code of a model for a browser: the module, and where in its memory things are, as plain data."""

    code: bytes
    places: dict[str, Any]


def web_module(program: Program, method: str, outputs: Routine, *, keep: bool = True) -> WebModule:
    """The step loop of a method and the routine that tells channels, from a program all of which is here; its object is
    kept in the cache if it may be.
    """
    text = loop_text(program, method, outputs)
    key = cache.key("web", [], text)
    made = cache.find(key) if keep else None
    if made is None:
        made = _assembled(text)
        if keep:
            cache.keep(key, made)
    code = module(made, [LOOP, schedule.symbol(outputs.name)], with_data=True)
    missing = [name for name in imported(code) if name not in MATH]
    if missing:
        raise CompileError(f"a browser does not have the function {missing[0]!r}.", fix="Write it by others.")
    return WebModule(code, places(program, outputs, data_end(code)))


def loop_text(program: Program, method: str, outputs: Routine) -> str:
    """LLVM text for any processor: the step loop of a method as `LOOP`, and all it calls."""
    routines = {routine.name: routine for routine in (*loop_routines(program), outputs)}
    if any(isinstance(routine, TableRoutine) for routine in routines.values()):
        raise RunError(
            "what is translated by types of components has no code for other processors.",
            fix="Use engine='relative' (--engine relative), or leave out --live.",
        )
    text = schedule.define(program, routines.values(), ONE)
    closed = called(program, routines.values())
    text += "".join(closed_body(read(function), ONE) for function in closed.values())
    text += LOOPS[method](Machine(program, flush=False), LOOP)
    return once(prelude(text, ONE) + text)


def _assembled(text: str) -> bytes:
    try:
        return assembler.emit(_TRIPLE + text, targets.machine_of(targets.WASM), loops=True)
    except RuntimeError as error:
        raise CompileError(f"no WebAssembly could be made: {error}") from error


def once(text: str) -> str:
    """The text with each function declared once, and not at all where it is defined."""
    seen = set(_DEFINED.findall(text))

    def kept(match: re.Match[str]) -> str:
        name = match[1]
        if name in seen or ".x86." in name:
            return ""
        seen.add(name)
        return match[0]

    return _DECLARED.sub(kept, text)


def places(program: Program, outputs: Routine, first: int) -> dict[str, Any]:
    """What the page must know to run the module: sizes, and words of the block and of the memory by name."""
    memory = layout(program)
    return {
        "loop": LOOP, "outputs": schedule.symbol(outputs.name), "data": first,
        "fields": {name: k for k, name in enumerate(_FIELDS)}, "lasting": list(LASTING),
        "vectors": {name: list(place) for name, place in memory.items()},
        "work": max(outputs.workspace, 1), "results": outputs.outputs[0][1],
        "state": program.state_size, "inputs": len(program.inputs), "parameters": len(program.parameters),
        "guards": guard_count(program), "log": EVENTS + guard_count(program), "events": list(program.events),
        "counted": sampling.counted_until(program.rates, 0.0), "sampling": sampling.told(program.rates),
    }  # fmt: skip
