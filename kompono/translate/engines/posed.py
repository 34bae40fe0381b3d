"""What an engine knows at a state without dynamics, for assembly: where everything is, and the conditions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import casadi as ca

from kompono.model.element import Element
from kompono.model.joint import Joint
from kompono.model.signal import time
from kompono.spatial.pose import Pose
from kompono.spatial.rotation import matrix_quaternion
from kompono.translate.declared.elaborate import Elaborated
from kompono.translate.declared.laws import ask_holds
from kompono.translate.engines.engine import Engine
from kompono.translate.motion.conditions import Closure, Laws
from kompono.translate.program import Routine
from kompono.translate.structure.topology import Link, Topology
from kompono.translate.symbolic import Matrix, Vector

if TYPE_CHECKING:
    from kompono.translate.motion.kinematics import Kinematics
    from kompono.translate.tracer import Tracer


@dataclass(frozen=True)
class Posed:
    """Motion and conditions at the state without dynamics; `columns` is G by element and joint, on the
    speeds.
    """

    tracer: Tracer
    kinematics: Kinematics
    closures: dict[Element, Closure]
    columns: dict[Element, dict[Joint, Matrix]]


class PosedEngine(Engine):
    """A new engine says what is `posed`."""

    def __init__(self, model: Elaborated, topology: Topology, kernels: dict[str, ca.Function], *, shared: bool) -> None:
        super().__init__(model, topology, kernels, shared=shared)
        self.laws = Laws(model)

    @cached_property
    @abstractmethod
    def posed(self) -> Posed:
        """Kinematics and conditions alone, with G on the speeds."""

    def placing_routines(self) -> dict[str, Callable[[], Routine]]:
        """What assembly needs, by name."""
        return {
            "conditions": self.conditions,
            "placement": self.placement,
            "rates": self.rates,
            "normalize": self.normalize,
            "holds": self.holds,
            "measured": self.measured,
        }

    def conditions(self) -> Routine:
        """g, g_dot, G (rows x nv, column by column) and u of all conditions, without dynamics."""
        closures, columns = self.posed.closures, self.posed.columns
        rows = [
            ca.horzcat(*[columns[key].get(j, ca.SX(closure.size, j.freedoms)) for j in self.joints])
            for key, closure in closures.items()
        ]
        parts = [("g", [c.residual for c in closures.values()]), ("g_dot", [c.rate for c in closures.values()])]
        parts += [("G", rows), ("u", [c.bias for c in closures.values()])]
        named = [(name, ca.vertcat(*values) if values else ca.SX(0, 1)) for name, values in parts]
        return self.posed.tracer.routine("conditions", named)

    def placement(self) -> Routine:
        """Position, orientation, velocity and angular velocity (13) of every body, coordinates of all joints, and what
        is inside sealed parts.
        """
        kinematics, values = self.posed.kinematics, []
        for body in self.model.bodies:
            motion = kinematics.motion(None, body)
            turned = kinematics.tracer.call(matrix_quaternion, motion.rotation)
            values += [motion.position, turned, motion.velocity, motion.angular_velocity]
        known = {*kinematics.q, *self.measured_joints}
        for joint in self.model.joints:
            size = len(joint.coordinates)
            values.append(kinematics.joint_state(joint)[0] if joint in known else ca.SX(size, 1))
        values += [part.placed(kinematics) for part in self.placed_parts]
        return self.posed.tracer.routine("placement", [("values", ca.vertcat(*[ca.densify(ca.SX(v)) for v in values]))])

    @property
    def placed_parts(self) -> Sequence[Any]:
        """Sealed parts that say where the bodies inside are."""
        return ()

    @property
    def walled_parts(self) -> dict[str, tuple[str, ...]]:
        """Paths of sealed parts with a wall around them, by how the names of their functions begin."""
        return {}

    def rates(self) -> Routine:
        """q_dot = N(q) v alone: how speeds move coordinates."""
        return self.posed.tracer.routine("rates", [("q_dot", self._coordinate_rates(self.posed.kinematics))])

    def normalize(self) -> Routine:
        """q with quaternions of unit length."""
        tracer, kinematics = self.posed.tracer, self.posed.kinematics
        q = self._normalized(tracer, kinematics.q)
        return tracer.routine("normalize", [("q", ca.vertcat(*[q[joint] for joint in self.joints]))])

    def holds(self) -> Routine:
        """What is positive where closing elements hold as they are meant, in the order of `hold_labels`."""
        kinematics, values = self.posed.kinematics, []
        for element in self._directed:
            motion = kinematics.motion(element.first, element.second)
            place, path = (motion.position, motion.rotation), self.model.path(element)
            asked = self.model.pair(element)
            values.append(kinematics.tracer.call(lambda p, r, e=asked: ask_holds(e, Pose(p, r)), *place, path=path))
        column = ca.vertcat(*[ca.vec(value) for value in values]) if values else ca.SX(0, 1)
        return self.posed.tracer.routine("holds", [("positive", column)])

    def measured(self) -> Routine:
        """Coordinates q of `measured_joints`, their rates, Q = d rates / d v, their speeds s and S = d s / d v, with v
        the speeds of the state; matrices column by column.
        """
        kinematics, tracer = self.posed.kinematics, self.posed.tracer
        states = [kinematics.joint_state(joint) for joint in self.measured_joints]
        pairs = zip(map(self.model.pair, self.measured_joints), states, strict=True)
        rates = [tracer.call(lambda q, v, j=joint: j.rate(q, v), q, v) for joint, (q, v) in pairs]
        v = ca.SX(tracer.values["state"])[self.nq : self.nq + self.nv]
        q, rate, s = (ca.densify(ca.vertcat(*part)) for part in ([q for q, _ in states], rates, [s for _, s in states]))
        named = [("q", q), ("rate", rate), ("Q", self._by_speeds(rate, v)), ("s", s), ("S", self._by_speeds(s, v))]
        return tracer.routine("measured", named)

    # -- parts of them

    def _by_speeds(self, column: Vector, v: Vector) -> Matrix:
        """How what is affine in speeds changes with them."""
        return ca.jacobian(column, v)

    def _coordinate_rates(self, kinematics: Kinematics) -> Vector:
        rates = [kinematics.step(link).rate for link in self._moving_links()]
        for joint in self.counted:
            (q, v), law, path = kinematics.joint_state(joint), self.model.pair(joint), self.model.path(joint)
            rates.append(kinematics.tracer.call(lambda q, v, j=law: j.rate(q, v), q, v, path=path))
        return ca.SX(ca.vertcat(*rates))

    def _moving_links(self) -> list[Link]:
        return [link for link in self.topology.links if link.joint is not None and not link.crosses]

    def _start(self, shared: bool | None = None, hidden: ca.SX | None = None) -> tuple[Tracer, Kinematics]:
        """A tracer, and the motion at the state; `hidden` are the engine's own parameters, if not all are meant."""
        from kompono.translate.sharing import SharingTracer
        from kompono.translate.tracer import InlineTracer

        coordinates = [joint.q for joint in (*self.joints, *self.counted)]
        memory = [ca.SX(kept) for kept in self.model.memory]
        state = ca.vertcat(*coordinates, *[joint.v for joint in self.joints], *memory)
        inputs = ca.vertcat(*[ca.SX(signal) for signal in self.model.inputs])
        own = self._hidden if hidden is None else hidden
        parameters = ca.vertcat(*[ca.SX(signal) for signal in self.model.parameters], own)
        make = SharingTracer if (self.shared if shared is None else shared) else InlineTracer
        names = [("time", time), ("state", state), ("inputs", ca.SX(inputs)), ("parameters", ca.SX(parameters))]
        tracer = make(names, self.kernels)
        tracer.numbers = self.model.numbers
        state = tracer.values["state"]
        q, v = {}, {}
        i, k = 0, self.nq
        for joint in self.joints:
            q[joint] = state[i : i + len(joint.coordinates), :]  # of a column of one entry, too
            v[joint] = state[k : k + joint.freedoms, :]
            i, k = i + len(joint.coordinates), k + joint.freedoms
        self._counters: dict[Joint, Vector] = {}
        for joint in self.counted:
            self._counters[joint] = state[i : i + len(joint.coordinates), 0]
            i += len(joint.coordinates)
        return tracer, self._rebind(tracer, q, v)

    def _rebind(self, tracer: Tracer, q: dict[Joint, Vector], v: dict[Joint, Vector]) -> Kinematics:
        from kompono.translate.motion.kinematics import Kinematics
        from kompono.translate.motion.signals import bind_signals

        kinematics = Kinematics(tracer, self.model, self.topology, q, v, self._counters, locked=self._locked_in(q))
        bind_signals(tracer, kinematics)
        return kinematics

    def _moving(self, tracer: Tracer, q: dict[Joint, Vector], v: dict[Joint, Vector]) -> Kinematics:
        """The same in the axes in which it is computed while nobody looks."""
        return self._rebind(tracer, q, v)

    def _locked_in(self, q: dict[Joint, Vector]) -> dict[Joint, tuple[int, ...]]:
        """Freedoms that are left out of a motion with these coordinates, by joint."""
        return {}

    def _normalized(self, tracer: Tracer, q: dict[Joint, Vector]) -> dict[Joint, Vector]:
        laws = {j: self.model.pair(j) for j in self.joints}
        return {
            j: tracer.call(lambda q, j=law: j.normalize(q), q[j]) if j.coordinates else q[j] for j, law in laws.items()
        }
