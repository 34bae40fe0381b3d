"""Contact on problems with known answers: closed forms as literals, and the files of reference answers if there are."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest
from nonsmooth.touching_machines import (
    Ball,
    BallOffSphere,
    Brick,
    G,
    Ladder,
    OffASphere,
    Pulled,
    Rocking,
    Rod,
    Row,
    Shaken,
    normals,
    reference,
    times,
)

from kompono import simulate, time
from kompono.ending import Ending

SLOPE = np.deg2rad(20.0)


def run(model: Any, until: float, step: float = 1e-3, **options: Any) -> Any:
    result = simulate(model, until=until, step=step, progress=False, **options)
    assert result.status.ok, result.status.message
    return result


def given(name: str) -> dict[str, Any]:
    found = reference(name)
    if found is None:
        pytest.skip("no reference answers here")
    return found


@pytest.mark.parametrize(("method", "e"), [("rk4", 0.8), ("rk4", 0.5), ("dopri5", 0.8)])
def test_a_ball_bounces_and_comes_to_rest(method: str, e: float) -> None:  # n01
    first = np.sqrt(2 / G)
    result = run(Ball(1.0, e), 5.0, method=method)
    strikes = times(result, "strikes")
    count = min(20, len(strikes)) if e > 0.6 else 12
    want = [first * (1 + 2 * sum(e**j for j in range(1, k))) for k in range(1, count + 1)]
    assert np.abs(np.array(strikes[:count]) - want).max() < 1e-10
    assert len(result.statistics["events"]) <= 60
    assert times(result, "closes")[0] == pytest.approx(first * (1 + e) / (1 - e), abs=1e-5)
    assert abs(result["ball.velocity.z"][-1]) == 0.0
    assert result["ball.position.z"][-1] == pytest.approx(0.1, abs=1e-15)


def test_a_resting_ball_carries_its_weight() -> None:
    assert normals(Ball(0.0, 0.8))["floor"] == pytest.approx(G, abs=1e-12)


def _slid(result: Any) -> float:
    move = np.array([result[f"brick.position.{k}"][-1] - result[f"brick.position.{k}"][0] for k in "xyz"])
    return float(move @ [np.cos(SLOPE), 0, -np.sin(SLOPE)])


@pytest.mark.parametrize("step", [1e-2, 1e-3])
@pytest.mark.parametrize(("factor", "speed"), [(0.999, 0.0), (0.5, 3.0), (1.5, 3.0), (1.001, 0.01)])
def test_a_brick_slides_and_stops(factor: float, speed: float, step: float) -> None:  # n02
    result = run(Brick(SLOPE, factor * np.tan(SLOPE), speed, turned=step < 5e-3), 3.2, step)
    down = G * np.sin(SLOPE) * (1 - factor)
    if down > 0:
        assert _slid(result) == pytest.approx(speed * 3.2 + down * 3.2**2 / 2, abs=1e-10)
        return
    assert times(result, "sticks")[0] == pytest.approx(-speed / down, abs=1e-10)
    assert _slid(result) == pytest.approx(-(speed**2) / down / 2, abs=1e-10)


def test_a_brick_never_creeps() -> None:
    result = run(Brick(SLOPE, 1.001 * np.tan(SLOPE)), 1000.0, 1e-2, every=1000)
    for axis in "xyz":
        assert np.ptp(result[f"brick.position.{axis}"]) == 0.0
    assert not result.statistics["events"]


def test_a_brick_thrown_up_turns_and_slides_back() -> None:
    up, down = G * (np.sin(SLOPE) + 0.2 * np.cos(SLOPE)), G * (np.sin(SLOPE) - 0.2 * np.cos(SLOPE))
    back = 3.0 / up + np.sqrt(9.0 / up / down)
    result = run(Brick(SLOPE, 0.2, -3.0), back)
    assert _slid(result) == pytest.approx(0.0, abs=1e-9)


def test_a_bowling_ball_begins_to_roll() -> None:  # n08
    result = run(Ball(0.0, 0.0, 0.2, (5.0, 0, 0)), 3.0, 2e-4)
    assert times(result, "sticks") == pytest.approx([10 / (7 * 0.2 * G)], abs=1e-9)
    assert result["ball.velocity.x"][-1] == pytest.approx(25 / 7, abs=1e-9)
    assert result["ball.position.x"][-1] == pytest.approx(11.234371424410742890, abs=2e-9)


@pytest.mark.parametrize("swapped", [False, True])
def test_a_ladder_leaves_the_wall(swapped: bool) -> None:  # n09
    result = run(Ladder(np.deg2rad(70.0), swapped), 0.8)
    assert result.statistics["events"] == [(pytest.approx(0.59752780607116564677, abs=1e-10), "wall.opens")]
    assert result["plane.x.rate"][-1] == pytest.approx(1.3449525772252939209, abs=1e-9)


@pytest.mark.parametrize("method", ["rk4", "dopri5"])
def test_a_particle_leaves_a_sphere(method: str) -> None:  # n10
    options = {"rtol": 1e-11, "atol": 1e-12} if method == "dopri5" else {}
    result = run(OffASphere(2.0, 0.5), 1.9, method=method, **options)
    assert times(result, "sphere.opens") == pytest.approx([1.2247055708242852081], abs=1e-9)
    assert times(result, "floor.strikes") == pytest.approx([1.8202396271785533109], abs=1e-9)
    assert result["particle.position.x"][-1] > 2.93


def test_a_block_rocks() -> None:  # n11
    result = run(Rocking(0.1, 0.5, 0.1), 3.0)
    found = sorted(set(times(result, "strikes")))
    want = [0.35111985428517602436, 0.96060657732469705949, 1.5019778813716270897, 1.9896363731625028792]
    assert found[:4] == pytest.approx(want, abs=1e-10)
    before, after = (np.searchsorted(result.time, found[0], side) for side in ("left", "right"))
    rate = result["plane.angle.rate"]
    assert rate[after - 1] / rate[before] == pytest.approx(1 - 1.5 / 26, abs=1e-10)


@pytest.mark.parametrize(
    ("count", "e", "gap", "want"),
    [
        (5, 1.0, 1e-3, (0, 0, 0, 0, 1)),
        (3, 0.9, 1e-3, (0.05, 0.0475, 0.9025)),
        (3, 1.0, 0.0, (-1 / 3, 2 / 3, 2 / 3)),
    ],
)
def test_balls_in_a_row(count: int, e: float, gap: float, want: tuple[float, ...]) -> None:  # n12
    result = run(Row(count, e, gap), 0.01)
    speeds = [result[f"rail{k}.displacement.rate"][-1] for k in range(count)]
    assert speeds == pytest.approx(want, abs=1e-12)


def test_a_ball_bounces_on_a_shaking_table() -> None:  # n14
    result = run(Shaken(0.0035, 40.0, 0.8, 0.91285581892086968491, 0.77047559829289679173), 3.2)
    strikes = np.array(times(result, "strikes"))
    assert np.abs(strikes - 0.15707963267948966192 * np.arange(1, 21)).max() < 1e-10


PULLED = {"width": 0.5, "height": 1.0, "mu": 0.3, "m": 10.0}


def test_feet_of_a_pulled_box() -> None:  # n16
    found = normals(Pulled(PULLED, 0.6, 45.0))
    assert (found["front"], found["rear"]) == pytest.approx((87.48, 10.62), abs=1e-10)
    slides = run(Pulled(PULLED, 0.6, 45.0), 0.2)
    assert slides["plane.x.rate"][-1] == pytest.approx(0.2 * 1.557, abs=1e-12)
    for pull, moves in ((29.42, False), (29.44, True)):
        assert bool(run(Pulled(PULLED, 0.6, pull), 0.2)["plane.x.rate"][-1] > 1e-6) is moves
    for height, tips in ((0.717, False), (0.719, True)):
        assert bool(abs(run(Pulled(PULLED, height, 45.0), 0.2)["plane.angle"][-1]) > 1e-6) is tips


def test_a_rod_slides_sticks_slips_and_lies_down() -> None:  # n17
    result = run(Rod(1.0, 0.8), 1.12)
    want = {"tip.sticks": 0.1315396474202448, "tip.slips": 0.9199768263245368, "end.strikes": 1.112978373746053}
    for name, at in want.items():
        assert times(result, name)[0] == pytest.approx(at, abs=1e-9)


@pytest.mark.parametrize("method", ["rk4", "dopri5"])
def test_no_forces_fit_at_the_start(method: str) -> None:
    with pytest.warns(match="tip"):
        result = simulate(Rod(np.arctan(2.0), 1.5), until=0.1, step=1e-3, method=method, progress=False)
    assert result.status.kind is Ending.NO_FORCES
    assert "tip (mu 1.5 is above 1.33333 here)" in result.status.message
    assert result.status.time == 0.0
    assert list(result.time) == [0.0]
    assert np.isfinite(result.table).all()


@pytest.mark.parametrize("method", ["rk4", "dopri5"])
def test_no_forces_fit_on_the_way(method: str) -> None:
    """A rod slides onto rough ground."""
    mu = ca.if_else(time > 0.0205, 1.5, 0.5)
    with pytest.warns(match="tip"):
        result = simulate(Rod(np.arctan(2.0), mu, tip_speed=-8.0), until=1.0, step=1e-3, method=method, progress=False)
    assert result.status.kind is Ending.NO_FORCES
    assert "tip (mu 1.5 is above" in result.status.message
    assert result.status.time == pytest.approx(0.0205, abs=1e-9)
    assert len(result.time) >= 21
    assert np.isfinite(result.table).all()


def test_a_ball_rolls_slips_and_leaves_a_sphere() -> None:  # n24
    result = run(BallOffSphere(0.9, 0.1, 0.3, 0.1), 1.2)
    found = [(t, name) for t, name in result.statistics["events"]]
    assert [name for _, name in found] == ["touch.slips", "touch.opens"]
    assert [t for t, _ in found] == pytest.approx([0.9527377117452639, 1.1006864836996453], abs=1e-9)


@pytest.mark.parametrize(("mu", "slip"), [(0.1, 0.11), (0.4, 0.0)])
def test_one_rough_impact(mu: float, slip: float) -> None:  # n29
    result = run(Ball(0.0, 0.8, mu, (2.0, 0, -3.0)), 1e-3)
    spin, speed = result["ball.angular_velocity.y"][0], result["ball.velocity.x"][0]
    assert result["ball.velocity.z"][0] == pytest.approx(2.4, abs=1e-12)
    assert speed - 0.1 * spin == pytest.approx(slip, abs=1e-12)


def test_files_of_reference_answers() -> None:
    block = given("n11_rocking_block")["a"]
    result = run(Rocking(block["half_width"], block["half_height"], block["theta0"]), 4.8)
    found = sorted(set(times(result, "strikes")))
    assert found == pytest.approx([impact["t"] for impact in block["impacts"]], abs=2e-10)
    ball = given("n01_bouncing_ball")["a"]
    assert times(run(Ball(1.0, 0.8), 5.0), "strikes")[:20] == pytest.approx(ball["impact_times"], abs=1e-10)
