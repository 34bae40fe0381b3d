"""Numbers of laws that expressions take out of their bounds: refused, or none, but never friction that pushes."""

from __future__ import annotations

import warnings
from typing import Any

import casadi as ca
import pytest

from kompono import Body, Ground, Parameter, Result, Subsystem, simulate, time
from kompono.library import Brake, Contact, Gravity, Revolute

G = 9.81


class Thrown(Subsystem):
    """A crumb is thrown onto a floor whose friction grows along the way; before the way begins it would be negative."""

    def __init__(self) -> None:
        self.floor, self.gravity = Ground(), Gravity()
        self.rough, self.back = Parameter(0.2), Parameter(0.0)
        self.crumb = Body(mass=1.0, inertia=(1, 1, 1), start_position=(-1, 0, 0.5), start_velocity=(4, 0, 0))
        mu = self.rough * self.crumb.position[0]
        self.touch = Contact(self.floor.plane(), self.crumb.point(), mu=mu, restitution=self.back)


def run(model: Subsystem, until: float, **options: Any) -> Result:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return simulate(model, until=until, **options)


@pytest.mark.parametrize("parameters", [{"rough": -0.2}, {"back": 1.5}, {"back": -0.1}])
def test_a_coefficient_out_of_its_bounds_ends_the_run_where_it_matters(parameters: dict[str, float]) -> None:
    result = run(Thrown(), 1.0, parameters=parameters)
    assert result.status.kind == "no forces fit"
    assert f"touch: {'mu' if 'rough' in parameters else 'restitution'} is out of its bounds" in result.status.message
    assert abs(result.status.time - (2 * 0.5 / G) ** 0.5) < 1e-9


def test_what_is_open_may_have_any_number() -> None:
    result = run(Thrown(), 1.0).check()
    names = [name for _, name in result.statistics["events"]]
    assert names == ["touch.strikes", "touch.closes", "touch.slips"]


def test_a_brake_whose_limit_falls_below_zero_lets_go() -> None:
    class Braked(Subsystem):
        def __init__(self) -> None:
            self.ground, self.rotor = Ground(), Body(mass=1, inertia=(1, 1, 1))
            self.pin = Revolute(self.ground, self.rotor, angle_rate=3.0)
            self.brake = Brake(self.pin, limit=ca.cos(time))

    result = run(Braked(), 4.0).check()
    assert abs(result["pin.angle.rate"][-1] - 2.0) < 1e-6  # a step lies over the corner of the limit
