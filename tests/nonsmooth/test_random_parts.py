"""Random chains with random friction, cut into components that are nested and closed at random: at random states and
modes all accelerations are those of the open chain.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

from kompono import Body, Ground, Simulation, Subsystem
from kompono.library import DryFriction, Gravity, Prismatic, Revolute, Spherical, solids

SEEDS = range(30) if os.environ.get("KOMPONO_LAWS") else (1, 2)
pytestmark = pytest.mark.filterwarnings("ignore::kompono.ModelWarning")


class Piece(Subsystem):
    """A few bodies in a row; the first and the last are seen."""

    def __init__(self, draw: np.random.Generator, depth: int = 2) -> None:
        links, pins, rubs, inner, ends = [], [], [], [], []
        for _ in range(int(draw.integers(1, 3))):
            if depth and draw.random() < 0.4:
                inner.append(Piece(draw, depth - 1))
                first, last = inner[-1].exposed[0], inner[-1].exposed[-1]
            else:
                size = tuple(draw.uniform(0.1, 0.4, 3))
                links.append(Body(solids.box(mass=float(draw.uniform(0.5, 2.0)), size=size)))
                first = last = links[-1]
            if ends:
                pins.append(joined(draw, ends[-1], first))
                rubs += rubbed(draw, pins[-1])
            ends += [first, last]
        self.links, self.pins, self.rubs, self.inner = links, pins, rubs, inner
        self.expose(*dict.fromkeys([ends[0], ends[-1]]))


def joined(draw: np.random.Generator, first: Any, second: Any) -> Any:
    """A joint between two bodies at random places."""
    kind = (Revolute, Prismatic, Spherical)[int(draw.choice(3, p=(0.5, 0.35, 0.15)))]
    axis = {} if kind is Spherical else {"axis": "xyz"[int(draw.integers(3))]}
    return kind(first.at(*draw.uniform(-0.3, 0.3, 3)), second.at(*draw.uniform(-0.3, 0.3, 3)), **axis)


def rubbed(draw: np.random.Generator, joint: Any) -> list[Any]:
    """Friction on some joints: by their force, or a given one."""
    if isinstance(joint, Spherical) or draw.random() < 0.2:
        return []
    lever = {"radius": 0.05} if isinstance(joint, Revolute) else {}
    given = {"mu": float(draw.uniform(0.05, 0.4)), **lever} if draw.random() < 0.7 else {"preload": 2.0}
    return [DryFriction(joint, **given)]


class Chain(Subsystem):
    """Pieces in a row on a ground."""

    def __init__(self, seed: int) -> None:
        draw = np.random.default_rng(seed)
        self.ground, self.gravity = Ground(), Gravity((1.0, 2.0, -9.81))
        self.pieces = [Piece(draw) for _ in range(2)]
        last, pins, rubs = self.ground, [], []
        for piece in self.pieces:
            pins.append(joined(draw, last, piece.exposed[0]))
            rubs += rubbed(draw, pins[-1])
            last = piece.exposed[-1]
        self.pins, self.rubs = pins, rubs


def components(part: Any, path: str = "") -> list[str]:
    """Paths of all pieces."""
    found = []
    for name, inner in (("pieces", getattr(part, "pieces", [])), ("inner", getattr(part, "inner", []))):
        for k, piece in enumerate(inner):
            own = f"{path}{name}.{k}"
            found += [own, *components(piece, f"{own}.")]
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_closed_chains_move_as_open_ones(seed: int) -> None:
    draw = np.random.default_rng(1000 + seed)
    paths = components(Chain(seed))
    closed = [path for path in paths if draw.random() < 0.6] or paths[:1]
    simulations = [Simulation(Chain(seed)), Simulation(Chain(seed), closed=closed)]
    programs = [simulation.kernel.program for simulation in simulations]
    names = [(*p.coordinates, *p.speeds, *p.modes) for p in programs]
    assert sorted(names[0]) == sorted(names[1])
    places = [names[0].index(name) for name in names[1]]
    first = len(programs[0].coordinates) + len(programs[0].speeds)
    for _ in range(5):
        state = np.array([1.0 if name.endswith(".e0") else 0.0 for name in names[0]])
        state[:first] += draw.uniform(-0.5, 0.5, first)
        state[first:] = draw.choice([-1.0, 0.0, 1.0], len(state) - first)
        if "project" in programs[0].routines:  # something rubs, or turns by a quaternion
            state = simulations[0].kernel.evaluate("project", 0.0, state, np.zeros(0), np.zeros(0))[0]
        rates = [
            simulation.kernel.evaluate("derivative", 0.0, own, np.zeros(0), np.zeros(0))[0]
            for simulation, own in zip(simulations, (state, state[places]), strict=True)
        ]
        size = np.abs(rates[0]).max()
        assert np.isfinite(size)
        assert np.abs(rates[0][places] - rates[1]).max() < 1e-10 * max(size, 1e-3)  # all may be held
