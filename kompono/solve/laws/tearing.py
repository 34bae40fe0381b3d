"""What gives way first where rows that are held tear at each other (see `compile/law_torn.py`).

Such modes fit no accelerations. As what tears goes on, forces grow until a contact pulls or friction passes its limit;
that is mended, and forces grow from there, until nothing is torn any more. So modes are those of a machine whose parts
yield next to nothing and that is driven slowly. Where nothing ever gives way, nothing fits.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kompono.solve.laws.check import Flaw
from kompono.solve.laws.forces import HELD, UnitStates

Looked = tuple[np.ndarray, bool, list[Flaw]]  # multipliers, whether directions were found, what is wrong
NEAR, FARTHEST = 1e-6, 1e6  # how far it goes at first, and at last
LONGER = 3.0  # times the last step
HALVINGS = 12  # of the last step


def looked_on(look: Callable[[UnitStates], Looked], state: UnitStates) -> Looked:
    """What is wrong with modes; if that is only that rows tear at each other, what gives way first as that goes on."""
    looked, step = look(state), NEAR * max(state.tear, 1.0)
    if looked[2] or not state.torn:
        return looked
    low = state.tear
    while not looked[2]:
        if state.tear > FARTHEST:
            held = [unit for unit, mode in enumerate(state.modes) if mode == HELD]
            return looked[0], looked[1], [Flaw(1.0, unit, None) for unit in held]
        low, step = state.tear, LONGER * step
        state.tear = low + step
        looked = look(state)
    high = state.tear
    for _ in range(HALVINGS):
        state.tear = (low + high) / 2
        nearer = look(state)
        if nearer[2]:
            high, looked = state.tear, nearer
        else:
            low = state.tear
    state.tear = high
    return looked
