"""What gaps and slips follow in parts that cannot be opened: inputs that change are refused as in open ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from elsewhere.machines import Conveying
from elsewhere.suppliers import Supplier

from kompono import RunError, TranslationError, simulate
from kompono.realtime import RealTime

RAMP = ([0.0, 0.3], [0.0, 3.0])
RUN: dict[str, Any] = {"until": 0.3, "step": 1e-2}


@pytest.fixture(params=["sealed", "remote"])
def part(request: pytest.FixtureRequest, supplier: Callable[[str], Supplier]) -> Callable[[], Any]:
    return getattr(supplier("conveyor"), request.param)


@pytest.mark.parametrize("name", ["belt", "place"])
def test_inputs_that_gaps_and_slips_follow_must_stay(part: Callable[[], Any], name: str) -> None:
    """They were taken to stand still: the mass gained what the belt did, whatever held it, with the status ok."""
    with pytest.raises(RunError, match=f"^part: its gap or slip follows the input part.{name}, which changes"):
        simulate(Conveying(part), inputs={f"part.{name}": RAMP}, **RUN)
    with pytest.raises(RunError, match=f"^part: its gap or slip follows the input part.{name}, which changes"):
        simulate(Conveying(part), inputs={f"part.{name}": (lambda t: t, 0.1)}, **RUN)
    with pytest.raises(TranslationError, match=f"^part: a gap or slip inside follows its input {name}, which is conn"):
        simulate(Conveying(part, name), **RUN)


def test_other_inputs_may_change(part: Callable[[], Any]) -> None:
    given, told = {"part.belt": 0.5, "part.limit": ([0.0, 0.3], [1.0, 2.0])}, {"part.push": ([0.0, 0.3], [2.0, 2.3])}
    one = simulate(Conveying(), inputs=given | told, **RUN)
    other = simulate(Conveying(part, "push"), inputs=given, **RUN)
    assert other.status.ok
    assert one["part.slide.displacement.rate"][-1] > 0.3  # it slips
    assert abs(one["rail.displacement"][-1] - other["rail.displacement"][-1]) < 1e-12


class Clock:
    """It is as late as it is asked to be."""

    def __init__(self) -> None:
        self.time = 0.0

    def now(self) -> float:
        return self.time

    def wait(self, until: float) -> None:
        self.time = max(self.time, until)


@pytest.mark.parametrize("sealed", [False, True])
def test_nobody_changes_them_in_a_live_run(supplier: Callable[[str], Supplier], sealed: bool) -> None:
    def write(frame: Any) -> None:
        frame["part.belt"] = 0.0 if frame.time < 0.1 else 1.0

    def push(frame: Any) -> None:
        frame["part.push"] = 5.0

    def live(on_frame: Callable[[Any], None]) -> Any:
        machine = Conveying(supplier("conveyor").sealed) if sealed else Conveying()
        return simulate(machine, realtime=RealTime(frame=0.05, on_frame=on_frame, clock=Clock()), **RUN)

    assert live(push).status.ok
    with pytest.warns(match="part.*: its gap or slip follows the input part.belt, which was changed"):
        result = live(write)
    assert not result.status.ok
    assert result.time[-1] == pytest.approx(0.1)
