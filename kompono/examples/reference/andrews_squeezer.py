"""A03 of the IFToMM/LIM benchmark: Andrews' squeezing mechanism, seven bodies, three loops, one freedom.

    kompono run examples/reference/andrews_squeezer.py --plot

Names and angles (beta, theta, gamma, phi, delta, omega, epsilon) are those of the IVP test set.
"""

from __future__ import annotations

from math import acos, atan2, cos, hypot, pi, remainder, sin

from kompono import Body, Ground, Subsystem
from kompono.library import JointEffort, Revolute, SpringDamper

A, B, C = (-0.06934, -0.00227), (-0.03635, 0.03273), (0.014, 0.072)
RR, D, SS, E, ZT, ZF, U = 0.007, 0.028, 0.035, 0.02, 0.04, 0.02, 0.04


class AndrewsSqueezer(Subsystem):
    """A motor turns K1 with 0.033 N m against the spring on K3; beta is the start angle of K1."""

    run_defaults = {"until": 0.03, "step": 1e-6, "every": 100}  # noqa: RUF012

    def __init__(self, *, beta: float = -0.0617138900142764496) -> None:
        theta, gamma, phi, delta, omega, epsilon = closed_angles(beta)
        self.ground = Ground()
        self.k1 = plate(0.04325, 2.194e-6)
        self.k2 = plate(0.00365, 4.410e-7)
        self.k3 = plate(0.02373, 5.255e-6)
        self.k4 = plate(0.00706, 5.667e-7)
        self.k5 = plate(0.07050, 1.169e-5)
        self.k6 = plate(0.00706, 5.667e-7)
        self.k7 = plate(0.05498, 1.912e-5)
        # each body in its own axes, origin at its centre of mass
        f1, f2, e2 = (RR - 0.00092, 0, 0), (0.0115, 0, 0), (0.0115 - D, 0, 0)
        b3, e3, d3 = (-0.01043, 0.01874, 0), (-0.01043, 0.01874 - SS, 0), (0.02 - 0.01043, 0.01874 - 0.018, 0)
        g4, e4 = (0, E - 0.01421, 0), (0, -0.01421, 0)
        a5, g5 = (-0.02308, -0.00916, 0), (ZT - 0.02308, -0.00916, 0)
        h6, e6 = (0.01421 - ZF, 0, 0), (0.01421, 0, 0)
        a7, h7 = (-0.00449, 0.01228, 0), (-0.00449, 0.01228 - U, 0)
        self.o = Revolute(self.ground, self.k1.at(-0.00092, 0, 0), axis="z", angle=beta)
        self.f = Revolute(self.k1.at(f1), self.k2.at(f2), axis="z", angle=theta)
        self.b = Revolute(self.ground.at(*B, 0), self.k3.at(b3), axis="z", angle=gamma)
        self.a5 = Revolute(self.ground.at(*A, 0), self.k5.at(a5), axis="z", angle=delta)
        self.g = Revolute(self.k5.at(g5), self.k4.at(g4), axis="z", angle=phi)
        self.a7 = Revolute(self.ground.at(*A, 0), self.k7.at(a7), axis="z", angle=epsilon)
        self.h = Revolute(self.k7.at(h7), self.k6.at(h6), axis="z", angle=omega)
        self.e2 = Revolute(self.k3.at(e3), self.k2.at(e2), axis="z")
        self.e4 = Revolute(self.k3.at(e3), self.k4.at(e4), axis="z")
        self.e6 = Revolute(self.k3.at(e3), self.k6.at(e6), axis="z")
        self.motor = JointEffort(self.o, 0.033)
        self.spring = SpringDamper(self.ground.at(*C, 0), self.k3.at(d3), k=4530, rest=0.07785)


def plate(mass: float, inertia: float) -> Body:
    """A flat body; only the moment about z matters in planar motion."""
    return Body(mass=mass, inertia=(inertia / 2, inertia / 2, inertia))


def closed_angles(beta: float) -> tuple[float, float, float, float, float, float]:
    """theta, gamma, phi, delta, omega, epsilon that close the loops at beta: three intersections of circles."""
    f = (RR * cos(beta), RR * sin(beta))
    e = meet(f, D, B, SS)
    g, h = meet(A, ZT, e, E), meet(e, ZF, A, U)
    gamma = atan2(e[0] - B[0], B[1] - e[1])
    delta = atan2(g[1] - A[1], g[0] - A[0])
    epsilon = atan2(h[0] - A[0], A[1] - h[1])
    theta = atan2(f[1] - e[1], f[0] - e[0]) - beta
    phi = atan2(e[0] - g[0], g[1] - e[1]) - delta
    omega = atan2(e[1] - h[1], e[0] - h[0]) - epsilon
    return (remainder(theta, 2 * pi), gamma, remainder(phi, 2 * pi), delta, remainder(omega, 2 * pi), epsilon)


def meet(p: tuple[float, float], a: float, q: tuple[float, float], b: float) -> tuple[float, float]:
    """The point at distance a from p and b from q, to the left of the line from p to q."""
    distance = hypot(q[0] - p[0], q[1] - p[1])
    turn = atan2(q[1] - p[1], q[0] - p[0]) + acos((a * a + distance * distance - b * b) / (2 * a * distance))
    return (p[0] + a * cos(turn), p[1] + a * sin(turn))
