"""From results to curves: which channels of which run, over time or another channel, themselves or less a reference."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kompono.edges.plot.names import method, run_labels
from kompono.errors import RunError, suggest
from kompono.result import Ensemble, Result, UnknownChannel, matching

SAME = 1e-12  # times closer than this, relative to the span, are the same


@dataclass(frozen=True)
class Curve:
    """One channel of one run, `x` and `y` (n,); of an ensemble its median, with (low, high) of each band."""

    name: str
    run: int
    x: np.ndarray
    y: np.ndarray
    unit: str
    bands: tuple[tuple[np.ndarray, np.ndarray], ...] = ()


def named(results: Any) -> dict[str, Result | Ensemble]:
    """Results by label, whether one, several or labelled ones were given."""
    if isinstance(results, Result | Ensemble):
        return {results.model: results}
    if isinstance(results, Mapping):
        return dict(results)
    listed = list(results)
    return dict(zip(run_labels(listed), listed, strict=True))


def alongside(result: Result, others: Any) -> dict[str, Any]:
    """A result and those it is compared with (none, one, several or labelled ones), by labels that tell them apart."""
    if others is None:
        return {result.model: result}
    if isinstance(others, Result) or not isinstance(others, Mapping):
        return named([result, *([others] if isinstance(others, Result) else others)])
    own = next(text for text in (result.model, method(result), "this run") if text and text not in others)
    return {own: result, **others}


def channels(results: Sequence[Result | Ensemble], patterns: Iterable[str]) -> list[str]:
    """The channels any of the results has for each pattern, in the order of the patterns."""
    known = list(dict.fromkeys(name for result in results for name in result.names))
    found: dict[str, None] = {}
    for pattern in patterns:
        found.update(dict.fromkeys(known[i] for i in matching(pattern, known)))
    if not found or not any(len(result.time) for result in results):
        raise RunError("there is nothing to draw: the result is empty.", fix="Give other globs, or a longer run.")
    return list(found)


def curves(
    results: Sequence[Result | Ensemble], names: Sequence[str], *, over: str, less: Result | None
) -> list[Curve]:
    """All curves, run by run; what a run does not have it does not show."""
    found = []
    for run, result in enumerate(results):
        if over != "time" and over not in result:
            raise UnknownChannel(f"there is no channel {over!r} for the x axis.", fix=suggest(over, result.names))
        for name in names:
            if name in result and name != over:
                found.append(_spread(result, run, name, over) if isinstance(result, Ensemble) else
                             _single(result, run, name, over, less))  # fmt: skip
    if not found:
        raise RunError("there is nothing to draw but the x axis itself.", fix="Give other channels.")
    return found


def _single(result: Result, run: int, name: str, over: str, less: Result | None) -> Curve:
    rows = np.ones(len(result.time), dtype=bool)
    values = result[name]
    if less is not None:
        rows, reference = at_times(less, name, result.time)
        values = values[rows] - reference
    return Curve(name, run, result[over][rows], values, result.units[name])


def since_start(curve: Curve) -> Curve:
    """The same less the value it begins with."""
    finite = curve.y[np.isfinite(curve.y)]
    first = finite[0] if len(finite) else 0.0
    bands = tuple((low - first, high - first) for low, high in curve.bands)
    return replace(curve, y=curve.y - first, bands=bands)


def at_times(reference: Result, name: str, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which of `times` (n,) [s] a reference covers (n,), and its values there.

    At the times of the reference those are its values, between them those of a cubic spline, whose error is smaller
    than that of most methods; across a jump it rings.
    """
    if name not in reference:
        raise UnknownChannel(f"the reference has no channel {name!r}.", fix=suggest(name, reference.names))
    known, where = np.unique(reference.time, return_index=True)
    values = reference[name][where]
    slack = SAME * max(np.ptp(known), 1e-300) if len(known) else 0.0
    rows = (
        (times >= known[0] - slack) & (times <= known[-1] + slack) if len(known) else np.zeros(len(times), dtype=bool)
    )
    if not rows.any():
        raise RunError("the reference covers no time of the result.", fix="Compare runs of the same time.")
    wanted = times[rows]
    place = np.clip(np.searchsorted(known, wanted), 1, max(len(known) - 1, 1))
    near = np.where(np.abs(known[place - 1] - wanted) < np.abs(known[np.minimum(place, len(known) - 1)] - wanted),
                    place - 1, np.minimum(place, len(known) - 1))  # fmt: skip
    exact = np.abs(known[near] - wanted) <= slack
    found = values[near].copy()
    if not exact.all():
        from scipy.interpolate import CubicSpline

        finite = np.isfinite(values)
        if finite.sum() < 4:
            raise RunError("the reference has too few rows to be interpolated.", fix="Record it more often.")
        found[~exact] = CubicSpline(known[finite], values[finite])(wanted[~exact])
    return rows, found


def _spread(ensemble: Ensemble, run: int, name: str, over: str) -> Curve:
    """Median, middle 90 % and range over the runs; runs that have ended early no longer count."""
    if over != "time":
        raise RunError("an ensemble is drawn over time only.", fix="Draw single runs: ensemble.run(i).plot(...).")
    values = np.ma.masked_invalid(ensemble[name])
    rows = ~np.all(np.ma.getmaskarray(values), axis=0)
    filled = values.filled(np.nan)[:, rows]
    low, high = np.nanmin(filled, axis=0), np.nanmax(filled, axis=0)
    lower, middle, upper = np.nanpercentile(filled, (5, 50, 95), axis=0)
    return Curve(name, run, ensemble.time[rows], middle, ensemble.units[name], ((low, high), (lower, upper)))
