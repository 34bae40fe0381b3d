"""What laws are is asked in one way of sealed files and in others of parts elsewhere: all tell the same to the bit."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest
from elsewhere.striking import Coupler, Hung
from nonsmooth.rubbing_parts import Heavy

from kompono import Simulation, Subsystem
from kompono.compile.far import NUMBER_BITS
from kompono.elsewhere.hosts import InProcess
from kompono.request import Request
from kompono.solve.law_looks import LawLooks
from kompono.solve.settings import settings_of

pytestmark = pytest.mark.filterwarnings("ignore::kompono.ModelWarning", "ignore::kompono.RunWarning")
Case = tuple[Callable[[], Subsystem], tuple[str, ...], float, set[str]]  # how laws are looked at first
HANDLES = 2.0**NUMBER_BITS  # from here on
KNOWN, AT_ONCE = "known", "at once"
MACHINES: dict[str, Case] = {"double": (Heavy, ("part",), 0.06, {AT_ONCE})}
if os.environ.get("KOMPONO_LAWS"):
    MACHINES["a loop"] = (Coupler, ("part",), 0.2, {AT_ONCE, KNOWN})
    MACHINES["a part on a part in a loop"] = (lambda: Hung(loop=True), ("part", "other"), 0.4, {AT_ONCE, KNOWN})


@pytest.mark.parametrize("name", MACHINES)
def test_what_laws_are_does_not_depend_on_how_it_is_asked(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """At events: in one question with what forces on all rows do, with what was told beside the guards, one by one."""
    machine, parts, until, expected = MACHINES[name]
    first, ways = LawLooks.first, set[str]()

    def compared(self: Any, state: np.ndarray) -> Any:
        way = KNOWN if len(self._settler.now.known) else AT_ONCE
        view = first(self, state)
        columns, met = [self.column(k, state) for k in range(len(view.gap))], self.met
        one = LawLooks(self._settler, self._time, self._inputs, self._parameters)
        again = one._view("law_view", state)
        assert same(vars(view).values(), vars(again).values())
        assert (met is None and one.met is None) or same([met], [one.met])
        assert all(same(column, one.column(row, state)) for row, column in enumerate(columns))
        ways.add(way)
        return view

    monkeypatch.setattr(LawLooks, "first", compared)
    hosts = {path: InProcess() for path in parts}
    found = Simulation(machine(), elsewhere=hosts).run(settings_of(Request(until=until, step=1e-3)))
    assert len(found.check().statistics["events"]) >= 1
    assert ways == expected


def same(told: Iterable[Any], asked: Iterable[Any]) -> bool:
    """Equal but for handles of what parts elsewhere keep."""
    return all(
        np.array_equal(a[kept], b[kept]) for a, b in zip(told, asked, strict=True) for kept in [np.abs(a) < HANDLES]
    )
