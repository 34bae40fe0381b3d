"""Channels of the result: motion of bodies, coordinates and reactions of joints, what laws do, energy, drift and
declared outputs.
"""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca

from kompono.model.body import Body, Carrier
from kompono.model.constraint import Constraint, Coupling
from kompono.model.controller import Controller
from kompono.model.element import Element
from kompono.model.joint import Joint
from kompono.model.law import Law, is_law
from kompono.model.lumped import Lump
from kompono.model.sensor import SENSED, Sensor
from kompono.spatial.pose import Motion, Pose
from kompono.spatial.rotation import matrix_quaternion
from kompono.spatial.vectors import carry_wrench_back
from kompono.translate.declared.open_signals import said
from kompono.translate.elimination.inertia_form import ground_acceleration, lump_block
from kompono.translate.elimination.unknowns import Solution
from kompono.translate.laws.seen import LawReadings
from kompono.translate.motion.conditions import Closure
from kompono.translate.motion.joint_steps import joint_subspace, rate_along
from kompono.translate.motion.kinematics import Kinematics, speeds_of_twist
from kompono.translate.motion.loads import Loads, body_inertia, effort_on_bodies, effort_wrench
from kompono.translate.motion.readings import Loaded, Readings, closing_wrench
from kompono.translate.motion.sensors import frame_acceleration, relative_change, sensor_signal
from kompono.translate.motion.signals import bind_signals
from kompono.translate.motion.states import state_rates
from kompono.translate.program import Channel
from kompono.translate.structure.lumps import traced_lump
from kompono.translate.symbolic import Matrix, Scalar, Vector

_XYZ = ("x", "y", "z")


def trace_channels(
    kinematics: Kinematics, loads: Loads, closures: dict[Element, Closure], solution: Solution
) -> tuple[tuple[Channel, ...], list[Vector]]:
    """All channels and their traced values, in the same order."""
    writer = ChannelWriter(kinematics, loads, closures, solution)
    writer.elements()
    writer.energy()
    writer.drift()
    writer.declared()
    return tuple(writer.channels), writer.values


