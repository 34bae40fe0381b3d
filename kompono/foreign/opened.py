"""An unpacked FMU and what it says of itself, for another process: plain data, there and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from kompono.foreign.told import Told, Variable

_LISTS = ("states", "inputs", "outputs", "parameters")


class Opened:
    """The folder of an FMU that somebody else unpacked."""

    def __init__(self, folder: str, members: Sequence[str]) -> None:
        self.folder, self.members = Path(folder), list(members)


def told_data(told: Told) -> dict[str, Any]:
    """What an FMU says, as JSON has it."""
    found = asdict(told)
    for name in _LISTS:
        for variable in found[name]:
            variable["depends"] = None if variable["depends"] is None else sorted(variable["depends"])
    return found


def told_from(data: dict[str, Any]) -> Told:
    """The same back."""

    def variable(entry: dict[str, Any]) -> Variable:
        depends = entry["depends"]
        return Variable(**{**entry, "depends": None if depends is None else frozenset(depends)})

    lists = {name: tuple(map(variable, data[name])) for name in _LISTS}
    return Told(**{**data, **lists, "left_out": tuple(data["left_out"])})
