"""Start values of joints that close loops and of bodies on joints: used where they can be, told where they cannot."""

from __future__ import annotations

import warnings
from math import pi
from typing import Any

import numpy as np
import pytest

from kompono import Body, Ground, ModelWarning, RunError, Simulation, Subsystem, rotation, simulate, simulate_many
from kompono.library import (
    Cylindrical,
    Free,
    Gravity,
    ParallelAxes,
    Planar,
    Prismatic,
    Revolute,
    Screw,
    Spherical,
    Universal,
    solids,
)

quiet = pytest.mark.filterwarnings("ignore:assembly moved")


class FourBar(Subsystem):
    """A parallelogram, 1 m high and 1.2 m wide."""

    def __init__(self, **starts: float) -> None:
        def start(name: str) -> dict[str, float]:
            return {key.removeprefix(f"{name}_"): x for key, x in starts.items() if key.startswith(f"{name}_")}

        self.ground, self.gravity = Ground(), Gravity()
        rod = solids.rod(mass=1, length=1, radius=0.01)
        self.left, self.right = Body(rod), Body(rod)
        self.top = Body(solids.rod(mass=1, length=1.2, radius=0.01, axis="x"))
        self.foot1 = Revolute(self.ground, self.left.at(0, 0, -0.5), axis="y", **start("foot1"))
        self.foot2 = Revolute(self.ground.at(1.2, 0, 0), self.right.at(0, 0, -0.5), axis="y", **start("foot2"))
        self.knee1 = Revolute(self.left.at(0, 0, 0.5), self.top.at(-0.6, 0, 0), axis="y", **start("knee1"))
        self.knee2 = Revolute(self.right.at(0, 0, 0.5), self.top.at(0.6, 0, 0), axis="y", **start("knee2"))


# -- joints that close loops


@quiet
@pytest.mark.parametrize("engine", ["relative", "absolute", "discrete"])
@pytest.mark.parametrize("cut", ["foot1", "knee1", "foot2", "knee2"])
def test_a_start_is_kept_wherever_the_loop_is_cut(cut: str, engine: str) -> None:
    model = FourBar(foot1_angle=0.5, foot1_angle_rate=2.0)
    simulation = Simulation(model, cut=[cut], engine=engine, native=False)
    assembly = simulation.assemble()
    here = 0.0, assembly.state, simulation.feed().at(0.0)
    parameters = simulation.parameters() if engine != "discrete" else simulation.completed(
        simulation.parameters(), assembly.state, simulation.feed(), 1e-5
    )  # fmt: skip
    for name, value in (("foot1.angle", 0.5), ("foot1.angle.rate", 2.0), ("foot2.angle", 0.5)):
        assert simulation.channel(*here, parameters, name) == pytest.approx(value, abs=1e-9)
    assert not assembly.not_kept


@quiet
def test_a_closing_joint_takes_start_values_in_the_call() -> None:
    initial = {"knee2.angle": -0.7, "knee2.angle.rate": 1.5}
    result = simulate(FourBar(), until=0.0, cut=["knee2"], initial=initial)
    assert result["knee2.angle"][0] == pytest.approx(-0.7, abs=1e-9)
    assert result["knee2.angle.rate"][0] == pytest.approx(1.5, abs=1e-9)
    assert result["foot1.angle"][0] == pytest.approx(0.7, abs=1e-9)


@quiet
@pytest.mark.filterwarnings("ignore:start values could not")
def test_an_ensemble_takes_start_values_of_a_closing_joint() -> None:
    angles = np.array([-0.7, -0.2, 0.4])
    ensemble = simulate_many(FourBar(), until=0.01, cut=["knee2"], initial={"knee2.angle": angles}, progress=False)
    assert np.abs(ensemble["foot1.angle"][:, 0] + angles).max() < 1e-9


@quiet
def test_all_joints_given_in_agreement_stay() -> None:
    model = FourBar(foot1_angle=0.4, foot2_angle=0.4, knee1_angle=-0.4, knee2_angle=-0.4)
    assembly = Simulation(model, native=False).assemble()
    assert not assembly.moved
    assert not assembly.not_kept


