"""Contact in space: curved paths, tops, discs, tables with a leg too many, heaps in any order."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest
from nonsmooth.touching_machines import Ball, Disc, G, Rocking, Rod, Table, Top, normals, times

from kompono import Body, Ground, Subsystem, simulate
from kompono.library import Contact, Gravity, solids
from kompono.spatial.rotation import quaternion_matrix


def run(model: Any, until: float, step: float = 1e-3, **options: Any) -> Any:
    result = simulate(model, until=until, step=step, progress=False, **options)
    assert result.status.ok, result.status.message
    return result


@pytest.mark.parametrize(
    ("step", "options"), [(2.5e-4, {}), (1e-3, {"method": "dopri5", "rtol": 1e-11, "atol": 1e-13})]
)
def test_a_billiard_ball_runs_on_a_parabola_then_straight(step: float, options: dict[str, Any]) -> None:
    v, w, mu = np.array([2.0, 0, 0]), np.array([12.0, 7, 3]), 0.2
    result = run(Ball(0.0, 0.0, mu, v, w), 1.0, step, **options)
    slip = v + np.cross(w, [0, 0, -0.1])
    along, end = slip / np.linalg.norm(slip), 2 * np.linalg.norm(slip) / (7 * mu * G)
    time = np.asarray(result.time)[:, None]
    curved = np.minimum(time, end)
    want = v * curved - mu * G * along * curved**2 / 2 + (v - mu * G * along * end) * (time - curved)
    found = np.column_stack([result[f"ball.position.{k}"] for k in "xy"])
    assert np.abs(found - want[:, :2]).max() < 1e-9
    assert times(result, "sticks") == pytest.approx([end], abs=2e-8)


def test_jellett_was_right() -> None:
    radius, offset, inertia = 0.02, 0.006, 0.4 * 0.006 * 0.02**2 * np.array([1.2, 1.2, 1])
    result = run(Top(radius, offset, 0.02, 300.0), 10.0, 1e-4, every=500)
    turns = np.column_stack([result[f"top.orientation.e{k}"] for k in range(4)])
    spins = np.column_stack([result[f"top.angular_velocity.{k}"] for k in "xyz"])
    found = []
    for q, w in zip(turns, spins, strict=True):
        turned = np.array(ca.DM(quaternion_matrix(ca.DM(q))))
        found.append((turned @ (inertia * (turned.T @ w))) @ (offset * turned[:, 2] - [0, 0, radius]))
    assert np.abs(np.array(found) / found[0] - 1).max() < 1e-9
    assert np.diff(result["energy.total"]).max() < 1e-9


@pytest.mark.parametrize("rolling", [False, True])
def test_a_disc_rolls_on_a_circle(rolling: bool) -> None:  # n18
    result = run(Disc(rolling), 5.0, 5e-4 if rolling else 1e-3)
    angle = Disc.precession * np.asarray(result.time)
    assert np.abs(result["disc.position.x"] - 0.25 * np.cos(angle)).max() < 1e-9
    assert np.abs(result["disc.position.y"] - 0.25 * np.sin(angle)).max() < 1e-9
    assert not result.statistics.get("events")


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (2, 0, 3, 1)])
@pytest.mark.parametrize("mu", [0.0, 0.4])
def test_four_legs_share_the_load(mu: float, order: tuple[int, ...]) -> None:
    found = normals(Table(mu, order))
    assert [found[f"leg{k}"] for k in range(4)] == pytest.approx([12 * G / 4] * 4, abs=1e-10)
    if mu:
        pushed = normals(Table(mu, order, load=20.0))
        more = 20.0 * 0.7 / 2  # of the two legs in front
        assert [pushed[f"leg{k}"] for k in range(4)] == pytest.approx(
            [12 * G / 4 + side * more for side in (-1, -1, 1, 1)], abs=1e-10
        )


class Thrown(Subsystem):
    """A box thrown onto a rough floor: corners strike, slide and come to rest."""

    def __init__(self, turned: bool = False) -> None:
        self.gravity = Gravity()
        if turned:
            self.box, self.ground = self._made(), Ground()
        else:
            self.ground, self.box = Ground(), self._made()
        self.feet = Contact(self.ground.plane(), self.box.corners(), mu=0.4, restitution=0.3)

    def _made(self) -> Body:
        return Body(
            solids.box(mass=1.5, size=(0.3, 0.2, 0.1)), start_position=(0, 0, 0.4), start_velocity=(1.0, 0.3, 0),
            start_angular_velocity=(2.0, 1.0, 3.0),
        )  # fmt: skip


@pytest.mark.filterwarnings("ignore::kompono.RunWarning")
def test_a_thrown_box_comes_to_rest_and_never_gains_energy() -> None:
    result = simulate(Thrown(), until=3.0, step=1e-3, progress=False)
    assert result.status.kind in ("done", "step"), result.status.message  # impacts are not smooth
    assert np.diff(result["energy.total"]).max() < 1e-7
    assert result["box.position.z"][-1] == pytest.approx(0.05, abs=1e-9)
    assert max(abs(result[f"box.velocity.{k}"][-1]) for k in "xyz") < 1e-9
    again = simulate(Thrown(turned=True), until=3.0, step=1e-3, progress=False)
    first, second = (np.array(times(r, "strikes"))[:8] for r in (result, again))
    assert first == pytest.approx(second, abs=1e-12)


def test_a_brief_touch_is_seen_if_asked_for() -> None:
    """A ball grazes another within one step."""

    class Graze(Subsystem):
        def __init__(self) -> None:
            self.ground = Ground()
            self.ball = Body(
                solids.sphere(mass=1.0, radius=0.1), start_position=(-0.1, 0, 0.1999), start_velocity=(4, 0, 0)
            )
            self.touch = Contact(self.ground.sphere(0.1), self.ball.sphere(0.1))

    assert times(run(Graze(), 0.05, 0.025, guard_checks=50), "strikes")


class Spun(Subsystem):
    """A box that slides and spins on a rough floor: its corners slip in directions that turn until it stops."""

    def __init__(self) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.box = Body(
            solids.box(mass=2.0, size=(0.2, 0.1, 0.05)), start_position=(0, 0, 0.025), start_velocity=(1.0, 0.2, 0),
            start_angular_velocity=(0, 0, 8.0),
        )  # fmt: skip
        self.feet = Contact(self.ground.plane(), self.box.corners(), mu=0.3)


@pytest.mark.parametrize(("step", "error"), [(1e-3, 2e-7), (2.5e-4, 2e-8)])
def test_a_spinning_box_stops_where_it_should(step: float, error: float) -> None:
    known = run(Spun(), 0.6, 1e-2, method="dopri5", rtol=1e-12, atol=1e-14)
    found = run(Spun(), 0.6, step)
    for axis in "xy":
        assert found[f"box.position.{axis}"][-1] == pytest.approx(known[f"box.position.{axis}"][-1], abs=error)


@pytest.mark.parametrize(("model", "until"), [(lambda: Rod(1.0, 0.8), 1.12), (lambda: Rocking(0.1, 0.5, 0.1), 2.0)])
def test_engines_agree(model: Any, until: float) -> None:
    first, second = (run(model(), until, engine=engine).statistics["events"] for engine in ("relative", "absolute"))
    assert [name for _, name in first] == [name for _, name in second]
    assert [t for t, _ in first] == pytest.approx([t for t, _ in second], abs=1e-12)
