"""What a run remembers of how it steps where slip in a plane is slow (`slow_slip`), and when that may come closer.

Below some speed the direction of slip leans to the one chosen at the last event. That speed follows from the shortest
pieces of a step there are, which are short for slip that ends or passes close by rest, and not for slip that is slow
for long. Native code sees that something ends and wishes for an event; where laws settle, here is decided.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kompono.translate.laws.naming import STRAIGHT

SIZE, MADE = 0, 1  # how long a piece might have been, and was [s]; 0 if an event has cut it
CLOSER, WISH = 2, 3  # the shortest pieces now [s], 0 for the finest; 1 to come closer is wished for, -1 to go back
SHORT, WAITS = 4, 5  # pieces since the last event that were shorter than the finest; until when nobody comes closer
MARKS, BENT = 6, 7  # whether slip may be marked as straight (`straight_slip`), and until when it is not
KEPT, TRIES = 8, 9  # steps until one is not projected (see `kept_steps`), and how many there are behind a vain one
PACED = 10  # numbers there are
CLOSE = 2.5e-9  # [s]: the shortest pieces where slip ends
SPARED = 1e4  # of the finest pieces: for so long nobody comes closer again where that gained nothing
TIRED = 1000.0  # steps for which nothing is taken for straight where something was, and turned
TRUE = STRAIGHT * STRAIGHT  # what slip tells that may be marked as straight, at least
NEAR = 4.0  # speeds below which a direction leans: slip that is slower is near by


@dataclass
class Leaning:
    """How laws that settle choose the speeds below which directions lean: `times` the usual ones (see `crowd`), or, if
    something near by may end, `closer`: such that the `shortest` pieces are so long [s], which they tell. They may be
    `asked` for that alone, where no guard rose.
    """

    times: float = 1.0
    closer: bool = False
    asked: bool = False
    shortest: float = 0.0


def comes_closer(paced: np.ndarray, shares: np.ndarray, finest: float) -> bool:
    """Whether directions that are chosen now lean below a lower speed than usual: if that was wished for, or is so
    and something is near by. `shares`: what slips in a plane tells of its speed (`trace_slopes`).
    """
    if paced[WISH] or not paced[CLOSER]:
        return bool(paced[WISH] > 0.0)
    slow = shares[(shares > 0.0) & (shares < STRAIGHT)]
    return bool(slow.size and slow.min() * paced[CLOSER] < NEAR * finest)


def come_closer(paced: np.ndarray, shortest: float, finest: float, time: float) -> None:
    """Speeds below which directions lean follow from pieces so short now [s]; 0: from the finest."""
    gains = 0.0 < 2.0 * shortest < finest
    if paced[WISH] > 0.0 and not gains:
        paced[WAITS] = time + SPARED * finest
    paced[CLOSER], paced[WISH], paced[SHORT], paced[MADE] = shortest if gains else 0.0, 0.0, 0.0, 0.0