def test_what_a_closing_joint_cannot_do_is_told_with_what_it_did() -> None:
    with pytest.warns(ModelWarning, match=r"could not be kept: knee2\.angle asked 0\.9 rad, became -0\.4 rad\.$"):
        simulate(FourBar(foot1_angle=0.4, foot2_angle=0.4, knee1_angle=-0.4, knee2_angle=0.9), until=0.0)


@quiet
def test_a_whole_turn_a_closing_joint_cannot_show_is_told() -> None:
    with pytest.warns(ModelWarning, match=r"knee2\.angle asked 5\.88319 rad, became -0\.4 rad"):
        simulate(FourBar(foot1_angle=0.4, knee2_angle=2 * pi - 0.4), until=0.0, cut=["knee2"])


class Ball(Subsystem):
    """A rod whose upper end slides along x and that hangs in a ball joint, which closes the loop."""

    def __init__(self, **start: float) -> None:
        self.ground = Ground()
        self.rod = Body(solids.rod(mass=1, length=1, radius=0.1))
        self.free = Free(self.ground, self.rod)
        self.ball = Spherical(self.ground, self.rod.at(0, 0, 0.5), **start)


@quiet
@pytest.mark.parametrize("sign", [1, -1])
def test_a_ball_joint_that_closes_a_loop_keeps_its_quaternion_and_speeds(sign: int) -> None:
    e = sign * rotation((0, 0.6, 0.8), 0.9)
    start = {f"e{k}": float(e[k]) for k in range(4)} | {"wx": 0.5, "wz": -2.0}
    result = simulate(Ball(**start), until=0.0, cut=["ball"])
    found = np.array([result[f"ball.e{k}"][0] for k in range(4)])
    assert min(np.abs(found - e).max(), np.abs(found + e).max()) < 1e-9
    assert [result[f"ball.w{a}"][0] for a in "xyz"] == pytest.approx([0.5, 0.0, -2.0], abs=1e-9)


# -- owners and parts


class Crank(Subsystem):
    def __init__(self) -> None:
        self.arm = Body(solids.rod(mass=1, length=1, radius=0.02, axis="x"))
        self.tip = Body(solids.rod(mass=1, length=1, radius=0.02, axis="x"))
        self.elbow = Revolute(self.arm.at(0.5, 0, 0), self.tip.at(-0.5, 0, 0), axis="y", angle=0.5)
        self.expose(self.arm, self.tip)


class Stretched(Subsystem):
    """An arm of two links of 1 m; a slider of the owner holds its tip on the x axis. `reach` is the owner's start."""

    def __init__(self, reach: float) -> None:
        self.ground = Ground()
        self.part = Crank()
        self.shoulder = Revolute(self.ground, self.part.arm.at(-0.5, 0, 0), axis="y")
        self.slider = Body(solids.sphere(mass=1, radius=0.1))
        self.slide = Prismatic(self.ground, self.slider, axis="x", displacement=reach)
        self.hold = Spherical(self.slider, self.part.tip.at(0.5, 0, 0))


@quiet
def test_where_an_owner_and_its_part_disagree_the_owner_wins() -> None:
    reach = 1.2
    with pytest.warns(ModelWarning, match=r"part\.elbow\.angle asked 0\.5 rad, became") as told:
        result = simulate(Stretched(reach), until=0.0)
    assert result["slide.displacement"][0] == reach
    assert abs(result["part.elbow.angle"][0]) == pytest.approx(2 * np.arccos(reach / 2), abs=1e-9)
    assert not any("slide.displacement asked" in str(one.message) for one in told)


# -- bodies


