"""Members of a subsystem: how they get names and paths, how they are found again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
import pytest

from kompono import Body, Force, Ground, ModelError, Motion, Parameter, Subsystem, Wrench, simulate
from kompono.library import Gravity, Prismatic, Revolute, solids


def ball(mass: float = 1.0) -> Body:
    return Body(solids.sphere(mass=mass, radius=0.1))


class Damper(Subsystem):
    def __init__(self, *, mass: float = 1.0) -> None:
        self.cylinder = ball()
        self.piston = ball(mass)
        self.slide = Prismatic(self.cylinder, self.piston, axis="z")
        self.expose(self.cylinder, self.piston)


class Axle(Subsystem):
    def __init__(self) -> None:
        self.left, self.right = Damper(mass=2.0), Damper(mass=3.0)
        self.beam = ball()
        self.expose(self.beam, self.left.cylinder)


class Vehicle(Subsystem):
    def __init__(self) -> None:
        self.front = Axle()
        self.rear = Axle()
        self.wheels = [ball() for _ in range(3)]


def test_assignment_gives_a_member_its_name_owner_and_path() -> None:
    vehicle = Vehicle()
    piston = vehicle.front.left.piston
    assert piston.path == "front.left.piston"
    assert piston.owner is vehicle.front.left
    assert vehicle.path == ""


def test_members_keep_the_order_of_their_declaration() -> None:
    assert list(Axle().members) == ["left", "right", "beam"]
    assert list(Damper().members) == ["cylinder", "piston", "slide"]


def test_lists_and_tuples_register_their_items_by_number() -> None:
    vehicle = Vehicle()
    assert [wheel.path for wheel in vehicle.wheels] == ["wheels.0", "wheels.1", "wheels.2"]
    vehicle.pair = (ball(), ball())
    assert vehicle.pair[1].path == "pair.1"


def test_a_computed_name_is_the_same_as_an_assignment() -> None:
    vehicle = Vehicle()
    spare = vehicle.add("spare_wheel", ball())
    assert spare.path == "spare_wheel"
    assert vehicle.spare_wheel is spare  # type: ignore[attr-defined]


def test_a_class_can_be_used_many_times_with_different_parameters() -> None:
    axle = Axle()
    assert axle.left.piston.solid.mass == 2.0
    assert axle.right.piston.solid.mass == 3.0
    assert axle.left.piston is not axle.right.piston


def test_private_attributes_and_plain_values_are_no_members() -> None:
    axle = Axle()
    axle._hidden = ball()
    axle.track = 1.4
    assert set(axle.members) == {"left", "right", "beam"}


def test_a_second_name_is_a_shortcut_and_not_a_second_member() -> None:
    axle = Axle()
    axle.shortcut = axle.left.piston
    assert axle.shortcut is axle.left.piston
    assert axle.left.piston.path == "left.piston"
    assert "shortcut" not in axle.members


def test_a_subsystem_cannot_be_its_own_member() -> None:
    axle = Axle()
    with pytest.raises(ModelError, match="its own member"):
        axle.me = axle


def test_walk_visits_everything_below_depth_first() -> None:
    assert [element.path for element in Axle().walk()] == [
        "left",
        "left.cylinder",
        "left.piston",
        "left.slide",
        "right",
        "right.cylinder",
        "right.piston",
        "right.slide",
        "beam",
    ]


def test_find_follows_a_dotted_path_also_into_lists() -> None:
    vehicle = Vehicle()
    assert vehicle.find("rear.right.slide") is vehicle.rear.right.slide
    assert vehicle.find("wheels.2") is vehicle.wheels[2]
    assert vehicle.rear.find("right.slide") is vehicle.rear.right.slide


def test_a_path_that_is_not_there_offers_the_nearest() -> None:
    with pytest.raises(ModelError, match=r"'rear\.right\.slid'.*'rear\.right\.slide'"):
        Vehicle().find("rear.right.slid")


def test_contains_reaches_all_levels() -> None:
    vehicle = Vehicle()
    assert vehicle.contains(vehicle.front.left.piston)
    assert not vehicle.rear.contains(vehicle.front.left.piston)


def test_the_same_class_nested_differently_has_the_paths_of_its_place() -> None:
    result = simulate(_Rig(), until=0.0)
    assert "axle.left.slide.displacement" in result
    assert "spare.slide.displacement" in result
    assert "axle.right.piston.position.z" in result


class _Rig(Subsystem):
    def __init__(self) -> None:
        self.ground = Ground()
        self.axle = Axle()
        self.spare = Damper()
        self.hold = Revolute(self.ground, self.axle.beam)
        self.hang = Revolute(self.ground, self.axle.left.cylinder)
        self.right_hang = Revolute(self.ground, self.spare.cylinder)
        self.gravity = Gravity()


def test_a_member_that_takes_the_name_of_another_replaces_it_everywhere() -> None:
    """What no longer has a name must not stay in the model half: it is gone, and using it is an error with words."""
    model = Damper()
    old = model.piston
    model.piston = ball()
    assert model.piston.path == "piston"
    assert old not in list(model.walk())
    with pytest.raises(ModelError, match="slide"):
        simulate(model, until=0.0)


def test_a_parameter_must_be_a_number() -> None:
    with pytest.raises(ModelError, match=r"Damper\.stiffness.*finite"):
        Damper().stiffness = Parameter(float("nan"))


def test_exposed_bodies_are_the_ports() -> None:
    axle = Axle()
    assert axle.exposed == (axle.beam, axle.left.cylinder)
    assert axle.exposes(axle.beam)
    assert not axle.exposes(axle.right.cylinder)


def test_only_what_lies_inside_can_be_exposed() -> None:
    stranger = ball()
    with pytest.raises(ModelError, match=r"cannot expose.*Assign it to self first"):
        Axle().expose(stranger)
    with pytest.raises(ModelError, match="cannot expose"):
        Axle().expose(3)  # type: ignore[arg-type]


def test_two_equal_dataclasses_are_two_elements() -> None:
    @dataclass
    class Pull(Force):
        first: Any
        second: Any
        strength: float = 1.0

        def wrench(self, motion: Motion) -> Wrench:
            return Wrench(-self.strength * motion.position, ca.SX.zeros(3))

    class Pulled(Subsystem):
        def __init__(self) -> None:
            self.ground = Ground()
            self.ball = Body(solids.sphere(mass=1.0, radius=0.1))
            self.one = Pull(self.ground.at(1, 0, 0), self.ball.at(0, 0, 0))
            self.two = Pull(self.one.first, self.one.second)

    model = Pulled()
    assert model.one != model.two
    assert len({model.one, model.two}) == 2
    assert simulate(model, until=0.1, step=0.01).status.ok


class Rail(Prismatic):
    """A user's joint that compares itself by what it is for."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Rail)

    def __hash__(self) -> int:
        return 7


@pytest.mark.parametrize("engine", ["relative", "absolute"])
def test_elements_that_a_user_calls_equal_are_two_all_the_same(engine: str) -> None:
    class Rails(Subsystem):
        def __init__(self) -> None:
            self.ground = Ground()
            self.carts = [Body(solids.sphere(mass=1.0, radius=0.1)) for _ in range(2)]
            self.rails = [Rail(self.ground, cart, axis="x", displacement=0.1 * k) for k, cart in enumerate(self.carts)]

    model = Rails()
    assert model.rails[0] != model.rails[1]
    result = simulate(model, until=0.1, step=0.01, engine=engine)
    assert [result[f"rails.{k}.displacement"][-1] for k in range(2)] == pytest.approx([0.0, 0.1], abs=1e-12)
