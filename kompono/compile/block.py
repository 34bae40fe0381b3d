"""The memory of a run, seen from both sides.

A run is described by one `Block` of eight-byte fields and one array of doubles. Python owns both; the native loop gets
the address of the block and leaves everything it needs next time in them. That is why a run can be cut into chunks
anywhere without changing a bit of its result, and why runs in different threads do not meet.
"""

from __future__ import annotations

import ctypes
from enum import IntEnum
from typing import TYPE_CHECKING

from kompono.compile.fields import Fields, NativeFields
from kompono.compile.lane_numbers import OF_A_LANE
from kompono.compile.lanes import ONE, Lanes
from kompono.compile.paced import PACED
from kompono.ending import Ending
from kompono.errors import CompileError
from kompono.translate.program import IMPLICIT, PULL, TIED, Program, Routine, TableRoutine

if TYPE_CHECKING:
    from kompono.compile.sparse_lu import Plan


class ChunkEnd(IntEnum):
    """How a chunk ended."""

    OK = 0  # did what was asked
    NOT_FINITE = 1  # NaN or infinity in the new state or its rate; state and time are the last good ones
    STEP_TOO_SMALL = 2  # the error stays above its bound however small the step
    BUFFER_FULL = 3  # take the records, then go on
    STOPPED = 4  # the stop flag was raised
    TOO_MANY_EVENTS = 5  # one event causes the next, without end
    OFF_CONSTRAINTS = 7  # the projection does not find back to the constraints; state and time are the last good ones
    TOO_FAST = 8  # a body turns by more than a radian a step (leapfrog); state and time are the last good ones
    GUARD_NOT_FINITE = 9  # the guard of an event is NaN; state and time are the last good ones
    ELSEWHERE = 10  # a part that runs elsewhere gives no answers any more; state and time are the last good ones
    LAWS = 11  # a law must change its modes; `Run.advance` lets it and goes on, so nobody else sees this
    NO_FORCES = 12  # no forces of laws fit (`Run.jam` says where); state and time are those before the event
    HALTED = 13  # an event that ends the run happened; state and time are those behind it
    ALONE = 14  # a run that left its lane needs Python; `LanesRun` serves it and goes on, so nobody else sees this
    CLOSED = 15  # the first gap closed; `Run.advance` goes on with the whole loop, so nobody else sees this
    LONG = 16  # many samples in one step; `Run.advance` goes on unless somebody asks it to end
    STRAIGHT = 17  # slip may be marked as straight; `Run.advance` marks it and goes on, so nobody else sees this
    LOOK = 18  # laws may hold other things together now; `Run.advance` looks and goes on, so nobody else sees this
    UNMET = 19  # a condition is switched on where it is not met; state and time are those of that instant
    LOG_FULL = 6  # more room for events is needed; `Run.advance` makes it and goes on, so nobody else sees this

    @property
    def ending(self) -> Ending:
        """How a run ends whose chunk ended so; not for ends after which it goes on."""
        return Ending.ENDED if self is ChunkEnd.HALTED else Ending[self.name]


_POINTERS = (
    "memory", "parameters", "table_times", "table_values", "records", "stop", "ask", "others", "alone", "settler",
    "settling",
)  # fmt: skip
_INTEGERS = (
    "table_rows", "capacity", "rows", "projecting", "budget", "step", "every", "record_count", "recorded", "dense",
    "evaluations", "accepted", "rejected", "history", "after_rejection",
)  # fmt: skip
_REALS = (
    "start", "time", "step_size", "until", "interval", "min_step", "max_step", "old_error", "dense_start", "dense_step",
    "finest",
)  # fmt: skip
_EVENTS = (
    "log_capacity",
    "log_rows",
    "checked",
    "event_count",
    "inside",
    "guard_checks",
    "settled",
    "rated",
    "acting",
    "waiting",
    "shifted",
)  # integers of models with guards
_FIELDS = (*_POINTERS, *_INTEGERS, *_REALS, "log", *_EVENTS)
_OF_A_PROCESS = ("table_rows", "capacity", "rows", "budget", "log_capacity", "log_rows", "waiting")  # of its pointers
LASTING = tuple(n for n in (*_INTEGERS, *_REALS, *_EVENTS) if n not in _OF_A_PROCESS)  # what a run goes on with
OF_STATE = (
    "state",
    "next",
    "stage",
    "corrected",
    "beside",
    "rate_beside",
    "mean",
    *(f"rate{i}" for i in range(7)),
    *(f"dense{i}" for i in range(2)),
    *(f"past{i}" for i in range(4)),
    "rtol",
    "atol",
)  # vectors as long as the state; the last two are tolerances
TAPE = 72  # states that are projected in one step of a run that goes back, at most
PASSING = ("work", "spare", "end")  # vectors that mean nothing from one evaluation to the next
_SHARED = Fields(_FIELDS, (*_POINTERS, "log"), _REALS)


class Block(ctypes.Structure):
    """The fields of a run that are not arrays, and the addresses of those that are."""

    _fields_ = _SHARED.declared()


class NativeBlock(NativeFields):
    """The same fields from inside a native loop."""

    fields = _SHARED

    def add(self, name: str, amount: int = 1) -> None:
        """Count."""
        self.set(name, getattr(self, name) + amount)


def guard_count(program: Program) -> int:
    """How many guards a program has."""
    return program.outline("guards").outputs[0][1] if "guards" in program.routines else 0


def has_slopes(program: Program) -> bool:
    """Whether the matrix of implicit stages is exact; else it is differenced."""
    return IMPLICIT in program.routines


