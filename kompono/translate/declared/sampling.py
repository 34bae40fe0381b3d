"""When modes are sampled: the rates of a model, and which of them can be due at the same instant."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from typing import Any

from kompono.errors import ModelError
from kompono.model.event import Mode
from kompono.translate.declared.elaborate import Elaborated
from kompono.translate.program import ControllerUnit

Rate = tuple[float, float]  # period and offset [s]

ALL = 3  # rates of which all combinations are looked at
MOST = 6  # rates of which all are, if it is not known which are due together
LONGEST = 20_000  # instants that are counted to find out


def rates_of(modes: Sequence[Mode]) -> tuple[Rate, ...]:
    """Periods and offsets, each once, in order of declaration."""
    return tuple(dict.fromkeys((m.every, m.offset) for m in modes if m.every is not None))


def told_samples(model: Elaborated, rates: tuple[Rate, ...], ticks: tuple[tuple[int, ...], ...]) -> dict[str, Any]:
    """What a program says of what it samples."""
    controllers = controller_units(model, rates)
    return {"rates": rates, "sampled": sampled_first(model, rates), "ticks": ticks, "controllers": controllers}


def sampled_first(model: Elaborated, rates: Sequence[Rate]) -> tuple[str, ...]:
    """Of each rate the path of the first mode that is sampled so."""
    known: dict[Any, str] = {}
    for mode in model.sampled if rates else ():
        known.setdefault((mode.every, mode.offset), model.path(mode))
    return tuple(known[rate] for rate in rates)


def controller_units(model: Elaborated, rates: Sequence[Rate]) -> tuple[ControllerUnit, ...]:
    """Python callables as the loop knows them."""
    places = {mode: k for k, mode in enumerate(model.modes)}
    return tuple(
        ControllerUnit(
            model.path(one), rates.index((one.every, one.offset)), len(one.reads), tuple(places[m] for m in one._held)
        )
        for one in model.controllers
    )


@lru_cache(maxsize=64)
def due_together(rates: Sequence[Rate], path: str = "") -> tuple[tuple[int, ...], ...]:
    """Numbers of rates that can be due at one instant, while all others are not."""
    everything = [c for size in range(1, len(rates) + 1) for c in combinations(range(len(rates)), size)]
    if len(rates) <= ALL:
        return tuple(everything)
    found = _counted([(Fraction(repr(every)), Fraction(repr(offset))) for every, offset in rates])
    if found is None and len(rates) > MOST:
        raise ModelError(
            f"{len(rates)} sampling rates have no common rhythm.", path=path,
            fix="Use periods that are multiples of each other.",
        )  # fmt: skip
    return tuple(sorted(found)) if found is not None else tuple(everything)


def _counted(rates: Sequence[tuple[Fraction, Fraction]]) -> set[tuple[int, ...]] | None:
    """All combinations from the start until they repeat, or None if that takes too long."""
    whole = Fraction(math.lcm(*(e.numerator * (_common(rates) // e.denominator) for e, _ in rates)), _common(rates))
    end = max(offset for _, offset in rates) + whole
    if sum(end / every for every, _ in rates) > LONGEST:
        return None
    due: dict[Fraction, list[int]] = {}
    for number, (every, offset) in enumerate(rates):
        for k in range(math.ceil((end - offset) / every) + 1):
            due.setdefault(offset + k * every, []).append(number)
    return {tuple(numbers) for instant, numbers in due.items() if instant <= end}


def _common(rates: Sequence[tuple[Fraction, Fraction]]) -> int:
    return math.lcm(*(every.denominator for every, _ in rates))
