"""Why a native run ended early, in words: which guard, which coordinate, and whether the step is to blame."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from kompono.ending import Ending
from kompono.solve.course import MAX_STEPS
from kompono.solve.methods import METHODS
from kompono.solve.settings import unsolvable
from kompono.solve.verify import rounded

INTERRUPTED = "interrupted by the user"
GROWN = "the motion grew without bound"
NOT_FINITE = "a value became infinite or not a number"
NO_ROOM = "memory ended when the channels were computed"
STEP_TOO_SMALL = "the step size fell below what the time can resolve; the model may be stiff or discontinuous"
TOGETHER = 1e-6  # of a step: events closer than this in the mean belong to one instant

_REASONS = {
    Ending.INTERRUPTED: INTERRUPTED,
    Ending.NOT_FINITE: NOT_FINITE,
    Ending.OFF_CONSTRAINTS: "a step went so far off the joints that no projection leads back; it is too long for the "
    "speeds reached (try a smaller step, or method='dopri5')",
    Ending.TOO_FAST: "a body turns by more than a radian in one step; the step is unstable, or too long for the speeds "
    "reached",
    Ending.UNMET: "a condition is switched on where it is not met; let the guard of an event be its gap",
    Ending.OPEN: "conditions cannot be kept",
    Ending.GROWN: GROWN,
    Ending.NO_ROOM: "memory is full; the rows up to here are kept (record less: every=..., or channels=... for those "
    "you need), stopped",
}


def reason(ended: Ending, problem: Any, settings: Any, run: Any) -> str:
    """The message for an end of this kind, empty for one as planned."""
    if ended.ok:
        return ""
    if ended is Ending.STOPPED:
        return problem.feed.stop or "stopped"
    if ended is Ending.ELSEWHERE:
        far = problem.kernel.trouble(run.state) if problem.kernel.program.opaque else ""
        return run.unanswered or far or "a part elsewhere cannot be asked any more"
    if ended is Ending.NOT_FINITE and problem.kernel.program.opaque:
        paths = [session.path for session in problem.kernel.sessions(run.state) if session.flags.any()]
        return f"{', '.join(paths)}: a value inside became infinite or not a number" if paths else NOT_FINITE
    if ended is Ending.TOO_MANY_EVENTS:
        return _events(problem.kernel.program.events, run, settings)
    if ended is Ending.NO_FORCES:
        return problem.jam or run.jam
    if ended is Ending.GUARD_NOT_FINITE:
        return _guard(problem.kernel.program, run)
    if ended in (Ending.HOPELESS, Ending.STEP_TOO_SMALL):
        return _stuck(ended, problem, settings, run)
    return _REASONS[ended]


def _events(names: tuple[str, ...], run: Any, settings: Any) -> str:
    """A guard that chatters at one instant, or a step that holds far too many events."""
    last = run.events[-100:]
    counts = Counter(names[int(guard)] for guard in last[:, 1])
    most = [name for name, count in counts.most_common(3) if count > len(last) // 10]
    who = " and ".join(most)
    span = float(last[-1, 0] - last[0, 0])
    if not METHODS[settings.method].chooses_steps and span > TOGETHER * settings.step * len(last):
        return (
            f"{who}: more than a hundred events in one step of {settings.step:.3g} s, {span / len(last):.2g} s apart; "
            f"the step is too long (try step={rounded(2 * span / len(last))})"
        )
    return (
        f"{who}: more than a hundred events at one instant; the guard chatters: what the event changes makes it "
        "fire again (let it change at two levels, one to switch on and one to switch off)"
    )


def _guard(program: Any, run: Any) -> str:
    values = run.guard_values
    bad = [k for k, value in enumerate(values) if not np.isfinite(value)] or [0]
    return f"{program.events[bad[0]]}: {no_number(program, bad[0], len(values))}"


def no_number(program: Any, guard: int, count: int) -> str:
    """What is wrong where one of so many guards is not a number; those of laws come last."""
    from kompono.compile.law_work import MOST

    if guard < count - len(program.laws):
        return "the guard is not a number"
    return f"no force can be found for this law; at most {MOST} of their rows can be held or slide at the same time"


def _stuck(ended: Ending, problem: Any, settings: Any, run: Any) -> str:
    """Steps that became so small that the end will not be reached."""
    if ended is Ending.STEP_TOO_SMALL:
        what = STEP_TOO_SMALL
    else:
        what = stalled(run.accepted + run.rejected, run.time, run.step_size, settings)
    return what + blamed(problem, settings, run.time, run.state)


def stalled(made: int, time: float, step: float, settings: Any) -> str:
    """That steps lead nowhere, or are as many as there may be."""
    if settings.max_steps is not None or made >= MAX_STEPS:
        return f"{made} steps were made, as many as max_steps allows; the last was {step:.2g} s"
    rest = (settings.until - time) / max(step, 1e-300)
    return f"steps have become as short as {step:.2g} s, and {rest:.1g} more would be needed"


def blamed(problem: Any, settings: Any, time: float, state: np.ndarray) -> str:
    """The fastest motion at a state, which makes steps small, and what may help."""
    from kompono.solve.fastest import fastest_motion

    found = fastest_motion(problem.kernel, time, state, problem.feed.at(time), problem.parameters)
    who = f"; the fastest motion is that of {found.name} (about {found.rate:.2g} 1/s)" if found else ""
    stiff = "method='esdirk4'" if unsolvable(problem.kernel.program) is None else "method='Radau'"
    other = "a larger tolerance" if METHODS[settings.method].implicit else stiff
    return f"{who}; try {other}, or give tiny masses and inertias a size that matters"
