"""Five more machines that `esdirk4` has never seen, stiff and not: nothing was set by what comes of them.

python benchmarks/stiff_unseen.py            all machines, a few tolerances each (a minute)
python benchmarks/stiff_unseen.py press      machines whose names begin so

Stiff: a press whose connecting rod is a spring of 1e9 N/m in a loop, an arm of two links under a position controller
with 1e6 N m/rad and filtered rates, a mass with van der Pol's damping and mu 1000, which is stiff most of the time and
not at all between. Not stiff: a double pendulum, and four bodies that whirl on soft springs. What is compared, and how,
is `stiff.py`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent)]

import stiff_others  # noqa: E402
from casadi import sin  # noqa: E402

from kompono import Body, Ground, State, Subsystem, time  # noqa: E402
from kompono.library import Gravity, JointEffort, Prismatic, Revolute, SpringDamper, solids  # noqa: E402


class Press(Subsystem):
    """A flywheel drives a ram by a rod that is a stiff spring, against a load."""

    def __init__(self) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.wheel = Body(mass=20.0, inertia=(0.5, 0.5, 1.0))
        self.ram = Body(mass=5.0, inertia=(0.1,) * 3)
        self.axle = Revolute(self.ground, self.wheel, axis="y", angle=0.4, angle_rate=10.0)
        self.guide = Prismatic(self.ground.at(0, 0, 0.4), self.ram, axis="z")
        self.rod = SpringDamper(self.wheel.at(0.1, 0, 0), self.ram, k=1e9, c=1e5, rest=0.446)
        self.load = JointEffort(self.guide, -200.0 * self.guide.displacement_rate)


class Controlled(Subsystem):
    """Two links in the plane, held on a path by a stiff controller whose rates come through a filter of 20 us."""

    def __init__(self) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.upper, self.lower = (Body(solids.rod(mass=m, length=0.5, radius=0.02, axis="x")) for m in (2.0, 1.0))
        self.shoulder = Revolute(self.ground, self.upper.at(-0.25, 0, 0), axis="y", angle=0.0)
        self.elbow = Revolute(self.upper.at(0.25, 0, 0), self.lower.at(-0.25, 0, 0), axis="y", angle=0.0)
        self.rates = [State(0.0), State(0.0)]
        self.motors = []
        motors = []
        for joint, rate, path in zip(
            (self.shoulder, self.elbow), self.rates, (sin(2 * time), sin(3 * time)), strict=True
        ):
            rate.rate = (joint.angle_rate - rate) / 2e-5
            motors.append(JointEffort(joint, 1e6 * (0.5 * path - joint.angle) - 2e3 * rate))
        self.motors = motors


class VanDerPol(Subsystem):
    """x'' = 1000 (1 - x^2) x' - x."""

    def __init__(self) -> None:
        self.ground, self.mass = Ground(), Body(mass=1.0, inertia=(1,) * 3)
        self.rail = Prismatic(self.ground, self.mass, axis="x", displacement=2.0)
        x, v = self.rail.displacement, self.rail.displacement_rate
        self.force = JointEffort(self.rail, 1000.0 * (1.0 - x**2) * v - x)


class DoublePendulum(Subsystem):
    """Two rods, thrown."""

    def __init__(self) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.upper, self.lower = (Body(solids.rod(mass=1.0, length=1.0, radius=0.02, axis="x")) for _ in range(2))
        self.first = Revolute(self.ground, self.upper.at(-0.5, 0, 0), axis="y", angle_rate=2.0)
        self.second = Revolute(self.upper.at(0.5, 0, 0), self.lower.at(-0.5, 0, 0), axis="y", angle=0.5)


class Whirl(Subsystem):
    """Four free bodies on soft springs between them, spinning."""

    def __init__(self) -> None:
        places = [(1.0, 0, 0), (0, 1.0, 0.2), (-1.0, 0, -0.1), (0, -1.0, 0.3)]
        turning = [(0, 2.0, 0.1), (-2.0, 0, 0), (0, -2.0, 0), (2.0, 0, 0.2)]
        self.bodies = [
            Body(solids.box(mass=1.0, size=(0.2, 0.3, 0.4)), start_position=p, start_velocity=v,
                 start_angular_velocity=(1.0, 0.5, 2.0))
            for p, v in zip(places, turning, strict=True)
        ]  # fmt: skip
        pairs = [(i, j) for i in range(4) for j in range(i)]
        self.springs = [
            SpringDamper(self.bodies[i], self.bodies[j].at(0.1, 0, 0), k=4.0, c=0.0, rest=1.0) for i, j in pairs
        ]


MACHINES: dict[str, tuple[Callable[[], Subsystem], float, bool, dict[str, Any]]] = {
    "press": (Press, 0.5, True, {}),
    "controlled arm": (Controlled, 1.0, True, {}),
    "van der Pol": (VanDerPol, 900.0, True, {}),
    "double pendulum": (DoublePendulum, 5.0, False, {}),
    "whirl": (Whirl, 10.0, False, {}),
}

if __name__ == "__main__":
    stiff_others.MACHINES = MACHINES
    stiff_others.main()
