"""Where a run ended: what another run needs to go on from there, as plain data that a file can keep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from kompono.errors import RunError

FIX = "Start from a result of this model and engine, or give `initial` values."
_NUMBERS = ("values", "inputs", "parameters")


@dataclass(frozen=True)
class RunEnd:
    """The end of a run at `time` [s]: `values` of all coordinates, speeds, modes and states by name, as the `engine`
    has them, the `inputs` there and the `parameters` it ran with; `facts` are what its assembly found out.
    """

    time: float
    engine: str
    values: Mapping[str, float]
    inputs: Mapping[str, float]
    parameters: Mapping[str, float]
    facts: Mapping[str, Any]

    @classmethod
    def of(cls, program: Any, engine: str, row: np.ndarray, parameters: np.ndarray, facts: Mapping[str, Any]) -> RunEnd:
        """From the last row (time, state..., inputs...) of a run of a program."""
        names = state_names(program)
        state, inputs = row[1 : 1 + len(names)], row[1 + len(names) :]
        return cls(
            float(row[0]), engine, _by_name(names, state), _by_name(program.inputs, inputs),
            _by_name(program.parameters, parameters), dict(facts),
        )  # fmt: skip

    @classmethod
    def from_data(cls, data: Any) -> RunEnd | None:
        """As a file keeps it; None if it is not the end of a run."""
        known = {field.name for field in fields(cls)}
        if not isinstance(data, Mapping) or set(data) != known or not isinstance(data["engine"], str):
            return None
        tables = [data[name] for name in _NUMBERS]
        plain = all(isinstance(table, Mapping) and all(map(_is_number, table.values())) for table in tables)
        return cls(**data) if plain and _is_number(data["time"]) and isinstance(data["facts"], Mapping) else None

    def data(self) -> dict[str, Any]:
        """As a file keeps it."""
        return asdict(self)

    def state(self, program: Any, engine: str) -> np.ndarray:
        """The state of a program there; RunError if it is that of another model, or not a number."""
        names = state_names(program)
        if engine != self.engine:
            raise RunError(f"the run to go on from was one of engine {self.engine!r}, not {engine!r}.", fix=FIX)
        missing, unknown = [n for n in names if n not in self.values], [n for n in self.values if n not in set(names)]
        if missing or unknown:
            what = f"it has no {missing[0]!r}" if missing else f"this model has no {unknown[0]!r}"
            raise RunError(f"the run to go on from was one of another model: {what}.", fix=FIX)
        state = np.array([self.values[name] for name in names], dtype=float)
        if not np.all(np.isfinite(state)):
            raise RunError(
                "the run to go on from ended with what is not a number.", fix="Begin again, with other values."
            )
        return state


def state_names(program: Any) -> tuple[str, ...]:
    """Names of all numbers of a state, in their order."""
    return (*program.coordinates, *program.speeds, *program.modes, *program.states)


def _by_name(names: Any, numbers: np.ndarray) -> dict[str, float]:
    return dict(zip(names, map(float, numbers), strict=True))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
