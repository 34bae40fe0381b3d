"""What an event of the model catches stops in that instant: a condition that is switched on is a plastic impact."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

from kompono import Body, Coupling, Event, Ground, Mode, Output, Subsystem, sensitivities, simulate
from kompono.library import Planar

MASSES, INERTIAS = np.array([5.0, 3.0]), np.array([0.5, 0.3])
PLACES, SPEEDS = np.array([[0.0, 0.0], [1.0, 0.2]]), np.array([[0.3, 0.0], [-0.2, 0.1]])
SPIN, NEAR, UNTIL = 0.5, 0.6, 1.5  # of the second one; how near they come along x


class Lock(Coupling):
    """Holds two planar joints relative to each other as they are when `shut` becomes 1."""

    def __init__(self, first: Planar, second: Planar, shut: Mode, kept: list[Mode]) -> None:
        super().__init__(first, second)
        self.apart = seen(first, second)
        self.gaps = [shut * (now - then) for now, then in zip(self.apart, kept, strict=True)]

    def conditions(self) -> list[Any]:
        return [ca.vertcat(*self.gaps[:2]), self.gaps[2]]


def seen(first: Planar, second: Planar) -> list[Any]:
    """Place and angle of the second body for the first."""
    x, y, c, s = second.x - first.x, second.y - first.y, ca.cos(first.angle), ca.sin(first.angle)
    return [c * x + s * y, c * y - s * x, second.angle - first.angle]


class Docking(Subsystem):
    """Two bodies float towards each other and are locked together."""

    def __init__(self) -> None:
        self.ground, self.shut, self.kept = Ground(), Mode(0), [Mode(0.0) for _ in range(3)]
        self.bodies = [Body(mass=m, inertia=(J, J, J)) for m, J in zip(MASSES, INERTIAS, strict=True)]
        self.one = Planar(self.ground, self.bodies[0], x_rate=SPEEDS[0, 0])
        start = {"x": PLACES[1, 0], "y": PLACES[1, 1], "x_rate": SPEEDS[1, 0], "y_rate": SPEEDS[1, 1]}
        self.other = Planar(self.ground, self.bodies[1], angle_rate=SPIN, **start)
        self.lock = Lock(self.one, self.other, self.shut, self.kept)
        caught = {self.shut: 1, **dict(zip(self.kept, self.lock.apart, strict=True))}
        self.meet = Event(NEAR - (self.other.x - self.one.x) - self.shut, caught)
        self.far = Output(self.other.x + 0.3 * self.other.y + 0.1 * self.one.angle)


class Held(Subsystem):
    def __init__(self) -> None:
        self.both = Docking()


def known(speed: float = SPEEDS[0, 0]) -> tuple[np.ndarray, float]:
    """Places and the angle of the first body at the end, by momentum."""
    speeds = np.array([[speed, 0.0], SPEEDS[1]])
    when = (PLACES[1, 0] - NEAR) / (speed - SPEEDS[1, 0])
    places = PLACES + when * speeds
    centre, motion = (MASSES @ each / MASSES.sum() for each in (places, speeds))
    arms, rates = places - centre, speeds - motion
    turning = INERTIAS[1] * SPIN + MASSES @ (arms[:, 0] * rates[:, 1] - arms[:, 1] * rates[:, 0])
    angle = turning / (INERTIAS.sum() + MASSES @ (arms**2).sum(1)) * (UNTIL - when)
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    return centre + motion * (UNTIL - when) + arms @ turn, angle


@pytest.mark.parametrize(
    "options",
    [{}, {"step": 1e-2}, {"method": "dopri5", "rtol": 1e-10}, {"engine": "absolute"}, {"closed": ["both"]}],
    ids=["1 ms", "10 ms", "dopri5", "absolute", "closed"],
)
def test_momentum_stays_whatever_the_step(options: dict[str, Any]) -> None:
    inside = "closed" in options
    result = simulate(Held() if inside else Docking(), until=UNTIL, **({"step": 1e-3} | options))
    path, (places, angle) = "both." if inside else "", known()
    found = [[result[f"{path}{name}.{axis}"][-1] for axis in "xy"] for name in ("one", "other")]
    assert len(result.statistics["events"]) == 1
    assert np.abs(found - places).max() < 1e-11
    assert abs(result[f"{path}one.angle"][-1] - angle) < 1e-11


def test_derivatives_go_through_a_capture() -> None:
    run = sensitivities(Docking(), ["one.x.rate"], until=UNTIL, step=1e-2, channels=["far"])
    far = [places[1] @ [1.0, 0.3] + 0.1 * angle for places, angle in (known(SPEEDS[0, 0] + d) for d in (1e-5, -1e-5))]
    assert abs(run["far/one.x.rate"][-1] - (far[0] - far[1]) / 2e-5) < 1e-8
