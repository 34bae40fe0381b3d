"""What elements exert at the present state: loads of forces, efforts, constraints, joints and laws, for channels,
outputs and events.

Every load is a force and a torque on the second body, about the second frame's origin, in world axes. Forces and
efforts are their own laws evaluated once more, for the derivative keeps sums only; constraints act through multipliers.
Constraints that a joint of the tree stands for have none: its load is shared out among them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from kompono.errors import TranslationError
from kompono.model.body import Frame
from kompono.model.constraint import Constraint, Coupling
from kompono.model.element import Element
from kompono.model.force import Effort, Force
from kompono.model.joint import Joint
from kompono.model.law import Law
from kompono.model.load_cell import LoadCell
from kompono.model.reading import effort_unit
from kompono.spatial.pose import Motion, Pose, pose_jacobian, symbolic_pose
from kompono.spatial.vectors import carry_wrench_back
from kompono.translate.declared.elaborate import Elaborated
from kompono.translate.lengths import put_in
from kompono.translate.motion.conditions import Closing, Closure, column_of
from kompono.translate.motion.kinematics import Kinematics
from kompono.translate.motion.loads import check_shape, effort_wrench
from kompono.translate.patterns import Instance
from kompono.translate.structure.mates import MatedPair
from kompono.translate.symbolic import Matrix, Vector

XYZ = ("x", "y", "z")

Loaded = Closing | Force | Effort | LoadCell | Law  # what exerts or measures a load
Multipliers = Callable[[Element], Vector]


@dataclass(frozen=True)
class TracedReading:
    """One kind of value of an element: name, names of the components (one empty name: a scalar), units, value."""

    kind: str
    components: tuple[str, ...]
    units: tuple[str, ...]
    value: Vector

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the channels after the element's path."""
        return tuple(f"{self.kind}.{part}" if part else self.kind for part in self.components)


