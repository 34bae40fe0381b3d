"""Several runs that went side by side on lanes, each with its events, as the trajectories of single runs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kompono.solve.endings import reason
from kompono.solve.integrate import Problem, Settings, Trajectory, statistics_of


def each_lane(problem: Problem, settings: Settings, whole: Trajectory) -> list[Trajectory]:
    """The trajectory of each run; `whole` is that of all lanes together."""
    run, width, program = whole.on_lanes, problem.lanes, problem.kernel.program
    assert run is not None
    taken, size = run.taken, program.state_size
    states = whole.rows[:, 1 : 1 + width * size].reshape(-1, size, width)
    parameters = problem.parameters.reshape(-1, width)
    found: list[Trajectory] = []
    for lane, (own, end) in enumerate(zip(run.runs, run.ends, strict=True)):
        statistics = statistics_of(program, own)
        statistics["steps"] += int(taken[lane])
        statistics["evaluations"] += run.evaluations
        statistics["steps_on_lanes"] = int(taken[lane])
        rows = np.hstack([whole.rows[:, :1], states[:, :, lane], whole.rows[:, 1 + width * size :]])
        if end is None:
            found.append(Trajectory(rows, whole.ended, whole.message, whole.time, statistics, tied=own.tied))
            continue
        last = np.concatenate([[own.time], own.state, problem.feed.at(own.time)])
        alone = replace(problem, state=own.state, parameters=parameters[:, lane], lanes=1)
        message = reason(end.ending, alone, settings, own)
        rows = _until(rows, last, settings.every)
        found.append(Trajectory(rows, end.ending, message, float(own.time), statistics, tied=own.tied))
    return found


def _until(rows: np.ndarray, last: np.ndarray, every: int) -> np.ndarray:
    """The rows of a run that ended at the state of the row `last`; that one counts where all steps are recorded."""
    kept = rows[rows[:, 0] < last[0]] if every == 1 else rows[rows[:, 0] <= last[0]]
    return np.vstack([kept, last]) if not len(kept) or kept[-1, 0] < last[0] else kept
