"""The car of the dissertation: a body on two suspensions with dampers, arms and tyres; two closed loops, six freedoms.

kompono run examples/car.py --plot          1.5 s with rk4 at 1 ms, as in the dissertation
kompono run examples/car.py:DamperBench     one damper alone on a test bench
python examples/car.py                      all figures into results/car/
"""

from __future__ import annotations

from math import pi, sqrt
from pathlib import Path
from typing import Any

import numpy as np
from casadi import sin

from kompono import Body, Ground, Result, Subsystem, simulate, time
from kompono.edges.plot import COLOURS, STYLE
from kompono.library import Cylindrical, Gravity, Prismatic, Revolute, SpringDamper, solids


class Damper(Subsystem):
    """A piston that slides and turns in a cylinder, with a spring and a damper between the two."""

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


class Suspension(Subsystem):
    """A beam that carries the wheel, with a damper hinged on it; side is -1 (left) or +1 (right)."""

    def __init__(self, side: int = -1) -> None:
        self.beam = Body(mass=7.02, inertia=(0.06, 0.5855265, 0.5855265))
        self.damper = Damper(length=0.6 * (sqrt(2) - 1))
        self.hinge = Revolute(
            self.beam.at(0.2 * side, 0, 0), self.damper.piston.at(0, 0, -0.3), axis="y", angle=-side * pi / 4
        )
        self.expose(self.beam, self.damper.cylinder)


class Wheel(Subsystem):
    """A ring on a tyre spring that stands on a point of the ground."""

    def __init__(self, *, x: float = 0.0) -> None:
        self.ring = Body(solids.tube(mass=15, length=0.3, radius=0.3, wall=0.01, axis="x"))
        self.ground = Ground((x, 0, 0))
        self.tyre = SpringDamper(self.ground, self.ring, k=4e5, c=100, rest=0.35)
        self.expose(self.ring)


class Car(Subsystem):
    """The body slides and turns on a vertical guide and rests on two suspensions."""

    run_defaults = {"until": 1.5, "step": 1e-3, "method": "rk4"}  # noqa: RUF012

    def __init__(self) -> None:
        self.ground = Ground()
        self.gravity = Gravity((0, 0, -9.8))
        self.body = Body(mass=585, inertia=(12.675, 450.9375, 439.2375))
        self.left, self.right = Suspension(side=-1), Suspension(side=+1)
        self.left_wheel, self.right_wheel = Wheel(x=-1.0), Wheel(x=+1.0)
        self.guide = Cylindrical(self.ground, self.body.at(0, 0, -0.95), axis="z", displacement=0.0, angle=0.0)
        self.left_strut = Revolute(self.body.at(-0.1, 0, 0), self.left.damper.cylinder.at(0, 0, 0.3), axis="y")
        self.left_arm = Revolute(self.body.at(0, 0, -0.6), self.left.beam.at(0.5, 0, 0), axis="y", angle=0.0)
        self.left_axle = Revolute(self.left.beam.at(-0.5, 0, 0), self.left_wheel.ring, axis="x", angle=0.0)
        self.right_strut = Revolute(self.body.at(0.1, 0, 0), self.right.damper.cylinder.at(0, 0, 0.3), axis="y")
        self.right_arm = Revolute(self.body.at(0, 0, -0.6), self.right.beam.at(-0.5, 0, 0), axis="y", angle=0.0)
        self.right_axle = Revolute(self.right.beam.at(0.5, 0, 0), self.right_wheel.ring, axis="x", angle=0.0)


class DamperBench(Subsystem):
    """One damper hanging from a shaker that moves up and down by 10 mm at 2 Hz."""

    run_defaults = {"until": 2.0, "step": 1e-3}  # noqa: RUF012

    def __init__(self, *, stiffness: float = 5e4, damping: float = 1e4) -> None:
        self.shaker = Ground((0, 0, 0.01 * sin(2 * pi * 2 * time)))
        self.gravity = Gravity((0, 0, -9.8))
        self.damper = Damper(stiffness=stiffness, damping=damping, length=0.35)
        self.clamp = Prismatic(self.shaker, self.damper.piston, axis="z")


# -- figures


