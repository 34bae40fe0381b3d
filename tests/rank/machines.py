"""Machines whose conditions depend on one another, turned in space at will: `turn` is a rotation vector [rad]."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from kompono import Body, Ground, Subsystem
from kompono.library import Gravity, Prismatic, Revolute, Universal

TURN = (0.3, -0.7, 1.1)  # no component of any axis stays zero
STILL = (0.0, 0.0, 0.0)


def turned(turn: Sequence[float]) -> Any:
    """A function of x, y, z that gives the vector turned."""
    matrix = Rotation.from_rotvec(turn).as_matrix()
    return lambda *vector: matrix @ np.array(vector, dtype=float)


def rod(mass: float, along: np.ndarray, length: float) -> Body:
    """A slender rod; what it has about its axis is small but not zero."""
    axis = np.outer(along, along)
    return Body(mass=mass, inertia=mass * length**2 * ((np.eye(3) - axis) / 12 + 1e-4 * axis))


def block(mass: float, size: float = 0.1) -> Body:
    return Body(mass=mass, inertia=mass * size * np.diag([1.0, 1.3, 1.1]))


class HangingPlate(Subsystem):
    """A plate on parallel rods with universal joints at both ends: it swings without turning, on two freedoms."""

    def __init__(self, rods: int, turn: Sequence[float] = STILL) -> None:
        t = turned(turn)
        self.ground, self.gravity, self.plate = Ground(), Gravity(t(0, 0, -9.81)), block(2.0)
        points = [(-0.5, -0.3, 0), (0.5, 0.3, 0), (0.5, -0.3, 0), (-0.5, 0.3, 0)][:rods]
        self.rods = [rod(0.3, t(0, 0, 1), 1.0) for _ in points]
        axes = {"first_axis": t(1, 0, 0), "second_axis": t(0, 1, 0)}
        start = {"angle1": 0.4, "angle2": 0.2, "angle1_rate": 1.0, "angle2_rate": 0.7}
        self.tops = [
            Universal(self.ground.at(t(*p)), one.at(t(0, 0, 0.5)), **axes, **(start if one is self.rods[0] else {}))
            for p, one in zip(points, self.rods, strict=True)
        ]
        self.bottoms = [
            Universal(self.plate.at(t(*p)), one.at(t(0, 0, -0.5)), **axes)
            for p, one in zip(points, self.rods, strict=True)
        ]


class Delta(Subsystem):
    """A Delta robot that falls: three arms, each with a pair of parallel rods on universal joints."""

    def __init__(self, turn: Sequence[float] = STILL) -> None:
        t = turned(turn)
        base, tool, arm, reach, half, lowered = 0.3, 0.1, 0.3, 0.7, 0.08, 0.3
        inwards = base + arm * np.cos(lowered) - tool
        tilt = np.arctan2(inwards, np.sqrt(reach**2 - inwards**2))
        self.ground, self.gravity, self.plate = Ground(), Gravity(t(0, 0, -9.81)), block(1.0, 0.02)
        directions = [Rotation.from_euler("z", 120 * k, degrees=True).as_matrix().T for k in range(3)]
        self.arms = [rod(0.5, t(*out), arm) for out, _, _ in directions]
        self.rods = [rod(0.1, t(0, 0, 1), reach) for _ in range(6)]
        hips, elbows, wrists = [], [], []
        for k, (out, across, up) in enumerate(directions):
            foot, hand = self.ground.at(t(*(base * out))), self.arms[k].at(t(*(-arm / 2 * out)))
            hips.append(Revolute(foot, hand, axis=t(*across), angle=lowered, angle_rate=0.5))
            axes = {"first_axis": t(*across), "second_axis": t(*out)}
            for side, one in zip((half, -half), self.rods[2 * k : 2 * k + 2], strict=True):
                upper = self.arms[k].at(t(*(arm / 2 * out + side * across)))
                lower = self.plate.at(t(*(tool * out + side * across)))
                elbows.append(Universal(upper, one.at(t(*(reach / 2 * up))), angle1=tilt - lowered, **axes))
                wrists.append(Universal(lower, one.at(t(*(-reach / 2 * up))), **axes))
        self.hips, self.elbows, self.wrists = hips, elbows, wrists


class ScissorRing(Subsystem):
    """Hoberman's ring of four pairs of angulated bars, held by two sliders; it passes through its own centre, where all
    pins of the pairs meet.
    """

    def __init__(self, turn: Sequence[float] = STILL, phase: float = 0.5) -> None:
        t, count = turned(turn), 4
        sector = 2 * np.pi / count
        cosine, sine = np.cos(sector / 2), np.sin(sector / 2)

        def ray(angle: float, radius: float) -> np.ndarray:
            return radius * np.array([np.cos(angle), np.sin(angle), 0.0])

        def corners(k: int, side: int, phase: float) -> tuple[np.ndarray, ...]:
            pin, shift = np.cos(phase) / sine, np.sin(phase)
            inner = ray(k * sector - side * sector / 2, pin * cosine + shift)
            outer = ray(k * sector + side * sector / 2, pin * cosine - shift)
            return inner, outer, ray(k * sector, pin)

        def turning(k: int, side: int) -> float:
            ends = [corners(k, side, phase + d) for d in (-1e-6, 1e-6)]
            before, after = (np.arctan2(*(e[1] - e[0])[1::-1]) for e in ends)
            return float(after - before) / 2e-6

        self.ground = Ground()
        self.right = [Body(mass=1.0, inertia=0.1 * np.eye(3)) for _ in range(count)]
        self.left = [Body(mass=1.0, inertia=0.1 * np.eye(3)) for _ in range(count)]

        def at(bar: Body, k: int, side: int, corner: int) -> Any:
            points = corners(k, side, phase)
            return bar.at(t(*(points[corner] - sum(points) / 3)))

        axis = t(0, 0, 1)
        self.pins = [
            Revolute(at(a, k, 1, 2), at(b, k, -1, 2), axis=axis, angle=0.0, angle_rate=turning(k, -1) - turning(k, 1))
            for k, (a, b) in enumerate(zip(self.right, self.left, strict=True))
        ]
        self.inner = [
            Revolute(at(self.right[k], k, 1, 0), at(self.left[k - 1], (k - 1) % count, -1, 0), axis=axis, angle=0.0)
            for k in range(count)
        ]
        self.outer = [
            Revolute(at(self.right[k], k, 1, 1), at(self.left[(k + 1) % count], (k + 1) % count, -1, 1), axis=axis)
            for k in range(count)
        ]
        self.sliders = [Body(mass=0.5, inertia=0.01 * np.eye(3)) for _ in range(2)]
        out, speed = np.cos(phase) / sine, -np.sin(phase) / sine
        self.slides = [
            Prismatic(self.ground, s, axis=t(*ray(k * sector, 1)), displacement=out, displacement_rate=speed)
            for k, s in enumerate(self.sliders)
        ]
        self.hubs = [
            Revolute(s, at(self.right[k], k, 1, 2), axis=axis, angle=0.0, angle_rate=turning(k, 1))
            for k, s in enumerate(self.sliders)
        ]


class Parallelogram(Subsystem):
    """Two cranks of 1 kg and a platform; passes through the position where all lie in one line."""

    def __init__(self, platform: float = 1.0, turn: Sequence[float] = STILL, unit: float = 1.0) -> None:
        t = turned(turn)
        axis, m = t(0, 0, 1), unit  # of length: 1000 if lengths are in mm
        self.ground = Ground()
        self.first, self.second = rod(1.0, t(1, 0, 0), m), rod(1.0, t(1, 0, 0), m)
        self.platform = Body(mass=platform, inertia=platform * 0.1 * m**2 * np.eye(3))
        start = {"angle": 0.6, "angle_rate": 2.0}
        back = {"angle": -0.6, "angle_rate": -2.0}
        self.foot = Revolute(self.ground, self.first.at(m * t(-0.5, 0, 0)), axis=axis, **start)
        self.knee = Revolute(self.first.at(m * t(0.5, 0, 0)), self.platform.at(m * t(-0.6, 0, 0)), axis=axis, **back)
        self.other = Revolute(self.ground.at(m * t(1.2, 0, 0)), self.second.at(m * t(-0.5, 0, 0)), axis=axis, **start)
        self.closing = Revolute(self.second.at(m * t(0.5, 0, 0)), self.platform.at(m * t(0.6, 0, 0)), axis=axis)


class Sarrus(Subsystem):
    """Two folding pairs of plates at right angles lift a top straight up: six revolutes, one freedom."""

    def __init__(self, turn: Sequence[float] = STILL) -> None:
        t = turned(turn)
        self.ground, self.gravity, self.top = Ground(), Gravity(t(0, 0, -1.0)), block(1.0)
        self.lower = [rod(0.3, t(0, 0, 1), 1.0) for _ in range(2)]
        self.upper = [rod(0.3, t(0, 0, 1), 1.0) for _ in range(2)]
        places, axes = [t(0.5, 0, 0), t(0, 0.5, 0)], [t(0, 1, 0), t(-1, 0, 0)]
        once, twice = {"angle": 0.5, "angle_rate": 0.5}, {"angle": -1.0, "angle_rate": -1.0}
        low, high = t(0, 0, -0.5), t(0, 0, 0.5)
        sides = list(zip(places, axes, self.lower, self.upper, strict=True))
        self.feet = [Revolute(self.ground.at(p), one.at(low), axis=a, **once) for p, a, one, _ in sides]
        self.knees = [Revolute(one.at(high), other.at(low), axis=a, **twice) for _, a, one, other in sides]
        self.hinges = [Revolute(other.at(high), self.top.at(p), axis=a) for p, a, _, other in sides]


class Drawer(Subsystem):
    """A drawer that slides down on parallel rails, as many as one likes."""

    def __init__(self, rails: int = 3, turn: Sequence[float] = STILL) -> None:
        t = turned(turn)
        self.ground, self.gravity, self.drawer = Ground(), Gravity(t(0, 0, -9.81)), block(2.0)
        points = [t(-0.3, 0, 0), t(0.3, 0, 0), t(0, 0, 0.2), t(0.1, 0.2, 0.3)][:rails]
        self.rails = [Prismatic(self.ground.at(p), self.drawer.at(p), axis=t(0, 0.8, 0.6)) for p in points]
