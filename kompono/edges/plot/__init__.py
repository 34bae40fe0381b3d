"""Curves of results as pictures: `plot(result, "body.*")`, also as `result.plot("body.*")` and `kompono plot`.

Draws without a display; needs the extra `plot` (matplotlib).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kompono.edges.plot.curves import alongside, channels, curves, named, since_start
from kompono.edges.plot.happened import happened
from kompono.edges.plot.names import method
from kompono.edges.plot.panels import Sheet, axis_label, group
from kompono.edges.plot.picture import Picture, check_path
from kompono.edges.plot.style import COLOURS, STYLE, WIDTH
from kompono.errors import RunError
from kompono.result import Ensemble, Result
from kompono.result.telling import telling

FEW, MOST = 16, 8  # channels that are all drawn; coordinates that are, of more

__all__ = ["COLOURS", "STYLE", "WIDTH", "Picture", "alongside", "check_path", "plot"]


def plot(
    results: Any,
    *patterns: str,
    x: str = "time",
    difference: Result | None = None,
    log: bool = False,
    panels: str = "unit",
    events: bool = True,
    title: str | None = None,
    name: str = "",
    caption: str = "",
) -> Picture:
    """A picture of the channels that match `patterns` (globs; none: how coordinates that move, and energies,
    change since the start).

    results: a `Result` or `Ensemble` (median, middle 90 % and range), several, or a dictionary of label to result.
    `x` is the channel of the horizontal axis. `difference` subtracts a reference result, interpolated in time.
    `log` shows magnitudes on a logarithmic axis. `panels`: one for each "unit" (the default), "quantity" or "channel".
    `events` marks those of a single run over time: by lines and a sign for each name if they are few, else by ticks.
    At most eight curves a panel and eight panels are drawn; a note in the picture counts what was left out.
    """
    by_label = named(results)
    shown = list(by_label.values())
    if difference is not None and any(isinstance(result, Ensemble) for result in shown):
        raise RunError(
            "an ensemble has no difference to one result.", fix="Draw single runs: ensemble.run(i).plot(...)."
        )
    chosen = list(patterns) or default_channels(shown)
    found = curves(shown, channels(shown, chosen), over=x, less=difference)
    changes = not patterns and chosen != ["*"] and difference is None and x == "time"
    if changes:
        found = [since_start(curve) for curve in found]
    unit = "s" if x == "time" else next(result.units[x] for result in shown)
    sheet = Sheet(
        group(found, panels),
        list(by_label),
        _title(by_label, difference) if title is None else title,
        axis_label(x, unit),
        log,
        "difference of" if difference is not None else "change of" if changes else "",
        happened(shown) if events and x == "time" else (),
    )
    return Picture(sheet.draw, size=sheet.size, name=name or "plot", caption=caption)


def default_channels(results: Sequence[Result | Ensemble]) -> list[str]:
    """What is drawn of results if nobody says what: all of few channels, else coordinates that move, or bodies that do,
    and energies.
    """
    first = results[0]
    if len(first.names) <= FEW:
        return ["*"]
    moving = telling(first)
    coordinates = [name for name in moving if f"{name}.rate" in first.names]
    places = [name for name in moving if ".position." in name]
    energies = [name for name in first.names if name.startswith("energy.")]
    return [*(coordinates or places or moving)[:MOST], *energies] or ["*"]


def _title(results: dict[str, Any], reference: Result | None) -> str:
    """What was simulated and how, as far as all results agree on it, and who ended early."""
    models = {result.model for result in results.values()} - {""}
    ways = {method(result) for result in results.values()} - {""}
    words = [models.pop() if len(models) == 1 else "", ways.pop() if len(ways) == 1 else ""]
    if reference is not None:
        words.append(f"less {method(reference) or reference.model or 'the reference'}")
    for label, result in results.items():
        if isinstance(result, Ensemble):
            words.append(f"{result.runs} runs: median, middle 90 %, range")
        elif not result.status.ok:
            whose = f"{label} " if len(results) > 1 else ""
            words.append(f"{whose}{result.ending}")
    return " · ".join(filter(None, words)).replace("$", r"\$")  # names hold no formulas
