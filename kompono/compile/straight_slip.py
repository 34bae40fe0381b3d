"""Slip in a plane that is straight is marked so, and steps are no longer divided for it, however slow it is.

The direction of friction follows that of slip as fast as slip is slow, which no step could follow (`slow_slip`); where
nothing moves slip sideways, that is rounding. A unit that slips so has its first mode below zero: its direction leans
to the one that was chosen below a far higher speed, and what it then has to the side is an event before it is more than
rounding (`answer.trace_guards`).

What shows it is the first piece of a step behind an event: slip that turns has something to the side then. Each unit
tells so beside its guards, through all borders, so that a part is marked alike wherever it runs, and nobody is asked
for more. The loop ends there (`slow_slip.end_of_piece`), and before the next piece modes are changed in Python, as at
events. Neither directions nor speeds are. Slip is marked where all there is shows straight: else steps are divided for
the other anyway, and feet that break loose together, some straight by rounding, would be marked here and not there.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from kompono.compile.paced import BENT, MARKS, SIZE, TIRED, TRUE, Leaning

if TYPE_CHECKING:
    from kompono.compile.run import Run


def allow(run: Run) -> None:
    """Slip of a run may be marked from now on, if whoever settles its laws can do so."""
    paced = run._vector("paced").reshape(-1, run._lanes.count)
    new = paced[MARKS] == 0.0
    if hasattr(run.settle, "mark") and new.any():
        paced[MARKS], paced[BENT] = 1.0, np.where(new, -math.inf, paced[BENT])


def mark(run: Run) -> None:
    """Mark what shows that it is straight."""
    run.state[:] = cast(Any, run.settle).mark(run.state, np.flatnonzero(run._vector("slopes") >= TRUE))
    run._vector("paced")[SIZE] = 0.0  # pieces need not grow by and by


def settled(paced: np.ndarray, leaning: Leaning, turned: bool, time: float, step: float) -> None:
    """Laws have settled: whether what slips from here on may be marked. Not for a while if slip that was has `turned`,
    so that what turns by next to nothing costs an event in as many steps, nor where directions lean unlike others.
    """
    if leaning.times != 1.0 or leaning.closer:
        paced[BENT] = math.inf
    elif turned:
        paced[BENT] = time + TIRED * step
    elif paced[BENT] == math.inf:
        paced[BENT] = time
