"""Conditions that close loops: of joints outside the tree, constraints and couplings; G, g, g_dot and u by
differentiation.

For a condition g of the motion (p, R, v, w) of one frame relative to another,

    g_dot = Gamma (v, w) + dg/dt,      g_ddot = G v_dot + u,

Gamma is derived once per kind of condition from small changes of the pose; G follows by carrying its rows back along
the tree path between the two bodies, so it touches only the joints of the loop.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import casadi as ca

from kompono.errors import TranslationError
from kompono.model.body import Body, Carrier
from kompono.model.constraint import Constraint, Coupling
from kompono.model.element import Element
from kompono.model.joint import Joint
from kompono.model.law import is_law
from kompono.model.signal import time
from kompono.spatial.pose import Motion, Pose, pose_jacobian, symbolic_motion, symbolic_pose
from kompono.spatial.vectors import carry_twist, twist_cross, twist_matrix
from kompono.translate.declared.elaborate import Elaborated
from kompono.translate.declared.open_units import with_numbers
from kompono.translate.lengths import with_lengths
from kompono.translate.recipes import Lasting
from kompono.translate.structure.topology import Topology
from kompono.translate.symbolic import Matrix, Vector

if TYPE_CHECKING:
    from kompono.translate.motion.kinematics import Kinematics

Closing = Joint | Constraint | Coupling  # what closes loops
GroundAcceleration = Callable[[Carrier], Vector]
Key = TypeVar("Key", bound=Element)


@dataclass(frozen=True)
class Closure(Generic[Key]):
    """The rows of one closing element at the present state."""

    element: Element
    groups: tuple[int, ...]
    residual: Vector  # g
    rate: Vector  # g_dot
    bias: Vector  # u
    columns: dict[Key, Matrix]  # G by joint, on its speeds, or by body, on its twist
    gamma: Matrix | None = None  # rows on the relative twist in first-frame axes, for reactions
    carried: tuple[Matrix, ...] = ()  # rows on the full twist at each joint of the path: G if all of them were free
    inverse: Matrix | None = None  # what rows are multiplied by where columns are those of solved ones
    direct: dict[Joint, Matrix] | None = None  # G on speeds of the joints that are meant, if some close loops
    through: dict[Key, tuple[Matrix, ...]] | None = None  # G as gamma times these, if that is less work

    @property
    def size(self) -> int:
        """Number of rows."""
        return sum(self.groups)


Closures = dict[Element, Closure[Joint]]  # by closing element, in joint coordinates


class ToldConditions(Joint):
    """Conditions that are known by their values alone: those inside a sealed part. Each stands for itself."""

    rows = 0

    def trace(self, kinematics: Kinematics) -> Closure[Joint]:
        """Values and G at the present state."""
        raise NotImplementedError


def group_sizes(element: Closing) -> tuple[int, ...]:
    """Sizes of the groups of like rows of a closing element."""
    if isinstance(element, ToldConditions):
        return (1,) * element.rows
    if isinstance(element, Coupling):
        groups = [*element.conditions(), *element.velocity_conditions()]
    else:
        groups = [*(element.conditions(symbolic_pose()) or ()), *element.velocity_conditions(symbolic_motion())]
    return tuple(ca.SX(group).numel() for group in groups)


def velocity_rows(element: Joint | Constraint) -> int:
    """Number of conditions on velocities alone; they are the last ones of an element."""
    return sum(ca.SX(group).numel() for group in element.velocity_conditions(symbolic_motion()))


def path_joints(topology: Topology, element: Closing) -> list[Joint]:
    """Tree joints whose coordinates a closing element's conditions depend on."""
    if isinstance(element, Coupling) and topology.placed:
        bodies = dict.fromkeys(body for joint in element.joints for body in (joint.first.body, joint.second.body))
        return [link.joint for body in bodies if (link := topology.link(body)).joint is not None]
    if isinstance(element, Coupling):
        check_coupled(topology, element)
        return list(element.joints)
    up, down = topology.path(element.first.body, element.second.body)
    return [link.joint for link in (*up, *down) if link.joint is not None and link.joint.freedoms]


