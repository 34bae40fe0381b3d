"""Rolling without slipping: balls, hoops, discs and carts, against textbook results, on every engine."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from kompono import (
    Body,
    Constraint,
    Ground,
    ModelError,
    Motion,
    Pose,
    Subsystem,
    TranslationError,
    evaluate,
    inspect,
    rotation,
    simulate,
)
from kompono.library import Gravity, PointInPlane, Revolute, Rolling, SpringDamper, solids

ENGINES = ("relative", "absolute")
G = 9.81


def vector(result: Any, path: str) -> np.ndarray:
    return np.stack([result[f"{path}.{k}"] for k in "xyz"], axis=-1)


def turned(result: Any, body: str) -> np.ndarray:
    e = np.stack([result[f"{body}.orientation.e{k}"] for k in range(4)], axis=-1)
    return Rotation.from_quat(e[:, [1, 2, 3, 0]]).as_matrix()


class Slope(Subsystem):
    """A ball on a plane tilted by 0.3 rad about y, turned about z besides."""

    def __init__(self) -> None:
        self.gravity = Gravity()
        self.plane = Ground((0, 0, 1), orientation=rotation(("z", 0.4), ("y", 0.3)))
        self.ball = Body(solids.sphere(mass=2, radius=0.1))
        self.contact = Rolling(self.plane, self.ball, radius=0.1, wz=3.0, wx=1.0)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_ball_on_a_slope_has_five_sevenths_of_the_acceleration(engine: str) -> None:
    result = simulate(Slope(), until=1.0, step=1e-3, engine=engine)
    down = np.array([np.cos(0.4) * np.cos(0.3), np.sin(0.4) * np.cos(0.3), -np.sin(0.3)])
    assert np.abs(vector(result, "ball.acceleration") - 5 / 7 * G * np.sin(0.3) * down).max() < 1e-9
    up = np.array([np.cos(0.4) * np.sin(0.3), np.sin(0.4) * np.sin(0.3), np.cos(0.3)])
    slip = vector(result, "ball.velocity") - np.cross(vector(result, "ball.angular_velocity"), 0.1 * up)
    assert np.abs(slip).max() < (1e-13 if engine == "relative" else 1e-11)
    force = 2 * (5 / 7 * G * np.sin(0.3) * down + np.array([0, 0, G]))
    assert np.abs(vector(result, "contact.force") - force).max() < 1e-8
    assert np.ptp(result["energy.total"]) < 1e-8
    assert result.status.ok


class Disc(Subsystem):
    """A thin disc (mass 1, radius 0.2) on a floor, leaning by `lean` from upright."""

    def __init__(self, *, lean: float, rates: tuple[float, float, float]) -> None:
        self.gravity, self.floor = Gravity(), Ground()
        self.disc = Body(mass=1.0, inertia=(0.01, 0.01, 0.02))
        wx, wy, wz = rates
        turn = rotation("x", np.pi / 2 - lean)
        self.contact = Rolling(
            self.floor, self.disc, radius=0.2, axis="z", orientation=turn, wx=wx, wy=wy, wz=wz, x=0.3
        )


def steady(lean: float, precession: float) -> float:
    """Total spin w3 about the disc's axis, at theta from the vertical, of Routh's steady motion.

    Moments about the centre: Omega sin (C w3 - I Omega cos) = -m r (r Omega w3 sin + g cos), with I = m r^2 / 4 and
    C = m r^2 / 2.
    """
    theta, m, r, i, c = np.pi / 2 - lean, 1.0, 0.2, 0.01, 0.02
    right = (i * precession**2 * np.sin(theta) - m * G * r) * np.cos(theta)
    return right / ((c + m * r**2) * precession * np.sin(theta))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_disc_goes_round_in_circles(engine: str) -> None:
    """The angle it leans at stays, its centre moves on a circle with the rate of precession."""
    lean, precession = 0.4, 3.0
    theta = np.pi / 2 - lean
    rates = (0.0, precession * np.sin(theta), steady(lean, precession))  # x horizontal, z the axis of the disc
    result = simulate(Disc(lean=lean, rates=rates), until=2.0, step=1e-3, engine=engine)
    axis = turned(result, "disc")[:, :, 2]
    assert np.abs(axis[:, 2] - np.cos(theta)).max() < 1e-7
    heading = np.unwrap(np.arctan2(axis[:, 1], axis[:, 0]))
    assert np.abs(heading - heading[0] - precession * result.time).max() < 1e-6
    assert np.ptp(result["energy.total"]) < 1e-8
    assert np.abs(result["disc.position.z"] - 0.2 * np.sin(theta)).max() < 1e-7


@pytest.mark.parametrize("engine", ENGINES)
def test_a_wobbling_disc_never_slips_and_keeps_its_energy(engine: str) -> None:
    result = simulate(Disc(lean=0.3, rates=(0.5, 1.0, 15.0)), until=1.0, step=5e-4, engine=engine)
    turn = turned(result, "disc")
    axis = turn[:, :, 2]
    up = np.array([0, 0, 1]) - axis * axis[:, 2:]
    arm = 0.2 * up / np.linalg.norm(up, axis=1, keepdims=True)
    slip = vector(result, "disc.velocity") - np.cross(vector(result, "disc.angular_velocity"), arm)
    assert np.abs(slip).max() < 1e-11
    assert np.abs(result["disc.position.z"] - arm[:, 2]).max() < 1e-11
    assert np.ptp(result["energy.total"]) < 1e-8
    assert np.ptp(axis[:, 2]) > 0.05


def test_engines_agree_and_the_discrete_one_comes_close() -> None:
    initial = {"step": 1e-3, "until": 0.5}
    one, two = (simulate(Disc(lean=0.3, rates=(0.5, 1.0, 15.0)), engine=engine, **initial) for engine in ENGINES)
    for k in "xyz":
        assert np.abs(one[f"disc.position.{k}"] - two[f"disc.position.{k}"]).max() < 1e-7
        assert np.abs(one[f"contact.force.{k}"] - two[f"contact.force.{k}"]).max() < 1e-4
    three = simulate(Disc(lean=0.3, rates=(0.5, 1.0, 15.0)), engine="discrete", step=1e-5, every=100, until=0.5)
    assert np.abs(one["disc.position.x"] - three["disc.position.x"]).max() < 1e-3


class Cart(Subsystem):
    """A plate on four wheels, all of which roll; the last three close loops. It can only go straight."""

    def __init__(self) -> None:
        self.gravity = Gravity((1.0, 0, -G))
        self.floor = Ground()
        self.plate = Body(solids.box(mass=4, size=(1, 0.5, 0.1)), start_position=(0, 0, 0.1))
        self.wheels = [Body(solids.cylinder(mass=1, length=0.02, radius=0.1, axis="y")) for _ in range(4)]
        places = [(x, y) for x in (-0.4, 0.4) for y in (-0.3, 0.3)]
        for wheel, (x, y) in zip(self.wheels, places, strict=True):
            wheel.start_position = np.array([x, y, 0.1])
        self.axles = [
            Revolute(self.plate.at(x, y, 0), wheel, axis="y") for wheel, (x, y) in zip(self.wheels, places, strict=True)
        ]
        self.contacts = [
            Rolling(self.floor, wheel, radius=0.1, axis="y", x=x, y=y)
            for wheel, (x, y) in zip(self.wheels, places, strict=True)
        ]


@pytest.mark.filterwarnings("ignore::kompono.ModelWarning")
@pytest.mark.parametrize("engine", ENGINES)
def test_a_cart_on_four_rolling_wheels(engine: str) -> None:
    """8 kg and four discs of 1 kg: (8 + 4/2) a = 8 g_x; redundant contacts do no harm."""
    result = simulate(Cart(), until=0.5, step=1e-3, engine=engine)
    assert result.status.ok
    assert np.abs(result["plate.acceleration.x"] - 8 / 10).max() < 1e-9
    assert np.abs(result["plate.position.x"] - result["plate.position.x"][0] - 0.4 * result.time**2).max() < 1e-8
    assert np.abs(result["plate.position.z"] - 0.1).max() < 1e-9
    assert inspect(Cart(), engine=engine).degrees_of_freedom == 1


class Skate(Constraint):
    """A knife edge along x of the second frame: it does not slide across itself."""

    def conditions(self, pose: Pose) -> list[Any]:
        return []

    def velocity_conditions(self, motion: Motion) -> list[Any]:
        return [ca.dot(motion.rotation[:, 1], motion.velocity)]


class Sleigh(Subsystem):
    """Chaplygin's sleigh: a plate on a floor, its knife edge behind its centre of mass."""

    def __init__(self) -> None:
        self.floor = Ground()
        self.plate = Body(mass=2.0, inertia=(1, 1, 0.5), start_angular_velocity=(0, 0, 2.0), start_velocity=(0, 0.2, 0))
        self.slides = [PointInPlane(self.floor, self.plate.at(*point)) for point in ((0, 0, 0), (1, 0, 0), (0, 1, 0))]
        self.edge = Skate(self.floor, self.plate.at(-0.1, 0, 0))


