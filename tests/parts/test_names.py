"""What moves inside closed parts has the names it has in the open model: those of bodies that float, too."""

from __future__ import annotations

import pytest

from kompono import Body, Ground, Simulation, Subsystem
from kompono.library import Gravity, Revolute, SpringDamper, solids


class Part(Subsystem):
    """A box that carries an arm, and a ball on a spring."""

    def __init__(self) -> None:
        self.box = Body(solids.box(mass=2, size=(0.2, 0.2, 0.2)))
        self.ball = Body(solids.sphere(mass=1.0, radius=0.1), start_position=(1, 0, 2))
        self.arm = Body(solids.sphere(mass=1.0, radius=0.1))
        self.pin = Revolute(self.box, self.arm.at(0, 0, 0.5), axis="y")
        self.spring = SpringDamper(self.box, self.ball, k=100, rest=1)
        self.expose(self.box)


class Pair(Subsystem):
    """Two such parts, one on the other."""

    def __init__(self) -> None:
        self.lower, self.upper = Part(), Part()
        self.hinge = Revolute(self.lower.box, self.upper.box.at(0, 0, 1), axis="y")
        self.expose(self.lower.box)


class Machine(Subsystem):
    def __init__(self) -> None:
        self.ground, self.gravity, self.pair = Ground(), Gravity(), Pair()
        self.foot = Revolute(self.ground, self.pair.lower.box.at(0, 0, 0.1), axis="y")


@pytest.mark.parametrize("engine", ["relative", "absolute"])
def test_floating_bodies_have_their_paths(engine: str) -> None:
    def names(*closed: str) -> tuple[set[str], int]:
        program = Simulation(Machine(), engine=engine, closed=closed, native=False).program
        listed = (*program.coordinates, *program.speeds)
        return set(listed), len(listed)

    usual = names()
    assert usual[1] == len(usual[0])
    assert {"pair.lower.ball.free.x", "pair.upper.ball.free.wz"} <= usual[0]
    for closed in (("pair",), ("pair.*",), ("pair", "pair.*"), ("pair.upper",)):
        assert names(*closed) == usual
