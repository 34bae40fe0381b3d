"""A crank-rocker: a driven crank makes a rocker swing.

kompono run examples/reference/four_bar.py --plot
"""

from __future__ import annotations

from math import pi

from kompono import Body, Ground, Subsystem, time
from kompono.library import Drive, Revolute, solids


class FourBar(Subsystem):
    """Ground d, crank a, coupler b, rocker c [m]; the crank starts at 50 degrees. Start angles are rough on purpose."""

    run_defaults = {"until": 7.0, "step": 1e-3}  # noqa: RUF012

    def __init__(
        self,
        *,
        a: float = 1.0,
        b: float = 3.0,
        c: float = 2.5,
        d: float = 3.0,
        start: float = 50 * pi / 180,
        speed: float = 1.0,
    ) -> None:
        self.ground = Ground()
        self.crank, self.coupler, self.rocker = (
            Body(solids.rod(mass=n, length=n, radius=0.05, axis="x")) for n in (a, b, c)
        )
        self.bearing = Revolute(self.ground, self.crank.at(-a / 2, 0, 0), axis="z")
        self.pivot = Revolute(self.ground.at(d, 0, 0), self.rocker.at(-c / 2, 0, 0), axis="z", angle=1.2)
        self.crank_pin = Revolute(self.crank.at(a / 2, 0, 0), self.coupler.at(-b / 2, 0, 0), axis="z", angle=0.0)
        self.rocker_pin = Revolute(self.rocker.at(c / 2, 0, 0), self.coupler.at(b / 2, 0, 0), axis="z")
        self.drive = Drive(self.bearing, start + speed * time)