def check_coupled(topology: Topology, coupling: Coupling) -> None:
    """Raise TranslationError if a coupling ties coordinates that are not in the tree."""
    for joint in coupling.joints:
        if all(joint is not other for other in topology.tree_joints):
            message = f"the coordinates of {joint.path} are coupled, but that joint closes a loop."
            raise TranslationError(message, path=coupling.path, fix="Cut the loop at another joint: cut=[...].")


def trace_closure(kinematics: Kinematics, element: Closing, laws: Laws) -> Closure[Joint]:
    """Trace all that the conditions of an element need."""
    if isinstance(element, ToldConditions):
        return element.trace(kinematics)
    if isinstance(element, Coupling) and kinematics.topology.placed:
        return _trace_placed_coupling(kinematics, element)
    if isinstance(element, Coupling):
        return trace_coupling(kinematics, element)
    return _trace_pair(kinematics, element, laws)


def trace_violation(kinematics: Kinematics, element: Closing, laws: Laws, level: str) -> Vector:
    """g (level "residual") or g_dot (level "rate") of an element alone, for projection."""
    if isinstance(element, Coupling):
        return getattr(trace_coupling(kinematics, element), level)
    law = laws.of(kinematics.pair(element)[0], element)
    motion = kinematics.pair_motion(element)

    def trace(p: Vector, r: Matrix, v: Vector, w: Vector) -> Vector:
        if level == "residual":
            return law.residual(column_of(Pose(p, r)), law.signals)
        return law.rate(column_of(Pose(p, r)), ca.densify(ca.vertcat(v, w)), law.signals)

    return kinematics.tracer.call(
        trace, motion.position, motion.rotation, motion.velocity, motion.angular_velocity,
        path=kinematics.model.path(element),
    )  # fmt: skip


class Laws:
    """Derived conditions by element, made when first needed."""

    def __init__(self, model: Elaborated | None = None) -> None:
        self._known: dict[Element, Conditions] = {}
        self._model = model  # whose numbers may be put in after tracing

    def of(self, element: Joint | Constraint, declared: Element | None = None) -> Conditions:
        """The conditions of a pair; of one that was `declared` about other axes."""
        if element not in self._known:
            self._known[element] = differentiate_conditions(self._told(declared or element, element))
        return self._known[element]

    def _told(self, declared: Element, element: Any) -> Any:
        """A pair as it is traced."""
        if self._model is None or self._model.numbers is None:
            return element
        if is_law(element):
            return with_numbers(self._model, element)
        if self._model.numbers.pairs is None:
            return with_lengths(self._model, declared, element)
        return self._model.pair(declared, element)


def trace_coupling(kinematics: Kinematics, coupling: Coupling) -> Closure[Joint]:
    """A coupling's rows on the speeds of its joints."""
    joints, told = list(dict.fromkeys(coupling.joints)), with_numbers(kinematics.model, coupling)
    law, pair = kinematics.model.law(told), kinematics.model.pair
    parts = law.conditions(), law.velocity_conditions()
    g, slip = (ca.vertcat(ca.SX(0, 1), *[ca.vec(ca.SX(group)) for group in part]) for part in parts)
    q, v = ca.vertcat(*[joint.q for joint in joints]), ca.vertcat(*[joint.v for joint in joints])
    q_dot = ca.densify(ca.vertcat(*[ca.SX(pair(joint).rate(joint.q, joint.v)) for joint in joints]))
    g_dot = ca.vertcat(ca.jtimes(g, q, q_dot) + ca.jacobian(g, time), slip)
    g = ca.vertcat(g, ca.SX.zeros(slip.numel()))
    u = ca.jtimes(g_dot, q, q_dot) + ca.jacobian(g_dot, time)
    rows = [ca.jacobian(g_dot, joint.v) for joint in joints]
    assert v.shape[0] == sum(row.shape[1] for row in rows)
    traced = (g, g_dot, u, *rows)
    g, g_dot, u, *rows = kinematics.tracer.call(lambda: traced, path=kinematics.model.path(coupling), free=True)
    return Closure(coupling, group_sizes(coupling), g, g_dot, u, dict(zip(joints, rows, strict=True)))


