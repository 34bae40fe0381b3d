"""What each element contributes to a step of the discrete engine, as small kernels that instances share.

A *piece* is the kernel of one element or body and what it reads: the state of a few bodies, some other signals and
numbers of its own (points, masses, stiffness). These are not part of the kernel but data of the instance, so all joints
of one kind run the same instructions, several at once in lanes (see `packs`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import casadi as ca
import numpy as np

from kompono.model.body import Body, Carrier, Frame
from kompono.model.force import Effort, Field, Force
from kompono.spatial.pose import Motion, Pose
from kompono.spatial.rotation import orthonormal, turned_by
from kompono.translate.kernels import add_kernel
from kompono.translate.motion.kinematics import Kinematics, WorkingFrames
from kompono.translate.motion.loads import Loads
from kompono.translate.structure.topology import Topology
from kompono.translate.symbolic import Matrix, Scalar, Vector, entries_of, with_entries
from kompono.translate.tracer import Tracer

# what a number read by a kernel is: ("q" | "v", which body, offset), ("data", place), ("source", which wrench, offset),
# or (array, index) of a single number
Role = tuple[Any, ...]
KEPT = (0.0, 1.0, -1.0)  # numbers that stay in kernels, because they make them shorter


@dataclass(frozen=True)
class Piece:
    """One instance: its kernel, the role of each number it reads, the bodies it reads, its data, the bodies it acts on.

    `data` are the symbols of its own numbers; six numbers are written for each body in `acts_on`.
    """

    kernel: str
    roles: tuple[Role, ...]
    bodies: tuple[int, ...]
    data: tuple[ca.SX, ...]
    acts_on: tuple[int, ...]
    path: str


@dataclass
class Numbers:
    """Symbols that stand for numbers, with their values; values not known here are given later (stiffness)."""

    tracer: Tracer
    values: dict[int, float] = field(default_factory=dict)
    order: dict[int, int] = field(default_factory=dict)  # when each symbol was first allowed

    def symbolic(self, matrix: Any) -> ca.SX:
        """A matrix with symbols in place of its constants."""
        matrix = ca.sparsify(ca.SX(matrix))
        return with_entries(matrix, [self._entry(entry) for entry in entries_of(matrix)])

    def point(self, position: Any) -> ca.SX:
        """A point with symbols in place of all coordinates, zeros too, unless all are zero."""
        position = ca.SX(position)
        if not position.is_constant() or ca.DM(position).is_zero():
            return self.symbolic(position)
        return ca.vertcat(*[self._new(float(entry)) for entry in ca.vertsplit(ca.densify(position))])

    def turn(self, rotation: Any) -> ca.SX:
        """A rotation matrix with symbols in place of all entries, unless there is no turn."""
        rotation = ca.densify(ca.SX(rotation))
        if not rotation.is_constant() or (ca.DM(rotation) - ca.DM.eye(3)).is_zero():
            return self.symbolic(rotation)
        return ca.reshape(ca.vertcat(*[self._new(float(entry)) for entry in ca.vertsplit(ca.vec(rotation))]), 3, 3)

    def _entry(self, entry: ca.SX) -> ca.SX:
        return entry if not entry.is_constant() or float(entry) in KEPT else self._new(float(entry))

    def _new(self, value: float) -> ca.SX:
        symbol = ca.SX.sym("d")
        self.allow(symbol)
        self.values[symbol.element_hash()] = value
        return symbol

    def allow(self, symbols: ca.SX) -> None:
        """Let kernels use symbols that are data."""
        if symbols.numel():
            self.tracer.define(symbols, lambda: symbols)
            for symbol in ca.vertsplit(symbols):
                self.order[symbol.element_hash()] = len(self.order)


class _Points(WorkingFrames):
    """Points of bodies whose coordinates are data."""

    def __init__(self, topology: Topology, numbers: Numbers) -> None:
        super().__init__(topology)
        self._numbers = numbers
        self._known: dict[Frame, Pose] = {}

    def locate(self, frame: Frame) -> Pose:
        if frame not in self._known:
            pose = super().locate(frame)
            self._known[frame] = Pose(self._numbers.point(pose.position), self._numbers.turn(pose.rotation))
        return self._known[frame]


class PairedKinematics(Kinematics):
    """Motion of two frames on bodies whose twists are known: in the axes of the first body, without a detour."""

    def motion(self, first: Frame | None, second: Frame) -> Motion:
        origin = first if first is not None else self.topology.world
        one, two = self.absolute(origin.body), self.absolute(second.body)
        outer, inner = self.frames.locate(origin), self.frames.locate(second)

        def trace(p1: Vector, r1: Matrix, w1: Vector, p2: Vector, r2: Matrix, w2: Vector) -> tuple[Matrix, ...]:
            turn = r1.T @ r2
            point = r1.T @ (p2 - p1) + turn @ inner.position
            velocity = turn @ (w2[:3] + ca.cross(w2[3:], inner.position)) - w1[:3] - ca.cross(w1[3:], point)
            back = outer.rotation.T
            return (
                back @ (point - outer.position),
                back @ turn @ inner.rotation,
                back @ velocity,
                back @ (turn @ w2[3:] - w1[3:]),
            )

        values = self.tracer.call(
            trace, one.pose.position, one.pose.rotation, one.twist, two.pose.position, two.pose.rotation, two.twist
        )
        return Motion(*values)


class Pieces:
    """Cuts the pieces of a model out of one trace of its state."""

    def __init__(self, tracer: Tracer, kinematics: Kinematics, kernels: dict[str, ca.Function]) -> None:
        self.tracer, self.kernels, self.model = tracer, kernels, kinematics.model
        self.numbers = Numbers(tracer)
        base = kinematics
        self.kinematics = PairedKinematics(tracer, base.model, base.topology, base.q, base.v, base.counted)
        self.kinematics.frames = _Points(kinematics.topology, self.numbers)
        self._index: dict[Carrier, int] = {body: k for k, body in enumerate(self.model.bodies)}
        self._places: dict[int, Role] = {}
        self._alive: list[ca.SX] = []  # a symbol that nobody holds leaves its hash to another
        for name in ("time", "inputs", "parameters"):
            self._name(tracer.values[name], [(name, i) for i in range(tracer.values[name].numel())])
        state = tracer.values["state"]
        self._name(state, [("state", i) for i in range(state.numel())])
        for joint, body in zip(kinematics.topology.tree_joints, self.model.bodies, strict=True):
            k = self._index[body]
            self._name(kinematics.q[joint], [("q", k, i) for i in range(12)])
            self._name(kinematics.v[joint], [("v", k, i) for i in range(6)])

    def _name(self, symbols: ca.SX, roles: Sequence[Role]) -> None:
        self._alive.append(symbols)
        for symbol, role in zip(ca.vertsplit(symbols) if symbols.numel() else [], roles, strict=True):
            self._places[symbol.element_hash()] = role

    def own_points(self) -> WorkingFrames:
        """Points of bodies that are data of one piece alone."""
        return _Points(self.kinematics.topology, self.numbers)

    def of_loads(self, loads: Sequence[Force | Effort | Field], path: str) -> Piece | None:
        """What some forces, efforts or fields exert on bodies, in body axes about the centre of mass (eqs 2, 3)."""
        kinds = [tuple(load for load in loads if isinstance(load, kind)) for kind in (Force, Effort, Field)]
        self.kinematics.frames = self.own_points()
        self.kinematics.model = replace(self.model, forces=kinds[0], efforts=kinds[1], fields=kinds[2], soft=())
        found = Loads(self.kinematics)
        self.kinematics.model = self.model
        wrenches = [(self._index[key], wrench) for key, wrench in found.wrenches.items() if key in self._index]
        if not wrenches:
            return None
        column = ca.vertcat(*[ca.densify(wrench) for _, wrench in wrenches])
        return self.cut(column, path, tuple(body for body, _ in wrenches))

    def cut(self, column: ca.SX, path: str, acts_on: tuple[int, ...] = (), first: Sequence[int] = ()) -> Piece:
        """A piece that computes a column; `first` are bodies that come before others in its list."""
        used = {symbol.element_hash(): symbol for symbol in ca.symvar(column)}
        data = sorted((key for key in used if key not in self._places), key=self.numbers.order.__getitem__)
        roles = {key: self._places[key] for key in used if key in self._places}
        bodies = list(dict.fromkeys([*first, *acts_on]))
        bodies += sorted({role[1] for role in roles.values() if role[0] in ("q", "v")} - set(bodies))
        number = {body: k for k, body in enumerate(bodies)}
        local = {key: (r[0], number[r[1]], r[2]) if r[0] in ("q", "v") else r for key, r in roles.items()}
        local |= {key: ("data", k) for k, key in enumerate(data)}
        keys = sorted(local, key=local.__getitem__)
        fresh = [ca.SX.sym("x") for _ in keys]
        if keys:
            column = ca.substitute(column, ca.vertcat(*[used[key] for key in keys]), ca.vertcat(*fresh))
        kernel = add_kernel(self.kernels, ca.vertcat(*fresh) if fresh else ca.SX(0, 1), column)
        return Piece(kernel, tuple(local[k] for k in keys), tuple(bodies), tuple(used[k] for k in data), acts_on, path)

    def kick(self, body: Body, uniform: Vector, sources: int) -> Piece:
        """Accelerations of a body in its axes (eqs 4 and 7 without gyroscopic terms) from the sum of `sources` wrenches
        (6).
        """
        rotation = self.kinematics.absolute(body).pose.rotation
        wrenches = [ca.SX.sym("f", 6) for _ in range(sources)]
        for number, wrench in enumerate(wrenches):
            self._name(wrench, [("source", number, i) for i in range(6)])
        total = sum(wrenches[1:], wrenches[0]) if wrenches else ca.SX(6, 1)
        mass, inverse = self.numbers.symbolic(1 / ca.SX(body.solid.mass)), self.numbers.symbolic(inverse_inertia(body))
        rates = kicked(total, mass, inverse, rotation, uniform)
        k = self._index[body]
        return self.cut(ca.densify(rates), self.model.path(body), first=(k,))

    def drift(self, body: Body) -> Piece:
        """Free motion of a body by its speeds times the step (see `drifted`)."""
        joint = self.kinematics.topology.link(body).moved_by
        q, v = self.kinematics.q[joint], self.kinematics.v[joint]
        inertia = self.numbers.symbolic(own_inertia(body))
        column = drifted(q, v, inertia, self.numbers.symbolic(inverse_inertia(body)))
        return self.cut(ca.densify(column), self.model.path(body), first=(self._index[body],))

    def value(self, symbol: ca.SX) -> float:
        """The number a data symbol stands for; not a number if that is not known here."""
        return self.numbers.values.get(symbol.element_hash(), np.nan)


def kicked(total: Vector, mass: Scalar, inverse: Matrix, rotation: Matrix, uniform: Vector) -> Vector:
    """Accelerations (6) of a body in its axes from the `total` wrench (6) about its centre and the field around
    everything (eqs 4 and 7 without gyroscopic terms); `mass` is 1/m.
    """
    return ca.vertcat(total[:3] * mass + rotation.T @ uniform, inverse @ total[3:])


def drifted(q: Vector, v: Vector, inertia: Matrix, inverse: Matrix) -> Vector:
    """Free motion of a body by its speeds times the step: q' (12), and the speeds times the step after it (6).

    Eqs 6, 9 to 11; momentum and angular momentum stay what they are, which is the gyroscopic part of eq 7.
    """
    rotation = ca.reshape(q[3:], 3, 3)
    angle = v[3:]
    momentum = inertia @ angle
    for _ in range(2):  # towards the middle of the step
        turning = ca.cross(momentum, angle)
        angle = inverse @ (momentum + turning / 2 + ca.cross(turning, angle) / 8)
    increment = turned_by(angle)
    after = orthonormal(rotation @ increment)
    speeds = ca.vertcat(increment.T @ v[:3], inverse @ (increment.T @ momentum))
    return ca.vertcat(q[:3] + rotation @ v[:3], ca.vec(after), speeds)


def inverse_inertia(body: Body) -> ca.SX:
    """1/J (3, 3) of a body about its centre, exactly symmetric."""
    return _symmetric_constants(ca.sparsify(ca.inv(ca.SX(body.solid.inertia))))


def own_inertia(body: Body) -> ca.SX:
    """J (3, 3) of a body about its centre, exactly symmetric."""
    return _symmetric_constants(ca.sparsify(ca.SX(body.solid.inertia)))


def _symmetric_constants(matrix: ca.SX) -> ca.SX:
    """The same matrix with exactly symmetric entries (rounding of an inverse removed)."""
    return ca.sparsify((matrix + matrix.T) / 2)
