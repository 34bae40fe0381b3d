"""An industrial robot of the size of a KUKA KR 15/2: six axes, each a motor and a cycloid gear; 43 bodies, 95 joints.

kompono run examples/kuka.py --plot                   2 s in joint coordinates, where mates are welds and gears ratios
kompono run examples/kuka.py --engine absolute        all 351 conditions, as in the paper; the same motion
kompono inspect examples/kuka.py --engine absolute    its parts, and which of its 351 conditions are too many
python -m kompono.examples.kuka                       all figures into results/kuka/
kompono report examples/kuka.py                       the same figures, the run and the robot in 3D, as a page

Mounts are made as CAD systems make them, by three plane-to-plane mates, three conditions of which are redundant; gears
run on more bearings than they need. 252 of the 351 conditions are independent, six freedoms are left: one an axis.
The figures are plausible stand-ins, not the maker's. All points are in the world at the start, where the axes of all
bodies are parallel to the world's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import pi
from typing import Any, NamedTuple

import numpy as np
from casadi import atan2, cos, dot, jacobian, remainder, vertcat

from kompono import Body, Constraint, Frame, Ground, Output, Pose, Result, Subsystem, simulate, time
from kompono.edges.figures import write_figures
from kompono.edges.plot import COLOURS, Picture
from kompono.library import Gravity, JointEffort, PlaneToPlane, Revolute, Weld, shapes

Point = tuple[float, float, float]
DIRECTION = dict(zip("xyz", np.eye(3), strict=True))


# -- data


class Size(NamedTuple):
    """Mass [kg], inertia across and along the axis [kg m^2] of the parts of a motor and its gear."""

    motor_housing: Point
    rotor: Point
    gear_housing: Point
    input: Point
    disc: Point
    output: Point


_LARGE_MOTOR = ((5.0, 0.030, 0.012), (1.2, 1.5e-3, 5e-4))
LARGE = Size(*_LARGE_MOTOR, (4.8, 0.022, 0.034), (0.4, 3e-4, 1e-4), (0.8, 1.2e-3, 2.2e-3), (3.0, 7e-3, 1.2e-2))
MIDDLE = Size(*_LARGE_MOTOR, (3.0, 0.010, 0.016), (0.3, 2e-4, 6e-5), (0.5, 6e-4, 1.1e-3), (2.0, 3.5e-3, 6e-3))
SMALL = Size(
    (2.4, 7e-3, 3e-3), (0.5, 4e-4, 8e-5), (0.5, 5e-4, 8e-4), (0.1, 3e-5, 1e-5), (0.15, 6e-5, 1.1e-4),
    (0.35, 2e-4, 3.5e-4),
)  # fmt: skip


class Drive(NamedTuple):
    """Where an axis is, its gear, its controller and how it is asked to move; `eccentric` says where the disc is."""

    axis: str
    gear: Point  # [m]
    motor: Point  # [m]
    eccentric: str
    ratio: int
    eccentricity: float  # [m]
    stiffness: float  # [N m/rad]
    damping: float  # [N m s/rad]
    amplitude: float  # [rad]
    period: float  # [s]
    size: Size


DRIVES = (
    Drive("z", (0.00, 0.00, 0.350), (0.000, 0.00, 0.150), "x", 119, 0.0015, 16000, 1100, +0.8, 2.0, LARGE),
    Drive("y", (0.30, -0.10, 0.675), (0.300, -0.28, 0.675), "z", 121, 0.0015, 16000, 1100, -0.5, 2.0, LARGE),
    Drive("y", (0.30, 0.10, 1.325), (0.300, 0.28, 1.325), "z", 117, 0.0015, 8000, 500, +0.6, 2.0, MIDDLE),
    Drive("x", (0.60, 0.00, 1.480), (0.350, 0.00, 1.480), "y", 63, 0.0010, 800, 40, +0.9, 1.6, SMALL),
    Drive("y", (0.90, -0.06, 1.480), (0.900, -0.16, 1.480), "z", 61, 0.0010, 800, 40, -0.7, 1.6, SMALL),
    Drive("x", (0.96, 0.00, 1.480), (0.915, 0.00, 1.480), "y", 31, 0.0010, 120, 5, +1.2, 1.0, SMALL),
)


class Casting(NamedTuple):
    """A large part: mass [kg], centre of mass [m], inertia [kg m^2]."""

    mass: float
    centre: Point
    inertia: Point


BASE = Casting(58, (-0.03, 0, 0.16), (2.2, 2.4, 2.6))
DRIVEN = (
    Casting(48, (0.12, -0.02, 0.56), (1.6, 1.9, 1.7)),  # carousel
    Casting(22, (0.29, 0.03, 1.02), (1.15, 1.10, 0.15)),  # link arm
    Casting(25, (0.36, 0.01, 1.46), (0.25, 0.85, 0.80)),  # arm
    Casting(8, (0.78, 0, 1.48), (0.022, 0.075, 0.075)),  # wrist, axis 4
    Casting(5, (0.905, 0.005, 1.48), (0.015, 0.016, 0.013)),  # wrist, axis 5
    Casting(16.6, (1.15, 0.02, 1.56), (0.18, 0.22, 0.16)),  # flange with a load of 15 kg
)


def joint_of(centre: Point, length: float, radius: float, axis: str) -> Any:
    """A round housing."""
    return shapes.cylinder(length=length, radius=radius, axis=axis).at(*centre)


LOOKS: dict[Casting, tuple[Any, ...]] = {  # in the world at the start
    BASE: (
        shapes.box((0.5, 0.46, 0.05)).at(-0.03, 0, 0.025),
        shapes.cone(length=0.26, radius=0.2, top=0.16).at(0, 0, 0.18),
    ),
    DRIVEN[0]: (
        joint_of((0, 0, 0.43), 0.1, 0.19, "z"),
        shapes.bar((0.02, 0, 0.5), (0.28, -0.06, 0.66), radius=0.12),
        joint_of((0.3, -0.11, 0.675), 0.1, 0.15, "y"),
    ),
    DRIVEN[1]: (
        joint_of((0.3, 0.0, 0.675), 0.1, 0.14, "y"),
        shapes.box((0.15, 0.09, 0.6)).at(0.3, 0.0, 1.0),
        joint_of((0.3, 0.0, 1.325), 0.1, 0.12, "y"),
    ),
    DRIVEN[2]: (
        joint_of((0.3, 0.1, 1.325), 0.08, 0.12, "y"),
        shapes.bar((0.3, 0.09, 1.34), (0.3, 0.03, 1.48), radius=0.08),
        shapes.bar((0.2, 0, 1.48), (0.52, 0, 1.48), radius=0.1),
    ),
    DRIVEN[3]: (
        joint_of((0.64, 0, 1.48), 0.06, 0.075, "x"),
        shapes.cone(length=0.2, radius=0.07, top=0.05, axis="x").at(0.76, 0, 1.48),
        shapes.box((0.1, 0.03, 0.09)).at(0.88, -0.05, 1.48),
    ),
    DRIVEN[4]: (shapes.sphere(0.055).at(0.905, 0, 1.48), joint_of((0.935, 0, 1.48), 0.05, 0.045, "x")),
    DRIVEN[5]: (
        joint_of((0.985, 0, 1.48), 0.04, 0.05, "x").coloured("#3b424c"),
        shapes.bar((1.0, 0, 1.48), (1.12, 0.02, 1.54), radius=0.025).coloured("#3b424c"),
        shapes.box((0.14, 0.14, 0.14)).at(1.16, 0.02, 1.57).coloured("#77889a"),
    ),
}


def casting(data: Casting) -> Body:
    """A large part in its place."""
    back = np.negative(data.centre)
    looks = [shape.at(*back) if shape.colour else shape.at(*back).coloured("#f07a1a") for shape in LOOKS[data]]
    return Body(mass=data.mass, inertia=data.inertia, start_position=data.centre, shape=looks)


def round_part(place: Any, axis: str, data: Point) -> Body:
    """A part that is round about `axis`, in its place."""
    mass, across, along = data
    return Body(mass=mass, inertia=np.where(DIRECTION[axis], along, across), start_position=place)


def on(body: Body, point: Any) -> Frame:
    """The frame of a body at a point of the world at the start."""
    return body.at(np.subtract(point, body.start_position))


def stiff(first: Frame, second: Frame) -> list[PlaneToPlane]:
    """A mount made of three mates: nine conditions, six of them independent."""
    return [PlaneToPlane(first, second, axis=normal) for normal in "xyz"]


# -- components


class Pins(Constraint):
    """The pins of an output flange in the holes of a disc: same orientation, no shift along the axis."""

    def __init__(self, first: Frame, second: Frame, *, axis: str) -> None:
        super().__init__(first, second)
        self.axis = DIRECTION[axis]

    def conditions(self, pose: Pose) -> list[Any]:
        r = pose.rotation
        turned = vertcat(r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]) / 2
        return [turned, dot(self.axis, pose.position)]


class Mesh(Constraint):
    """A cycloid disc rolling in its housing: while its centre orbits once it turns back by 1/ratio of a turn.

    Times the eccentricity, so that the condition is a length like those around it.
    """

    def __init__(
        self, first: Frame, second: Frame, *, axis: str, eccentric: str, ratio: int, eccentricity: float
    ) -> None:
        super().__init__(first, second)
        self.across = DIRECTION[eccentric], np.cross(DIRECTION[axis], DIRECTION[eccentric])
        self.ratio, self.eccentricity = ratio, eccentricity

    def conditions(self, pose: Pose) -> list[Any]:
        u, v = self.across
        orbit = atan2(dot(v, pose.position), dot(u, pose.position))
        turn = atan2(dot(v, pose.rotation @ u), dot(u, pose.rotation @ u))
        return [self.eccentricity * remainder(orbit + self.ratio * turn, 2 * pi)]


class Motor(Subsystem):
    """A rotor in a housing."""

    def __init__(self, drive: Drive = DRIVES[0]) -> None:
        axis, centre = drive.axis, drive.motor
        self.housing = round_part(centre, axis, drive.size.motor_housing)
        self.rotor = round_part(centre, axis, drive.size.rotor)
        self.bearing = Revolute(self.housing, self.rotor, axis=axis)
        self.expose(self.housing, self.rotor, self.bearing)


class CycloGear(Subsystem):
    """An eccentric on the input shaft drives a disc that rolls in the housing; pins take its turning to the output."""

    def __init__(self, drive: Drive = DRIVES[0]) -> None:
        axis, centre = drive.axis, drive.gear
        along, aside = DIRECTION[axis], drive.eccentricity * DIRECTION[drive.eccentric]
        at_input, at_disc, at_output = centre - 0.03 * along, centre + aside, centre + 0.04 * along
        self.housing = round_part(centre, axis, drive.size.gear_housing)
        self.input = round_part(at_input, axis, drive.size.input)
        self.disc = round_part(at_disc, axis, drive.size.disc)
        self.output = round_part(at_output, axis, drive.size.output)
        self.input_bearing = Revolute(on(self.housing, at_input), self.input, axis=axis)
        self.eccentric = Revolute(on(self.input, at_disc), self.disc, axis=axis)
        self.mesh = Mesh(
            self.housing, self.disc, axis=axis, eccentric=drive.eccentric, ratio=drive.ratio,
            eccentricity=drive.eccentricity,
        )  # fmt: skip
        self.pins = Pins(on(self.output, centre), on(self.disc, centre), axis=axis)
        self.output_bearing = Revolute(on(self.housing, at_output), self.output, axis=axis)
        self.expose(self.housing, self.input, self.output, self.input_bearing, self.output_bearing)


class Axis(Subsystem):
    """A motor and a gear that turn a `driven` part, and a controller that makes it follow a reference.

    Its encoder sits behind the gear, or, as on the machine, on the motor (`motor_encoder`): with gears that yield a
    little, as those of the discrete engine do, a controller that looks behind the gear shakes it.
    """

    def __init__(
        self,
        drive: Drive = DRIVES[0],
        driven: Casting = DRIVEN[0],
        *,
        welded: bool = False,
        motor_encoder: bool = False,
    ) -> None:
        self.motor, self.gear = Motor(drive), CycloGear(drive)
        self.driven = casting(driven)
        halfway = np.add(drive.motor, drive.gear) / 2
        self.coupling = Weld(on(self.motor.rotor, halfway), on(self.gear.input, halfway))
        flange = self.gear.output, on(self.driven, self.gear.output.start_position)
        self.output_mount = Weld(*flange) if welded else stiff(*flange)
        reference = drive.amplitude * (1 - cos(2 * pi * time / drive.period)) / 2
        angle, rate = self.gear.output_bearing.angle, self.gear.output_bearing.angle_rate
        if motor_encoder:
            angle, rate = (
                -turned / drive.ratio for turned in (self.motor.bearing.angle, self.motor.bearing.angle_rate)
            )
        late, slow = reference - angle, jacobian(reference, time) - rate
        torque = drive.stiffness * late + drive.damping * slow
        self.torque = JointEffort(self.motor.bearing, -torque / drive.ratio)  # the gear turns the other way round
        self.reference = Output(reference, unit="rad")
        self.expose(self.motor.housing, self.gear.housing, self.driven)


class Kuka(Subsystem):
    """Six axes in series on a base; each is mounted on what the one before it drives. `axis` makes them."""

    run_defaults = {"until": 2.0, "step": 5e-4, "method": "rk4", "every": 2}  # noqa: RUF012

    def __init__(self, motor_encoders: bool = False, axis: Callable[..., Any] = Axis) -> None:
        self.ground = Ground()
        self.gravity = Gravity((0, 0, -9.8))
        self.base = casting(BASE)
        self.foot = stiff(self.ground, on(self.base, (0, 0, 0)))
        carrier = self.base
        for i, (drive, driven) in enumerate(zip(DRIVES, DRIVEN, strict=True), start=1):
            made = axis(drive, driven, welded=i > 4, motor_encoder=motor_encoders)
            setattr(self, f"axis{i}", made)
            setattr(self, f"motor_mount{i}", stiff(on(carrier, drive.motor), made.motor.housing))
            setattr(self, f"gear_mount{i}", stiff(on(carrier, drive.gear), made.gear.housing))
            carrier = made.driven

    def figures(self, result: Result) -> Iterator[Picture]:
        """Figure 6 of the paper, the motion of the axes and the drift on both levels."""
        yield hierarchy(self)
        yield motion(result)
        yield drifts(result)
        yield poses(result)


# -- figures

AXES = range(1, 7)


def hierarchy(robot: Kuka) -> Picture:
    """Figure 6: the robot, its subsystems and their bodies."""

    def draw(figure: Any) -> None:
        sheet = figure.subplots()
        branch(sheet, robot, "robot", 0, 0)
        sheet.set(title="Hierarchy of subsystems, down to the bodies", ylim=(43, -1))
        sheet.axis("off")

    return Picture(draw, size=(7.5, 8), name="6-hierarchy", caption="Hierarchy of subsystems (paper, figure 6).")


def branch(sheet: Any, part: Subsystem | Body, name: str, depth: int, row: int) -> tuple[float, int]:
    """Write a part and all that is in it, bodies one row each from `row` on; returns its height and the next row."""
    if isinstance(part, Body):
        sheet.text(depth, row, name, va="center", fontsize=7)
        return row, row + 1
    places = []
    for inner, member in part.members.items():
        if isinstance(member, Subsystem | Body):
            place, row = branch(sheet, member, inner, depth + 1, row)
            places.append(place)
    middle = (places[0] + places[-1]) / 2
    for place in places:
        lines = [depth + 0.4, depth + 0.7, depth + 0.95], [middle, place, place]
        sheet.plot(*lines, color=COLOURS[depth], linewidth=0.8)
    sheet.text(depth, middle, f"{name}\n({type(part).__name__})", va="center", fontsize=8, color=COLOURS[depth])
    return middle, row


def motion(result: Result) -> Picture:
    """Each axis and what it was asked to do."""

    def draw(figure: Any) -> None:
        panels = figure.subplots(3, 2, sharex=True)
        for i, panel in zip(AXES, panels.T.flat, strict=True):
            panel.plot(result.time, result[f"axis{i}.reference"], "--", color=COLOURS[6], label="reference")
            panel.plot(result.time, result[f"axis{i}.gear.output_bearing.angle"], color=COLOURS[0], label="angle")
            panel.set_title(f"axis {i}", loc="left", fontsize=9)
            panel.margins(x=0)
        for panel in panels[-1]:
            panel.set_xlabel("time [s]")
        figure.supylabel("angle [rad]", fontsize=9)
        figure.legend(*panels.flat[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)

    return Picture(draw, size=(7.5, 5.5), name="motion", caption="Motion of the axes and what they were asked to do.")


def drifts(result: Result) -> Picture:
    """Largest violation of the conditions on both levels in absolute coordinates, with projection and without."""
    request = {**Kuka.run_defaults, "engine": "absolute", "until": float(result.time[-1]), "channels": "drift.*"}
    kept, left = (simulate(Kuka(), **request, stabilize=stabilize) for stabilize in (True, False))

    def draw(figure: Any) -> None:
        panels = figure.subplots(1, 2, sharex=True)
        for panel, level, unit in zip(panels, ("position", "velocity"), ("m, rad", "m/s, rad/s"), strict=True):
            for run, label, colour in ((left, "no stabilization", 1), (kept, "stabilized", 0)):
                panel.semilogy(run.time, run[f"drift.{level}"], color=COLOURS[colour], label=label)
            panel.set(title=f"{level} level", xlabel="time [s]", ylabel=f"largest violation [{unit}]")
            panel.set_ylim(top=10)
            panel.margins(x=0)
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)

    lost = left.time[np.argmax(left["drift.position"] > 1)]
    caption = (
        "Drift in absolute coordinates on both levels, with successive projection over the hierarchy and without"
        + (f"; without it the robot has fallen apart at {lost:.2g} s." if lost else ".")
    )  # fmt: skip
    return Picture(draw, size=(7.5, 3.2), name="drift", caption=caption)


def poses(result: Result) -> Picture:
    """The robot from the side and from above: a line from axis to axis to the load, every 0.1 s of the first second."""
    points = [f"axis{i}.gear.output" for i in AXES] + ["axis6.driven"]
    rows = np.flatnonzero(np.isin(np.round(result.time, 6), np.round(np.arange(0, 1.05, 0.1), 6)))

    def draw(figure: Any) -> None:
        panels = figure.subplots(1, 2)
        for panel, (x, y), title in zip(panels, ("xz", "xy"), ("from the side", "from above"), strict=True):
            for row in rows:
                line = [[0.0, *(result[f"{point}.position.{k}"][row] for point in points)] for k in (x, y)]
                panel.plot(*line, "o-", color=COLOURS[0], alpha=0.2 + 0.8 * row / max(rows[-1], 1), markersize=3)
            panel.set(aspect="equal", title=title, xlabel=f"{x} [m]", ylabel=f"{y} [m]")

    caption = "The robot every 0.1 s from the start (light) to 1 s: axes and centre of the load."
    return Picture(draw, size=(7.5, 4), name="kuka", caption=caption)


if __name__ == "__main__":
    print(f"{len(write_figures(Kuka(), 'results/kuka'))} figures in results/kuka/")
