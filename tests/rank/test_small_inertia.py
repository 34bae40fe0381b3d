"""Bodies with next to no inertia on a long lever keep their joints in absolute coordinates, or are refused by name."""

from __future__ import annotations

import numpy as np
import pytest

from kompono import Body, Ground, Subsystem, TranslationError, simulate
from kompono.library import Gravity, Revolute


class Bob(Subsystem):
    """A mass of 1 kg, 1 m below its pin."""

    def __init__(self, inertia: float) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.bob = Body(mass=1.0, inertia=[inertia] * 3)
        self.pin = Revolute(self.ground, self.bob.at(0, 0, 1), axis="y", angle=1.0)


@pytest.mark.parametrize("metric", ["mass", "identity"])
@pytest.mark.parametrize("inertia", [1e-3, 1e-8, 3e-10, 1e-10, 1e-11])
def test_a_pendulum_swings_like_a_point_mass(inertia: float, metric: str) -> None:
    by_joint = simulate(Bob(inertia), until=1.0)
    by_body = simulate(Bob(inertia), until=1.0, engine="absolute", metric=metric)
    assert by_body.status.ok, by_body.status.message
    assert np.abs(by_joint["bob.position.x"] - by_body["bob.position.x"]).max() < 2e-6
    assert np.abs(by_joint["pin.force.z"] - by_body["pin.force.z"]).max() < 1e-3


def test_less_is_refused_by_the_body_s_name() -> None:
    with pytest.raises(TranslationError, match=r"^bob: .* inertia .* too small"):
        simulate(Bob(3e-13), until=0.1, engine="absolute")
