"""Bennett's linkage: four skew hinges that should be locked by counting, and yet move.

kompono run examples/reference/bennett.py --plot
"""

from __future__ import annotations

from math import atan, pi, sin, tan

from kompono import Body, Ground, Subsystem, rotation
from kompono.library import Revolute, solids


class Bennett(Subsystem):
    """Opposite links are equal: length and twist (a, alpha) and (b, beta), a / sin alpha = b / sin beta.

    Link 1 is the ground; hinge k joins link k - 1 and link k, its angle is theta_k of Denavit and Hartenberg. `angle`
    is theta_2; `off` spoils the other start angles, to see them put right by assembly.
    """

    run_defaults = {"until": 5.0, "step": 1e-3}  # noqa: RUF012

    def __init__(
        self,
        *,
        a: float = 1.0,
        alpha: float = pi / 6,
        beta: float = 7 * pi / 18,
        angle: float = 1.0,
        speed: float = 1.0,
        off: float = 0.0,
    ) -> None:
        b = a * sin(beta) / sin(alpha)
        lengths, twists = (a, b, a, b), (alpha, beta, alpha, beta)
        other = 2 * atan(sin((beta + alpha) / 2) / sin((beta - alpha) / 2) / tan(angle / 2))  # theta_1
        self.ground = Ground()
        self.links = [Body(solids.rod(mass=1.0, length=n, radius=0.05, axis="x")) for n in lengths[1:]]
        starts = [self.ground, *(link.at(-n / 2, 0, 0) for link, n in zip(self.links, lengths[1:], strict=True))]
        ends = [
            body.at(x, 0, 0, orientation=rotation("x", twist))
            for body, x, twist in zip([self.ground, *self.links], (a, b / 2, a / 2, b / 2), twists, strict=True)
        ]
        self.hinge2 = Revolute(ends[0], starts[1], axis="z", angle=angle, angle_rate=speed)
        self.hinge3 = Revolute(ends[1], starts[2], axis="z", angle=-other + off)
        self.hinge4 = Revolute(ends[2], starts[3], axis="z", angle=-angle - off)
        self.hinge1 = Revolute(ends[3], starts[0], axis="z")