def main() -> None:
    """Draw the figures of the dissertation (7.8 to 7.15) and of the short paper (3, 4) into results/car/."""
    folder = Path("results/car")
    folder.mkdir(parents=True, exist_ok=True)
    body, wheel = "body.position.z", "left_wheel.ring.position.z"
    car = simulate(Car(), until=1.5, step=1e-3, method="rk4")
    exact = simulate(Car(), until=1.5, step=1e-3, method="dopri5", rtol=1e-12)
    coarse = simulate(Car(), until=1.3, step=1e-2, method="rk2")

    how = "rk4, 1 ms"
    draw(folder / "7-08-body-z.png", f"z of the car body ({how})", "z [m]", car, body)
    draw(folder / "7-09-body-acceleration.png", f"Acceleration of the car body ({how})", "[m/s²]", car, "body.acceleration.z")
    draw(folder / "7-10-wheel-z.png", f"z of the left wheel ({how})", "z [m]", car, wheel)
    draw(
        folder / "7-11-wheel-acceleration.png", f"Acceleration of the left wheel ({how})", "[m/s²]",
        car, "left_wheel.ring.acceleration.z",
    )  # fmt: skip
    draw(folder / "7-12-drift.png", f"Drift of the loop constraints ({how})", "largest violation", car, *DRIFT)
    title = "z of the {}: {} less dopri5 with rtol 1e-12"
    draw(folder / "7-14-body-difference.png", title.format("car body", how), "[m]", car, body, less=exact)
    draw(folder / "7-15-wheel-difference.png", title.format("left wheel", how), "[m]", car, wheel, less=exact)

    how = "rk2, 10 ms"
    draw(folder / "short-3-z.png", f"z of car body and left wheel ({how})", "z [m]", coarse, body, wheel)
    draw(folder / "short-4-drift.png", f"Drift of the loop constraints ({how})", "largest violation", coarse, *DRIFT)
    draw_overview(folder / "car.png", car)
    print(f"{len(list(folder.glob('*.png')))} figures in {folder}/")


DRIFT = ("drift.position", "drift.velocity")


def draw(path: Path, title: str, unit: str, result: Result, *names: str, less: Result | None = None) -> None:
    """One picture of some channels over time, or of their difference to those of another result."""
    import matplotlib.pyplot as plt

    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
        for name, colour in zip(names, COLOURS, strict=False):
            values = result[name] - less[name] if less else result[name]
            axes.plot(result.time, values, color=colour, label=name)
        axes.set(title=title, xlabel="time [s]", ylabel=unit)
        axes.margins(x=0)
        if len(names) > 1:
            figure.legend(loc="outside lower center", ncols=len(names))
        figure.savefig(path, dpi=120)
        plt.close(figure)


def draw_overview(path: Path, result: Result) -> None:
    """The mechanism seen from the front, at the start (grey) and at the end, beside what happens in between."""
    import matplotlib.pyplot as plt

    with plt.rc_context(STYLE):
        figure, (sketch, curves) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained", width_ratios=(5, 4))
        for row, shade in ((0, 0.25), (-1, 1.0)):
            for path_of_body, outline, colour in OUTLINES:
                x, z = seen_from_front(result, path_of_body, outline, row)
                sketch.plot(x, z, color=colour, alpha=shade, linewidth=2, solid_joinstyle="round")
        sketch.axhline(0, color="black", linewidth=1)
        sketch.set(aspect="equal", xlabel="x [m]", ylabel="z [m]", title="start (light) and 1.5 s later")
        for name, colour in (("body", COLOURS[0]), ("left_wheel.ring", COLOURS[1])):
            z = result[f"{name}.position.z"]
            curves.plot(result.time, 1e3 * (z - z[0]), color=colour, label=f"{name}.position.z")
        curves.set(xlabel="time [s]", ylabel="change [mm]", title="the car settles on its springs")
        curves.legend()
        curves.margins(x=0)
        figure.savefig(path, dpi=110)
        plt.close(figure)


def seen_from_front(result: Result, path: str, outline: Any, row: int) -> tuple[Any, Any]:
    """World x and z of points (x, z) of a body, in one row of the result."""
    x, z = np.transpose(outline)
    e0, e2 = (result[f"{path}.orientation.{name}"][row] for name in ("e0", "e2"))
    turn = 2 * np.arctan2(e2, e0)  # about y
    at_x, at_z = (result[f"{path}.position.{name}"][row] for name in ("x", "z"))
    return at_x + np.cos(turn) * x + np.sin(turn) * z, at_z - np.sin(turn) * x + np.cos(turn) * z


OUTLINES = [
    ("body", [(-0.1, 0), (0.1, 0), (0, -0.6), (-0.1, 0)], COLOURS[0]),
    *((f"{side}.beam", [(-0.5, 0), (0.5, 0)], COLOURS[2]) for side in ("left", "right")),
    *((f"{side}.damper.piston", [(0, -0.3), (0, 0.3)], COLOURS[4]) for side in ("left", "right")),
    *(
        (f"{side}.damper.cylinder", [(-0.03, -0.3), (-0.03, 0.3), (0.03, 0.3), (0.03, -0.3), (-0.03, -0.3)], COLOURS[3])
        for side in ("left", "right")
    ),
    *(
        (f"{side}_wheel.ring", [(-0.15, -0.3), (0.15, -0.3), (0.15, 0.3), (-0.15, 0.3), (-0.15, -0.3)], COLOURS[1])
        for side in ("left", "right")
    ),
]


if __name__ == "__main__":
    main()
