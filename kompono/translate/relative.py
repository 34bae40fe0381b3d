"""The relative engine: routines in the joint coordinates of the spanning tree (DESIGN section 5).

derivative   (q_dot, v_dot) by condensation of the tree and multipliers of what closes its loops
project      coordinates and speeds back on the loop conditions: one factorization, two coordinate and two velocity
passes,
             each the acceleration problem with another right side; unit quaternions normalized
closure      g, g_dot, G of the loop conditions, and which of their rows are implied by others
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from kompono.model.joint import Joint
from kompono.model.signal import time
from kompono.translate.closure import Closure, Laws, group_sizes, trace_closure, trace_violation
from kompono.translate.condense import Condensation, Plan, closing_elements, make_plan
from kompono.translate.elaborate import Elaborated
from kompono.translate.kinematics import Kinematics
from kompono.translate.loads import Loads
from kompono.translate.outputs import trace_channels
from kompono.translate.program import Channel, Routine
from kompono.translate.signals import bind_signals
from kompono.translate.topology import Link, Topology
from kompono.translate.tracer import InlineTracer, SharingTracer, Tracer


@dataclass(frozen=True)
class Present:
    """What is traced once for the state the routines are given."""

    tracer: Tracer
    kinematics: Kinematics
    closures: dict[int, Closure]
    loads: Loads
    condensation: Condensation
    solution: dict[Any, Any]


class RelativeEngine:
    """Traces the routines of a model whose state is (q, v) of its tree joints, roots first."""

    def __init__(self, model: Elaborated, topology: Topology, kernels: dict[str, ca.Function], *, shared: bool) -> None:
        self.model, self.topology, self.kernels, self.shared = model, topology, kernels, shared
        self.joints = topology.tree_joints
        self.closing = closing_elements(model, topology)
        self.plan: Plan = make_plan(model, topology)
        self.laws = Laws()
        self.nq = sum(len(joint.coordinates) for joint in self.joints)
        self.nv = sum(joint.freedoms for joint in self.joints)

    # -- names

    def coordinate_names(self) -> tuple[str, ...]:
        """Names of q: `<joint path>.<coordinate>`, `<body path>.position.x` ... of independent bodies."""
        return tuple(name for joint in self.joints for name in self._names(joint, joint.coordinates))

    def speed_names(self) -> tuple[str, ...]:
        """Names of v."""
        return tuple(name for joint in self.joints for name in self._names(joint, joint.speed_names()))

    def _names(self, joint: Joint, names: tuple[str, ...]) -> list[str]:
        path = self.model.path(joint) if joint.owner else f"{joint._name}.free"
        return [f"{path}.{name}" for name in names]

    # -- routines

    def derivative(self) -> Routine:
        """state -> rate."""
        now = self.present
        q_dot = ca.vertcat(*[now.kinematics.step(link).rate for link in self._moving_links()])
        v_dot = ca.vertcat(*[now.solution["joint", id(joint)] for joint in self.joints if joint.freedoms])
        return now.tracer.routine("derivative", [("rate", ca.vertcat(ca.SX(q_dot), ca.SX(v_dot)))])

    @property
    def projects(self) -> bool:
        """Whether there are loop conditions or quaternions to keep."""
        return bool(self.closing) or any(type(joint).normalize is not Joint.normalize for joint in self.joints)

    def project(self) -> Routine:
        """state -> state on the loop conditions."""
        tracer, kinematics = self._start()
        q, v = kinematics.q, kinematics.v
        if self.closing:
            first = Condensation(kinematics, self.plan, self._closures(kinematics)) if self.shared else None
            condensation = first or self.present.condensation
            for _ in range(2):
                q = self._move(tracer, q, condensation.corrections(self._violations(tracer, q, v, "residual")))
            q = self._normalized(tracer, q)
            for _ in range(2):
                change = condensation.corrections(self._violations(tracer, q, v, "rate"))
                v = {
                    key: tracer.call(lambda a, b: a + b, value, change["joint", key]) if value.numel() else value
                    for key, value in v.items()
                }
        else:
            q = self._normalized(tracer, q)
        state = ca.vertcat(*[q[id(j)] for j in self.joints], *[v[id(j)] for j in self.joints])
        return tracer.routine("project", [("state", state)])

    def closure(self) -> Routine:
        """g, g_dot, G (rows x nv, column by column), u, and 1 for rows with a multiplier, 0 for implied ones."""
        now = self.present
        g, g_dot, bias, kept, rows = [], [], [], [], []
        for key, closure in now.closures.items():
            g.append(closure.residual)
            g_dot.append(closure.rate)
            bias.append(closure.bias)
            blocks = [closure.columns.get(id(j), ca.SX(closure.size, j.freedoms)) for j in self.joints]
            rows.append(ca.horzcat(*blocks))
            if closure.size:
                kept.append(now.condensation.elimination.rows["rows", key].kept)
        outputs = [("g", g), ("g_dot", g_dot), ("G", rows), ("u", bias), ("kept", kept)]
        columns = [(name, ca.vertcat(*parts) if parts else ca.SX(0, 1)) for name, parts in outputs]
        return now.tracer.routine("closure", columns)

    def rates(self) -> Routine:
        """q_dot = N(q) v alone: how speeds move coordinates."""
        rates = [self.present.kinematics.step(link).rate for link in self._moving_links()]
        return self.present.tracer.routine("rates", [("q_dot", ca.vertcat(*rates))])

    def _moving_links(self) -> list[Link]:
        return [link for link in self.topology.links if link.joint is not None]

    def row_labels(self) -> tuple[str, ...]:
        """Path of the element each condition row belongs to, in the order of `closure`."""
        return tuple(self.model.path(e) for e in self.closing for _ in range(sum(group_sizes(e))))

    def outputs(self) -> tuple[Routine, tuple[Channel, ...]]:
        """All channels of the result."""
        now = self.present
        channels, values = trace_channels(now.kinematics, now.loads, now.closures, now.solution)
        return now.tracer.routine("outputs", [("channels", ca.vertcat(*values))]), channels

    # -- parts of them

    @cached_property
    def present(self) -> Present:
        """Kinematics, loads, factors and accelerations at the state, shared by all routines that need them."""
        tracer, kinematics = self._start() if self.shared else self._probe[:2]
        closures, loads = self._closures(kinematics), Loads(kinematics)
        condensation = Condensation(kinematics, self.plan, closures)
        return Present(tracer, kinematics, closures, loads, condensation, condensation.accelerations(loads))

    @cached_property
    def _probe(self) -> tuple[Tracer, Kinematics, dict[int, Closure]]:
        """An inlined trace of all closing conditions."""
        tracer, kinematics = self._start(shared=False)
        return (
            tracer,
            kinematics,
            {id(element): trace_closure(kinematics, element, self.laws) for element in self.closing},
        )

    @cached_property
    def dead_rows(self) -> dict[int, np.ndarray]:
        """Rows no coordinate of their loop can move, by id(element): boolean (rows).

        A planar loop whose axes are not coordinate axes has such rows; what is an exact zero on coordinate axes is
        rounding noise there, and must not become a pivot. They are recognized at three arbitrary states.
        """
        tracer, _, closures = self._probe
        matrices = [ca.densify(ca.horzcat(*closure.columns.values())) for closure in closures.values()]
        function = ca.Function("columns", [tracer.symbols], matrices)
        random = np.random.default_rng(1)
        sizes = np.zeros((3, tracer.symbols.numel()))
        constants = [parameter.value for parameter in self.model.parameters]
        for row in sizes:
            row[:] = random.uniform(0.2, 0.9, len(row))
            row[len(row) - len(constants) :] = constants
        samples = [[np.asarray(m) for m in function.call([row])] for row in sizes]
        dead = {}
        for index, key in enumerate(closures):
            entries = np.nanmax([np.abs(sample[index]) for sample in samples], axis=0)
            dead[key] = entries.max(axis=1, initial=0.0) <= 1e-13 * max(entries.max(initial=0.0), 1e-3)
        return dead

    def _start(self, shared: bool | None = None) -> tuple[Tracer, Kinematics]:
        state = ca.vertcat(*[joint.q for joint in self.joints], *[joint.v for joint in self.joints])
        inputs, parameters = (
            ca.vertcat(*[ca.SX(s) for s in kind]) for kind in (self.model.inputs, self.model.parameters)
        )
        make = SharingTracer if (self.shared if shared is None else shared) else InlineTracer
        tracer = make(
            [("time", time), ("state", state), ("inputs", ca.SX(inputs)), ("parameters", ca.SX(parameters))],
            self.kernels,
        )
        state = tracer.values["state"]
        q, v = {}, {}
        i, k = 0, self.nq
        for joint in self.joints:
            q[id(joint)], v[id(joint)] = state[i : i + len(joint.coordinates)], state[k : k + joint.freedoms]
            i, k = i + len(joint.coordinates), k + joint.freedoms
        return tracer, self._rebind(tracer, q, v)

    def _rebind(self, tracer: Tracer, q: dict[int, Any], v: dict[int, Any]) -> Kinematics:
        kinematics = Kinematics(tracer, self.model, self.topology, q, v)
        bind_signals(tracer, kinematics)
        return kinematics

    def _violations(self, tracer: Tracer, q: dict[int, Any], v: dict[int, Any], level: str) -> dict[int, Any]:
        kinematics = self._rebind(tracer, q, v)
        return {id(element): trace_violation(kinematics, element, self.laws, level) for element in self.closing}

    def _closures(self, kinematics: Kinematics) -> dict[int, Closure]:
        _, probed, known = self._probe
        closures = known if kinematics is probed else None
        result = {}
        for element in self.closing:
            closure = closures[id(element)] if closures else trace_closure(kinematics, element, self.laws)
            result[id(element)] = closure.without(self.dead_rows[id(element)], kinematics.tracer)
        return result

    def _move(self, tracer: Tracer, q: dict[int, Any], change: dict[Any, Any]) -> dict[int, Any]:
        moved = {}
        for joint in self.joints:
            moved[id(joint)] = q[id(joint)]
            if joint.freedoms:
                step = change["joint", id(joint)]
                moved[id(joint)] = tracer.call(lambda q, d, j=joint: q + j.rate(q, d), q[id(joint)], step)
        return moved

    def _normalized(self, tracer: Tracer, q: dict[int, Any]) -> dict[int, Any]:
        return {
            id(joint): tracer.call(lambda q, j=joint: j.normalize(q), q[id(joint)])
            if joint.coordinates
            else q[id(joint)]
            for joint in self.joints
        }
