"""The run: how it was asked for and ended, what it took, how well conditions and energy were kept, its curves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from kompono.edges.plot import Picture, plot
from kompono.edges.plot.names import duration, in_brackets
from kompono.edges.report.html import folded, pairs, table
from kompono.result import Result
from kompono.translate.declared.elaborate import Elaborated

COORDINATES = 8  # joint coordinates of the overview
STILL = 1e-9  # what moves less than this, relative to the largest of its unit, does not move


def settings(request: Mapping[str, Any], result: Result) -> str:
    """What was asked for and what it took."""
    known = result.statistics
    span = f"{result.time[0]:g} to {result.time[-1]:g} s" if len(result.time) else "no row recorded"
    rows = [("span", span), ("rows and channels", f"{len(result.time)} rows of {len(result.names)} channels")]
    rows += [(name, known[name]) for name in ("engine", "method") if name in known]
    rows += [("step", duration(float(known["step"])))] if "step" in known else []
    asked = ("projection", "metric", "rtol", "atol", "every", "stabilize", "cut", "initial", "parameters")
    rows += [(name, request[name]) for name in asked if request.get(name) not in (None, {}, ())]
    rows += [(name, known[name]) for name in ("steps", "evaluations", "rejected") if known.get(name) is not None]
    rows += [(f"to {name}", duration(known[f"seconds_{name}"])) for name in ("translate", "compile", "run")
             if f"seconds_{name}" in known]  # fmt: skip
    return pairs(rows)


def quality(result: Result) -> Iterator[tuple[str, str]]:
    """How well the conditions were kept, and what became of the energy."""
    for level, unit in (("position", "m, rad"), ("velocity", "m/s, rad/s")):
        drift = _finite(result, f"drift.{level}")
        if len(drift):
            yield f"largest drift of {level} [{unit}]", f"{np.abs(drift).max():.2g}"
    energy = _finite(result, "energy.total")
    if len(energy):
        yield "energy at the start [J]", f"{energy[0]:.6g}"
        yield "changed by [J]", f"{energy[-1] - energy[0]:.3g}"
        yield "largest change [J]", f"{np.abs(energy - energy[0]).max():.3g}"


def events(result: Result) -> str:
    """The log of events."""
    log = list(result.statistics.get("events", ()))
    rows = [(f"{time:.9g}", name) for time, name in log]
    return folded(f"{len(rows)} events", table(("time [s]", "event"), rows)) if rows else ""


def channels(result: Result) -> str:
    """Range and end of every channel."""
    rows = []
    for name in result.names if len(result.time) else ():
        values = _finite(result, name)
        numbers = (float(values.min()), float(values.max()), float(values[-1])) if len(values) else ("", "", "")
        rows.append((name, *numbers, " ".join(in_brackets(result.units[name])).strip("[]")))
    return folded(f"Ranges of {len(rows)} channels", table(("channel", "smallest", "largest", "last", "unit"), rows))


def overview(model: Elaborated, result: Result, patterns: tuple[str, ...]) -> Iterator[Picture]:
    """Curves every run has: chosen channels, or joint coordinates that move; energy and drift."""
    if patterns:
        yield plot(result, *patterns, caption=f"Channels {', '.join(patterns)}.")
    else:
        names = _moving(result, [f"{model.path(j)}.{c}" for j in model.joints for c in j.coordinates])
        if not names:
            names = _moving(result, [f"{model.path(body)}.position.{axis}" for body in model.bodies for axis in "xyz"])
        if names:
            more = f", {COORDINATES} of {len(names)}" if len(names) > COORDINATES else ""
            yield plot(result, *names[:COORDINATES], caption=f"Coordinates that move{more}.")
    if "energy.total" in result:
        moving = _moving(result, ["energy.kinetic", "energy.potential"])
        yield plot(
            result, *moving, "energy.total", panels="channel", caption="Energy, as far as it changes, and its sum."
        )
    if np.any(np.abs(_finite(result, "drift.position")) > 0):
        yield plot(
            result, "drift.*", caption="Largest violation of the conditions: position [m, rad], velocity [m/s, rad/s]."
        )


def _finite(result: Result, name: str) -> np.ndarray:
    values = result[name] if name in result else np.empty(0)
    return values[np.isfinite(values)]


def _moving(result: Result, names: list[str]) -> list[str]:
    """Those of the channels that change."""
    spans = {name: float(np.ptp(values)) for name in names if name in result and len(values := _finite(result, name))}
    largest: dict[str, float] = {}
    for name, span in spans.items():
        largest[result.units[name]] = max(largest.get(result.units[name], 0.0), span)
    return [name for name, span in spans.items() if span > STILL * largest[result.units[name]]]
