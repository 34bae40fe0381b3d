"""The heavy top of the Lie-group literature: a fast spinning disc on a ball joint, axis horizontal at the start.

kompono run examples/reference/heavy_top.py --plot
"""

from __future__ import annotations

from kompono import Body, Ground, Subsystem
from kompono.library import Gravity, Spherical


class HeavyTop(Subsystem):
    """15 kg, centre of mass 1 m from the ball along y, spin 150 rad/s about y."""

    run_defaults = {"until": 2.0, "step": 1e-3, "method": "dopri5", "rtol": 1e-10}  # noqa: RUF012

    def __init__(self) -> None:
        self.ground = Ground()
        self.gravity = Gravity((0, 0, -9.81))
        self.top = Body(mass=15, inertia=(0.234375, 0.46875, 0.234375))
        self.ball = Spherical(self.ground, self.top.at(0, -1, 0), wx=0.0, wy=150.0, wz=-4.61538)