def stage_entries(program: Program) -> tuple[int, ...]:
    """Where the matrix of implicit stages has entries, row by row, if it is sparse."""
    return program.routines[IMPLICIT].entries[1] if has_slopes(program) else ()


def stage_plan(program: Program) -> Plan | None:
    """How it is factored, if that pays."""
    from kompono.compile.sparse_lu import make_plan

    if not stage_entries(program):
        return None
    plan = make_plan(len(program.speeds) + len(program.states), stage_entries(program))
    return plan if plan.pays else None


def loop_routines(program: Program, implicit: bool = False, waiting: bool = False) -> list[Routine]:
    """The routines a step loop calls; while it is `waiting`, those it calls as long as all gaps are open."""
    late = late_names(program) if waiting else ()
    return [program.routines[name] for name in loop_names(program, implicit) if name not in late]


def late_names(program: Program) -> tuple[str, ...]:
    """Routines that nobody asks for as long as all gaps are open, or no laws are tied."""
    if "open_derivative" not in program.routines:
        return tuple(name for name in loop_names(program) if name.startswith(TIED))
    return tuple(name for name in ("derivative", "project", "guards") if f"open_{name}" in program.routines)


def loop_names(program: Program, implicit: bool = False) -> list[str]:
    """Their names."""
    switches = [f"switch_{k}" for k in range(guard_count(program) - len(program.laws))]
    missing = [name for name in switches if name not in program.routines]
    if missing:
        raise CompileError(f"the program has guards, but no routine {missing[0]!r}.")
    rates = ["kick", "drift", "state_rates"] if "kick" in program.routines else ["derivative", "project", "gap"]
    asked = (*rates, "guards")
    changes = [*switches, *(f"tick_{k}" for k in range(len(program.ticks)))]
    names = [*asked, *(f"open_{name}" for name in asked), *changes, *(f"{TIED}{name}" for name in (*asked, *changes))]
    names += [IMPLICIT] if implicit else []
    names += [name for name in program.routines if name.startswith(PULL)]
    return [name for name in names if name in program.routines]


def workspace(routine: Routine) -> int:
    """Doubles of a workspace that a routine needs; one call of one kernel needs none."""
    return routine.workspace if isinstance(routine, TableRoutine) or len(routine.calls) > 1 else 1


def layout(program: Program, lanes: Lanes = ONE, implicit: bool = False) -> dict[str, tuple[int, int]]:
    """Where each vector lies in a run's memory: name -> (offset, size), every one on a cache line of its own.

    All but time and inputs have an element for each lane. `lost` is the time each lane ceased to be finite.
    """
    if implicit:
        return _layout(program, lanes, implicit)
    known = program.worked_out
    if ("layout", lanes) not in known:
        known["layout", lanes] = _layout(program, lanes, implicit)
    return known["layout", lanes]


def _layout(program: Program, lanes: Lanes, implicit: bool) -> dict[str, tuple[int, int]]:
    n = program.state_size
    routines = [program.outline(name) for name in loop_names(program, implicit)]
    sizes = {"lost": 1, "gap": 1, "near": 2, "rank": 1}
    sizes |= dict.fromkeys(OF_STATE, n)
    sizes["spare"] = max((size for r in routines for _, size in r.outputs[1:]), default=0)
    sizes["work"] = max(workspace(r) for r in routines)
    if guard_count(program):
        sizes |= dict.fromkeys(("armed", "pending", "values", "trial", "below"), guard_count(program)) | {"found": n}
    if program.laws:
        sizes |= dict.fromkeys(("known", "coming"), n)  # rates that came with values of guards
        sizes |= dict.fromkeys(("spared", "seen", "earlier"), guard_count(program))
        sizes |= dict.fromkeys(("slopes", "slopes_coming", "slopes_before"), len(program.laws)) | {"paced": PACED}
        sizes["off"] = dict(program.outline("guards").outputs).get("off", 0)
        beside = dict(program.outline("guards").outputs).get("beside", 0)  # with guards, where they were looked at
        sizes |= dict.fromkeys(("beside", "beside_trial"), beside) | dict.fromkeys(
            ("looked", "looked_trial"), n if beside else 0
        )
    if lanes.count > 1:
        sizes["lane"] = OF_A_LANE
    if lanes.count > 1 and guard_count(program):
        sizes |= {"away": 1, "told": 1, "still": 1, "taken": 1, "near_before": 2, "rank_before": 1}  # see `lane_moves`
        sizes |= dict.fromkeys(("glance", "arming"), guard_count(program))
    if implicit:
        unknowns = len(program.speeds) + len(program.states) if has_slopes(program) else n
        made = dict(program.routines[IMPLICIT].outputs) if has_slopes(program) else {}
        sizes |= {name: size for name, size in made.items() if name != "rate"} | {"square": unknowns * unknowns}
        sizes |= {"base": n, "given": len(program.parameters) + 1, "solved": unknowns, "pivots": unknowns}
        sizes |= {"power": unknowns, "newton": 14}
        sizes["entries"], plan = len(stage_entries(program)), stage_plan(program)
        sizes |= {"factors": plan.starts[-1], "row": unknowns} if plan is not None else {}
    if any(routine.name.startswith(PULL) for routine in routines):
        sizes |= {"tape": TAPE * n, "past4": n, "past5": n}
    sizes = {name: lanes.count * size for name, size in sizes.items()} | {
        "time": lanes.count,
        "distance": 1,
        "inputs": len(program.inputs),
        "counted": len(program.rates),
        "sampling": 3 * len(program.rates),
        "reads": sum(one.reads for one in program.controllers),
    }
    places, offset = {}, 0
    for name, size in sizes.items():
        places[name] = (offset, size)
        offset += -(-size // 8) * 8
    places["end"] = (offset, 0)
    return places
