"""What is given to a constructor has a kind: numbers of every make are taken, anything else is refused in words."""

from __future__ import annotations

import inspect
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import casadi as ca
import numpy as np
import pytest

from kompono import (
    Body,
    Event,
    Ground,
    Input,
    KomponoError,
    Mode,
    ModelError,
    Output,
    Parameter,
    Subsystem,
    rotation,
    simulate,
    time,
)
from kompono.compile.lower import _ARITHMETIC, _CALLS, _COMPARISONS, _LOGIC
from kompono.given import UNSUPPORTED, column, number, numbers, scalar, shown
from kompono.library import (
    Bushing,
    Distance,
    Drive,
    Gear,
    Gravity,
    JointEffort,
    Revolute,
    RotationalSpringDamper,
    Screw,
    Spherical,
    SpringDamper,
    Weld,
    shapes,
    solids,
)

NUMBERS = [2, 2.0, np.float32(2), np.int8(2), np.array(2.0), np.array(2), Fraction(4, 2), Decimal("2"), ca.DM(2)]
NO_NUMBERS = [None, "2", b"2", 2j, [2.0], (2.0,), np.array([2.0]), {}, {2.0}, lambda: 2.0, object(), float, time, True]


class Machine(Subsystem):
    """An owner to assign to."""


@pytest.mark.parametrize("two", NUMBERS, ids=lambda x: type(x).__name__)
def test_numbers_of_every_make_are_taken_everywhere(two: Any) -> None:
    ground = Ground((two, 0, 0))
    body = Body(solids.box(mass=two, size=(two, two, two)), start_position=(two, 0, 0))
    assert body.solid.mass == 2.0
    assert body.start_position.tolist() == [2, 0, 0]
    assert np.asarray(ca.DM(body.at(two, 0, two).pose.position)).ravel().tolist() == [2, 0, 2]
    assert Revolute(ground, body, axis=(0, 0, two / two), angle=two).start == {"angle": 2.0}
    assert Parameter(two).value == Mode(two).start == Input(two).value == 2.0
    assert SpringDamper(ground, body, k=two).k == Distance(ground, body, length=two).length == 2.0
    assert Screw(ground, body, pitch=two).pitch == 2.0
    assert rotation("x", two)[0] == pytest.approx(math.cos(1.0))
    assert shapes.sphere(two).sizes["size"] == (4.0, 4.0, 4.0)


@pytest.mark.parametrize("wrong", NO_NUMBERS, ids=lambda x: type(x).__name__)
def test_what_is_no_number_is_refused_with_a_fix(wrong: Any) -> None:
    with pytest.raises(ModelError, match=r"^Thing: the size .* is not a number\. Give") as caught:
        number(wrong, "the size", "Thing", fix="Give metres.")
    assert caught.value.path == "Thing"


@pytest.mark.parametrize(
    "wrong", [*NO_NUMBERS[:11], math.nan, math.inf, Decimal("snan"), 10**400], ids=lambda x: type(x).__name__
)
def test_constructors_name_their_class_while_they_have_no_path(wrong: Any) -> None:
    ground, ball = Ground(), Body(solids.sphere(mass=1.0, radius=0.1))
    pin = Revolute(ground, ball)
    makers: dict[str, Any] = {
        "Revolute": lambda: Revolute(ground, ball, axis=wrong),
        "Ground": lambda: Ground(wrong),
        "Body": lambda: Body(mass=1.0, inertia=(1, 1, 1), start_velocity=wrong) if wrong is not None else Body(),
        "Screw": lambda: Screw(ground, ball, pitch=wrong),
        "SpringDamper": lambda: SpringDamper(ground, ball, k=wrong),
        "RotationalSpringDamper": lambda: RotationalSpringDamper(pin, c=wrong),
        "Bushing": lambda: Bushing(ground, ball, k=wrong),
        "Gravity": lambda: Gravity(wrong),
        "JointEffort": lambda: JointEffort(pin, wrong),
        "Drive": lambda: Drive(pin, wrong),
        "Gear": lambda: Gear(pin, pin, ratio=wrong),
        "Distance": lambda: Distance(ground, ball, length=wrong),
        "solids.sphere": lambda: solids.sphere(mass=1.0, radius=wrong),
        "solids.box": lambda: solids.box(mass=1.0, size=wrong),
        "shapes.box": lambda: shapes.box(wrong),
        "shapes.cone": lambda: shapes.cone(length=1.0, radius=wrong),
        "Shape.at": lambda: shapes.sphere(1.0).at(0, 0, wrong),
    }
    for name, maker in makers.items():
        with pytest.raises(ModelError) as caught:
            maker()
        assert caught.value.path == name
        assert caught.value.fix


