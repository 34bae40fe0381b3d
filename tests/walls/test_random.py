"""Random mechanisms, loops through the border among them: parts in processes of their own give the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from laws.mechanisms import Case, evaluate, loops, nestings, redundant_loops, trees
from laws.test_accelerations import examples
from parts.test_by_parts import closings, evaluated

from kompono.compile.walls import station

pytestmark = [
    pytest.mark.filterwarnings("ignore::kompono.ModelWarning"),
    pytest.mark.skipif(not station.available(), reason="no worker processes on this system"),
]


@examples(2)
@given(st.data(), st.one_of(loops(), redundant_loops(), trees(bodies=(3, 5))))
def test_same_bits_as_in_one_process(data: Any, case: Case) -> None:
    nesting = data.draw(nestings(len(case.m.carriers)))
    closed = data.draw(closings(nesting))
    outermost = [path for path in closed if not any(path.startswith(f"{other}.") for other in closed)]
    here = evaluated(case, nesting, closed, native=True)
    there = evaluate(case.m, nesting, closed=closed, isolate=outermost, native=True)
    assert there.kernel.places.processes()
    assert here.values == there.values
    assume("project" in here.translation.program.routines)
    for routine in ("derivative", "project"):
        first, second = (e.kernel.evaluate(routine, case.m.time, e.state) for e in (here, there))
        assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))
