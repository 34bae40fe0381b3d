"""A frame that a component exposes is a connector like any other: open, closed or sealed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kompono import Body, Ground, LoadCell, Output, Sealed, Sensor, Subsystem, rotation, seal, simulate
from kompono.compile import targets
from kompono.errors import ModelError
from kompono.library import Distance, Gravity, Revolute, Spherical, SpringDamper
from kompono.sealed import keys

pytestmark = pytest.mark.filterwarnings("ignore::kompono.ModelWarning")
TURNED = rotation("y", 0.4)


class Arm(Subsystem):
    """Two bodies, of which two frames of one can be seen, and one of the other."""

    def __init__(self) -> None:
        self.holder = Body(mass=1.0, inertia=(0.02, 0.03, 0.04))
        self.bob = Body(mass=2.0, inertia=(0.02, 0.03, 0.04))
        self.joint = Revolute(self.holder.at(0.1, 0, 0), self.bob.at(0, 0.1, 0.3), axis=(1, 1, 0), angle_rate=1.0)
        self.expose(root=self.holder.at(0, 0, 0.1), eye=self.bob.at(0, 0, -0.2, orientation=TURNED))
        self.expose(side=self.bob.at(0.1, 0.1, 0))


class Owner(Subsystem):
    """Every kind of element sits beside an exposed frame."""

    def __init__(self, part: Any) -> None:
        self.ground, self.gravity, self.part = Ground(), Gravity(), part
        self.load, self.rod = (Body(mass=1.0, inertia=(0.01, 0.01, 0.02)) for _ in range(2))
        self.top = Revolute(self.ground, part.root.at(0, 0, 0.1), axis="y", angle=0.2)
        self.hook = Revolute(part.eye.at(0.1, 0, 0, orientation=TURNED), self.load.at(0, 0, 0.2), axis="x", angle=0.5)
        self.link = Spherical(part.eye.at((0, 0.1, 0)), self.rod.at(0, 0, 0.1))
        self.wire = Distance(self.ground.at(0, 0.5, -0.5), self.rod.at(0, 0, -0.1), length=0.63)
        self.spring = SpringDamper(self.ground.at(0.5, 0, -0.3), part.side.at(0, 0, 0.1), k=50, c=0.5, rest=0.2)
        self.probe = Sensor(part.eye.at(0, 0, 0.1).at(0, 0.2, 0), axes=part.side.at(0, 0, 0, orientation=TURNED))
        self.cell = LoadCell(self.hook, at=part.eye.at(0, 0, 0.3), axes=part.eye)
        self.height = Output(part.side.at(0, 0, 0.3).position[2] + part.eye.at(0.1, 0, 0).velocity[0], unit="m")


RUN: dict[str, Any] = {"until": 0.1, "step": 1e-3}
SEEN = ("hook.", "probe.", "cell.", "height", "load.", "spring.", "energy", "top.")


def compare(found: Any, whole: Any, exact: float) -> None:
    assert found.status.ok, found.status.message
    names = [name for name in whole if name.startswith(SEEN)]
    assert len(names) > 40
    for name in names:
        assert np.abs(found[name] - whole[name]).max() < exact * (1 + np.abs(whole[name]).max()), name


def test_frames_beside_an_exposed_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = simulate(Owner(Arm()), **RUN)
    assert whole.status.ok, whole.status.message
    compare(simulate(Owner(Arm()), **RUN, closed=["part"]), whole, 1e-11)
    monkeypatch.setenv("KOMPONO_CONFIG", str(tmp_path / "config"))
    keys.make("Ada")
    path = tmp_path / "arm.part"
    seal(Arm(), path, targets=[str(targets.fitting(targets.TARGETS))])
    compare(simulate(Owner(Sealed(path)), **RUN), whole, 1e-11)


def test_a_frame_is_placed_in_the_axes_of_the_one_before() -> None:
    body = Body(mass=1.0, inertia=(1, 1, 1))
    turned = body.at(1, 2, 3, orientation=rotation("z", np.pi / 2))
    there = turned.at(1, 0, 0, orientation=rotation("z", np.pi / 2))
    np.testing.assert_allclose(np.array(there.pose.position).ravel(), (1, 3, 3), atol=1e-15)
    np.testing.assert_allclose(np.array(there.pose.rotation), np.diag([-1, -1, 1]), atol=1e-15)
    with pytest.raises(ModelError, match="is not a point"):
        turned.at(1, 2)


class Thief(Subsystem):
    """What is placed from the body behind a frame is not exposed by it."""

    def __init__(self, nested: bool) -> None:
        self.ground, self.arm = Ground(), Arm()
        eye = self.arm.exposed_frames["eye"].body if nested else self.arm.bob
        self.pull = SpringDamper(self.ground.at(1, 0, 0), eye.at(0, 0, -0.2), k=1.0, rest=0.1)


@pytest.mark.parametrize("nested", [False, True])
def test_the_body_behind_a_frame_is_still_nobodys(nested: bool) -> None:
    with pytest.raises(ModelError, match=r"pull: arm\.bob is not exposed by arm\. Use arm\.eye"):
        simulate(Thief(nested), until=0.1)
