"""Arguments of calls that are inputs one behind the other: they are copied at once, and not read one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import casadi as ca

from kompono.compile.straight import Instruction

MANY = 4  # arguments from which on they are copied together
Runs = Mapping[int, Sequence[tuple[int, int, int]]]


class Lying(NamedTuple):
    """Where inputs lie: the instruction that gives the `address` of one, and whether one `follows` the one before in
    memory, so that both have an address.
    """

    address: Callable[[int], str]
    follows: Callable[[int], bool]


def copied_runs(found: Sequence[Instruction], follows: Callable[[int], bool]) -> Runs:
    """By call, where arguments begin that are inputs one behind the other, how many, and the first of these inputs."""
    runs: dict[int, list[tuple[int, int, int]]] = {}
    for k, one in enumerate(found):
        places = [found[i].index if found[i].op == ca.OP_INPUT else -1 for i in one.operands] if one.function else []
        begin = 0
        for i in range(1, len(places) + 1):
            if i < len(places) and places[begin] >= 0 and places[i] == places[begin] + i - begin and follows(places[i]):
                continue
            if i - begin >= MANY:
                runs.setdefault(k, []).append((begin, i - begin, places[begin]))
            begin = i
    return runs


def needed_beside(found: Sequence[Instruction], copied: Runs) -> Iterable[int]:
    """Numbers of instructions, without inputs that are only copied."""
    if not copied:
        return range(len(found))
    needed = set[int]()
    for k, one in enumerate(found):
        within = {i for begin, count, _ in copied.get(k, ()) for i in range(begin, begin + count)}
        needed.update(operand for i, operand in enumerate(one.operands) if i not in within)
    return [k for k, one in enumerate(found) if one.op != ca.OP_INPUT or k in needed]
