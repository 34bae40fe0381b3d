"""Bind the symbols a model's expressions may use to traced values of one state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca

from kompono.errors import TranslationError
from kompono.model.body import Frame
from kompono.spatial.pose import Pose
from kompono.spatial.vectors import carry_twist
from kompono.translate.kinematics import Kinematics
from kompono.translate.tracer import Tracer

Acceleration = Callable[[Any], Any]  # carrier -> spatial acceleration of its working frame


def bind_signals(tracer: Tracer, kinematics: Kinematics, acceleration: Acceleration | None = None) -> None:
    """Let kernels traced from now on use joint coordinates and body motion of this state."""
    model = kinematics.model
    tracer.unbind()
    joints = {id(j): j for j in (*kinematics.topology.tree_joints, *model.joints)}
    for joint in joints.values():
        tracer.define(joint.q, lambda joint=joint: kinematics.joint_state(joint)[0])
        tracer.define(joint.v, lambda joint=joint: kinematics.joint_state(joint)[1])
    for carrier in (*model.bodies, *model.grounds):
        for frame in carrier._frames_with_signals:
            for kind, symbols in frame._signals.items():
                tracer.define(symbols, lambda f=frame, k=kind: frame_signal(kinematics, f, k, acceleration))


def frame_signal(kinematics: Kinematics, frame: Frame, kind: str, acceleration: Acceleration | None) -> Any:
    """Position, velocity, acceleration, angular velocity or angular acceleration of a frame in world axes (3)."""
    motion = kinematics.motion(None, frame)
    if kind in ("position", "velocity", "angular_velocity"):
        return getattr(motion, kind)
    if acceleration is None:
        raise TranslationError(
            "a force or constraint uses an acceleration.",
            path=kinematics.model.path(frame.body),
            fix="Accelerations are results: use them in an Output.",
        )
    linear, angular = frame_acceleration(kinematics, frame, acceleration)
    return linear if kind == "acceleration" else angular


def frame_acceleration(kinematics: Kinematics, frame: Frame, acceleration: Acceleration) -> tuple[Any, Any]:
    """Classical linear and angular acceleration of a frame in world axes (3 each)."""
    absolute = kinematics.absolute(frame.body)
    inner = kinematics.frames.locate(frame)

    def trace(r: Any, twist: Any, a: Any) -> tuple[Any, Any]:
        turned = r @ inner.rotation
        w, b = carry_twist(inner, twist), carry_twist(inner, a)
        return turned @ (b[:3] + ca.cross(w[3:], w[:3])), turned @ b[3:]

    path = kinematics.model.path(frame.body)
    return kinematics.tracer.call(trace, absolute.pose.rotation, absolute.twist, acceleration(frame.body), path=path)


def world_pose(kinematics: Kinematics, frame: Frame) -> Pose:
    """Pose of a frame in the world."""
    motion = kinematics.motion(None, frame)
    return Pose(motion.position, motion.rotation)
