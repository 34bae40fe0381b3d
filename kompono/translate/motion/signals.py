"""Bind the symbols a model's expressions may use to traced values of one state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kompono.errors import TranslationError
from kompono.translate.motion.kinematics import Kinematics
from kompono.translate.motion.sensors import Acceleration, frame_signal, sensor_signal
from kompono.translate.symbolic import Vector
from kompono.translate.tracer import Tracer

if TYPE_CHECKING:
    from kompono.translate.motion.readings import Loaded, Readings


def bind_signals(
    tracer: Tracer,
    kinematics: Kinematics,
    acceleration: Acceleration | None = None,
    readings: Readings | None = None,
) -> None:
    """Let kernels traced from now on use joint coordinates, body motion and sensors of this state; with `acceleration`
    and `readings` also results: accelerations and loads.
    """
    model = kinematics.model
    tracer.unbind()
    for joint in dict.fromkeys((*kinematics.topology.tree_joints, *model.joints)):
        tracer.define(joint.q, lambda joint=joint: kinematics.joint_state(joint)[0])
        tracer.define(joint.v, lambda joint=joint: kinematics.joint_state(joint)[1])
    for carrier in (*model.bodies, *model.grounds):
        for frame in carrier._frames_with_signals:
            for kind, symbols in frame._signals.items():
                tracer.define(symbols, lambda f=frame, k=kind: frame_signal(kinematics, f, k, acceleration))
    for sensor in model.sensors:
        for kind, symbols in sensor._signals.items():
            tracer.define(symbols, lambda s=sensor, k=kind: sensor_signal(kinematics, s, k, acceleration))
    bind_results(tracer, kinematics, acceleration, readings)


def bind_results(
    tracer: Tracer, kinematics: Kinematics, acceleration: Acceleration | None, readings: Readings | None
) -> None:
    """Give accelerations and loads a meaning, whatever motion is bound; who uses none of them pays nothing."""
    model = kinematics.model
    for carrier in (*model.bodies, *model.grounds):
        for frame in carrier._frames_with_signals:
            for kind, symbols in frame._signals.items():
                if kind.endswith("acceleration"):
                    tracer.define(symbols, lambda f=frame, k=kind: frame_signal(kinematics, f, k, acceleration))
    for sensor in model.sensors:
        for kind, symbols in sensor._signals.items():
            if kind.endswith("acceleration"):
                tracer.define(symbols, lambda s=sensor, k=kind: sensor_signal(kinematics, s, k, acceleration))
    loaded = (model.joints, model.constraints, model.couplings, model.forces, model.efforts, model.cells, model.laws)
    for element in (element for kind in loaded for element in kind):
        for kind, symbols in vars(element).get("_signals", {}).items():
            tracer.define(symbols, lambda e=element, k=kind: _read(tracer, kinematics, readings, e, k))


def _read(tracer: Tracer, kinematics: Kinematics, readings: Readings | None, element: Loaded, kind: str) -> Vector:
    if readings is None:
        raise TranslationError(
            f"it uses the {kind.replace('.', '_')} of {kinematics.model.path(element)}, which is a result.",
            path=tracer.path,
            fix="Loads are known after the solution: use them in an Output or Event. A law may use what they follow from.",
        )
    return readings.signal(element, kind)
