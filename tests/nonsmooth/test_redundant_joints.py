"""Friction that follows reactions of redundant joints: those of least norm, whatever is declared first."""

from __future__ import annotations

import numpy as np
import pytest

from kompono import Body, Ground, ModelWarning, Result, Subsystem, simulate
from kompono.library import DryFriction, Gravity, Prismatic, Revolute, solids

HINGES = {"low": -0.7, "mid": 0.1, "high": 0.7}


class Leaf(Subsystem):
    """A door leaf that hangs on hinges of a post; one of them rubs."""

    def __init__(self, names: tuple[str, ...], rubs: str) -> None:
        self.post = Body(solids.box(mass=30.0, size=(0.1, 0.1, 2.0)))
        self.leaf = Body(solids.box(mass=20.0, size=(0.8, 0.04, 2.0)))
        for name in names:
            where = self.post.at(0, 0, HINGES[name]), self.leaf.at(-0.4, 0, HINGES[name])
            setattr(self, name, Revolute(*where, axis="z", **({"angle_rate": 1.0} if name == rubs else {})))
        self.dry = DryFriction(getattr(self, rubs), mu=0.2, radius=0.01)
        self.expose(foot=self.post)


class House(Subsystem):
    """Its post may slide, so that it moves with the door."""

    def __init__(self, names: tuple[str, ...] = ("low", "high"), rubs: str = "low") -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.door = Leaf(names, rubs)
        self.sill = Prismatic(self.ground, self.door.post, axis="x")


class Rods(Subsystem):
    """A plate on three parallel rods: conditions that others imply where they hold."""

    def __init__(self, order: tuple[int, ...] = (0, 1, 2)) -> None:
        self.wall, self.gravity = Ground(), Gravity()
        self.plate = Body(solids.box(mass=5.0, size=(2.0, 0.1, 0.1)))
        self.rods = [Body(solids.rod(mass=0.5, length=1.0, radius=0.02)) for _ in range(3)]
        for k in order:
            x, rod = 0.8 * (k - 1), self.rods[k]
            setattr(self, f"top{k}", Revolute(self.wall.at(x, 0, 0), rod.at(0, 0, 0.5), axis="y", angle=0.5))
            setattr(self, f"low{k}", Revolute(rod.at(0, 0, -0.5), self.plate.at(x, 0, 0), axis="y", angle=-0.5))
        self.dry = DryFriction(self.top1, mu=0.3, radius=0.03)


def load(result: Result, joint: str) -> np.ndarray:
    """Force and torque (6) of a joint at the end."""
    return np.array([result[f"{joint}.{kind}.{axis}"][-1] for kind in ("force", "torque") for axis in "xyz"])


@pytest.fixture(scope="module")
def house() -> Result:
    return simulate(House(), until=0.1)


def test_of_all_wrenches_that_fit_those_of_least_norm(house: Result) -> None:
    """The wrenches of both hinges together are given; their shares are found here by least squares."""
    wrenches = [load(house, f"door.{name}") for name in ("low", "high")]
    levers = [np.array([0.0, 0.0, HINGES[name]]) for name in ("low", "high")]
    total = sum(np.concatenate([w[:3], w[3:] + np.cross(p, w[:3])]) for w, p in zip(wrenches, levers, strict=True))
    length, blocks = 0.7e-3, []
    for x, y, z in levers:
        arm = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
        blocks.append(np.block([[np.eye(3), np.zeros((3, 3))], [arm, length * np.eye(3)]]))
    keep = [0, 1, 2, 3, 4]  # hinges bear no torque about z
    held = np.hstack([block[:, keep] for block in blocks])[keep]
    share = np.linalg.pinv(held, 1e-12) @ total[keep]
    for k, wrench in enumerate(wrenches):
        found = share[5 * k : 5 * k + 5]
        assert wrench[:3] == pytest.approx(found[:3], abs=1e-8)
        assert wrench[3:5] == pytest.approx(length * found[3:], abs=1e-8)


def test_hinges_bear_as_bearings_are_reckoned(house: Result) -> None:
    low, high = load(house, "door.low"), load(house, "door.high")
    assert low[2] == pytest.approx(high[2], abs=1e-10)
    assert low[2] + high[2] == pytest.approx(20 * 9.81, abs=1e-9)
    assert np.abs([low[3:], high[3:]]).max() < 1e-3  # of 82 N m


def test_friction_follows_what_is_reported(house: Result) -> None:
    force = load(house, "door.low")[:3]
    assert abs(house["door.dry.friction"][-1]) == pytest.approx(0.2 * 0.01 * np.linalg.norm(force), rel=1e-12)


@pytest.mark.parametrize("how", [{"engine": "absolute"}, {"closed": ["door"]}], ids=["absolute", "closed"])
def test_engines_and_borders_share_alike(house: Result, how: dict) -> None:
    other = simulate(House(), until=0.1, **how)
    for name in ("low", "high"):
        assert load(other, f"door.{name}") == pytest.approx(load(house, f"door.{name}"), abs=1e-9)
    assert other["door.low.angle.rate"][-1] == pytest.approx(house["door.low.angle.rate"][-1], abs=1e-12)


def test_the_order_of_declaration_does_not_matter() -> None:
    first, second = (simulate(Rods(order), until=0.2) for order in ((0, 1, 2), (2, 0, 1)))
    for joint in ("top0", "top1", "top2", "low0", "low2"):
        assert load(first, joint) == pytest.approx(load(second, joint), abs=1e-10)
    assert first["top1.angle"][-1] == pytest.approx(second["top1.angle"][-1], abs=1e-13)


def test_three_hinges_in_any_order() -> None:
    names = ("low", "mid", "high")
    one, other = (simulate(House(order, "mid"), until=0.05) for order in (names, names[::-1]))
    for name in names:
        assert load(one, f"door.{name}") == pytest.approx(load(other, f"door.{name}"), abs=1e-9)


class Half(Subsystem):
    """Two bars of a parallelogram, and the dry hinge between them."""

    def __init__(self) -> None:
        self.left = Body(solids.rod(mass=1.0, length=0.5, radius=0.05, axis="x"))
        self.beam = Body(solids.rod(mass=2.0, length=1.2, radius=0.05, axis="x"))
        self.hinge = Revolute(self.left.at(0.25, 0, 0), self.beam.at(-0.6, 0, 0), axis="z", angle=-1.0, angle_rate=-3.0)
        self.dry = DryFriction(self.hinge, mu=0.3, radius=0.1)
        self.expose(self.left, self.beam)


class Halved(Subsystem):
    def __init__(self) -> None:
        self.ground, self.gravity, self.half = Ground(), Gravity((0, -9.81, -5.0)), Half()
        self.right = Body(solids.rod(mass=1.0, length=0.5, radius=0.05, axis="x"))
        self.a = Revolute(self.ground, self.half.left.at(-0.25, 0, 0), axis="z", angle=1.0, angle_rate=3.0)
        self.d = Revolute(self.ground.at(1.2, 0, 0), self.right.at(-0.25, 0, 0), axis="z", angle=1.0, angle_rate=3.0)
        self.c = Revolute(self.half.beam.at(0.6, 0, 0), self.right.at(0.25, 0, 0), axis="z")


@pytest.mark.parametrize("engine", ["relative", "absolute"])
def test_what_is_shared_across_a_border_is_told(engine: str) -> None:
    with pytest.warns(ModelWarning, match=r"follows the force of half\.hinge, which a loop through the border"):
        simulate(Halved(), until=2e-3, closed=["half"], engine=engine, progress=False, channels=["a.angle"])
