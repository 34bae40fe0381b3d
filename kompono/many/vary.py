"""What differs between the runs of an ensemble: arrays of one value per run, or one value for all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kompono.errors import RunError
from kompono.given import entries_of, numbers
from kompono.options import check_known
from kompono.simulation import Simulation
from kompono.translate.starts.start import check_tuned_bodies


@dataclass(frozen=True)
class Variation:
    """Values by path, each (runs,)."""

    runs: int
    parameters: Mapping[str, np.ndarray]
    initial: Mapping[str, np.ndarray]
    varied: Mapping[str, np.ndarray]  # those of both that were given as arrays

    def initial_of(self, run: int) -> dict[str, float]:
        """The start values of one run."""
        return {name: float(values[run]) for name, values in self.initial.items()}


def vary(
    parameters: Mapping[str, ArrayLike] | None, initial: Mapping[str, ArrayLike] | None, runs: int | None
) -> Variation:
    """Arrays brought to the same number of runs."""
    given = {(kind, name): _array(name, values) for kind, name, values in _items(parameters, initial)}
    count = _count(given, runs)
    full = {key: np.broadcast_to(values, (count,)) for key, values in given.items()}
    kinds = [{name: full[key] for key in full for kind, name in [key] if kind == wanted} for wanted in ("p", "i")]
    varied = {name: full[kind, name] for kind, name in full if given[kind, name].ndim}
    return Variation(count, kinds[0], kinds[1], varied)


def _items(
    parameters: Mapping[str, ArrayLike] | None, initial: Mapping[str, ArrayLike] | None
) -> Iterable[tuple[str, str, ArrayLike]]:
    for kind, values, what in (("p", parameters, "parameters"), ("i", initial, "initial")):
        if values is not None and not isinstance(values, Mapping):
            raise RunError(
                f"{what} are {type(values).__name__}, not values by path.", fix=f"Use {what}={{path: array}}."
            )
        yield from ((kind, name, value) for name, value in (values or {}).items())


def _array(name: str, values: Any) -> np.ndarray:
    shape = entries_of(values).shape
    if len(shape) > 1:
        fix = "Lay the combinations out run by run, e.g. a, b = (x.ravel() for x in np.meshgrid(a, b))."
        raise RunError(f"the values have shape {shape}, not one per run.", path=name, fix=fix)
    fix = "Give one number per run, or one for all."
    array = numbers(values, shape, "the values", name, error=RunError, finite=False, fix=fix)
    bad = np.flatnonzero(~np.isfinite(np.atleast_1d(array)))
    if len(bad):
        where = f" in run {bad[0]}" if array.ndim else ""
        raise RunError(f"the value{where} is not finite.", path=name, fix="Give a number.")
    return array


def _count(given: Mapping[tuple[str, str], np.ndarray], runs: int | None) -> int:
    """How many runs there are, by the arrays given or by the number asked for."""
    sizes = {name: len(array) for (_, name), array in given.items() if array.ndim}
    if runs is None and not sizes:
        raise RunError("nothing differs between the runs.", fix="Give parameters or initial an array, or say runs=...")
    count = int(runs) if runs is not None else max(sizes.values())
    for name, size in sizes.items():
        if size == 0:
            raise RunError("there are no values.", path=name, fix="Give one value per run, or a single value for all.")
        if size not in (1, count):
            other = "runs" if runs is not None else next(n for n, s in sizes.items() if s == count)
            fix = "Give one value per run, or a single value for all."
            raise RunError(f"{size} values do not fit {count} runs (from {other!r}).", path=name, fix=fix)
    return count


def parameter_table(simulation: Simulation, variation: Variation) -> np.ndarray:
    """Values (runs, p) of all tunable parameters."""
    declared = simulation.parameters()
    names = simulation.program.parameters
    check_known(variation.parameters, names, "tunable parameter")
    table = np.tile(declared, (variation.runs, 1))
    for name, values in variation.parameters.items():
        table[:, names.index(name)] = values
    if variation.parameters:
        check_tuned_bodies(simulation.translation.model, *table)
    return table
