"""The motorcycle engine of the successive projection papers: four cylinders in line on one crank, started by a motor,
driven by the gas of an Otto cycle and braked by friction; one freedom, four redundant conditions.

kompono run examples/engine.py --plot                                   2 s with rk2 at 2 ms, as in the paper
kompono run examples/engine.py --set firing=2                           only the cylinders 1 and 4 work
kompono run examples/engine.py --engine absolute --projection successive
python -m kompono.examples.engine                                       all figures into results/engine/
kompono report examples/engine.py                                       the same figures and more, as a page
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import cos, pi
from typing import Any

import numpy as np
from casadi import fabs, floor, fmax, if_else

from kompono import Body, Event, Ground, Mode, ModelError, Output, Result, Subsystem, simulate
from kompono.edges.figures import write_figures
from kompono.edges.plot import COLOURS, Picture
from kompono.library import AppliedLoad, Cylindrical, JointEffort, Revolute, shapes

BORE, RADIUS, ROD = 0.074, 0.029, 0.1  # bore, crank radius (half the stroke of 0.058), length of a rod [m]
AREA = pi * BORE**2 / 4
SWEPT = AREA * 2 * RADIUS
CLEARANCE = SWEPT / (11.8 - 1)  # volume at top dead centre, from the compression ratio [m^3]
AIR, PEAK, GAMMA = 101325.0, 50 * 101325.0, 1.3  # pressure outside, after ignition [Pa], exponent of the gas
PITCH = 0.084  # distance of the cylinders [m]
PHASES = (0.0, pi, pi, 0.0)  # of the throws
IGNITION = (0.0, pi, 3 * pi, 2 * pi)  # crank angles, firing order 1-2-4-3
WORKING = {4: (1, 2, 3, 4), 2: (1, 4), 1: (1,)}
RPM = 30 / pi


LINER = shapes.tube(length=0.125, radius=BORE / 2 + 0.004, wall=0.004).at(0, 0, 0.11).coloured("#9fb4c8", opacity=0.3)
PISTON = (
    shapes.cylinder(length=0.045, radius=BORE / 2 - 0.001).at(0, 0, 0.004).coloured("#c9ced6"),
    *(shapes.ring(radius=BORE / 2 - 0.001, thickness=0.001).at(0, 0, z).coloured("#3b424c") for z in (0.012, 0.02)),
)
CONNECTING_ROD = (
    shapes.box((0.016, 0.01, ROD - 0.03)).at(0, 0, 0.02),
    shapes.tube(length=0.02, radius=0.024, wall=0.009, axis="y").at(0, 0, -0.03),
    shapes.tube(length=0.02, radius=0.015, wall=0.006, axis="y").at(0, 0, ROD - 0.03),
)


def crankshaft() -> list[Any]:
    """Throws with their webs and pins on a shaft, and a flywheel."""
    flywheel = shapes.cylinder(length=0.025, radius=0.1, axis="y").at(0, 2.35 * PITCH, 0).coloured("#59616b")
    parts = [flywheel, shapes.cylinder(length=0.12, radius=0.016, axis="y").at(0, 2.1 * PITCH, 0)]
    for k, phase in enumerate(PHASES):
        y, top = PITCH * (k - 1.5), RADIUS * cos(phase)
        parts.append(shapes.cylinder(length=0.05, radius=0.014, axis="y").at(0, y, top).coloured("#c9ced6"))
        parts.append(shapes.cylinder(length=0.04, radius=0.016, axis="y").at(0, y - PITCH / 2, 0).coloured("#c9ced6"))
        parts += [shapes.box((0.04, 0.012, 0.09)).at(0, y + side * 0.022, top / 4) for side in (-1, 1)]
    return parts


class Cylinder(Subsystem):
    """A piston in its bore with its connecting rod; the gas presses on the piston in the stroke the crank angle says.

    `y` is its place along the crank, `top` where the crank pin starts above the crank axis [m], `angle` the crank angle
    and `ignition` its value at ignition [rad].
    """

    def __init__(
        self,
        *,
        y: float = 0.0,
        top: float = RADIUS,
        angle: Any = 0.0,
        ignition: float = 0.0,
        working: bool = True,
        gas: str = "once",
    ) -> None:
        self.wall = Ground((0, y, 0), shape=LINER)
        self.rod = Body(mass=0.35, inertia=(6.1e-4, 6.0e-4, 4.0e-5), shape=CONNECTING_ROD)
        self.piston = Body(mass=0.2, inertia=(1.0e-4, 1.0e-4, 1.4e-4), shape=PISTON)
        self.pin = Cylindrical(self.rod.at(0, 0, ROD - 0.03), self.piston, axis="y", displacement=0.0, angle=0.0)
        self.bore = Cylindrical(self.wall, self.piston, axis="z", displacement=top + ROD, angle=0.0)
        below = fmax(RADIUS + ROD - self.piston.position[2], 0)  # top dead centre; trial steps may go beyond it
        volume = CLEARANCE + AREA * below
        pressure = otto(volume, angle - ignition, less=0.0 if gas == "once" else AIR) if working else AIR
        self.volume = Output(volume, unit="m^3")
        self.pressure = Output(pressure, unit="Pa")
        if working:
            self.gas = AppliedLoad(self.piston, force=(0, 0, -(pressure - AIR) * AREA), reaction=self.wall)
        self.expose(self.rod)


def otto(volume: Any, turned: Any, less: float = 0.0) -> Any:
    """Pressure [Pa] of a four-stroke cycle, `turned` radians after ignition, while the valves are shut `less` of it."""
    expansion = PEAK * (volume / CLEARANCE) ** -GAMMA - less
    compression = AIR * (volume / (CLEARANCE + SWEPT)) ** -GAMMA - less
    turned = turned - 4 * pi * floor(turned / (4 * pi))
    return if_else(turned < pi, expansion, if_else(turned < 3 * pi, AIR, compression))


class Starter(Subsystem):
    """A motor on a shaft: full torque [N m] until a speed [rad/s] is reached, half until an angle [rad], then off."""

    def __init__(
        self, shaft: Revolute, *, full: float = 22.0, speed: float = 400 / RPM, angle: float = 10 * pi
    ) -> None:
        self.stage = Mode(0)
        self.half = Event(if_else(self.stage < 1, shaft.angle_rate - speed, -1), {self.stage: 1})  # only once
        self.off = Event(shaft.angle - angle, {self.stage: 2})
        torque = full * (1 - self.stage / 2)
        self.torque = Output(torque, unit="N m")
        self.drive = JointEffort(shaft, torque)


class Engine(Subsystem):
    """All four cylinders on the crank; `firing` of them work (4, 2 or 1). Without starter, give `main.angle.rate`.

    gas: "once" subtracts the pressure outside once, in the force; "literal" also in the pressure of expansion and
    compression, as printed in the paper. `flywheel` is the inertia of the crank about its axis [kg m^2];
    `cylinder` makes each of the four.
    """

    run_defaults = {"until": 2.0, "step": 2e-3, "method": "rk2"}  # noqa: RUF012

    def __init__(
        self, firing: int = 4, starter: bool = True, gas: str = "once", flywheel: float = 0.3,
        cylinder: Callable[..., Any] = Cylinder,
    ) -> None:  # fmt: skip
        if firing not in WORKING:
            raise ModelError(f"firing = {firing!r} is not a number of working cylinders.", fix="Use 4, 2 or 1.")
        if gas not in ("once", "literal"):
            raise ModelError(f"gas = {gas!r} is not known.", fix='Use "once" or "literal".')
        self.block = Ground()
        self.crank = Body(mass=12, inertia=(0.2, flywheel, 0.2), shape=crankshaft())
        self.main = Revolute(self.block, self.crank, axis="y", angle=0.0, angle_rate=0.0)
        for k, (phase, ignition) in enumerate(zip(PHASES, IGNITION, strict=True), start=1):
            y, top = PITCH * (k - 2.5), RADIUS * cos(phase)
            working = k in WORKING[firing]
            made = cylinder(y=y, top=top, angle=self.main.angle, ignition=ignition, working=working, gas=gas)
            self.add(f"cylinder{k}", made)
            self.add(f"pin{k}", Revolute(self.crank.at(0, y, top), made.rod.at(0, 0, -0.03), axis="y", angle=0.0))
        if starter:
            self.starter = Starter(self.main)
        speed = self.main.angle_rate
        self.friction = JointEffort(self.main, if_else(speed < 0, 1, -1) * friction(fabs(speed)))
        self.speed = Output(speed * RPM, unit="rpm")

    def figures(self, result: Result) -> Iterator[Picture]:
        """Figures 2, 3 and 4 of the papers."""
        yield cycle()
        yield speeds()
        yield drifts(until=2.0)
        yield drifts(until=10.0)


def friction(speed: Any) -> Any:
    """Torque [N m] at a speed [rad/s]: a mean pressure that grows with it, times swept volume, spread over a cycle."""
    n = speed * RPM / 1000
    return 1e5 * (0.97 + 0.15 * n + 0.05 * n**2) * 4 * SWEPT / (4 * pi)


# -- figures


def cycle() -> Picture:
    """Pressure over volume of cylinder 1, one cycle from its second ignition on, stroke by stroke."""
    result = simulate(Engine(), until=0.9, step=1e-4, method="dopri5", channels=["main.angle", "cylinder1.*"])
    strokes = result["main.angle"] / pi - 4
    volume, pressure = 1e6 * result["cylinder1.volume"], 1e-5 * result["cylinder1.pressure"]

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for number, name in enumerate(("expansion", "exhaust", "intake", "compression")):
            rows = (strokes >= number) & (strokes < number + 1)
            style = "--" if name == "intake" else "-"  # it goes back the way of the exhaust
            axes.plot(volume[rows], pressure[rows], color=COLOURS[number], label=name, linestyle=style)
        smallest, largest, rise = 1e6 * CLEARANCE, 1e6 * (CLEARANCE + SWEPT), 11.8**GAMMA
        axes.plot([smallest] * 2, 1e-5 * AIR * np.array([rise, 50]), color="grey", linestyle=":")
        axes.plot([largest] * 2, 1e-5 * AIR * np.array([50 / rise, 1]), color="grey", linestyle=":")
        axes.set(title="Otto cycle of cylinder 1", xlabel="volume [cm³]", ylabel="pressure [bar]", ylim=(0, None))
        axes.legend()

    return Picture(draw, size=(6, 4), name="2-pressure-volume", caption="Pressure-volume diagram (paper, figure 2).")


def speeds() -> Picture:
    """Crank speed with all, two and one cylinder working, and where the starter was switched."""
    results = {n: simulate(Engine(firing=n), **Engine.run_defaults, channels=["speed"]) for n in WORKING}

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for (firing, result), colour in zip(results.items(), COLOURS, strict=False):
            axes.plot(result.time, result["speed"], color=colour, label=f"{firing} working")
            switched = [time for time, _ in result.statistics["events"]]
            axes.plot(switched, np.interp(switched, result.time, result["speed"]), "o", color=colour, markersize=4)
        axes.plot([], [], "o", color="grey", markersize=4, label="starter to half, off")
        title = "Crank speed with 4, 2 and 1 working cylinders (rk2, 2 ms)"
        axes.set(title=title, xlabel="time [s]", ylabel="speed [rpm]", ylim=(0, None))
        axes.margins(x=0)
        axes.legend(loc="upper left")

    caption = "Crank speed with 4, 2 and 1 working cylinders (paper, figure 3)."
    return Picture(draw, size=(7.2, 4), name="3-crank-speed", caption=caption)


def drifts(until: float) -> Picture:
    """Violation of the conditions on both levels, by projection, in absolute coordinates with the step of the paper."""
    request = {"until": until, "step": 2e-3, "method": "rk2", "engine": "absolute", "channels": "drift.*"}
    results = {
        projection: simulate(Engine(), **request, projection=projection) for projection in ("successive", "none")
    }

    def draw(figure: Any) -> None:
        panels = figure.subplots(2, sharex=True)
        for axes, level, unit in zip(panels, ("position", "velocity"), ("m", "m/s"), strict=True):
            for (projection, result), colour in zip(results.items(), COLOURS, strict=False):
                drift = np.maximum(result[f"drift.{level}"], 1e-18)  # so that exact zeros can be drawn
                axes.plot(result.time, drift, color=colour, label=projection)
            axes.set(yscale="log", ylabel=f"largest violation [{unit}]", ylim=(1e-18, 10))
            axes.set_title(f"{level} level", loc="left", fontsize=9)
            axes.margins(x=0)
        panels[-1].set_xlabel("time [s]")
        figure.legend(*panels[0].get_legend_handles_labels(), title="projection", loc="outside right upper")
        figure.suptitle("Drift in absolute coordinates, 4 working (rk2, 2 ms)")

    early = [f"with projection {name!r} the run ends early, at {result.status.time:.3g} s"
             for name, result in results.items() if not result.status.ok]  # fmt: skip
    caption = f"Drift on coordinate and velocity level over {until:g} s (paper, figure 4{'; '.join(['', *early])})."
    return Picture(draw, size=(7.2, 5), name=f"4-drift-{until:g}s", caption=caption)


if __name__ == "__main__":
    print(f"{len(write_figures(Engine(), 'results/engine'))} figures in results/engine/")
