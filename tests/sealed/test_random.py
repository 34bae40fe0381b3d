"""Random components, sealed, in owners that hang bodies on their ports and close loops through them: same motion."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kompono import Body, Frame, Ground, Sealed, Subsystem, evaluate, seal, simulate
from kompono.compile import targets
from kompono.library import (
    Cylindrical,
    Distance,
    Gravity,
    Prismatic,
    Revolute,
    RotationalSpringDamper,
    Spherical,
    SpringDamper,
    Universal,
)
from kompono.sealed import keys

pytestmark = pytest.mark.filterwarnings("ignore::kompono.ModelWarning")
HERE = [str(targets.fitting(targets.TARGETS))]
CHANNELS = ["load.position.x", "load.position.z", "load.velocity.y", "energy.kinetic"]
SEEDS = range(24) if os.environ.get("KOMPONO_LAWS") else ()  # one in all places: elsewhere/test_everywhere.py


def solid(rng: np.random.Generator) -> Body:
    return Body(mass=float(rng.uniform(0.5, 2.0)), inertia=tuple(rng.uniform(0.05, 0.09, 3)))


def at(rng: np.random.Generator, body: Body) -> Frame:
    return body.at(rng.uniform(-0.3, 0.3, 3))


def joint(rng: np.random.Generator, first: Any, second: Frame) -> Any:
    """A joint of random kind, with a random start."""
    ends = first, second
    axis, turn = tuple(rng.normal(size=3)), float(rng.uniform(-0.5, 0.5))
    kind = rng.integers(5)
    if kind == 0:
        return Prismatic(*ends, axis=axis, displacement=0.3 * turn)
    if kind == 1:
        return Spherical(*ends)
    if kind == 2:
        return Cylindrical(*ends, axis=axis, angle=turn, displacement=0.2 * turn)
    if kind == 3:
        return Universal(*ends)
    return Revolute(*ends, axis=axis, angle=turn)


def brace(first: Frame, second: Frame, length: float | None) -> Any:
    """A rod, or, to find out how long it must be, what can be measured there."""
    return SpringDamper(first, second, k=1.0, rest=0.1) if length is None else Distance(first, second, length=length)


class Random(Subsystem):
    """A tree of bodies, springs between some of them, perhaps a rod that closes a loop; two bodies are ports."""

    def __init__(self, seed: int, rod: float | None) -> None:
        rng = np.random.default_rng(seed)
        count = int(rng.integers(2, 5))
        self.bodies = [solid(rng) for _ in range(count)]
        self.joints = [
            joint(rng, at(rng, self.bodies[int(rng.integers(k))]), at(rng, self.bodies[k])) for k in range(1, count)
        ]
        self.springs = [
            SpringDamper(at(rng, self.bodies[k - 1]), self.bodies[k], k=30.0, c=0.5, rest=0.3) for k in range(1, count)
        ]
        if count > 2:
            self.rod = brace(self.bodies[0].at(0.3, 0.3, 0), self.bodies[-1].at(0, 0.2, 0.2), rod)
        turning = [each for each in self.joints if isinstance(each, Revolute)]
        self.twists = [RotationalSpringDamper(each, k=2.0, c=0.1) for each in turning]
        ports = rng.permutation(count)[:2]
        self.expose(first=at(rng, self.bodies[ports[0]]), second=at(rng, self.bodies[ports[1]]))


class Owner(Subsystem):
    """A part between a joint on the ground, a load, and a rod back to the ground: a loop through its ports."""

    def __init__(self, part: Subsystem, seed: int, rod: float | None) -> None:
        rng = np.random.default_rng(seed + 1000)
        self.ground, self.gravity, self.part = Ground(), Gravity(), part
        self.stand = joint(rng, self.ground, part.first)  # type: ignore[attr-defined]
        self.load = solid(rng)
        self.carry = joint(rng, part.second, at(rng, self.load))  # type: ignore[attr-defined]
        self.brace = brace(self.ground.at(0.4, 0.8, 0.3), at(rng, self.load), rod)


def lengths(seed: int) -> tuple[float | None, float]:
    """How long the rods of a machine must be, inside (if there is one) and outside."""
    measured = evaluate(Owner(Random(seed, None), seed, None))
    return measured.get("part.rod.length"), measured["brace.length"]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_part_sealed_is_the_open_one(seed: int, me: keys.Identity, tmp_path: Path) -> None:
    inner, rod = lengths(seed)
    whole = simulate(Owner(Random(seed, inner), seed, rod), until=0.3, step=1e-3, channels=CHANNELS)
    assert whole.status.ok, whole.status.message
    seal(Random(seed, inner), tmp_path / "random.part", author=me, targets=HERE)
    found = simulate(Owner(Sealed(str(tmp_path / "random.part")), seed, rod), until=0.3, step=1e-3, channels=CHANNELS)
    assert found.status.ok, found.status.message
    for name in CHANNELS:
        assert np.abs(found[name] - whole[name]).max() < 1e-9 * (1 + np.abs(whole[name]).max()), name
