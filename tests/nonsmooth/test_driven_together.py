"""What is driven into a stop, or onto the floor, goes through nothing: the run ends there, and says why."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from kompono import Body, Ground, Subsystem, simulate, time
from kompono.library import Contact, Drive, Gravity, Prismatic


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