@pytest.mark.filterwarnings("ignore::kompono.ModelWarning")
@pytest.mark.parametrize("engine", ENGINES)
def test_own_velocity_conditions(engine: str) -> None:
    """It turns ever slower and ends on a straight line: w' = -m a u w / (I + m a^2), u' = a w^2, energy kept."""
    result = simulate(Sleigh(), until=2.0, step=1e-3, engine=engine)
    turn = turned(result, "plate")
    w = result["plate.angular_velocity.z"]
    edge = vector(result, "plate.velocity") + np.cross(
        vector(result, "plate.angular_velocity"), turn @ np.array([-0.1, 0, 0])
    )
    assert np.abs(np.einsum("ni,ni->n", edge, turn[:, :, 1])).max() < 1e-11
    u = np.einsum("ni,ni->n", edge, turn[:, :, 0])
    expected = -2 * 0.1 * u * w / (0.5 + 2 * 0.01)
    assert np.abs(result["plate.angular_acceleration.z"] - expected).max() < 1e-9
    assert np.ptp(result["energy.total"]) < 1e-9


class Bent(Skate):
    def velocity_conditions(self, motion: Motion) -> list[Any]:
        return [ca.sumsqr(motion.velocity)]


def test_velocity_conditions_that_are_not_linear_are_refused() -> None:
    class Wrong(Sleigh):
        def __init__(self) -> None:
            super().__init__()
            self.bad = Bent(self.floor, self.plate.at(0.1, 0, 0))

    with pytest.raises(TranslationError, match=r"^bad: velocity_conditions.*not linear"):
        evaluate(Wrong())


