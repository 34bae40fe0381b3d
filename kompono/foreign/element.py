"""`self.plant = Fmu("plant.fmu", trust=True)`: a model of another tool as a component.

In model exchange its states are states of ours: one integrator moves both, and nothing is late. In co-simulation it is
sampled. Its inputs, outputs and states are members under their own names; what is no letter or digit in a name becomes
`_`, and `port("pin.angle.rate")` finds them by the name in the file. Parameters are keywords.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import casadi as ca

from kompono.errors import ModelError, ModelWarning, nearest, warn
from kompono.given import number, shown
from kompono.model.element import Element
from kompono.model.event import Event, Mode
from kompono.model.signal import Input, Output, time
from kompono.model.state import State
from kompono.model.subsystem import Subsystem, relative_path

if TYPE_CHECKING:
    from kompono.foreign.code import Functions
    from kompono.foreign.instance import Instance
    from kompono.foreign.told import Told, Variable

_TRUST = "If you trust its author, write Fmu(FILE, trust=True); else Fmu(FILE, isolate=True) puts a wall around it."


class Fmu(Subsystem):
    """An FMU (FMI 2.0 or 3.0) as a component; needs the extra `fmi`.

    An FMU is machine code of somebody else, which runs with your rights: without `trust=True` it is not loaded, unless
    with `isolate=True`, in a process of its own that can read files and compute, and nothing else (Linux).
    `kind="me"` (model exchange) adds its states to ours, `kind="cs"` (co-simulation) steps it every `every` seconds and
    holds its outputs meanwhile, so what passes through it is late by up to `every`. Without `kind`, `every` means
    co-simulation, else model exchange is taken if the file has it. Keywords are values of its parameters and start
    values of its inputs and states, by member name; `values` the same by the names in the file.
    """

    def __init__(
        self,
        file: str | Path,
        *,
        kind: str | None = None,
        every: float | None = None,
        trust: bool = False,
        isolate: bool = False,
        values: Mapping[str, float] | None = None,
        **keywords: float,
    ) -> None:
        from kompono.foreign.archive import Unpacked
        from kompono.foreign.told import told_by

        self._functions: Functions | None = None
        if not isinstance(file, str | Path):
            raise ModelError(f"file {shown(file)} is no name of a file.", fix='Use e.g. Fmu("plant.fmu", trust=True).')
        if not isinstance(isolate, bool):
            fix = "Use isolate=True or isolate=False."
            raise ModelError(f"isolate = {shown(isolate)} is neither True nor False.", path=str(file), fix=fix)
        if trust is not True and not isolate:
            raise ModelError("an FMU is machine code and would run with your rights.", path=str(file), fix=_TRUST)
        self._unpacked = Unpacked(Path(file))
        self._told = told = told_by(self._unpacked)
        self._isolated = isolate
        self._ports: dict[str, Any] = {}
        self._kind = _chosen(told, kind, every)
        if told.left_out:
            listed = ", ".join(told.left_out[:5])
            warn(
                f"{told.path}: {listed}: inputs and outputs that are no real scalars are left as they are.",
                ModelWarning,
            )
        if values is not None and not isinstance(values, Mapping):
            fix = 'Give numbers by name: values={"mass": 2.0}.'
            raise ModelError(f"values = {shown(values)} are no mapping.", path=told.path, fix=fix)
        given = _values(told, {**(values or {}), **keywords})
        self._known = self._unpacked.digest, self._kind, isolate, tuple(given.items())
        for variable in told.inputs:
            value = given.pop(variable.name, None)
            made = Input(variable.start if value is None else value, unit=variable.unit)
            made._has_source = value is not None  # what the file starts with is not of the owner
            self._put(variable, made)
        if self._kind == "me":
            self._exchange(told, given)
        else:
            period = number(every, "every [s]", str(file), positive=True, fix="Use e.g. every=1e-3.")
            self._sample(told, given, period)

    def port(self, name: str) -> Any:
        """The input, output or state of this name in the file."""
        if name not in self._ports:
            raise ModelError(f"it has no {name!r}.", path=self.label, fix=nearest(name, self._ports))
        return self._ports[name]

    def _put(self, variable: Variable, element: Element) -> None:
        name = variable.member
        if name in self._members or hasattr(type(self), name):
            name = f"{name}_"
        if name in self._members:
            raise ModelError(f"two variables would be called {name!r}.", path=self._told.path, fix="Rename one.")
        setattr(self, name, element)
        self._ports[variable.name] = element

    @property
    def _behind(self) -> type[Instance]:
        """How its code is run: here, or behind a wall."""
        from kompono.foreign.instance import Instance
        from kompono.foreign.isolated import IsolatedInstance

        return IsolatedInstance if self._isolated else Instance

    # -- model exchange

    def _exchange(self, told: Told, given: dict[str, float]) -> None:
        from kompono.foreign.code import RATES, STILL, THROUGH, Functions
        from kompono.foreign.isolated import IsolatedFunctions

        instance = self._behind(self._unpacked, told, "me", given)
        starts = instance.read([v.reference for v in told.states])
        known = {v.name for v in told.states}
        for variable, start in zip(told.states, starts.tolist(), strict=True):
            self._put(variable, State(start, unit=variable.unit))
        states: list[Any] = [self._ports[v.name] for v in told.states]
        outputs = [v for v in told.outputs if v.name not in known]
        still = [v for v in outputs if v.depends is not None and not v.depends]
        through = [v for v in outputs if v not in still]
        made: Any = IsolatedFunctions if self._isolated else Functions
        self._functions = functions = made(instance, still, through)
        inputs = [self._ports[v.name] for v in told.inputs]
        last = self._follow(functions, instance.next_event) if functions.epochs else []
        inner, whole = ca.vertcat(time, *states, *last), ca.vertcat(time, *states, *inputs, *last)
        if states:
            for state, rate in zip(states, ca.vertsplit(functions.call(RATES, whole)), strict=True):
                state.rate = rate
        for column, which, variables in ((inner, STILL, still), (whole, THROUGH, through)):
            values = ca.vertsplit(functions.call(which, column)) if variables else []
            for variable, value in zip(variables, values, strict=True):
                self._put(variable, Output(value, unit=variable.unit))
        if functions.epochs:
            self._react(functions, whole, states)

    def _follow(self, functions: Functions, next_event: float) -> list[Mode]:
        """Modes for what happens inside: the epoch, the time of the next event, on which side each indicator is."""
        assert functions.epochs is not None
        self.epoch, self.next_event = Mode(0.0), Mode(next_event)
        self.sides = [Mode(side) for side in functions.epochs.first_sides]
        return [self.epoch]

    def _react(self, functions: Functions, whole: ca.SX, states: list[Any]) -> None:
        """Events where an indicator changes its side and where the FMU has announced one."""
        from kompono.foreign.code import EVENT, GUARDS

        new = ca.vertsplit(functions.call(EVENT, whole))
        changes = dict(zip([self.epoch, self.next_event, *self.sides, *states], new, strict=True))
        values = ca.vertsplit(functions.call(GUARDS, whole)) if self.sides else []
        self.events = [Event(-side * value, changes) for side, value in zip(self.sides, values, strict=True)]
        self.timed = Event(time - self.next_event, changes)

    # -- co-simulation

    def _sample(self, told: Told, given: dict[str, float], every: float) -> None:
        from kompono.foreign.sampled import Held, Stepper

        self._stepper = Stepper(self._unpacked, told, given, every, self._behind)
        self._behind(self._unpacked, told, "cs", given).end()  # what is wrong with it is said here
        for k, variable in enumerate(told.outputs):
            held = Input(Held(self._stepper, k), period=every, unit=variable.unit)
            setattr(self, f"held_{variable.member}", held)
            self._put(variable, Output(ca.SX(held), unit=variable.unit))
        seen = []
        for variable in told.inputs:
            seen.append(Output(ca.SX(self._ports[variable.name]), unit=variable.unit))
            setattr(self, f"seen_{variable.member}", seen[-1])

        def paths() -> list[str]:
            """Where the inputs are in the whole model, which is known when it runs."""
            top: Any = self
            while top.owner is not None:
                top = top.owner
            return [relative_path(element, top) for element in seen]

        self._stepper.inputs = paths


def functions_of(part: Fmu) -> Functions | None:
    """What it is asked for in model exchange."""
    return part._functions


def known_by(part: Fmu) -> tuple[Any, ...]:
    """What says all about it that its members do not: the hash of the file, how it is used, what it was given."""
    return part._known


def _chosen(told: Told, kind: Any, every: Any) -> str:
    """Which kind an FMU is used as."""
    if kind is not None and not (isinstance(kind, str) and kind in ("me", "cs")):
        raise ModelError(f"there is no kind {shown(kind)}.", path=told.path, fix="Use kind='me' or kind='cs'.")
    wanted = kind or ("cs" if every is not None or "me" not in told.libraries else "me")
    if wanted not in told.libraries:
        word = {"me": "model exchange", "cs": "co-simulation"}
        there = " and ".join(word[found] for found in told.libraries) or "neither kind"
        raise ModelError(f"it has no {word[wanted]}, but {there}.", path=told.path, fix="Use another kind.")
    if wanted == "cs" and every is None:
        raise ModelError("co-simulation is sampled.", path=told.path, fix="Say how often: every=1e-3.")
    if wanted == "me" and every is not None:
        raise ModelError("model exchange is not sampled.", path=told.path, fix="Leave out every, or use kind='cs'.")
    return wanted


def _values(told: Told, given: Mapping[str, Any]) -> dict[str, float]:
    """Values by names in the file."""
    known: Sequence[Variable] = (*told.parameters, *told.inputs, *told.states)
    names = {v.name: v.name for v in known} | {v.member: v.name for v in known}
    found = {}
    for name, value in given.items():
        if not isinstance(name, str) or name not in names:
            offered = ", ".join(v.name for v in told.parameters[:5])
            fix = nearest(str(name), names) or f"It has {offered or 'no parameters'}."
            raise ModelError(f"it has no parameter, input or state {shown(name)}.", path=told.path, fix=fix)
        found[names[name]] = number(value, name, told.path, fix="Give a number.")
    return found
