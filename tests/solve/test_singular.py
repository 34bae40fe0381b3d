"""A run does not go over a place where the coordinates of a joint are none: sqrt(1 - s^2) at s = 1."""

from __future__ import annotations

from typing import Any

import casadi as ca
import pytest

from kompono import Body, Ground, Joint, Pose, RunWarning, Subsystem, simulate
from kompono.library import Gravity, JointEffort, solids

HEIGHTS = {
    "root": lambda s: ca.sqrt(1 - s**2),
    "arc": lambda s: ca.acos(s),
    "slope": lambda s: 0.1 / (1 - s),
    "smooth": lambda s: ca.sqrt(1 + 50 * s**2),
}


class Curve(Joint):
    """Slides along z(s)."""

    coordinates = ("s",)
    units = ("m",)

    def __init__(self, first: Any, second: Any, kind: str, **start: float) -> None:
        super().__init__(first, second, start=start)
        self.kind = kind

    def pose(self, q: Any) -> Pose:
        return Pose(position=ca.vertcat(q[0], 0, HEIGHTS[self.kind](q[0])))


class Bead(Subsystem):
    """A bead that is pushed along a curve."""

    def __init__(self, kind: str, speed: float = 1.0) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.bead = Body(solids.sphere(mass=1.0, radius=0.1))
        self.slide = Curve(self.ground, self.bead, kind, **{"s": 0.3, "s.rate": speed})
        self.push = JointEffort(self.slide, 20.0)


@pytest.mark.parametrize("kind", ["root", "arc"])
@pytest.mark.parametrize(
    "way", [{"method": "rk4"}, {"method": "adams"}, {"method": "dopri5"}, {"method": "dopri5", "step": 0.1},
            {"method": "esdirk4"}],
    ids=lambda way: "-".join(map(str, way.values())),
)  # fmt: skip
def test_no_run_is_done_that_went_over_the_end_of_a_curve(kind: str, way: dict[str, Any]) -> None:
    with pytest.warns(RunWarning):
        result = simulate(Bead(kind), until=0.45, **({"step": 1e-3} | way))
    assert result.status.kind == "not finite"
    assert "slide: its motion is" in result.status.message
    reached = {"root": 0.2986, "arc": 0.3187}[kind]
    assert abs(result.status.time - reached) < 2 * way.get("step", 1e-3)


@pytest.mark.parametrize(("kind", "speed"), [("slope", 1.0), ("smooth", -3.0)])
def test_what_is_steep_is_no_end(kind: str, speed: float) -> None:
    assert simulate(Bead(kind, speed), until=0.5, step=1e-3, method="dopri5").status.ok
