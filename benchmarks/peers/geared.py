"""The robot of examples/kuka.py as the peers see it: mates are welds, a cycloid gear is ratios between three joints.

The same bodies, masses, torques and motion as the whole robot, without its 351 conditions: what is left of the
difference to the peers is that of the engines, not of the models.
"""

from __future__ import annotations

from math import pi

import numpy as np
from casadi import cos, jacobian

from kompono import Ground, Subsystem, time
from kompono.examples import kuka
from kompono.library import Gear, Gravity, JointEffort, Revolute, Weld


class GearedAxis(Subsystem):
    """Rotor with input shaft, eccentric disc, output with the driven part; the gear keeps their angles in ratio."""

    def __init__(self, drive: kuka.Drive, driven: kuka.Casting) -> None:
        axis, size, centre = drive.axis, drive.size, np.array(drive.gear)
        along, aside = kuka.DIRECTION[axis], drive.eccentricity * kuka.DIRECTION[drive.eccentric]
        at_disc, at_output = centre + aside, centre + 0.04 * along
        self.motor = kuka.Motor(drive)
        self.housing = kuka.round_part(centre, axis, size.gear_housing)
        self.input = kuka.round_part(centre - 0.03 * along, axis, size.input)
        self.disc = kuka.round_part(at_disc, axis, size.disc)
        self.output = kuka.round_part(at_output, axis, size.output)
        self.driven = kuka.casting(driven)
        halfway = np.add(drive.motor, drive.gear) / 2
        self.coupling = Weld(kuka.on(self.motor.rotor, halfway), kuka.on(self.input, halfway))
        self.eccentric = Revolute(kuka.on(self.input, at_disc), self.disc, axis=axis)
        self.output_bearing = Revolute(kuka.on(self.housing, at_output), self.output, axis=axis)
        self.mount = Weld(self.output, kuka.on(self.driven, at_output))
        self.rotor_ratio = Gear(self.output_bearing, self.motor.bearing, ratio=-drive.ratio)
        self.disc_ratio = Gear(self.output_bearing, self.eccentric, ratio=1 + drive.ratio)
        reference = drive.amplitude * (1 - cos(2 * pi * time / drive.period)) / 2
        late = reference - self.output_bearing.angle
        slow = jacobian(reference, time) - self.output_bearing.angle_rate
        torque = drive.stiffness * late + drive.damping * slow
        self.torque = JointEffort(self.motor.bearing, -torque / drive.ratio)
        self.expose(self.motor.housing, self.housing, self.driven)


class GearedKuka(Subsystem):
    """Six such axes in series on a base."""

    def __init__(self) -> None:
        self.ground, self.gravity = Ground(), Gravity((0, 0, -9.8))
        self.base = kuka.casting(kuka.BASE)
        self.foot = Weld(self.ground, kuka.on(self.base, (0, 0, 0)))
        carrier = self.base
        for i, (drive, driven) in enumerate(zip(kuka.DRIVES, kuka.DRIVEN, strict=True), start=1):
            axis = GearedAxis(drive, driven)
            self.add(f"axis{i}", axis)
            self.add(f"motor_mount{i}", Weld(kuka.on(carrier, drive.motor), axis.motor.housing))
            self.add(f"gear_mount{i}", Weld(kuka.on(carrier, drive.gear), axis.housing))
            carrier = axis.driven
