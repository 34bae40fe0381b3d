"""A toggle press from a CAD assembly: bodies, masses, shapes and colours of a STEP file, joints written here.

kompono run examples/press.py --plot   1 s: the flywheel runs down, the ram goes up and down
kompono view examples/press.py --run   the drawn parts, moving
kompono import press.step --out p.py   the file this one began as: bodies, and a place to write joints

STEP has no joints. The drawing says where parts are, `cad.frame("rod", (0.06, 0, 0))` is a point of a part in its own
drawing, so that every joint is one line. Needs `pip install 'kompono[cad]'`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from kompono import Subsystem, load
from kompono.library import Gravity, Prismatic, Revolute, Rotor

FILE = Path(__file__).with_name("press.step")
THICK = 0.01  # m, of all plates: parts lie on one another


class Press(Subsystem):
    """The stand is fixed; crank, rod and ram move with one freedom. `flywheel` [kg m^2] turns with the crank."""

    run_defaults: ClassVar[dict[str, Any]] = {"until": 1.0, "step": 1e-3}

    def __init__(self, *, density: float = 7850.0, flywheel: float = 5e-3, speed: float = 15.0) -> None:
        self.cad = load(FILE, density=density, fixed="stand", gravity=False)
        self.cad.expose(self.cad.stand, self.cad.crank, self.cad.rod, self.cad.ram)
        self.gravity = Gravity((0, -9.81, 0))
        frame = self.cad.frame
        self.pivot = Revolute(frame("stand", (0, 0.1, THICK)), frame("crank", (-0.03, 0, 0)), angle_rate=speed)
        self.pin = Revolute(frame("crank", (0.03, 0, THICK)), frame("rod", (0.06, 0, 0)))
        self.eye = Revolute(frame("rod", (-0.06, 0, -2 * THICK)), frame("ram", (0, 0.01, 0)))
        self.guide = Prismatic(frame("stand"), frame("ram"), axis="y")
        self.flywheel = Rotor(self.pivot, inertia=flywheel)


if __name__ == "__main__":
    print(Press().cad.imported)
