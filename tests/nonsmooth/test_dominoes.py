"""Several bodies that strike, lean on and slide along each other: no step has to be made over events, no energy comes
from anywhere.
"""

from __future__ import annotations

import numpy as np

from kompono import Body, Ground, Subsystem, simulate
from kompono.library import Contact, Gravity, Planar, solids


class Dominoes(Subsystem):
    """A row of them, of which the first is pushed."""

    def __init__(self, count: int) -> None:
        self.floor, self.gravity = Ground(), Gravity((0, -9.81, 0))
        self.pieces = [Body(solids.box(mass=0.1, size=(0.02, 0.2, 0.05))) for _ in range(count)]
        push = {"angle_rate": -1.5, "x_rate": 0.15}
        self.planes = [
            Planar(self.floor, piece, x=0.1 * k, y=0.1, **({} if k else push)) for k, piece in enumerate(self.pieces)
        ]
        self.feet = [
            Contact(self.floor.plane("y"), piece.points((-0.01, -0.1, 0), (0.01, -0.1, 0)), mu=0.5)
            for piece in self.pieces
        ]
        self.tips = [
            Contact(struck.at(-0.01, 0, 0).plane("-x"), piece.at(0.01, 0.1, 0).point(), mu=0.2)
            for piece, struck in zip(self.pieces, self.pieces[1:], strict=False)
        ]


def test_dominoes_fall_one_after_the_other() -> None:
    result = simulate(Dominoes(3), until=0.7)
    assert result.status.ok
    assert "fallback" not in result.statistics
    struck = [next(t for t, name in result.statistics["events"] if name == f"tips.{k}.strikes") for k in range(2)]
    assert struck[0] < struck[1]
    assert np.diff(result["energy.total"]).max() < 1e-12
    assert min(result[f"planes.{k}.angle"][-1] for k in range(3)) < -0.5
