"""Rows of slots without what follows from the rest of a row."""

from __future__ import annotations

import numpy as np

from kompono.compile.rows import row_layouts
from kompono.translate.program import Call


def test_rows_are_found_again_and_what_lies_side_by_side_is_one_entry() -> None:
    random = np.random.default_rng(3)
    calls = []
    for start in random.integers(0, 1000, 20).tolist():
        near, alone = start + 40, int(random.integers(0, 1000))
        calls.append(Call("k", (start, alone, start + 1, near), (near + 7, near + 8, near + 9), ""))
    calls.append(Call("once", (5, 900), (17,), ""))
    layouts = row_layouts(calls)
    assert [len(layouts[name].left) for name in ("k", "once")] == [2, 1]
    for call in calls:
        layout = layouts[call.kernel]
        row = list(layout.row(call))
        assert tuple(row[base] + distance for base, distance in layout.places) == (*call.inputs, *call.outputs)
