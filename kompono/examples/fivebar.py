"""A robot with a closed loop from URDF: a five-bar whose tip draws a circle.

kompono run examples/fivebar.py --plot   2 s: two motors turn the upper arms
kompono view examples/fivebar.py --run   the robot on a page

URDF has no loops: the file is a tree, and `loops=` says which frames are one point. The motors follow angles that
belong to a circle of the tip, found here by intersecting circles.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import casadi as ca

from kompono import Output, Subsystem, load, time
from kompono.library import JointEffort, Rotor

FILE = Path(__file__).with_name("fivebar.urdf")
UPPER, FORE, BASE = 0.2, 0.25, 0.2  # m, lengths of the file
TOP, RADIUS, PERIOD = (0.1, 0.35193887551981246), 0.04, 1.0  # of the circle [m, s]; its top is the tip in the file


class FiveBar(Subsystem):
    """The arm of the file with a motor and its rotor on each upper arm."""

    run_defaults: ClassVar[dict[str, Any]] = {"until": 2.0, "step": 1e-3}

    def __init__(self, *, stiffness: float = 400.0, damping: float = 12.0) -> None:
        self.arm = load(FILE, loops=[("left_tip", "right_tip", "3d")])
        self.arm.expose(self.arm.left, self.arm.right)
        grow = 1 - ca.exp(-8 * time)  # the circle opens gently
        turn = 2 * ca.pi * time / PERIOD
        x, y = TOP[0] + grow * RADIUS * ca.sin(turn), TOP[1] + grow * RADIUS * (ca.cos(turn) - 1)
        wanted = {"left": _angle(x, y, 1.0) - 2.0, "right": _angle(x - BASE, y, -1.0) - (ca.pi - 2.0)}
        joints = {"left": self.arm.left, "right": self.arm.right}
        self.rotors = {name: Rotor(joint, inertia=2e-5, ratio=10.0) for name, joint in joints.items()}
        self.targets = {name: Output(angle, unit="rad") for name, angle in wanted.items()}
        self.motors = {
            name: JointEffort(joint, stiffness * (angle - joint.angle) + damping * (_rate(angle) - joint.angle_rate))
            for (name, angle), joint in zip(wanted.items(), joints.values(), strict=True)
        }


def _angle(x: Any, y: Any, side: float) -> Any:
    """The angle of an upper arm whose elbow is on that side of the way to the tip at (x, y)."""
    away = ca.sqrt(x**2 + y**2)
    return ca.atan2(y, x) + side * ca.acos((UPPER**2 + away**2 - FORE**2) / (2 * UPPER * away))


def _rate(angle: Any) -> Any:
    """How fast a target changes."""
    return ca.jacobian(angle, time)


if __name__ == "__main__":
    print(FiveBar().arm.imported)
