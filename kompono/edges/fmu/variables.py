"""The variables of an FMU: names, units, start values, and what each is for its importer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kompono.compile.fmi import NOMINAL, FmuModel
from kompono.translate.program import Channel

_STRUCTURED = re.compile(r"(der\()?[A-Za-z_]\w*(\[\d+(,\d+)*\])?(\.[A-Za-z_]\w*(\[\d+(,\d+)*\])?)*\)?")


@dataclass(frozen=True)
class Variable:
    """One variable; `derivative_of` is the value reference of the state it is the rate of, `depends` lists those it
    depends on (None: perhaps on all).
    """

    name: str
    reference: int
    causality: str
    variability: str = "continuous"
    initial: str = ""
    start: float | None = None
    unit: str = ""
    derivative_of: int | None = None
    nominal: float | None = None
    depends: Sequence[int] | None = None
    about: str = ""


@dataclass(frozen=True)
class Variables:
    """All variables by kind, in the order of value references."""

    time: Variable
    states: list[Variable]
    rates: list[Variable]
    inputs: list[Variable]
    parameters: list[Variable]
    outputs: list[Variable]
    modes: list[Variable]
    indicators: list[Variable] = field(default_factory=list)

    @property
    def all(self) -> list[Variable]:
        """All of them."""
        kinds = self.states, self.rates, self.inputs, self.parameters, self.outputs, self.modes, self.indicators
        return [self.time, *(variable for kind in kinds for variable in kind)]

    @property
    def results(self) -> list[Variable]:
        """What an importer calls outputs: coordinates, speeds, and what was asked for."""
        return [*self.states, *self.outputs]

    @property
    def naming(self) -> str:
        """The naming convention they keep."""
        return "structured" if all(_STRUCTURED.fullmatch(v.name) for v in self.all) else "flat"


def variables_of(
    model: FmuModel, outputs: Sequence[Channel], units: Mapping[str, str], depends: Sequence[Sequence[int]] | None
) -> Variables:
    """The variables of a model, `units` by name; `depends` are dependencies of rates, outputs and indicators on states
    and inputs, numbered in this order.
    """
    program, first, nx = model.program, model.references, model.continuous
    names = model.state_names

    def on(row: int) -> list[int] | None:
        if depends is None:
            return None
        return [first["state"] + k if k < nx else first["input"] + k - nx for k in depends[row]]

    states = [
        Variable(
            n, first["state"] + i, "output", "continuous", "exact", float(model.state[place]), units.get(n, ""),
            nominal=NOMINAL,
        )
        for i, (n, place) in enumerate(zip(names, model.continuous_places, strict=True))
    ]  # fmt: skip
    rates = [
        Variable(
            f"der({n})", first["rate"] + i, "local", "continuous", "calculated", None, _rate_unit(units.get(n, "")),
            first["state"] + i, depends=on(i),
        )
        for i, n in enumerate(names)
    ]  # fmt: skip
    inputs = [
        Variable(n, first["input"] + i, "input", start=float(model.inputs[i]), unit=units.get(n, ""))
        for i, n in enumerate(program.inputs)
    ]
    parameters = [
        Variable(
            n, first["parameter"] + i, "parameter", "tunable", "exact", float(model.parameters[i]), units.get(n, "")
        )
        for i, n in enumerate(program.parameters)
    ]
    made = [
        Variable(
            c.name, first["output"] + i, "output", "continuous", "calculated", None, c.unit, depends=on(nx + i),
            about="an angle within a turn" if c.angle else "",
        )
        for i, c in enumerate(outputs)
    ]  # fmt: skip
    modes = [
        Variable(n, first["mode"] + i, "local", "discrete", "calculated", unit=units.get(n, ""))
        for i, n in enumerate(program.modes)
    ]
    indicators = [
        Variable(
            f"indicator({n})", first["guard"] + i, "local", "continuous", "calculated",
            depends=on(nx + len(outputs) + i),
        )
        for i, n in enumerate(program.events[: model.guards])
    ]  # fmt: skip
    time = Variable("time", 0, "independent", unit="s")
    return Variables(time, states, rates, inputs, parameters, made, modes, indicators)


def _rate_unit(unit: str) -> str:
    if unit.endswith("/s"):
        return f"{unit}^2"
    return "" if not unit or "/" in unit else f"{unit}/s"
