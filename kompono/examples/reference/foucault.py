"""Foucault's pendulum: the ground turns, the plane of the swing stays behind.

    kompono run examples/reference/foucault.py --plot

The laboratory is a ground that turns with the Earth (a very fast one); x points south, y east, z up.
"""

from __future__ import annotations

from math import cos, pi, sin, sqrt

import casadi as ca

from kompono import Body, Ground, Output, Subsystem, time
from kompono.library import Gravity, Universal, solids


class Foucault(Subsystem):
    """A point on a string of `length` [m], let go at rest in the laboratory; the Earth turns once in `day` [s]."""

    run_defaults = {"until": 60.0, "step": 1e-2, "method": "dopri5", "rtol": 1e-10}  # noqa: RUF012

    def __init__(
        self, *, length: float = 1.0, day: float = 200.0, latitude: float = pi / 4, swing: float = 1e-3
    ) -> None:
        turn = 2 * pi / day * time
        pole = (-cos(latitude), 0.0, sin(latitude))
        earth = ca.vertcat(ca.cos(turn / 2), *[ca.sin(turn / 2) * p for p in pole])
        up = carried((0.0, 0.0, 1.0), pole, turn)
        self.laboratory = Ground(orientation=earth)
        self.gravity = Gravity(-9.81 * up)
        self.bob = Body(solids.point(mass=1.0))
        self.string = Universal(
            self.laboratory, self.bob.at(0, 0, length), first_axis="x", second_axis="y", angle1=0.0, angle2=swing
        )
        q1, q2 = self.string.angle1, self.string.angle2  # the bob in laboratory axes
        self.south = Output(-length * ca.sin(q2), unit="m")
        self.east = Output(length * ca.sin(q1) * ca.cos(q2), unit="m")
        self.rate = sqrt(9.81 / length)


def carried(vector: tuple[float, float, float], axis: tuple[float, float, float], turn: ca.SX) -> ca.SX:
    """A vector turned about a unit axis (Rodrigues)."""
    v, a = ca.SX(ca.vertcat(*vector)), ca.SX(ca.vertcat(*axis))
    return ca.cos(turn) * v + ca.sin(turn) * ca.cross(a, v) + (1 - ca.cos(turn)) * ca.dot(a, v) * a
