"""Types of cells: those whose equations are the same but for numbers.

Each cell of its own numbers is traced, with symbols for these. Where expressions are the same to the letter, one set of
kernels serves, and what they read of the numbers of an instance lies in a table (see `tables`). What follows from
numbers alone is worked out before anything moves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np

from kompono.model.element import Element
from kompono.model.signal import Input, time
from kompono.translate.engines.large.channels import TypeChannels, type_channels
from kompono.translate.engines.large.trace import Traced
from kompono.translate.numbers import extracted


@dataclass(frozen=True)
class CellType:
    """What is the same for all cells of a type: the equations, with symbols for `traced.numbers`, channels, and a
    `table` that makes these of the numbers of a cell.
    """

    traced: Traced
    channels: TypeChannels
    table: ca.Function


class CellTypes:
    """Types of cells as they are traced."""

    def __init__(self) -> None:
        self.found: list[CellType] = []
        self._known: dict[Any, int] = {}

    def add(self, traced: Traced, signals: Sequence[Element]) -> tuple[int, np.ndarray]:
        """The type of a traced cell that reads these inputs and parameters, perhaps a new one, and its numbers."""
        kinds = [isinstance(signal, Input) for signal in signals]
        numbers, channels = traced.kinematics.model.numbers, type_channels(traced)
        assert numbers is not None
        values = [*_equations(traced), traced.normal, channels.values, channels.totals]
        columns = [ca.densify(ca.SX(value)) for value in values]
        symbols = [one for one in ca.symvar(ca.vertcat(*columns)) if numbers.among([one])]
        known = np.array(numbers.values(numbers.among(symbols)))
        column = ca.vertcat(ca.SX(0, 1), *symbols)
        border = [time, traced.q, traced.v, *traced.signals, traced.parent, *traced.children]
        whole = ca.Function("cell", [*border, column], columns, {"allow_free": True})
        key = (whole.serialize(), kinds, [traced.ports.index(body) for body in traced.carriers], *_told(channels))
        key = len(self.found) if whole.has_free() else repr(key)  # of nobody else
        if key not in self._known:
            self._known[key] = len(self.found)
            self.found.append(_apart(traced, channels, column))
        number = self._known[key]
        return number, self.found[number].table(known).full().ravel()


def _told(channels: TypeChannels) -> list[Any]:
    """Channels but for their values."""
    seen = [(channel.unit, channel.angle) for channel in channels.channels]
    return [channels.links, channels.parts, channels.names, channels.plain, seen]


def _equations(traced: Traced) -> list[ca.SX]:
    answer = [] if traced.answer is None else [traced.answer]
    return [traced.speeds, traced.rate, *answer, *traced.motions]


def _apart(traced: Traced, channels: TypeChannels, numbers: ca.SX) -> CellType:
    """A type with what is made of `numbers` alone taken out of its equations; what these read comes first."""
    values = _equations(traced)
    rest, places, made = extracted(ca.cse(ca.vertcat(*values)), numbers)
    read = {symbol.element_hash() for symbol in ca.symvar(rest)}
    meant = [*zip(places, made, strict=True), *[(one, one) for one in ca.vertsplit(numbers)]]
    meant.sort(key=lambda one: one[0].element_hash() not in read)
    empty = ca.SX(0, 1)
    symbols = ca.vertcat(empty, *[symbol for symbol, _ in meant])
    table = ca.Function("table", [numbers], [ca.densify(ca.vertcat(empty, *[value for _, value in meant]))])
    ends = np.cumsum([0, *(value.numel() for value in values)]).tolist()
    parts = ca.vertsplit(rest, ends)
    speeds, rate, *others = parts
    answer = None if traced.answer is None else others.pop(0)
    return CellType(
        replace(traced, speeds=speeds, rate=rate, answer=answer, motions=tuple(others), numbers=symbols),
        channels, table,
    )  # fmt: skip