def test_what_cannot_roll_is_told() -> None:
    with pytest.raises(ModelError, match="radius"):
        Rolling(Ground(), Body(mass=1, inertia=(1, 1, 1)), radius=0)
    with pytest.raises(ModelError, match="wq"):
        Rolling(Ground(), Body(mass=1, inertia=(1, 1, 1)), radius=1, wq=1.0)


def test_a_wheel_stands_upright_unless_told_otherwise_and_never_lies_flat() -> None:
    class Wheel(Subsystem):
        def __init__(self, **options: Any) -> None:
            self.gravity, self.floor = Gravity(), Ground()
            self.wheel = Body(mass=1.0, inertia=(0.01, 0.01, 0.02))
            self.contact = Rolling(self.floor, self.wheel, radius=0.2, axis="z", **options)

    here = evaluate(Wheel())
    assert here["wheel.position.z"] == pytest.approx(0.2)
    assert here["contact.force.z"] == pytest.approx(G)
    with pytest.raises(ModelError, match="flat"):
        Wheel(orientation=(1, 0, 0, 0))


def test_a_rolling_ball_can_be_pulled() -> None:
    class Pulled(Slope):
        def __init__(self) -> None:
            super().__init__()
            self.spring = SpringDamper(self.plane.at(0, 0, 0.1), self.ball, k=20.0)

    result = simulate(Pulled(), until=1.0)
    assert np.ptp(result["energy.total"]) < 1e-7
