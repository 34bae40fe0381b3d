"""What frames and sensors see: positions and velocities from the kinematics, accelerations from those of the bodies.

Nothing here depends on the engine: `Kinematics` gives the motion of one frame relative to another, `acceleration` the
spatial acceleration (6) of a carrier's working frame in the world, in its own axes. For a second frame with twist w2
and acceleration a2 seen from a first with w1, a1, all carried to the second frame:

    moving = w2 - w1        change = a2 - a1 - w2 x moving        classical: change + (omega x v, 0) of `moving`

The first line is what any rigid body obeys: a_P = a + alpha x r + omega x (omega x r) is `carry_twist` of the
acceleration with the last term.
"""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca

from kompono.model.body import Carrier, Frame
from kompono.model.element import Element
from kompono.model.sensor import Sensor
from kompono.spatial.pose import Pose
from kompono.spatial.rotation import matrix_quaternion
from kompono.spatial.vectors import carry_twist, twist_cross
from kompono.translate.motion.kinematics import Kinematics
from kompono.translate.motion.results import ResultUsed
from kompono.translate.symbolic import Matrix, Vector

Acceleration = Callable[[Carrier], Vector]  # carrier -> spatial acceleration of its working frame
Pair = tuple[Vector, Vector]


def frame_signal(kinematics: Kinematics, frame: Frame, kind: str, acceleration: Acceleration | None) -> Vector:
    """Position, velocity, acceleration, angular velocity or angular acceleration of a frame in world axes (3)."""
    if not kind.endswith("acceleration"):
        return getattr(kinematics.motion(None, frame), kind)
    known = _results(kinematics, frame.body, acceleration)
    return frame_acceleration(kinematics, frame, known)[kind == "angular_acceleration"]


def sensor_signal(kinematics: Kinematics, sensor: Sensor, kind: str, acceleration: Acceleration | None) -> Vector:
    """A value of a sensor (3, orientation 4), in the axes it shows."""
    path = kinematics.model.path(sensor)
    view = _view(kinematics, sensor)
    call = kinematics.tracer.call
    if kind.endswith("acceleration"):
        known = _results(kinematics, sensor, acceleration)
        pair = relative_acceleration(kinematics, sensor.base, sensor.frame, known)
        return call(lambda r, a: r @ a, view, pair[kind == "angular_acceleration"], path=path)
    motion = kinematics.motion(sensor.base, sensor.frame)
    if kind == "orientation":
        return call(lambda r, s: matrix_quaternion(r @ s), view, motion.rotation, path=path)
    return call(lambda r, value: r @ value, view, getattr(motion, kind), path=path)


def _view(kinematics: Kinematics, sensor: Sensor) -> Matrix:
    """Rotation (3, 3) from the axes of the base into those the sensor shows."""
    if sensor.axes is None:
        return ca.SX.eye(3)
    base = sensor.base if sensor.base is not None else kinematics.topology.world
    return kinematics.motion(sensor.axes, base).rotation


def _results(kinematics: Kinematics, element: Element, acceleration: Acceleration | None) -> Acceleration:
    if acceleration is None:
        raise ResultUsed(f"the acceleration of {kinematics.model.path(element)}", (kinematics.tracer.path,))
    return acceleration


def frame_acceleration(kinematics: Kinematics, frame: Frame, acceleration: Acceleration) -> Pair:
    """Classical linear and angular acceleration of a frame in world axes (3 each)."""
    absolute = kinematics.absolute(frame.body)
    inner = kinematics.frames.locate(frame)

    def trace(r: Matrix, twist: Vector, a: Vector) -> Pair:
        turned = r @ inner.rotation
        w, b = carry_twist(inner, twist), carry_twist(inner, a)
        return turned @ (b[:3] + ca.cross(w[3:], w[:3])), turned @ b[3:]

    path = kinematics.model.path(frame.body)
    return kinematics.tracer.call(trace, absolute.pose.rotation, absolute.twist, acceleration(frame.body), path=path)


def relative_acceleration(
    kinematics: Kinematics, first: Frame | None, second: Frame, acceleration: Acceleration
) -> Pair:
    """Linear and angular acceleration (3 each) of `second` as seen from `first` (None: the world), in first's axes."""
    if first is None:
        return frame_acceleration(kinematics, second, acceleration)
    motion = kinematics.motion(first, second)

    def trace(p: Vector, r: Matrix, w1: Vector, w2: Vector, a1: Vector, a2: Vector) -> Pair:
        moving, change = relative_change(kinematics, first, second, Pose(p, r), (w1, w2), (a1, a2))
        return r @ (change[:3] + ca.cross(moving[3:], moving[:3])), r @ change[3:]

    bodies = (first.body, second.body)
    twists = [kinematics.absolute(body).twist for body in bodies]
    path = kinematics.model.path(second.body)
    return kinematics.tracer.call(
        trace, motion.position, motion.rotation, *twists, *[acceleration(body) for body in bodies], path=path
    )


def relative_change(kinematics: Kinematics, first: Frame, second: Frame, pose: Pose, twists: Pair, rates: Pair) -> Pair:
    """Twist of `second` relative to `first` and its rate (6 each), in second's axes, from `pose` of the one in the
    other and from twists and spatial accelerations of both working frames.
    """
    outer, inner = kinematics.frames.locate(first), kinematics.frames.locate(second)
    twist = carry_twist(inner, twists[1])
    moving = twist - carry_twist(pose, carry_twist(outer, twists[0]))
    rate = carry_twist(inner, rates[1]) - carry_twist(pose, carry_twist(outer, rates[0]))
    return moving, rate - twist_cross(twist, moving)
