"""A manipulator with DC motors behind gearboxes, each under three sampled loops: current, speed and place.

kompono run examples/cascade.py --plot   1.5 s: all three axes move at once, along profiles with limited jerk
python -m kompono.examples.cascade       all figures into results/cascade/
kompono report examples/cascade.py       the model, the run, the same figures and the arm in 3D, as a page

The amplifiers sample the current at 20 kHz, everything else runs at 1 kHz and sees encoders, never the true angles. All
of it is native code, in one run with the mechanics.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kompono import Body, Ground, Joint, Output, Result, State, Subsystem
from kompono.edges.figures import write_figures
from kompono.edges.plot import COLOURS, Picture
from kompono.library import PID, Encoder, Gravity, JointEffort, Revolute, Rotor, Weld, profiles, solids

FAST, SLOW = 5e-5, 1e-3  # s, periods of the amplifiers and of the other loops
AXES = {"waist": (0.0, 1.2), "shoulder": (0.3, 1.1), "elbow": (0.2, -0.9)}  # rad, from and to
LIMITS = {"speed": 2.5, "acceleration": 12.0, "jerk": 200.0}  # of the targets: rad/s, rad/s^2, rad/s^3


class Axis(Subsystem):
    """A motor on a joint that follows a profile; gains are those of a joint with about `inertia` [kg m^2].

    R [ohm], L [H], k [N m/A] and J [kg m^2] are the motor's, `ratio` the gearbox's; `volts` and `amps` its limits.
    """

    def __init__(
        self, joint: Joint, target: profiles.Profile, *, inertia: float, R: float = 0.8, L: float = 0.4e-3,
        k: float = 0.05, J: float = 3e-5, ratio: float = 100.0, volts: float = 48.0, amps: float = 20.0,
    ) -> None:  # fmt: skip
        self.target = Output(target.position, unit="rad")
        self.encoder = Encoder(joint, counts=int(4000 * ratio), every=SLOW)
        self.place = PID(target.position - self.encoder.angle, kp=15.0, feedforward=target.speed, every=SLOW)
        gain = 60.0 * inertia / (k * ratio)  # A s/rad, of a loop that answers within 1/60 s
        load = inertia / (k * ratio) * target.acceleration
        self.speed = PID(
            self.place.command - self.encoder.rate, kp=gain, ki=20 * gain, feedforward=load, limits=amps, every=SLOW,
            unit="A",
        )  # fmt: skip
        self.current = State(0.0, unit="A")
        self.amplifier = PID(
            self.speed.command - self.current, kp=3000 * L, ki=3000 * R, limits=volts, every=FAST, unit="V"
        )
        self.current.rate = (self.amplifier.command - R * self.current - k * ratio * joint.angle_rate) / L
        self.rotor = Rotor(joint, inertia=J, ratio=ratio)
        self.torque = JointEffort(joint, k * ratio * self.current)


class Cascade(Subsystem):
    """Waist, shoulder and elbow with a load of `payload` [kg] at the end."""

    run_defaults = {"until": 1.5, "step": FAST, "every": 20}  # noqa: RUF012

    def __init__(self, *, payload: float = 2.0) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.column = Body(solids.cylinder(mass=8.0, length=0.4, radius=0.08))
        self.upper = Body(solids.rod(mass=4.0, length=0.5, radius=0.03, axis="x"))
        self.fore = Body(solids.rod(mass=2.5, length=0.4, radius=0.025, axis="x"))
        self.load = Body(solids.sphere(mass=payload, radius=0.05))
        starts = {name: way[0] for name, way in AXES.items()}
        self.waist = Revolute(self.ground, self.column.at(0, 0, -0.2), axis="z", angle=starts["waist"])
        self.shoulder = Revolute(
            self.column.at(0, 0, 0.2), self.upper.at(-0.25, 0, 0), axis="-y", angle=starts["shoulder"]
        )
        self.elbow = Revolute(self.upper.at(0.25, 0, 0), self.fore.at(-0.2, 0, 0), axis="-y", angle=starts["elbow"])
        self.grip = Weld(self.fore.at(0.2, 0, 0), self.load)
        moves = {name: profiles.s_curve(*way, **LIMITS, begin=0.1) for name, way in AXES.items()}
        self.waist_axis = Axis(self.waist, moves["waist"], inertia=2.0)
        self.shoulder_axis = Axis(self.shoulder, moves["shoulder"], inertia=2.5)
        self.elbow_axis = Axis(self.elbow, moves["elbow"], inertia=0.9)

    def figures(self, result: Result) -> Iterator[Picture]:
        """Angles and what they lack, currents and voltages."""
        yield motion(result)


def motion(result: Result) -> Picture:
    """Where the axes are, what they lack, and what that takes."""

    def draw(figure: Any) -> None:
        angles, errors, currents, volts = figure.subplots(4, sharex=True, height_ratios=(3, 2, 2, 2))
        for name, colour in zip(AXES, COLOURS, strict=False):
            target, angle = result[f"{name}_axis.target"], result[f"{name}.angle"]
            angles.plot(result.time, target, color="0.6", linewidth=2.5)
            angles.plot(result.time, angle, color=colour, label=name)
            errors.plot(result.time, 1e3 * (target - angle), color=colour)
            currents.plot(result.time, result[f"{name}_axis.current"], color=colour)
            volts.plot(result.time, result[f"{name}_axis.amplifier.command"], color=colour)
        angles.set(ylabel="angle [rad]", title="Three axes under sampled cascades (grey: targets)")
        angles.legend(loc="center right")
        errors.set(ylabel="error [mrad]")
        currents.set(ylabel="current [A]")
        volts.set(ylabel="voltage [V]", xlabel="time [s]")
        volts.margins(x=0)

    caption = "Angles and targets, errors, currents and voltages of a manipulator under cascaded control."
    return Picture(draw, size=(7.2, 6.4), name="1-motion", caption=caption)


if __name__ == "__main__":
    print(f"{len(write_figures(Cascade(), 'results/cascade'))} figures in results/cascade/")
