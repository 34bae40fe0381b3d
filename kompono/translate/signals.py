"""Bind the symbols a model's expressions may use to traced values of one state."""

from __future__ import annotations

from kompono.translate.kinematics import Kinematics
from kompono.translate.sensors import Acceleration, frame_signal, sensor_signal
from kompono.translate.tracer import Tracer


def bind_signals(tracer: Tracer, kinematics: Kinematics, acceleration: Acceleration | None = None) -> None:
    """Let kernels traced from now on use joint coordinates, body motion and sensors of this state."""
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
    for sensor in model.sensors:
        for kind, symbols in sensor._signals.items():
            tracer.define(symbols, lambda s=sensor, k=kind: sensor_signal(kinematics, s, k, acceleration))
