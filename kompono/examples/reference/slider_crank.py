"""A crank that turns at constant speed drives a slider through a rod.

kompono run examples/reference/slider_crank.py --plot
"""

from __future__ import annotations

from kompono import Body, Ground, Subsystem, time
from kompono.library import Drive, Prismatic, Revolute, solids


class SliderCrank(Subsystem):
    """Crank r, rod l, slider along x; angles are measured from the line of the slider, about z."""

    run_defaults = {"until": 1.0, "step": 1e-3}  # noqa: RUF012

    def __init__(self, *, r: float = 0.1, l: float = 0.3, angle: float = 0.5, speed: float = 20.0) -> None:  # noqa: E741
        self.ground = Ground()
        self.crank = Body(solids.rod(mass=1.0, length=r, radius=0.01, axis="x"))
        self.rod = Body(solids.rod(mass=1.0, length=l, radius=0.01, axis="x"))
        self.slider = Body(solids.sphere(mass=1.0, radius=0.05))
        self.bearing = Revolute(self.ground, self.crank.at(-r / 2, 0, 0), axis="z")
        self.crank_pin = Revolute(self.crank.at(r / 2, 0, 0), self.rod.at(-l / 2, 0, 0), axis="z")
        self.slide = Prismatic(self.ground, self.slider, axis="x", displacement=l)
        self.piston_pin = Revolute(self.slider, self.rod.at(l / 2, 0, 0), axis="z")
        self.drive = Drive(self.bearing, angle + speed * time)