class Hanging(Subsystem):
    """A double pendulum whose bodies are placed in the world, as CAD systems do."""

    def __init__(self, angles: tuple[float, float], *, turned: bool = True, off: float = 0.0, **pin: Any) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.first = self._rod(np.zeros(3), angles[0], turned, off)
        self.second = self._rod(self._end(angles[0]), sum(angles), turned, 0.0)
        self.pin = Revolute(self.ground, self.first.at(0, 0, 0.5), axis="y", **pin)
        self.knee = Revolute(self.first.at(0, 0, -0.5), self.second.at(0, 0, 0.5), axis="y")

    @staticmethod
    def _end(angle: float) -> np.ndarray:
        return np.array([-np.sin(angle), 0.0, -np.cos(angle)])

    def _rod(self, hook: np.ndarray, angle: float, turned: bool, off: float) -> Body:
        orientation = rotation("y", angle) if turned else None
        place = hook + (0.5 + off) * self._end(angle)
        return Body(solids.rod(mass=1, length=1, radius=0.02), start_position=place, start_orientation=orientation)


@pytest.mark.parametrize("engine", ["relative", "absolute"])
@pytest.mark.parametrize("turned", [True, False])
def test_places_of_bodies_decide_the_coordinates_of_their_joints(
    turned: bool, engine: str, recwarn: pytest.WarningsRecorder
) -> None:
    result = simulate(Hanging((0.4, -1.1), turned=turned), until=0.0, engine=engine)
    assert result["pin.angle"][0] == pytest.approx(0.4, abs=1e-7)
    assert result["knee.angle"][0] == pytest.approx(-1.1, abs=1e-7)
    assert not recwarn.list


def test_a_place_a_body_cannot_have_is_told_by_how_much() -> None:
    with pytest.warns(ModelWarning, match=r"first\.start_position asked \(.*\) m, became \(.*\) m, off by 0\.01 m"):
        result = simulate(Hanging((0.4, 0.0), off=0.01), until=0.0)
    assert result["pin.angle"][0] == pytest.approx(0.4, abs=1e-6)


def test_start_values_of_joints_stand_above_places_of_bodies() -> None:
    with pytest.warns(ModelWarning, match=r"first\.start_position asked .*first\.start_orientation asked"):
        result = simulate(Hanging((0.4, 0.3), angle=0.1), until=0.0)
    assert result["pin.angle"][0] == 0.1
    assert result["knee.angle"][0] == pytest.approx(0.3, abs=1e-9)


def test_what_the_call_gives_is_no_contradiction_to_places_of_bodies(recwarn: pytest.WarningsRecorder) -> None:
    result = simulate(Hanging((0.4, 0.3)), until=0.0, initial={"pin.angle": -0.2})
    assert result["pin.angle"][0] == -0.2
    assert not recwarn.list


def test_velocities_of_bodies_on_joints_decide_their_rates(recwarn: pytest.WarningsRecorder) -> None:
    model = Hanging((0.4, 0.3))
    model.first.start_angular_velocity = np.array([0.0, 2.0, 0.0])
    model.second.start_angular_velocity = np.array([0.0, -1.0, 0.0])
    result = simulate(model, until=0.0)
    assert result["pin.angle.rate"][0] == pytest.approx(2.0, abs=1e-12)
    assert result["knee.angle.rate"][0] == pytest.approx(-3.0, abs=1e-12)
    assert not recwarn.list


def test_a_velocity_a_body_cannot_have_is_told() -> None:
    model = Hanging((0.4, 0.3))
    model.first.start_velocity = np.array([0.0, 0.5, 0.0])
    with pytest.warns(ModelWarning, match=r"first\.start_velocity asked \(0, 0\.5, 0\) m/s, became .* off by 0\.5 m/s"):
        simulate(model, until=0.0)


class Walker(Subsystem):
    """A floating hip with three legs; a leg, or the hip, is placed in the world."""

    def __init__(self, placed: str, **start: Any) -> None:
        self.hip = Body(solids.box(mass=5, size=(0.3, 0.3, 0.1)), **(start if placed == "hip" else {}))
        self.legs = [
            Body(solids.rod(mass=1, length=1, radius=0.02), **(start if placed == f"leg{k}" else {})) for k in range(3)
        ]
        self.hinges = [Revolute(self.hip.at(0.1 * k, 0, 0), leg.at(0, 0, 0.5)) for k, leg in enumerate(self.legs)]


