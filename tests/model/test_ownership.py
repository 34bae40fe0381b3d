"""Nothing declared is left out: every element has one place in the model, or there is an error that names it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kompono import (
    Body,
    Event,
    Force,
    Ground,
    Input,
    Mode,
    ModelError,
    Motion,
    Output,
    Parameter,
    Sensor,
    Subsystem,
    Wrench,
    simulate,
    time,
)
from kompono.library import (
    Distance,
    Drive,
    Gear,
    Gravity,
    JointEffort,
    Prismatic,
    Revolute,
    RotationalSpringDamper,
    SpringDamper,
    solids,
)
from kompono.translate.declared.elaborate import elaborate

pytestmark = pytest.mark.filterwarnings("ignore::kompono.ModelWarning")


def ball() -> Body:
    return Body(solids.sphere(mass=1.0, radius=0.1))


class Swing(Subsystem):
    """A ball on a pin; `more` is told to add something."""

    def __init__(self, more: Callable[[Any], Any] | None = None) -> None:
        self.ground = Ground()
        self.bob = ball()
        self.pin = Revolute(self.ground, self.bob.at(0, 0, 1), axis="y")
        if more is not None:
            more(self)


def message(model: Subsystem) -> str:
    with pytest.raises(ModelError) as caught:
        simulate(model, until=0.0)
    return str(caught.value)


# -- an element that already has a place


class Falling(Subsystem):
    def __init__(self, gravity: Gravity = Gravity()) -> None:  # noqa: B008 (the mistake that is tested)
        self.gravity = gravity
        self.stone = ball()


def test_a_default_argument_that_is_an_element_is_refused_from_the_second_object_on() -> None:
    first = Falling()
    assert simulate(first, until=1.0)["stone.position.z"][-1] < -4
    text = message(Falling())
    assert text.startswith("Falling: self.gravity is a Gravity that is already Falling.gravity, another model")
    assert "self.gravity = Gravity(...) in __init__" in text
    assert simulate(first, until=1.0)["stone.position.z"][-1] < -4


def test_the_same_within_one_model_names_both_places() -> None:
    shared = Gravity()

    class Pair(Subsystem):
        def __init__(self) -> None:
            self.left, self.right = Falling(shared), Falling(shared)

    assert message(Pair()).startswith("right: self.gravity is a Gravity that is already left.gravity")


def test_a_body_of_another_model_is_no_member_here() -> None:
    other = Swing()
    assert "already Swing.bob, another model" in message(Swing(lambda swing: swing.add("second", other.bob)))


def test_shortcuts_stay_allowed_whether_the_part_is_assigned_before_or_after() -> None:
    class Before(Subsystem):
        def __init__(self) -> None:
            self.swing = Swing()
            self.rod = self.swing.bob
            self.rods = [self.swing.bob]

    class After(Subsystem):
        def __init__(self) -> None:
            swing = Swing()
            self.rod = swing.bob
            self.swing = swing

    for kind in (Before, After):
        model = kind()
        assert [body.path for body in elaborate(model).bodies] == ["swing.bob"]


def test_a_part_may_keep_what_its_owner_hands_down_or_a_neighbour_exposes() -> None:
    class Held(Subsystem):
        def __init__(self, stiffness: Any, body: Body) -> None:
            self.stiffness, self.body = stiffness, body
            self.weight = ball()

    class Whole(Subsystem):
        def __init__(self, *, expose: bool) -> None:
            self.stiffness = Parameter(3.0)
            self.swing = Swing(lambda swing: swing.expose(swing.bob) if expose else None)
            self.held = Held(self.stiffness, self.swing.bob)

    assert len(elaborate(Whole(expose=True)).bodies) == 2
    assert "held: self.body is a Body that is already swing.bob" in message(Whole(expose=False))


# -- what is taken away


def spring(model: Any, k: float = 1.0) -> SpringDamper:
    return SpringDamper(model.ground.at(1, 0, 0), model.bob, k=k)


def test_none_del_and_shorter_lists_take_members_away() -> None:
    model = Swing(lambda swing: swing.add("spring", spring(swing)))
    assert len(elaborate(model).forces) == 1
    model.spring = None  # type: ignore[assignment]
    assert elaborate(model).forces == ()
    model.spring = spring(model)
    assert len(elaborate(model).forces) == 1
    del model.spring
    assert elaborate(model).forces == ()
    model.springs = [spring(model), spring(model, 2.0), spring(model, 3.0)]
    kept = model.springs[1]
    model.springs = [kept, spring(model, 4.0)]
    assert [(force.path, force.k) for force in elaborate(model).forces] == [("springs.0", 2.0), ("springs.1", 4.0)]
    model.springs = []
    assert elaborate(model).forces == ()


def test_what_is_taken_away_is_no_port_any_more() -> None:
    class Outer(Subsystem):
        def __init__(self) -> None:
            self.swing = Swing(lambda swing: swing.expose(swing.bob, swing.ground))
            self.expose(self.swing.bob)

    outer = Outer()
    outer.swing.bob = ball()
    assert outer.exposed == ()
    assert outer.swing.exposed == (outer.swing.ground,)


def test_a_member_can_be_given_another_name() -> None:
    model = Swing(lambda swing: swing.add("spring", spring(swing)))
    held = model.spring
    model.spring = None  # type: ignore[assignment]
    model.cable = held
    assert elaborate(model).forces[0].path == "cable"
    model.second = model.cable
    model.cable = None  # type: ignore[assignment]
    assert "self.second is a SpringDamper that is no member: it was taken out" in message(model)


def test_a_list_that_lost_a_member_after_it_was_assigned_is_refused() -> None:
    model = Swing(lambda swing: swing.add("springs", [spring(swing), spring(swing)]))  # type: ignore[arg-type]
    model.springs.pop()
    text = message(model)
    assert "springs.1 was taken out of self.springs, but not out of the model" in text
    model.springs = list(model.springs)
    assert len(elaborate(model).forces) == 1


# -- collections


def test_dictionaries_and_nested_lists_give_dotted_paths() -> None:
    model = Swing()
    model.legs = {"front": {"left": ball(), "right": ball()}, "rear": [ball(), (ball(), ball())], "height": 0.5}
    paths = [body.path for body in elaborate(model).bodies]
    assert paths == ["bob", "legs.front.left", "legs.front.right", "legs.rear.0", "legs.rear.1.0", "legs.rear.1.1"]
    assert model.find("legs.rear.1.0") is model.legs["rear"][1][0]
    model.legs = {"front": model.legs["front"]}
    assert len(elaborate(model).bodies) == 3
    assert "legs.front.left.position.x" in simulate(model, until=0.0)


class Side(Enum):
    LEFT = 1


@pytest.mark.parametrize(
    ("held", "words"),
    [
        (lambda: {ball()}, "set"),
        (lambda: deque([ball()]), "deque"),
        (lambda: np.array([ball(), None], dtype=object), "ndarray"),
        (lambda: {Side.LEFT: ball()}, "key makes no path"),
        (lambda: {"a.b": ball()}, "names without dots"),
        (lambda: [{ball()}], "set"),
        (lambda: (ball() for _ in range(2)), "only once"),
        (lambda: map(Body, [solids.sphere(mass=1, radius=1)]), "only once"),
    ],
)
def test_collections_without_names_or_order_are_refused_where_they_are_assigned(held: Any, words: str) -> None:
    model = Swing()
    with pytest.raises(ModelError, match=words):
        model.parts = held()


# -- what is lost

LOST: dict[str, Callable[[Any], Any]] = {
    "a joint": lambda s: Revolute(s.ground, s.other.at(0, 0, 1)),
    "a force": spring,
    "a constraint": lambda s: Distance(s.ground, s.bob, length=1.0),
    "an effort": lambda s: JointEffort(s.pin, 1.0),
    "a torsion spring": lambda s: RotationalSpringDamper(s.pin, k=1.0),
    "a drive": lambda s: Drive(s.pin, time),
    "a gear": lambda s: Gear(s.pin, s.pin, ratio=1),
    "a sensor": lambda s: Sensor(s.bob),
    "gravity": lambda s: Gravity(),
    "a body": lambda s: ball(),
    "a ground": lambda s: Ground(),
    "a parameter": lambda s: Parameter(1.0),
    "an input": lambda s: Input(1.0),
    "an output": lambda s: Output(s.pin.angle),
    "a mode": lambda s: Mode(0),
    "an event": lambda s: Event(s.pin.angle - 1, {s.stage: 1}),
    "a component": lambda s: Swing(),
}


class Losing(Swing):
    def __init__(self, lose: Callable[[Any], Any]) -> None:
        super().__init__()
        self.other, self.stage, self.parts = ball(), Mode(0), []
        lose(self)


@pytest.mark.parametrize("made", LOST)
def test_what_is_made_and_never_assigned_is_named_with_its_line(made: str) -> None:
    text = message(Losing(LOST[made]))
    assert "is a member of no subsystem: it would not act. Assign it to self" in text
    line = {"a force": spring, "a body": ball}.get(made, LOST[made]).__code__.co_firstlineno
    assert f"{Path(__file__).name}, line {line + (made in ('a force', 'a body'))}" in text


@pytest.mark.parametrize("made", LOST)
def test_what_hides_in_a_list_or_under_a_private_name_is_named(made: str) -> None:
    make = LOST[made]
    assert "it came into self.parts after that was assigned" in message(Losing(lambda s: s.parts.append(make(s))))
    assert "begin with an underscore are private" in message(Losing(lambda s: s.add("_hidden", make(s))))


def test_joints_and_forces_made_outside_of_the_class_are_found_too() -> None:
    model = Swing()
    assert elaborate(model)
    spring(model)
    assert "built on bob, is a member of no subsystem" in message(model)


def test_a_component_that_is_lost_is_found_by_what_it_touches() -> None:
    class Attached(Subsystem):
        def __init__(self, body: Body) -> None:
            self.weight = ball()
            self.pin = Revolute(body, self.weight)

    model = Swing()
    attached = Attached(model.bob)
    text = message(model)
    assert "built on bob, belongs to Attached, which is no member" in text
    assert attached.pin.path == "pin"


def test_an_element_of_a_class_instead_of_an_object_is_refused() -> None:
    class Wrong(Swing):
        gravity = Gravity()

    assert "gravity is declared in the class Wrong, not in its __init__" in message(Wrong())


def test_what_failed_to_be_made_or_was_taken_away_is_not_missed() -> None:
    model = Swing()
    with pytest.raises(ModelError):
        RotationalSpringDamper(model.pin, k=1.0, coordinate="angel")
    model.spring = spring(model)
    model.spring = None  # type: ignore[assignment]
    assert elaborate(model).forces == ()


def test_an_element_may_keep_others_for_its_own_law() -> None:
    class Doubled(Force):
        def __init__(self, first: Any, second: Any, helper: Force | None = None) -> None:
            super().__init__(first, second)
            self.inner = helper or SpringDamper(first, second, k=1.0)

        def wrench(self, motion: Motion) -> Wrench:
            return Wrench(2 * self.inner.wrench(motion).force)

    def within(swing: Any) -> None:
        swing.push = Doubled(swing.ground, swing.bob)

    def given(swing: Any) -> None:
        swing.push = Doubled(swing.ground, swing.bob, SpringDamper(swing.ground, swing.bob, k=1.0))

    for more in (within, given):
        assert len(elaborate(Swing(more)).forces) == 1


def test_a_model_may_simulate_another_one_while_it_is_built() -> None:
    class Tuned(Swing):
        def __init__(self) -> None:
            super().__init__()
            trial = simulate(Swing(), until=0.0)
            self.length = trial["bob.position.z"][0]

    assert elaborate(Tuned())


# -- replacing a member by what is no element


def test_an_expression_or_number_does_not_take_the_place_of_a_signal() -> None:
    class Motor(Subsystem):
        def __init__(self) -> None:
            self.voltage, self.resistance, self.stage = Input(0.0), Parameter(1.0), Mode(0)
            self.rotor = ball()

    class Machine(Subsystem):
        def __init__(self) -> None:
            self.motor = Motor()

    model = Machine()
    with pytest.raises(
        ModelError, match=r"^motor\.voltage: .*an Input; an expression cannot.*inputs=\{\"motor\.voltage"
    ):
        model.motor.voltage = 3 * time  # type: ignore[assignment]
    with pytest.raises(ModelError, match=r"^motor\.voltage: .*12\.0 cannot take its place"):
        model.motor.voltage = 12.0  # type: ignore[assignment]
    with pytest.raises(ModelError, match=r"^motor\.resistance: .*parameters=\{\"motor\.resistance\""):
        model.motor.resistance = 2.0  # type: ignore[assignment]
    with pytest.raises(ModelError, match=r"^motor\.stage: .*changed by an Event"):
        model.motor.stage = 1  # type: ignore[assignment]
    with pytest.raises(ModelError, match=r"^motor\.rotor: .*a Body; 'no' cannot take its place.*None to take it away"):
        model.motor.rotor = "no"  # type: ignore[assignment]
    assert isinstance(model.motor.voltage, Input)
    model.motor.voltage = Input(5.0)
    assert [signal.path for signal in elaborate(model).inputs] == ["motor.voltage"]


def test_a_slide_is_found_under_its_name() -> None:
    model = Swing(lambda swing: swing.add("slide", Prismatic(swing.ground, ball(), axis="x")))
    assert "it uses Body" in message(model)