def test_signals_are_refused_with_their_path() -> None:
    machine = Machine()
    for wrong in (None, "level", (1.0, 2.0)):
        with pytest.raises(ModelError, match=r"^Machine\.level: the output .* is not a number"):
            machine.level = Output(wrong)
    with pytest.raises(ModelError, match=r"^Machine\.stop: the guard 'now'"):
        machine.stop = Event("now", {})
    with pytest.raises(ModelError, match=r"^Event: the changes .* are no new values by mode"):
        Event(time - 1, [1])  # type: ignore[arg-type]
    with pytest.raises(ModelError, match=r"^Input: the table .* is no pair"):
        Input(table=3)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match=r"^Input: the table's times 'ab' is not a list of numbers"):
        Input(table=("ab", "cd"))  # type: ignore[arg-type]
    with pytest.raises(ModelError, match=r"^Parameter: the unit 3 is not a text"):
        Parameter(1.0, unit=3)  # type: ignore[arg-type]


def test_numbers_made_of_symbols_by_math_are_found() -> None:
    pin = Revolute(Ground(), Body(solids.sphere(mass=1.0, radius=0.1)))
    with pytest.raises(ModelError, match=r"^JointEffort: the effort nan is not finite.*ca\.sin"):
        JointEffort(pin, math.sin(2 * time))
    with pytest.raises(ModelError, match=r"^Drive: the motion holds a constant that is not a number.*ca\.sin"):
        Drive(pin, time * math.sin(2 * time))


def test_a_joint_offers_the_coordinates_it_has() -> None:
    ground, ball = Ground(), Body(solids.sphere(mass=1.0, radius=0.1))
    with pytest.raises(ModelError, match=r"^Drive: Spherical has coordinates .*coordinate=\"e0\" or") as caught:
        Drive(Spherical(ground, ball), time)
    assert "angle" not in str(caught.value)
    with pytest.raises(ModelError, match=r'coordinate="wx" or') as caught:
        JointEffort(Spherical(ground, ball), 1.0)
    with pytest.raises(ModelError, match=r"^Drive: Weld leaves nothing to move"):
        Drive(Weld(ground, ball), time)
    with pytest.raises(ModelError, match=r'second_coordinate="e0"'):
        Gear(Revolute(ground, ball), Spherical(ground, ball), ratio=2.0)


def test_a_start_that_is_a_parameter_says_what_to_do() -> None:
    with pytest.raises(ModelError, match=r"^Revolute: the start value angle .* is not a number.*initial="):
        Revolute(Ground(), Body(solids.sphere(mass=1.0, radius=0.1)), angle=Parameter(0.3))  # type: ignore[arg-type]


class Tuned(Subsystem):
    """A pendulum made of a rod of tunable length and mass."""

    def __init__(self, length: Any, mass: Any) -> None:
        if isinstance(length, Parameter):
            self.length, self.mass = length, mass
        self.ground = Ground()
        self.gravity = Gravity()
        self.rod = Body(solids.rod(mass=mass, length=length, radius=length / 20))
        self.pin = Revolute(self.ground, self.rod.at(0, 0, length / 2), axis="y", angle=1.0)


