"""What tests of signals share: the machine code of this machine alone, and a cart on a rail."""

from __future__ import annotations

from kompono import Body, Controller, Ground, Input, Mode, Subsystem
from kompono.compile import targets
from kompono.library import JointEffort, Prismatic, solids

HERE = [str(targets.fitting(targets.TARGETS))]


class Pushed(Subsystem):
    """A cart on a rail, pushed by an input."""

    def __init__(self):
        self.ground, self.cart = Ground(), Body(solids.sphere(mass=1.0, radius=0.1))
        self.rail = Prismatic(self.ground, self.cart, axis="x")
        self.push = Input(unit="N")
        self.drive = JointEffort(self.rail, self.push)


def law(x, v):
    return 4 * (1 - x) - 2 * v


class Held(Pushed):
    """Pushed by a sampled mode."""

    def __init__(self, every=0.01):
        super().__init__()
        self.held = Mode(0.0, every=every)
        self.held.next = law(self.rail.displacement, self.rail.displacement_rate)
        self.connect(self.held, self.push)


class Asked(Pushed):
    """Pushed by a Python callable."""

    def __init__(self, function=lambda t, x, v: law(x, v), every=0.01):
        super().__init__()
        reads = [self.rail.displacement, self.rail.displacement_rate]
        self.control = Controller(function, reads=reads, writes=[self.push], every=every)
