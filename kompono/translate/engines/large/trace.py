"""Trace one cell with symbols at its border: what comes from the body it hangs on, and from cells that hang on it.

The equations are those of the whole model: the same `Kinematics`, `Loads` and `Condensation` run on the few bodies of
the cell. The body it hangs on is its border, an unknown that nobody eliminates, and is swept as that of a closed part
is (`elimination/bordered.py`): what is left on it, a block of inertia and a bias, is the cell's answer at its base;
given that body's acceleration, resolving gives the rest. Where cells hang on it, a closed part would have ports and
answer for them, too; a cell is told their inertia and bias first and adds them to the bodies that carry them, which is
half of the work (decision 60).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import casadi as ca

from kompono.model.body import Body, Carrier, Ground
from kompono.model.element import Element
from kompono.model.signal import time
from kompono.translate.declared.elaborate import Elaborated
from kompono.translate.declared.opening import Opening
from kompono.translate.elimination.blocks import RightSide
from kompono.translate.elimination.bordered import base_step, pack_answer, sweep, unpack_answer
from kompono.translate.elimination.inertia_form import Condensation
from kompono.translate.elimination.plan import EliminationPlan, EliminationStep
from kompono.translate.elimination.rigid import RigidGroups
from kompono.translate.elimination.unknowns import Solution, Unknown
from kompono.translate.engines.large.cells import Cell
from kompono.translate.engines.large.numbers import open_numbers_of
from kompono.translate.motion.kinematics import GivenMotion, Kinematics, WorkingFrames
from kompono.translate.motion.loads import Loads
from kompono.translate.motion.signals import bind_signals
from kompono.translate.opened import with_numbers
from kompono.translate.structure.topology import Link, Topology
from kompono.translate.symbolic import Matrix, Vector
from kompono.translate.tracer import InlineTracer

MOTION = 24  # of a port: twist (6), spatial acceleration (6), position (3), rotation (9, by columns)
UNPOSED = 12  # of these, where nothing depends on positions in the world
ANSWER = 27  # of a cell: upper triangle of its inertia by rows (21), bias (6)

Hanging = dict[Body, tuple[Any, Any]]  # inertia (6, 6) and bias (6) of the cells that hang on a body


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
    solution: Solution
    hanging: Hanging
    numbers: ca.SX = field(default_factory=lambda: ca.SX(0, 1))  # symbols for what is data of an instance


class _CellCondensation(Condensation):
    """The equations of a cell: what hangs on its bodies added, the body it hangs on left unknown."""

    def __init__(self, kinematics: Kinematics, plan: EliminationPlan, hanging: Hanging, base: Carrier | None) -> None:
        self.hanging, self.base = hanging, base
        super().__init__(kinematics, plan, {}, {})

    def _begin(self) -> None:
        super()._begin()
        if self.base is not None:
            self.elimination.add(Unknown.body(self.base), 6)

    def _inertia(self, body: Body) -> Matrix:
        own = super()._inertia(body)
        return own + self.hanging[body][0] if body in self.hanging else own

    def right_side(self, loads: Loads) -> RightSide:
        right = super().right_side(loads)
        for body, (_, bias) in self.hanging.items():
            right.bias[Unknown.body(body)] = right.bias[Unknown.body(body)] + bias
        if self.base is not None and self.base in loads.wrenches:
            right.bias[Unknown.body(self.base)] = -loads.wrenches[self.base]
        return right


def trace_cell(
    model: Elaborated, topology: Topology, cell: Cell, signals: tuple[Element, ...], opening: Opening
) -> Traced:
    """All quantities of a cell at symbolic borders, with symbols for its numbers."""
    base = topology.link(cell.parent) if isinstance(cell.parent, Body) else None
    small = _small_topology(topology, cell, base)
    part = _small_model(model, cell, small)
    part = with_numbers(part, open_numbers_of(part, small, opening))
    motion = ca.SX.sym("parent", MOTION)
    answers = tuple(ca.SX.sym("child", ANSWER) for _ in cell.children)
    used: tuple[Any, ...] = tuple(ca.SX(signal) for signal in signals)  # type: ignore[arg-type]
    q, v = (ca.vertcat(ca.SX(0, 1), *[getattr(j, kind) for j in small.tree_joints]) for kind in ("q", "v"))
    names = [("time", time), ("state", ca.vertcat(q, v)), ("signals", ca.vertcat(ca.SX(0, 1), *used))]
    tracer = InlineTracer([*names, ("border", ca.vertcat(motion, *answers))], {})
    tracer.numbers = part.numbers
    joints = small.tree_joints
    given = _told(base, motion) if base is not None else None
    kinematics = Kinematics(tracer, part, small, {j: j.q for j in joints}, {j: j.v for j in joints}, given=given)
    bind_signals(tracer, kinematics)
    sums: dict[Body, Vector] = {}
    for (body, _), answer in zip(cell.children, answers, strict=True):
        sums[body] = sums[body] + answer if body in sums else answer
    hanging = {body: unpack_answer(answer, 6) for body, answer in sums.items()}
    condensation = _CellCondensation(kinematics, _plan(model, small, cell), hanging, base.carrier if base else None)
    loads = Loads(kinematics)
    keys = [Unknown.body(base.carrier)] if base is not None else []
    swept = sweep(condensation.elimination, condensation.right_side(loads), keys)
    solution = swept.resolve(motion[6:12])
    answer = pack_answer(*swept.answer()) if base is not None else None
    carriers = tuple(body for body, _ in cell.children)
    ports = tuple(dict.fromkeys(carriers))
    motions = tuple(_motion(kinematics, body, solution) for body in ports)
    rates = [kinematics.step(link).rate for link in cell.links]
    normal = [j.normalize(j.q) for j in joints]
    speeds = [solution.joint(j) for j in joints if j.freedoms]
    columns = [ca.densify(ca.SX(ca.vertcat(ca.SX(0, 1), *parts))) for parts in (rates, normal, speeds)]
    return Traced(
        q, v, used, motion, answers, carriers, ports, motions, columns[0], columns[1], answer, columns[2],
        kinematics, loads, solution, hanging,
    )  # fmt: skip


def _told(base: Link, motion: ca.SX) -> GivenMotion:
    """The body a cell hangs on: it moves as its symbols say, in the working frame it has in its own cell."""
    frames = {base.carrier: WorkingFrames(Topology(Ground(), (base,), ())).of(base.carrier)}
    return GivenMotion({base.carrier: lambda _: base_step(motion[12:15], motion[15:], motion[:6])}, frames)


def _motion(kinematics: Kinematics, body: Body, solution: Solution) -> ca.SX:
    absolute = kinematics.absolute(body)
    parts = (absolute.twist, solution.body(body), absolute.pose.position, ca.vec(absolute.pose.rotation))
    return ca.densify(ca.vertcat(*[ca.SX(part) for part in parts]))


def _small_topology(topology: Topology, cell: Cell, base: Link | None) -> Topology:
    above: dict[Carrier, Link] = {}
    for frame in [f for force in cell.forces for f in (force.first, force.second) if f is not None]:
        if isinstance(frame.body, Ground):
            above[frame.body] = topology.link(frame.body)
    if isinstance(cell.parent, Ground) and cell.parent is not topology.world:
        above[cell.parent] = topology.link(cell.parent)
    if base is not None:
        above[base.carrier] = Link(base.carrier, topology.world, None, False, 1)
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
        worked_out={},
    )  # type: ignore[arg-type]


def _plan(model: Elaborated, topology: Topology, cell: Cell) -> EliminationPlan:
    """Deepest bodies first; without loops each joint goes at once."""
    operations = tuple(EliminationStep(model.model, link=link) for link in reversed(cell.links))
    last = {operation.link.moved_by: i for i, operation in enumerate(operations) if operation.link is not None}
    return EliminationPlan(operations, last, RigidGroups(topology, merge=False))
