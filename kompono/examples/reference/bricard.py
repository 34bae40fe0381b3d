"""The orthogonal six-bar linkage of Bricard: six hinges on a cube, mobile though counting says they are locked.

kompono run examples/reference/bricard.py --plot
"""

from __future__ import annotations

from math import pi

from kompono import Body, Ground, Subsystem, rotation
from kompono.library import Gravity, Revolute, solids


class Bricard(Subsystem):
    """Five bars of 1 m and 1 kg on the ground, hinge axes twisted by +90 and -90 degrees in turn; a cube at rest.

    All odd angles (Denavit and Hartenberg) are equal and all even ones, with cos odd + cos even + cos odd cos even = 0.
    `off` spoils the start angles, to see them put right by assembly.
    """

    run_defaults = {"until": 10.0, "step": 1e-3}  # noqa: RUF012

    def __init__(self, *, off: float = 0.0) -> None:
        self.ground = Ground()
        self.gravity = Gravity((0, -9.81, 0))
        self.bars = [Body(solids.rod(mass=1.0, length=1.0, radius=0.02, axis="x")) for _ in range(5)]
        twisted = [rotation("x", pi / 2 * (-1) ** k) for k in range(6)]
        ends = [self.ground.at(1, 0, 0, orientation=twisted[0])]
        ends += [bar.at(0.5, 0, 0, orientation=turn) for bar, turn in zip(self.bars, twisted[1:], strict=True)]
        angles = [pi / 2 + off * (-1) ** (k // 2) for k in range(5)]
        self.hinges = [
            Revolute(end, bar.at(-0.5, 0, 0), axis="z", angle=angle)
            for end, bar, angle in zip(ends, self.bars, angles, strict=False)
        ]
        self.last_hinge = Revolute(ends[5], self.ground, axis="z")
