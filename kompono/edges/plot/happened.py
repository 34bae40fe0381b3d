"""Events of a run in a picture over time: thin lines and a sign for each name where they are few, else short ticks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kompono.result import Ensemble, Result

FEW = 12  # events that are drawn as lines, with a legend of their names
SIGNS = ("^", "v", "o", "s", "D", "P", "X", "*", "<", ">", "p", "h")  # one for each name, at the foot of the picture
GREY = "0.45"

Happened = Sequence[tuple[float, str]]  # times [s] and names


def happened(results: Sequence[Result | Ensemble]) -> Happened:
    """What happened in the one run that is drawn; of several nothing is said, for it could be anyone's."""
    if len(results) != 1 or isinstance(results[0], Ensemble) or not len(results[0].time):
        return ()
    first, last = results[0].time[0], results[0].time[-1]
    found = ((float(time), str(name)) for time, name in results[0].statistics.get("events") or ())
    return tuple((time, name) for time, name in found if first <= time <= last)


def has_legend(events: Happened) -> bool:
    """Whether names of events are told."""
    return 0 < len(events) <= FEW


def mark_events(figure: Any, axes: Sequence[Any], events: Happened) -> list[Any]:
    """Draw events into all panels; the texts of the legend."""
    times = sorted({time for time, _ in events})
    for axis in axes:
        across = axis.get_xaxis_transform()  # x: time, y: 0 to 1 from bottom to top
        if has_legend(events):
            axis.vlines(times, 0, 1, transform=across, color=GREY, linewidth=0.5, linestyle=(0, (1, 2)), zorder=0.5)
        else:
            axis.vlines(times, 0, 0.035, transform=across, color=GREY, linewidth=0.4, zorder=0.5)
    return _legend(figure, axes[-1], events) if has_legend(events) else []


def _legend(figure: Any, axis: Any, events: Happened) -> list[Any]:
    names = list(dict.fromkeys(name for _, name in events))
    style = {"linestyle": "none", "color": "0.3", "markersize": 4, "clip_on": False}
    signs = []
    for name, sign in zip(names, SIGNS, strict=False):
        times = [time for time, other in events if other == name]
        place = axis.get_xaxis_transform()
        signs += axis.plot(times, [0.0] * len(times), marker=sign, transform=place, **style)
    return figure.legend(signs, names, loc="outside lower center", ncols=min(len(names), 4)).get_texts()
