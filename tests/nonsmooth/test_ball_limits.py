"""Limits of ball joints: a cone for the axis, a range for the twist about it, an angle for the whole turn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kompono import Body, Ground, ModelError, Result, Subsystem, load, simulate
from kompono.edges.machines import mjcf_text, taken
from kompono.library import Gravity, Revolute, Spherical, solids

LENGTH, MASS, RADIUS = 0.8, 1.3, 0.1
TURNING = MASS * (0.4 * RADIUS**2 + LENGTH**2)  # inertia about the joint, across


class Bob(Subsystem):
    """A ball that hangs on a ball joint, or on a hinge about y."""

    def __init__(self, limits: Any, restitution: float = 0.0, hinge: bool = False, **start: float) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.bob = Body(solids.sphere(mass=MASS, radius=RADIUS))
        place = self.bob.at(0, 0, LENGTH)
        if hinge:
            self.ball = Revolute(self.ground, place, axis="y", limits=limits, restitution=restitution, **start)
        else:
            self.ball = Spherical(self.ground, place, limits=limits, restitution=restitution, **start)


class Machine(Subsystem):
    """The same in a part."""

    def __init__(self, *given: Any, **start: float) -> None:
        self.part = Bob(*given, **start)


def times(result: Result, what: str) -> np.ndarray:
    assert result.status.ok
    return np.array([time for time, name in result.statistics["events"] if name.endswith(what)])


@pytest.mark.parametrize("options", [{}, {"engine": "absolute"}, {"method": "dopri5", "rtol": 1e-11, "atol": 1e-12}])
def test_in_a_plane_a_cone_is_two_stops(options: dict[str, Any]) -> None:
    hinge = simulate(Bob((-0.5, 0.5), 0.6, hinge=True, angle_rate=2.0), until=3.0, step=5e-4)
    for limits in ({"swing": 0.5}, {"turn": 0.5}):
        ball = simulate(Bob(limits, 0.6, wy=2.0), until=3.0, step=5e-4, **options)
        np.testing.assert_allclose(times(ball, "strikes"), times(hinge, "strikes"), atol=2e-10)
    assert len(times(hinge, "strikes")) >= 4


def test_a_twist_goes_to_and_fro() -> None:
    result = simulate(Bob({"twist": (-0.3, 0.4)}, 1.0, wz=2.0), until=1.0)
    np.testing.assert_allclose(times(result, "strikes"), [0.2, 0.55, 0.9], atol=1e-11)


def test_twist_and_swing_are_apart() -> None:
    """Turned about z, then tilted: the axis swings by the tilt, the twist is the first turn."""
    half, tilt = 0.2, 0.3
    turned = np.array([np.cos(half), 0, 0, np.sin(half)])
    e0, x = np.cos(tilt / 2), np.sin(tilt / 2)
    start = [e0 * turned[0], x * turned[0], -x * turned[3], e0 * turned[3]]  # tilt about x of the ground after the turn
    keywords = {f"e{k}": value for k, value in enumerate(start)}
    result = simulate(Bob({"swing": 0.5, "twist": (-1.0, 0.5)}, **keywords), until=1e-3)
    assert result["ball.limits.twist.upper.gap"][0] == pytest.approx(0.5 - 2 * half, abs=1e-12)
    expected = (np.cos(tilt) - np.cos(0.5)) / np.sin(0.5)
    assert result["ball.limits.swing.gap"][0] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("closed", [[], ["part"]])
def test_round_a_smooth_cone_at_a_steady_pace(closed: list[str]) -> None:
    """Too fast to hang freely at that angle: the cone holds it, and it goes round steadily, by the balance of moments
    about the joint, J W^2 sin cos - m g l sin = torque of the limit.
    """
    angle, rate = 0.4, 6.0
    c, s = np.cos(angle / 2), np.sin(angle / 2)
    about = rate * np.array([np.sin(angle), 0.0, np.cos(angle)])  # the bob turns as a whole with its plane
    spin = (0.4 * RADIUS**2 * MASS) * rate**2 * np.sin(angle) * np.cos(angle)
    start = {"e0": c, "e2": -s, "wx": about[0], "wz": about[2]}
    result = simulate(Machine({"swing": angle}, **start), until=1.5, step=5e-4, closed=closed)
    assert result.status.ok
    torque = TURNING * rate**2 * np.sin(angle) * np.cos(angle) - spin - 9.81 * MASS * LENGTH * np.sin(angle)
    np.testing.assert_allclose(result["part.ball.limits.swing.normal"][1:], torque, rtol=1e-9)
    turned = np.unwrap(np.arctan2(result["part.bob.position.y"], result["part.bob.position.x"]))
    np.testing.assert_allclose(turned - turned[0], rate * result.time, atol=1e-8)


@pytest.mark.parametrize(
    "limits", [0.5, {}, {"swing": -1}, {"swing": 4.0}, {"swung": 1.0}, {"twist": 0.3}, {"twist": (0.3, -0.3)}]
)
def test_what_is_no_limit_is_refused(limits: Any) -> None:
    with pytest.raises(ModelError, match="limit"):
        Bob(limits)


def test_limits_of_balls_come_from_mjcf_and_go_there(tmp_path: Path) -> None:
    """A start that is turned too far is brought to the limit; a file written from the model says the same again."""
    pytest.importorskip("mujoco")
    text = (
        '<mujoco><compiler angle="degree"/><option gravity="0 -9 -3"/>'
        '<worldbody><body name="bob"><joint name="ball" type="ball" range="0 30"/>'
        '<geom type="sphere" size="0.1" pos="0 0 -0.8" mass="1.3"/></body></worldbody>'
        '<keyframe><key name="start" qpos="0.8 0.6 0 0"/></keyframe></mujoco>'
    )
    found = []
    for name in ("first.xml", "second.xml"):
        (tmp_path / name).write_text(text)
        model = load(str(tmp_path / name), start="start")
        text, lost = mjcf_text(taken(model))
        assert not [line for line in lost if "limit" in str(line)]
        found.append(simulate(model, until=1.5))
        assert found[-1]["ball.limits.turn.gap"].min() > -1e-10
    assert len(times(found[0], "strikes"))
    np.testing.assert_allclose(times(found[0], "strikes"), times(found[1], "strikes"), atol=1e-9)
