"""Trace one cell with symbols at its border: what comes from the body it hangs on, and from cells that hang on it.

The equations are those of the whole model: the same `Kinematics`, `Loads` and `Condensation` run on the few bodies of
the cell. The body it hangs on is an unknown that nobody eliminates. What is left on it after condensing, a block of
inertia and a bias, is the cell's answer at its base; given that body's acceleration, resolving gives the rest.
Inertia and bias of hanging cells are added to the bodies that carry them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import casadi as ca

from kompono.model.body import Body, Carrier, Ground
from kompono.model.element import Element
from kompono.model.signal import time
from kompono.spatial.pose import Pose
from kompono.translate.condense import Condensation, Operation, Plan
from kompono.translate.elaborate import Elaborated
from kompono.translate.elimination import RightSide
from kompono.translate.kinematics import Kinematics, Step, WorkingFrames
from kompono.translate.loads import Loads
from kompono.translate.nested.cells import Cell
from kompono.translate.rigid import RigidGroups
from kompono.translate.signals import bind_signals
from kompono.translate.topology import Link, Topology
from kompono.translate.tracer import InlineTracer

MOTION = 24  # of a port: twist (6), spatial acceleration (6), position (3), rotation (9, by columns)
ANSWER = 27  # of a cell: upper triangle of its inertia by rows (21), bias (6)


@dataclass(frozen=True)
class Traced:
    """A cell at symbolic borders: `parent` (24), `children` (27 each), state symbols `q`, `v`, and what follows.

    `rate` is q_dot, `answer` (27) goes to the body it hangs on (None on a ground), `speeds` is v_dot; `ports` are the
    bodies that carry others, with their motion (24).
    """

    q: ca.SX
    v: ca.SX
    signals: tuple[ca.SX, ...]
    parent: ca.SX
    children: tuple[ca.SX, ...]
    carriers: tuple[Body, ...]  # of each child
    ports: tuple[Body, ...]
    motions: tuple[ca.SX, ...]
    rate: ca.SX
    normal: ca.SX  # q of unit quaternions
    answer: ca.SX | None
    speeds: ca.SX
    kinematics: Kinematics
    loads: Loads
    solution: dict[Any, Any]
    hanging: dict[int, tuple[Any, Any]]  # inertia and bias that hang on bodies, by id(body)


class _CellKinematics(Kinematics):
    """Motion inside a cell; the body it hangs on moves as its symbols say."""

    def __init__(self, tracer: InlineTracer, model: Elaborated, topology: Topology, base: Link | None, motion: ca.SX):
        joints = topology.tree_joints
        super().__init__(tracer, model, topology, {id(j): j.q for j in joints}, {id(j): j.v for j in joints})
        if base is not None:
            pose = Pose(motion[12:15], ca.reshape(motion[15:], 3, 3))
            self._steps[id(base.carrier)] = Step(pose, ca.SX(6, 0), motion[:6], ca.SX(6, 1), ca.SX(0, 1))


class _CellCondensation(Condensation):
    """The equations of a cell: inertia that hangs on its bodies added, the body it hangs on left unknown."""

    def __init__(self, kinematics: Kinematics, plan: Plan, hanging: dict[int, ca.SX], base: Carrier | None) -> None:
        self.hanging, self.base = hanging, base
        super().__init__(kinematics, plan, {}, {})

    def _begin(self) -> None:
        super()._begin()
        if self.base is not None:
            self.elimination.add(("body", id(self.base)), 6)

    def _inertia(self, body: Body) -> Any:
        own = super()._inertia(body)
        return own + inertia_of(self.hanging[id(body)]) if id(body) in self.hanging else own

    def right_side(self, loads: Loads) -> RightSide:
        right = super().right_side(loads)
        for key, answer in self.hanging.items():
            right.bias["body", key] = right.bias["body", key] + answer[21:]
        if self.base is not None and id(self.base) in loads.wrenches:
            right.bias["body", id(self.base)] = -loads.wrenches[id(self.base)]
        return right


def inertia_of(answer: ca.SX) -> ca.SX:
    """The symmetric matrix (6, 6) of an answer (27)."""
    matrix, place = ca.SX(6, 6), 0
    for i in range(6):
        for j in range(i, 6):
            matrix[i, j] = matrix[j, i] = answer[place]
            place += 1
    return matrix


def _answer(inertia: Any, bias: Any) -> ca.SX:
    entries = [inertia[i, j] for i in range(6) for j in range(i, 6)]
    return ca.densify(ca.vertcat(*entries, bias))


def trace_cell(model: Elaborated, topology: Topology, cell: Cell, signals: tuple[Element, ...]) -> Traced:
    """All quantities of a cell at symbolic borders."""
    base = topology.link(cell.parent) if isinstance(cell.parent, Body) else None
    small = _small_topology(topology, cell, base)
    part = _small_model(model, cell, small)
    motion = ca.SX.sym("parent", MOTION)
    answers = tuple(ca.SX.sym("child", ANSWER) for _ in cell.children)
    used: tuple[Any, ...] = tuple(ca.SX(signal) for signal in signals)  # type: ignore[arg-type]
    q, v = (ca.vertcat(ca.SX(0, 1), *[getattr(j, kind) for j in small.tree_joints]) for kind in ("q", "v"))
    names = [("time", time), ("state", ca.vertcat(q, v)), ("signals", ca.vertcat(ca.SX(0, 1), *used))]
    tracer = InlineTracer([*names, ("border", ca.vertcat(motion, *answers))], {})
    kinematics = _CellKinematics(tracer, part, small, base, motion)
    if base is not None:
        kinematics.frames._poses[id(base.carrier)] = WorkingFrames(topology_of(base)).of(base.carrier)
    bind_signals(tracer, kinematics)
    hanging: dict[int, ca.SX] = {}
    for (body, _), answer in zip(cell.children, answers, strict=True):
        hanging[id(body)] = hanging[id(body)] + answer if id(body) in hanging else answer
    condensation = _CellCondensation(kinematics, _plan(model, small, cell), hanging, base.carrier if base else None)
    loads = Loads(kinematics)
    right = condensation.right_side(loads)
    left, eliminated = condensation.elimination.forward(right)
    known = {("body", id(base.carrier)): motion[6:12]} if base else {}
    solution = condensation.elimination.back(right, eliminated, known)
    answer = None
    if base is not None:
        key = ("body", id(base.carrier))
        block = condensation.elimination.blocks.get((key, key), ca.SX(6, 6))
        answer = _answer(block, left.get(key, ca.SX(6, 1)))
    carriers = tuple(body for body, _ in cell.children)
    ports = tuple({id(body): body for body in carriers}.values())
    motions = tuple(_motion(kinematics, body, solution) for body in ports)
    joints = small.tree_joints
    rates = [kinematics.step(link).rate for link in cell.links]
    normal = [j.normalize(j.q) for j in joints]
    speeds = [solution["joint", id(j)] for j in joints if j.freedoms]
    columns = [ca.densify(ca.SX(ca.vertcat(ca.SX(0, 1), *parts))) for parts in (rates, normal, speeds)]
    return Traced(
        q, v, used, motion, answers, carriers, ports, motions, columns[0], columns[1], answer, columns[2],
        kinematics, loads, solution, {key: (inertia_of(answer), answer[21:]) for key, answer in hanging.items()},
    )  # fmt: skip


def topology_of(link: Link) -> Topology:
    """A topology of one link."""
    return Topology(Ground(), (link,), ())


def _motion(kinematics: Kinematics, body: Body, solution: dict[Any, Any]) -> ca.SX:
    absolute = kinematics.absolute(body)
    parts = (absolute.twist, solution["body", id(body)], absolute.pose.position, ca.vec(absolute.pose.rotation))
    return ca.densify(ca.vertcat(*[ca.SX(part) for part in parts]))


def _small_topology(topology: Topology, cell: Cell, base: Link | None) -> Topology:
    above: dict[int, Link] = {}
    for frame in [f for force in cell.forces for f in (force.first, force.second) if f is not None]:
        if isinstance(frame.body, Ground):
            above[id(frame.body)] = topology.link(frame.body)
    if isinstance(cell.parent, Ground) and cell.parent is not topology.world:
        above[id(cell.parent)] = topology.link(cell.parent)
    if base is not None:
        above[id(base.carrier)] = Link(base.carrier, topology.world, None, False, 1)
    return Topology(topology.world, (*above.values(), *cell.links), ())


def _small_model(model: Elaborated, cell: Cell, topology: Topology) -> Elaborated:
    grounds = tuple(link.carrier for link in topology.links if isinstance(link.carrier, Ground))
    return replace(
        model,
        bodies=tuple(link.carrier for link in cell.links),
        grounds=grounds,
        joints=tuple(link.joint for link in cell.links if link.joint is not None and link.joint.owner is not None),
        forces=tuple(cell.forces),
        efforts=tuple(cell.efforts),
        fields=cell.fields,
        outputs=(),
        sensors=tuple(cell.sensors),
        cells=tuple(cell.cells),
    )  # type: ignore[arg-type]


def _plan(model: Elaborated, topology: Topology, cell: Cell) -> Plan:
    """Deepest bodies first; without loops each joint goes at once."""
    operations = tuple(Operation(model.model, link=link) for link in reversed(cell.links))
    last = {id(operation.link.joint): i for i, operation in enumerate(operations) if operation.link is not None}
    joints = {id(link.joint): link.joint for link in cell.links if link.joint is not None}
    return Plan(operations, last, joints, RigidGroups(topology, merge=False))
