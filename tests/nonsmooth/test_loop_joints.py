"""Friction and stops on joints that close loops: their speeds are those of the tree between their bodies."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

from kompono import Body, Ground, Result, Subsystem, rotation, simulate, time
from kompono.library import DryFriction, EndStops, Gravity, JointEffort, Revolute, solids

HINGES = "abcd"


class Parallelogram(Subsystem):
    """Two cranks carry a beam, all four hinges with a dry torque of 1 N m."""

    def __init__(self, stop: float | None = None) -> None:
        self.ground, crank = Ground(), solids.rod(mass=1.0, length=0.5, radius=0.05, axis="x")
        self.left, self.right = Body(crank), Body(crank)
        self.beam = Body(solids.rod(mass=2.0, length=1.2, radius=0.05, axis="x"))
        turn: dict[str, Any] = {"axis": "z", "angle": 1.0, "angle_rate": 3.0}
        self.a = Revolute(self.ground, self.left.at(-0.25, 0, 0), **turn)
        self.b = Revolute(self.left.at(0.25, 0, 0), self.beam.at(-0.6, 0, 0), axis="z", angle=-1.0, angle_rate=-3.0)
        self.d = Revolute(self.ground.at(1.2, 0, 0), self.right.at(-0.25, 0, 0), **turn)
        self.c = Revolute(self.beam.at(0.6, 0, 0), self.right.at(0.25, 0, 0), **turn)
        self.dry = [DryFriction(getattr(self, name), preload=1.0) for name in HINGES]
        if stop is not None:
            self.stops = EndStops(self.c, upper=stop, restitution=0.5)

    @property
    def inertia(self) -> float:
        """That of everything, on the angle of a crank."""
        return 2 * (float(np.asarray(self.left.solid.inertia)[2, 2]) + 0.25**2) + 2.0 * 0.5**2


class FourBar(Subsystem):
    """A driven four-bar with friction by mu times the force of each hinge; a component with a ground of its own."""

    def __init__(self) -> None:
        self.ground = Ground()
        self.expose(self.ground)
        crank, d = np.array([0.4 * np.cos(1.0), 0, 0.4 * np.sin(1.0)]), np.array([1.1, 0, 0])
        across = d - crank
        size = float(np.linalg.norm(across))
        x = (1.0**2 - 0.7**2 + size**2) / (2 * size)
        z = np.sqrt(1.0 - x * x)
        top = crank + across / size * x + np.array([-across[2], 0, across[0]]) / size * z
        points = [np.zeros(3), crank, top, d]
        self.bars = [self._bar(p, q, m) for p, q, m in zip(points, points[1:], (1.0, 2.0, 1.5), strict=False)]
        ends = [(bar.at(-x, 0, 0), bar.at(x, 0, 0)) for bar, x in zip(self.bars, (0.2, 0.5, 0.35), strict=True)]
        self.a = Revolute(self.ground, ends[0][0], axis="y")
        self.b = Revolute(ends[0][1], ends[1][0], axis="y")
        self.c = Revolute(ends[1][1], ends[2][0], axis="y")
        self.d = Revolute(self.ground.at(1.1, 0, 0), ends[2][1], axis="y")
        self.drive = JointEffort(self.a, 20 * ca.sin(3 * time))
        self.dry = [DryFriction(getattr(self, name), mu=0.3, radius=0.05) for name in HINGES]

    @staticmethod
    def _bar(start: np.ndarray, end: np.ndarray, mass: float) -> Body:
        way = end - start
        solid = solids.rod(mass=mass, length=float(np.linalg.norm(way)), radius=0.05, axis="x")
        turn = rotation("y", -float(np.arctan2(way[2], way[0])))
        return Body(solid, start_position=(start + end) / 2, start_orientation=turn)


class Holder(Subsystem):
    def __init__(self) -> None:
        self.gravity, self.bars = Gravity(), FourBar()


def run(model: Subsystem, until: float, **options: Any) -> Result:
    return simulate(model, until=until, step=1e-3, progress=False, **options).check()


def times(result: Result) -> np.ndarray:
    return np.array([when for when, _ in result.statistics["events"]])


@pytest.mark.parametrize("chosen", [{"cut": ["a"]}, {"engine": "absolute"}], ids=str)
def test_four_dry_hinges_stop_a_parallelogram(chosen: dict[str, Any]) -> None:
    """J w_dot = -4 N m; then all four stick, for good and without load."""
    model = Parallelogram()
    result = run(model, 0.6, channels=["a.angle", "dry.*"], **chosen)
    assert [name for _, name in result.statistics["events"]] == [f"dry.{k}.sticks" for k in range(4)]
    assert np.abs(times(result) - model.inertia * 3.0 / 4.0).max() < 1e-9
    assert result["a.angle"][-1] == pytest.approx(1.0 + model.inertia * 9.0 / 8.0, abs=1e-9)
    for k in range(4):
        assert result[f"dry.{k}.friction"][5] == pytest.approx(1.0 if k == 1 else -1.0, abs=1e-12)
        assert abs(result[f"dry.{k}.friction"][-1]) < 1e-9
        assert result[f"dry.{k}.mode"][-1] == 1


def test_a_stop_on_a_joint_that_is_cut() -> None:
    model = Parallelogram(stop=1.5)
    result = run(model, 0.6, cut=["c"], channels=["c.angle*"])
    rate = 4.0 / model.inertia
    when = (3.0 - np.sqrt(9.0 - 2 * rate * 0.5)) / rate
    assert result.statistics["events"][0][1] == "stops.upper.strikes"
    assert times(result)[0] == pytest.approx(when, abs=1e-11)
    after = np.searchsorted(result.time, when + 1e-9)
    assert result["c.angle.rate"][after] == pytest.approx(-0.5 * (3.0 - rate * when), rel=0.02)
    assert result["c.angle"].max() < 1.5 + 1e-9


SEEN = ["bars.?.force.x", "bars.?.force.z", "bars.?.angle.rate", "bars.dry.*", "energy.total"]


def test_friction_by_forces_of_hinges_wherever_the_loop_is_cut() -> None:
    """Events, motion and reactions with rk4 at 1 ms; alone and as a closed part; and what friction takes is lost."""
    chosen: list[dict[str, Any]] = [{"engine": "absolute"}, {"cut": ["bars.b"]}, {"closed": ["bars"]}]
    first, *others = (run(Holder(), 0.5, channels=SEEN, **options) for options in chosen)
    assert len(times(first)) == 4
    for other in others:
        assert [n for _, n in other.statistics["events"]] == [n for _, n in first.statistics["events"]]
        assert np.abs(times(other) - times(first)).max() < 1e-7
        for name in HINGES:
            for channel in (f"bars.{name}.force.x", f"bars.{name}.force.z", f"bars.{name}.angle.rate"):
                assert np.abs(other[channel] - first[channel]).max() < 1e-5 * (1 + np.abs(first[channel]).max())
    cut = others[0]
    rubbed = sum(cut[f"bars.dry.{k}.friction"] * cut[f"bars.{name}.angle.rate"] for k, name in enumerate(HINGES))
    power = rubbed + 20 * np.sin(3 * cut.time) * cut["bars.a.angle.rate"]
    work = np.trapezoid(power, cut.time)
    assert cut["energy.total"][-1] - cut["energy.total"][0] == pytest.approx(work, abs=1e-3)
    assert np.trapezoid(rubbed, cut.time) < -0.1
