"""What each element contributes to a step of the discrete engine, as small kernels that instances share.

A *piece* is the kernel of one element or body and what it reads: the state of a few bodies, some other signals and
numbers of its own (points, masses, stiffness, gravity). These are not part of the kernel but data of the instance, so
all joints of one kind run the same instructions, several at once in lanes (see `packs`). What a number is made of is
known (see `data`), so a model with other numbers has the same pieces with other data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca

from kompono.model.body import Body, Carrier, Frame
from kompono.model.force import Effort, Field, Force
from kompono.spatial.pose import Motion
from kompono.spatial.rotation import orthonormal, turned_by
from kompono.translate.engines.discrete.data import Data, Points, weights
from kompono.translate.kernels import add_kernel
from kompono.translate.motion.kinematics import Kinematics
from kompono.translate.motion.loads import Loads
from kompono.translate.symbolic import Matrix, Scalar, Vector
from kompono.translate.tracer import Tracer

# what a number read by a kernel is: ("q" | "v", which body, offset), ("data", place), ("source", which wrench, offset),
# or (array, index) of a single number
Role = tuple[Any, ...]


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
        self.numbers = Data(tracer)
        base = kinematics
        self.kinematics = PairedKinematics(tracer, base.model, base.topology, base.q, base.v, base.counted)
        self._opened = base.frames.opened
        self.kinematics.frames = self.own_points()
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

    def own_points(self) -> Points:
        """Points of bodies that are data of one piece alone."""
        return Points(self.kinematics.topology, self.numbers, self._opened)

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
        column = self.numbers.apart(column)
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
        mass, inverse, _ = (self.numbers.symbolic(one) for one in weights(self.model, body))
        rates = kicked(total, mass, inverse, rotation, uniform)
        k = self._index[body]
        return self.cut(ca.densify(rates), self.model.path(body), first=(k,))

    def drift(self, body: Body) -> Piece:
        """Free motion of a body by its speeds times the step (see `drifted`)."""
        joint = self.kinematics.topology.link(body).moved_by
        q, v = self.kinematics.q[joint], self.kinematics.v[joint]
        _, inverse, inertia = weights(self.model, body)
        column = drifted(q, v, self.numbers.symbolic(inertia), self.numbers.symbolic(inverse))
        return self.cut(ca.densify(column), self.model.path(body), first=(self._index[body],))


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
