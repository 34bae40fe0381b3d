"""The native solver of laws on several lanes.

Few rows are solved on all lanes at once (see `law_few`). Where that is not the answer, and where rows are many, the
solver for one lane is asked, lane by lane. A lane without acting rows costs a look at each row, and so does one whose
numbers are lost (see `lane_moves`).
"""

from __future__ import annotations

from kompono.compile.emit import BOOL, Array, Code, Value, anywhere, room
from kompono.compile.lanes import ONE, Lanes
from kompono.compile.law_few import FewRows, are_few
from kompono.compile.lower import called_symbol
from kompono.errors import CompileError
from kompono.translate.laws.naming import OFF, Sizes, sizes


def define_lanes(name: str, lanes: Lanes) -> str:
    """The solver of this name on lanes: [factor | table | n0] -> [z], each number on all lanes."""
    known = sizes(name)
    if known is None:
        raise CompileError(f"{name} is not the name of a solver of laws.")
    code = Code(lanes)
    done = code.variable(lanes.real, 0.0)
    texts = [f"declare void @{called_symbol(name, ONE)}(ptr, ptr) nounwind\n"]
    if are_few(known):
        asked = called_symbol(known.respond, lanes)
        texts.append(f"declare void @{asked}(ptr, ptr) nounwind\n")
        FewRows(code, known, lambda load, column: code.call(asked, [load, column])).solve(done.set)
    with code.when(anywhere(done.get().equals(0.0))):
        _one_by_one(code, known, called_symbol(name, ONE), Array(code, done.pointer))
    head = f"void @{called_symbol(name, lanes)}(ptr noalias readonly %in, ptr noalias %out) {lanes.stack}nounwind"
    return "".join(texts) + code.define(head)


def _one_by_one(code: Code, known: Sizes, single: str, done: Array) -> None:
    """Ask the solver for one lane for all lanes that are not done."""
    width = code.lanes.count
    given, taken = (Array(code, room(code, size // width + 1).pointer) for size in (known.given, known.found))
    with code.loop(width) as lane, code.when(done[lane].equals(0.0)):
        wide, out = Array(code, "%in").at(lane), Array(code, "%out").at(lane)
        acts, lost = _acting(code, known, wide, width)
        blank = code.select(lost, Value(code, "0x7FF8000000000000", "double"), 0.0)
        with code.loop(known.found) as i:
            taken[i] = blank
        with code.when(acts & ~lost):
            with code.loop(known.given) as i:
                given[i] = wide[i * width]
            code.call(single, [given, taken])
        with code.loop(known.found) as i:
            out[i * width] = taken[i]


def _acting(code: Code, known: Sizes, wide: Array, width: int) -> tuple[Value, Value]:
    """Whether a row of a lane is not off, and whether such a row is no number."""
    acts, lost = code.variable(BOOL, False), code.variable(BOOL, False)
    kind, offset = (known.place(0, name) for name in ("kind", "offset"))
    with code.loop(known.rows) as i:
        on = ~wide[(i + kind) * width].equals(OFF)
        side = wide[(i + offset) * width]
        acts.set(acts.get() | on)
        lost.set(lost.get() | (on & ~side.equals(side)))
    return acts.get(), lost.get()
