"""Numbers of pieces as data: symbols in kernels, and what gives their values.

A symbol stands for a number, or for an expression of numbers that are put in after tracing (see `numbers`): masses,
points, stiffness, gravity. What is made of such numbers alone is computed once for an instance, not in each step. All
coordinates of a point are data, zeros too, unless it is the origin, so that more instances share a kernel.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import casadi as ca

from kompono.model.body import Body, Frame
from kompono.spatial.pose import Pose
from kompono.translate.algorithm import algorithm, operand_counts
from kompono.translate.declared.elaborate import Elaborated
from kompono.translate.lengths import OpenPoses
from kompono.translate.motion.working_frames import WorkingFrames
from kompono.translate.numbers import extracted
from kompono.translate.structure.topology import Topology
from kompono.translate.symbolic import entries_of, with_entries
from kompono.translate.tracer import Tracer

KEPT = (0.0, 1.0, -1.0)  # numbers that stay in kernels, because they make them shorter


@dataclass
class Data:
    """Symbols that stand for numbers, with what they are worth; those not known here are given later (stiffness)."""

    tracer: Tracer
    worth: dict[int, ca.SX] = field(default_factory=dict)  # by hash of the symbol
    order: dict[int, int] = field(default_factory=dict)  # when each symbol was first allowed
    _alive: list[ca.SX] = field(default_factory=list)  # a symbol that nobody holds leaves its hash to another

    def symbolic(self, matrix: Any) -> ca.SX:
        """A matrix with symbols in place of what is made of numbers alone."""
        matrix = ca.sparsify(ca.SX(matrix))
        return with_entries(matrix, [self._entry(entry) for entry in entries_of(matrix)])

    def point(self, position: Any) -> ca.SX:
        """A point with symbols in place of all coordinates, zeros too, unless all are zero."""
        position = ca.SX(position)
        if not position.is_constant() or ca.DM(position).is_zero():
            return self.symbolic(position)
        return ca.vertcat(*[self._new(entry) for entry in ca.vertsplit(ca.densify(position))])

    def turn(self, rotation: Any) -> ca.SX:
        """A rotation matrix with symbols in place of all entries, unless there is no turn."""
        rotation = ca.densify(ca.SX(rotation))
        if not rotation.is_constant() or (ca.DM(rotation) - ca.DM.eye(3)).is_zero():
            return self.symbolic(rotation)
        return ca.reshape(ca.vertcat(*[self._new(entry) for entry in ca.vertsplit(ca.vec(rotation))]), 3, 3)

    def apart(self, column: ca.SX) -> ca.SX:
        """A column of expressions with symbols in place of what in them is made of numbers alone."""
        known = self._numbers_in(column)
        if not known:
            return column
        rest, places, made = extracted(column, ca.vertcat(*known))
        worth = {place.element_hash(): value for place, value in zip(places, made, strict=True)}
        old = _in_order(rest, [*places, *self._numbers_in(rest)])
        new = [self._new(worth.get(symbol.element_hash(), symbol)) for symbol in old]
        return ca.substitute(rest, ca.vertcat(*old), ca.vertcat(*new))

    def _numbers_in(self, expression: ca.SX) -> list[ca.SX]:
        numbers = self.tracer.numbers
        return [] if numbers is None else [s for s in ca.symvar(expression) if numbers.among([s])]

    def _entry(self, entry: ca.SX) -> ca.SX:
        if entry.is_constant():
            return entry if float(entry) in KEPT else self._new(entry)
        return self._new(entry) if len(self._numbers_in(entry)) == len(ca.symvar(entry)) else entry

    def _new(self, worth: ca.SX) -> ca.SX:
        symbol = ca.SX.sym("d")
        self.allow(symbol)
        self.worth[symbol.element_hash()] = worth
        return symbol

    def allow(self, symbols: ca.SX) -> None:
        """Let kernels use symbols that are data."""
        if symbols.numel():
            self._alive.append(symbols)
            self.tracer.define(symbols, lambda: symbols)
            for symbol in ca.vertsplit(symbols):
                self.order[symbol.element_hash()] = len(self.order)


class Points(WorkingFrames):
    """Points of bodies whose coordinates are data."""

    def __init__(self, topology: Topology, data: Data, opened: OpenPoses | None) -> None:
        super().__init__(topology, opened=opened)
        self._data = data
        self._known: dict[Frame, Pose] = {}

    def locate(self, frame: Frame) -> Pose:
        if frame not in self._known:
            pose = self.place(frame)
            if self.opened is not None:
                pose = self.opened.whole(frame, pose)
            self._known[frame] = Pose(self._data.point(pose.position), self._data.turn(pose.rotation))
        return self._known[frame]


def find_data(model: Elaborated, topology: Topology) -> None:
    """Have all that becomes data of pieces among the numbers of a model."""
    assert model.numbers is not None
    opened, frames = OpenPoses(model, "", signed=True), WorkingFrames(topology)
    carriers = {topology.world, *(link.carrier for link in topology.links)}
    for frame in (*(model.numbers.frames or ()), *carriers):
        if frame.body in carriers:
            opened.whole(frame, frames.place(frame))
    for body in model.bodies:
        weights(model, body)


def weights(model: Elaborated, body: Body) -> tuple[ca.SX, ca.SX, ca.SX]:
    """1/m, 1/J and J of a body; numbers of these are symbols if they are put in after tracing."""
    found = {"1/m": 1 / ca.SX(body.solid.mass), "1/J": inverse_inertia(body), "J": own_inertia(body)}
    numbers, path = model.numbers, model.path(body)
    for name, value in found.items():
        if numbers is not None and value.is_constant():
            found[name] = numbers.found(f"{path} {name}", ca.DM(value).full(), ones=True)
    return found["1/m"], found["1/J"], found["J"]


def inverse_inertia(body: Body) -> ca.SX:
    """1/J (3, 3) of a body about its centre, exactly symmetric."""
    return _symmetric_constants(ca.sparsify(ca.inv(ca.SX(body.solid.inertia))))


def own_inertia(body: Body) -> ca.SX:
    """J (3, 3) of a body about its centre, exactly symmetric."""
    return _symmetric_constants(ca.sparsify(ca.SX(body.solid.inertia)))


def _symmetric_constants(matrix: ca.SX) -> ca.SX:
    """The same matrix with exactly symmetric entries (rounding of an inverse removed)."""
    return ca.sparsify((matrix + matrix.T) / 2)


def _in_order(column: ca.SX, symbols: list[ca.SX]) -> list[ca.SX]:
    """Those of some symbols that are used, in the order in which expressions use them, whatever their addresses are."""
    if not symbols:
        return []
    function = ca.Function("order", [ca.vertcat(*symbols), ca.vertcat(*_others(column, symbols))], [column])
    read = algorithm(function)
    counts, held, found = operand_counts(function, read.op), dict[int, int](), dict[int, ca.SX]()
    for k, (op, result, first, second) in enumerate(zip(*(part.tolist() for part in read[:4]), strict=True)):
        if op == ca.OP_INPUT:
            held[result] = second if first == 0 else -1
            continue
        used = function.instruction_input(k) if op == ca.OP_CALL else (first, second)[: counts.get(op, 0)]
        for place in [held[one] for one in ((first,) if op == ca.OP_OUTPUT else used) if held.get(one, -1) >= 0]:
            found.setdefault(place, symbols[place])
        for one in function.instruction_output(k) if op == ca.OP_CALL else (result,) if op != ca.OP_OUTPUT else ():
            held.pop(one, None)
    return list(found.values())


def _others(column: ca.SX, symbols: list[ca.SX]) -> list[ca.SX]:
    known = {symbol.element_hash() for symbol in symbols}
    return [ca.SX(0, 1), *(symbol for symbol in ca.symvar(column) if symbol.element_hash() not in known)]