def _trace_pair(kinematics: Kinematics, element: Joint | Constraint, laws: Laws) -> Closure[Joint]:
    groups = group_sizes(element)
    path = kinematics.model.path(element)
    call = kinematics.tracer.call
    relative = kinematics.relative(element.first.body, element.second.body)
    meant, first, inner = kinematics.pair(element)
    law, outer = laws.of(meant, element), first.inverse()

    def trace(p: Vector, r: Matrix, twist: Vector, bias: Vector) -> tuple[Matrix, ...]:
        actual = outer @ Pose(p, r) @ inner
        turn = actual.rotation
        w, a = carry_twist(inner, twist), carry_twist(inner, bias)
        velocity = ca.vertcat(turn @ w[:3], turn @ w[3:])
        acceleration = ca.vertcat(turn @ (a[:3] + ca.cross(w[3:], w[:3])), turn @ a[3:])
        x, v, a = column_of(actual), ca.densify(velocity), ca.densify(acceleration)
        g, g_dot, u, gamma = law.all(x, v, a, law.signals)
        turned = ca.diagcat(turn, turn)
        return g, g_dot, u, gamma, ca.sparsify(gamma @ turned @ twist_matrix(inner))

    g, g_dot, u, gamma, row = call(
        trace, relative.pose.position, relative.pose.rotation, relative.twist, relative.bias, path=path
    )
    columns, carried = carry_back(kinematics, element, row)
    return Closure(element, groups, g, g_dot, u, columns, gamma, carried)


def carry_back(
    kinematics: Kinematics, element: Joint | Constraint, row: Matrix
) -> tuple[dict[Joint, Matrix], tuple[Matrix, ...]]:
    """Rows on the relative twist of a pair, at the second working frame, on the speeds of the tree joints between, and
    on the full twist at each.
    """
    call, path = kinematics.tracer.call, kinematics.model.path(element)
    columns: dict[Joint, Matrix] = {}
    carried = [row]
    up, down = kinematics.topology.path(element.first.body, element.second.body)
    for link in reversed(down):
        step = kinematics.step(link)
        carried.append(row)
        if link.joint is not None and link.joint.freedoms:
            columns[link.joint] = call(lambda row, s: row @ s, row, step.subspace, path=path)
        row = call(
            lambda row, p, r: row @ twist_matrix(Pose(p, r)), row, step.pose.position, step.pose.rotation, path=path
        )
    for link in reversed(up):
        step = kinematics.step(link)
        place = step.pose.position, step.pose.rotation
        row = call(lambda row, p, r: row @ twist_matrix(Pose(p, r).inverse()), row, *place, path=path)
        carried.append(row)
        if link.joint is not None and link.joint.freedoms:
            columns[link.joint] = call(lambda row, s: -(row @ s), row, step.subspace, path=path)
    return columns, tuple(carried)


@dataclass(frozen=True)
class Conditions(Lasting):
    """A pair's conditions and their derivatives, by symbols of pose (3 + 9), velocity (6) and acceleration bias (6)."""

    residual: ca.Function  # pose -> g
    rate: ca.Function  # pose, velocity -> g_dot
    all: ca.Function  # pose, velocity, acceleration -> g, g_dot, u, Gamma
    signals: ca.SX  # time, inputs and parameters the conditions use


