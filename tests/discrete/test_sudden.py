"""Sudden changes need no restart and do no harm: a spring breaks, a joint is cut, a motor stalls, a floor is hit."""

from __future__ import annotations

import numpy as np
import pytest
from discrete.machines import Bouncing, Dropped, Hanging, Motor

from kompono import simulate


def test_a_spring_breaks() -> None:
    result = simulate(Hanging(strength=55.0), until=3.0, step=1e-4, every=10, engine="discrete")
    exact = simulate(Hanging(strength=55.0), until=3.0, step=1e-3, method="dopri5")
    assert result.status.ok
    (event,), (expected,) = result.statistics["events"], exact.statistics["events"]
    assert event[0] == pytest.approx(expected[0], abs=1e-6)
    z, same = result["weight.position.z"][-1], exact["weight.position.z"][-1]
    assert z == pytest.approx(same, abs=1e-4)


def test_a_joint_is_cut() -> None:
    """The lower rod flies on with the speed it had: its centre on a parabola, its turning constant."""
    result = simulate(Dropped(when=0.3), until=0.8, step=1e-5, every=1000, engine="discrete")
    assert result.status.ok
    after = result.time > 0.3005
    t, z = result.time[after], result["lower.position.z"][after]
    parabola = np.polyfit(t, z, 2)
    assert parabola[0] == pytest.approx(-9.81 / 2, abs=1e-6)
    assert np.abs(np.polyval(parabola, t) - z).max() < 1e-9
    assert np.ptp(result["lower.angular_velocity.y"][after]) < 1e-9
    assert np.abs(result["pin.angle.rate"]).max() < 20


def test_a_motor_stalls() -> None:
    result = simulate(Motor(), until=1.5, step=1e-4, every=10, engine="discrete")
    assert result.status.ok
    assert [name for _, name in result.statistics["events"]] == ["stall"]
    assert result["bearing.angle.rate"].max() == pytest.approx(20, abs=1e-2)
    assert abs(result["bearing.angle.rate"][-1]) < 0.1


def test_a_stiff_floor_is_hit_again_and_again() -> None:
    result = simulate(Bouncing(k=1e6), until=2.0, step=1e-5, every=100, engine="discrete")
    assert result.status.ok
    z = result["ball.position.z"]
    heights = [z[a:b].max() for a, b in ((400, 900), (1000, 1500), (1500, 2000))]
    assert np.allclose(heights, 0.6, atol=2e-3)
    assert z.min() > 0.09