class Readings:
    """Loads of all elements, traced when asked for.

    `multipliers` gives those of what closes a loop, `wrench_of` the load (6) of a joint on its second frame in that
    frame's axes, `of_law` what is read off a law with modes.
    """

    def __init__(
        self,
        kinematics: Kinematics,
        closures: dict[Element, Closure],
        multipliers: Multipliers,
        wrench_of: Callable[[Joint], Vector],
        of_law: Callable[[Law], Iterator[TracedReading]],
    ) -> None:
        self.kinematics, self.closures, self.multipliers, self.wrench_of = kinematics, closures, multipliers, wrench_of
        self.of_law = of_law
        self.tracer, self.path = kinematics.tracer, kinematics.model.path
        self._known: dict[Element, tuple[TracedReading, ...]] = {}

    def of(self, element: Loaded) -> tuple[TracedReading, ...]:
        """All that can be read off an element."""
        if element not in self._known:
            self._known[element] = tuple(self._make(element))
        return self._known[element]

    def signal(self, element: Loaded, kind: str) -> Vector:
        """The value of one of an element's symbols; of a law's units all of that kind, one below the other."""
        found: dict[str, Vector] = {}
        for reading in self.of(element):
            last = reading.kind.rpartition(".")[2]
            name = last if isinstance(element, Law) and last not in ("force", "torque") else reading.kind
            found[name] = ca.vertcat(found[name], reading.value) if name in found else reading.value
        if kind not in found:
            fix = f"It has {', '.join(found) or 'none'}."
            raise TranslationError(f"{type(element).__name__} has no {kind} to read.", path=self.path(element), fix=fix)
        return found[kind]

    def _make(self, element: Loaded) -> Iterator[TracedReading]:
        if isinstance(element, Law):
            yield from self.of_law(element)
        elif isinstance(element, Coupling):
            yield self._coupling(element)
        elif isinstance(element, Force):
            yield from self._force(element)
        elif isinstance(element, Effort):
            yield from self._effort(element)
        elif isinstance(element, LoadCell):
            yield from self._cell(element)
        elif isinstance(element, Joint):
            yield from self._turned(element, element.second, self.wrench_of(element))
        else:
            yield from self._turned(element, element.second, self._constraint(element))

    def _turned(self, element: Element, frame: Frame, wrench: Vector) -> Iterator[TracedReading]:
        """A load (6) in a frame's axes, in world axes."""
        rotation = self.kinematics.motion(None, frame).rotation
        pair = self.tracer.call(lambda r, f: (r @ f[:3], r @ f[3:]), rotation, wrench, path=self.path(element))
        return load_readings(*pair)

    def _coupling(self, coupling: Coupling) -> TracedReading:
        """The generalized force a gear or drive exerts along its conditions."""
        multiplier = self.multipliers(coupling)
        count = multiplier.numel()
        names = ("",) if count == 1 else tuple(str(k) for k in range(count))
        units = tuple(effort_unit(unit) for unit in coupling.units) or ("",) * count
        if len(units) != count:
            raise TranslationError(
                f"its units {coupling.units} are not one for each of its {count} conditions.",
                path=self.path(coupling),
                fix="Give one unit for each.",
            )
        return TracedReading("effort", names, units, self.tracer.call(lambda m: -m, multiplier))

    def _force(self, force: Force) -> Iterator[TracedReading]:
        path, motion = self.path(force), self.kinematics.motion(force.first, force.second)
        law = self.kinematics.model.law(force)
        turn = ca.SX.eye(3) if force.first is None else self.kinematics.motion(None, force.first).rotation
        names: dict[str, str] = {}

        def trace(p: Vector, r: Matrix, v: Vector, w: Vector, turn: Matrix) -> tuple[Vector, ...]:
            seen = Motion(p, r, v, w)
            load = law.wrench(seen)
            f, m = ca.SX(load.force), ca.SX(load.torque)
            own = law.readings(seen)
            for name, (value, unit) in own.items():
                check_shape(ca.SX(value), (1, 1), f"the reading {name!r}", path)
                names[name] = unit
            lengths = () if force.first is None else (seen.length, seen.length_rate)
            return turn @ f, turn @ m, ca.dot(f, v) + ca.dot(m, w), *lengths, *[value for value, _ in own.values()]

        place = (motion.position, motion.rotation, motion.velocity, motion.angular_velocity)
        values = self.tracer.call(trace, *place, turn, path=path, free=True)
        yield from load_readings(values[0], values[1])
        scalars = {"power": "W", **({} if force.first is None else {"length": "m", "length.rate": "m/s"}), **names}
        for (name, unit), value in zip(scalars.items(), values[2:], strict=True):
            yield TracedReading(name, ("",), (unit,), value)

    def _effort(self, effort: Effort) -> Iterator[TracedReading]:
        joint, path, call, law = effort.joint, self.path(effort), self.tracer.call, self.kinematics.model.law(effort)
        q, v = self.kinematics.joint_state(joint)
        value = call(lambda q, v: ca.SX(law.effort(q, v)), q, v, path=path, free=True)
        names = joint.coordinates if joint.speeds is None else joint.speeds
        yield TracedReading("effort", names if joint.freedoms > 1 else ("",), joint.units_of_efforts(), value)
        yield TracedReading("power", ("",), ("W",), call(ca.dot, value, v, path=path))
        subspace = self.kinematics.model.pair(joint).subspace
        wrench = call(lambda q, f: effort_wrench(joint, subspace(q), f), q, value, path=path)
        yield from self._turned(effort, joint.second, wrench)

    def _cell(self, cell: LoadCell) -> Iterator[TracedReading]:
        call, path = self.tracer.call, self.path(cell)
        force, torque = (self.signal(cell.element, kind) for kind in ("force", "torque"))
        if cell.on == "first":
            force, torque = call(lambda f, m: (-f, -m), force, torque, path=path)
        if cell.at is not None:
            ends = [self.kinematics.motion(None, frame).position for frame in (cell.loaded, cell.at)]
            torque = call(lambda m, f, p, at: m + ca.cross(p - at, f), torque, force, *ends, path=path)
        if cell.axes is not None:
            rotation = self.kinematics.motion(None, cell.axes).rotation
            force, torque = call(lambda r, f, m: (r.T @ f, r.T @ m), rotation, force, torque, path=path)
        return load_readings(force, torque)

    def _constraint(self, constraint: Constraint) -> Vector:
        """Load (6) on the second frame, in its axes."""
        if constraint in self.closures:
            return closing_wrench(self.kinematics, self.closures[constraint], self.multipliers)
        pair = next(p for p in self.kinematics.topology.mated if any(c is constraint for c in p.constraints))
        wrench = self.wrench_of(pair.joint)
        if not pair.joint.freedoms:
            share = shares_in(self.kinematics.model, pair)[constraint]
            return self.tracer.call(lambda f: share @ f, wrench, path=self.path(constraint))
        between = self.kinematics.motion(pair.joint.first.body, pair.joint.second.body)

        def trace(p: Vector, r: Matrix, f: Vector) -> Vector:
            return share_at(self.kinematics, pair, constraint, Pose(p, r), f)

        return self.tracer.call(trace, between.position, between.rotation, wrench, path=self.path(constraint))


def load_readings(force: Vector, torque: Vector, before: str = "") -> Iterator[TracedReading]:
    """A force and a torque (3 each), with something `before` their names."""
    yield TracedReading(f"{before}force", XYZ, ("N",) * 3, force)
    yield TracedReading(f"{before}torque", XYZ, ("N m",) * 3, torque)


