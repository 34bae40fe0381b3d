"""A drivetrain: engine, clutch, a gearbox with a freewheel and a second clutch, and a car that is braked to a stop.

kompono run examples/drivetrain.py --plot       13 s: launch, shift, brake, stand
python -m kompono.examples.drivetrain           all figures into results/drivetrain/
kompono report examples/drivetrain.py           the model, the run, the same figures and the shafts in 3D, as a page

First gear drives through a freewheel: when the clutch of second gear takes over, the wheels run away from first gear
and it lets go by itself, at the right instant. What a clutch transmits is given by its pressure; whether it slips or
holds, the machine finds out.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import pi
from typing import Any

import numpy as np
from casadi import fmax

from kompono import Body, Ground, Input, Output, Result, Subsystem
from kompono.edges.figures import write_figures
from kompono.edges.plot import COLOURS, Picture
from kompono.library import Brake, Clutch, DryFriction, FreeWheel, Gear, JointEffort, Prismatic, Revolute, shapes

RPM = 60 / (2 * pi)
IDLE = 800 / RPM  # [rad/s]
RADIUS = 0.3  # of the wheels [m]
FIRST, SECOND, FINAL = 1 / 3.4, 1 / 2.0, 1 / 4.0  # ratios: shafts of the gears to the input shaft, axle to gearbox
THROTTLE = ([0.0, 0.5, 1.0, 3.4, 3.6, 4.2, 4.4, 7.0, 7.2], [0.0, 0.0, 120.0, 120.0, 60.0, 60.0, 120.0, 120.0, 0.0])
LAUNCH = ([0.0, 0.6, 2.0, 7.0, 7.3], [0.0, 0.0, 5000.0, 5000.0, 0.0])  # what presses the clutch of the engine [N]
SHIFT = ([0.0, 3.4, 4.2, 7.0, 7.3], [0.0, 0.0, 6000.0, 6000.0, 0.0])  # that of second gear
BRAKE = ([0.0, 7.4, 8.0], [0.0, 0.0, 1500.0])  # torque of the brake [N m]


def shaft(inertia: float, *, radius: float, length: float = 0.12) -> Body:
    """A shaft of that inertia about its axis x [kg m^2], drawn as a disc on it."""
    disc = shapes.cylinder(length=0.03, radius=radius, axis="x")
    spoke = shapes.box((0.034, 2 * radius, 0.02)).coloured("#2b2d31")
    thin = shapes.cylinder(length=length, radius=0.02, axis="x").coloured("#9aa3ad")
    return Body(mass=2 * inertia / radius**2, inertia=(inertia, inertia, inertia), shape=(disc, spoke, thin))


class Engine(Subsystem):
    """A flywheel with a torque from the throttle [N m], dry friction and what keeps it idling; drives its `crank`."""

    def __init__(self, *, inertia: float = 0.25, drag: float = 20.0, start: float = IDLE) -> None:
        self.block, self.flywheel = Ground(), shaft(inertia, radius=0.16)
        self.throttle = Input(table=THROTTLE, unit="N m")
        self.crank = Revolute(self.block, self.flywheel, axis="x", angle=0.0, angle_rate=start)
        self.bearings = DryFriction(self.crank, preload=drag)
        idling = drag + 4.0 * (IDLE - self.crank.angle_rate)  # [N m]
        self.torque = Output(fmax(self.throttle, idling), unit="N m")
        self.burning = JointEffort(self.crank, self.torque.expression)
        self.expose(self.crank)


class Gearbox(Subsystem):
    """An input shaft, first gear on a freewheel and second gear on a clutch, both on the `output` shaft."""

    def __init__(self) -> None:
        self.housing = Ground((0.3, 0, 0))
        self.drive, self.first, self.second = (
            shaft(0.02, radius=0.06),
            shaft(0.01, radius=0.1),
            shaft(0.01, radius=0.08),
        )
        self.driven = shaft(0.03, radius=0.07)
        self.input = Revolute(self.housing, self.drive, axis="x", angle=0.0, angle_rate=0.0)
        self.low = Revolute(self.housing.at(0.1, 0, -0.16), self.first, axis="x", angle=0.0, angle_rate=0.0)
        self.high = Revolute(self.housing.at(0.2, 0, -0.16), self.second, axis="x", angle=0.0, angle_rate=0.0)
        self.output = Revolute(self.housing.at(0.3, 0, -0.16), self.driven, axis="x", angle=0.0, angle_rate=0.0)
        self.low_mesh = Gear(self.input, self.low, ratio=FIRST)
        self.high_mesh = Gear(self.input, self.high, ratio=SECOND)
        self.pressure = Input(table=SHIFT, unit="N")
        self.freewheel = FreeWheel(self.low, self.output)
        self.clutch = Clutch(self.high, self.output, normal=self.pressure, mu=0.3, radius=0.08, faces=4)
        self.expose(self.input, self.output)


class Vehicle(Subsystem):
    """A car of `mass` [kg] on its wheels, with a brake on the `axle`."""

    def __init__(self, *, mass: float = 1200.0) -> None:
        self.road = Ground((0.9, 0, -0.16))
        body = shapes.box((0.4, 0.2, 0.1)).at(0, 0, 0.3).coloured("#2f6fab")
        self.car = Body(mass=mass, inertia=(100.0, 100.0, 100.0), shape=body)
        self.wheels = shaft(2.4, radius=RADIUS)
        self.axle = Revolute(self.road, self.wheels, axis="x", angle=0.0, angle_rate=0.0)
        self.way = Prismatic(self.road, self.car, axis="y", displacement=0.0, displacement_rate=0.0)
        self.rolling = Gear(self.axle, self.way, ratio=RADIUS)
        self.pedal = Input(table=BRAKE, unit="N m")
        self.brake = Brake(self.axle, limit=self.pedal, limit_static=1.2 * self.pedal)
        self.speed = Output(3.6 * self.way.displacement_rate, unit="km/h")
        self.expose(self.axle, self.way)


class Drivetrain(Subsystem):
    """Engine, clutch, gearbox and car; throttle, both pressures and the brake are inputs."""

    run_defaults = {"until": 13.0, "step": 2e-3}  # noqa: RUF012

    def __init__(self, *, mass: float = 1200.0, drag: float = 20.0) -> None:
        self.engine, self.gearbox, self.vehicle = Engine(drag=drag), Gearbox(), Vehicle(mass=mass)
        self.pressure = Input(table=LAUNCH, unit="N")
        self.clutch = Clutch(self.engine.crank, self.gearbox.input, normal=self.pressure, mu=0.35, radius=0.09)
        self.final = Gear(self.gearbox.output, self.vehicle.axle, ratio=FINAL)

    def figures(self, result: Result) -> Iterator[Picture]:
        """What turns how fast, what the clutches transmit, and where the work went."""
        yield speeds(result)
        yield torques(result)
        yield balance(result)


# -- figures

STICKS = 1
SHOWN = {
    "clutch": ("clutch", COLOURS[0]),
    "gearbox.freewheel": ("freewheel", COLOURS[4]),
    "gearbox.clutch": ("second gear", COLOURS[2]),
    "vehicle.brake": ("brake", COLOURS[1]),
}


def speeds(result: Result) -> Picture:
    """Speeds of engine, input shaft and car, and what holds when."""
    time = result.time
    engine, drive = (RPM * result[f"{name}.angle.rate"] for name in ("engine.crank", "gearbox.input"))
    output = RPM * result["gearbox.output.angle.rate"]

    def draw(figure: Any) -> None:
        turning, going, bars = figure.subplots(3, sharex=True, height_ratios=(4, 2.2, 1.8))
        for ratio, name, when in ((FIRST, "first", 5.0), (SECOND, "second", 6.0)):
            turning.plot(time, output / ratio, color="0.7", linewidth=0.8, linestyle="--")
            at = (when, float(np.interp(when, time, output / ratio)))
            shift = {"xytext": (-4, 3), "textcoords": "offset points", "ha": "right"}
            turning.annotate(f"{name} gear", at, fontsize=8, color="0.45", **shift)
        turning.plot(time, drive, color=COLOURS[2], label="input shaft")
        turning.plot(time, engine, color=COLOURS[0], label="engine")
        turning.set(ylabel="speed [rpm]", ylim=(0, 5000), title="Launch, shift, brake to a stop")
        turning.legend(loc="upper right")
        going.plot(time, result["vehicle.speed"], color=COLOURS[6])
        going.set(ylabel="car [km/h]", ylim=(0, None))
        for place, (name, (_, colour)) in enumerate(SHOWN.items()):
            held = result[f"{name}.mode"] == STICKS
            bars.fill_between(time, place - 0.3, place + 0.3, where=held, color=colour, linewidth=0)
        bars.set_yticks(range(len(SHOWN)), [label for label, _ in SHOWN.values()])
        bars.set(xlabel="time [s]", ylim=(-0.6, len(SHOWN) - 0.4))
        bars.set_title("holds", loc="left", fontsize=8)
        bars.margins(x=0)

    caption = "Speeds of engine, input shaft and car; dashed: the input shaft, were it held by first or second gear."
    return Picture(draw, size=(7.2, 6), name="1-speeds", caption=caption)


def torques(result: Result) -> Picture:
    """What clutches, freewheel and brake transmit, within what they could."""
    could = {
        "clutch": 0.35 * 0.09 * result["pressure"],
        "gearbox.clutch": 0.3 * 0.08 * 4 * result["gearbox.pressure"],
        "vehicle.brake": result["vehicle.pedal"],
    }
    groups = (["clutch"], ["gearbox.clutch", "gearbox.freewheel"], ["vehicle.brake"])

    def draw(figure: Any) -> None:
        panels = figure.subplots(3, sharex=True)
        for axes, names in zip(panels, groups, strict=True):
            for name in names:
                does = f"{name}.{'normal' if name == 'gearbox.freewheel' else 'friction'}"
                label, colour = SHOWN[name]
                axes.plot(result.time, np.abs(result[does]), color=colour, label=label)
            limit = could[names[0]]
            axes.fill_between(result.time, 0, limit, color="0.93", linewidth=0, label="what it could hold")
            axes.set(ylabel="torque [N m]", ylim=(0, None))
            axes.legend(loc="upper left" if names == ["vehicle.brake"] else "upper right")
            axes.margins(x=0)
        panels[0].set_title("Where a clutch slips it gives all it can, where it holds only what is asked for")
        panels[-1].set_xlabel("time [s]")

    caption = "Torques of clutches, freewheel and brake."
    return Picture(draw, size=(7.2, 5.6), name="2-torques", caption=caption)


def spent(result: Result) -> dict[str, np.ndarray]:
    """Work of the engine and where it went, up to each instant [J], by trapezoids."""
    power = {"engine": result["engine.torque"] * result["engine.crank.angle.rate"]}
    for name in ("clutch", "gearbox.clutch", "vehicle.brake", "engine.bearings"):
        power[name] = -result[f"{name}.friction"] * result[f"{name}.slip"]
    rise = np.diff(result.time)
    work = {name: np.append(0.0, np.cumsum((p[1:] + p[:-1]) / 2 * rise)) for name, p in power.items()}
    return {**work, "kinetic": result["energy.kinetic"] - result["energy.kinetic"][0]}


def balance(result: Result) -> Picture:
    """The work of the engine, and where it went."""
    work = spent(result)
    parts = {"in motion": "kinetic", "engine's friction": "engine.bearings", "clutch": "clutch",
             "second gear's clutch": "gearbox.clutch", "brake": "vehicle.brake"}  # fmt: skip

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        shades = ("#9cc3dc", "0.8", COLOURS[0], COLOURS[2], COLOURS[1])
        axes.stackplot(result.time, *(1e-3 * work[name] for name in parts.values()), labels=list(parts), colors=shades)
        axes.plot(result.time, 1e-3 * work["engine"], color="black", linestyle="--", label="work of the engine")
        axes.set(xlabel="time [s]", ylabel="energy [kJ]", title="Every joule of the engine is accounted for")
        axes.legend(loc="upper left", reverse=True)
        axes.margins(x=0)

    caption = "The work of the engine, and where it went: what moves, and what friction took."
    return Picture(draw, size=(7.2, 3.8), name="3-balance", caption=caption)


if __name__ == "__main__":
    print(f"{len(write_figures(Drivetrain(), 'results/drivetrain'))} figures in results/drivetrain/")
