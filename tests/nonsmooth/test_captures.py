"""What an event of the model catches stops in that instant: a condition that is switched on is a plastic impact."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

from kompono import (
    Body,
    Coupling,
    Event,
    Ground,
    Mode,
    Output,
    Parameter,
    RunError,
    RunWarning,
    Subsystem,
    minimize,
    sensitivities,
    simulate,
    simulate_many,
    time,
)
from kompono.library import Contact, DryFriction, EndStops, Gravity, JointEffort, Planar, Prismatic

MASSES, INERTIAS = np.array([5.0, 3.0]), np.array([0.5, 0.3])
PLACES, SPEEDS = np.array([[0.0, 0.0], [1.0, 0.2]]), np.array([[0.3, 0.0], [-0.2, 0.1]])
SPIN, NEAR, UNTIL = 0.5, 0.6, 1.5  # of the second one; how near they come along x


class Lock(Coupling):
    """Holds two planar joints relative to each other as they are when `shut` becomes 1."""

    def __init__(self, first: Planar, second: Planar, shut: Mode, kept: list[Mode]) -> None:
        super().__init__(first, second)
        self.apart = seen(first, second)
        self.gaps = [shut * (now - then) for now, then in zip(self.apart, kept, strict=True)]

    def conditions(self) -> list[Any]:
        return [ca.vertcat(*self.gaps[:2]), self.gaps[2]]


def seen(first: Planar, second: Planar) -> list[Any]:
    """Place and angle of the second body for the first."""
    x, y, c, s = second.x - first.x, second.y - first.y, ca.cos(first.angle), ca.sin(first.angle)
    return [c * x + s * y, c * y - s * x, second.angle - first.angle]


class Docking(Subsystem):
    """Two bodies float towards each other and are locked together."""

    def __init__(self) -> None:
        self.ground, self.shut, self.kept = Ground(), Mode(0), [Mode(0.0) for _ in range(3)]
        self.bodies = [Body(mass=m, inertia=(J, J, J)) for m, J in zip(MASSES, INERTIAS, strict=True)]
        self.one = Planar(self.ground, self.bodies[0], x_rate=SPEEDS[0, 0])
        start = {"x": PLACES[1, 0], "y": PLACES[1, 1], "x_rate": SPEEDS[1, 0], "y_rate": SPEEDS[1, 1]}
        self.other = Planar(self.ground, self.bodies[1], angle_rate=SPIN, **start)
        self.lock = Lock(self.one, self.other, self.shut, self.kept)
        caught = {self.shut: 1, **dict(zip(self.kept, self.lock.apart, strict=True))}
        self.meet = Event(NEAR - (self.other.x - self.one.x) - self.shut, caught)
        self.far = Output(self.other.x + 0.3 * self.other.y + 0.1 * self.one.angle)


class Held(Subsystem):
    def __init__(self) -> None:
        self.both = Docking()


def known(speed: float = SPEEDS[0, 0]) -> tuple[np.ndarray, float]:
    """Places and the angle of the first body at the end, by momentum."""
    speeds = np.array([[speed, 0.0], SPEEDS[1]])
    when = (PLACES[1, 0] - NEAR) / (speed - SPEEDS[1, 0])
    places = PLACES + when * speeds
    centre, motion = (MASSES @ each / MASSES.sum() for each in (places, speeds))
    arms, rates = places - centre, speeds - motion
    turning = INERTIAS[1] * SPIN + MASSES @ (arms[:, 0] * rates[:, 1] - arms[:, 1] * rates[:, 0])
    angle = turning / (INERTIAS.sum() + MASSES @ (arms**2).sum(1)) * (UNTIL - when)
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    return centre + motion * (UNTIL - when) + arms @ turn, angle


@pytest.mark.parametrize(
    "options",
    [{}, {"step": 1e-2}, {"method": "dopri5", "rtol": 1e-10}, {"engine": "absolute"}, {"closed": ["both"]}],
    ids=["1 ms", "10 ms", "dopri5", "absolute", "closed"],
)
def test_momentum_stays_whatever_the_step(options: dict[str, Any]) -> None:
    inside = "closed" in options
    result = simulate(Held() if inside else Docking(), until=UNTIL, **({"step": 1e-3} | options))
    path, (places, angle) = "both." if inside else "", known()
    found = [[result[f"{path}{name}.{axis}"][-1] for axis in "xy"] for name in ("one", "other")]
    assert len(result.statistics["events"]) == 1
    assert np.abs(found - places).max() < 1e-11
    assert abs(result[f"{path}one.angle"][-1] - angle) < 1e-11


class Hook(Coupling):
    """Holds two slides together when it is `shut`."""

    def __init__(self, first: Prismatic, second: Prismatic, shut: Mode) -> None:
        super().__init__(first, second)
        self.gap = shut * (second.displacement - first.displacement)

    def conditions(self) -> list[Any]:
        return [self.gap]


class Shunted(Subsystem):
    """A wagon rubs along, meets one that sticks, and both go on."""

    def __init__(self, sticks: float) -> None:
        self.ground, self.shut, self.push = Ground(), Mode(0), Parameter(0.0)
        self.wagons = [Body(mass=m, inertia=(1, 1, 1)) for m in (1.0, 2.0)]
        self.one = Prismatic(self.ground, self.wagons[0], axis="x", displacement=-0.5, displacement_rate=1.5)
        self.other = Prismatic(self.ground, self.wagons[1], axis="x")
        self.rubs = [DryFriction(self.one, preload=0.5), DryFriction(self.other, preload=sticks)]
        self.hook, self.drive = Hook(self.one, self.other, self.shut), JointEffort(self.one, self.push)
        self.meet = Event(self.one.displacement - self.other.displacement, {self.shut: 1})


class Train(Subsystem):
    def __init__(self, sticks: float) -> None:
        self.part = Shunted(sticks)


@pytest.mark.parametrize("sticks", [0.2, 5.0])
@pytest.mark.parametrize(
    "options", [{}, {"step": 5e-3}, {"method": "dopri5"}, {"engine": "absolute"}, {"closed": ["part"]}]
)
def test_what_sticks_gives_way_to_the_blow(sticks: float, options: dict[str, Any]) -> None:
    """A friction of some newtons bears no blow: speeds behind it are those of momentum, and then it rubs."""
    result = simulate(Train(sticks), until=0.9, **options)
    speed, slows = np.sqrt(1.5**2 - 2 * 0.5 * 0.5) / 3, (0.5 + sticks) / 3
    left = min(0.9 - result.statistics["events"][0][0], speed / slows)
    assert abs(result["part.other.displacement"][-1] - (speed * left - slows * left**2 / 2)) < 1e-10
    assert [name for _, name in result.statistics["events"]][:2] == ["part.meet", "part.rubs.1.slips"]


class Kept(Coupling):
    """Holds two slides as they are when it is `shut`."""

    def __init__(self, first: Prismatic, second: Prismatic, shut: Mode, kept: Mode) -> None:
        super().__init__(first, second)
        self.gap = shut * (second.displacement - first.displacement - kept)

    def conditions(self) -> list[Any]:
        return [self.gap]


class Looked(Subsystem):
    """A controller that looks each millisecond hooks the wagon on."""

    def __init__(self) -> None:
        self.ground, self.shut, self.kept = Ground(), Mode(0, every=1e-3), Mode(0.0, every=1e-3)
        self.wagons = [Body(mass=m, inertia=(1, 1, 1)) for m in (1.0, 2.0)]
        self.one = Prismatic(self.ground, self.wagons[0], axis="x", displacement=-0.5, displacement_rate=1.5)
        self.other = Prismatic(self.ground, self.wagons[1], axis="x")
        self.rubs = [DryFriction(self.one, preload=0.5), DryFriction(self.other, preload=5.0)]
        apart = self.other.displacement - self.one.displacement
        self.shut.next = ca.fmax(self.shut, apart < 0)
        self.kept.next = ca.if_else(self.shut > 0, self.kept, apart)
        self.hook = Kept(self.one, self.other, self.shut, self.kept)


class Yards(Subsystem):
    def __init__(self) -> None:
        self.part = Looked()


FAR = (1.5 - 0.5 * 0.355) ** 2 / 9 / (2 * 5.5 / 3)  # by momentum at 0.355 s, and then it rubs to rest


@pytest.mark.parametrize(
    "options", [{}, {"step": 5e-3}, {"method": "dopri5"}, {"engine": "absolute"}, {"closed": ["part"]}]
)
def test_what_a_sample_catches_stops_at_once_as_well(options: dict[str, Any]) -> None:
    """Friction stopped both, with the status ok."""
    result = simulate(Yards(), until=0.9, **options)
    assert result.status.ok
    assert abs(result["part.other.displacement"][-1] - FAR) < 1e-10
    assert result.statistics["events"][0] == (pytest.approx(0.355), "part.rubs.1.slips")


def test_so_it_does_in_many_runs() -> None:
    speeds = np.array([1.5] * 5)
    many = simulate_many(Looked(), initial={"one.displacement.rate": speeds}, until=0.9, step=1e-3)
    assert not many.failed
    assert np.abs(many["other.displacement"][:, -1] - FAR).max() < 1e-10


class Standing(Subsystem):
    """What stands on a stop is met from above (1) or below (-1)."""

    def __init__(self, side: int) -> None:
        self.ground, self.gravity, self.shut = Ground(), Gravity(), Mode(0)
        self.bodies = [Body(mass=m, inertia=(1, 1, 1)) for m in (1.0, 2.0)]
        self.one = Prismatic(
            self.ground, self.bodies[0], axis="z", displacement=0.5 * side, displacement_rate=-4 * side
        )
        self.other = Prismatic(self.ground, self.bodies[1], axis="z")
        self.stop, self.hook = EndStops(self.other, lower=0.0), Hook(self.one, self.other, self.shut)
        self.meet = Event(-side * self.one.displacement - self.shut, {self.shut: 1})


def test_what_is_caught_strikes_where_it_stands_and_lifts_from_there() -> None:
    above, below = (simulate(Standing(side), until=0.3, step=1e-3) for side in (1, -1))
    assert [name for _, name in above.statistics["events"]] == ["meet", "stop.lower.strikes"]
    assert np.abs(above["other.displacement"]).max() < 1e-9
    assert below["other.displacement"].max() == pytest.approx((16 - 9.81) / 9 / (2 * 9.81), abs=2e-6)


class Watched(Docking):
    """A ball that may fall on a floor is none of their business."""

    def __init__(self) -> None:
        super().__init__()
        self.ball = Body(mass=1.0, inertia=(1, 1, 1), start_position=(10, 10, 3), start_velocity=(0, 0, -1))
        self.floor = Contact(self.ground.plane(), self.ball.sphere(0.1), mu=0.3)


@pytest.mark.parametrize("machine", [Docking, Watched])
def test_derivatives_go_through_a_capture(machine: Any) -> None:
    run = sensitivities(machine(), ["one.x.rate"], until=UNTIL, step=1e-2, channels=["far"])
    far = [places[1] @ [1.0, 0.3] + 0.1 * angle for places, angle in (known(SPEEDS[0, 0] + d) for d in (1e-5, -1e-5))]
    assert abs(run["far/one.x.rate"][-1] - (far[0] - far[1]) / 2e-5) < 1e-8


def test_derivatives_end_where_laws_settle_behind_a_capture() -> None:
    run: dict[str, Any] = {"until": 0.3, "step": 1e-3}
    assert sensitivities(Shunted(5.0), ["push"], channels=["one.displacement"], **run)["one.displacement/push"][
        -1
    ] == pytest.approx(0.045)
    run["until"] = 0.5
    with pytest.raises(RunError, match=r"0\.354249 s catches something"):
        sensitivities(Shunted(5.0), ["push"], channels=["one.displacement"], **run)
    with pytest.raises(RunError, match=r"0\.354249 s catches something"):
        minimize(Shunted(5.0), "one.displacement", ["push"], gradient="adjoint", most=0, **run)


class Buffered(Shunted):
    """The same, with a stop of the first wagon that the hook takes away; it leans on nothing."""

    def __init__(self, sticks: float) -> None:
        super().__init__(sticks)
        self.buffer = EndStops(self.one, None, 0.1 + 10.0 * self.shut)


class Yard(Subsystem):
    def __init__(self, sticks: float) -> None:
        self.part = Buffered(sticks)


@pytest.mark.parametrize("options", [{}, {"method": "dopri5"}, {"engine": "absolute"}, {"closed": ["part"]}])
def test_so_it_does_where_the_event_moves_a_stop_as_well(options: dict[str, Any]) -> None:
    one, other = (simulate(make(5.0), until=0.9, **options) for make in (Train, Yard))
    assert np.abs(one["part.other.displacement"] - other["part.other.displacement"]).max() < 1e-12
    assert other.statistics["events"] == one.statistics["events"]


class Early(Subsystem):
    """A wagon that rolls towards another one, and a hook that shuts by so much too soon, or when it is sampled."""

    def __init__(self, early: float = 0.0, *, sampled: bool = False, rubs: bool = False) -> None:
        self.ground = Ground()
        self.first, self.second = Body(mass=1, inertia=(1, 1, 1)), Body(mass=2, inertia=(1, 1, 1))
        self.left = Prismatic(self.ground, self.first, axis="x", displacement=-0.5, displacement_rate=1.5)
        self.right = Prismatic(self.ground, self.second, axis="x")
        if rubs:
            self.rubs = DryFriction(self.left, preload=0.1)
        self.shut = Mode(0.0, every=0.3, offset=0.1) if sampled else Mode(0.0)
        self.hook = Hook(self.left, self.right, self.shut)
        if sampled:
            self.shut.next = 1.0
        else:
            self.meet = Event(self.left.displacement - self.right.displacement + early, {self.shut: 1})


class Timed(Early):
    """Its hook shuts when the first wagon would be there, had it begun where it does by itself."""

    def __init__(self, *, rubs: bool) -> None:
        super().__init__(rubs=rubs)
        travelled = 1.5 * time - (0.05 * time**2 if rubs else 0.0)
        self.meet = Event(travelled - 0.5, {self.shut: 1})


@pytest.mark.parametrize("options", [{}, {"method": "dopri5"}, {"engine": "absolute"}], ids=str)
@pytest.mark.parametrize("rubs", [False, True])
@pytest.mark.parametrize("sampled", [False, True])
def test_what_is_switched_on_is_met_there(sampled: bool, rubs: bool, options: dict[str, Any]) -> None:
    """Nothing jumps: the run ends where it was, and says what would not have been met."""
    with pytest.warns(RunWarning, match=r"hook: it is switched on where it is 0\.\d+ off"):
        result = simulate(Early(0.0 if sampled else 0.1, sampled=sampled, rubs=rubs), until=0.6, **options)
    assert result.status.kind == "unmet"
    assert result.status.time == pytest.approx(0.1 if sampled else 0.4 / 1.5, rel=1e-2)
    at = -0.35 if sampled else -0.1
    assert result["left.displacement"][-1] == pytest.approx(at, abs=1e-3)
    assert result["right.displacement"][-1] == 0.0


@pytest.mark.filterwarnings("ignore::kompono.RunWarning")
@pytest.mark.parametrize("rubs", [False, True])
def test_so_it_is_of_each_run_of_many(rubs: bool) -> None:
    starts = np.array([-0.5, -0.6, -0.5])  # the guard knows of the first one alone
    runs = simulate_many(Timed(rubs=rubs), initial={"left.displacement": starts}, until=0.6, step=1e-3, lanes=2)
    assert [str(status.kind) for status in runs.status] == ["done", "unmet", "done"]
    assert runs["left.displacement"][1, -1] == pytest.approx(-0.1, abs=2e-3) or np.isnan(
        runs["left.displacement"][1, -1]
    )
