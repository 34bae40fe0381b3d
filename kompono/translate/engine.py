"""What the engines share: the state of the moving joints, the routines built from one trace of it, their names."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca

from kompono.model.constraint import Coupling
from kompono.model.joint import Joint
from kompono.model.signal import time
from kompono.spatial.pose import Pose, symbolic_pose
from kompono.spatial.rotation import matrix_quaternion
from kompono.translate.closure import Closure, Laws, Told, group_sizes, trace_violation
from kompono.translate.condense import closing_elements
from kompono.translate.elaborate import Elaborated
from kompono.translate.elimination import Elimination
from kompono.translate.kinematics import Kinematics
from kompono.translate.laws import ask_holds
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
    elimination: Elimination
    solution: dict[Any, Any]


@dataclass(frozen=True)
class Posed:
    """Motion and conditions at the state without dynamics; `columns` is G by id(element) and id(joint), on the
    speeds.
    """

    tracer: Tracer
    kinematics: Kinematics
    closures: dict[int, Closure]
    columns: dict[int, dict[int, Any]]


def condition_units(element: Any) -> list[str]:
    """The unit of each condition of a closing element: "m" where it depends on positions, "rad" where on directions
    alone, that of the coordinates where it couples some.
    """
    pose = symbolic_pose()
    if isinstance(element, Told):
        return [""] * element.rows
    if isinstance(element, Coupling):
        groups = [ca.vec(ca.SX(group)) for group in element.conditions()]
        named = [pair for j in element.joints for pair in zip(ca.vertsplit(j.q), j.units, strict=False)]
        units = [{unit for symbol, unit in named if ca.depends_on(group, symbol)} for group in groups]
        return [u for group, one in zip(groups, units, strict=True) for u in [_only(one)] * group.numel()]
    groups = [ca.vec(ca.SX(group)) for group in element.conditions(pose) or []]
    return ["m" if ca.depends_on(group, pose.position) else "rad" for group in groups for _ in range(group.numel())]


def _only(units: set[str]) -> str:
    return next(iter(units)) if len(units) == 1 else ""


class Engine(ABC):
    """Traces the routines of a model whose state is (q, v) of the moving joints of a topology, roots first.

    A new engine says what is `present` (accelerations and multipliers at a state), what `speed_rates` follow from it,
    and how to `project`.
    """

    name = ""
    whole = True  # whether routines on the whole model can be traced; too large a model is known by its types alone
    allowed_gap = 1e-4  # how far the second stage of a step may be off the conditions, in their units

    def __init__(self, model: Elaborated, topology: Topology, kernels: dict[str, ca.Function], *, shared: bool) -> None:
        self.model, self.topology, self.kernels, self.shared = model, topology, kernels, shared
        self.joints = topology.tree_joints
        self.closing = closing_elements(model, topology)
        self.laws = Laws()
        self.counted = self.counted_joints()
        self.nq = sum(len(joint.coordinates) for joint in (*self.joints, *self.counted))
        self.nv = sum(joint.freedoms for joint in self.joints)
        self.hidden = ca.SX(0, 1)  # parameters behind those of the model, for the engine's own use

    # -- what an engine defines

    def counted_joints(self) -> tuple[Joint, ...]:
        """Joints outside the tree whose coordinates are used: their angles are integrated along, to count turns."""
        return ()

    @cached_property
    @abstractmethod
    def present(self) -> Present:
        """Kinematics, loads, factors and accelerations at the state, shared by all routines that need them."""

    @property
    def moving(self) -> Present:
        """The same as far as the derivative needs it."""
        return self.present

    @abstractmethod
    def speed_rates(self) -> Any:
        """v_dot (nv)."""

    @cached_property
    @abstractmethod
    def posed(self) -> Posed:
        """Kinematics and conditions alone, with G on the speeds."""

    @abstractmethod
    def project(self) -> Routine:
        """state -> state on the conditions."""

    # -- names

    def coordinate_names(self) -> tuple[str, ...]:
        """Names of q: `<joint path>.<coordinate>`, `<body path>.free.x` ... of bodies that move freely."""
        joints = (*self.joints, *self.counted)
        return tuple(name for joint in joints for name in self._names(joint, joint.coordinates))

    def speed_names(self) -> tuple[str, ...]:
        """Names of v."""
        return tuple(name for joint in self.joints for name in self._names(joint, joint.speed_names()))

    def _names(self, joint: Joint, names: tuple[str, ...]) -> list[str]:
        path = self.model.path(joint) if joint.owner else f"{joint._name}.free"
        return [f"{path}.{name}" for name in names]

    def row_labels(self) -> tuple[str, ...]:
        """Path of the element each condition row belongs to, in the order of `conditions`."""
        return tuple(self.model.path(e) for e in self.closing for _ in range(sum(group_sizes(e))))

    def row_units(self) -> tuple[str, ...]:
        """Unit of each condition row: "m", "rad", or empty where it is not known."""
        return tuple(unit for element in self.closing for unit in condition_units(element))

    def hidden_names(self) -> tuple[str, ...]:
        """Names of the parameters the engine adds to those of the model."""
        return ()

    # -- routines

    def own_routines(self) -> dict[str, Callable[[], Routine]]:
        """Routines only this engine has, by name."""
        return {}

    @property
    def projects(self) -> bool:
        """Whether there are conditions or quaternions to keep."""
        return bool(self.closing) or any(type(joint).normalize is not Joint.normalize for joint in self.joints)

    @property
    def independence(self) -> tuple[int, int]:
        """How many conditions are independent, and how many others they imply wherever the machine can go."""
        return 0, 0

    @property
    def straying(self) -> tuple[Any, ...]:
        """Elements whose conditions the stages of a step may leave."""
        return self.closing

    def derivative(self) -> Routine:
        """state -> rate."""
        return self._derivative

    @cached_property
    def _derivative(self) -> Routine:
        moving = self.moving
        rate = ca.vertcat(
            self._coordinate_rates(moving.kinematics), ca.SX(self.speed_rates()), ca.SX(len(self.model.modes), 1)
        )
        return moving.tracer.routine("derivative", [("rate", rate)])

    def opened_derivative(self) -> Routine:
        """The same without calls of closed functions, so that it can be differentiated."""
        return self._derivative

    def rates(self) -> Routine:
        """q_dot = N(q) v alone: how speeds move coordinates."""
        return self.posed.tracer.routine("rates", [("q_dot", self._coordinate_rates(self.posed.kinematics))])

    def _coordinate_rates(self, kinematics: Kinematics) -> Any:
        rates = [kinematics.step(link).rate for link in self._moving_links()]
        for joint in self.counted:
            q, v = kinematics.joint_state(joint)
            rates.append(kinematics.tracer.call(lambda q, v, j=joint: j.rate(q, v), q, v, path=self.model.path(joint)))
        return ca.SX(ca.vertcat(*rates))

    def conditions(self) -> Routine:
        """g, g_dot, G (rows x nv, column by column) and u of all conditions, without dynamics."""
        closures, columns = self.posed.closures, self.posed.columns
        rows = [
            ca.horzcat(*[columns[key].get(id(j), ca.SX(closure.size, j.freedoms)) for j in self.joints])
            for key, closure in closures.items()
        ]
        parts = [("g", [c.residual for c in closures.values()]), ("g_dot", [c.rate for c in closures.values()])]
        parts += [("G", rows), ("u", [c.bias for c in closures.values()])]
        named = [(name, ca.vertcat(*values) if values else ca.SX(0, 1)) for name, values in parts]
        return self.posed.tracer.routine("conditions", named)

    def gap(self) -> Routine:
        """The largest violation of a condition, in units of what a stage may have: above 1 all stages of a step are
        projected before they are evaluated.
        """
        tracer, kinematics = self._start()
        worst = ca.SX(0)
        for element in self.straying:
            gap = trace_violation(kinematics, element, self.laws, "residual")
            worst = tracer.call(lambda w, g: ca.fmax(w, ca.mmax(ca.fabs(ca.densify(g)))), worst, gap)
        return tracer.routine("gap", [("gap", tracer.call(lambda w: w / self.allowed_gap, worst))])

    def normalize(self) -> Routine:
        """q with quaternions of unit length."""
        tracer, kinematics = self.posed.tracer, self.posed.kinematics
        q = self._normalized(tracer, kinematics.q)
        return tracer.routine("normalize", [("q", ca.vertcat(*[q[id(joint)] for joint in self.joints]))])

    def holds(self) -> Routine:
        """What is positive where closing elements hold as they are meant, in the order of `hold_labels`."""
        kinematics, values = self.posed.kinematics, []
        for element in self._directed:
            motion = kinematics.motion(element.first, element.second)
            place, path = (motion.position, motion.rotation), self.model.path(element)
            values.append(kinematics.tracer.call(lambda p, r, e=element: ask_holds(e, Pose(p, r)), *place, path=path))
        column = ca.vertcat(*[ca.vec(value) for value in values]) if values else ca.SX(0, 1)
        return self.posed.tracer.routine("holds", [("positive", column)])

    @cached_property
    def _directed(self) -> tuple[Any, ...]:
        """Closing elements that can tell whether they hold as they are meant."""
        pairs = (element for element in self.closing if not isinstance(element, Coupling))
        return tuple(element for element in pairs if ask_holds(element, symbolic_pose()) is not None)

    def hold_labels(self) -> tuple[str, ...]:
        """Path of the element each entry of `holds` belongs to."""
        sizes = (ca.SX(ask_holds(element, symbolic_pose())).numel() for element in self._directed)
        return tuple(self.model.path(e) for e, size in zip(self._directed, sizes, strict=True) for _ in range(size))

    @cached_property
    def measured_joints(self) -> tuple[Joint, ...]:
        """Joints outside the tree whose coordinates can be measured."""
        joints = (joint for joint in self.topology.closing if joint.coordinates)
        return tuple(joint for joint in joints if joint.measure(symbolic_pose()) is not None)

    def measured(self) -> Routine:
        """Coordinates q of `measured_joints`, their rates, Q = d rates / d v, their speeds s and S = d s / d v, with v
        the speeds of the state; matrices column by column.
        """
        kinematics, tracer = self.posed.kinematics, self.posed.tracer
        states = [kinematics.joint_state(joint) for joint in self.measured_joints]
        pairs = zip(self.measured_joints, states, strict=True)
        rates = [tracer.call(lambda q, v, j=joint: j.rate(q, v), q, v) for joint, (q, v) in pairs]
        v = ca.SX(tracer.values["state"])[self.nq : self.nq + self.nv]
        q, rate, s = (ca.densify(ca.vertcat(*part)) for part in ([q for q, _ in states], rates, [s for _, s in states]))
        named = [("q", q), ("rate", rate), ("Q", ca.jacobian(rate, v)), ("s", s), ("S", ca.jacobian(s, v))]
        return tracer.routine("measured", named)

    def placement(self) -> Routine:
        """Position, orientation, velocity and angular velocity (13) of every body, and coordinates of all joints."""
        kinematics, values = self.posed.kinematics, []
        for body in self.model.bodies:
            motion = kinematics.motion(None, body)
            turned = kinematics.tracer.call(matrix_quaternion, motion.rotation)
            values += [motion.position, turned, motion.velocity, motion.angular_velocity]
        known = {*kinematics.q, *map(id, self.measured_joints)}
        for joint in self.model.joints:
            size = len(joint.coordinates)
            values.append(kinematics.joint_state(joint)[0] if id(joint) in known else ca.SX(size, 1))
        return self.posed.tracer.routine("placement", [("values", ca.vertcat(*[ca.densify(ca.SX(v)) for v in values]))])

    @cached_property
    def _traced_channels(self) -> tuple[tuple[Channel, ...], Any]:
        now = self.present
        channels, values = trace_channels(now.kinematics, now.loads, now.closures, now.solution)
        return channels, ca.densify(ca.vertcat(*values))

    @property
    def channels(self) -> tuple[Channel, ...]:
        """All channels of the result."""
        return self._traced_channels[0]

    def outputs(self, name: str = "outputs", columns: Sequence[int] | None = None) -> Routine:
        """All channels, or those in some columns."""
        values = self._traced_channels[1]
        chosen = values if columns is None else ca.vertcat(*[values[i] for i in columns])
        return self.present.tracer.routine(name, [("channels", chosen)])

    def guards(self) -> Routine:
        """Expressions whose rise through zero is an event."""
        call, path = self.present.tracer.call, self.model.path
        values = [call(lambda e=event: e.guard, path=path(event), free=True) for event in self.model.events]
        return self.present.tracer.routine("guards", [("values", ca.vertcat(*values))])

    def switch(self, number: int) -> Routine:
        """state -> state after an event."""
        tracer, event = self.present.tracer, self.model.events[number]
        state = ca.SX(tracer.values["state"])
        for mode, value in event.changes:
            place = next(i for i, known in enumerate(self.model.modes) if known is mode)
            new = tracer.call(lambda value=value: value, path=self.model.path(event), free=True)
            state[self.nq + self.nv + place] = new
        return tracer.routine(f"switch_{number}", [("state", state)])

    # -- parts of them

    def _moving_links(self) -> list[Link]:
        return [link for link in self.topology.links if link.joint is not None and not link.crosses]

    def _start(self, shared: bool | None = None) -> tuple[Tracer, Kinematics]:
        coordinates = [joint.q for joint in (*self.joints, *self.counted)]
        modes = [ca.SX(mode) for mode in self.model.modes]
        state = ca.vertcat(*coordinates, *[joint.v for joint in self.joints], *modes)
        inputs = ca.vertcat(*[ca.SX(signal) for signal in self.model.inputs])
        parameters = ca.vertcat(*[ca.SX(signal) for signal in self.model.parameters], self.hidden)
        make = SharingTracer if (self.shared if shared is None else shared) else InlineTracer
        names = [("time", time), ("state", state), ("inputs", ca.SX(inputs)), ("parameters", ca.SX(parameters))]
        tracer = make(names, self.kernels)
        state = tracer.values["state"]
        q, v = {}, {}
        i, k = 0, self.nq
        for joint in self.joints:
            q[id(joint)] = state[i : i + len(joint.coordinates), :]  # of a column of one entry, too
            v[id(joint)] = state[k : k + joint.freedoms, :]
            i, k = i + len(joint.coordinates), k + joint.freedoms
        self._counters = {}
        for joint in self.counted:
            self._counters[id(joint)] = state[i : i + len(joint.coordinates), 0]
            i += len(joint.coordinates)
        return tracer, self._rebind(tracer, q, v)

    def _rebind(self, tracer: Tracer, q: dict[int, Any], v: dict[int, Any]) -> Kinematics:
        kinematics = Kinematics(tracer, self.model, self.topology, q, v, self._counters)
        bind_signals(tracer, kinematics)
        return kinematics

    def _state(self, tracer: Tracer, q: dict[int, Any], v: dict[int, Any]) -> Any:
        """The state of these coordinates and speeds; counted angles are measured anew."""
        counted = []
        if self.counted:
            kinematics = self._rebind(tracer, q, v)
            counted = [kinematics.joint_state(joint)[0] for joint in self.counted]
        modes = tracer.values["state"][self.nq + self.nv :]
        return ca.vertcat(*[q[id(j)] for j in self.joints], *counted, *[v[id(j)] for j in self.joints], modes)

    def _normalized(self, tracer: Tracer, q: dict[int, Any]) -> dict[int, Any]:
        return {
            id(j): tracer.call(lambda q, j=j: j.normalize(q), q[id(j)]) if j.coordinates else q[id(j)]
            for j in self.joints
        }
