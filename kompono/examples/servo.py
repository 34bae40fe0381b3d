"""A geared servo with play between its teeth and dry friction, as a closed component that turns an arm.

kompono run examples/servo.py --plot            4 s: to 1 rad and back, and the arm hunts
kompono run examples/servo.py --set backlash=0  without play it stands still
python -m kompono.examples.servo                all figures into results/servo/
kompono report examples/servo.py                the model, the run, the same figures and the arm in 3D, as a page

The servo measures its output shaft, behind the play: what the motor does while the teeth part is seen too late, so it
swings about its target for ever. Friction on the motor ends that, if there is enough of it. The arm sees a housing and
a shaft, never teeth, modes or gains: the component is solved closed, with the events inside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kompono import Body, Ground, Input, Output, Result, Subsystem, simulate
from kompono.edges.figures import write_figures
from kompono.edges.plot import COLOURS, Picture
from kompono.library import DryFriction, Gear, JointEffort, Revolute, Weld, shapes, solids

RATIO = 50.0  # turns of the motor for one of the shaft
TARGET = ([0.0, 0.1, 0.101, 2.5, 2.501], [0.0, 0.0, 1.0, 1.0, 0.0])  # [rad]
ROTOR = (
    shapes.cylinder(length=0.03, radius=0.012).coloured("#b58b33"),
    shapes.box((0.02, 0.004, 0.034)).coloured("#2b2d31"),
)


class GearedServo(Subsystem):
    """A motor, a gear with `backlash` [rad, at the shaft] and a `shaft` that is turned to `target` [rad] about z.

    `friction` [N m] is dry, in the bearing of the motor, whose torque is `gain` [N m/rad] times what the shaft lacks,
    less `damping` [N m s/rad] times how fast the motor would turn the shaft.
    """

    def __init__(
        self, *, backlash: float = 0.02, friction: float = 2e-4, gain: float = 0.12, damping: float = 0.008
    ) -> None:
        self.housing = Body(solids.box(mass=0.5, size=(0.08, 0.05, 0.05)))
        self.rotor = Body(mass=0.05, inertia=(3.6e-6, 3.6e-6, 3.6e-6), shape=ROTOR)
        self.shaft = Body(solids.cylinder(mass=0.1, length=0.05, radius=0.01))
        self.motor = Revolute(self.housing.at(-0.02, 0, 0.04), self.rotor, axis="z", angle=0.0, angle_rate=0.0)
        self.output = Revolute(self.housing.at(0.02, 0, 0.05), self.shaft, axis="z", angle=0.0, angle_rate=0.0)
        self.target = Input(table=TARGET, unit="rad")
        torque = gain * (self.target - self.output.angle) - damping * self.motor.angle_rate / RATIO
        self.torque = Output(torque, unit="N m")
        self.drive = JointEffort(self.motor, torque)
        self.bearing = DryFriction(self.motor, preload=friction)
        self.teeth = Gear(self.motor, self.output, ratio=1 / RATIO, backlash=RATIO * backlash, restitution=0.2)
        self.expose(self.housing, self.shaft)


class Servo(Subsystem):
    """An arm on a servo, closed or not; `backlash` [rad] and `friction` [N m] are those of the servo."""

    run_defaults = {"until": 4.0, "step": 1e-3}  # noqa: RUF012

    def __init__(self, *, backlash: float = 0.02, friction: float = 2e-4, closed: bool = True) -> None:
        self.base = Ground()
        self.servo = GearedServo(backlash=backlash, friction=friction)
        self.servo.closed = closed
        self.arm = Body(solids.rod(mass=0.3, length=0.3, radius=0.008, axis="x"))
        self.foot = Weld(self.base, self.servo.housing)
        self.flange = Weld(self.servo.shaft.at(0, 0, 0.03), self.arm.at(-0.12, 0, 0))

    def figures(self, result: Result) -> Iterator[Picture]:
        """How it hunts, what the teeth do meanwhile, and what friction does about it."""
        yield moves()
        yield hunting(result)
        yield cycles()


# -- figures

ANGLE = "servo.output.angle"
CASES = {
    "play, little friction": ({}, COLOURS[1]),
    "play, eight times the friction": ({"friction": 1.6e-3}, COLOURS[2]),
    "no play": ({"backlash": 0.0}, COLOURS[0]),
}


def moves() -> Picture:
    """The arm to its target and back: with play, with more friction, without play."""
    runs = {label: simulate(Servo(**given), **Servo.run_defaults) for label, (given, _) in CASES.items()}

    def draw(figure: Any) -> None:
        whole, near = figure.subplots(2, sharex=True)
        for label, run in runs.items():
            for axes in (whole, near):
                axes.plot(run.time, run[ANGLE], color=CASES[label][1], label=label)
        whole.plot(run.time, run["servo.target"], color="0.5", linestyle=":", label="target")
        whole.set(ylabel="angle of the arm [rad]", title="To the target and back")
        whole.legend(loc="upper right")
        near.axhspan(1 - 0.01, 1 + 0.01, color="0.93", linewidth=0)
        near.set(xlabel="time [s]", ylabel="near the target [rad]", ylim=(0.95, 1.08))
        near.margins(x=0)

    caption = "The arm with play, with more friction in the motor, and without play; shaded: the play."
    return Picture(draw, size=(7.2, 5), name="1-moves", caption=caption)


def hunting(result: Result) -> Picture:
    """More than one cycle of hunting: arm, motor and teeth."""
    rows = (result.time >= 1.4) & (result.time <= 2.1)
    time = result.time[rows]

    def draw(figure: Any) -> None:
        angles, torque, bars = figure.subplots(3, sharex=True, height_ratios=(4, 2.2, 1.4))
        motor = result["servo.motor.angle"][rows] / RATIO
        angles.fill_between(time, motor - 0.01, motor + 0.01, color=COLOURS[4], alpha=0.25, linewidth=0, label="play")
        angles.plot(time, motor, color=COLOURS[4], label="motor over ratio")
        angles.plot(time, result[ANGLE][rows], color=COLOURS[0], label="arm")
        angles.set(ylabel="angle [rad]", title="Hunting: the motor runs through the play before the arm feels it")
        angles.legend(loc="upper right", ncols=3)
        torque.plot(time, 1e3 * result["servo.torque"][rows], color=COLOURS[6])
        torque.set(ylabel="motor [mN m]")
        for place, (name, colour) in enumerate((("coast", COLOURS[2]), ("drive", COLOURS[1]))):
            shut = result[f"servo.teeth.{name}.mode"][rows] > 0
            bars.fill_between(time, place - 0.3, place + 0.3, where=shut, color=colour, linewidth=0)
            struck = [t for t, what in result.statistics["events"] if what == f"servo.teeth.{name}.strikes"]
            struck = [t for t in struck if time[0] <= t <= time[-1]]
            bars.plot(struck, [place] * len(struck), "|", color=colour, markersize=10)
        bars.set_yticks([0, 1], ["push back", "push on"])
        bars.set(xlabel="time [s]", ylim=(-0.6, 1.6))
        bars.set_title("teeth strike (|) and touch (full)", loc="left", fontsize=8)
        bars.margins(x=0)

    caption = "Hunting: the arm, the motor with its play, its torque, and when teeth touch."
    return Picture(draw, size=(7.2, 5.6), name="2-hunting", caption=caption)


def cycles() -> Picture:
    """Speed over angle about the target."""
    runs = {label: simulate(Servo(**given), until=2.0) for label, (given, _) in CASES.items()}

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for label, run in runs.items():
            axes.plot(run[ANGLE], run[f"{ANGLE}.rate"], color=CASES[label][1], linewidth=0.9, label=label)
        axes.plot(1, 0, "+", color="black", markersize=9)
        axes.set(xlim=(0.96, 1.06), ylim=(-0.6, 0.6), xlabel="angle of the arm [rad]", ylabel="speed [rad/s]")
        axes.set_title("About the target (+): a cycle, or rest within the play")
        axes.legend(loc="upper left")

    return Picture(draw, size=(6, 4), name="3-cycles", caption="Speed over angle of the arm about its target.")


if __name__ == "__main__":
    print(f"{len(write_figures(Servo(), 'results/servo'))} figures in results/servo/")
