"""A car that runs over a bump with its left wheels, leaves the road, lands, and brakes until its front wheels lock.

kompono run examples/kerb.py --plot             3 s, from 10 m/s
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
PEDAL = ([0.0, 1.5, 1.6, 2.2, 2.3], [0.0, 0.0, 1.0, 1.0, 0.0])  # how far the brakes are pressed
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
    outline = [*((s, float(bump(s))) for s in x.tolist()), (x[-1], -0.02), (x[0], -0.02)]
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

    run_defaults = {"until": 3.0, "step": 1e-3}  # noqa: RUF012

    def __init__(self, *, speed: float = 10.0, k: float = 2.5e4, c: float = 1800.0, mu: float = 0.8) -> None:
        self.road, self.gravity = Ground(shape=road()), Gravity((0, 0, -GRAVITY))
        self.hull = Body(
            mass=HULL, inertia=(200.0, 900.0, 1000.0), shape=COACH, start_position=(0, 0, RADIUS + UP),
            start_velocity=(speed, 0, 0),
        )  # fmt: skip
        self.pedal = Input(table=PEDAL)
        rest = STRUT + HULL * GRAVITY / 4 / k
        for name, (ahead, left) in SIDES.items():
            x, y = ahead * BASE / 2, left * TRACK / 2
            corner = Corner(pedal=self.pedal, brake=900.0 if ahead > 0 else 200.0, spin=speed / RADIUS)
            mount, top = self.hull.at(x, y, -UP), self.hull.at(x, y, STRUT - UP)
            self.add(name, corner)
            strut = Prismatic(mount, corner.carrier, displacement=0.0, displacement_rate=0.0, limits=(-0.12, 0.12))
            self.add(f"{name}_strut", strut)
            self.add(f"{name}_spring", SpringDamper(top, corner.carrier, k=k, c=c, rest=rest))
            under = self.road.profile(bump) if left > 0 else self.road.plane()
            self.add(f"{name}_tyre", Contact(under, corner.wheel.circle(RADIUS), mu=mu))

    def figures(self, result: Result) -> Iterator[Picture]:
        """How high the wheels are, what the road pushes, and what each wheel does."""
        yield flight(result)
        yield grip(result)
        yield close_up(result)


# -- figures

SHOWN = {name: (name.replace("_", " "), colour) for name, colour in zip(SIDES, COLOURS, strict=False)}
ROLLS, SLIPS = 1, 2


def flight(result: Result) -> Picture:
    """Over the bump: wheels and body above the road, and what the road pushes."""
    rows = (result.time > 0.35) & (result.time < 1.2)
    time = result.time[rows]

    def draw(figure: Any) -> None:
        above, pushed, bars = figure.subplots(3, sharex=True, height_ratios=(3, 3, 1.8))
        for name in ("front_left", "rear_left"):
            label, colour = SHOWN[name]
            x, z = (result[f"{name}.wheel.position.{axis}"][rows] for axis in "xz")
            above.plot(time, 1e3 * (z - RADIUS), color=colour, label=label)
            under = 1e3 * BUMP * np.exp(-(((x - PLACE) / LONG) ** 2))
            above.fill_between(time, 0, under, color=colour, alpha=0.2, linewidth=0)
        above.plot(time, 1e3 * (result["hull.position.z"][rows] - RADIUS - UP), color="black", label="body")
        above.set(ylabel="rises by [mm]", title="Over the bump at 10 m/s (shaded: the road under the left wheels)")
        above.legend(ncols=3, loc="upper right")
        for name, (label, colour) in SHOWN.items():
            push, gap = (result[f"{name}_tyre.{what}"][rows] for what in ("normal", "gap"))
            lifted = (push == 0) & (gap < 1e-6)  # for a moment, when another wheel lands
            pushed.plot(time[~lifted], 1e-3 * push[~lifted], color=colour, label=label)
        pushed.set(ylabel="road pushes [kN]", ylim=(0, None))
        pushed.legend(ncols=2, loc="upper right")
        mark(bars, result, rows)
        bars.margins(x=0)

    caption = "The left wheels leave the road behind the bump; heights, and what the road pushes."
    return Picture(draw, size=(7.2, 6.2), name="1-flight", caption=caption)


def mark(axes: Any, result: Result, rows: np.ndarray) -> None:
    """Bars of what each wheel does: full while it rolls, light while it slips, none in the air."""
    for place, (name, (_, colour)) in enumerate(SHOWN.items()):
        mode = result[f"{name}_tyre.mode"][rows]
        for value, shade in ((ROLLS, 1.0), (SLIPS, 0.35)):
            low, high = place - 0.3, place + 0.3
            axes.fill_between(result.time[rows], low, high, where=mode == value, color=colour, alpha=shade, linewidth=0)
    axes.set_yticks(range(len(SHOWN)), [label for label, _ in SHOWN.values()])
    axes.set(xlabel="time [s]", ylim=(-0.6, len(SHOWN) - 0.4))
    axes.set_title("rolls (full), slips (light), in the air (none)", loc="left", fontsize=8)


def grip(result: Result) -> Picture:
    """Braking: speeds of car and wheels, and what the wheels do."""
    rows = result.time > 1.4

    def draw(figure: Any) -> None:
        speeds, bars = figure.subplots(2, sharex=True, height_ratios=(3, 1.5))
        speeds.plot(result.time[rows], result["hull.velocity.x"][rows], color="black", label="car")
        for name in ("front_left", "rear_left"):
            label, colour = SHOWN[name]
            rim = RADIUS * result[f"{name}.wheel.angular_velocity.y"][rows]
            speeds.plot(result.time[rows], rim, color=colour, label=f"rim, {label}")
        pressed = result["pedal"][rows] > 0.999
        speeds.fill_between(
            result.time[rows], 0, 10.5, where=pressed, color="0.93", linewidth=0, label="brakes pressed"
        )
        speeds.set(ylabel="speed [m/s]", ylim=(-0.3, 10.5), title="The front wheels lock, and grip again")
        speeds.legend(loc="upper right")
        mark(bars, result, rows)
        bars.margins(x=0)

    caption = "Braking: the front wheels slip and stand, the rear ones go on rolling; released, all roll again."
    return Picture(draw, size=(7.2, 4.8), name="2-grip", caption=caption)


def close_up(result: Result) -> Picture:
    """The front left wheel over the bump, every 15 ms."""

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        axes.set(aspect="equal", xlabel="x [m]", ylabel="z [m]", title="The front left wheel, every 15 ms")
        x = np.linspace(4.7, 7.5, 300)
        axes.fill_between(x, -0.06, BUMP * np.exp(-(((x - PLACE) / LONG) ** 2)), color="0.8", linewidth=0)
        turn = np.linspace(0, 2 * np.pi, 80)
        shown = {ROLLS: ("0.55", "rolls"), SLIPS: (COLOURS[0], "slips"), 0: (COLOURS[1], "in the air")}
        for colour, label in shown.values():
            axes.plot([], [], color=colour, label=label)
        for when in np.arange(0.388, 0.6, 0.015):
            row = int(np.searchsorted(result.time, when))
            middle = [result[f"front_left.wheel.position.{axis}"][row] for axis in "xz"]
            colour = shown[int(result["front_left_tyre.mode"][row])][0]
            axes.plot(middle[0] + RADIUS * np.cos(turn), middle[1] + RADIUS * np.sin(turn), color=colour, linewidth=0.9)
        axes.set_xlim(4.7, 7.5)
        axes.legend(loc="upper left")

    caption = "The front left wheel climbs the bump, leaves it at the top and lands behind it."
    return Picture(draw, size=(7.2, 2.6), name="3-wheel", caption=caption)


if __name__ == "__main__":
    print(f"{len(write_figures(Kerb(), 'results/kerb'))} figures in results/kerb/")
