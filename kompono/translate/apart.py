"""What a schedule of shared kernels makes of numbers alone, taken out of its kernels.

Numbers that are put in after tracing are slots of a schedule (see `numbers`). Kernels multiply them with each other: an
inertia is turned into a working frame, a lever is a place turned. As numbers inside a kernel these were folded; as
slots they would be computed in each step. So each kernel that is given numbers among its values is cut in two: what
follows from the numbers alone is a call of its own, which is made when the numbers are put in, and what is left reads
what that call makes. A value that is made of numbers is a number to whoever reads it. Kernels that were the same are
cut into the same two, once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import casadi as ca

from kompono.translate.kernels import add_kernel
from kompono.translate.program import Call, Routine
from kompono.translate.repeated import found_anywhere
from kompono.translate.symbolic import Vector


class _InTwo(NamedTuple):
    """A kernel in two. `numbers` makes `made` values of the inputs `given` of the whole one; `rest` reads inputs
    `read`, then these values by number in `read_made`, and gives the outputs `left`. The others are values that were
    made, by output.
    """

    numbers: str
    given: tuple[int, ...]
    made: int
    rest: str
    read: tuple[int, ...]
    read_made: tuple[int, ...]
    left: tuple[int, ...]
    others: dict[int, int]


class NumbersApart:
    """Cuts schedules of the same kernels."""

    def __init__(self, kernels: dict[str, ca.Function]) -> None:
        self._kernels = kernels
        self._cuts: dict[tuple[str, tuple[bool, ...]], _InTwo | None] = {}

    def of(self, routine: Routine, slots: Sequence[int]) -> tuple[Routine, tuple[int, ...]]:
        """A schedule without products of numbers in kernels that read anything else, and where its numbers are now, if
        `slots` hold these.
        """
        known, calls, workspace = set(slots), list[Call](), routine.workspace
        for call in routine.calls:
            mask = tuple(slot in known for slot in call.inputs)
            if all(mask) and found_anywhere(self._kernels[call.kernel]):
                known.update(call.outputs)
            cut = self._cut(call.kernel, mask) if any(mask) and not all(mask) else None
            if cut is None:
                calls.append(call)
                continue
            at = {made: call.outputs[output] for output, made in cut.others.items()}
            fresh = iter(range(workspace, workspace + cut.made))
            made = tuple(at[k] if k in at else next(fresh) for k in range(cut.made))
            workspace += cut.made - len(at)
            known.update(made)
            calls.append(Call(cut.numbers, tuple(call.inputs[k] for k in cut.given), made, call.path))
            if cut.left:
                read = (*(call.inputs[k] for k in cut.read), *(made[k] for k in cut.read_made))
                calls.append(Call(cut.rest, read, tuple(call.outputs[k] for k in cut.left), call.path))
        return _side_by_side(replace(routine, calls=tuple(calls)), slots, known)

    def _cut(self, kernel: str, mask: tuple[bool, ...]) -> _InTwo | None:
        if (kernel, mask) not in self._cuts:
            self._cuts[kernel, mask] = self._made(self._kernels[kernel], mask)
        return self._cuts[kernel, mask]

    def _made(self, kernel: ca.Function, mask: tuple[bool, ...]) -> _InTwo | None:
        if kernel.find_functions():  # closed functions are called by native code alone
            return None
        given = ca.SX.sym("x", kernel.nnz_in(0))
        inputs = ca.vertsplit(given)
        numbers = ca.vertcat(*[inputs[k] for k, known in enumerate(mask) if known])
        places, values, column = parts_of_numbers(kernel(given), numbers)
        if not values:
            return None
        made = {place.element_hash(): k for k, place in enumerate(places)}
        outputs = [made.get(entry.element_hash(), -1) for entry in ca.vertsplit(column)]
        others: dict[int, int] = {}
        for output, which in enumerate(outputs):
            if which >= 0 and which not in others.values():
                others[output] = which
        left = tuple(k for k in range(len(outputs)) if k not in others)
        rest = ca.vertcat(ca.SX(0, 1), *[column[k] for k in left])
        used = {symbol.element_hash() for symbol in ca.symvar(rest)}
        read = tuple(k for k, symbol in enumerate(inputs) if symbol.element_hash() in used)
        read_made = tuple(k for k, place in enumerate(places) if place.element_hash() in used)
        symbols = ca.vertcat(ca.SX(0, 1), *[inputs[k] for k in read], *[places[k] for k in read_made])
        value = ca.vertcat(*values)
        needed = {symbol.element_hash() for symbol in ca.symvar(value)}
        told = tuple(k for k, symbol in enumerate(inputs) if symbol.element_hash() in needed)
        return _InTwo(
            add_kernel(self._kernels, ca.vertcat(*[inputs[k] for k in told]), value), told, len(values),
            add_kernel(self._kernels, symbols, rest) if left else "", read, read_made, left, others,
        )  # fmt: skip


def _side_by_side(routine: Routine, slots: Sequence[int], known: set[int]) -> tuple[Routine, tuple[int, ...]]:
    """The same schedule with slots in the order of their use: inputs, those of the `known` numbers that are read by
    anything else, values, and numbers that are not; and where `slots` are then.
    """
    first = sum(size for _, size in routine.inputs)
    moving = [call for call in routine.calls if not known.issuperset(call.outputs)]
    results = [slot for row in routine.result for slot in row if isinstance(slot, int)]
    read = [slot for slot in (*(slot for call in moving for slot in call.inputs), *results) if slot in known]
    made = [slot for call in moving for slot in call.outputs]
    rest = [*slots, *(slot for call in routine.calls for slot in call.outputs)]
    place = {slot: slot for slot in range(first)}
    for slot in (*read, *made, *rest):
        place.setdefault(slot, len(place))
    calls = tuple(
        Call(call.kernel, tuple(place[s] for s in call.inputs), tuple(place[s] for s in call.outputs), call.path)
        for call in routine.calls
    )
    result = tuple(tuple(place[s] if isinstance(s, int) else s for s in row) for row in routine.result)
    workspace = len({*range(first), *read, *made})
    return replace(routine, calls=calls, result=result, workspace=workspace), tuple(place[slot] for slot in slots)


def parts_of_numbers(column: Vector, numbers: Vector) -> tuple[list[ca.SX], list[ca.SX], Vector]:
    """Symbols for what of a column follows from numbers alone, what they stand for, equal ones once, and the column
    made of these.
    """
    rest, places, made = ca.extract_parametric(column, numbers, {})
    if not made:
        return places, made, rest
    column, symbols = ca.vertcat(*made), ca.vertcat(*places)
    while ca.depends_on(column, symbols):  # one stands for what has others in it
        column = ca.substitute(column, symbols, column)
    kept: dict[int, tuple[ca.SX, ca.SX]] = {}
    same: list[tuple[ca.SX, ca.SX]] = []
    for place, value in zip(places, ca.vertsplit(ca.cse(column)), strict=True):
        first, _ = kept.setdefault(value.element_hash(), (place, value))
        if first is not place:
            same.append((place, first))
    if same:
        old, new = (ca.vertcat(*column) for column in zip(*same, strict=True))
        rest = ca.substitute(rest, old, new)
    return [place for place, _ in kept.values()], [value for _, value in kept.values()], rest