def differentiate_conditions(element: Joint | Constraint) -> Conditions:
    """Derive g_dot, u and Gamma once per element."""
    pose, speed, change = symbolic_pose(), ca.SX.sym("V", 6), ca.SX.sym("A", 6)
    g = ca.densify(ca.vertcat(*[ca.vec(ca.SX(group)) for group in element.conditions(pose) or [ca.SX(0, 1)]]))
    gamma = pose_jacobian(g, pose)
    g_dot = gamma @ speed + ca.jacobian(g, time)
    slips = element.velocity_conditions(Motion(pose.position, pose.rotation, speed[:3], speed[3:]))
    if slips:  # conditions on velocities have no residual of their own, so that g_dot and u go on from here
        slip = ca.densify(ca.vertcat(*[ca.vec(ca.SX(group)) for group in slips]))
        g, g_dot = ca.vertcat(g, ca.SX.zeros(slip.numel())), ca.vertcat(g_dot, slip)
        gamma = ca.vertcat(gamma, ca.jacobian(slip, speed))
    u = pose_jacobian(g_dot, pose) @ speed + ca.jacobian(g_dot, time) + gamma @ change
    x = ca.vertcat(pose.position, ca.vec(pose.rotation))
    own = {symbol.element_hash() for symbol in ca.vertsplit(ca.vertcat(x, speed, change))}
    free = [symbol for symbol in ca.symvar(ca.vertcat(g, g_dot, u)) if symbol.element_hash() not in own]
    signals = ca.vertcat(*free) if free else ca.SX(0, 1)
    return Conditions(
        ca.Function("g", [x, signals], [g]),
        ca.Function("g_dot", [x, speed, signals], [g_dot]),
        ca.Function("all", [x, speed, change, signals], [g, g_dot, u, ca.sparsify(gamma)]),
        signals,
    )


def column_of(pose: Pose) -> Vector:
    """Position and rotation as one dense column (12)."""
    return ca.densify(ca.vertcat(ca.SX(pose.position), ca.vec(ca.densify(ca.SX(pose.rotation)))))


def trace_body_closure(
    kinematics: Kinematics, element: Closing, laws: Laws, ground_acceleration: GroundAcceleration,
    through: bool = False,
) -> Closure[Body]:  # fmt: skip
    """The conditions of an element with G on the spatial accelerations of the bodies themselves (working axes), by
    body, and if asked `through` what; what grounds are prescribed to do is part of u.
    """
    if isinstance(element, Coupling):
        return _trace_body_coupling(kinematics, element, ground_acceleration)
    law, path, call = laws.of(element), kinematics.model.path(element), kinematics.tracer.call
    first, second, frames = element.first, element.second, kinematics.frames
    relative, still = kinematics.relative(first.body, second.body), not kinematics.absolute(first.body).twist.nnz()
    twist = ca.SX(6, 1) if still else kinematics.absolute(second.body).twist  # seen from what rests, w x w vanishes
    outer, inner, carried = frames.seen_from(first), frames.locate(second), frames.carried(second)
    felt, known = (ca.SX(6, 1) if isinstance(f.body, Body) else ground_acceleration(f.body) for f in (first, second))
    if felt.nnz():
        base = frames.locate(first)
        felt = call(lambda a, p, r: carry_twist(Pose(p, r), a), felt, base.position, base.rotation, path=path)

    def trace(p: Vector, r: Matrix, moving: Vector, w2: Vector, a1: Vector, a2: Vector, *held: Matrix) -> Any:
        outer, between, inner = Pose(*held[:2]), Pose(p, r), Pose(*held[2:4])
        actual = outer @ between @ inner
        turn = actual.rotation
        w, a = carry_twist(inner, moving), carry_twist(inner, a2 - twist_cross(w2, moving))
        velocity = ca.densify(ca.vertcat(turn @ w[:3], turn @ w[3:]))
        linear = turn @ (a[:3] + ca.cross(w[3:], w[:3])) - a1[:3] - ca.cross(a1[3:], actual.position)
        acceleration = ca.densify(ca.vertcat(linear, turn @ a[3:] - a1[3:]))
        g, g_dot, u, gamma = law.all(column_of(actual), velocity, acceleration, law.signals)
        near = (ca.diagcat(turn, turn), held[4], -twist_matrix(between)) if through else ()
        return g, g_dot, u, gamma, *rows_on_bodies(gamma, turn, held[4], between), *near

    moved = relative.pose.position, relative.pose.rotation, relative.twist, twist, felt, known
    held = outer.position, outer.rotation, inner.position, inner.rotation, carried
    g, g_dot, u, gamma, on_second, on_first, *near = call(trace, *moved, *held, path=path)
    sides = (second.body, on_second, tuple(near[:2])), (first.body, on_first, tuple(near))
    columns = {body: block for body, block, _ in sides if isinstance(body, Body)}
    seen = {body: parts for body, _, parts in sides if isinstance(body, Body)} if through else None
    return Closure(element, group_sizes(element), g, g_dot, u, columns, gamma, through=seen)


