"""What an FMU says of itself, as plain data: FMPy reads the description, we take what a component needs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kompono.errors import ModelError
from kompono.foreign.archive import Unpacked
from kompono.foreign.package import fmpy

REAL = ("Real", "Float64")


@dataclass(frozen=True)
class Variable:
    """A scalar of the FMU: its value reference, unit and start, and which inputs it depends on (None: perhaps all)."""

    name: str
    reference: int
    unit: str = ""
    start: float = 0.0
    depends: frozenset[str] | None = None

    @property
    def member(self) -> str:
        """Its name as an attribute of a component: what is no letter or digit becomes _."""
        word = re.sub(r"\W+", "_", self.name).strip("_")
        return word if word[:1].isalpha() else f"v_{word}"


@dataclass(frozen=True)
class Told:
    """An FMU: its version, token, and for each kind the name of its library; its variables."""

    path: str
    version: int
    token: str
    libraries: Mapping[str, str]  # "me", "cs"
    states: tuple[Variable, ...]
    inputs: tuple[Variable, ...]
    outputs: tuple[Variable, ...]
    parameters: tuple[Variable, ...]
    indicators: int
    left_out: tuple[str, ...]  # inputs and outputs that are no real scalars


def told_by(unpacked: Unpacked) -> Told:
    """The description of an FMU; ModelError if it cannot be used."""
    path = str(unpacked.path)
    try:
        read = fmpy().read_model_description(str(unpacked.folder), validate=False)
    except ModelError:
        raise
    except Exception as error:
        why = f"its description cannot be read ({type(error).__name__}: {str(error)[:120]})."
        raise ModelError(why, path=path, fix="Check it with `fmpy validate`.") from error
    if str(read.fmiVersion)[:1] not in ("2", "3"):
        raise ModelError(f"it is of FMI {read.fmiVersion}.", path=path, fix="FMI 2.0 and 3.0 can be used.")
    kinds = {"me": read.modelExchange, "cs": read.coSimulation}
    libraries = {kind: found.modelIdentifier for kind, found in kinds.items() if found is not None}
    for name in libraries.values():
        if not re.fullmatch(r"[A-Za-z_]\w*", name or ""):
            raise ModelError(f"its library cannot be called {name!r}.", path=path, fix="Ask its author.")
    return _told(path, read, libraries)


def _told(path: str, read: Any, libraries: Mapping[str, str]) -> Told:
    inputs = [v for v in read.modelVariables if v.causality == "input"]
    outputs = [v for v in read.modelVariables if v.causality == "output"]
    fixed = [v for v in read.modelVariables if v.causality == "parameter" and _real(v)]
    depends = {u.variable.name: u.dependencies for u in read.outputs}
    states = [u.variable.derivative for u in read.derivatives]
    names = {v.name for v in inputs}

    def variable(found: Any) -> Variable:
        known = depends.get(found.name)
        on = None if known is None else frozenset(v.name for v in known if v.name in names)
        return Variable(found.name, found.valueReference, found.unit or "", _start(found), on)

    left_out = [v.name for v in (*inputs, *outputs) if not _real(v)]
    return Told(
        path,
        int(str(read.fmiVersion)[0]),
        read.guid or read.instantiationToken,
        libraries,
        states=tuple(map(variable, states)),
        inputs=tuple(variable(v) for v in inputs if _real(v)),
        outputs=tuple(variable(v) for v in outputs if _real(v)),
        parameters=tuple(map(variable, fixed)),
        indicators=int(read.numberOfEventIndicators or 0),
        left_out=tuple(left_out),
    )


def _real(variable: Any) -> bool:
    return variable.type in REAL and not variable.dimensions


def _start(variable: Any) -> float:
    try:
        return float(variable.start)
    except (TypeError, ValueError):
        return 0.0
