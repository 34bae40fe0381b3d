"""The woodpecker toy of Pfeiffer and Glocker: a sleeve that jams on its pole and slips, and a bird on a spring.

kompono run examples/woodpecker.py --plot       3 s: 20 cycles down the pole
python -m kompono.examples.woodpecker           all figures into results/woodpecker/
kompono report examples/woodpecker.py           the model, the run, the same figures and the toy in 3D, as a page

The lower edge of the sleeve holds it on the pole until the bird swings away; then it falls, the upper edge strikes,
the beak pecks and throws the bird back. What friction gives and takes settles on one cycle: 0.145976 s long, 19.4 mm
down; from other starts it finds another one of two pecks. As published, angles are small: masses do not change with
them.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import pi
from typing import Any

import numpy as np

from kompono import Body, Coupling, Ground, Joint, Output, Result, Subsystem, rotation, simulate
from kompono.edges.figures import write_figures
from kompono.edges.plot import COLOURS, Picture
from kompono.library import Gravity, JointEffort, Prismatic, Revolute, shapes
from kompono.model.law import JointLaw, Unit

POLE, BORE, HALF = 0.0025, 0.0031, 0.0058  # radii of pole and sleeve, half the height of the sleeve [m]
ARM, REACH = 0.010, 0.015  # from the pole to the spring, from the spring to the bird [m]
BEAK, BEAK_UP = 0.0201, 0.020  # from the bird to its beak: towards the pole, and up [m]
JAMMED, LEANS = -0.6 / 5.8, -0.2788  # angles of sleeve and bird at the start [rad]
FALL = -0.3411  # speed of the sleeve at the start [m/s]
BEAK_NAME, LOWER, UPPER = "beak", "lower", "upper"

WOOD = shapes.cylinder(length=0.55, radius=POLE).at(0, 0, -0.2).coloured("#c8a165")
SLEEVE = (
    shapes.tube(length=2 * HALF, radius=BORE + 0.001, wall=0.001).coloured("#59616b"),
    shapes.bar((BORE, 0, 0), (ARM, 0, 0), radius=0.0006).coloured("#59616b"),
)
BIRD = (
    shapes.ellipsoid((0.014, 0.012, 0.036)).at(0, 0, 0, rotation("y", -pi / 12)).coloured("#2b2d31"),
    shapes.sphere(0.0065).at(-0.007, 0, 0.019).coloured("#b3262a"),
    shapes.bar((-0.012, 0, 0.0195), (-BEAK, 0, BEAK_UP), radius=0.0008).coloured("#e0b84c"),
    shapes.bar((0.004, 0, -0.014), (0.011, 0, -0.034), radius=0.0022).coloured("#2b2d31"),
    shapes.bar((-REACH, 0, 0), (-0.004, 0, 0), radius=0.0005).coloured("#9aa3ad"),
)


class Nodding(Subsystem):
    """What goes up and down as its `core` and tilts as its `shell`, with half the mass [kg] in each."""

    def __init__(self, *, mass: float, inertia: float, angle: float, rate: float, shape: Any = None) -> None:
        self.core = Body(mass=mass / 2, inertia=(inertia,) * 3, shape=shapes.sphere(0.0008))
        self.shell = Body(mass=mass / 2, inertia=(inertia,) * 3, shape=shape)
        self.tilt = Revolute(self.core, self.shell, axis=(0, -1, 0), angle=angle, angle_rate=rate)
        self.expose(self.core, self.tilt)


class Lever(Coupling):
    """How high the bird is: what sleeve and spring carry, for small angles."""

    units = ("m",)

    def conditions(self) -> list[Any]:
        height, slide, sleeve, bird = self.joints
        return [height.displacement - slide.displacement - ARM * sleeve.angle - REACH * bird.angle]


class Touching(JointLaw):
    """The beak and both edges of the sleeve on the pole, with dry friction; only the beak rebounds."""

    def __init__(self, slide: Joint, sleeve: Joint, bird: Joint, *, mu: float, restitution: float) -> None:
        super().__init__(slide, sleeve, bird)
        self.mu, self.restitution = mu, restitution

    def units(self) -> list[Unit]:
        slide, sleeve, bird = self.joints
        play, way = BORE - POLE, ARM + REACH - BEAK - POLE
        edge = slide.displacement_rate + BORE * sleeve.angle_rate
        tip = slide.displacement_rate + ARM * sleeve.angle_rate + (REACH - BEAK) * bird.angle_rate
        rubs: Any = {"mu": self.mu, "impact": "moreau"}
        return [
            Unit(BEAK_NAME, gap=way - BEAK_UP * bird.angle, slip=tip, restitution=self.restitution, **rubs),
            Unit(LOWER, gap=play + HALF * sleeve.angle, slip=edge, **rubs),
            Unit(UPPER, gap=play - HALF * sleeve.angle, slip=edge, **rubs),
        ]


class Woodpecker(Subsystem):
    """A sleeve with a spring and a bird on a pole, started while its lower edge slides.

    `k` [N m/rad] is the spring, `swing` [rad/s] how fast the bird turns at the start.
    """

    run_defaults = {"until": 3.0, "step": 2e-4}  # noqa: RUF012

    def __init__(self, *, mu: float = 0.3, restitution: float = 0.5, k: float = 5.6e-3, swing: float = -7.4583) -> None:
        self.pole, self.gravity = Ground(shape=WOOD), Gravity((0, 0, -9.81))
        self.sleeve = Nodding(mass=3e-4, inertia=5e-9, angle=JAMMED, rate=0.0, shape=SLEEVE)
        self.bird = Nodding(mass=4.5e-3, inertia=7e-7, angle=LEANS, rate=swing, shape=BIRD)
        sleeve, bird = self.sleeve.tilt, self.bird.tilt
        self.slide = Prismatic(self.pole, self.sleeve.core, axis="z", displacement=0.0, displacement_rate=FALL)
        height, falling = ARM * JAMMED + REACH * LEANS, FALL + REACH * swing
        self.height = Prismatic(
            self.pole.at(ARM + REACH, 0, 0), self.bird.core, axis="z", displacement=height, displacement_rate=falling
        )
        self.lever = Lever(self.height, self.slide, sleeve, bird)
        torque = k * (bird.angle - sleeve.angle)
        self.spring = Output(torque, unit="N m")
        self.spring_on_sleeve, self.spring_on_bird = JointEffort(sleeve, torque), JointEffort(bird, -torque)
        self.touch = Touching(self.slide, sleeve, bird, mu=mu, restitution=restitution)

    def figures(self, result: Result) -> Iterator[Picture]:
        """The way down, one cycle, and the two rhythms there are."""
        yield descent(result)
        yield one_cycle(result)
        yield phases(result)
        yield two_cycles()


# -- figures

CONTACTS = ((BEAK_NAME, "beak", COLOURS[1]), (UPPER, "upper edge", COLOURS[2]), (LOWER, "lower edge", COLOURS[0]))
SLEEVE_ANGLE, BIRD_ANGLE = "sleeve.tilt.angle", "bird.tilt.angle"
ARROW = {"arrowstyle": "->", "color": "0.4"}


def pecks(result: Result) -> np.ndarray:
    """When the beak strikes [s]."""
    return np.array([time for time, name in result.statistics["events"] if name == f"touch.{BEAK_NAME}.strikes"])


def descent(result: Result) -> Picture:
    """Height and angles over time, with the pecks."""

    def draw(figure: Any) -> None:
        height, angles = figure.subplots(2, sharex=True)
        height.plot(result.time, 1e3 * result["slide.displacement"], color=COLOURS[0])
        when = pecks(result)
        at = 1e3 * np.interp(when, result.time, result["slide.displacement"])
        height.plot(when, at, "o", color=COLOURS[1], markersize=3, label="the beak strikes")
        height.set(ylabel="height of the sleeve [mm]", title="Down the pole, peck by peck")
        height.legend()
        height.margins(x=0)
        angles.plot(result.time, result[BIRD_ANGLE], color=COLOURS[0], label="bird")
        angles.plot(result.time, result[SLEEVE_ANGLE], color=COLOURS[4], label="sleeve")
        angles.set(xlabel="time [s]", ylabel="angle [rad]")
        angles.set_ylim(-0.68, 0.2)
        angles.legend(loc="lower right", ncols=2)

    caption = "How the sleeve comes down, and the angles of sleeve and bird."
    return Picture(draw, size=(7.2, 4.6), name="1-descent", caption=caption)


def one_cycle(result: Result) -> Picture:
    """The last whole cycle: height, angles, and what each contact does."""
    first, last = pecks(result)[-2:]
    rows = (result.time >= first - 0.012) & (result.time <= last + 0.012)
    time = 1e3 * (result.time[rows] - first)

    def draw(figure: Any) -> None:
        height, angles, bars = figure.subplots(3, sharex=True, height_ratios=(3, 3, 1.6))
        level = np.interp(first, result.time, result["slide.displacement"])
        height.plot(time, 1e3 * (result["slide.displacement"][rows] - level), color=COLOURS[6])
        height.set(ylabel="height [mm]", title=f"One cycle: {1e3 * (last - first):.2f} ms")
        angles.plot(time, result[BIRD_ANGLE][rows], color=COLOURS[0], label="bird")
        angles.plot(time, result[SLEEVE_ANGLE][rows], color=COLOURS[4], label="sleeve")
        angles.set(ylabel="angle [rad]")
        angles.legend(loc="lower right", ncols=2)
        for place, (name, _, colour) in enumerate(CONTACTS):
            bar(bars, place, time, result[f"touch.{name}.mode"][rows], colour)
            struck = [1e3 * (t - first) for t, what in result.statistics["events"] if what == f"touch.{name}.strikes"]
            bars.plot(struck, [place] * len(struck), "|", color=colour, markersize=12, markeredgewidth=1.6)
        bars.set(xlabel="time after a peck [ms]", xlim=(time[0], time[-1]), ylim=(-0.6, len(CONTACTS) - 0.4))
        bars.set_yticks(range(len(CONTACTS)), [label for _, label, _ in CONTACTS])
        bars.set_title("strikes (|), sticks (full), slips (light)", loc="left", fontsize=8)

    caption = "The last cycle of the run, and what the three contacts do in it."
    return Picture(draw, size=(7.2, 5.6), name="2-cycle", caption=caption)


def bar(axes: Any, place: int, time: np.ndarray, mode: np.ndarray, colour: str) -> None:
    """Fill where a contact sticks (mode 1), lightly where it slips (mode 2)."""
    for value, shade in ((1, 1.0), (2, 0.35)):
        low, high = place - 0.3, place + 0.3
        axes.fill_between(time, low, high, where=mode == value, color=colour, alpha=shade, linewidth=0)


def phases(result: Result) -> Picture:
    """Speed over angle of bird and sleeve in the last cycle."""
    first, last = pecks(result)[-2:]
    rows = (result.time >= first) & (result.time <= last)

    def draw(figure: Any) -> None:
        panels = figure.subplots(1, 2)
        for axes, name, what in zip(panels, (BIRD_ANGLE, SLEEVE_ANGLE), ("bird", "sleeve"), strict=True):
            axes.plot(result[name][rows], result[f"{name}.rate"][rows], color=COLOURS[0])
            axes.set(title=f"The {what}", xlabel="angle [rad]", ylabel="speed [rad/s]")
        panels[0].annotate("the beak strikes", (0.12, 4), (-0.03, 4), va="center", ha="right", arrowprops=ARROW)
        panels[0].annotate("the sleeve sticks", (-0.47, -10), (-0.3, -9.6), va="center", arrowprops=ARROW)

    caption = "Speed over angle in the last cycle: speeds jump where something strikes."
    return Picture(draw, size=(7.2, 3.6), name="3-phases", caption=caption)


def two_cycles() -> Picture:
    """Time from peck to peck for several starts."""
    swings = {-7.0: COLOURS[0], -8.0: COLOURS[5], -4.0: COLOURS[1], -11.0: COLOURS[4]}
    runs = {swing: simulate(Woodpecker(swing=swing), until=5.0, step=2e-4, channels=[]) for swing in swings}

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for swing, run in runs.items():
            label = f"bird starts with {swing:g} rad/s"
            between = 1e3 * np.diff(pecks(run))
            axes.plot(np.arange(1, len(between) + 1), between, "o", color=swings[swing], markersize=3.5, label=label)
        axes.set(xlabel="cycle", ylabel="from peck to peck [ms]", title="The start decides which rhythm it finds")
        axes.legend(loc="center right")

    caption = "Time between pecks: there is a cycle of 146 ms, and one of two pecks, 138 and 167 ms apart."
    return Picture(draw, size=(7.2, 3.4), name="4-two-cycles", caption=caption)


if __name__ == "__main__":
    print(f"{len(write_figures(Woodpecker(), 'results/woodpecker'))} figures in results/woodpecker/")
