"""Curves of a result as a picture: one panel per unit over a common time axis.

Drift has panels of its own with a logarithmic scale. Draws without a display; needs the extra `plot` (matplotlib).
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from kompono.errors import RunError
from kompono.result import Result, extra

SUFFIXES = (".png", ".svg", ".pdf")
CURVES = 8  # per panel
PANELS = 8
# Okabe and Ito's colours, told apart by everyone; yellow left out as too light for a line.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8A6D3B")
COMPONENTS = ("x", "y", "z", "e0", "e1", "e2", "e3")
STYLE = {
    "font.size": 9,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "grid.linewidth": 0.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "lines.linewidth": 1.2,
    "svg.hashsalt": "kompono",
}


def plot_result(result: Result, patterns: str | Iterable[str] = "*", path: str | Path = "result.png") -> Path:
    """Draw the channels that match `patterns` into the picture file `path` (png, svg or pdf) and return its path.

    At most eight curves a panel and eight panels are drawn; a note in the picture counts what was left out.
    """
    path = check_path(path)
    matplotlib = extra("matplotlib", "plot")
    figures, agg = extra("matplotlib.figure", "plot"), extra("matplotlib.backends.backend_agg", "plot")
    panels = _panels(result.select(patterns))
    with matplotlib.rc_context(STYLE):
        figure = figures.Figure(figsize=(8, 0.8 + 2 * min(len(panels), PANELS)), layout="constrained")
        agg.FigureCanvasAgg(figure)
        axes = figure.subplots(min(len(panels), PANELS), sharex=True, squeeze=False)[:, 0]
        for panel, (names, axis) in enumerate(zip(panels, axes, strict=False)):
            _draw(axis, result, names)
            if panel == 0:
                axis.set_title(_title(result, len(panels)), fontsize=10, loc="left")
        axes[-1].set_xlabel("time [s]")
        figure.align_ylabels(axes)
        figure.savefig(path, dpi=150)
    return path


def check_path(path: str | Path) -> Path:
    """The path of a picture, or an error if its suffix is not one we draw."""
    if Path(path).suffix.lower() not in SUFFIXES:
        raise RunError(f"cannot draw a picture into {str(path)!r}.", fix=f"Choose a name with {', '.join(SUFFIXES)}.")
    return Path(path)


def _panels(result: Result) -> list[list[str]]:
    """Channels grouped by unit, drift apart, in order of first appearance."""
    if not len(result.time) or not result.names:
        raise RunError("there is nothing to draw: the result is empty.")
    groups: dict[tuple[str, bool], list[str]] = {}
    for name in result.names:
        groups.setdefault((result.units[name], _is_drift(name)), []).append(name)
    return list(groups.values())


def _draw(axis: Any, result: Result, names: list[str]) -> None:
    """One panel."""
    drift = _is_drift(names[0])
    for name, colour in zip(names, COLOURS[:CURVES], strict=False):
        values = np.abs(result[name]) if drift else result[name]
        axis.plot(result.time, values, color=colour, label=name)
    if drift and any(np.any(np.abs(result[name]) > 0) for name in names):
        axis.set_yscale("log")
    axis.set_ylabel(_label(names, result.units[names[0]]))
    axis.margins(x=0)
    more = len(names) - CURVES
    title = f"and {more} more, not drawn" if more > 0 else None
    legend = axis.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0, title=title, alignment="left")
    legend.get_title().set_fontsize(8)


def _title(result: Result, panels: int) -> str:
    early = "" if result.status.ok else f" (ended early at {result.status.time:.4g} s)"
    more = f" ({panels - PANELS} more units not drawn)" if panels > PANELS else ""
    return f"{result.model}{early}{more}"


def _label(names: list[str], unit: str) -> str:
    """The unit, led by the quantity if all channels of the panel are of the same one."""
    quantities = {_quantity(name) for name in names}
    quantity = quantities.pop() if len(quantities) == 1 else ""
    return f"{quantity} [{unit or '-'}]".strip().replace("_", " ")


def _quantity(name: str) -> str:
    """`left.ring.acceleration.z` is an acceleration, `hinge.angle.rate` an angle rate."""
    *path, last = name.split(".")
    if last in COMPONENTS and path:
        return path[-1]
    if last in ("rate", "acceleration") and path:
        return f"{path[-1]} {last}"
    if path == ["energy"]:
        return "energy"
    return f"drift of {last}" if _is_drift(name) else last


def _is_drift(name: str) -> bool:
    return name.startswith("drift.")
