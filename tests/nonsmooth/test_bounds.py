"""Numbers of laws that expressions take out of their bounds: refused, or none, but never friction that pushes."""

from __future__ import annotations

import warnings
from typing import Any

import casadi as ca
import pytest

from kompono import Body, Ground, KomponoError, PairLaw, Parameter, Result, Subsystem, Unit, simulate, time
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


@pytest.mark.parametrize("parameters", [{"rough": -0.2}, {"back": 1.5}, {"back": -0.1}])
def test_so_does_one_of_a_soft_law(parameters: dict[str, float]) -> None:
    result = run(Thrown(), 1.0, parameters=parameters, contact="soft")
    assert result.status.kind == "not finite"
    assert "touch: its coefficient is not a number" in result.status.message
    assert "out of its bounds" in result.status.message
    assert abs(result.status.time - (2 * 0.5 / G) ** 0.5) < 2e-3


@pytest.mark.parametrize(
    "numbers", [{"restitution": 1.5}, {"restitution": -0.5}, {"mu": -0.1}, {"mu": 0.5, "mu_static": 0.1},
                {"limit": -1.0}, {"limit": 2.0, "limit_static": 1.0}, {"stiffness": 0.0}],
    ids=lambda numbers: "-".join(numbers),
)  # fmt: skip
def test_numbers_of_a_law_of_ones_own_are_refused_by_its_path(numbers: dict[str, float]) -> None:
    class Touching(PairLaw):
        def units(self, motion: Any) -> Unit:
            return Unit(gap=motion.position[2], slip=motion.velocity[:2], **numbers)

    class Own(Thrown):
        def __init__(self) -> None:
            super().__init__()
            self.own = Touching(self.floor, self.crumb)

    with pytest.raises(KomponoError, match=r"^own: .*(unit|stiffness)") as caught:
        simulate(Own(), until=0.1)
    assert caught.value.fix


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
