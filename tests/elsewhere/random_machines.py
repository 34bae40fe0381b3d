"""Random planar machines with components in a row, inside which things strike and rub."""

from __future__ import annotations

from typing import Any

import numpy as np

from kompono import Body, Ground, Subsystem
from kompono.library import DryFriction, EndStops, Gravity, JointEffort, Prismatic, Revolute, solids

Draw = np.random.Generator


def joined(draw: Draw, first: Any, second: Any) -> Any:
    """A joint in the plane of x and z, which moves at first."""
    a, b = (body.at(*(draw.uniform(-0.2, 0.2, 3) * (1, 0, 1))) for body in (first, second))
    speed = float(draw.uniform(-1.0, 1.0))
    if draw.random() < 0.5:
        return Revolute(a, b, axis="y", angle=0.0, angle_rate=speed)
    return Prismatic(a, b, axis="xz"[int(draw.integers(2))], displacement=0.0, displacement_rate=speed)


def laws_of(draw: Draw, joint: Any, by_force: bool) -> list[Any]:
    """What pulls a joint back, and stops, friction or both on it."""
    turns = isinstance(joint, Revolute)
    place, rate = (joint.angle, joint.angle_rate) if turns else (joint.displacement, joint.displacement_rate)
    found: list[Any] = [JointEffort(joint, -float(draw.uniform(5.0, 60.0)) * place - 0.05 * rate)]
    what = draw.random()
    if what < 0.65:
        low, high = draw.uniform(0.01, 0.12, 2)
        found.append(EndStops(joint, -low, high, restitution=float(draw.choice([0.0, 0.3, 0.8]))))
    if what > 0.45:
        follows = {"mu": float(draw.uniform(0.05, 0.3)), **({"radius": 0.03} if turns else {})}
        found.append(DryFriction(joint, **(follows if by_force and draw.random() < 0.6 else {"preload": 0.4})))
    return found


class Piece(Subsystem):
    """A few bodies in a row, or components of this kind; the first and the last are seen."""

    def __init__(self, draw: Draw, by_force: bool, depth: int = 1) -> None:
        links, pins, laws, inner, ends = [], [], [], [], []
        for _ in range(int(draw.integers(1, 4))):
            if depth and draw.random() < 0.3:
                inner.append(Piece(draw, by_force, depth - 1))
                first, last = inner[-1].exposed[0], inner[-1].exposed[-1]
            else:
                size = tuple(draw.uniform(0.1, 0.3, 3))
                links.append(Body(solids.box(mass=float(draw.uniform(0.5, 2.0)), size=size)))
                first = last = links[-1]
            if ends:
                pins.append(joined(draw, ends[-1], first))
                laws += laws_of(draw, pins[-1], by_force)
            ends += [first, last]
        self.links, self.pins, self.laws, self.inner = links, pins, laws, inner
        self.expose(*dict.fromkeys([ends[0], ends[-1]]))


class Row(Subsystem):
    """Pieces in a row on a ground; in some machines a telescope ties the last one to it, which makes a loop."""

    def __init__(self, seed: int) -> None:
        draw = np.random.default_rng(seed)
        loop = draw.random() < 0.35
        self.ground, self.gravity = Ground(), Gravity((1.0, 0.0, -9.81))
        self.pieces = [Piece(draw, not loop) for _ in range(int(draw.integers(1, 3)))]
        last, pins, laws = self.ground, [], []
        for piece in self.pieces:
            pins.append(joined(draw, last, piece.exposed[0]))
            laws += laws_of(draw, pins[-1], not loop)
            last = piece.exposed[-1]
        self.pins, self.laws = pins, laws
        if loop:
            self.tube, self.rod = (Body(solids.rod(mass=0.3, length=0.4, radius=0.01)) for _ in range(2))
            self.tie = Revolute(last, self.tube, axis="y")
            self.stroke = Prismatic(self.tube, self.rod, axis="z")
            self.hold = Revolute(self.ground.at(0.4, 0, 0.9), self.rod, axis="y")