def closing_wrench(kinematics: Kinematics, closure: Closure, multipliers: Multipliers) -> Vector:
    """Load (6) of a closing joint or constraint on its second frame, in that frame's axes."""
    element = closure.element
    assert isinstance(element, Joint | Constraint)
    if not closure.size:
        return ca.SX(6, 1)
    rotation = kinematics.motion(element.first, element.second).rotation

    def trace(gamma: Matrix, multiplier: Vector, r: Matrix) -> Vector:
        load = -(gamma.T @ multiplier)
        return ca.vertcat(r.T @ load[:3], r.T @ load[3:])

    multiplier = multipliers(element)
    return kinematics.tracer.call(trace, closure.gamma, multiplier, rotation, path=kinematics.model.path(element))


def shares_in(model: Elaborated, pair: MatedPair) -> dict[Constraint, Matrix]:
    """What `shares_of` gives, as it is traced."""
    return {one: put_in(model, f"{model.path(one)} share", share) for one, share in shares_of(pair).items()}


def shares_of(pair: MatedPair) -> dict[Constraint, np.ndarray]:
    """By constraint: its load (6) on its second frame (in its axes) from that of the weld on the second body.

    The pose of the pair never changes, so these matrices (6, 6) are constant. With more conditions than six the shares
    are not determined; least squares gives one set that fits.
    """
    between = pair.joint.first.pose @ pair.joint.second.pose.inverse()  # second body in the first
    matrices = _loads_of_mates(pair, between, lambda constraint: constraint, lambda frame: frame.pose)
    own, seen = ([np.asarray(ca.DM(matrix)) for matrix in each] for each in matrices)
    multipliers = np.linalg.pinv(np.hstack(seen))
    result, row = {}, 0
    for constraint, wrench in zip(pair.constraints, own, strict=True):
        share = wrench @ multipliers[row : row + wrench.shape[1]]
        whole = np.round(share)
        result[constraint] = np.where(np.abs(share - whole) < 1e-14, whole, share)
        row += wrench.shape[1]
    return result


def share_at(kinematics: Kinematics, pair: MatedPair, constraint: Constraint, between: Pose, wrench: Vector) -> Vector:
    """The load (6) of one of several mates on its second frame, in its axes, from that of the joint they are.

    `between` is the pose of the second body in the first. Of more conditions than are independent those bear that are
    not implied by others: one set that fits.
    """
    own, seen = _loads_of_mates(pair, between, kinematics.model.pair, kinematics.frames.declared)
    bearing = list(pair.bearing)
    matrix = ca.horzcat(*seen)[:, bearing]
    multipliers = ca.solve(ca.densify(matrix.T @ matrix), ca.densify(matrix.T @ wrench))
    first = 0
    for each, load in zip(pair.constraints, own, strict=True):
        if each is constraint:
            mine = [k for k, row in enumerate(bearing) if first <= row < first + load.shape[1]]
            return load[:, [bearing[k] - first for k in mine]] @ multipliers[mine] if mine else ca.SX(6, 1)
        first += load.shape[1]
    raise TranslationError("internal: a mate of another pair")


def _loads_of_mates(
    pair: MatedPair, between: Pose, law: Callable[[Constraint], Any], on_body: Callable[[Frame], Pose]
) -> tuple[list[Matrix], list[Matrix]]:
    """Per multiplier of each constraint (6, rows): its load on its own second frame, in its axes, and the same load, or
    its opposite, on the second body of the joint, at the joint's second frame. `law` says what a constraint is asked
    as, `on_body` where a frame is.
    """
    joint = pair.joint
    own, seen = [], []
    for constraint in pair.constraints:
        forward = constraint.first.body is joint.first.body
        first, second = on_body(constraint.first), on_body(constraint.second)
        pose = first.inverse() @ (between if forward else between.inverse()) @ second
        symbols = symbolic_pose()
        g = ca.densify(ca.vertcat(*[ca.vec(ca.SX(group)) for group in law(constraint).conditions(symbols)]))
        gamma = Instance([column_of(symbols)], [ca.densify(pose_jacobian(g, symbols))])
        back = ca.diagcat(pose.rotation.T, pose.rotation.T)
        wrench = back @ gamma(ca.densify(column_of(pose)))[0].T
        own.append(wrench)
        place = on_body(joint.second).inverse() @ (second if forward else between.inverse() @ second)
        sign = 1.0 if forward else -1.0
        seen.append(ca.horzcat(*[sign * carry_wrench_back(place, wrench[:, k]) for k in range(wrench.shape[1])]))
    return own, seen
