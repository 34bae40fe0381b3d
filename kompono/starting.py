"""How a model starts as it is declared: what feeds its inputs, and a state with its loops closed, for decisions of the
translator about redundant conditions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from kompono.compile import Interpreter
from kompono.errors import KomponoError, RunError
from kompono.solve.assemble import Assembly, assemble, check_solvable
from kompono.solve.inputs import Feed, Source
from kompono.translate import placing_program
from kompono.translate.declared.elaborate import Elaborated
from kompono.translate.engines.posed import PosedEngine
from kompono.translate.laws.changing import followed_inputs
from kompono.translate.starts.start import placed_state, start_state

UNLOCKED = 1e-6  # a coordinate [m, rad] or speed that is larger is not locked


def closed_start(engine: PosedEngine) -> np.ndarray | None:
    """The state of an engine in joint coordinates at the start, if it can be assembled; whoever runs the model will
    hear why not.
    """
    from kompono.translate.rank.probe import first_values

    parameters = np.array([parameter.value for parameter in engine.model.parameters], dtype=float)
    try:
        start = start_state(engine, {})
        return assemble(Interpreter(placing_program(engine)), 0.0, start, first_values(engine.model), parameters).state
    except KomponoError:
        return None


def find_start(
    simulation: Any,
    initial: Mapping[str, float] | None,
    parameters: np.ndarray,
    feed: Feed,
    native: bool,
    time: float,
) -> Assembly:
    """A consistent state of a simulation. Start values are joint coordinates on every engine: on those that place every
    body, the tree is assembled first.
    """
    by_joints = simulation.entry.by_joints
    translation = simulation.near if by_joints else simulation.placing
    start, inputs = start_state(translation.engine, initial or {}), feed.at(time)
    if simulation.remote:  # accelerations inside such a part are nobody's business
        kernel = Interpreter(placing_program(translation.engine, translation.engine.shelved))
        assembly = assemble(kernel, time, start, inputs, parameters)
        check_solvable(kernel, time, start, inputs, parameters, assembly)
        return assembly
    if (native or simulation.program.laws) and not (by_joints and simulation.program.opaque):
        kernel = simulation.kernel if by_joints else simulation.placing_kernel
    else:
        kernel = Interpreter(translation.program)
    assembly = assemble(kernel, time, start, inputs, parameters)
    if by_joints:
        return assembly
    (values,) = kernel.evaluate("placement", time, assembly.state, inputs, parameters)
    state = placed_state(simulation.translation.engine, values, translation.engine, assembly.state)
    return replace(assembly, state=state)


def more_independent(simulation: Any, assembly: Assembly) -> bool:
    """Whether more conditions are independent at a start than the translation expects."""
    program = simulation.near.program
    if not program.slips:
        return False
    speeds = program.speeds if simulation.entry.by_joints else simulation.placing.program.speeds
    return len(speeds) - assembly.degrees_of_freedom > program.independent


def unlocked(simulation: Any, state: np.ndarray) -> bool:
    """Whether a state has coordinates elsewhere that loops lock at the declared start: another way to assemble the
    machine.
    """
    locked = list(simulation.near.program.locked)
    return bool(np.any(np.abs(state[locked]) > UNLOCKED)) if len(state) > max(locked, default=0) else False


def check_unfed(model: Elaborated, given: Mapping[str, Any]) -> None:
    """Raise RunError for an input given to a run that a connection feeds."""
    for wire in model.connections:
        path = model.path(wire.target)
        if path in given:
            owner = (wire.owner and model.path(wire.owner)) or type(model.model).__name__
            raise RunError(
                f"it is fed by {wire._name} in {owner}.",
                path=path,
                fix="Leave it out, or take the connection away.",
            )


def check_followed(model: Elaborated, feed: Feed) -> None:
    """Raise RunError for a gap or slip that follows an input that changes: nobody knows how fast. The feed knows which
    must stay.
    """
    feed.followed = followed_inputs(model)
    for name in (source.name for source in feed.sources if source.changes):
        if name in feed.followed:
            raise RunError(
                f"its gap or slip follows the input {name}, which changes: nobody knows how fast.",
                path=feed.followed[name],
                fix="Use time, coordinates, parameters, and modes that events or samples set; keep the input "
                'constant; or use contact="soft".',
            )  # fmt: skip


def declared_controllers(model: Elaborated) -> list[Source]:
    """Python callables that the native loop asks, in order of declaration."""
    return [Source(model.path(one), function=one._function, period=one.every) for one in model.controllers]


def declared_sources(model: Elaborated) -> dict[str, Source]:
    """What feeds each input, by its path."""
    declared = {}
    for signal in model.inputs:
        name = model.path(signal)
        period = float(signal.period or 0)  # of whatever callable feeds it in the end
        if signal.table is not None:
            declared[name] = Source(name, table=signal.table, period=period)
        elif signal.factory is not None:
            declared[name] = Source(name, factory=signal.factory, period=period)
        elif callable(signal.value):
            declared[name] = Source(name, function=signal.value, period=period)
        else:
            declared[name] = Source(name, value=float(signal.value), period=period)
    return declared
