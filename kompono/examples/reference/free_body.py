"""Bodies no joint holds: a symmetric top in free space, and a box thrown while it spins about its unstable axis.

kompono run examples/reference/free_body.py:ThrownBox --plot
"""

from __future__ import annotations

from kompono import Body, Subsystem
from kompono.library import Gravity, solids


class SymmetricTop(Subsystem):
    """Moments (0.04, 0.04, 0.02) kg m^2: the axis nods about the constant angular momentum."""

    run_defaults = {"until": 10.0, "step": 1e-2, "method": "dopri5", "rtol": 1e-10}  # noqa: RUF012

    def __init__(self) -> None:
        self.top = Body(mass=1.0, inertia=(0.04, 0.04, 0.02), start_angular_velocity=(2, -4, 5))


class ThrownBox(Subsystem):
    """The box of the boxes benchmark (Peters): it turns over again and again (Dzhanibekov)."""

    run_defaults = {"until": 10.0, "step": 1e-2, "method": "dopri5", "rtol": 1e-10}  # noqa: RUF012

    def __init__(self) -> None:
        self.gravity = Gravity((0, 0, -9.8))
        self.box = Body(
            solids.box(mass=10, size=(0.1, 0.4, 0.9)),
            start_velocity=(-2, 2, 8),
            start_angular_velocity=(0.1, 5, 0.1),
        )
