"""A small machine to look at: a bar that swings about y, green, from one side to the other in a known time."""

from __future__ import annotations

from collections.abc import Iterator

from kompono import Body, Ground, Result, Subsystem
from kompono.edges.plot import Picture, plot
from kompono.library import Gravity, Revolute, shapes, solids


class Pendulum(Subsystem):
    """A bar on a pin."""

    run_defaults = {"until": 0.4, "step": 2e-3}  # noqa: RUF012

    def __init__(self, *, broken: bool = False) -> None:
        self._broken = broken
        self.ground, self.gravity = Ground(), Gravity()
        self.bar = Body(
            solids.box(mass=1.0, size=(0.1, 0.1, 1.0)), shape=shapes.box((0.1, 0.1, 1.0)).coloured("#00ff00")
        )
        self.pin = Revolute(self.ground, self.bar.at(0, 0, 0.5), axis="y", angle=1.0)

    def figures(self, result: Result) -> Iterator[Picture]:
        """Two figures, the second of which may fail."""
        yield plot(result, "pin.angle", name="angle", caption="The angle of the pin.")
        if self._broken:
            raise ValueError("no second figure")
        yield plot(result, "pin.angle.rate", x="pin.angle", name="phase", caption="Rate over angle <&>.")
