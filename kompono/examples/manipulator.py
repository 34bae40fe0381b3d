"""The manipulator of the dissertation: three motors and beams in series, driven by cosine torques; a tree with three
freedoms.

kompono run examples/manipulator.py --plot      5 s with adams at 0.1 ms, as in the dissertation
python -m kompono.examples.manipulator          all figures into results/manipulator/
kompono report examples/manipulator.py          the model, the run, the same figures and the arm in 3D, as a page
"""

from __future__ import annotations

from collections.abc import Iterator
from math import pi, sqrt

import numpy as np
from casadi import cos

from kompono import Body, Ground, Result, Subsystem, simulate, time
from kompono.edges.figures import write_figures
from kompono.edges.plot import Picture, plot
from kompono.library import Gravity, JointEffort, Revolute, Weld, shapes, solids


class Motor(Subsystem):
    """A rotor in a housing; the torque amplitude * cos(2 pi 2 t) [N m] turns the rotor about y."""

    def __init__(self, *, amplitude: float = 1.0, angle: float = 0.0) -> None:
        self.housing = Body(solids.tube(mass=2, length=0.3, radius=0.034, wall=0.004, axis="y"))
        self.rotor = Body(solids.rod(mass=7.7, length=0.35, radius=0.03, axis="y"))
        self.bearing = Revolute(self.housing.at(0, -0.15, 0), self.rotor.at(0, -0.175, 0), axis="y", angle=angle)
        self.torque = JointEffort(self.bearing, amplitude * cos(2 * pi * 2 * time))
        self.expose(self.housing, self.rotor)


class Link(Subsystem):
    """A motor with a beam welded to its rotor."""

    def __init__(self, *, amplitude: float = 1.0, angle: float = 0.0) -> None:
        self.motor = Motor(amplitude=amplitude, angle=angle)
        self.beam = Body(mass=0.71, inertia=(0.06, 0.06, 0.0002))
        self.mount = Weld(self.motor.rotor.at(0, 0.175, 0), self.beam.at(0, -0.02, -0.483))
        self.expose(self.motor.housing, self.beam)


class Arm(Subsystem):
    """Three links in series."""

    def __init__(self) -> None:
        self.link1 = Link(amplitude=-600, angle=0.0)
        self.link2 = Link(amplitude=300, angle=2.5)
        self.link3 = Link(amplitude=-12, angle=0.0)
        turn = (0.5, -0.5, -0.5, -0.5)
        self.joint12 = Weld(self.link1.beam.at(0, 0, 0.5, orientation=turn), self.link2.motor.housing.at(0, -0.15, 0))
        self.joint23 = Weld(self.link2.beam.at(0, 0.02, 0.483), self.link3.motor.housing.at(0, -0.15, 0))
        self.expose(self.link1.motor.housing)


class Manipulator(Subsystem):
    """The arm on its foot, first axis vertical."""

    run_defaults = {"until": 5.0, "step": 1e-4, "method": "adams", "every": 10}  # noqa: RUF012

    def __init__(self) -> None:
        self.ground = Ground(shape=shapes.cone(length=1.6, radius=0.2, top=0.08).at(0, 0, -0.8))
        self.gravity = Gravity((0, 0, -9.8))
        self.arm = Arm()
        upright = (1 / sqrt(2), 1 / sqrt(2), 0, 0)
        self.foot = Weld(self.ground.at(0, 0, 0, orientation=upright), self.arm.link1.motor.housing.at(0, -0.15, 0))

    def figures(self, result: Result) -> Iterator[Picture]:
        """Figures 8.7 to 8.9 and 8.11 to 8.14 of the dissertation."""
        yield from motion(result)
        yield from comparison(result)


# -- figures

BEARINGS = "arm.link*.motor.bearing"
LINK3 = [f"arm.link3.beam.{what}acceleration.{axis}" for what in ("", "angular_") for axis in "xyz"]


def motion(result: Result) -> Iterator[Picture]:
    """Angles of the three motors and their derivatives."""
    for number, what, channel in (
        ("07", "coordinates", "angle"),
        ("08", "velocities", "angle.rate"),
        ("09", "accelerations", "angle.acceleration"),
    ):
        caption = f"Joint {what} (dissertation, figure 8.{int(number)})."
        names = [f"arm.link{k}.motor.bearing.{channel}" for k in (1, 2, 3)]
        yield plot(result, *names, panels="channel", name=f"8-{number}-{what}", caption=caption)


def comparison(result: Result) -> Iterator[Picture]:
    """Joint coordinates against absolute ones: accelerations of both, and the drift of the latter."""
    request = {"until": float(result.time[-1]), "step": 1e-4, "method": "adams", "every": 10, "engine": "absolute"}
    wanted = [f"{BEARINGS}.angle.acceleration", "arm.link3.beam.*acceleration.*", "drift.*"]
    loose = simulate(Manipulator(), **request, projection="none", channels="drift.*")
    kept = simulate(Manipulator(), **request, channels=wanted)
    tight = {"until": request["until"], "step": 1e-3, "method": "dopri5", "rtol": 1e-12, "channels": wanted}
    by_joints = simulate(Manipulator(), **tight)
    by_bodies = simulate(Manipulator(), **tight, engine="absolute")
    angles = [f"arm.link{k}.motor.bearing.angle.acceleration" for k in (1, 2, 3)]
    yield plot(
        largest(result, by_bodies, angles), name="8-11-difference",
        caption="Joint accelerations: largest difference to an independent solution (dissertation, figure 8.11), which "
        "has all nine bodies in absolute coordinates, dopri5 with rtol 1e-12.",
    )  # fmt: skip
    yield plot(loose, "drift.*", name="8-12-drift", caption="Drift in absolute coordinates without stabilization: "
               "position [m], velocity [m/s] (dissertation, figure 8.12).")  # fmt: skip
    yield plot(kept, "drift.*", name="8-13-drift-stabilized", caption="Drift in absolute coordinates with "
               "stabilization (dissertation, figure 8.13).")  # fmt: skip
    yield plot(
        largest(kept, by_joints, LINK3), name="8-14-difference",
        caption="Accelerations of link 3 in stabilized absolute coordinates: largest difference to an independent "
        "solution (dissertation, figure 8.14), which has three joint coordinates, dopri5 with rtol 1e-12.",
    )  # fmt: skip


def largest(result: Result, reference: Result, names: list[str]) -> Result:
    """The largest magnitude of the differences of channels, at the times both results have."""
    rows, others = np.isin(np.round(result.time, 9), np.round(reference.time, 9)), np.round(reference.time, 9)
    beside = np.searchsorted(others, np.round(result.time[rows], 9))
    gaps = [np.abs(result[name][rows] - reference[name][beside]) for name in names]
    units = "rad/s^2" if all("angle" in name for name in names) else "m/s^2, rad/s^2"
    return Result(
        result.time[rows], ["largest difference"], np.max(gaps, axis=0)[:, None],
        units={"largest difference": units}, statistics=result.statistics, model=result.model,
    )  # fmt: skip


if __name__ == "__main__":
    print(f"{len(write_figures(Manipulator(), 'results/manipulator'))} figures in results/manipulator/")
