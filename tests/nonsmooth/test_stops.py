"""Stops, limits of joints, and gears with play: impacts, what stays closed, momentum and energy; where they are
refused.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest
from nonsmooth.known import names, times
from nonsmooth.shafts import Arm, Shafts

from kompono import (
    Body,
    Event,
    Ground,
    Mode,
    ModelError,
    Parameter,
    Result,
    Subsystem,
    inspect,
    simulate,
    simulate_many,
    time,
)
from kompono.library import (
    Backlash,
    Cylindrical,
    EndStops,
    Free,
    Gear,
    Gravity,
    JointEffort,
    Planar,
    Prismatic,
    Revolute,
    Screw,
    Spherical,
    Universal,
    solids,
)
from kompono.translate.declared.sameness import fingerprint


def run(model: Subsystem, until: float, **options: Any) -> Result:
    result = simulate(model, until=until, **({"step": 1e-3} | options))
    assert result.status.ok
    return result


class Cart(Subsystem):
    """A cart between two stops, pushed to and fro."""

    def __init__(self, e: float, push: Any = 0.0, upper: Any = 1.0) -> None:
        self.ground, self.far = Ground(), Parameter(1.0)
        self.body = Body(solids.point(mass=2.0))
        self.slide = Prismatic(self.ground, self.body, axis="x", displacement_rate=1.0)
        self.push = JointEffort(self.slide, push)
        self.stops = EndStops(self.slide, -1.0, self.far if upper is None else upper, restitution=e)


def test_a_cart_goes_to_and_fro() -> None:
    result = run(Cart(0.5), 14.5)
    assert names(result) == ["stops.upper.strikes", "stops.lower.strikes", "stops.upper.strikes"]
    assert np.allclose(times(result), [1.0, 5.0, 13.0], rtol=0, atol=1e-10)


def test_a_stop_holds_until_it_is_pulled_off() -> None:
    result = run(Cart(0.0, push=2.0 - time), 3.0)
    assert names(result) == ["stops.upper.strikes", "stops.upper.closes", "stops.upper.opens"]
    assert abs(times(result)[-1] - 2.0) < 1e-9
    held = (result.time > times(result)[0] + 1e-6) & (result.time < 2.0 - 1e-6)
    assert np.abs(result["slide.displacement"][held] - 1.0).max() < 1e-11
    assert np.abs(result["slide.displacement.rate"][held]).max() < 1e-30


def test_stops_that_move_and_stops_by_parameters() -> None:
    moving = run(Cart(1.0, upper=2.0 - time), 1.5)
    assert abs(times(moving)[0] - 1.0) < 1e-10
    assert abs(moving["slide.displacement.rate"][-1] + 3.0) < 1e-12
    given = run(Cart(1.0, upper=None), 0.8, parameters={"far": 0.5})
    assert abs(times(given)[0] - 0.5) < 1e-10


class Shelf(Subsystem):
    """A mass on a shelf, which an event or a sample at half a second lowers, or lifts, at once."""

    def __init__(self, drop: float, sampled: bool) -> None:
        self.ground, self.gravity, self.body = Ground(), Gravity(), Body(solids.point(mass=2.0))
        self.lower = Mode(0.0, every=0.5) if sampled else Mode(0.0)
        if sampled:
            self.lower.next = ca.if_else(time > 0.4, drop, 0.0)
        else:
            self.go = Event(time - 0.5, {self.lower: drop})
        self.slide = Prismatic(self.ground, self.body, axis="z")
        self.shelf = EndStops(self.slide, -self.lower)


@pytest.mark.parametrize(("sampled", "options"), [(False, {}), (True, {}), (False, {"closed": ["part"]})])
def test_what_bears_is_taken_away_at_once(sampled: bool, options: dict[str, Any]) -> None:
    """It fell with the shelf in no time."""
    whole = Subsystem()
    whole.add("part", Shelf(0.01, sampled))
    result = run(whole, 0.6, **options)
    falls = [name.rpartition(".")[2] for name in names(result) if "shelf" in name]
    assert falls == ["opens", "strikes", "closes"]
    assert abs(times(result, "shelf.lower.strikes")[0] - 0.5 - np.sqrt(0.02 / 9.81)) < 1e-9
    assert np.abs(np.diff(result["part.slide.displacement"])).max() < 1e-3
    assert abs(result["part.slide.displacement"][-1] + 0.01) < 1e-9


def test_so_it_is_in_many_runs() -> None:
    """On lanes a sample that took a shelf away ended all of them with an error of Python's."""
    alone = run(Shelf(0.01, True), 0.6)
    many = simulate_many(Shelf(0.01, True), initial={"slide.displacement": np.zeros(5)}, until=0.6, step=1e-3)
    assert not many.failed
    assert np.abs(many["slide.displacement"] - alone["slide.displacement"][-1])[:, -1].max() < 1e-9


