"""Sealed parts whose files know their bodies placed one by one, on the engine that does so: the closed part."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nonsmooth.rubbing_parts import Carried, Rocked, Rough, Skid, Swung, Tray
from nonsmooth.same_events import same_events

from kompono import Body, Ground, Output, Sealed, Subsystem, TranslationError, seal, simulate
from kompono.compile import targets
from kompono.library import (
    DryFriction,
    Gravity,
    JointEffort,
    Prismatic,
    Revolute,
    RotationalSpringDamper,
    SpringDamper,
    solids,
)
from kompono.sealed import keys

LONG = bool(os.environ.get("KOMPONO_LAWS"))
HERE = [targets.fitting(targets.TARGETS) or "wasm32"]
RUN: dict[str, Any] = {"until": 1.0, "step": 1e-3, "progress": False}


@pytest.mark.parametrize(("machine", "kind"), [(Carried, Tray), (Swung, Rough), *([(Rocked, Skid)] if LONG else [])])
def test_bodies_inside_are_placed_one_by_one(machine: Any, kind: Any, tmp_path: Path, me: keys.Identity) -> None:
    """Where the engine does so and the author wishes it: the closed part has the same events to 1e-12."""
    file = tmp_path / "made.part"
    seal(kind, file, author=me, targets=HERE, placed=True)
    closed = simulate(machine(), closed=["part"], engine="absolute", **RUN)
    sealed = simulate(machine(lambda: Sealed(file)), engine="absolute", **RUN)
    same_events(closed, sealed, 3, named=False)
    for name in ("part.tray.position.z", "part.ball.position.x"):
        if name in sealed:
            assert np.abs(closed[name] - sealed[name]).max() < 1e-11, name


class Spinning(Subsystem):
    """A rotor that turns many times against a spring, and a weight that rubs on it."""

    def __init__(self, length: Any = 0.3) -> None:
        self.hub = Body(solids.box(mass=1.0, size=(0.1, 0.1, 0.1)))
        self.rotor, self.weight = (
            Body(solids.rod(mass=0.4, length=0.3, radius=0.02)),
            Body(solids.sphere(mass=0.2, radius=0.05)),
        )
        self.pin = Revolute(self.hub, self.rotor.at(0, 0, 0.1), axis="y", angle=0.4)
        self.slide = Prismatic(self.rotor.at(0, 0, -0.1), self.weight, axis="x", displacement=0.1)
        self.spring = SpringDamper(self.rotor, self.weight, k=200.0, c=0.3, rest=length)
        self.twist = RotationalSpringDamper(self.pin, k=0.05, c=0.0, rest=30.0)
        self.rub = DryFriction(self.slide, preload=0.3)
        self.turned = Output(self.pin.angle)
        self.expose(self.hub)


class Driven(Subsystem):
    def __init__(self, part: Any) -> None:
        self.ground, self.gravity, self.part = Ground(), Gravity(), part
        self.joint = Revolute(self.ground.at(0, 0, 1), self.part.hub.at(0, 0, 0.2), axis="y", angle=0.2)
        self.motor = JointEffort(self.joint, 0.6)


def test_angles_that_are_counted_inside_and_lengths_that_are_public(tmp_path: Path, me: keys.Identity) -> None:
    file = tmp_path / "made.part"
    seal(Spinning, file, author=me, targets=HERE, placed=True, public=["length", "turned"])
    run: dict[str, Any] = {"until": 0.8, "step": 1e-3, "engine": "absolute"}
    closed = simulate(Driven(Spinning(0.35)), closed=["part"], **run)
    sealed = simulate(Driven(Sealed(file)), parameters={"part.length": 0.35}, **run)
    same_events(closed, sealed, 5, named=False)
    assert np.ptp(closed["part.turned"]) > 2 * np.pi
    assert np.abs(closed["part.turned"] - sealed["part.turned"]).max() < 1e-11
    walled = simulate(Driven(Sealed(file, isolate=True)), parameters={"part.length": 0.35}, **run)
    assert np.array_equal(sealed["part.turned"], walled["part.turned"])


def test_what_cannot_be_placed_is_not_sealed_so(tmp_path: Path, me: keys.Identity) -> None:
    class Thin(Subsystem):
        def __init__(self) -> None:
            self.rod = Body(solids.rod(mass=1.0, length=0.3))
            self.expose(self.rod)

    with pytest.raises(TranslationError, match="no inertia about some axis"):
        seal(Thin, tmp_path / "made.part", author=me, targets=HERE, placed=True)
