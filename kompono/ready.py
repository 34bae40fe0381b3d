"""What runs do before they begin, for many at once: soft laws and links of the discrete engine become as strong as the
step allows, links carry their loads, laws choose what holds and what slides. One run is a table of one row.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kompono.errors import AssemblyError, KomponoError, NoForces, RunError
from kompono.solve.inputs import Feed
from kompono.solve.methods import METHODS
from kompono.solve.settings import Settings
from kompono.solve.softness import check_softness
from kompono.translate.laws.softened import steps_of_soft_laws


def settle(
    simulation: Any, settings: Settings, parameters: np.ndarray, feed: Feed, states: np.ndarray
) -> tuple[np.ndarray, np.ndarray, dict[int, KomponoError]]:
    """States (runs, n) with which runs begin, and all their parameters (runs, p), from consistent ones and those of the
    model; and why some cannot begin.
    """
    time, step = settings.begin, settings.step
    chosen = METHODS[settings.method].chooses_steps  # then `step` is the distance of records, and may be long
    stiff = min(step, simulation.entry.step) if chosen else step
    values, failed = completed(simulation, parameters, states, feed, stiff, time)
    for run in (run for run in range(len(states)) if run not in failed):
        try:
            check_softness(simulation, settings, states[run], feed.at(time), values[run])
        except RunError as found:
            failed[run] = found
    states, jammed = started(simulation, states, values, feed, time, 0.0 if chosen else step)
    return states, values, {**jammed, **failed}


def completed(
    simulation: Any, parameters: np.ndarray, states: np.ndarray, feed: Feed, step: float, time: float
) -> tuple[np.ndarray, dict[int, RunError]]:
    """All parameters of a program (runs, p) for a step [s], and those runs that are unstable."""
    names, steps = simulation.program.parameters, steps_of_soft_laws(simulation.translation.model)
    if steps:
        declared, parameters = simulation.parameters(), parameters.copy()
        for place in map(names.index, steps):
            parameters[parameters[:, place] == declared[place], place] = step
    if simulation.links is None:
        return parameters, {}
    return simulation.links.complete(states, feed.at(time), parameters, step, time)


def started(
    simulation: Any, states: np.ndarray, parameters: np.ndarray, feed: Feed, time: float, step: float
) -> tuple[np.ndarray, dict[int, NoForces | AssemblyError]]:
    """States (runs, n) with modes of laws and with links that carry their loads, and those runs that no forces fit, or
    in which bodies overlap.
    """
    jammed: dict[int, NoForces | AssemblyError] = {}
    if simulation.settler is not None and not simulation.program.opaque:
        states = states.copy()
        for run, values in enumerate(parameters):
            try:
                states[run] = simulation.settler.start(time, states[run], feed.at(time), values, step)
            except (NoForces, AssemblyError) as found:
                jammed[run] = found
    if simulation.links is None:
        return states, jammed
    return simulation.links.loaded(states, feed.at(time), parameters, time), jammed
