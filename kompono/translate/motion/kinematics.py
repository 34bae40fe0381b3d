"""Positions and velocities along the tree, in the frames where they are cheapest.

Every body gets a working frame: the frame of its tree joint on it, so that a joint's subspace is constant and the
inertia too. Twists and accelerations are in working axes. For child C on parent P through a joint with coordinates q:

    X_PC = F_P J(q)              twist_C = X twist_P + S v            a_C = X a_P + S v_dot + S_dot v + twist_C x (S v)

A ground hangs on the world in the same way, with a prescribed twist instead of S v. What a force, a constraint or a
sensor sees, the motion of one frame relative to another, follows the tree path between the two bodies only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import pi
from typing import Any

import casadi as ca

from kompono.model.body import Carrier, Frame
from kompono.model.constraint import Constraint
from kompono.model.joint import Joint
from kompono.model.signal import Output, time
from kompono.spatial.pose import Motion, Pose
from kompono.spatial.rotation import unskew
from kompono.spatial.vectors import carry_twist, twist_cross
from kompono.translate.declared.elaborate import Elaborated
from kompono.translate.lengths import OpenPoses
from kompono.translate.motion.hanging import Hanging
from kompono.translate.motion.joint_steps import JointSteps
from kompono.translate.motion.working_frames import WorkingFrames, without_rounding
from kompono.translate.patterns import Pattern
from kompono.translate.structure.axes import ChosenAxes
from kompono.translate.structure.topology import Link, Topology
from kompono.translate.symbolic import Matrix, Vector
from kompono.translate.tracer import Tracer


@dataclass(frozen=True)
class Step:
    """One link of the tree at the present state: pose of the child in the parent, S, relative twist S v and S_dot v."""

    pose: Pose
    subspace: Matrix
    twist: Vector
    bias: Vector
    rate: Vector  # q_dot


@dataclass(frozen=True)
class Relative:
    """Working frame of one body seen from that of another: pose, twist and acceleration bias in the former's axes."""

    pose: Pose
    twist: Vector
    bias: Vector


def _descended(
    hp: Vector, hr: Matrix, p0: Vector, r0: Matrix, w0: Vector, b0: Vector, p: Vector, r: Matrix, sv: Vector,
    bias: Vector,
) -> tuple[Matrix, ...]:  # fmt: skip
    """A body behind a link: from its parent, what is held on that, and the step."""
    pose = Pose(hp, hr) @ Pose(p, r)
    total = Pose(p0, r0) @ pose
    twist = carry_twist(pose, w0) + sv
    return total.position, total.rotation, twist, carry_twist(pose, b0) + bias + twist_cross(twist, sv)


def _climbed(
    p0: Vector, r0: Matrix, w0: Vector, b0: Vector, p: Vector, r: Matrix, sv: Vector, bias: Vector
) -> tuple[Matrix, ...]:
    """The parent of a body: back through its step."""
    back = Pose(p, r).inverse()
    total = Pose(p0, r0) @ back
    acceleration = b0 - bias - twist_cross(w0, sv)
    return total.position, total.rotation, carry_twist(back, w0 - sv), carry_twist(back, acceleration)


def _seen(op: Vector, orr: Matrix, p: Vector, r: Matrix, w: Vector, ip: Vector, ir: Matrix) -> tuple[Matrix, ...]:
    """A frame on one body seen from a frame on another."""
    inner = Pose(ip, ir)
    pose = Pose(op, orr) @ Pose(p, r) @ inner
    twist = carry_twist(inner, w)
    return pose.position, pose.rotation, pose.rotation @ twist[:3], pose.rotation @ twist[3:]


_DESCEND, _CLIMB, _SEE = Pattern(_descended), Pattern(_climbed), Pattern(_seen)


@dataclass(frozen=True)
class StandIn:
    """What stands for a body whose inside is closed: the inertia (6, 6) and bias (6) it shows, in its working frame."""

    inertia: Matrix
    bias: Vector


