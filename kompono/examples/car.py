"""The car of the dissertation: a body on two suspensions with dampers, arms and tyres; two closed loops, six freedoms.

kompono run examples/car.py --plot          1.5 s with rk4 at 1 ms, as in the dissertation
kompono run examples/car.py:DamperBench     one damper alone on a test bench
python -m kompono.examples.car              all figures into results/car/
kompono report examples/car.py              the model, the run, the same figures and the car in 3D, as a page
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import pi, sqrt
from typing import Any

import numpy as np
from casadi import sin

from kompono import Body, Ground, Result, Subsystem, rotation, simulate, time
from kompono.edges.figures import write_figures
from kompono.edges.plot import COLOURS, Picture, plot
from kompono.library import Cylindrical, Gravity, Revolute, SpringDamper, Weld, shapes, solids

SHELL = [(-1, 0.1), (1, 0.1), (1, 0.36), (0.68, 0.42), (0.5, 0.74), (-0.5, 0.74), (-0.68, 0.42), (-1, 0.36)]
CHASSIS = (
    shapes.bar((0, 0, -0.6), (0, 0, 0.1), radius=0.04).coloured("#3b424c"),
    shapes.bar((-0.12, 0, 0), (0.12, 0, 0), radius=0.03).coloured("#3b424c"),
    shapes.plate(SHELL, 1.3, axis="y").coloured("#2f6fab"),
    shapes.plate([(-0.56, 0.44), (0.56, 0.44), (0.43, 0.69), (-0.43, 0.69)], 1.31, axis="y").coloured("#9cc3dc"),
    *(shapes.cylinder(length=0.04, radius=0.07, axis="y").at(x, -0.65, 0.25).coloured("#fff1c4") for x in (-0.8, 0.8)),
)
WHEEL = (
    shapes.tube(length=0.3, radius=0.3, wall=0.1, axis="x").coloured("#2b2d31"),
    *(shapes.box((0.08, 0.07, 0.4)).at(0, 0, 0, rotation("x", k * pi / 3)).coloured("#c9ced6") for k in range(3)),
)


class Damper(Subsystem):
    """A piston that slides and turns in a cylinder, with a spring and a damper between the two.

    Alone it is stiff (damping over reduced mass: 3700 1/s), hence its small step.
    """

    run_defaults = {"until": 0.5, "step": 2e-4}  # noqa: RUF012

    def __init__(
        self, *, stiffness: float = 5e4, damping: float = 1e4, rest: float = 0.35, length: float = 0.25
    ) -> None:
        self.piston = Body(solids.rod(mass=13.23, length=0.6, radius=0.01))
        self.cylinder = Body(solids.tube(mass=3.4, length=0.6, radius=0.03, wall=0.004))
        self.slide = Cylindrical(
            self.piston.at(0, 0, -0.3), self.cylinder.at(0, 0, -0.3), axis="z", displacement=length, angle=0.0
        )
        self.spring = SpringDamper(
            self.piston.at(0, 0, -0.3), self.cylinder.at(0, 0, -0.3), k=stiffness, c=damping, rest=rest
        )
        self.expose(self.piston, self.cylinder)


def standing_damper() -> Damper:
    """A damper as long as it is where the car stands."""
    return Damper(length=0.6 * (sqrt(2) - 1))


class Suspension(Subsystem):
    """A beam that carries the wheel, with a damper hinged on it; side is -1 (left) or +1 (right)."""

    def __init__(self, side: int = -1, damper: Callable[[], Any] = standing_damper) -> None:
        arm = shapes.bar((-0.5, 0, 0), (0.5, 0, 0), radius=0.035)
        self.beam = Body(mass=7.02, inertia=(0.06, 0.5855265, 0.5855265), shape=arm)
        self.damper = damper()
        self.hinge = Revolute(
            self.beam.at(0.2 * side, 0, 0), self.damper.piston.at(0, 0, -0.3), axis="y", angle=-side * pi / 4
        )
        self.expose(self.beam, self.damper.cylinder)


class Wheel(Subsystem):
    """A ring on a tyre spring that stands on a point of the ground."""

    def __init__(self, *, x: float = 0.0) -> None:
        self.ring = Body(solids.tube(mass=15, length=0.3, radius=0.3, wall=0.01, axis="x"), shape=WHEEL)
        self.ground = Ground((x, 0, 0))
        self.tyre = SpringDamper(self.ground, self.ring, k=4e5, c=100, rest=0.35)
        self.expose(self.ring)


class Car(Subsystem):
    """The body slides and turns on a vertical guide and rests on two suspensions; `damper` makes those in them."""

    run_defaults = {"until": 1.5, "step": 1e-3, "method": "rk4"}  # noqa: RUF012

    def __init__(self, damper: Callable[[], Any] = standing_damper) -> None:
        self.ground = Ground()
        self.gravity = Gravity((0, 0, -9.8))
        self.body = Body(mass=585, inertia=(12.675, 450.9375, 439.2375), shape=CHASSIS)
        self.left, self.right = Suspension(-1, damper), Suspension(+1, damper)
        self.left_wheel, self.right_wheel = Wheel(x=-1.0), Wheel(x=+1.0)
        self.guide = Cylindrical(self.ground, self.body.at(0, 0, -0.95), axis="z", displacement=0.0, angle=0.0)
        self.left_strut = Revolute(self.body.at(-0.1, 0, 0), self.left.damper.cylinder.at(0, 0, 0.3), axis="y")
        self.left_arm = Revolute(self.body.at(0, 0, -0.6), self.left.beam.at(0.5, 0, 0), axis="y", angle=0.0)
        self.left_axle = Revolute(self.left.beam.at(-0.5, 0, 0), self.left_wheel.ring, axis="x", angle=0.0)
        self.right_strut = Revolute(self.body.at(0.1, 0, 0), self.right.damper.cylinder.at(0, 0, 0.3), axis="y")
        self.right_arm = Revolute(self.body.at(0, 0, -0.6), self.right.beam.at(-0.5, 0, 0), axis="y", angle=0.0)
        self.right_axle = Revolute(self.right.beam.at(0.5, 0, 0), self.right_wheel.ring, axis="x", angle=0.0)

    def figures(self, result: Result) -> Iterator[Picture]:
        """Figures 7.8 to 7.12, 7.14 and 7.15 of the dissertation, 3 and 4 of the short paper."""
        yield overview(result)
        yield from motion(result)
        yield from differences(result)
        yield from long_steps()


class DamperBench(Subsystem):
    """One damper hanging from a shaker that moves up and down by 10 mm at 2 Hz."""

    run_defaults = {"until": 2.0, "step": 2e-4}  # noqa: RUF012

    def __init__(self, *, stiffness: float = 5e4, damping: float = 1e4) -> None:
        self.shaker = Ground((0, 0, 0.01 * sin(2 * pi * 2 * time)))
        self.gravity = Gravity((0, 0, -9.8))
        self.damper = Damper(stiffness=stiffness, damping=damping, length=0.35)
        self.clamp = Weld(self.shaker, self.damper.piston)


# -- figures

BODY_Z, WHEEL_Z = "body.position.z", "left_wheel.ring.position.z"


def motion(result: Result) -> Iterator[Picture]:
    """What body and wheel do, and how well the loops stay closed."""
    for name, what, channel in (
        ("7-08-body-z", "z of the car body", BODY_Z),
        ("7-09-body-acceleration", "Acceleration of the car body", "body.acceleration.z"),
        ("7-10-wheel-z", "z of the left wheel", WHEEL_Z),
        ("7-11-wheel-acceleration", "Acceleration of the left wheel", "left_wheel.ring.acceleration.z"),
        ("7-12-drift", "Drift of the loop constraints: position [m], velocity [m/s]", "drift.*"),
    ):
        number = name[:4].replace("-0", ".").replace("-", ".")
        yield plot(result, channel, name=name, caption=f"{what} (dissertation, figure {number}).")


def differences(result: Result) -> Iterator[Picture]:
    """How far body and wheel are from an independent solution."""
    until, step = float(result.time[-1]), float(result.time[1])
    exact = simulate(
        Car(), until=until, step=step, method="dopri5", rtol=1e-12, engine="absolute", channels=[BODY_Z, WHEEL_Z]
    )
    how = "the independent solution has all nine bodies in absolute coordinates, dopri5 with rtol 1e-12"
    for name, what, channel in (("7-14-body", "car body", BODY_Z), ("7-15-wheel", "left wheel", WHEEL_Z)):
        caption = (
            f"z of the {what} less an independent solution (dissertation, figure {name[:4].replace('-', '.')}); {how}."
        )
        yield plot(result, channel, difference=exact, name=f"{name}-difference", caption=caption)


def long_steps() -> Iterator[Picture]:
    """The short paper runs the car with rk2 at 10 ms."""
    coarse = simulate(Car(), until=1.3, step=1e-2, method="rk2")
    both = "z of car body and left wheel with a long step (short paper, figure 3)."
    yield plot(coarse, BODY_Z, WHEEL_Z, panels="channel", name="short-3-z", caption=both)
    kept = "Drift of the loop constraints with a long step: position [m], velocity [m/s] (short paper, figure 4)."
    yield plot(coarse, "drift.*", name="short-4-drift", caption=kept)


def overview(result: Result) -> Picture:
    """The mechanism seen from the front, at the start and at the end, beside what happens in between."""

    def draw(figure: Any) -> None:
        sketch, curves = figure.subplots(1, 2, width_ratios=(5, 4))
        for row, shade in ((0, 0.25), (-1, 1.0)):
            for name, (corners, colour) in OUTLINES.items():
                sketch.plot(*seen_from_front(result, name, corners, row), color=colour, alpha=shade, linewidth=2)
        sketch.axhline(0, color="black", linewidth=1)
        when = f"The car at the start (light) and {result.time[-1]:g} s later"
        sketch.set(aspect="equal", xlabel="x [m]", ylabel="z [m]", title=when)
        for name, colour in (("body", COLOURS[0]), ("left_wheel.ring", COLOURS[1])):
            z = result[f"{name}.position.z"]
            curves.plot(result.time, 1e3 * (z - z[0]), color=colour, label=f"{name}.position.z")
        curves.set(xlabel="time [s]", ylabel="change [mm]", title="It settles on its springs")
        curves.legend(loc="center right")
        curves.margins(x=0)

    return Picture(draw, size=(10, 3.2), name="car", caption="The mechanism from the front, and how it settles.")


def seen_from_front(result: Result, name: str, corners: Any, row: int) -> tuple[Any, Any]:
    """World x and z of points (x, z) of a body, at one row of the result."""
    x, z = np.transpose(corners)
    turn = 2 * np.arctan2(result[f"{name}.orientation.e2"][row], result[f"{name}.orientation.e0"][row])
    at_x, at_z = result[f"{name}.position.x"][row], result[f"{name}.position.z"][row]
    return at_x + np.cos(turn) * x + np.sin(turn) * z, at_z - np.sin(turn) * x + np.cos(turn) * z


def rectangle(width: float, height: float) -> list[tuple[float, float]]:
    """Corners of a rectangle about the origin, closed."""
    x, z = width / 2, height / 2
    return [(-x, -z), (x, -z), (x, z), (-x, z), (-x, -z)]


OUTLINES: dict[str, tuple[list[tuple[float, float]], str]] = {
    "body": ([(-0.1, 0), (0.1, 0), (0, -0.6), (-0.1, 0)], COLOURS[0])
}
for _side in ("left", "right"):
    OUTLINES[f"{_side}.beam"] = ([(-0.5, 0), (0.5, 0)], COLOURS[2])
    OUTLINES[f"{_side}.damper.piston"] = ([(0, -0.3), (0, 0.3)], COLOURS[4])
    OUTLINES[f"{_side}.damper.cylinder"] = (rectangle(0.06, 0.6), COLOURS[3])
    OUTLINES[f"{_side}_wheel.ring"] = (rectangle(0.3, 0.6), COLOURS[1])


if __name__ == "__main__":
    print(f"{len(write_figures(Car(), 'results/car'))} figures in results/car/")