class ChannelWriter:
    """Channels and their traced values, added element by element.

    `hanging` gives, by body, inertia (6, 6) and bias (6) of what hangs on bodies without being part of the model.
    """

    def __init__(
        self,
        kinematics: Kinematics,
        loads: Loads,
        closures: dict[Element, Closure],
        solution: Solution,
        hanging: Mapping[Body, tuple[Matrix, Vector]] | None = None,
    ) -> None:
        self.kinematics, self.loads, self.closures, self.solution = kinematics, loads, closures, solution
        self.hanging = hanging or {}
        self.model, self.tracer = kinematics.model, kinematics.tracer
        self.bodies = self.model.bodies
        self.channels: list[Channel] = []
        self.values: list[Vector] = []
        self._transmitted: dict[Carrier, Vector] | None = None
        laws = LawReadings(kinematics, closures, solution.rows)
        self.readings = Readings(kinematics, closures, solution.rows, self.reaction, laws.of)

    def write(
        self,
        path: str,
        names: tuple[str, ...],
        unit: str | tuple[str, ...],
        value: Vector,
        angles: tuple[bool, ...] = (),
    ) -> None:
        units = (unit,) * len(names) if isinstance(unit, str) else unit
        flags = angles or (False,) * len(names)
        for name, one, flag in zip(names, units, flags, strict=True):
            self.channels.append(Channel(f"{path}.{name}" if path else name, one, flag))
        self.values.append(ca.densify(ca.SX(value)))

    def elements(self) -> None:
        """What bodies, joints, loads and sensors do."""
        for body in self.bodies:
            self.body(body)
        for joint in self.model.joints:
            self.joint(joint)
        model = self.model
        for element in (
            *model.constraints, *model.couplings, *model.forces, *model.efforts, *model.cells, *model.laws,
        ):  # fmt: skip
            self.load(element)
        for sensor in model.sensors:
            self.sensor(sensor)
        for lump in model.lumps:
            self.lump(lump)

    def acceleration(self, carrier: Carrier) -> Vector:
        """Spatial acceleration in the world (the uniform field added back)."""
        if isinstance(carrier, Body):
            relative = self.solution.body(carrier)
        else:
            relative = ground_acceleration(self.kinematics, self.loads, carrier)
        rotation = self.kinematics.absolute(carrier).pose.rotation
        return self.tracer.call(
            lambda a, r, g: ca.vertcat(a[:3] + r.T @ g, a[3:]), relative, rotation, self.loads.uniform
        )

    def body(self, body: Body) -> None:
        path = self.model.path(body)
        motion = self.kinematics.motion(None, body)
        orientation = self.tracer.call(lambda r: matrix_quaternion(r), motion.rotation, path=path)
        linear, angular = frame_acceleration(self.kinematics, body, self.acceleration)
        self.write(f"{path}.position", _XYZ, "m", motion.position)
        self.write(f"{path}.orientation", ("e0", "e1", "e2", "e3"), "", orientation)
        self.write(f"{path}.velocity", _XYZ, "m/s", motion.velocity)
        self.write(f"{path}.angular_velocity", _XYZ, "rad/s", motion.angular_velocity)
        self.write(f"{path}.acceleration", _XYZ, "m/s^2", linear)
        self.write(f"{path}.angular_acceleration", _XYZ, "rad/s^2", angular)

    def joint(self, joint: Joint) -> None:
        path = self.model.path(joint)
        measured = joint.coordinates and joint.measure(Pose(ca.SX.zeros(3), ca.SX.eye(3))) is not None
        if measured or joint in self.kinematics.q:
            self._coordinates(joint, path)
        self.load(joint)

    def load(self, element: Loaded) -> None:
        """What a joint, constraint, coupling, force, effort, load cell or law exerts."""
        path = self.model.path(element)
        for reading in self.readings.of(element):
            self.write(path, reading.names, reading.units, reading.value)

    def _coordinates(self, joint: Joint, path: str) -> None:
        if not joint.coordinates:
            return
        q, v = self.kinematics.joint_state(joint)
        v_dot = self._joint_acceleration(joint, q, v, path)

        rate, second = self.tracer.call(self.kinematics.rates(joint), q, v, v_dot, path=path)
        names, units = joint.coordinates, joint.units or ("",) * len(joint.coordinates)
        closes = joint not in self.kinematics.q and joint not in self.kinematics.counted
        self.write(path, names, units, q, tuple(closes and unit == "rad" for unit in units))
        self.write(path, tuple(f"{n}.rate" for n in names), tuple(f"{u or 1}/s" for u in units), rate)
        self.write(path, tuple(f"{n}.acceleration" for n in names), tuple(f"{u or 1}/s^2" for u in units), second)
        if joint.speeds is not None:
            self.write(path, joint.speeds, joint.units_of_speeds(), v)

    def _joint_acceleration(self, joint: Joint, q: Vector, v: Vector, path: str) -> Vector:
        if joint in self.kinematics.q:
            return self.solution.joint(joint)
        motion = self.kinematics.motion(joint.first, joint.second)
        twist = [self.kinematics.absolute(f.body).twist for f in (joint.first, joint.second)]
        a = [self.acceleration(f.body) for f in (joint.first, joint.second)]
        law = self.model.pair(joint)

        def trace(q: Vector, v: Vector, p: Vector, r: Matrix, w1: Vector, w2: Vector, a1: Vector, a2: Vector) -> Vector:
            ends = joint.first, joint.second
            _, change = relative_change(self.kinematics, *ends, Pose(p, r), (w1, w2), (a1, a2))
            return speeds_of_twist(law.subspace(q), change - rate_along(law, False, q, v))

        return self.tracer.call(trace, q, v, motion.position, motion.rotation, *twist, *a, path=path)

    def reaction(self, joint: Joint | Constraint) -> Vector:
        """Force and torque (6) on the second body at the second frame's origin, in that frame's axes."""
        if joint in self.closures:
            return closing_wrench(self.kinematics, self.closures[joint], self.solution.rows)
        assert isinstance(joint, Joint)
        return self._tree_reaction(joint, self.model.path(joint))

    def _tree_reaction(self, joint: Joint, path: str) -> Vector:
        link = next(link for link in self.kinematics.topology.links if link.joint is joint)
        total = self.transmitted()[link.carrier]
        effort = self._driving_effort(joint, path)
        q, law = self.kinematics.q[joint], self.model.pair(joint)

        def trace(total: Vector, q: Vector, effort: Vector) -> Vector:
            if joint.freedoms:
                total = total - effort_wrench(joint, joint_subspace(law, q, link.reverse), effort)
            if link.reverse:  # total acts on the first body at the first frame; move it to the second and turn it round
                total = -carry_wrench_back(joint_pose_of_first(law, q), total)
            return total

        return self.tracer.call(trace, total, q, effort, path=path)

    def _driving_effort(self, joint: Joint, path: str) -> Vector:
        """What efforts, gears, drives and inertia on its speeds exert on a tree joint: not part of its reaction."""
        total = self.loads.efforts.get(joint, ca.SX(joint.freedoms, 1))
        block = lump_block(self.kinematics, joint)
        if block is not None:
            total = self.tracer.call(lambda t, m, a: t - m @ a, total, block, self.solution.joint(joint), path=path)
        for key, closure in self.closures.items():
            meant = closure.columns if closure.direct is None else closure.direct
            if isinstance(closure.element, Coupling) and joint in meant:
                rows = self.solution.rows(key)
                total = self.tracer.call(lambda t, g, m: t - g.T @ m, total, meant[joint], rows, path=path)
        return total

    def sensor(self, sensor: Sensor) -> None:
        """All a sensor sees."""
        path = self.model.path(sensor)
        for kind, (names, unit) in SENSED.items():
            value = sensor_signal(self.kinematics, sensor, kind, self.acceleration)
            self.write(f"{path}.{kind}", names, unit, value)

    def lump(self, lump: Lump) -> None:
        """The coordinate of what turns along with a joint."""
        path, place = self.model.path(lump.shown), lump.place
        q, v = self.kinematics.joint_state(lump.joint)
        values = (q[place], v[place], self.solution.joint(lump.joint)[place])
        (name,), (unit,), ratio = lump.shown.coordinates, lump.shown.units, traced_lump(self.model, lump).ratio
        for value, kind, per in zip(values, ("", ".rate", ".acceleration"), ("", "/s", "/s^2"), strict=True):
            turned = self.tracer.call(lambda x: ratio * x, value, path=path)
            self.write(path, (f"{name}{kind}",), f"{unit}{per}", turned)

    def transmitted(self) -> dict[Carrier, Vector]:
        """Wrench each tree joint exerts on its child, in the child's working frame: Newton-Euler, leaves to root."""
        if self._transmitted is not None:
            return self._transmitted
        call = self.tracer.call
        total: dict[Carrier, Vector] = {}
        for body in self.model.bodies:
            a, bias, path = self.solution.body(body), self.loads.bias(body), self.model.path(body)
            if body in self.kinematics.stand_ins:
                shown = self.kinematics.stand_ins[body].inertia
                total[body] = call(lambda a, b, m: m @ a + b, a, bias, shown, path=path)
            else:
                inertia = body_inertia(self.kinematics, body)
                total[body] = call(lambda a, b, m=inertia: m @ a + b, a, bias, path=path)
        for key, (inertia, bias) in self.hanging.items():
            total[key] = call(lambda t, m, b, a: t + m @ a + b, total[key], inertia, bias, self.solution.body(key))
        self._subtract_closing(total)
        self._subtract_at_ports(total)
        for link in reversed(self.kinematics.topology.links):
            if link.joint is not None and not link.crosses and link.parent in total:
                step = self.kinematics.step(link)
                total[link.parent] = call(
                    lambda t, f, p, r: t + carry_wrench_back(Pose(p, r), f),
                    total[link.parent], total[link.carrier], step.pose.position, step.pose.rotation,
                    path=self.model.path(link.carrier),
                )  # fmt: skip
        self._transmitted = total
        return total

    def _subtract_at_ports(self, total: dict[Carrier, Vector]) -> None:
        """Take what crosses borders off what tree joints must carry."""

    def _subtract_closing(self, total: dict[Carrier, Vector]) -> None:
        """Take the wrenches of closing joints and constraints off what tree joints must carry."""
        frames = self.kinematics.frames
        for key, closure in self.closures.items():
            self._subtract_direct(total, closure, self.solution.rows(key))
            if closure.gamma is None or not closure.size:
                continue
            element = closure.element
            assert isinstance(element, Joint | Constraint)
            motion = self.kinematics.motion(element.first, element.second)
            outer, inner = frames.locate(element.first), frames.locate(element.second)

            def trace(
                gamma: Matrix, multiplier: Vector, p: Vector, r: Matrix, op: Vector, orr: Matrix, ip: Vector, ir: Matrix
            ) -> tuple[Vector, Vector]:
                load = -(gamma.T @ multiplier)
                force, torque = load[:3], load[3:]
                on_second = carry_wrench_back(Pose(ip, ir), ca.vertcat(r.T @ force, r.T @ torque))
                return on_second, carry_wrench_back(Pose(op, orr), ca.vertcat(-force, -torque - ca.cross(p, force)))

            places = (motion.position, motion.rotation, outer.position, outer.rotation, inner.position, inner.rotation)
            rows, path = self.solution.rows(key), self.model.path(element)
            wrenches = self.tracer.call(trace, closure.gamma, rows, *places, path=path)
            for frame, wrench in zip((element.second, element.first), wrenches, strict=True):
                if frame.body in total:
                    total[frame.body] = self.tracer.call(lambda t, f: t - f, total[frame.body], wrench)

    def _subtract_direct(self, total: dict[Carrier, Vector], closure: Closure, rows: Vector) -> None:
        """The same for what acts along the freedoms of closing joints."""
        path, call = self.model.path(closure.element), self.tracer.call
        for joint, block in (closure.direct or {}).items():
            if joint in self.kinematics.q:
                continue
            effort = call(lambda g, m: -(g.T @ m), block, rows, path=path)
            q, _ = self.kinematics.joint_state(joint)
            for body, wrench in effort_on_bodies(self.kinematics, joint, q, effort, path):
                if body in total:
                    total[body] = call(lambda t, f: t - f, total[body], wrench, path=path)

    def energy(self) -> None:
        """Kinetic, potential and total energy."""
        kinetic, potential = self.energies()
        total = self.tracer.call(lambda a, b: a + b, kinetic, potential)
        self.write(
            "energy", ("kinetic", "potential", "total"), "J", ca.vertcat(ca.SX(kinetic), ca.SX(potential), ca.SX(total))
        )

    def energies(self) -> tuple[Scalar, Scalar]:
        """Kinetic and potential energy."""
        call = self.tracer.call
        kinetic, potential = ca.SX(1, 1), ca.SX(1, 1)
        for lump in (traced_lump(self.model, one) for one in self.model.lumps):
            speed = self.kinematics.v[lump.joint][lump.place]
            kinetic = call(lambda e, v, m=lump.inertia: e + m * v * v / 2, kinetic, speed)
        for body in self.bodies:
            inertia = body_inertia(self.kinematics, body)
            twist = self.kinematics.absolute(body).twist
            kinetic = call(lambda e, w, m=inertia: e + w.T @ m @ w / 2, kinetic, twist)
            for field in self.model.fields:
                if field.owner is not None and field.owner.contains(body):
                    position, mass = self.kinematics.motion(None, body).position, self.model.solid(body).mass
                    law = self.model.law(field)
                    potential = call(lambda e, x, f=law, m=mass: e + m * f.potential(x), potential, position, free=True)
        for force in self.model.forces:
            m, law = self.kinematics.motion(force.first, force.second), self.model.law(force)
            potential = call(
                lambda e, p, r, v, w, f=law: e + f.potential(Motion(p, r, v, w)),
                potential, m.position, m.rotation, m.velocity, m.angular_velocity, free=True,
            )  # fmt: skip
        for effort in self.model.efforts:
            (q, _), law = self.kinematics.joint_state(effort.joint), self.model.law(effort)
            potential = call(lambda e, q, f=law: e + f.potential(q), potential, q, free=True)
        return kinetic, potential

    def drift(self) -> None:
        """Largest violation of the loop conditions, and of what laws hold, on coordinate and velocity level."""
        for name, worst in zip(("position", "velocity"), drifts(self.kinematics, self.closures), strict=True):
            self.write("drift", (name,), "", worst)

    def declared(self) -> None:
        """Outputs, rates of states, inputs, modes and states; modes of laws are seen by `mode` of their units."""
        bind_signals(self.tracer, self.kinematics, self.acceleration, self.readings)
        for output in self.model.outputs:
            path = self.model.path(output)
            value = self.tracer.call(lambda o=output: said(self.model, o)[0], path=path, free=True)
            self.write("", (path,), output.unit, value)
        for signal in self.model.fed:
            value = self.tracer.call(lambda s=signal: ca.SX(s), path=self.model.path(signal), free=True)
            self.write("", (self.model.path(signal),), signal.unit, value)
        for network in self.model.networks:
            values = self.tracer.call(lambda n=network: n.symbols, path=self.model.path(network), free=True)
            places = {pin: 2 * k for k, pin in enumerate(network.pins)}
            for pin in network.named:
                names, units = (pin.across_name, pin.through_name), (pin.across_unit, pin.through_unit)
                self.write(self.model.path(pin), names, units, values[places[pin] : places[pin] + 2])
        rates = state_rates(self.tracer, self.model)
        for k, state in enumerate(self.model.states):
            self.write("", (f"{self.model.path(state)}.rate",), state.rate_unit, rates[k])
        bind_signals(self.tracer, self.kinematics)
        modes = (mode for mode in self.model.modes if not isinstance(mode._owner, Law | Controller))
        for signal in (*self.model.inputs, *modes, *self.model.states):
            value = self.tracer.call(lambda s=signal: ca.SX(s), free=True)
            self.write("", (self.model.path(signal),), getattr(signal, "unit", ""), value)