@dataclass(frozen=True)
class GivenMotion:
    """Motion that somebody else traces, by carrier, where the working frames of such carriers are, signals that
    somebody else knows, by the output, and columns of symbols that somebody else answers.
    """

    steps: Mapping[Carrier, Callable[[Kinematics], Step]] = field(default_factory=dict)
    frames: Mapping[Carrier, Pose] = field(default_factory=dict)
    signals: Mapping[Output, Callable[[Kinematics], Vector]] = field(default_factory=dict)
    answers: Sequence[tuple[Vector, Callable[[Kinematics], Vector]]] = ()


class Kinematics:
    """Traced motion of all bodies for one set of slots (time, q, v). Everything is computed on first use and kept."""

    def __init__(
        self,
        tracer: Tracer,
        model: Elaborated,
        topology: Topology,
        q: dict[Joint, Vector],
        v: dict[Joint, Vector],
        counted: dict[Joint, Vector] | None = None,
        given: GivenMotion | None = None,
        locked: Mapping[Joint, tuple[int, ...]] | None = None,
        axes: ChosenAxes | None = None,
    ) -> None:
        self.tracer, self.model, self.topology = tracer, model, topology
        self.locked = locked or {}  # freedoms that are left out, by joint
        self.axes = axes  # of working frames, if not those of the joints
        self.given = given or GivenMotion()
        self.frames = self._frames(topology, axes)
        self.hanging = Hanging(model, self.frames)
        self.stand_ins: dict[Carrier, StandIn] = {}  # by body
        self.q, self.v = q, v  # by joint
        self.counted = counted or {}  # coordinates of measured joints whose turns are counted, by joint
        self._steps: dict[Carrier, Step] = {}
        self._relative: dict[tuple[Carrier, Carrier], Relative] = {}
        self._motions: dict[tuple[Frame, Frame], Motion] = {}

    def _frames(self, topology: Topology, axes: ChosenAxes | None) -> WorkingFrames:
        """Working frames, those of a tree found once."""
        given = self.given.frames or None
        known: list[WorkingFrames] = self.model.worked_out.setdefault(WorkingFrames, [])
        numbers = self.tracer.numbers
        opens = numbers is not None and numbers.frames is not None
        for frames in known:
            same = frames.topology is topology and frames.axes is axes and frames.given is given
            if same and (frames.opened is not None) is opens:
                return frames
        prefix = "" if axes is None else "turned "
        opened = OpenPoses(self.model, prefix, signed=topology.placed) if opens else None
        known.append(WorkingFrames(topology, given, axes, opened))
        return known[-1]

    def with_speeds(self, v: dict[Joint, Vector]) -> Kinematics:
        """The same coordinates with other speeds."""
        return Kinematics(
            self.tracer, self.model, self.topology, self.q, v, self.counted, self.given, self.locked, self.axes
        )

    def turned(self, axes: ChosenAxes | None) -> Kinematics:
        """The same motion with other axes of the working frames."""
        return Kinematics(
            self.tracer, self.model, self.topology, self.q, self.v, self.counted, self.given, self.locked, axes
        )

    def in_working_axes(self, vector: Vector) -> Vector:
        """A uniform field in world axes as the working frame of the world sees it."""
        if self.axes is None:
            return vector
        world = self.frames.of(self.topology.world)
        numbers = self.model.numbers
        value = vector if ca.SX(vector).is_constant() else numbers.worth(vector) if numbers is not None else None
        if value is None:
            return self.frames.traced("world", world).rotation.T @ vector
        seen = without_rounding(Pose(world.rotation.T @ value), value)
        return self.frames.traced("field", seen).position

    def free(self, joint: Joint) -> list[int]:
        """Freedoms of a joint that are not left out: columns of the subspace of its step."""
        locked = self.locked.get(joint, ())
        return [k for k in range(joint.freedoms) if k not in locked]

    def label(self, link: Link) -> str:
        """The element a link's kernels belong to: its joint, or the ground or independent body itself."""
        joint = link.joint
        return self.model.path(joint if joint is not None and joint.owner is not None else link.carrier)

    def step(self, link: Link) -> Step:
        """The link's own motion."""
        key = link.carrier
        if key not in self._steps:
            if key in self.given.steps:
                self._steps[key] = self.given.steps[key](self)
            else:
                self._steps[key] = self._joint_step(link) if link.joint is not None else self._ground_step(link)
        return self._steps[key]

    def _joint_step(self, link: Link) -> Step:
        joint, (base, moved) = link.moved_by, self.hanging.base(link)
        law, turned_law = self.model.pair(joint), self.model.pair(joint, moved.element)
        step, free = self.joints.of(turned_law, link.reverse), tuple(self.free(joint))

        def plainly(q: Vector, v: Vector) -> tuple[Matrix, ...]:
            position, rotation, subspace, twist, bias, rate = step(q, v)
            placed = base @ Pose(position, rotation)
            subspace = subspace[:, list(free)] if len(free) < subspace.shape[1] else subspace
            return placed.position, placed.rotation, subspace, twist, bias, rate

        def turned(q: Vector, v: Vector) -> tuple[Matrix, ...]:
            return *plainly(self.hanging.shifted(link, moved, q), v)[:5], law.rate(q, v)

        trace = turned if moved.shift.any() else plainly
        values = self.tracer.call(trace, self.q[joint], self.v[joint], path=self.label(link))
        return Step(Pose(values[0], values[1]), *values[2:])

    @property
    def joints(self) -> JointSteps:
        """What joints of the model do."""
        known = self.model.worked_out
        if JointSteps not in known:
            known[JointSteps] = JointSteps()
        return known[JointSteps]

    def rates(self, joint: Joint) -> Callable[..., Sequence[Matrix]]:
        """q_dot of a joint and its rate, as a function of q, v and v_dot."""
        return self.joints.rates(self.model.pair(joint))

    def _ground_step(self, link: Link) -> Step:
        motion = self.hanging.ground(link)

        def trace() -> tuple[Matrix, ...]:
            position, rotation = motion.position, motion.rotation
            turning = unskew(rotation.T @ ca.jacobian(ca.vec(rotation), time).reshape((3, 3)))
            twist = ca.vertcat(rotation.T @ ca.jacobian(position, time), turning)
            return position, rotation, twist, ca.jacobian(ca.densify(twist), time)

        position, rotation, twist, bias = self.tracer.call(trace, path=self.label(link))
        return Step(Pose(position, rotation), ca.SX(6, 0), twist, bias, ca.SX(0, 1))

    def relative(self, start: Carrier, end: Carrier) -> Relative:
        """The working frame of `end` seen from that of `start`: from one carrier to the next, for a chain may be longer
        than functions can call each other.
        """
        known, carrier = self._relative, end
        known.setdefault((start, start), Relative(Pose.constant(), ca.SX(6, 1), ca.SX(6, 1)))
        way: list[tuple[Carrier, Carrier, Link, Pose | None]] = []
        while (start, carrier) not in known:
            before, link, held = self._before(start, carrier)
            way.append((carrier, before, link, held))
            carrier = before
        for carrier, before, link, held in reversed(way):
            seen = known[start, before]
            known[start, carrier] = self._climb(seen, link) if held is None else self._descend(seen, held, link)
        return known[start, end]

    def absolute(self, carrier: Carrier) -> Relative:
        """The working frame in the world."""
        return self.relative(self.topology.world, carrier)

    def _before(self, start: Carrier, end: Carrier) -> tuple[Carrier, Link, Pose | None]:
        """The last carrier on the way from `start` to `end` of which `end` is seen, the link between, and, down the
        tree, where welds hold that.
        """
        up, down = self.topology.path(start, end)
        if not down:
            return up[-1].carrier, up[-1], None
        top = len(down) - 1
        while top and down[top - 1].rigid:  # welds on the way are part of the step that follows them
            top -= 1
        return down[top].parent, down[-1], self.hanging.offset(down[-1].parent, down[top].parent)

    def _descend(self, before: Relative, held: Pose, link: Link) -> Relative:
        step = self.step(link)

        return self._traced(lambda *values: _DESCEND(held.position, held.rotation, *values), before, step, link)

    def _climb(self, before: Relative, link: Link) -> Relative:
        step = self.step(link)

        return self._traced(_CLIMB, before, step, link)

    def _traced(self, trace: Callable[..., Sequence[Matrix]], before: Relative, step: Step, link: Link) -> Relative:
        values = self.tracer.call(
            trace, before.pose.position, before.pose.rotation, before.twist, before.bias,
            step.pose.position, step.pose.rotation, step.twist, step.bias, path=self.label(link),
        )  # fmt: skip
        return Relative(Pose(values[0], values[1]), values[2], values[3])

    def local_bias(self, link: Link) -> Vector:
        """S_dot v + twist x (S v): what the child's acceleration has beyond the parent's and S v_dot."""
        step, twist = self.step(link), self.absolute(link.carrier).twist
        return self.tracer.call(
            lambda w, sv, bias: bias + twist_cross(w, sv), twist, step.twist, step.bias, path=self.label(link)
        )

    def motion(self, first: Frame | None, second: Frame) -> Motion:
        """The motion of frame `second` relative to `first` (None: the world), in first's axes."""
        origin = first if first is not None else self.topology.world
        key = (origin, second)
        if key not in self._motions:
            places = self.frames.seen_from(origin), self.frames.locate(second)
            self._motions[key] = self._motion(origin.body, second.body, *places)
        return self._motions[key]

    def pair(self, element: Joint | Constraint) -> tuple[Any, Pose, Pose]:
        """What closes a loop, and its two frames on their bodies, in the axes of the working frames if it has these."""
        turned = self.axes.closing.get(element) if self.axes is not None else None
        if turned is None:
            return element, self.frames.locate(element.first), self.frames.locate(element.second)
        axes, path = Pose.constant(rotation=turned.axes), self.model.path(element)
        first, second = (without_rounding(self.frames.place(f) @ axes) for f in (element.first, element.second))
        return turned.element, self.frames.traced(f"{path} 1", first), self.frames.traced(f"{path} 2", second)

    def pair_motion(self, element: Joint | Constraint) -> Motion:
        """The motion of the second of these frames relative to the first, in the axes of that."""
        if self.axes is None or element not in self.axes.closing:
            return self.motion(element.first, element.second)
        _, first, second = self.pair(element)
        return self._motion(element.first.body, element.second.body, first.inverse(), second)

    def _motion(self, origin: Carrier, end: Carrier, outer: Pose, inner: Pose) -> Motion:
        relative = self.relative(origin, end)
        place = (outer.position, outer.rotation, relative.pose.position, relative.pose.rotation, relative.twist)
        return Motion(*self.tracer.call(_SEE, *place, inner.position, inner.rotation, path=self.model.path(end)))

    def joint_state(self, joint: Joint) -> tuple[Vector, Vector]:
        """Coordinates and speeds of any joint: those of the tree, or measured where the joint closes a loop."""
        if joint in self.q:
            return self.q[joint], self.v[joint]
        motion, law = self.motion(joint.first, joint.second), self.model.pair(joint)

        def trace(p: Vector, r: Matrix, v: Vector, w: Vector, counted: Vector) -> tuple[Vector, Vector]:
            q = ca.SX(law.measure(Pose(p, r)))
            speeds = speeds_of_twist(law.subspace(q), ca.vertcat(r.T @ v, r.T @ w))
            return with_turns(joint, q, counted) if counted.numel() else q, speeds

        counted = self.counted.get(joint, ca.SX(0, 1))
        place = (motion.position, motion.rotation, motion.velocity, motion.angular_velocity)
        return self.tracer.call(trace, *place, counted, path=self.model.path(joint))


def with_turns(joint: Joint, q: Vector, counted: Vector) -> Vector:
    """Measured coordinates with as many whole turns added to the angles as bring them closest to the counted ones."""
    turns = [
        2 * pi * ca.floor((counted[k] - q[k]) / (2 * pi) + 0.5) if unit == "rad" else 0
        for k, unit in enumerate(joint.units)
    ]
    return q + ca.vertcat(*turns)


def speeds_of_twist(subspace: Matrix, twist: Vector) -> Vector:
    """v with S v = twist (least squares: exact when the twist is one the joint allows)."""
    subspace = ca.SX(subspace)
    return ca.solve(ca.mtimes(subspace.T, subspace), subspace.T @ twist)