@pytest.mark.parametrize("placed", ["hip", "leg0", "leg2"])
def test_a_body_with_a_start_is_the_root_of_what_floats(placed: str, recwarn: pytest.WarningsRecorder) -> None:
    start = {
        "start_position": (1, 2, 3), "start_orientation": rotation("x", 0.3), "start_velocity": (0.1, 0.2, 0.3),
        "start_angular_velocity": (0.5, 0, 0),
    }  # fmt: skip
    row = simulate(Walker(placed, **start), until=0.0).at(0.0)
    name = "hip" if placed == "hip" else f"legs.{placed[-1]}"
    assert [row[f"{name}.position.{a}"] for a in "xyz"] == [1, 2, 3]
    assert [row[f"{name}.velocity.{a}"] for a in "xyz"] == pytest.approx([0.1, 0.2, 0.3], abs=1e-14)
    assert [row[f"{name}.angular_velocity.{a}"] for a in "xyz"] == pytest.approx([0.5, 0, 0], abs=1e-14)
    assert not recwarn.list


def test_a_body_with_a_start_is_reached_from_a_root_it_was_denied(recwarn: pytest.WarningsRecorder) -> None:
    model = Walker("leg1", start_position=(1, 2, 3), start_orientation=rotation("x", 0.3), start_velocity=(0, 0, 1))
    row = simulate(model, until=0.0, independent=["hip"]).at(0.0)
    assert [row[f"legs.1.position.{a}"] for a in "xyz"] == pytest.approx([1, 2, 3], abs=1e-9)
    assert [row[f"legs.1.velocity.{a}"] for a in "xyz"] == pytest.approx([0, 0, 1], abs=1e-9)
    assert not recwarn.list


@quiet
@pytest.mark.filterwarnings("ignore:start values could not")
def test_a_velocity_in_the_world_stays_when_assembly_turns_its_body() -> None:
    class Plate(Subsystem):
        def __init__(self) -> None:
            self.ground = Ground()
            turned = rotation("x", 0.3)
            self.plate = Body(solids.box(mass=1, size=(1, 1, 0.1)), start_orientation=turned, start_velocity=(1, 2, 3))
            self.level = ParallelAxes(self.ground, self.plate)

    row = simulate(Plate(), until=0.0).at(0.0)
    assert row["plate.orientation.e0"] == pytest.approx(1.0, abs=1e-12)
    assert [row[f"plate.velocity.{a}"] for a in "xyz"] == pytest.approx([1, 2, 3], abs=1e-12)


# -- rates beside angles


@quiet
def test_a_rate_that_nobody_gave_counts_as_not_given() -> None:
    """Only what was asked is listed as not kept: the angle, not the rate beside it."""
    with pytest.warns(ModelWarning, match="could not be kept") as told:
        simulate(Stretched(1.2), until=0.0, initial={"slide.displacement.rate": 0.3})
    (message,) = [str(one.message) for one in told if "could not be kept" in str(one.message)]
    assert "part.elbow.angle asked" in message
    assert "angle.rate" not in message


def test_a_rate_of_one_coordinate_gives_only_the_speeds_it_depends_on() -> None:
    from kompono.translate.starts.start import start_state

    start = start_state(Simulation(Ball(), cut=["ball"], native=False).translation.engine, {"free.x.rate": 2.0})
    assert list(start.given_speeds > 0) == [True, False, False, False, False, False]


def test_a_place_on_a_joint_is_still_no_start_value_of_the_call() -> None:
    with pytest.raises(RunError, match=r"first\.position\.x"):
        simulate(Hanging((0.1, 0.1)), until=0.0, initial={"first.position.x": 0.3})


