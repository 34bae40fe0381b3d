"""Trees, chains and forests to be spread, small enough for tests."""

from __future__ import annotations

from kompono import Body, Ground, Input, Parameter, Subsystem
from kompono.library import AppliedLoad, Gravity, JointEffort, Revolute, Spherical, SpringDamper, solids

ROD = solids.rod(mass=1.0, length=0.2, radius=0.02)


class Stem(Subsystem):
    """Three rods in a row, with stems on the last."""

    def __init__(self, ways: int, levels: int) -> None:
        self.rods = [Body(ROD) for _ in range(3)]
        self.inner = [
            Revolute(a.at(0, 0, -0.1), b.at(0, 0, 0.1), axis="xy"[k % 2], angle=0.3)
            for k, (a, b) in enumerate(zip(self.rods, self.rods[1:], strict=False))
        ]
        self.first = self.rods[0]
        self.expose(self.first)
        if levels > 1:
            self.stems = [Stem(ways, levels - 1) for _ in range(ways)]
            self.pins = [
                Revolute(self.rods[-1].at(0, 0, -0.1), stem.first.at(0, 0, 0.1), axis="y", angle=0.2 * k - 0.1)
                for k, stem in enumerate(self.stems)
            ]


class Tree(Subsystem):
    """3 (ways^levels - 1) / (ways - 1) rods, hung on a ground."""

    def __init__(self, ways: int = 2, levels: int = 5) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.stem = Stem(ways, levels)
        self.pin = Revolute(self.ground, self.stem.first.at(0, 0, 0.1), axis="y", angle=0.3)


class Chain(Subsystem):
    """Links in a row: there is no fork to cut at."""

    def __init__(self, links: int = 24) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.links = [Body(ROD) for _ in range(links)]
        above = [self.ground, *[link.at(0, 0, -0.1) for link in self.links]]
        self.pins = [
            Revolute(a, b.at(0, 0, 0.1), axis="xy"[k % 2], angle=0.2)
            for k, (a, b) in enumerate(zip(above, self.links, strict=False))
        ]


class Arm(Subsystem):
    """Two rods on ball joints with a spring between them, and a motor that an input drives."""

    def __init__(self, start: float) -> None:
        self.stiffness = Parameter(40.0)
        self.level = Input(0.3)
        self.upper, self.lower = Body(ROD), Body(ROD)
        self.elbow = Revolute(self.upper.at(0, 0, -0.1), self.lower.at(0, 0, 0.1), axis="x", angle=start)
        self.spring = SpringDamper(
            self.upper.at(0.1, 0, 0), self.lower.at(0.1, 0, 0), k=self.stiffness, c=0.5, rest=0.2
        )
        self.motor = JointEffort(self.elbow, self.level)
        self.expose(self.upper)


class Forest(Subsystem):
    """Arms on bars, bars on grounds: separate trees, ball joints, springs, inputs, a load that knows where it is."""

    def __init__(self, trees: int = 3, arms: int = 4) -> None:
        self.gravity = Gravity()
        self.grounds = [Ground(position=(k, 0, 0)) for k in range(trees)]
        self.bars = [Body(ROD) for _ in range(trees)]
        self.hinges = [Spherical(g, b.at(0, 0, 0.1)) for g, b in zip(self.grounds, self.bars, strict=True)]
        self.winds = [AppliedLoad(bar, force=[0.5 * bar.position[2], 0.1, 0]) for bar in self.bars]
        self.arms = [Arm(0.1 * k) for k in range(trees * arms)]
        self.shoulders = [
            Spherical(self.bars[k // arms].at(0, 0, -0.1), arm.upper.at(0, 0, 0.1)) for k, arm in enumerate(self.arms)
        ]
