"""Cut long straight-line functions into segments.

LLVM's time for one function grows faster than its length. So the body of a function above `LIMIT` lines is cut into
consecutive segments, each an internal function of its own with the same arguments. A value that lives across a cut is
stored in a scratch array where it is made and loaded where a later segment first needs it; what was read from an
argument or computed from addresses is read again instead. Cuts are made where few values live. The result is the same
to the last bit (see `lower`).

Measured (processor seconds in LLVM, microseconds per evaluation), by lines of a segment:

    routine                     SX     whole            2000            1000
    derivative, car            3,303    0.12 s   0.70    0.16 s  0.72    0.16 s  0.69
    derivative, chain of 32   12,239    0.58 s   2.01    0.61 s  2.04    0.55 s  2.10
    outputs, chain of 32      21,170    1.6 s    3.33    1.1 s   3.29    0.95 s  3.38
    derivative, chain of 100  40,527    3.4 s    6.50    2.1 s   6.57    1.8 s   6.56
    outputs, chain of 100     68,838   13.8 s   11.7     3.8 s  11.5     3.3 s  11.2
    derivative, absolute car  32,158    2.8 s    4.80    1.8 s   4.83    1.6 s   4.87
    project, absolute car     43,510    3.6 s    6.29    2.6 s   6.40    2.2 s   6.35
    outputs, absolute car     34,761    3.5 s    5.44    2.0 s   5.50    1.8 s   5.51

Evaluations are the best of repeated maps, on a shared machine: differences of 5 % mean little. Segments of 500 lines
save at most another tenth of the compile time and run 1 to 7 % slower (chain of 100). What remains is nearly linear,
about 50 us per instruction, most of it code generation.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from kompono.compile.lanes import ONE, Lanes

LIMIT = 15000  # lines up to which a body stays whole
SEGMENT = 1000  # lines of a segment, give or take a quarter

_NAME = re.compile(r"%[\w.]+")
_AGAIN = (
    "getelementptr",
    "load",
    "zext",
    "insertelement",
    "shufflevector",
)  # cheap and without side effects: rather made again than kept
_TRUTH = ("fcmp", "and", "or", "xor")


@dataclass
class _Uses:
    """Who makes and who uses which value, by line; arguments are not values."""

    lines: Sequence[str]
    lanes: Lanes = ONE
    makes: list[str] = field(default_factory=list)
    uses: list[list[str]] = field(default_factory=list)
    maker: dict[str, int] = field(default_factory=dict)
    last: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for k, line in enumerate(self.lines):
            names = _NAME.findall(line)
            makes = names.pop(0) if line[0] == "%" else ""
            used = [name for name in names if name in self.maker]
            for name in used:
                self.last[name] = k
            if makes:
                self.maker[makes] = k
            self.makes.append(makes)
            self.uses.append(used)

    def operation(self, name: str) -> str:
        """The LLVM instruction that makes a value."""
        return self.lines[self.maker[name]].split(" ", 3)[2]

    def cheap(self, name: str) -> bool:
        """Whether a value is made again in every segment."""
        return self.operation(name) in _AGAIN


def function(
    head: str, name: str, arguments: Sequence[str], lines: Sequence[str], lanes: Lanes = ONE, calls: int = 0
) -> str:
    """A function without result: `head` from `define` to its body, with these arguments (names), made of `lines`.

    Segments are called `name` and a number. With `calls` places for calls of others there is an array `%calls`.
    """
    before = [f"%calls = alloca [{calls} x {lanes.real}], align 64"] if calls else []
    if len(lines) <= LIMIT:
        return "\n".join([f"define {head} {{", *before, *lines, "ret void", "}", ""])
    arguments = [*arguments, *(["%calls"] if calls else [])]
    body = _Uses(lines, lanes)
    cuts = _cuts(body)
    slots, size = _slots(body, cuts)
    pointers = ", ".join(f"ptr {argument}" for argument in arguments)
    parameters = ", ".join(f"ptr noalias {argument}" for argument in arguments)
    texts, segments = [], []
    for number, (start, end) in enumerate(pairwise(cuts)):
        part = f"{name}.{number}"
        texts.append(
            f"define internal void @{part}({parameters}, ptr noalias %scratch) {lanes.stack}noinline nounwind {{"
        )
        texts.extend(_segment(body, start, end, slots))
        texts.extend(["ret void", "}", ""])
        segments.append(f"call void @{part}({pointers}, ptr %scratch)")
    scratch = f"%scratch = alloca [{size} x {lanes.real}], align 64"
    return "\n".join([*texts, f"define {head} {{", *before, scratch, *segments, "ret void", "}", ""])


def _cuts(body: _Uses) -> list[int]:
    """The lines segments start with, and the end: where the fewest values live, near equal distances."""
    count = len(body.lines)
    change = np.zeros(count + 1, dtype=np.int64)
    for name, k in body.last.items():
        if not body.cheap(name):
            change[body.maker[name] + 1] += 1
            change[k + 1] -= 1
    alive = np.cumsum(change)
    parts = -(-count // SEGMENT)
    cuts = [0]
    for part in range(1, parts):
        middle, reach = part * count // parts, SEGMENT // 4
        cuts.append(middle - reach + int(np.argmin(alive[middle - reach : middle + reach])))
    return [*cuts, count]


def _slots(body: _Uses, cuts: Sequence[int]) -> tuple[dict[str, int], int]:
    """Places in the scratch array of the values that live across a cut; places are used again after the last use."""
    segment = np.repeat(np.arange(len(cuts) - 1), np.diff(cuts))
    slots: dict[str, int] = {}
    free: list[int] = []
    ending: dict[int, list[int]] = {}  # segment -> places nobody needs after it
    size = now = 0
    for k, name in enumerate(body.makes):
        while now < segment[k]:
            free += ending.pop(now, [])
            now += 1
        end = segment[body.last[name]] if name in body.last else now
        if end > now and not body.cheap(name):
            slots[name] = free.pop() if free else size
            size = max(size, slots[name] + 1)
            ending.setdefault(end, []).append(slots[name])
    return slots, max(size, 1)


def _segment(body: _Uses, start: int, end: int, slots: dict[str, int]) -> list[str]:
    text: list[str] = []
    known: set[str] = set()
    real, truth, integer = body.lanes.real, body.lanes.truth, body.lanes.integer

    def need(name: str) -> None:
        if name in known:
            return
        known.add(name)
        if name not in slots:  # made again, from what it needs
            for other in body.uses[body.maker[name]]:
                need(other)
            text.append(body.lines[body.maker[name]])
            return
        text.append(f"%at{name[1:]} = getelementptr {real}, ptr %scratch, i64 {slots[name]}")
        if body.operation(name) in _TRUTH:
            text.append(f"%in{name[1:]} = load {integer}, ptr %at{name[1:]}")
            text.append(f"{name} = trunc {integer} %in{name[1:]} to {truth}")
        else:
            text.append(f"{name} = load {real}, ptr %at{name[1:]}")

    for k in range(start, end):
        for name in body.uses[k]:
            need(name)
        name = body.makes[k]
        if name and name in known:
            continue
        text.append(body.lines[k])
        known.add(name)
        if name in slots:
            text.append(f"%to{name[1:]} = getelementptr {real}, ptr %scratch, i64 {slots[name]}")
            if body.operation(name) in _TRUTH:
                text.append(f"%out{name[1:]} = zext {truth} {name} to {integer}")
                text.append(f"store {integer} %out{name[1:]}, ptr %to{name[1:]}")
            else:
                text.append(f"store {real} {name}, ptr %to{name[1:]}")
    return text
