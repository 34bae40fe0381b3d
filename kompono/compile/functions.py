"""The mathematical functions native code may call, and what stands for them on several lanes.

On one lane all come from LLVM or the C library. On several lanes LLVM has vector instructions for some; sine and cosine
are our own (see `sincos`); the rest is the C library's function, lane by lane. Cells of a large model are computed on
lanes or alone, as they happen to be grouped: there our own sine and cosine serve one lane, too (`grouped`), so that the
result does not depend on the grouping.

Code for this processor makes sines and cosines of one model on lanes, too (`turns`), all it can at once: the C library
takes ten times as long for each. Whoever needs one alone, such as the walker, takes the same instructions on one lane.
Angles our own do not know (`sincos.LIMIT`) go to the C library, one branch for all of them.
"""

from __future__ import annotations

from kompono.compile import host, sincos
from kompono.compile.lanes import ONE, Lanes

_INTRINSIC = {"sin", "cos", "exp", "log", "sqrt", "fabs", "floor", "ceil", "pow", "copysign", "minnum", "maxnum"}
_LIBRARY = {
    "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "log1p", "expm1", "atan2",
    "hypot", "fmod", "remainder",
}  # fmt: skip
BINARY = {"pow", "copysign", "minnum", "maxnum", "atan2", "hypot", "fmod", "remainder"}
_NOTHING_ELSE = "nounwind willreturn memory(none)"  # lets LLVM merge equal calls; errno is nobody's concern
TURNS = "kompono.turns"  # (angles, sines and behind them cosines, number)


def turns() -> bool:
    """Whether this processor makes sines and cosines on lanes."""
    return sincos.available()


def turned_together(count: int) -> int:
    """How many angles are turned for so many: a multiple of the lanes."""
    return -(-count // host.lanes()) * host.lanes()


def symbol(name: str, lanes: Lanes, *, grouped: bool = False, turns: bool = False) -> str:
    """The native name of a function on these lanes."""
    own = name in sincos.NAMES and sincos.available()
    if own and turns and lanes == ONE:
        return f"kompono.{name}.any"
    if (own and grouped) or (lanes.count > 1 and (own or name not in _INTRINSIC)):
        return f"kompono.{name}.{lanes.count}"
    return name if name in _LIBRARY else f"llvm.{name}.{lanes.suffix}"


def _arguments(name: str, kind: str) -> list[str]:
    return [kind] * (2 if name in BINARY else 1)


def declarations(text: str, lanes: Lanes) -> str:
    """Declarations, and where nobody else has them definitions, of the functions that `text` may call."""
    lines = []
    together = f"@{TURNS}(" in text
    wide = {ONE, lanes, Lanes(host.lanes())} if together else {ONE, lanes}
    wide |= {Lanes(n) for n in (2, 4) if f".v{n}f64(" in text}  # see `law_columns`, `packs`
    text += sincos.together(TURNS, Lanes(host.lanes())) if together else ""
    for name in sincos.NAMES:
        if f"@{symbol(name, ONE, turns=True)}(" in text and sincos.available():
            lines.append(sincos.anywhere(name, symbol(name, ONE, turns=True)))
            text += lines[-1]
    for name in sorted(_INTRINSIC | _LIBRARY):
        for width in wide:
            arguments = ", ".join(_arguments(name, width.real))
            if not symbol(name, width).startswith("kompono."):
                lines.append(f"declare {width.real} @{symbol(name, width)}({arguments}) {_NOTHING_ELSE}")
            elif f"@{symbol(name, width)}(" in text:
                lines.append(sincos.define(name, width) if name in sincos.NAMES else _lane_by_lane(name, width))
    for name in sincos.NAMES:
        if f"@{symbol(name, ONE, grouped=True)}(" in text and sincos.available():
            lines.append(sincos.define(name, ONE))
    lines += [sincos.together(TURNS, Lanes(host.lanes()))] if together else []
    for width in wide:
        for name in ("fmuladd", "fma"):  # the first is fused where the processor can, the second in any case
            lines.append(f"declare {width.real} @llvm.{name}.{width.suffix}({', '.join([width.real] * 3)})")
    return "\n".join(sorted(lines)) + "\n"


def _lane_by_lane(name: str, lanes: Lanes) -> str:
    kinds = _arguments(name, lanes.real)
    given = ", ".join(f"{kind} %x{i}" for i, kind in enumerate(kinds))
    lines = [f"define internal {lanes.real} @{symbol(name, lanes)}({given}) noinline {_NOTHING_ELSE} {{"]
    result = "poison"
    for k in range(lanes.count):
        for i, kind in enumerate(kinds):
            lines.append(f"%x{i}.{k} = extractelement {kind} %x{i}, i64 {k}")
        scalars = ", ".join(f"double %x{i}.{k}" for i in range(len(kinds)))
        lines.append(f"%y{k} = call double @{symbol(name, ONE)}({scalars})")
        lines.append(f"%z{k} = insertelement {lanes.real} {result}, double %y{k}, i64 {k}")
        result = f"%z{k}"
    return "\n".join([*lines, f"ret {lanes.real} {result}", "}"])
