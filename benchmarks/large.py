"""Large models of equal components: chains and trees of 1,000 to 100,000 bodies.

python benchmarks/large.py                          all tables (several minutes, 1 GB)
python benchmarks/large.py chain 10000              one line: a nested chain of so many bodies
python benchmarks/large.py tree 10000 --threads 2   one line: a tree, on so many threads
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kompono import Body, Ground, Subsystem
from kompono.library import Gravity, Revolute, solids

ROD = solids.rod(mass=1.0, length=0.2, radius=0.02)


class Link(Subsystem):
    """One rod of 0.2 m."""

    def __init__(self) -> None:
        self.rod = Body(ROD)
        self.first = self.last = self.rod
        self.expose(self.rod)


class Row(Subsystem):
    """Ten equal parts in a row, on revolute joints about the given axes in turn."""

    def __init__(self, make: Callable[[], Subsystem], axes: str) -> None:
        self.parts = [make() for _ in range(10)]
        self.pins = [
            Revolute(a.last.at(0, 0, -0.1), b.first.at(0, 0, 0.1), axis=axes[k % len(axes)], angle=0.3)
            for k, (a, b) in enumerate(zip(self.parts, self.parts[1:], strict=False))
        ]
        self.first, self.last = self.parts[0].first, self.parts[-1].last
        self.expose(self.first, self.last)


class Chain(Subsystem):
    """A hanging chain of 10, 100, 1,000, ... links, nested by tens."""

    def __init__(self, bodies: int = 1000) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        make: Callable[[], Subsystem] = Link
        for level in range(len(str(bodies)) - 1):
            make = lambda make=make, level=level: Row(make, "xy" if level == 0 else "y")  # noqa: E731
        self.chain = make()
        self.pin = Revolute(self.ground, self.chain.first.at(0, 0, 0.1), axis="y", angle=0.3)


class Crown(Subsystem):
    """A branch with crowns on it."""

    def __init__(self, levels: int, ways: int) -> None:
        self.stem = Stem()
        self.first = self.stem.rods[0]
        self.expose(self.first)
        if levels > 1:
            self.crowns = [Crown(levels - 1, ways) for _ in range(ways)]
            self.pins = [
                Revolute(self.stem.rods[-1].at(0, 0, -0.1), crown.first.at(0, 0, 0.1), axis="y", angle=k - 0.5)
                for k, crown in enumerate(self.crowns)
            ]


class Stem(Subsystem):
    """Four rods in a row."""

    def __init__(self) -> None:
        self.rods = [Body(ROD) for _ in range(4)]
        self.pins = [
            Revolute(a.at(0, 0, -0.1), b.at(0, 0, 0.1), axis="xy"[k % 2], angle=0.2)
            for k, (a, b) in enumerate(zip(self.rods, self.rods[1:], strict=False))
        ]
        self.expose(*self.rods)


class Tree(Subsystem):
    """Crowns of `ways` branches at each fork, hung on a ground: 4 (ways^levels - 1) / (ways - 1) bodies each."""

    def __init__(self, bodies: int = 1000, ways: int = 2) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        levels = max(1, round(np.log(bodies / 4 * (ways - 1) + 1) / np.log(ways)))
        self.crown = Crown(levels, ways)
        self.pin = Revolute(self.ground, self.crown.first.at(0, 0, 0.1), axis="y", angle=0.3)


MODELS: dict[str, Callable[[int], Subsystem]] = {"chain": Chain, "tree": Tree}
