"""The manipulator of the dissertation: three motors and beams in series, driven by cosine torques; a tree with three
freedoms.

kompono run examples/manipulator.py --plot      5 s with adams at 0.1 ms, as in the dissertation
python examples/manipulator.py                  all figures into results/manipulator/
"""

from __future__ import annotations

from math import pi, sqrt

from casadi import cos

from kompono import Body, Ground, Subsystem, time
from kompono.library import Gravity, JointEffort, Revolute, Weld, solids


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
        self.ground = Ground()
        self.gravity = Gravity((0, 0, -9.8))
        self.arm = Arm()
        upright = (1 / sqrt(2), 1 / sqrt(2), 0, 0)
        self.foot = Weld(self.ground.at(0, 0, 0, orientation=upright), self.arm.link1.motor.housing.at(0, -0.15, 0))
