"""What a sample costs: no controller, a sampled mode, a `Controller`, and a callable input; and a cascade of loops at
20 kHz, in one run of this file.

A cart on a rail is held at its place by the same law, sampled at each step of 1 ms (without a controller it is a
force). Processor time of a whole `simulate` of two lengths, the best of some; the difference over the number of steps.
So translation, compilation and assembly are not in it, and others on the machine matter little.
"""

from __future__ import annotations

import time

from tables import show

from kompono import Body, Controller, Ground, Input, Mode, Subsystem, simulate
from kompono.examples.cascade import FAST, Cascade
from kompono.library import JointEffort, Prismatic, solids

STEP, REPEATS = 1e-3, 3


class Cart(Subsystem):
    """A cart on a rail."""

    def __init__(self) -> None:
        self.ground, self.cart = Ground(), Body(solids.sphere(mass=1.0, radius=0.1))
        self.rail = Prismatic(self.ground, self.cart, axis="x")
        self.law = 4 * (1 - self.rail.displacement) - 0.5 * self.rail.displacement_rate


class Plain(Cart):
    """A force."""

    def __init__(self) -> None:
        super().__init__()
        self.drive = JointEffort(self.rail, self.law)


class Sampled(Cart):
    """A sampled mode."""

    def __init__(self) -> None:
        super().__init__()
        self.force = Mode(0.0, every=STEP)
        self.force.next = self.law
        self.drive = JointEffort(self.rail, self.force)


class Asked(Cart):
    """A Python function that the native loop calls."""

    def __init__(self) -> None:
        super().__init__()
        self.force = Input()
        self.drive = JointEffort(self.rail, self.force)
        reads = [self.rail.displacement, self.rail.displacement_rate]
        self.control = Controller(lambda _, x, v: 4 * (1 - x) - 0.5 * v, reads=reads, writes=[self.force], every=STEP)


class Called(Cart):
    """An input that is a Python function and reads channels by name."""

    def __init__(self) -> None:
        super().__init__()
        names = "rail.displacement", "rail.displacement.rate"
        self.force = Input(lambda _, read: 4 * (1 - read(names[0])) - 0.5 * read(names[1]), period=STEP)
        self.drive = JointEffort(self.rail, self.force)


def cost(kind: type[Cart], steps: int) -> float:
    """Processor time [us] a step."""

    def seconds(count: int) -> float:
        best = float("inf")
        for _ in range(REPEATS):
            begun = time.process_time()
            simulate(kind(), until=count * STEP, step=STEP, every=count, progress=False)
            best = min(best, time.process_time() - begun)
        return best

    seconds(100)  # compile
    return (seconds(3 * steps) - seconds(steps)) / (2 * steps) * 1e6


def cascade() -> list[list[str]]:
    """Processor time of the manipulator with three loops an axis, for a simulated second."""
    model = Cascade()

    def seconds(until: float) -> float:
        begun = time.process_time()
        simulate(model, until=until, step=FAST, every=20, progress=False, channels=["*.target"])
        return time.process_time() - begun

    seconds(0.01)  # compile
    best = (min(seconds(4.5) for _ in range(REPEATS)) - min(seconds(1.5) for _ in range(REPEATS))) / 3
    return [["three axes, current 20 kHz, speed and place 1 kHz", f"{best * 1e3:.3g}", f"{1 / best:.3g}"]]


def main() -> None:
    """Print the tables."""
    kinds = {Plain: 300_000, Sampled: 300_000, Asked: 30_000, Called: 5_000}
    found = {kind: cost(kind, steps) for kind, steps in kinds.items()}
    rows = [
        [str(kind.__doc__).rstrip("."), f"{value:.3g}", f"{value - found[Plain]:.3g}"] for kind, value in found.items()
    ]
    show("A step with a sample", ["the law is", "us a step of 1 ms", "beyond the force"], rows)
    titles = ["examples/cascade.py, rk4, 50 us", "ms a simulated s", "times real time, one core"]
    show("A cascade of loops", titles, cascade())


if __name__ == "__main__":
    main()
