"""A walking toy: a wheel without rim, two crowns of spokes on one hub, that walks down a ramp on their ends.

kompono run examples/walker.py --plot           4 s down a ramp
kompono run examples/walker.py --set lean=0.2   set down on one crown, it rocks while it walks
python -m kompono.examples.walker               all figures into results/walker/
kompono report examples/walker.py               the model, the run, the same figures and the toy in 3D, as a page

It swings over the two feet it stands on until the next two strike the ramp. With all mass in the hub and spokes 2 a
apart it turns cos(2 a) times as fast after that as before; each step down the ramp gives some of it back. So it finds
its pace by itself, or stops. Nothing here says which feet stand: sixteen contacts find out.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import pi, sin, sqrt
from typing import Any

import numpy as np

from kompono import Body, Ground, Output, Parameter, Result, Subsystem, rotation, simulate
from kompono.edges.figures import write_figures
from kompono.edges.plot import COLOURS, Picture
from kompono.library import Contact, Gravity, shapes

SPOKES, LENGTH, HALF = 8, 0.1, 0.05  # of each crown; their length and half the distance of the crowns [m]
MASS, GRAVITY = 0.2, 9.81
APART = 2 * pi / SPOKES  # angle between spokes [rad]
FEET = [
    (LENGTH * np.sin(APART * k), side * HALF, -LENGTH * np.cos(APART * k)) for side in (-1, 1) for k in range(SPOKES)
]
TOY = (
    shapes.cylinder(length=2.4 * HALF, radius=0.018, axis="y").coloured("#2f6fab"),
    *(shapes.bar((0, y, 0), (x, y, z), radius=0.003).coloured("#c8a165") for x, y, z in FEET),
    *(shapes.sphere(0.005).at(*foot).coloured("#b3262a") for foot in FEET[::SPOKES]),
)
RAMP = shapes.box((2.2, 0.5, 0.02)).at(0.8, 0, -0.01).coloured("#9aa3ad")


def turned(axis: int, angle: float) -> np.ndarray:
    """Rotation matrix (3, 3) about axis 0 (x), 1 (y) or 2 (z)."""
    matrix, (i, j) = np.eye(3), ((1, 2), (2, 0), (0, 1))[axis]
    matrix[[i, j, i, j], [i, j, j, i]] = np.cos(angle), np.cos(angle), -np.sin(angle), np.sin(angle)
    return matrix


class Walker(Subsystem):
    """The toy on a ramp of `slope` [rad], with its first feet on it and the next ones about to leave.

    `rate` [rad/s] is how fast it turns at the start, `lean` [rad] how far it leans onto one crown, `inertia` [kg m^2]
    that about its axis.
    """

    run_defaults = {"until": 4.0, "step": 1e-3}  # noqa: RUF012

    def __init__(
        self, *, slope: float = 0.12, rate: float = 3.5, lean: float = 0.0, inertia: float = 2e-4, mu: float = 0.8
    ) -> None:
        self.ramp = Ground(orientation=rotation("y", slope), shape=RAMP)
        self.gravity = Gravity((0, 0, -GRAVITY))
        self.inertia = Parameter(inertia, unit="kg m^2")
        stance = turned(1, slope) @ turned(0, lean) @ turned(1, -APART / 2)
        spin = turned(1, slope) @ turned(0, lean) @ np.array([0.0, rate, 0.0])
        hub = -stance @ np.array(FEET[0])
        self.wheel = Body(
            mass=MASS, inertia=(self.inertia,) * 3, shape=TOY, start_position=hub, start_orientation=stance,
            start_angular_velocity=spin, start_velocity=np.cross(spin, hub),
        )  # fmt: skip
        self.feet = Contact(self.ramp.plane(), self.wheel.points(*FEET), mu=mu)
        self.turning = Output(self.wheel.angular_velocity[1], unit="rad/s")

    def figures(self, result: Result) -> Iterator[Picture]:
        """How it walks, how it finds its pace, and how it rocks."""
        yield steps(result)
        yield pace()
        yield rocking()


# -- what it must do


def strike_ratio(inertia: float) -> float:
    """Speed after a strike over that before."""
    swung = MASS * LENGTH**2
    return (inertia + swung * np.cos(APART)) / (inertia + swung)


def gained(slope: float, inertia: float) -> float:
    """By how much the square of its speed [rad^2/s^2] grows from one strike to the next."""
    fall = 2 * LENGTH * np.sin(APART / 2) * sin(slope)
    return 2 * MASS * GRAVITY * fall / (inertia + MASS * LENGTH**2)


def steady(slope: float, inertia: float) -> float:
    """The speed [rad/s] after each strike, once it has found its pace."""
    ratio = strike_ratio(inertia)
    return ratio * sqrt(gained(slope, inertia) / (1 - ratio**2))


def least(slope: float, inertia: float) -> float:
    """The speed [rad/s] after a strike below which it does not get over its feet."""
    rise = LENGTH * (1 - np.cos(APART / 2 - slope))
    return sqrt(2 * MASS * GRAVITY * rise / (inertia + MASS * LENGTH**2))


def strikes(result: Result) -> np.ndarray:
    """When feet strike [s], each instant once."""
    return np.unique([time for time, name in result.statistics["events"] if name.endswith(".strikes")])


def speeds_after(result: Result) -> np.ndarray:
    """How fast it turns [rad/s] at the start and after each strike."""
    rows = np.searchsorted(result.time, strikes(result), side="right") - 1  # of two records the one behind it
    return result["turning"][np.append(0, rows)]


# -- figures


def steps(result: Result) -> Picture:
    """From the side: the way of the hub, the toy at some strikes, and how fast it turns."""
    slope = 0.12

    def draw(figure: Any) -> None:
        side, speed = figure.subplots(2, height_ratios=(3, 2))
        x, z = result["wheel.position.x"], result["wheel.position.z"]
        ground = np.array([x.min() - 0.15, x.max() + 0.15])
        side.plot(ground, -np.tan(slope) * ground, color="black", linewidth=1)
        for row in np.searchsorted(result.time, np.append(0.0, strikes(result)))[::3]:
            for foot, colour in zip(FEET[:SPOKES], (COLOURS[1], *["0.6"] * 7), strict=True):
                side.plot(*seen_from_side(result, foot, row), color=colour, linewidth=1)
        side.plot(x, z, color=COLOURS[0])
        side.set(aspect="equal", xlabel="x [m]", ylabel="z [m]", title="Arc by arc down the ramp", xlim=ground)
        speed.plot(result.time, result["turning"], color=COLOURS[0])
        speed.plot(np.append(0.0, strikes(result)), speeds_after(result), ".", color=COLOURS[1])
        speed.set(xlabel="time [s]", ylabel="turns with [rad/s]", ylim=(0, None))
        speed.margins(x=0)

    caption = "The way of the hub and the toy at every third strike (one spoke in colour); how fast it turns."
    return Picture(draw, size=(7.2, 4.8), name="1-steps", caption=caption)


def seen_from_side(result: Result, foot: Any, row: int) -> tuple[list[float], list[float]]:
    """World x and z of hub and foot at a row of the result."""
    turn = 2 * np.arctan2(result["wheel.orientation.e2"][row], result["wheel.orientation.e0"][row])
    x, z = result["wheel.position.x"][row], result["wheel.position.z"][row]
    return (
        [x, x + foot[0] * np.cos(turn) + foot[2] * np.sin(turn)],
        [z, z - foot[0] * np.sin(turn) + foot[2] * np.cos(turn)],
    )


def pace() -> Picture:
    """Speed after each strike for several starts, and what it must be."""
    slope, inertia = 0.12, 2e-4
    rates = dict(zip((8.0, 5.0, 3.5, 2.8, 2.2), COLOURS, strict=False))
    runs = {rate: simulate(Walker(rate=rate), until=4.0, channels=["turning"]) for rate in rates}

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for rate, run in runs.items():
            after = speeds_after(run)[:16]
            axes.plot(range(len(after)), after, "o", color=rates[rate], markersize=4, label=f"run from {rate:g} rad/s")
            must = [rate]
            while len(must) < len(after) and must[-1] > least(slope, inertia):
                must.append(strike_ratio(inertia) * sqrt(must[-1] ** 2 + gained(slope, inertia)))
            axes.plot(range(len(must)), must, color=rates[rate], linewidth=0.8)
        axes.axhline(least(slope, inertia), color="0.4", linestyle=":", linewidth=0.8)
        axes.annotate("slower than this it falls back and comes to rest", (15, least(slope, inertia)), (0, -9),
                      textcoords="offset points", ha="right", fontsize=8, color="0.4")  # fmt: skip
        axes.set(xlabel="strike", ylabel="turns with [rad/s]", title="It finds its pace, or stops")
        axes.legend(loc="upper right")

    caption = "Speed after each strike: runs (dots) and the exact map of a wheel without rim (lines)."
    return Picture(draw, size=(7.2, 3.8), name="2-pace", caption=caption)


def rocking() -> Picture:
    """Set down on one crown: how it leans, and which feet stand."""
    result = simulate(Walker(lean=0.4), until=2.0)

    def draw(figure: Any) -> None:
        lean, feet = figure.subplots(2, sharex=True, height_ratios=(2, 3))
        e0, e1, e2, e3 = (result[f"wheel.orientation.e{k}"] for k in range(4))
        lean.plot(result.time, 2 * (e2 * e3 + e0 * e1), color=COLOURS[0])
        lean.set(ylabel="slope of the axle", title="Set down on one crown it rocks, and turns aside")
        for number in range(2 * SPOKES):
            mode, colour = result[f"feet.{number}.mode"], COLOURS[0 if number < SPOKES else 1]
            place = number % SPOKES + (0.2 if number < SPOKES else -0.2)
            for value, shade in ((1, 1.0), (2, 0.4)):
                feet.fill_between(result.time, place - 0.18, place + 0.18, where=mode == value, color=colour,
                                  alpha=shade, linewidth=0)  # fmt: skip
        feet.set(xlabel="time [s]", ylabel="spoke", yticks=range(SPOKES))
        feet.set_title("feet of the right crown (blue) and the left one (red) that stand; light: that slip", fontsize=8)
        feet.margins(x=0)

    caption = "Set down leaning by 0.4 rad: slope of its axle, and the feet that stand."
    return Picture(draw, size=(7.2, 5), name="3-rocking", caption=caption)


if __name__ == "__main__":
    print(f"{len(write_figures(Walker(), 'results/walker'))} figures in results/walker/")
