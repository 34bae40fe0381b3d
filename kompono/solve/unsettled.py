"""Whether rates that are no numbers are those of laws: friction for which no forces fit at the present modes.

Native code gives NaN where the force of a joint and the friction it causes feed each other without end (Painleve with
a joint in the place of a contact). Here the place is looked for between the last good state and where a step would
lead, and the laws concerned are named.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kompono.solve.laws.forces import HELD, OFF, SLIDES, System, UnitStates, solve
from kompono.solve.laws.units import Kind

HALVINGS = 40
Feed = Callable[[float], np.ndarray]


def unsettled(settler: Any, time: float, state: np.ndarray, feed: Feed, parameters: np.ndarray, step: float) -> str:
    """Paths of the laws whose forces cannot be found at or shortly after a state, in words; empty if that is not it."""

    def rate(share: float) -> tuple[float, np.ndarray, np.ndarray]:
        at = time + share * step
        there = settler.states.moved(state, share * step, ahead) if share else state
        return at, there, settler.kernel.evaluate("derivative", at, there, feed(at), parameters)[0]

    found = rate(0.0)
    ahead = found[2]
    if np.all(np.isfinite(ahead)):
        found = rate(1.0)
        if np.all(np.isfinite(found[2])):
            return ""
        low, high = 0.0, 1.0
        for _ in range(HALVINGS):
            middle = rate((low + high) / 2)
            if np.all(np.isfinite(middle[2])):
                low = (low + high) / 2
            else:
                high, found = (low + high) / 2, middle
    return _named(settler, found[0], found[1], feed(found[0]), parameters)


def _named(settler: Any, time: float, state: np.ndarray, inputs: np.ndarray, parameters: np.ndarray) -> str:
    from kompono.solve.instant import Instant

    now = Instant(settler, time, state, inputs, parameters, 0.0)
    if not np.all(np.isfinite(now.view.w)):
        return ""
    acting = [k for k, unit in enumerate(now.units) if unit.contact < 0 or now.before[unit.contact] > 0]
    acting = [k for k in acting if now.units[k].kind != Kind.ONE_SIDED or now.before[k] > 0]
    part = now._part(acting, now.view.w)
    modes, ways = [], []
    for k in acting:
        slips = now.units[k].kind != Kind.ONE_SIDED and now.before[k] != 0
        slip = now.view.rate[now.rows(k)]
        size = float(np.linalg.norm(slip)) or 1.0
        way = (float(np.sign(now.before[k])), 0.0)
        if slips and len(slip) == 2:
            way = (float(slip[0] / size), float(slip[1] / size))
        modes.append(SLIDES if slips else HELD)
        ways.append(way if slips else (0.0, 0.0))
    tried = UnitStates(modes, ways)
    if solve(System(part.problem, part.units), tried)[1]:
        return ""
    fed = []
    for i, k in enumerate(acting):  # whose friction, if it were none, would leave forces that fit
        if modes[i] == SLIDES and part.units[i].count > 1:
            without = UnitStates([OFF if j == i else mode for j, mode in enumerate(modes)], ways)
            fed += [now.units[k].path] if solve(System(part.problem, part.units), without)[1] else []
    paths = fed or [now.units[k].path for i, k in enumerate(acting) if modes[i] == SLIDES]
    return f"no forces fit: {', '.join(sorted(paths))} (friction and the force that causes it feed each other)"
