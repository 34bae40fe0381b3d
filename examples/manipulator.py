"""The manipulator of the dissertation: three motors and beams in series, driven by cosine torques; a tree with three
freedoms.

kompono run examples/manipulator.py --plot      5 s with adams at 0.1 ms, as in the dissertation
python examples/manipulator.py                  all figures into results/manipulator/
"""

from __future__ import annotations

from math import pi, sqrt
from pathlib import Path

from casadi import cos

from kompono import Body, Ground, Result, Subsystem, simulate, time
from kompono.edges.plot import COLOURS, STYLE
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


# -- figures


def main() -> None:
    """Draw the figures 8.7, 8.8, 8.9 and 8.11 of the dissertation into results/manipulator/."""
    arm = simulate(Manipulator(), until=5.0, step=1e-4, method="adams", every=10)
    exact = simulate(Manipulator(), until=5.0, step=1e-3, method="dopri5", rtol=1e-12)
    folder = Path("results/manipulator")
    folder.mkdir(parents=True, exist_ok=True)
    how = "(adams, 0.1 ms)"
    draw(folder / "8-07-coordinates", f"Joint coordinates {how}", "angle [rad]", arm, "angle")
    draw(folder / "8-08-velocities", f"Joint velocities {how}", "rate [rad/s]", arm, "angle.rate")
    draw(folder / "8-09-accelerations", f"Joint accelerations {how}", ACCELERATION, arm, "angle.acceleration")
    title = "Joint accelerations: adams with 0.1 ms less dopri5 with rtol 1e-12"
    draw(folder / "8-11-difference", title, f"difference of {ACCELERATION}", arm, "angle.acceleration", less=exact)
    print(f"{len(list(folder.glob('*.png')))} figures in {folder}/")


ACCELERATION = "acceleration [rad/s²]"


def draw(path: Path, title: str, unit: str, result: Result, what: str, less: Result | None = None) -> None:
    """One picture of what all three bearings do, a panel for each, or of the difference to another result."""
    import matplotlib.pyplot as plt

    with plt.rc_context(STYLE):
        figure, panels = plt.subplots(3, sharex=True, figsize=(7, 5), layout="constrained")
        for link, axes, colour in zip((1, 2, 3), panels, COLOURS, strict=False):
            name = f"arm.link{link}.motor.bearing.{what}"
            axes.plot(result.time, result[name] - (less[name] if less else 0), color=colour)
            axes.set_title(f"link {link}", loc="left", fontsize=9)
            axes.margins(x=0)
        panels[-1].set_xlabel("time [s]")
        figure.suptitle(title)
        figure.supylabel(unit, fontsize=10)
        figure.savefig(path.with_suffix(".png"), dpi=120)
        plt.close(figure)


if __name__ == "__main__":
    main()
