"""What is asked of a run, as one frozen thing: every option once, with its default, its kind and what it concerns.

The functions users call (`simulate`, `Simulation`, `evaluate`, `simulate_many`, `translate`) take options by name. Each
makes a `Request` of them at its door and hands that on. A new option is a field here and an argument of the doors that
take it; whether it is kept in files, may be a default of a model, or is checked follows from the field.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from typing import Any

from kompono import kinds

Kind = Callable[[str, Any], Any]
EVENTS, IMPACTS, STEPS, SOFT = kinds.CONTACTS  # ways to treat contact and dry friction


class Concern(Enum):
    """What an option is about."""

    SOLUTION = "how a model is translated and compiled; `Simulation` takes these"
    STEPS = "how it is integrated"
    VALUES = "what goes in and what is recorded"
    COMPANY = "who goes along, and where it is written"


def _about(concern: Concern, kind: Kind | None = None, *, kept: bool = True, declared: bool = True) -> dict[str, Any]:
    """Facts of an option: its `kind` is checked when it is given (None: elsewhere); what changes numbers is `kept` in
    the file of a run; what a model may say of itself is `declared` in its `run_defaults`.
    """
    return {"concern": concern, "kind": kind, "kept": kept, "declared": declared}


_solution = functools.partial(_about, Concern.SOLUTION)
_steps = functools.partial(_about, Concern.STEPS)
_values = functools.partial(_about, Concern.VALUES)
_company = functools.partial(_about, Concern.COMPANY, kept=False, declared=False)


@dataclass(frozen=True)
class Request:
    """All options of a run; see `simulate` for what they mean. None is left to the engine or the machine."""

    engine: str = field(default="relative", metadata=_solution(kinds.one_name))
    cut: tuple[str, ...] = field(default=(), metadata=_solution(kinds.names))
    independent: tuple[str, ...] = field(default=(), metadata=_solution(kinds.names))
    closed: tuple[str, ...] = field(default=(), metadata=_solution(kinds.names))
    isolate: tuple[str, ...] = field(default=(), metadata=_solution(kinds.names, kept=False))
    elsewhere: Mapping[str, Any] | None = field(
        default=None, metadata=_solution(kinds.by_path, kept=False, declared=False)
    )
    projection: str | None = field(default=None, metadata=_solution(kinds.one_name))
    metric: str | None = field(default=None, metadata=_solution(kinds.one_name))
    baumgarte: tuple[float, float] = field(default=(20.0, 20.0), metadata=_solution(kinds.frequencies))
    contact: str = field(default="events", metadata=_solution(kinds.contact))
    errors: str = field(default="whole", metadata=_solution(kinds.errors))
    native: bool = field(default=True, metadata=_solution(kinds.flag, declared=False))
    cache: bool = field(default=True, metadata=_solution(kinds.flag, kept=False))
    threads: int | None = field(default=None, metadata=_solution(kinds.count, kept=False, declared=False))
    nested_from: int = field(default=1000, metadata=_solution(kinds.count, kept=False, declared=False))
    stiffness: Any = field(default=None, metadata=_solution(kinds.strength))
    damping: Any = field(default=None, metadata=_solution(kinds.strength))

    until: float = field(default=0.0, metadata=_steps(kinds.time))
    begin: float | None = field(default=None, metadata=_steps(kinds.time))
    step: float | None = field(default=None, metadata=_steps(kinds.time))
    method: str | None = field(default=None, metadata=_steps(kinds.one_name))
    rtol: float = field(default=1e-8, metadata=_steps(kinds.tolerance))
    atol: float | None = field(default=None, metadata=_steps(kinds.tolerance))
    every: int | None = field(default=None, metadata=_steps(kinds.count))
    guard_checks: int = field(default=1, metadata=_steps())
    max_steps: int | None = field(default=None, metadata=_steps())
    stabilize: bool = field(default=True, metadata=_steps(kinds.flag))

    channels: str | tuple[str, ...] = field(default="*", metadata=_values(kinds.names))
    inputs: Mapping[str, Any] | None = field(default=None, metadata=_values(kinds.by_path, kept=False))
    parameters: Mapping[str, Any] | None = field(default=None, metadata=_values(kinds.by_path))
    initial: Mapping[str, Any] | None = field(default=None, metadata=_values(kinds.by_path))
    start: Any = field(default=None, metadata=_values(kinds.end, kept=False, declared=False))

    progress: bool | None = field(default=None, metadata=_company(kinds.flag, declared=True))
    realtime: Any = field(default=False, metadata=_company(kinds.clock))
    watcher: Any = field(default=None, metadata=_company(kinds.onlooker))
    before: Any = field(default=None, metadata=_company(kinds.listener))
    ranks: bool = field(default=False, metadata=_company(kinds.flag))
    place: Mapping[str, Any] | None = field(default=None, metadata=_company(kinds.by_path))
    hdf5: Any = field(default=None, metadata=_company())
    resume: Any = field(default=None, metadata=_company())

    @classmethod
    def of(cls, arguments: Mapping[str, Any], base: Request | None = None) -> Request:
        """From the arguments of a function that takes options by name; the rest is by default, or as in `base`. Its
        other arguments (the model) are not options.
        """
        given = {name: arguments[name] for name in OPTIONS if name in arguments}
        return cls(**given) if base is None else replace(base, **given)

    @property
    def tolerances(self) -> tuple[float, float]:
        """Relative and absolute tolerance."""
        return self.rtol, 1e-3 * self.rtol if self.atol is None else self.atol

    def noted(self) -> dict[str, Any]:
        """The options by which a file remembers the run."""
        return {name: getattr(self, name) for name in KEPT}


def _names(holds: Callable[[Mapping[str, Any]], bool]) -> tuple[str, ...]:
    return tuple(f.name for f in fields(Request) if holds(f.metadata))


OPTIONS = _names(lambda facts: True)
KEPT = _names(lambda facts: facts["kept"])
DECLARED = _names(lambda facts: facts["declared"])
SEVERAL = _names(lambda facts: facts["kind"] is kinds.names)
OF_CONCERN = {concern: _names(lambda facts, c=concern: facts["concern"] is c) for concern in Concern}
KINDS: dict[str, tuple[Kind, bool]] = {  # with whether None stays what it is
    **{
        f.name: (f.metadata["kind"], f.default is None or f.default is False)
        for f in fields(Request)
        if f.metadata["kind"] is not None
    },
    **dict.fromkeys(("runs", "lanes"), (kinds.count, True)),  # of many runs
}
