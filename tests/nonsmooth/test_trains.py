"""Trains of gears with play, friction and stops that rattle: methods agree, impact for impact."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from kompono import Body, Ground, JointLaw, Result, Subsystem, Unit, simulate, time
from kompono.library import DryFriction, EndStops, Gear, JointEffort, Prismatic, Revolute, solids
from kompono.model.joint import Joint


class Train(Subsystem):
    """A random chain of shafts, driven to and fro."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        count = int(rng.integers(2, 6))
        self.frame = Ground()
        self.discs = [
            Body(solids.cylinder(mass=rng.uniform(0.2, 3), length=0.05, radius=rng.uniform(0.03, 0.15)))
            for _ in range(count)
        ]
        self.shafts = [Revolute(self.frame, disc, axis="z") for disc in self.discs]
        self.mesh = [
            Gear(a, b, ratio=float(rng.choice([-1, 1]) * rng.uniform(0.3, 2)), backlash=rng.uniform(0.005, 0.1),
                 restitution=rng.uniform(0, 0.8))
            for a, b in zip(self.shafts, self.shafts[1:], strict=False)
        ]  # fmt: skip
        self.dry = [
            DryFriction(shaft, preload=rng.uniform(0, 0.05), preload_static=0.06)
            for shaft in self.shafts
            if rng.random() < 0.6
        ]
        self.drive = JointEffort(self.shafts[0], rng.uniform(0.2, 2) * ca.sin(rng.uniform(5, 30) * time))
        if rng.random() < 0.5:
            self.stops = EndStops(self.shafts[-1], -0.5, 0.5, restitution=rng.uniform(0, 0.7))


def angles(result: Result) -> np.ndarray:
    grid = np.arange(10, 250, 5) * 1e-3  # where all have records
    return np.array([np.interp(grid, result.time, result[name]) for name in result if name.endswith(".angle")])


@pytest.mark.parametrize("seed", [3, 7])
def test_methods_agree_on_a_train_that_rattles(seed: int) -> None:
    """In the third and the seventh a flank is struck while the next one rests closed."""
    options: dict[str, object] = {"until": 0.25, "progress": False, "channels": ["shafts.*.angle"]}
    steps = simulate(Train(seed), step=1e-3, **options).check()
    exact = simulate(Train(seed), method="dopri5", rtol=1e-11, atol=1e-13, **options).check()
    assert len(exact.statistics["events"]) > 30
    assert np.abs(angles(steps) - angles(exact)).max() < 1e-8


class Between(JointLaw):
    """Two masses on one line do not pass each other."""

    def __init__(self, first: Joint, second: Joint, restitution: float) -> None:
        super().__init__(first, second)
        self.restitution = restitution

    def units(self) -> Unit:
        return Unit(gap=self.joints[1].q[0] - self.joints[0].q[0], restitution=self.restitution)


class Row(Subsystem):
    """A mass strikes one that touches a third, both at rest but for rounding."""

    def __init__(self, closing: float) -> None:
        self.frame = Ground()
        self.masses = [Body(solids.point(mass=m)) for m in (2.0, 1.0, 1.0)]
        self.slides = [
            Prismatic(self.frame, mass, axis="x", displacement=x, displacement_rate=v)
            for mass, x, v in zip(self.masses, (-0.1, 0.0, 0.0), (1.0, closing, 0.0), strict=True)
        ]
        self.contacts = [Between(*self.slides[:2], 0.5), Between(*self.slides[1:], 0.9)]


@pytest.mark.parametrize("closing", [1e-13, 0.0, -1e-13])
def test_rounding_does_not_decide_what_a_closed_contact_gives_back(closing: float) -> None:
    """What rests closed bears the blow: here two masses of 1 kg as one of 2 kg."""
    result = simulate(Row(closing), until=0.2, step=1e-3, progress=False).check()
    speeds = [result[f"slides.{k}.displacement.rate"][-1] for k in range(3)]
    assert speeds == pytest.approx([0.25, 0.75, 0.75], abs=1e-9)