class Hung(Subsystem):
    def __init__(self, **start: float) -> None:
        self.ground, self.bob = Ground(), Body(solids.sphere(mass=1, radius=0.1))
        self.ball = Spherical(self.ground, self.bob.at(0, 0, 1), **start)


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"e1": 0.6}, (0.8, 0.6, 0, 0)),
        ({"e2": 1.0}, (0, 0, 1, 0)),
        ({"e0": -0.6, "e3": 0.8}, (-0.6, 0, 0, 0.8)),
        ({"e0": 3.0, "e1": 4.0}, (0.6, 0.8, 0, 0)),
        ({"e1": -2.0}, (0, -1, 0, 0)),
        ({"e1": 0.5**0.5, "e2": 0.5**0.5}, (0, 0.5**0.5, 0.5**0.5, 0)),  # whose squares are 1 + 2e-16
    ],
)
def test_a_quaternion_given_in_part_is_completed_and_one_that_is_none_is_told(given: Any, found: Any) -> None:
    told = sum(value**2 for value in given.values()) > 1.5
    called = {f"ball.{name}": value for name, value in given.items()}
    floating = {f"bob.orientation.{name}": value for name, value in given.items()}
    for model, initial in ((Hung(**given), {}), (Hung(), called), (Loose(), floating)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = simulate(model, until=0.0, initial=initial)
        assert any("could not be kept" in str(w.message) for w in caught) is told
        row = [result[f"bob.orientation.e{k}"][0] for k in range(4)]
        assert np.linalg.norm(row) == pytest.approx(1.0, abs=1e-12)
        assert abs(np.dot(row, found)) == pytest.approx(1.0, abs=1e-12)  # e and -e are one turn


class Loose(Subsystem):
    def __init__(self) -> None:
        self.bob = Body(solids.sphere(mass=1, radius=0.1))


def test_zeros_alone_are_no_orientation() -> None:
    for model, initial in ((Hung(e0=0.0), {}), (Hung(), {"ball.e0": 0.0}), (Loose(), {"bob.orientation.e0": 0.0})):
        with pytest.raises(RunError, match=r"are no orientation\. Give all four"):
            simulate(model, until=0.0, initial=initial)


# -- every joint


JOINTS: list[tuple[Any, dict[str, Any], dict[str, float]]] = [
    (Revolute, {"axis": (0.6, 0, 0.8)}, {"angle": 2.8, "angle_rate": 1.5}),
    (Prismatic, {"axis": (0.6, 0, 0.8)}, {"displacement": -0.7, "displacement_rate": 0.4}),
    (Cylindrical, {"axis": "x"}, {"displacement": 0.4, "angle": -2.0, "displacement_rate": 1.0, "angle_rate": -3.0}),
    (Screw, {"axis": "y", "pitch": 0.1}, {"angle": 2.5, "angle_rate": 2.0}),
    (Universal, {}, {"angle1": 2.2, "angle2": -1.0, "angle1_rate": 0.5, "angle2_rate": 0.25}),
    (Planar, {"normal": "y"}, {"x": 0.5, "y": -0.4, "angle": 3.0, "x_rate": 1.0, "angle_rate": -1.0}),
]


@quiet
@pytest.mark.parametrize(("kind", "options", "start"), JOINTS, ids=lambda value: getattr(value, "__name__", ""))
def test_every_joint_keeps_its_start_where_it_closes_a_loop(kind: Any, options: Any, start: dict[str, float]) -> None:
    class Held(Subsystem):
        def __init__(self) -> None:
            self.ground = Ground()
            self.box = Body(solids.box(mass=1, size=(0.1, 0.2, 0.3)))
            self.free = Free(self.ground, self.box)
            self.joint = kind(self.ground.at(0.1, 0.2, 0.3), self.box.at(-0.3, 0.2, 0.1), **options, **start)

    row = simulate(Held(), until=0.0, cut=["joint"]).at(0.0)
    for name, value in start.items():
        channel = f"{name.removesuffix('_rate')}.rate" if name.endswith("_rate") else name
        assert row[f"joint.{channel}"] == pytest.approx(value, abs=1e-9), name
