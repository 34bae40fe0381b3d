"""Bind the symbols a model's expressions may use to traced values of one state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import casadi as ca

from kompono.errors import TranslationError
from kompono.sealed.element import Sealed
from kompono.translate.declared.networks import network_wires
from kompono.translate.declared.open_networks import open_network
from kompono.translate.declared.open_signals import fed, said
from kompono.translate.motion.kinematics import Kinematics
from kompono.translate.motion.results import ResultUsed
from kompono.translate.motion.sensors import Acceleration, frame_signal, sensor_signal
from kompono.translate.symbolic import Vector
from kompono.translate.tracer import Tracer

if TYPE_CHECKING:
    from kompono.model.event import Event, Mode
    from kompono.model.signal import Output
    from kompono.model.state import State
    from kompono.translate.declared.elaborate import Elaborated
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
    bind_wires(tracer, model)
    for output, ask in kinematics.given.signals.items():
        tracer.define(ca.SX(output), lambda ask=ask: ask(kinematics))
    for symbols, ask in kinematics.given.answers:
        tracer.define(symbols, cache(lambda ask=ask: ask(kinematics)))


def bind_wires(tracer: Tracer, model: Elaborated) -> None:
    """Give outputs, connected inputs and pins a meaning: that of their expressions."""
    for output in model.outputs:
        if not isinstance(output.owner, Sealed):
            path = model.path(output)
            tracer.define(ca.SX(output), lambda o=output, p=path: _follow(tracer, p, said(model, o)[0]))
    for mode in model.modes:
        if mode._next is not None:
            tracer.define(ca.SX(mode._next), lambda m=mode: tracer.call(lambda: ca.SX(m), free=True))
    for wire in model.connections:
        path = model.path(wire.target)
        tracer.define(ca.SX(wire.target), lambda w=wire, p=path: _follow(tracer, p, fed(model, w)))
    for network in model.networks:
        path = model.path(network)
        tracer.define(
            network.symbols, cache(lambda n=network, p=path: _follow(tracer, p, open_network(model, n).values))
        )


def bind_next(tracer: Tracer, model: Elaborated, due: Sequence[Mode]) -> None:
    """Let the next values of modes that are due mean what they become."""
    for mode in due:
        if mode._next is not None:
            path = f"{model.path(mode)}.next"
            tracer.define(ca.SX(mode._next), lambda m=mode, p=path: _follow(tracer, p, said(model, m)[0]))


def _follow(tracer: Tracer, path: str, expression: Any) -> Vector:
    """The value of a signal; who used a result on the way is told all of the way."""
    user = tracer.path
    try:
        return tracer.call(lambda: expression, path=path, free=True)
    except ResultUsed as error:
        raise error.further(user) from None
    finally:
        tracer.path = user


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
    for element in (element for kind in _loaded(model) for element in kind):
        for kind, symbols in vars(element).get("_signals", {}).items():
            tracer.define(symbols, lambda e=element, k=kind: _read(tracer, kinematics, readings, e, k))


def uses_results(model: Elaborated) -> list[Event]:
    """The events whose guards or new values use accelerations or loads."""
    return _using(model, [(event, [event.guard, *[new for _, new in event.changes]]) for event in model.events])


def states_with_results(model: Elaborated) -> list[State]:
    """The states whose rates use accelerations or loads."""
    return _using(model, [(state, [state.rate]) for state in model.states])


def samples_with_results(model: Elaborated) -> list[Mode]:
    """The sampled modes whose next values use accelerations or loads."""
    return _using(model, [(mode, [mode._becomes]) for mode in model.sampled])


def _using(model: Elaborated, written: Sequence[tuple[Any, Sequence[Any]]], sampled: bool = False) -> list[Any]:
    """Those elements, given with their expressions, that use accelerations or loads; or, if `sampled`, next values of
    modes.
    """
    if not written:
        return []
    named = [frame._signals for carrier in (*model.bodies, *model.grounds) for frame in carrier._frames_with_signals]
    named += [sensor._signals for sensor in model.sensors]
    columns = [column for signals in named for kind, column in signals.items() if kind.endswith("acceleration")]
    for element in (element for kind in _loaded(model) for element in kind):
        columns += vars(element).get("_signals", {}).values()
    columns += [m._next for m in model.sampled if sampled and m._next is not None]
    results = {symbol.element_hash() for column in columns for symbol in ca.vertsplit(ca.SX(column))}
    wires = {ca.SX(output).element_hash(): output.expression for output in model.outputs}
    wires |= {ca.SX(wire.target).element_hash(): wire.source for wire in model.connections}
    wires |= {ca.SX(m._next).element_hash(): m._becomes for m in model.sampled if m._next is not None}
    wires |= network_wires(model)
    return [
        element for element, expressions in written if results and not results.isdisjoint(_reach(expressions, wires))
    ]


def _reach(expressions: Sequence[Any], wires: Mapping[int, ca.SX]) -> set[int]:
    """Hashes of all symbols that expressions use, themselves or through signals."""
    found: set[int] = set()
    left = [ca.SX(expression) for expression in expressions]
    while left:
        new = {symbol.element_hash() for symbol in ca.symvar(left.pop())} - found
        found |= new
        left += [ca.SX(wires[key]) for key in new if key in wires]
    return found


def outputs_without_results(model: Elaborated) -> list[Output]:
    """The outputs that follow from state, time, inputs and parameters alone, whatever is sampled just now."""
    used = set(_using(model, [(output, [output.expression]) for output in model.outputs], sampled=True))
    return [output for output in model.outputs if output not in used]


def refuse_results(part: Elaborated) -> None:
    """Raise for events and samples of a closed part that use results: it knows them only after its owner."""
    for element in (*uses_results(part), *samples_with_results(part)):
        raise TranslationError(
            "it uses an acceleration or a load, which a closed part knows after its owner.", path=part.path(element),
            fix="Leave the part open, or declare it outside.",
        )  # fmt: skip


def _loaded(model: Elaborated) -> tuple[tuple[Any, ...], ...]:
    return model.joints, model.constraints, model.couplings, model.forces, model.efforts, model.cells, model.laws


def _read(tracer: Tracer, kinematics: Kinematics, readings: Readings | None, element: Loaded, kind: str) -> Vector:
    if readings is None:
        raise ResultUsed(f"the {kind.replace('.', '_')} of {kinematics.model.path(element)}", (tracer.path,))
    return readings.signal(element, kind)