def joint_pose_of_first(joint: Joint, q: Vector) -> Pose:
    """Pose of the first frame seen from the second."""
    pose = joint.pose(q)
    return Pose(ca.SX(pose.position), ca.SX(pose.rotation)).inverse()


def drifts(kinematics: Kinematics, closures: Mapping[Element, Closure]) -> tuple[Scalar, Scalar]:
    """Largest violation of conditions, and of what laws hold, on coordinate and velocity level."""
    found, laws = [], LawReadings(kinematics, closures)
    for kind in ("residual", "rate"):
        worst = ca.SX(0)
        for closure in closures.values():
            if closure.size and not is_law(closure.element):
                worst = kinematics.tracer.call(
                    lambda w, g: ca.fmax(w, ca.norm_inf(g)), worst, ca.densify(ca.SX(getattr(closure, kind)))
                )
        worst = laws.drift(kind, worst)
        found.append(quaternion_drift(kinematics, worst) if kind == "residual" else worst)
    return found[0], found[1]


def quaternion_drift(kinematics: Kinematics, worst: Scalar) -> Scalar:
    """How far quaternions are from unit length, or `worst` if that is larger."""
    for joint in kinematics.topology.tree_joints:
        if type(joint).normalize is not Joint.normalize:
            law = kinematics.model.pair(joint)
            worst = kinematics.tracer.call(
                lambda w, q, j=law: ca.fmax(w, 2 * ca.norm_inf(q - j.normalize(q))), worst, kinematics.q[joint]
            )
    return worst
