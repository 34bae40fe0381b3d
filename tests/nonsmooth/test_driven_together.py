"""What is driven into a stop, or onto the floor, goes through nothing: the run ends there, and says why."""

from __future__ import annotations

import warnings
from typing import Any

import casadi as ca
import pytest

from kompono import Body, Ground, Subsystem, simulate, time
from kompono.library import Contact, Drive, Gravity, JointEffort, Prismatic


class Press(Subsystem):
    """A ram is driven down onto a floor, or, where that is given, onto the end of its guide."""

    def __init__(self, **given: Any) -> None:
        self.floor, self.gravity = Ground(), Gravity()
        self.ram = Body(mass=1.0, inertia=(1.0, 1.0, 1.0))
        self.guide = Prismatic(self.floor, self.ram, axis="z", displacement=0.2, displacement_rate=-1.0, **given)
        self.drive = Drive(self.guide, 0.2 - time)
        if not given:
            self.touch = Contact(self.floor.plane(), self.ram.point(), mu=0.3, restitution=0.5)


@pytest.mark.parametrize("options", [{}, {"engine": "absolute"}, {"method": "dopri5"}, {"contact": "steps"}])
@pytest.mark.parametrize("given", [{}, {"limits": (0.0, 1.0), "restitution": 0.5}])
def test_nothing_is_driven_through_what_it_meets(given: dict[str, Any], options: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = simulate(Press(**given), until=0.5, **options)
    assert result.status.kind == "no forces fit"
    assert abs(result.status.time - 0.2) < 1e-9
    path = "guide.limits.lower" if given else "touch"
    assert f"{path} (nothing gives way there" in result.status.message


class Picked(Subsystem):
    """Two driven jaws lift a block that stands on the floor."""

    def __init__(self) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.block = Body(mass=2.0, inertia=(0.01, 0.01, 0.01), start_position=(0, 0, 0.05))
        self.arm, self.jaw = (Body(mass=1.0, inertia=(0.01, 0.01, 0.01)) for _ in range(2))
        self.up = Prismatic(self.ground, self.arm, axis="z")
        self.lift = Drive(self.up, 0.2 * ca.fmax(time - 0.01, 0) ** 3)
        self.slide = Prismatic(self.arm, self.jaw, axis="x", displacement=0.05)
        self.squeeze = JointEffort(self.slide, -50.0)
        self.feet = Contact(self.ground.plane(), self.block.at(0, 0, -0.05).corners((0.1, 0.1, 0)), mu=0.3)
        fixed, face = self.arm.at(-0.05, 0, 0.05), (0, 0.06, 0.06)
        self.left = Contact(fixed.plane("x"), self.block.at(-0.05, 0, 0).corners(face), mu=0.5)
        self.right = Contact(self.jaw.at(0, 0, 0.05).plane("-x"), self.block.at(0.05, 0, 0).corners(face), mu=0.5)


@pytest.mark.filterwarnings("ignore:Picked did not run as planned")
def test_what_is_torn_from_two_sides_is_not_fine() -> None:
    """Jaws and floor held on, while the jaws went up: the status was ok."""
    result = simulate(Picked(), until=0.1)
    assert not result.status.ok or result["block.position.z"][-1] > 0.05
