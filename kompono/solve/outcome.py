"""From recorded states to channels: what a run leaves behind, before anybody gives it a name or explains its end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from kompono.compile import Interpreter
from kompono.elsewhere.which import moved
from kompono.ending import Ending
from kompono.result.unwrap import continuous_quaternions, unwrap
from kompono.solve.course import GROWN
from kompono.solve.energy import complaint, jumped
from kompono.solve.methods import METHODS
from kompono.solve.verify import Samples, StepCheck, pick

if TYPE_CHECKING:
    from kompono.solve.integrate import Settings, Trajectory
    from kompono.translate.program import Channel

OPEN = 1e-6  # a loop condition violated by more than this is lost, whatever the units
PULLED = 1e-6  # of the largest force of a contact: what pulls with more is no contact
TORN = 1e-4  # [m/s, rad/s] what laws hold moves at most, if nothing tears at it


@dataclass(frozen=True)
class Outputs:
    """The routine that computes channels, which ones it computes, and the positions of those wanted and of the drift;
    the others are there to make angles and quaternions continuous. `energy` are those of kinetic and total energy, if
    they are computed; a drift above `open` is that of a loop that is lost. On the discrete engine `gives` says how far
    each condition may be off (rows,).
    """

    routine: str
    computed: tuple[Channel, ...]
    wanted: tuple[int, ...]
    drift: int
    energy: tuple[int, int] | None = None
    open: float = OPEN
    gives: np.ndarray | None = None


@dataclass
class Outcome:
    """Channels `table` (n, k) at `times` (n,) [s] and how the run ended.

    `ended` is the kind of its end, or of what is wrong with a run that came to its end: GROWN and OPEN (both end it
    there), CHANNEL, ENERGY, STEP. `blame` is the record (time, state..., inputs...) a failure must be explained by,
    `fed` are the inputs (2, n) of the step after it, if they may be others. `samples` are records that tell whether the
    step was short enough. `tied` says since when [s] forces may be rounding, and why.
    """

    times: np.ndarray
    table: np.ndarray
    ended: Ending = Ending.DONE
    message: str = ""
    time: float = 0.0
    blame: np.ndarray | None = None
    statistics: dict[str, Any] = field(default_factory=dict)
    cause: BaseException | None = None
    samples: Samples | None = None
    fed: np.ndarray | None = None
    tied: tuple[float, str] | None = None

    @property
    def ok(self) -> bool:
        """Whether it ended as planned and nothing is wrong with it."""
        return self.ended.ok


def opening(
    kernel: Any, outputs: Outputs, settings: Settings, feed: Any, parameters: np.ndarray
) -> Callable[[float, np.ndarray], bool] | None:
    """What tells at a time and state whether conditions are violated, while a run is going; None if none are kept."""
    if not settings.stabilize or "project" not in kernel.program.routines:
        return None

    def is_open(time: float, state: np.ndarray) -> bool:
        (values, *_) = kernel.evaluate(outputs.routine, time, state, feed.at(time), parameters)
        return bool(values[outputs.drift] > outputs.open)

    return is_open


def raw_channels(
    kernel: Any, outputs: Outputs, rows: np.ndarray, parameters: np.ndarray, lanes: int = 1
) -> np.ndarray:  # fmt: skip
    """All computed channels at recorded rows, as the routine gives them (n, k), with several lanes (n, k * lanes)."""
    end = 1 + lanes * kernel.program.state_size
    several = {} if lanes == 1 else {"lanes": lanes}
    return kernel.map(outputs.routine, rows[:, 0], rows[:, 1:end], rows[:, end:], parameters, **several)


def reporter(
    kernel: Any, outputs: Outputs, parameters: np.ndarray, lanes: int = 1
) -> Callable[[np.ndarray], np.ndarray | None] | None:
    """What computes the channels of rows as a run goes on, where parts are elsewhere and may be out of reach later."""
    if not kernel.program.opaque:
        return None

    def report(rows: np.ndarray) -> np.ndarray | None:
        table = raw_channels(kernel, outputs, rows, parameters, lanes)
        return None if kernel.trouble(rows[-1, 1 : 1 + lanes * kernel.program.state_size]) else table

    return report


def channels(
    kernel: Any, outputs: Outputs, rows: np.ndarray, parameters: np.ndarray, lanes: int = 1,
    known: np.ndarray | None = None,
) -> np.ndarray:  # fmt: skip
    """All computed channels at recorded rows: (n, k), with several lanes (lanes, n, k); continuous in time. `known` are
    those that were computed before.
    """
    times = rows[:, 0]
    table = raw_channels(kernel, outputs, rows, parameters, lanes) if known is None else np.ascontiguousarray(known)
    if lanes > 1:
        table = np.ascontiguousarray(table.reshape(len(rows), -1, lanes).transpose(2, 0, 1))
    unwrap(times, table, outputs.computed, copy=False)  # memory ends here first
    return continuous_quaternions(table, outputs.computed, copy=False)


def conclude(
    kernel: Any,
    trajectory: Trajectory,
    outputs: Outputs,
    table: np.ndarray,
    settings: Settings,
    parameters: np.ndarray,
    energy: bool = True,
) -> Outcome:
    """The outcome of a run whose channels are computed: `table` (n, k) at the rows of the trajectory.

    To ask where its energy went takes as long as many steps; one of thousands of runs is not asked.
    """
    rows, program = trajectory.rows, kernel.program
    last = rows[-1] if trajectory.last is None else trajectory.last
    outcome = Outcome(
        rows[:, 0], _chosen(table, outputs.wanted), trajectory.ended, trajectory.message, trajectory.time,
        None if trajectory.ended.ok else last, trajectory.statistics, trajectory.cause, fed=trajectory.fed,
        tied=trajectory.tied,
    )  # fmt: skip
    if trajectory.ended is Ending.NOT_FINITE and program.opaque:
        _end_before_lost(kernel, outcome, rows, outputs, table)
    if trajectory.ended.ok or trajectory.ended in (Ending.OPEN, Ending.GROWN):
        speeds = slice(len(program.coordinates), len(program.coordinates) + len(program.speeds))
        if METHODS[settings.method].judged:
            outcome.samples = pick(rows, program.state_size, speeds)
        for look in (_unanswered, _grown, _open, _nameless_number, _tied, *((_energy,) if energy else ())):
            if look(kernel, outcome, rows, outputs, table, settings, parameters):
                break
    return outcome


def _chosen(table: np.ndarray, wanted: tuple[int, ...]) -> np.ndarray:
    """The columns that are wanted; the table itself if all are."""
    return table if wanted == tuple(range(table.shape[1])) else table[:, list(wanted)]


def _unanswered(kernel: Any, outcome: Outcome, rows: np.ndarray, *_: Any) -> bool:
    """Whether channels could not be computed because a part that runs elsewhere gave no answers."""
    why = kernel.places.trouble() if not np.isfinite(outcome.table).all() else ""
    if why:
        _spoil(outcome, Ending.ELSEWHERE, f"{why}, when the channels were computed;", rows[-1])
    return bool(why)


def _grown(kernel: Any, outcome: Outcome, rows: np.ndarray, *_: Any) -> bool:
    """Whether the motion has left all bounds."""
    sizes = np.abs(rows[:, 1 : 1 + kernel.program.state_size])
    if sizes.max(initial=0.0) <= GROWN:  # of all at once, for to ask row by row takes many times longer
        return False
    grown = np.flatnonzero(sizes.max(axis=1, initial=0.0) > GROWN)
    if len(grown):
        message = "the motion grew without bound; take a smaller step or method='dopri5',"
        _spoil(outcome, Ending.GROWN, message, rows[grown[0]])
        _end_at(outcome, int(grown[0]))
    return bool(len(grown))


def _open(
    kernel: Any, outcome: Outcome, rows: np.ndarray, outputs: Outputs, table: np.ndarray, settings: Settings,
    parameters: np.ndarray,
) -> bool:  # fmt: skip
    """Whether conditions are violated; the run ends with the first record where they are."""
    if outputs.gives is not None:
        violated = _given_way(kernel, rows, outputs, table, parameters)
    elif not settings.stabilize or "project" not in kernel.program.routines:
        return False
    else:
        violated = table[:, outputs.drift] > outputs.open
        violated = violated | _torn(kernel, outputs, table) | _pulled(kernel, outputs, table)
    violated = np.flatnonzero(violated)
    if len(violated):
        _spoil(outcome, Ending.OPEN, "", rows[violated[0]])
        _end_at(outcome, int(violated[0]))
    return bool(len(violated))


def _given_way(
    kernel: Any, rows: np.ndarray, outputs: Outputs, table: np.ndarray, parameters: np.ndarray
) -> np.ndarray:  # fmt: skip
    """At which records links are far off, and go on being so: a machine is driven to where it cannot go."""
    far = np.zeros(len(rows), dtype=bool)
    assert outputs.gives is not None
    wide = np.flatnonzero(table[:, outputs.drift] > outputs.gives.min(initial=np.inf))
    if len(wide):
        program, end = kernel.program, 1 + kernel.program.state_size
        here = rows[wide]
        values = np.broadcast_to(parameters, (len(wide), len(parameters)))
        gaps = Interpreter(program).evaluate_rows("conditions", here[:, :1], here[:, 1:end], here[:, end:], values)[0]
        far[wide] = (np.abs(gaps) > outputs.gives).any(axis=1)
    return _lasting(far)


def _torn(kernel: Any, outputs: Outputs, table: np.ndarray) -> np.ndarray:
    """At which records what laws hold moves, and goes on doing so: a drive tears at what sticks on both sides."""
    names = [channel.name for channel in outputs.computed]
    if not kernel.program.laws or "drift.velocity" not in names:
        return np.zeros(len(table), dtype=bool)
    return _lasting(table[:, names.index("drift.velocity")] > TORN)


def _pulled(kernel: Any, outputs: Outputs, table: np.ndarray) -> np.ndarray:
    """At which records contacts pull, and go on doing so, in machines that time may drive: what parts hold from within
    as well moves by rounding alone, and forces are rounding there.
    """
    gaps = {f"{unit.path}.normal" for unit in kernel.program.laws if unit.driven and unit.level}
    places = [k for k, channel in enumerate(outputs.computed) if channel.name in gaps]
    if not places or kernel.settle.steps:
        return np.zeros(len(table), dtype=bool)
    forces = table[:, places]
    return _lasting(forces.min(axis=1) < -PULLED * np.abs(forces).max(axis=1))


def _tied(kernel: Any, outcome: Outcome, rows: np.ndarray, *_: Any) -> bool:
    """Whether parts that cannot say so held something together with their owners; the rows are kept."""
    if outcome.tied is None:
        return False
    since, why = outcome.tied
    _spoil(outcome, Ending.OPEN, why, rows[min(int(np.searchsorted(rows[:, 0], since)), len(rows) - 1)])
    return True


def _lasting(wrong: np.ndarray) -> np.ndarray:
    """At which records something is wrong, and is before and behind."""
    return wrong & np.append(wrong[1:], True) & np.append(True, wrong[:-1])


def _nameless_number(
    kernel: Any, outcome: Outcome, rows: np.ndarray, outputs: Outputs, table: np.ndarray, *_: Any
) -> bool:
    """Whether a channel that was asked for is not a number somewhere."""
    bad = ~np.isfinite(outcome.table)
    if not bad.any():
        return False
    first = int(np.argmax(bad.any(axis=1)))
    column = int(np.argmax(bad[first]))
    name = outputs.computed[outputs.wanted[column]].name
    count, others = int(bad[:, column].sum()), int(bad.any(axis=0).sum()) - 1
    more = f" (and {others} more channels)" if others else ""
    message = f"{name}: the channel is infinite or not a number in {count} of {len(bad)} rows{more}, first"
    _spoil(outcome, Ending.CHANNEL, message, rows[first])
    return True


def _energy(
    kernel: Any,
    outcome: Outcome,
    rows: np.ndarray,
    outputs: Outputs,
    table: np.ndarray,
    settings: Settings,
    parameters: np.ndarray,
) -> bool:
    """Whether energy came from or went to nowhere."""
    each = METHODS[settings.method].judged and settings.every == 1 and not outcome.statistics.get("events")
    if outputs.energy is None or not each:
        return False
    places, end = list(outputs.energy), 1 + kernel.program.state_size

    def energies(row: int, shift: float) -> tuple[float, float]:
        time, state, inputs = float(rows[row, 0]), rows[row, 1:end], rows[row, end:]
        rate = kernel.evaluate("derivative", time, state, inputs, parameters)[0]
        after = moved(kernel.program, state, shift, rate)
        values = kernel.evaluate(outputs.routine, time + shift, after, inputs, parameters)[0][places]
        return float(values[0]), float(values[1])

    kinetic, total = table[:, places].T
    found = complaint(rows[:, 0], kinetic, total, energies, settings)
    if found is None and METHODS[settings.method].warm == 1 and hasattr(kernel, "fixed"):
        check = StepCheck(kernel, parameters, settings)

        def again(row: int, parts: int) -> float:
            after = check.after(rows[row], settings.step / parts, parts)
            if after is None:
                return np.inf
            values = kernel.evaluate(outputs.routine, float(rows[row + 1, 0]), after, rows[row, end:], parameters)
            return float(values[0][places[1]])

        found = jumped(kinetic, total, settings.step, energies, again)
    if found is not None:
        _spoil(outcome, Ending.ENERGY, found[1], rows[found[0]])
    return found is not None


def check_step(kernel: Any, outcome: Outcome, settings: Settings, parameters: np.ndarray) -> None:
    """Spoil an outcome whose step was too long for its motion (equal steps only)."""
    samples = outcome.samples
    if not outcome.ok or samples is None or not METHODS[settings.method].judged or not hasattr(kernel, "fixed"):
        return
    if "fallback" in outcome.statistics:  # it went over some motion knowingly
        return
    message, row = StepCheck(kernel, parameters, settings).verdict(samples)
    if message:
        _spoil(outcome, Ending.STEP, message + ",", row)


def _end_before_lost(kernel: Any, outcome: Outcome, rows: np.ndarray, outputs: Outputs, table: np.ndarray) -> None:
    """End with the last record at which all coordinates are numbers: those of a part elsewhere are looked at chunk by
    chunk, and the run has gone on without them.
    """
    names = set(kernel.engine.near.coordinate_names())
    columns = [k for k, channel in enumerate(outputs.computed) if channel.name in names]
    lost = np.flatnonzero(~np.isfinite(table[:, columns]).all(axis=1))
    if len(lost):
        last = max(int(lost[0]) - 1, 0)
        outcome.blame, outcome.time = rows[last], float(rows[last, 0])
        _end_at(outcome, last)


def _end_at(outcome: Outcome, row: int) -> None:
    """What comes after is no motion of the machine."""
    outcome.times, outcome.table = outcome.times[: row + 1], outcome.table[: row + 1]


def _spoil(outcome: Outcome, kind: Ending, message: str, row: np.ndarray) -> None:
    outcome.ended, outcome.message = kind, message
    outcome.blame, outcome.time = row, float(row[0])
