"""Straight-line code on several lanes: the scalar text of a kernel, line by line, on vectors.

Every operation acts on all lanes alike; functions without a vector form are called lane by lane. Results are those of
the scalar code to the last bit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_CONSTANT = re.compile(r"(?<![\w%.])(0x[0-9A-F]{16}|-?\d+\.\d+)(?![\w.])")
_TYPE = re.compile(r"(?<!splat \()\b(double|i1)\b")
_CALL = re.compile(r"(%[\w.]+) = call double @([\w.]+)\((.*)\)")


def vector(lanes: int) -> str:
    """The type of `lanes` doubles."""
    return f"<{lanes} x double>"


def widen(lines: Iterable[str], lanes: int) -> list[str]:
    """The lines on vectors; those that begin with a blank are vector code already."""
    wide: list[str] = []
    for line in lines:
        if line[0] == " ":
            wide.append(line[1:])
            continue
        call = _CALL.match(line)
        if call and not call[2].startswith("llvm."):
            wide += _one_by_one(*call.groups(), lanes)
            continue
        line = _CONSTANT.sub(r"splat (double \1)", line)
        line = line.replace(" true", " splat (i1 true)").replace(".f64(", f".v{lanes}f64(")
        wide.append(_TYPE.sub(rf"<{lanes} x \1>", line))
    return wide


def _one_by_one(result: str, function: str, arguments: str, lanes: int) -> list[str]:
    values = [_CONSTANT.sub(r"splat (double \1)", argument.split(" ", 1)[1]) for argument in arguments.split(", ")]
    lines, before = [], "poison"
    for lane in range(lanes):
        names = []
        for k, value in enumerate(values):
            names.append(f"{result}.a{k}.{lane}")
            lines.append(f"{names[-1]} = extractelement {vector(lanes)} {value}, i64 {lane}")
        lines.append(f"{result}.c{lane} = call double @{function}({', '.join(f'double {name}' for name in names)})")
        after = result if lane == lanes - 1 else f"{result}.r{lane}"
        lines.append(f"{after} = insertelement {vector(lanes)} {before}, double {result}.c{lane}, i64 {lane}")
        before = after
    return lines


def declarations(text: str, lanes: int) -> str:
    """Declarations of the vector functions a text calls."""
    kind = vector(lanes)
    found = []
    for name in sorted(set(re.findall(rf"@(llvm\.\w+\.v{lanes}f64)\(", text))):
        count = 3 if "fmuladd" in name else 2 if re.search(r"pow|copysign|minnum|maxnum", name) else 1
        found.append(f"declare {kind} @{name}({', '.join([kind] * count)})\n")
    return "".join(found)
