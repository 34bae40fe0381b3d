"""From curves to a figure: panels by unit over a common axis, colours by channel or by run, legends beside them.

Violation of conditions ("drift") has panels of its own with a logarithmic scale.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kompono.edges.plot.curves import Curve
from kompono.edges.plot.envelope import seen
from kompono.edges.plot.happened import Happened, has_legend, mark_events
from kompono.edges.plot.names import in_brackets, is_drift, label, quantity, shorten
from kompono.edges.plot.style import COLOURS, DASHES, WIDTH
from kompono.errors import RunError

CURVES = 8  # channels per panel
PANELS = 8
LINE = 1.2  # width of a line [pt]
COVERED = 0.004  # of the height of a panel: curves closer than this lie upon each other
KINDS = ("unit", "quantity", "channel")


@dataclass(frozen=True)
class Sheet:
    """What a figure shows: curves by panel, labels of the runs, title, label of the x axis, how to scale, and what
    happened.
    """

    panels: list[list[Curve]]
    runs: list[str]
    title: str
    axis: str
    log: bool
    prefix: str = ""
    events: Happened = ()

    @property
    def size(self) -> tuple[float, float]:
        """Width and height [inch]; long labels get a wider sheet."""
        lists = [shorten(names)[1] for names in map(_names, self.panels) if len(names) > 1]
        longest = max((len(text) for texts in lists for text in texts), default=0)
        few = len(self.panels) == 1
        height = (3.0 if few else 0.6 + 1.85 * min(len(self.panels), PANELS)) + (0.25 if len(self.runs) > 1 else 0)
        height += 0.1 + 0.16 * math.ceil(len({name for _, name in self.events}) / 4) if has_legend(self.events) else 0
        return WIDTH + 0.06 * min(max(longest - 16, 0), 40), height

    def draw(self, figure: Any) -> None:
        """Fill an empty figure."""
        drawn = self.panels[:PANELS]
        axes = figure.subplots(len(drawn), sharex=True, squeeze=False)[:, 0]
        by_run = len(self.runs) > 1 and all(len(_names(panel)) == 1 for panel in drawn)
        for panel, axis in zip(drawn, axes, strict=True):
            self._panel(axis, panel, by_run)
        literally(axes[-1].set_xlabel(self.axis))
        figure.align_ylabels(axes)
        left_out = len(self.panels) - len(drawn)
        more = f" ({left_out} more panels not drawn)" if left_out else ""
        figure.suptitle(self.title + more, x=0.01, ha="left", fontsize=10)
        if len(self.runs) > 1:
            lines = [_sample(axes[0], i, by_run) for i in range(len(self.runs))]
            below = figure.legend(lines, self.runs, loc="outside lower center", ncols=min(len(self.runs), 4))
            literally(*below.get_texts())
        if self.events:
            literally(*mark_events(figure, axes, self.events))

    def _panel(self, axis: Any, panel: list[Curve], by_run: bool) -> None:
        names = _names(panel)
        shared, short = shorten(names)
        shown = dict(zip(names[:CURVES], COLOURS, strict=False))
        log = self.log or is_drift(names[0])
        drawn = [curve for curve in panel if curve.name in shown]
        for curve, width in zip(drawn, _widths(drawn), strict=True):
            colour = COLOURS[curve.run % len(COLOURS)] if by_run else shown[curve.name]
            dash = "-" if by_run else DASHES[curve.run % len(DASHES)]
            _line(axis, curve, log, color=colour, linestyle=dash, linewidth=width)
        if log and any(np.any(np.abs(line.get_ydata()) > 0) for line in axis.get_lines()):
            axis.set_yscale("log")
        literally(axis.set_ylabel(" ".join(filter(None, [self.prefix, label(names, panel[0].unit)]))))
        axis.margins(x=0 if self.axis.startswith("time") else 0.03)
        if len(names) == 1:
            literally(axis.set_title(names[0], loc="left", fontsize=8, color="0.35", pad=3))
        else:
            literally(axis.set_title(shared, loc="left", fontsize=8, color="0.35", pad=3))
            _legend(axis, shown, short, len(names) - CURVES)


def group(curves: Sequence[Curve], by: str) -> list[list[Curve]]:
    """Curves by panel: of one unit (one quantity where a unit has too many), of one quantity, or of one channel."""
    if by not in KINDS:
        raise RunError(f"panels by {by!r} are not known.", fix=f"Use {', '.join(KINDS)}.")
    groups: dict[Any, list[Curve]] = {}
    for curve in curves:
        groups.setdefault(_key(curve, by), []).append(curve)
    if by != "unit":
        return list(groups.values())
    split = [[panel] if len(_names(panel)) <= CURVES else group(panel, "quantity") for panel in groups.values()]
    return [panel for panels in split for panel in panels]


def literally(*texts: Any) -> None:
    """Show names and units as they are written: dollar signs in them enclose no formula."""
    for text in texts:
        text.set_parse_math(False)


def axis_label(name: str, unit: str) -> str:
    """Label of the x axis."""
    return " ".join([name, *in_brackets(unit)])


def _key(curve: Curve, by: str) -> Any:
    if by == "channel":
        return curve.name
    kind = quantity(curve.name) if by == "quantity" else ""
    return kind, curve.unit, is_drift(curve.name)


def _names(panel: Sequence[Curve]) -> list[str]:
    return list(dict.fromkeys(curve.name for curve in panel))


def _widths(curves: Sequence[Curve]) -> list[float]:
    """Widths [pt] of lines: one that others lie upon is wider, so that it is seen beneath them."""
    shown = [curve.y[np.isfinite(curve.y)] for curve in curves]
    everything = np.concatenate(shown) if shown else np.zeros(0)
    near = COVERED * float(np.ptp(everything)) if len(everything) else 0.0
    widths = []
    for k, curve in enumerate(curves):
        upon = [c for c in curves[k + 1 :] if c.y.shape == curve.y.shape and np.all(np.abs(c.y - curve.y) <= near)]
        widths.append(LINE + min(1.1 * len(upon), 3.3))
    return widths


def _line(axis: Any, curve: Curve, log: bool, **style: Any) -> None:
    for (low, high), alpha in zip(curve.bands, (0.15, 0.25), strict=False):
        axis.fill_between(curve.x, low, high, color=style["color"], alpha=alpha, linewidth=0)
    magnitudes = np.where(curve.y == 0, np.nan, np.abs(curve.y)) if log else curve.y  # zero has no logarithm
    axis.plot(*seen(curve.x, magnitudes), **style)


def _sample(axis: Any, run: int, by_run: bool) -> Any:
    """A line that stands for a run in the legend."""
    colour = COLOURS[run % len(COLOURS)] if by_run else "0.3"
    return axis.plot([], [], color=colour, linestyle="-" if by_run else DASHES[run % len(DASHES)])[0]


def _legend(axis: Any, shown: Mapping[str, str], short: list[str], more: int) -> None:
    lines = [axis.plot([], [], color=colour)[0] for colour in shown.values()]
    title = f"and {more} more, not drawn" if more > 0 else None
    legend = axis.legend(
        lines, short[: len(lines)], loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0, title=title,
        alignment="left",
    )  # fmt: skip
    legend.get_title().set_fontsize(8)
    literally(*legend.get_texts())
