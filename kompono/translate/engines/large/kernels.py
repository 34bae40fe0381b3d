"""The kernels of a cell type, and where their scalars lie: three passes over all cells make a derivative.

move      roots to leaves: motion of the body it hangs on, own state -> motion of the bodies that carry others
condense  leaves to roots: what hangs on it -> its answer at its base; also q_dot, and whatever `resolve` needs that
          does not depend on accelerations
resolve   roots to leaves: acceleration of the body it hangs on -> v_dot, accelerations of the bodies that carry others

Between the passes a cell keeps as little as it can: `move` keeps the motion of ports, and sines and cosines; the motion
inside is computed again by `condense`; and only those values cross from `condense` to `resolve` that `resolve` uses
directly. Memory traffic, not arithmetic, is what a large model would otherwise wait for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca

from kompono.model.element import Element
from kompono.model.signal import Input, time
from kompono.translate.engines.large.trace import ANSWER, MOTION, UNPOSED, Traced
from kompono.translate.kernels import add_kernel
from kompono.translate.program import ARRAYS, Place

TIME, STATE, INPUTS, PARAMETERS, OUTPUT, WORK, NUMBERS = range(len(ARRAYS))
OWN, Q, V, PARENT, ANSWERS, CHILDREN = range(6)  # columns of a table: offsets of own workspace, coordinates, ...


@dataclass(frozen=True)
class KindCode:
    """A kernel and the places of its scalars."""

    kernel: str
    reads: tuple[Place, ...]
    writes: tuple[Place, ...]


@dataclass(frozen=True)
class CellCode:
    """The passes of a cell type (None: nothing to do) and the layout of its workspace.

    `carriers` gives for each hanging cell the offset of the motion it reads. The answer lies elsewhere: nobody needs
    it after the cell above has read it.
    """

    move: KindCode | None
    condense: KindCode | None
    resolve: KindCode | None
    carriers: tuple[int, ...]
    size: int
    numbers: int


class CellPlaces:
    """Where the symbols of a traced cell lie."""

    def __init__(self, traced: Traced, signals: Sequence[Element]) -> None:
        self.of: dict[int, Place] = {time.element_hash(): (TIME, -1, 0)}
        self._put(traced.q, STATE, Q)
        self._put(traced.v, STATE, V)
        self._put(traced.parent, WORK, PARENT)
        for k, child in enumerate(traced.children):
            self._put(child, WORK, CHILDREN + k)
        for k, (symbol, signal) in enumerate(zip(traced.signals, signals, strict=True)):
            array = INPUTS if isinstance(signal, Input) else PARAMETERS
            self._put(symbol, array, CHILDREN + len(traced.children) + k)
        self.columns = CHILDREN + len(traced.children) + len(signals) + 1  # of a row; the last for numbers
        self._put(traced.numbers, NUMBERS, self.columns - 1)

    def _put(self, symbols: ca.SX, array: int, column: int, start: int = 0) -> None:
        for k in range(symbols.numel()):
            self.of[symbols[k].element_hash()] = (array, column, start + k)

    def code(self, kernels: dict[str, ca.Function], values: Sequence[tuple[ca.SX, Place]]) -> KindCode | None:
        """The kernel that computes scalars and writes them to their places."""
        if not values:
            return None
        column = ca.cse(ca.vertcat(*[value for value, _ in values]))
        used = ca.symvar(column)
        name = add_kernel(kernels, ca.vertcat(ca.SX(0, 1), *used), column)
        reads = tuple(self.of[symbol.element_hash()] for symbol in used)
        return KindCode(name, reads, tuple(place for _, place in values))


def make_code(
    traced: Traced, signals: Sequence[Element], kernels: dict[str, ca.Function], *, posed: bool, rates: bool = True
) -> CellCode:
    """Kernels of all passes; `posed` if positions in the world are carried along, `rates` if q_dot and v_dot go out."""
    places = CellPlaces(traced, signals)
    width = MOTION if posed else UNPOSED
    ports = {body: width * k for k, body in enumerate(traced.ports)}
    moved, late = [], []
    for offset, motion in zip(ports.values(), traced.motions, strict=True):
        for k in [*range(6), *(range(12, MOTION) if posed else ())]:
            moved.append((motion[k], (WORK, OWN, offset + k)))
        late += [(motion[k], (WORK, OWN, offset + k)) for k in range(6, 12)]
    early = []
    if rates:
        late += [(traced.speeds[k], (OUTPUT, V, k)) for k in range(traced.speeds.numel())]
        early += [(traced.rate[k], (OUTPUT, Q, k)) for k in range(traced.rate.numel())]
    if traced.answer is not None:
        early += [(traced.answer[k], (WORK, ANSWERS, k)) for k in range(ANSWER)]
    size = width * len(ports)
    costly: Valued = []
    if moved:
        values, costly = _keep_costly([*early, *late], traced, places, size)
        early, late = values[: len(early)], values[len(early) :]
    done, late, kept = _split(late, traced, places, size + len(costly))
    return CellCode(
        places.code(kernels, [*moved, *costly]),
        places.code(kernels, [*early, *done, *kept]),
        places.code(kernels, late),
        tuple(ports[body] for body in traced.carriers),
        size + len(costly) + len(kept),
        traced.numbers.numel(),
    )


_COSTLY = {
    ca.OP_SIN,
    ca.OP_COS,
    ca.OP_TAN,
    ca.OP_ATAN2,
    ca.OP_EXP,
    ca.OP_LOG,
    ca.OP_POW,
    ca.OP_SQRT,
    ca.OP_DIV,
    ca.OP_INV,
}

Valued = list[tuple[ca.SX, Place]]


def _keep_costly(values: Valued, traced: Traced, places: CellPlaces, start: int) -> tuple[Valued, Valued]:
    """Values in which sines, cosines and the like of coordinates are read, not computed; and these."""
    column = ca.cse(ca.vertcat(*[value for value, _ in values]))
    if not traced.q.numel():
        return values, []
    after, symbols, found = ca.extract_parametric(column, traced.q, {})
    parts = ca.vertsplit(ca.cse(ca.vertcat(*found))) if found else []
    kept: Valued = []
    stand_ins: dict[int, ca.SX] = {}

    def stand_in(value: ca.SX) -> ca.SX:
        key = value.element_hash()
        if key not in stand_ins:
            if not value.is_constant() and not value.is_symbolic() and value.op() == ca.OP_NEG:
                return -stand_in(value.dep(0))
            stand_ins[key] = value
            if _is_costly(traced.q, value):
                stand_ins[key] = ca.SX.sym("costly")
                kept.append((value, (WORK, OWN, start + len(kept))))
                places.of[stand_ins[key].element_hash()] = kept[-1][1]
        return stand_ins[key]

    new = [stand_in(value) for value in parts]
    if not kept:
        return values, []
    replaced = ca.substitute(after, ca.vertcat(*symbols), ca.densify(ca.vertcat(*new)))
    return [(replaced[k], place) for k, (_, place) in enumerate(values)], kept


def _is_motion(value: ca.SX, children: set[int]) -> bool:
    """Whether a value follows from the motion alone: then it is cheaper to compute it again than to keep it.

    What comes from eliminating a joint has a pivot in a denominator.
    """
    symbols = ca.symvar(value)
    if any(symbol.element_hash() in children for symbol in symbols):
        return False
    function = ca.Function("value", [ca.vertcat(*symbols)], [value])
    return not any(function.instruction_id(k) in (ca.OP_DIV, ca.OP_INV) for k in range(function.n_instructions()))


def _is_costly(q: ca.SX, value: ca.SX) -> bool:
    function = ca.Function("value", [q], [value])
    return any(function.instruction_id(k) in _COSTLY for k in range(function.n_instructions()))


def _split(late: Valued, traced: Traced, places: CellPlaces, start: int) -> tuple[Valued, Valued, Valued]:
    """Values that need no acceleration of the body the cell hangs on, those that do, and what these need of before."""
    accelerations = {traced.parent[k].element_hash() for k in range(6, 12)}
    column = ca.cse(ca.vertcat(ca.SX(0, 1), *[value for value, _ in late]))
    before = [symbol for symbol in ca.symvar(column) if symbol.element_hash() not in accelerations]
    if not before:
        return [], late, []
    after, symbols, found = ca.extract_parametric(column, ca.vertcat(*before), {})
    values = ca.vertsplit(ca.cse(ca.vertcat(ca.SX(0, 1), *found))) if found else []
    meaning = {symbol.element_hash(): value for symbol, value in zip(symbols, values, strict=True)}
    done: Valued = []
    rest: Valued = []
    for k, (_, place) in enumerate(late):
        value = meaning.get(after[k].element_hash(), after[k])
        (done if value is not after[k] and after[k].element_hash() in meaning else rest).append((value, place))
    kept: Valued = []
    stand_ins: dict[int, ca.SX] = {}
    children = {child[k].element_hash() for child in traced.children for k in range(child.numel())}
    old, new = [], []
    for symbol in ca.symvar(ca.vertcat(ca.SX(0, 1), *[value for value, _ in rest])):
        value = meaning.get(symbol.element_hash())
        if value is None:
            continue
        key = value.element_hash()
        if key not in stand_ins:
            stand_ins[key] = value
            if not value.is_constant() and key not in places.of and not _is_motion(value, children):
                stand_ins[key] = ca.SX.sym("kept")
                kept.append((value, (WORK, OWN, start + len(kept))))
                places.of[stand_ins[key].element_hash()] = kept[-1][1]
        old.append(symbol)
        new.append(stand_ins[key])
    if old:
        column = ca.vertcat(*[value for value, _ in rest])
        replaced = ca.substitute(column, ca.vertcat(*old), ca.densify(ca.vertcat(*new)))
        rest = [(replaced[k], place) for k, (_, place) in enumerate(rest)]
    return done, rest, kept
