"""A car that runs over a bump with its left wheels, leaves the road, lands, brakes with locked wheels and stands.

kompono run examples/kerb.py --plot             3.5 s, from 10 m/s to a stop
kompono run examples/kerb.py --set speed=3      slow enough to stay on the road
python -m kompono.examples.kerb                 all figures into results/kerb/
kompono report examples/kerb.py                 the model, the run, the same figures and the car in 3D, as a page

Four wheels on springs, each a circle on a rigid road with dry friction. Whether a wheel rolls, slips or is in the air
is not written anywhere; it follows from contact, brakes and what the springs push.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import pi
from typing import Any

import numpy as np
from casadi import exp

from kompono import Body, Ground, Input, Result, Subsystem, rotation
from kompono.edges.figures import write_figures
from kompono.edges.plot import COLOURS, Picture
from kompono.library import Brake, Contact, Cylindrical, Gravity, JointEffort, Prismatic, SpringDamper, shapes

RADIUS, BASE, TRACK = 0.3, 2.4, 1.5  # of the wheels; between axles; between the wheels of an axle [m]
UP, STRUT = 0.25, 0.35  # centre of mass above the axles; from an axle up to the end of its spring [m]
HULL, CARRIER, WHEEL, GRAVITY = 900.0, 10.0, 15.0, 9.81  # masses [kg]; [m/s^2]
SIDEWALL = 1.5e5, 1500.0  # what a tyre resists being pushed aside [N/m, N s/m]
BUMP, LONG, PLACE = 0.1, 0.35, 6.0  # height, half length and place of the bump [m]
PEDAL = ([0.0, 1.6, 1.7], [0.0, 0.0, 1.0])  # how far the brakes are pressed
SIDES = {"front_left": (1, 1), "front_right": (1, -1), "rear_left": (-1, 1), "rear_right": (-1, -1)}
SHELL = [(-1.7, -0.2), (1.7, -0.2), (1.7, 0.12), (0.9, 0.2), (0.35, 0.55), (-0.9, 0.55), (-1.3, 0.2), (-1.7, 0.15)]
COACH = shapes.plate(SHELL, TRACK - 0.3, axis="y").coloured("#2f6fab")
TYRE = (
    shapes.tube(length=0.2, radius=RADIUS, wall=0.09, axis="y").coloured("#2b2d31"),
    *(shapes.box((0.42, 0.08, 0.06)).at(0, 0, 0, rotation("y", k * pi / 3)).coloured("#c9ced6") for k in range(3)),
)


def bump(x: Any) -> Any:
    """Height [m] of the road under the left wheels."""
    return BUMP * exp(-(((x - PLACE) / LONG) ** 2))


def road() -> list[Any]:
    """The road with its bump, for pictures."""
    x = np.linspace(PLACE - 3 * LONG, PLACE + 3 * LONG, 31)
    outline = [*((float(s), float(BUMP * np.exp(-(((s - PLACE) / LONG) ** 2)))) for s in x), (x[-1], -0.02), (x[0], -0.02)]
    hump = shapes.plate(outline, 0.6, axis="y").at(0, TRACK / 2, 0).coloured("#8a6d3b")
    return [shapes.box((30.0, 4.0, 0.02)).at(10, 0, -0.011).coloured("#b9bec5"), hump]


class Corner(Subsystem):
    """A wheel on its carrier, to which its tyre yields a little sideways.

    `brake` [N m] is what its brake can hold at full `pedal` (0 to 1), `spin` [rad/s] how fast it turns at the start.
    """

    def __init__(self, *, pedal: Any, brake: float, spin: float) -> None:
        arm = shapes.bar((0, 0, 0), (0, 0, 0.6 * STRUT), radius=0.03)
        self.carrier = Body(mass=CARRIER, inertia=(0.2, 0.2, 0.2), shape=arm)
        self.wheel = Body(mass=WHEEL, inertia=(0.5, 0.9, 0.5), shape=TYRE)
        self.axle = Cylindrical(self.carrier, self.wheel, axis="y", displacement=0.0, angle=0.0, angle_rate=spin)
        aside = -SIDEWALL[0] * self.axle.displacement - SIDEWALL[1] * self.axle.displacement_rate
        self.sidewall = JointEffort(self.axle, aside, coordinate="displacement")
        self.brake = Brake(self.axle, limit=brake * pedal, coordinate="angle")
        self.expose(self.carrier, self.wheel)


class Kerb(Subsystem):
    """The car with its road: left wheels on the profile with the bump, right ones on a plane; `speed` [m/s], `k` [N/m]
    and `c` [N s/m] of the springs, `mu` of tyre on road.
    """

    run_defaults = {"until": 3.5, "step": 1e-3}  # noqa: RUF012

    def __init__(self, *, speed: float = 10.0, k: float = 2.5e4, c: float = 1800.0, mu: float = 0.8) -> None:
        self.road, self.gravity = Ground(shape=road()), Gravity((0, 0, -GRAVITY))
        self.hull = Body(
            mass=HULL, inertia=(200.0, 900.0, 1000.0), shape=COACH, start_position=(0, 0, RADIUS + UP),
            start_velocity=(speed, 0, 0),
        )  # fmt: skip
        self.pedal = Input(table=PEDAL)
        rest = STRUT + HULL * GRAVITY / 4 / k
        for name, (ahead, left) in SIDES.items():
            corner = Corner(pedal=self.pedal, brake=900.0 if ahead > 0 else 400.0, spin=speed / RADIUS)
            x, y = ahead * BASE / 2, left * TRACK / 2
            mount, top = self.hull.at(x, y, -UP), self.hull.at(x, y, STRUT - UP)
            self.add(name, corner)
            self.add(
                f"{name}_strut",
                Prismatic(mount, corner.carrier, axis="z", displacement=0.0, displacement_rate=0.0, limits=(-0.12, 0.12)),
            )
            self.add(f"{name}_spring", SpringDamper(top, corner.carrier, k=k, c=c, rest=rest))
            under = self.road.profile(bump) if left > 0 else self.road.plane()
            self.add(f"{name}_tyre", Contact(under, corner.wheel.circle(RADIUS), mu=mu))

    def figures(self, result: Result) -> Iterator[Picture]:
        """How high everything is, what the road does, and what the wheels do."""
        yield heights(result)