@pytest.mark.filterwarnings("ignore:Shelf did not run as planned")
def test_what_is_put_inside_of_something_ends_the_run() -> None:
    """It was lifted in no time."""
    result = simulate(Shelf(-0.01, False), until=0.6)
    assert not result.status.ok
    assert result.status.message.startswith("shelf.lower: the gap is -0.01: two bodies overlap")
    assert abs(result["slide.displacement"]).max() < 1e-12


def test_limits_of_a_joint_are_stops() -> None:
    class Stopped(Arm):
        def __init__(self) -> None:
            super().__init__()
            self.stops = EndStops(self.pin, lower=-0.3, restitution=0.5)

    limited, stopped = run(Arm(limits=(-0.3, None), restitution=0.5), 3.0), run(Stopped(), 3.0)
    assert set(names(limited)) == {"pin.limits.lower.strikes"}
    assert set(names(stopped)) == {"stops.lower.strikes"}
    assert times(limited) == times(stopped)
    assert limited["pin.angle"].min() > -0.3 - 1e-10


def test_limits_are_members_with_their_joint() -> None:
    model = Arm(limits=(-0.3, 2.0))
    assert model.find("pin.limits").path == "pin.limits"
    assert "pin.limits: Stops" in str(inspect(model))
    model.pin = model.pin
    assert "pin.limits" in model.members
    model.pin = Revolute(model.ground, model.rod)
    assert "pin.limits" not in model.members

    class Legs(Subsystem):
        def __init__(self) -> None:
            self.ground, self.gravity = Ground(), Gravity()
            self.legs = [Body(solids.rod(mass=1.0, length=1.0, radius=0.01)) for _ in range(2)]
            self.hips = [
                Revolute(self.ground, leg.at(0, 0, 0.5), axis="y", angle=1.0, limits=(0.1 * k, None))
                for k, leg in enumerate(self.legs)
            ]

    assert {name for name in names(run(Legs(), 1.0)) if "strikes" in name} == {
        "hips.0.limits.lower.strikes", "hips.1.limits.lower.strikes",
    }  # fmt: skip


def test_limits_have_part_in_the_name_of_a_translation() -> None:
    given: list[dict[str, Any]] = [{}, {"limits": (0, 2)}, {"limits": (0.1, 2)}, {"limits": (0, 2), "restitution": 0.5}]
    assert len({fingerprint(Arm(**options), 0) for options in given}) == 4


def test_limits_by_coordinate() -> None:
    class Plate(Subsystem):
        def __init__(self) -> None:
            self.ground = Ground()
            self.body = Body(mass=1.0, inertia=(1, 1, 1))
            limits = {"x": (-1, 0.1), "angle": (None, 0.5)}
            self.joint = Planar(
                self.ground, self.body, x_rate=0.5, y_rate=0.3, angle_rate=1.0, limits=limits, restitution=0.5
            )
            self.stops = EndStops(self.joint, upper=0.1, coordinate="y")

    result = run(Plate(), 1.0)
    assert names(result) == ["joint.limits.x.upper.strikes", "stops.upper.strikes", "joint.limits.angle.upper.strikes"]
    assert np.allclose(times(result), [0.2, 1 / 3, 0.5], rtol=0, atol=1e-9)


@pytest.mark.parametrize("closed", [False, True])
def test_limits_inside_a_part(closed: bool) -> None:
    class Owner(Subsystem):
        def __init__(self) -> None:
            self.part = Arm(limits=(-0.3, None), restitution=0.5)
            self.part.closed = closed

    alone, inside = run(Arm(limits=(-0.3, None), restitution=0.5), 2.0), run(Owner(), 2.0)
    assert names(inside) == [f"part.{name}" for name in names(alone)]
    assert np.allclose(times(alone), times(inside), rtol=0, atol=1e-12)


# -- gears with play


def test_flanks_strike_and_keep_momentum() -> None:
    made = Shafts(lambda m: Gear(m.first, m.second, ratio=-0.5, backlash=0.01, restitution=0.3), rates=(3.0, 0.0))
    result = run(made, 0.5)
    assert names(result)[:3] == ["law.drive.strikes", "law.coast.strikes", "law.drive.strikes"]
    speed = 3.0 * 0.3 ** np.arange(4)
    wanted = np.cumsum([0.005 / 3.0, *(0.01 / speed[1:])])  # half the play, then the whole of it, ever slower
    assert np.allclose(times(result), wanted, rtol=0, atol=1e-9)
    momentum = result["first.angle.rate"] - 0.5 * 2.0 * result["second.angle.rate"]
    assert np.abs(momentum - 3.0).max() < 1e-12


