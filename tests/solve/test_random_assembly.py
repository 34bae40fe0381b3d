"""Random machines with a position that is known to close: what is given there stays, whatever the guess of the rest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kompono import Body, Ground, Simulation, Subsystem
from kompono.library import Prismatic, Revolute, Spherical, Universal, solids
from kompono.model.joint import Joint
from kompono.solve.bodies import matrix_of

ROD = solids.rod(mass=1, length=1, radius=0.02)


class Placed(Subsystem):
    """A machine drawn where it is closed: bodies lie at `places`, joints at points of the world.

    All coordinates are zero there, so a start of zero is exact.
    """

    places: dict[int, np.ndarray]
    pins: list[Joint]

    def at(self, carrier: Any, point: np.ndarray) -> Any:
        return carrier.at(np.asarray(point) - self.places.get(id(carrier), np.zeros(3)))

    def body(self, place: np.ndarray) -> Body:
        body = Body(ROD)
        self.places[id(body)] = np.asarray(place)
        return body


class FourBar(Placed):
    """A loop of four pins with parallel axes, turned in space."""

    def __init__(self, random: np.random.Generator) -> None:
        self.places = {}
        turn = matrix_of(random.normal(size=4))
        flat = np.array([[0, 0], [0, 1], [1.3, 1], [1.3, 0]]) + random.uniform(-0.3, 0.3, (4, 2))
        points = [turn @ np.array([x, 0, z]) for x, z in flat]
        self.ground = Ground()
        self.links = [self.body((points[k] + points[k + 1]) / 2) for k in range(3)]
        carriers = [self.ground, *self.links, self.ground]
        axis = turn @ np.array([0.0, 1.0, 0.0])
        self.pins = [
            Revolute(self.at(carriers[k], points[k]), self.at(carriers[k + 1], points[k]), axis=axis) for k in range(4)
        ]


class SliderCrank(Placed):
    """A spatial slider-crank: pin, ball, universal joint, slide along any direction."""

    def __init__(self, random: np.random.Generator) -> None:
        self.places = {}
        a, b, c = random.uniform(-0.2, 0.2, (3, 3)) + np.array([[0, 0, 0], [0, 0.1, 0.5], [1.5, 0, 0]])
        axes = random.normal(size=(2, 3))
        pin, slide = axes / np.linalg.norm(axes, axis=1)[:, None]
        self.ground = Ground()
        self.crank, self.rod, self.slider = (self.body(p) for p in ((a + b) / 2, (b + c) / 2, c))
        self.pins = [
            Revolute(self.at(self.ground, a), self.at(self.crank, a), axis=pin),
            Spherical(self.at(self.crank, b), self.at(self.rod, b)),
            Universal(self.at(self.slider, c), self.at(self.rod, c)),
            Prismatic(self.at(self.ground, c), self.at(self.slider, c), axis=slide),
        ]


class Stewart(Placed):
    """A platform on six legs: universal joint, slide, ball."""

    def __init__(self, random: np.random.Generator) -> None:
        self.places = {}
        self.ground = Ground()
        self.platform = self.body(np.array([0, 0, 1.0]))
        tubes, pistons, pins = [], [], []
        for k in range(6):
            angle = np.pi / 3 * k + random.uniform(-0.1, 0.1)
            low = np.array([np.cos(angle), np.sin(angle), 0.0])
            bend = angle + (0.4 if k % 2 else -0.4)
            high = np.array([0.6 * np.cos(bend), 0.6 * np.sin(bend), 1.0]) + random.uniform(-0.05, 0.05, 3)
            along = (high - low) / np.linalg.norm(high - low)
            tube, piston = self.body(low + 0.3 * along), self.body(high - 0.3 * along)
            tubes, pistons = [*tubes, tube], [*pistons, piston]
            pins += [
                Universal(self.at(self.ground, low), self.at(tube, low)),
                Prismatic(self.at(tube, low), self.at(piston, low), axis=along),
                Spherical(self.at(piston, high), self.at(self.platform, high)),
            ]
        self.tubes, self.pistons, self.pins = tubes, pistons, pins


def check(model: Placed, given: list[int], guess: float, seed: int) -> None:
    """Give the closed values of some joints, disturb all others, assemble: what was given must stay."""
    random = np.random.default_rng(seed)
    simulation = Simulation(model, native=False)
    engine = simulation.translation.engine
    tree = {id(joint) for joint in engine.joints}
    initial: dict[str, float] = {}
    for k in given:
        joint = model.pins[k]
        values = joint.neutral()
        initial |= {f"pins.{k}.{name}": float(x) for name, x in zip(joint.coordinates, values, strict=True)}
    for k, joint in enumerate(model.pins):
        if k not in given and id(joint) in tree:
            values = joint.neutral() + random.uniform(-guess, guess, len(joint.coordinates))
            joint.start = dict(zip(joint.coordinates, map(float, values), strict=True))
    assembly = simulation.assemble(initial)  # the guess is declared, so it may move; what the call gives may not
    kept = {item.name for item in assembly.not_kept}
    assert not kept & set(initial), kept
    g = simulation.kernel.evaluate("conditions", 0.0, assembly.state, (), ())[0]
    assert np.abs(g).max() < 1e-9


@pytest.mark.parametrize("guess", [0.3, 1.5])
@pytest.mark.parametrize("given", [[0], [1], [2], [3], [0, 2]])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_four_bars(seed: int, given: list[int], guess: float) -> None:
    check(FourBar(np.random.default_rng(seed)), given, guess, seed)


@pytest.mark.parametrize("guess", [0.3, 1.5])
@pytest.mark.parametrize("given", [[0], [3], [2]])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_slider_cranks(seed: int, given: list[int], guess: float) -> None:
    check(SliderCrank(np.random.default_rng(seed)), given, guess, seed)


@pytest.mark.parametrize("seed", [1, 2])
def test_platforms_with_all_legs_given(seed: int) -> None:
    check(Stewart(np.random.default_rng(seed)), [3 * k + 1 for k in range(6)], 0.3, seed)