def test_solids_of_tunable_parameters_are_those_of_their_numbers_and_are_drawn_so() -> None:
    model = Tuned(Parameter(1.0), Parameter(2.0))
    tuned = simulate(model, until=0.5, parameters={"length": 0.7, "mass": 3.0})
    plain = simulate(Tuned(0.7, 3.0), until=0.5)
    assert np.abs(tuned["pin.angle"] - plain["pin.angle"]).max() < 1e-12
    pieces = [
        [piece["sizes"] for piece in (result.scene or {})["pieces"] if piece["kind"] == "cylinder"]
        for result in (tuned, plain)
    ]
    assert pieces[0] == pieces[1]
    assert {"length": 0.7, "radius": pytest.approx(0.035)} in pieces[0]


@pytest.mark.parametrize(
    "solid",
    [
        lambda p: solids.box(mass=p, size=(p, 1.0, p)),
        lambda p: solids.cylinder(mass=1.0, length=p, radius=p, axis="x"),
        lambda p: solids.tube(mass=p, length=1.0, radius=p, wall=p / 2),
        lambda p: solids.ring(mass=1.0, radius=p),
        lambda p: solids.sphere(mass=p, radius=p),
        lambda p: solids.rod(mass=1.0, length=p),
        lambda p: solids.point(mass=p),
        lambda p: solids.given(mass=p, inertia=(p, p, p)),
    ],
)
def test_every_solid_takes_parameters(solid: Any) -> None:
    symbol = Parameter(0.5)
    tuned, plain = solid(symbol), solid(0.5)
    values = ca.Function("solid", [symbol], [ca.SX(tuned.mass), ca.SX(tuned.inertia)])(0.5)
    assert float(values[0]) == plain.mass
    assert np.abs(np.asarray(values[1]) - plain.inertia).max() < 1e-15


def test_messages_stay_short_and_never_fail() -> None:
    class Speechless:
        def __repr__(self) -> str:
            raise ValueError

    assert shown(Speechless()) == "an object of class Speechless"
    assert len(shown("x" * 1000)) <= 80
    assert shown(np.zeros(100)) == "an array of shape (100,)"
    assert shown(math.sin) == "the function 'sin'"


def test_shapes_of_arrays_are_checked_entry_by_entry() -> None:
    assert numbers(((1, 2), (3, 4)), (2, 2), "it").tolist() == [[1, 2], [3, 4]]
    assert column((1, time, 2), 3, "it").shape == (3, 1)
    assert scalar(True, "it", truth=True) == 1.0
    for wrong in ([[1, 2], [3]], [1, [2, 3]], np.zeros((2, 2, 2)), "abcd", ((1, 2), (3, time))):
        with pytest.raises(KomponoError, match="2 by 2 numbers"):
            numbers(wrong, (2, 2), "it")


def test_all_operations_there_is_no_code_for_are_known_to_the_check() -> None:
    """The check at declaration and the compiler agree on what can be lowered."""
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    lowered = {*_ARITHMETIC, *_CALLS, *_COMPARISONS, *_LOGIC}
    made = set()
    for name in dir(ca):
        operation = getattr(ca, name)
        if name.startswith("OP_") or not callable(operation) or isinstance(operation, type):
            continue
        for arguments in ((x,), (x, y)):
            try:
                result = operation(*arguments)
                law = ca.Function("law", [x, y], [ca.SX(result)]) if isinstance(result, ca.SX) else None
            except BaseException:
                continue
            if law is not None:
                made |= {law.instruction_id(k) for k in range(law.n_instructions())}
    others = {
        ca.OP_CONST,
        ca.OP_INPUT,
        ca.OP_OUTPUT,
        ca.OP_NOT,
        ca.OP_IF_ELSE_ZERO,
        ca.OP_SIGN,
        ca.OP_ASSIGN,
        ca.OP_LIFT,
    }
    assert len(made) > 30
    assert made - lowered - others <= UNSUPPORTED


def test_help_shows_what_a_constructor_takes() -> None:
    class Plate(Subsystem):
        def __init__(self, size: float, *, holes: int = 0) -> None: ...

    assert list(inspect.signature(Plate).parameters) == ["size", "holes"]
    assert list(inspect.signature(Revolute).parameters) == [
        "first",
        "second",
        "axis",
        "limits",
        "restitution",
        "start",
    ]
