"""Symbols are no numbers: what turns one into a number is refused where it is written."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import casadi as ca
import pytest

from kompono import (
    Body,
    Constraint,
    Effort,
    Event,
    Field,
    Force,
    Ground,
    Input,
    Joint,
    Mode,
    ModelError,
    Motion,
    Output,
    Parameter,
    Pose,
    Sensor,
    Subsystem,
    TranslationError,
    Wrench,
    simulate,
    time,
)
from kompono.library import AppliedLoad, Drive, Gear, Gravity, JointEffort, Prismatic, SpringDamper, solids


class Cart(Subsystem):
    def __init__(self) -> None:
        self.ground, self.body = Ground(), Body(solids.sphere(mass=1, radius=0.1))
        self.rail = Prismatic(self.ground, self.body, axis="x")
        self.gain, self.push, self.stage, self.probe = Parameter(2.0), Input(1.0), Mode(0), Sensor(self.body)


SYMBOLS: dict[str, Callable[[Cart], Any]] = {
    "time": lambda cart: time,
    "a coordinate": lambda cart: cart.rail.displacement,
    "a speed": lambda cart: cart.rail.displacement_rate,
    "a position": lambda cart: cart.body.position[0],
    "an entry of a velocity": lambda cart: cart.body.at(1, 0, 0).velocity[2],
    "a value of a sensor": lambda cart: cart.probe.orientation[3],
    "a parameter": lambda cart: cart.gain,
    "an input": lambda cart: cart.push,
    "a mode": lambda cart: cart.stage,
}


@pytest.mark.parametrize("name", SYMBOLS)
def test_python_functions_of_numbers_refuse_a_symbol(name: str) -> None:
    symbol = SYMBOLS[name](Cart())
    for use in (float, int, math.sin, math.sqrt, lambda x: math.pow(x, 2)):
        with pytest.raises(ModelError, match=r"no number yet.*casadi\.sin"):
            use(symbol)  # type: ignore[operator]
    with pytest.raises(ModelError, match=r"`if` cannot use it"):
        _ = 1 if symbol else 2
    assert ca.sin(symbol).is_scalar()
    assert (2 * symbol + 1).is_scalar()


NOT_A_NUMBER: dict[str, Callable[[Cart], Any]] = {
    "an output": lambda cart: Output(math.sin(2 * time)),
    "an output with more": lambda cart: Output(cart.rail.displacement + math.sin(2 * time)),
    "an effort": lambda cart: JointEffort(cart.rail, math.sin(2 * time)),
    "a drive": lambda cart: Drive(cart.rail, math.sin(2 * time)),
    "a gear": lambda cart: Gear(cart.rail, cart.rail, ratio=math.sin(2 * time)),
    "a load": lambda cart: AppliedLoad(cart.body, force=(0, math.sin(2 * time), 0)),
    "gravity": lambda cart: Gravity((0, 0, math.cos(2 * time))),
    "a spring": lambda cart: SpringDamper(cart.ground, cart.body, k=math.exp(2 * time)),
    "a ground": lambda cart: Ground((math.sin(2 * time), 0, 0)),
    "a guard": lambda cart: Event(time - math.sin(2 * time), {cart.stage: 1}),
    "a new value": lambda cart: Event(time - 1, {cart.stage: math.sin(2 * time)}),
    "a mass": lambda cart: Body(mass=cart.gain * math.sin(2 * time), inertia=(1, 1, 1)),
    "a start value": lambda cart: Prismatic(cart.ground, cart.body, axis="x", displacement=math.nan),
}


@pytest.mark.parametrize("name", NOT_A_NUMBER)
def test_what_is_not_a_number_is_refused_where_it_is_assigned(name: str) -> None:
    cart, make = Cart(), NOT_A_NUMBER[name]
    kind = next(word for word in make.__code__.co_names if word[0].isupper())
    with pytest.raises(ModelError, match=rf"^(Cart\.made|{kind}): .*(not a number|nan is not finite).* ca\.sin"):
        cart.made = make(cart)


def test_infinite_limits_in_an_expression_are_allowed() -> None:
    cart = Cart()
    cart.limited = JointEffort(cart.rail, ca.fmin(cart.push, math.inf))
    assert simulate(cart, until=0.01).status.ok


class Pushed(Force):
    def wrench(self, motion: Motion) -> Wrench:
        return Wrench(ca.vertcat(math.sin(2 * motion.position[0]), 0, 0))


class Motor(Effort):
    def effort(self, q: Any, v: Any) -> Any:
        return math.tanh(2 * v[0])


class Wind(Field):
    def acceleration(self, position: Any) -> Any:
        return ca.vertcat(math.sin(2 * position[0]), 0, 0)


class Held(Constraint):
    def conditions(self, pose: Pose) -> list[Any]:
        return [pose.position[1] - math.sin(2 * time)]


class Bent(Joint):
    coordinates = ("x",)
    units = ("m",)

    def pose(self, q: Any) -> Pose:
        return Pose(position=ca.vertcat(q[0], math.sin(2 * q[0]), 0))


@pytest.mark.parametrize(
    ("make", "law"),
    [
        (lambda cart: Pushed(cart.ground, cart.body), "wrench"),
        (lambda cart: Motor(cart.rail), "effort"),
        (lambda cart: Wind(), "acceleration"),
        (lambda cart: Held(cart.ground, cart.body), "conditions"),
        (lambda cart: Bent(cart.ground, cart.body), "pose"),
    ],
)
def test_a_law_that_returns_what_is_not_a_number_is_named(make: Callable[[Cart], Any], law: str) -> None:
    cart = Cart()
    cart.made = make(cart)
    with pytest.raises(
        TranslationError, match=rf"^made: what \w+\.{law}\b.* returned, holds a constant .*\(NaN\).*ca\.sin"
    ):
        simulate(cart, until=0.1)


def test_a_law_that_makes_a_number_of_a_symbol_is_named_with_a_way_out() -> None:
    class Rooted(Force):
        def wrench(self, motion: Motion) -> Wrench:
            return Wrench(ca.vertcat(math.sqrt(motion.position[0]), 0, 0))

    cart = Cart()
    cart.made = Rooted(cart.ground, cart.body)
    with pytest.raises(ModelError, match=r"^made: p_0 is a symbol and no number yet.*casadi\.sqrt"):
        simulate(cart, until=0.1)


def test_a_law_that_branches_on_a_symbol_is_named_with_a_way_out() -> None:
    class Branching(Force):
        def wrench(self, motion: Motion) -> Wrench:
            return Wrench(motion.position if motion.position[0] > 1 else -motion.position)

    cart = Cart()
    cart.made = Branching(cart.ground, cart.body)
    with pytest.raises(TranslationError, match=r"^made: Branching\.wrench decides by `if`.*ca\.if_else"):
        simulate(cart, until=0.1)