def rows_on_bodies(gamma: Matrix, turn: Matrix, carried: Matrix, between: Pose) -> tuple[Matrix, Matrix]:
    """G on the twists of second and first body, from the rows on the relative twist (first-frame axes): `turn` is the
    rotation between the frames, `carried` the twist matrix of the second, `between` the second body in the first.
    """
    on_second = gamma @ ca.diagcat(turn, turn) @ carried
    return on_second, -on_second @ twist_matrix(between)


def _trace_placed_coupling(kinematics: Kinematics, coupling: Coupling) -> Closure[Joint]:
    """A coupling's rows on the speeds of bodies that are placed in the world one by one."""
    call, path = kinematics.tracer.call, kinematics.model.path(coupling)
    closure = _trace_body_coupling(kinematics, coupling, lambda ground: kinematics.absolute(ground).bias)
    bias = closure.bias
    columns: dict[Joint, Matrix] = {}
    for link in kinematics.topology.links:
        if isinstance(link.carrier, Body) and link.carrier in closure.columns and link.joint is not None:
            block, step = closure.columns[link.carrier], kinematics.step(link)
            columns[link.joint] = call(lambda g, s: g @ s, block, step.subspace, path=path)
            bias = call(lambda u, g, b: u + g @ b, bias, block, kinematics.local_bias(link), path=path)
    return Closure(coupling, closure.groups, closure.residual, closure.rate, bias, columns)


def _trace_body_coupling(
    kinematics: Kinematics, coupling: Coupling, ground_acceleration: GroundAcceleration
) -> Closure[Body]:
    """A coupling's rows on bodies: a joint's speeds are E^T times the relative twist of its frames, with the wrenches E
    of its efforts, E^T S = 1, so that multipliers act as efforts do (on a screw: as a torque, which pushes nothing).
    """
    from kompono.translate.motion.loads import effort_wrench  # runs from the cache go without

    inner = trace_coupling(kinematics, coupling)
    path, call = kinematics.model.path(coupling), kinematics.tracer.call
    bias = inner.bias
    columns: dict[Body, Matrix] = {}
    for joint in dict.fromkeys(coupling.joints):
        q, v = kinematics.joint_state(joint)
        relative = kinematics.relative(joint.first.body, joint.second.body)
        frame, carried = kinematics.frames.locate(joint.second), kinematics.frames.carried(joint.second)
        law = kinematics.model.pair(joint)

        def trace(
            row: Matrix, q: Vector, v: Vector, p: Vector, r: Matrix, moving: Vector, w2: Vector,
            law: Joint = law, frame: Pose = frame, carried: Matrix = carried,
        ) -> tuple[Matrix, ...]:  # fmt: skip
            picked = row @ effort_wrench(law, law.subspace(q), ca.SX.eye(law.freedoms)).T
            inner_twist, inner_moving = carry_twist(frame, w2), carry_twist(frame, moving)
            u = picked @ (-twist_cross(inner_twist, inner_moving) - law.subspace_rate(q, v))
            on_second = picked @ carried
            return u, on_second, -on_second @ twist_matrix(Pose(p, r))

        twist = kinematics.absolute(joint.second.body).twist
        place = (relative.pose.position, relative.pose.rotation, relative.twist, twist)
        u, *blocks = call(trace, inner.columns[joint], q, v, *place, path=path)
        bias = call(lambda a, b: a + b, bias, u, path=path)
        for carrier, block in zip((joint.second.body, joint.first.body), blocks, strict=True):
            if not isinstance(carrier, Body):
                known = ground_acceleration(carrier)
                bias = call(lambda u, g, a: u + g @ a, bias, block, known, path=path)
            elif carrier in columns:
                columns[carrier] = call(lambda a, b: a + b, columns[carrier], block, path=path)
            else:
                columns[carrier] = block
    return Closure(coupling, inner.groups, inner.residual, inner.rate, bias, columns)
