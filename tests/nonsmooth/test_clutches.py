"""Clutches, brakes and freewheels between joints and between frames; order of declaration; where they are refused."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import casadi as ca
import numpy as np
import pytest
from nonsmooth.known import names, times
from nonsmooth.rubbing_machines import Clutches
from nonsmooth.shafts import Shafts

from kompono import Body, Ground, Input, ModelError, Result, Subsystem, simulate, time
from kompono.library import Brake, Clutch, FreeWheel, JointEffort, Planar, Prismatic, Revolute


def run(model: Subsystem, until: float, **options: Any) -> Result:
    result = simulate(model, until=until, **({"step": 1e-3} | options))
    assert result.status.ok
    return result


def rates(result: Result) -> np.ndarray:
    return np.array([result[f"{name}.angle.rate"][-1] for name in ("first", "second")])


BETWEEN = {"joints": lambda m: (m.first, m.second), "frames": lambda m: (m.a, m.b)}
between = pytest.mark.parametrize("pair", BETWEEN.values(), ids=BETWEEN)


@between
def test_a_clutch_brings_two_shafts_to_one_speed(pair: Any) -> None:
    result = run(Shafts(lambda m: Clutch(*pair(m), mu=0.25, normal=10.0, radius=0.2, faces=2), rates=(3.0, 0.0)), 3.0)
    assert names(result) == ["law.sticks"]
    assert abs(times(result)[0] - 2.0) < 1e-9
    assert np.allclose(rates(result), 1.0, rtol=0, atol=1e-11)


@between
def test_a_clutch_slips_when_the_torque_is_too_large(pair: Any) -> None:
    # it carries two thirds of the torque on the first shaft, 2 t, and gives way at 1.2 N m
    made = Shafts(lambda m: Clutch(*pair(m), limit=1.0, limit_static=1.2), torques=(2 * time, 0.0))
    result = run(made, 2.0)
    assert names(result) == ["law.slips"]
    assert abs(times(result)[0] - 0.9) < 1e-9
    assert np.allclose(rates(result), [0.27 + 4.0 - 0.81 - 1.1, 0.27 + 1.1 / 2], rtol=0, atol=1e-10)


def test_a_clutch_that_is_pulled_open_carries_nothing() -> None:
    result = run(Shafts(lambda m: Clutch(m.first, m.second, mu=1.0, normal=-5.0 - time), rates=(3.0, 0.0)), 1.0)
    assert names(result) == []
    assert np.allclose(rates(result), [3.0, 0.0], rtol=0, atol=1e-12)


@between
def test_a_freewheel_drives_one_way_and_runs_ahead_the_other(pair: Any) -> None:
    made = Shafts(lambda m: FreeWheel(*pair(m)), torques=(3 * ca.cos(3 * time), 0.0))
    result = run(made, 3.0)
    assert names(result)[0] == "law.opens"
    assert abs(times(result)[0] - np.pi / 6) < 1e-9
    ahead = result["second.angle.rate"] - result["first.angle.rate"]
    assert ahead.min() > -1e-12
    # alone, the first shaft has the speed sin(3 t) - 2/3: it never comes up with the other, at 1/3, again
    assert np.allclose(rates(result), [np.sin(9.0) - 2 / 3, 1 / 3], rtol=0, atol=1e-10)


@between
def test_a_freewheel_closes_where_the_inner_shaft_comes_up(pair: Any) -> None:
    result = run(Shafts(lambda m: FreeWheel(*pair(m)), rates=(0.0, 1.0), torques=(3 * time, 0.0)), 2.0)
    assert names(result) == ["law.closes"]
    assert abs(times(result)[0] - np.sqrt(2 / 3)) < 1e-9
    assert np.allclose(rates(result), (2.0 + 1.5 * 4) / 3, rtol=0, atol=1e-10)


def test_a_freewheel_that_is_overtaken_at_the_start_grips_at_once() -> None:
    result = run(Shafts(lambda m: FreeWheel(m.first, m.second), rates=(1.0, 0.0)), 0.1)
    assert np.allclose(rates(result), 1 / 3, rtol=0, atol=1e-12)


def test_a_brake_between_frames() -> None:
    made = Shafts(lambda m: Brake(m.ground, m.b, mu=0.5, normal=4.0, radius=0.5), rates=(3.0, 1.0))
    result = run(made, 3.0)
    assert abs(times(result)[0] - 2.0) < 1e-9
    assert np.allclose(rates(result), [3.0, 0.0], rtol=0, atol=1e-12)


class Pressed(Subsystem):
    """Two shafts and a clutch whose pressure comes from outside."""

    def __init__(self) -> None:
        self.pressure = Input(0.0)
        self.shafts = Shafts(lambda m: None, rates=(3.0, 0.0))
        self.shafts.expose(self.shafts.first, self.shafts.second)
        self.clutch = Clutch(self.shafts.first, self.shafts.second, normal=self.pressure, mu=0.5)


def test_a_clutch_of_the_owner_with_a_pressure_from_outside() -> None:
    result = run(Pressed(), 3.0, inputs={"pressure": ([0.0, 1.0, 3.0], [0.0, 2.0, 2.0])})
    assert names(result) == ["clutch.sticks"]
    assert abs(times(result)[0] - 2.5) < 1e-9  # 3 rad/s = 1.5 (t - 0.5) / 1 s^2


class Permuted(Clutches):
    """The same clutches, declared in another order."""

    def __init__(self, order: tuple[int, ...]) -> None:
        super().__init__()
        made = self.clutches
        self.clutches = None
        self.turned = {f"c{k}": made[k] for k in order}


def test_the_order_of_declaration_does_not_matter() -> None:
    found = [sorted(run(Permuted(order), 1.5).statistics["events"]) for order in permutations(range(3))]
    for events in found[1:]:
        assert [name for _, name in events] == [name for _, name in found[0]]
        assert np.allclose([at for at, _ in events], [at for at, _ in found[0]], rtol=0, atol=1e-12)


class Chain(Subsystem):
    """Ten shafts in a row with nine clutches of different limits: many switch one after the other."""

    def __init__(self, turned: bool) -> None:
        self.ground = Ground()
        self.discs = [Body(mass=1.0, inertia=(1.0, 1.0, 1.0 + 0.1 * k)) for k in range(10)]
        self.shafts = [Revolute(self.ground, d, angle_rate=float(k % 3)) for k, d in enumerate(self.discs)]
        self.motor = JointEffort(self.shafts[4], 20 * ca.sin(6 * time))
        pairs = list(enumerate(zip(self.shafts, self.shafts[1:], strict=False)))
        pairs = pairs[::-1] if turned else pairs
        self.clutches = {f"c{k}": Clutch(a, b, limit=0.3 + 0.2 * k, limit_static=0.4 + 0.2 * k) for k, (a, b) in pairs}


def test_a_chain_of_clutches_in_both_orders() -> None:
    one, other = (run(Chain(turned), 3.0) for turned in (False, True))
    assert len(times(one)) > 15
    assert sorted(names(one)) == sorted(names(other))
    assert np.allclose(times(one), times(other), rtol=0, atol=1e-11)
    exact = run(Chain(False), 3.0, method="dopri5", rtol=1e-11)
    assert names(one) == names(exact)
    assert np.allclose(times(one), times(exact), rtol=0, atol=1e-9)


def _joint(kind: type = Revolute) -> Any:
    return kind(Ground(), Body(mass=1.0, inertia=(1, 1, 1)))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Clutch(_joint(), _joint(), mu=0.5), "not given"),
        (lambda: Clutch(_joint(), _joint(), mu=0.5, normal=1.0, limit=1.0), "a limit, and"),
        (lambda: Clutch(_joint(), _joint(), limit=-1.0), "negative"),
        (lambda: Clutch(_joint(), _joint(), limit=1.0, limit_static=0.5), "static value"),
        (lambda: Clutch(_joint(), _joint(), limit_static=0.5), "without limit"),
        (lambda: Clutch(_joint(), _joint(), mu=0.5, normal=-1.0), "negative"),
        (lambda: Clutch(_joint(), Ground(), limit=1.0), "two frames or two joints"),
        (lambda: Clutch(Ground(), _joint(), limit=1.0), "two frames or two joints"),
        (lambda: Clutch(_joint(), _joint(Prismatic), limit=1.0), "turns about no axes"),
        (lambda: Clutch(_joint(), None, limit=1.0), "between two shafts"),
        (lambda: Clutch(3, 4, limit=1.0), "connects two frames"),
        (lambda: Brake(_joint(Planar), limit=1.0), "Say which"),
        (lambda: FreeWheel(_joint(), None), "between two shafts"),
        (lambda: FreeWheel(*[_joint()] * 2), "the same joint"),
    ],
)
def test_wrong_arguments(make: Any, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        make()
