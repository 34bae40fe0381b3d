"""Whether two runs have the same events at the same times, to rounding."""

from __future__ import annotations

import numpy as np

from kompono import Result

EXACT = 1e-12  # of the seconds of a run, at least of one
# Between blows [s]: as their speed goes to zero, their times are as exact as rounding over that speed.
CROWDED = 1e-4


def same_events(one: Result, other: Result, least: int = 0, *, named: bool = True) -> None:
    """The same events in the same order within 1e-12; what is not `named`, inside a sealed part, says only what
    happened. In an accumulation of blows times are not as exact, behind it they are again.
    """
    for result in (one, other):
        result.check()
    found = [result.statistics["events"] for result in (one, other)]
    told = [[name if named else name.rpartition(".")[2] for _, name in events] for events in found]
    assert told[0] == told[1]
    assert len(found[0]) >= least
    first, second = (np.array([when for when, _ in events]) for events in found)
    distinct, places = np.unique(first, return_inverse=True)
    between = np.concatenate(([np.inf], np.diff(distinct), [np.inf]))
    near = np.minimum(between[:-1], between[1:])[places] if len(first) else first
    exact = np.where(near < CROWDED, 1e-10, EXACT * max(1.0, float(one.time[-1])))
    assert np.all(np.abs(first - second) < exact), np.abs(first - second)