def test_a_driven_gear_settles_on_its_flank() -> None:
    made = Shafts(lambda m: Gear(m.first, m.second, ratio=-0.5, backlash=0.01, restitution=0.3), torques=(1.0, 0.0))
    result = run(made, 1.0)
    assert names(result)[-1] == "law.drive.closes"
    assert len(times(result)) < 20
    w = [result[f"{name}.angle.rate"][-1] for name in ("first", "second")]
    assert abs(w[1] + 0.5 * w[0]) < 1e-12
    assert abs(w[0] - 1.0 * 2.0 * w[1] / 2 - 1.0) < 1e-10  # w1 - ratio J2 w2 = t
    lag = result["second.angle"][-1] + 0.5 * result["first.angle"][-1]
    assert abs(lag - 0.0025) < 1e-11


@pytest.mark.parametrize("seed", range(5))
def test_energy_never_grows_between_flanks(seed: int) -> None:
    random = np.random.default_rng(seed)
    ratio, play, e = random.uniform(-3, 3), random.uniform(0.001, 0.1), random.uniform(0, 1)
    made = Shafts(lambda m: Gear(m.first, m.second, ratio=ratio, backlash=play, restitution=e),
                  rates=random.uniform(-5, 5, 2))  # fmt: skip
    result = run(made, 2.0)
    energy = result["first.angle.rate"] ** 2 / 2 + result["second.angle.rate"] ** 2
    assert len(times(result)) > 1
    assert np.diff(energy).max() < 1e-12 * energy[0]


def test_a_gear_without_play_is_what_it_was() -> None:
    for given in ({}, {"backlash": 0.0}, {"backlash": None}):
        made = Shafts(lambda m, given=given: Gear(m.first, m.second, ratio=2.0, **given))
        assert type(made.law) is Gear
    assert isinstance(Shafts(lambda m: Gear(m.first, m.second, ratio=2.0, backlash=0.1)).law, Backlash)


def _joint(kind: type = Revolute, **given: Any) -> Any:
    return kind(Ground(), Body(mass=1.0, inertia=(1, 1, 1)), **given)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: EndStops(_joint()), "neither a lower nor an upper"),
        (lambda: EndStops(_joint(), 1.0, 1.0), "not below"),
        (lambda: EndStops(_joint(), 0.0, 1.0, restitution=1.5), "between 0 and 1"),
        (lambda: EndStops(_joint(Planar), 0.0, 1.0), "Say which"),
        (lambda: EndStops(_joint(Spherical), 0.0, 1.0, coordinate="e0"), "neither an angle nor a length"),
        (lambda: EndStops(3, 0.0, 1.0), "not a joint"),
        (lambda: _joint(limits=(2, 1)), "Revolute: the lower limit"),
        (lambda: _joint(limits=3.0), "no pair"),
        (lambda: _joint(limits=(0, "1")), "not a number"),
        (lambda: _joint(limits=(None, None)), "neither a lower"),
        (lambda: _joint(limits={"turn": (0, 1)}), "no coordinate"),
        (lambda: _joint(limits={}), "no limits"),
        (lambda: _joint(limits=(0, 1), restitution=-1), "Revolute: the restitution"),
        (lambda: _joint(Planar, limits=(0, 1)), "Say which"),
        (lambda: _joint(Spherical, limits={"e1": (0, 1)}), "no limit of 'e1'"),
        (lambda: Gear(_joint(), _joint(), ratio=1.0, backlash=-1.0), "not positive"),
        (lambda: Gear(_joint(), _joint(), ratio=0.0, backlash=1.0), "ratio 0"),
        (lambda: Gear(*[_joint()] * 2, ratio=2.0, backlash=0.1), "the same coordinate"),
        (lambda: Gear(_joint(), _joint(), ratio=1.0, backlash="much"), "not a number"),
    ],
)
def test_wrong_arguments(make: Any, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        make()


@pytest.mark.parametrize(
    ("kind", "given"),
    [(Revolute, {}), (Prismatic, {}), (Screw, {"pitch": 0.1}), (Cylindrical, {}), (Universal, {}), (Free, {})],
)
def test_every_joint_takes_limits(kind: type, given: dict[str, Any]) -> None:
    first = kind.coordinates[0]
    assert _joint(kind, limits={first: (-1, 1)}, **given).limits == {first: (-1, 1)}
