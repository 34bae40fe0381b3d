"""The boom of an excavator: a cylinder, a proportional valve and a sampled controller that lifts and lowers it.

kompono run examples/hydraulic.py --plot   5.5 s: up along a profile, a rest, and down
python -m kompono.examples.hydraulic       all figures into results/hydraulic/
kompono report examples/hydraulic.py       the model, the run, the same figures and the boom in 3D, as a page

Oil is compressible, so the load swings on it; the valve lags behind its command; the controller sees the angle through
an encoder, every 5 ms. Linkage, network of oil and control are solved in one run.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import atan2, cos, hypot, sin
from typing import Any

from casadi import if_else

from kompono import Body, Ground, Output, Result, Subsystem, time
from kompono.edges.figures import write_figures
from kompono.edges.plot import COLOURS, Picture
from kompono.library import (
    PID,
    Cylinder,
    Encoder,
    Gravity,
    LowPass,
    PressureSource,
    Prismatic,
    Revolute,
    Tank,
    Valve,
    Weld,
    profiles,
    solids,
)

TICK = 5e-3  # s
LOW, HIGH = 0.1, 0.8  # rad
PIVOT, FOOT = (0.0, 0.0, 1.2), (0.7, 0.0, 0.5)  # m, of the boom and of the cylinder
EYE = (1.7, -0.15)  # m, of the rod on the boom: along it and across
LENGTH, BOOM = 4.0, 800.0  # m, kg
BARREL, ROD = 0.9, 0.9  # m
AREA_A, AREA_B = 9e-3, 5e-3  # m^2
RATED = 0.65  # rad/s at full spool, about


def reach(angle: float) -> tuple[float, float]:
    """Distance of the cylinder's pins [m] and its inclination [rad]."""
    x = PIVOT[0] + EYE[0] * cos(angle) - EYE[1] * sin(angle) - FOOT[0]
    z = PIVOT[2] + EYE[0] * sin(angle) + EYE[1] * cos(angle) - FOOT[2]
    return hypot(x, z), atan2(z, x)


def holding(angle: float, bucket: float) -> float:
    """Force of the cylinder [N] that holds boom and bucket; its own weight is left out."""
    lever = (reach(angle + 1e-6)[0] - reach(angle - 1e-6)[0]) / 2e-6
    return 9.81 * LENGTH * (BOOM / 2 + bucket) * cos(angle) / lever


class Boom(Subsystem):
    """A boom with a `bucket` [kg] at its end, lifted by one cylinder."""

    run_defaults = {"until": 5.5, "step": 5e-4, "every": 10}  # noqa: RUF012

    def __init__(self, *, bucket: float = 500.0) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.boom = Body(solids.box(mass=BOOM, size=(LENGTH, 0.25, 0.35)))
        self.bucket = Body(solids.sphere(mass=bucket, radius=0.35))
        self.barrel = Body(solids.cylinder(mass=60.0, length=BARREL, radius=0.08, axis="x"))
        self.rod = Body(solids.cylinder(mass=40.0, length=ROD, radius=0.04, axis="x"))
        distance, slope = reach(LOW)
        self.pivot = Revolute(self.ground.at(*PIVOT), self.boom.at(-LENGTH / 2, 0, 0), axis="-y", angle=LOW)
        self.foot = Revolute(self.ground.at(*FOOT), self.barrel.at(-BARREL / 2, 0, 0), axis="-y", angle=slope)
        self.slide = Prismatic(
            self.barrel.at(-BARREL / 2, 0, 0), self.rod.at(ROD / 2, 0, 0), axis="x", displacement=distance
        )
        self.eye = Revolute(self.boom.at(EYE[0] - LENGTH / 2, 0, EYE[1]), self.rod.at(ROD / 2, 0, 0), axis="-y")
        self.hook = Weld(self.boom.at(LENGTH / 2, 0, 0), self.bucket)
        self._oil((holding(LOW, bucket) + AREA_B * 20e5) / AREA_A)
        self._control()

    def _oil(self, pressure: float) -> None:
        shortest = reach(LOW)[0] - 0.1
        self.cylinder = Cylinder(
            self.slide, area_a=AREA_A, area_b=AREA_B, start=shortest, stroke=shortest + 0.9, dead=5e-4,
            pressure_a=pressure, pressure_b=20e5,
        )  # fmt: skip
        self.supply, self.tank, self.valve = PressureSource(180e5), Tank(), Valve(5e-5)
        self.connect(self.supply.pin, self.valve.p)
        self.connect(self.tank.pin, self.valve.t)
        self.connect(self.valve.a, self.cylinder.a)
        self.connect(self.valve.b, self.cylinder.b)

    def _control(self) -> None:
        up = profiles.s_curve(LOW, HIGH, speed=0.45, acceleration=0.8, jerk=4.0, begin=0.3)
        down = profiles.s_curve(HIGH, LOW, speed=0.45, acceleration=0.8, jerk=4.0, begin=2.8)
        place = if_else(time < 2.8, up.position, down.position)
        self.target = Output(place, unit="rad")
        self.encoder = Encoder(self.pivot, counts=65536, every=TICK)
        ahead = (up.speed + down.speed) / RATED
        self.pid = PID(place - self.encoder.angle, kp=8.0, ki=6.0, feedforward=ahead, limits=1.0, every=TICK)
        self.spool = LowPass(time_constant=0.02)
        self.connect(self.pid.command, self.spool.input)
        self.connect(self.spool.output, self.valve.spool)

    def figures(self, result: Result) -> Iterator[Picture]:
        """How the boom follows, and what oil and valve do."""
        yield lift(result)


def lift(result: Result) -> Picture:
    """Angle, pressures and spool."""

    def draw(figure: Any) -> None:
        angle, pressure, spool = figure.subplots(3, sharex=True, height_ratios=(3, 3, 2))
        angle.plot(result.time, result["target"], color="0.6", linewidth=2.5, label="target")
        angle.plot(result.time, result["pivot.angle"], color=COLOURS[0], label="boom")
        angle.set(ylabel="angle [rad]", title="Up and down: the boom, its oil and its valve")
        angle.legend(loc="upper right")
        for side, colour in (("a", COLOURS[1]), ("b", COLOURS[2])):
            bars = result[f"cylinder.pressure_{side}"] / 1e5
            pressure.plot(result.time, bars, color=colour, label=f"at {side}")
        pressure.set(ylabel="pressure [bar]")
        pressure.legend(loc="upper left")
        spool.plot(result.time, result["pid.command"], color="0.6", label="command")
        spool.plot(result.time, result["valve.spool"], color=COLOURS[4], label="spool")
        spool.set(ylabel="spool", xlabel="time [s]")
        spool.legend(loc="upper right")
        spool.margins(x=0)

    caption = "The boom and its target, pressures on both sides of the piston, command and spool of the valve."
    return Picture(draw, size=(7.2, 5.6), name="1-lift", caption=caption)


if __name__ == "__main__":
    print(f"{len(write_figures(Boom(), 'results/hydraulic'))} figures in results/hydraulic/")
