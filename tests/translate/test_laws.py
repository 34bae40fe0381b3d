"""Laws of users that cannot be used are refused with the path of their element, the cause and what to write."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest

from kompono import (
    Body,
    Constraint,
    Coupling,
    Effort,
    Field,
    Force,
    Ground,
    Joint,
    KomponoError,
    Mode,
    ModelError,
    Motion,
    Output,
    Parameter,
    Pose,
    Subsystem,
    TranslationError,
    Wrench,
    simulate,
    time,
)
from kompono.library import AppliedLoad, Drive, JointEffort, Revolute, SpringDamper, solids
from kompono.spatial.rotation import about

GRID, VALUES = [0.0, 1.0, 2.0], [0.0, 1.0, 4.0]
CURVE = ca.interpolant("curve", "linear", [GRID], VALUES)


class Swing(Subsystem):
    """A pendulum with one thing more."""

    def __init__(self, extra: Callable[[Swing], Any] | None = None) -> None:
        self.ground = Ground()
        self.bob = Body(solids.sphere(mass=1.0, radius=0.1))
        self.pin = Revolute(self.ground, self.bob.at(0, 0, 1), axis="y", angle=0.5)
        if extra is not None:
            self.extra = extra(self)


class OwnForce(Force):
    def __init__(self, frame: Any, law: Callable[[Motion], Any], energy: Any = 0.0) -> None:
        super().__init__(frame)
        self.law, self.energy = law, energy

    def wrench(self, motion: Motion) -> Any:
        return self.law(motion)

    def potential(self, motion: Motion) -> Any:
        return self.energy


class OwnEffort(Effort):
    def __init__(self, joint: Joint, law: Callable[[Any, Any], Any]) -> None:
        super().__init__(joint)
        self.law = law

    def effort(self, q: Any, v: Any) -> Any:
        return self.law(q, v)


class OwnField(Field):
    def __init__(self, value: Any) -> None:
        self.value = value

    def acceleration(self, position: Any) -> Any:
        return self.value


class OwnConstraint(Constraint):
    def __init__(self, first: Any, second: Any, value: Any) -> None:
        super().__init__(first, second)
        self.value = value

    def conditions(self, pose: Pose) -> Any:
        return self.value


class OwnEdge(OwnConstraint):
    def __init__(self, first: Any, second: Any, value: Any, slips: Any = (), sign: Any = None) -> None:
        super().__init__(first, second, value)
        self.slips, self.sign = slips, sign

    def velocity_conditions(self, motion: Motion) -> Any:
        return self.slips

    def holds(self, pose: Pose) -> Any:
        return self.sign


class OwnReadings(Force):
    def __init__(self, frame: Any, given: Any) -> None:
        super().__init__(frame)
        self.given = given

    def wrench(self, motion: Motion) -> Wrench:
        return Wrench()

    def readings(self, motion: Motion) -> Any:
        return self.given


class OwnCoupling(Coupling):
    def __init__(self, joint: Joint, value: Any) -> None:
        super().__init__(joint)
        self.value = value

    def conditions(self) -> Any:
        return self.value


def stepped(motion: Motion) -> Wrench:
    """A user decides by `if`."""
    if motion.position[0] > 0:
        return Wrench(force=ca.vertcat(-1, 0, 0))
    return Wrench()


@pytest.mark.parametrize(
    ("extra", "cause", "fix"),
    [
        (lambda m: OwnForce(m.bob, stepped), "decides by `if`", "ca.if_else"),
        (lambda m: OwnEffort(m.pin, lambda q, v: max(q[0], 0)), "decides by `if`", "ca.fmax"),
        (lambda m: OwnEffort(m.pin, lambda q, v: CURVE(q[0])), "cannot be compiled", "ca.pw_lin"),
        (lambda m: OwnEffort(m.pin, lambda q, v: q[0] * np.nan), "NaN", "ca.sin"),
        (lambda m: OwnEffort(m.pin, lambda q, v: 1 / 0), "OwnEffort.effort raised ZeroDivisionError", "SX"),
        (lambda m: OwnEffort(m.pin, lambda q, v: None), "returned None", "SX"),
        (lambda m: OwnEffort(m.pin, lambda q, v: ca.vertcat(q, v)), "2 by 1, not 1 by 1", "column"),
        (lambda m: OwnForce(m.bob, lambda motion: None), "returned None, not a Wrench", "Wrench"),
        (lambda m: OwnForce(m.bob, lambda motion: Wrench(force="up")), "returned 'up'", "SX"),
        (lambda m: OwnForce(m.bob, lambda motion: Wrench(force=ca.vertcat(1, 2))), "2 by 1, not 3 by 1", "column"),
        (lambda m: OwnForce(m.bob, lambda motion: Wrench(), [1, 2]), "potential returned is 2 by 1", "column"),
        (lambda m: OwnField((1, 2)), "2 by 1, not 3 by 1", "column"),
        (lambda m: OwnField(None), "returned None", "SX"),
        (lambda m: OwnConstraint(m.ground, m.bob, None), "which is no list", "list of columns"),
        (lambda m: OwnConstraint(m.ground, m.bob, []), "gives no condition", "at least one"),
        (lambda m: OwnConstraint(m.ground, m.bob, ["z"]), "no expression", "SX"),
        (lambda m: OwnCoupling(m.pin, m.pin.angle), "which is no list", "list of columns"),
        (lambda m: OwnCoupling(m.pin, []), "gives no condition", "at least one"),
        (lambda m: OwnEdge(m.ground, m.bob, [], None), "OwnEdge.velocity_conditions returned None", "list of columns"),
        (lambda m: OwnEdge(m.ground, m.bob, [], []), "gives no condition", "at least one"),
        (lambda m: OwnEdge(m.ground, m.bob, [time], [], "up"), "OwnEdge.holds returned 'up'", "SX"),
        (lambda m: OwnReadings(m.bob, None), "readings returned None", '"unit"'),
        (lambda m: OwnReadings(m.bob, {"heat": 1.0}), "no values and units", '"unit"'),
        (lambda m: OwnReadings(m.bob, {"heat": (1.0, None)}), "no values and units", '"unit"'),
        (lambda m: OwnReadings(m.bob, {"heat": (ca.vertcat(1, 2), "W")}), "'heat'. returned is 2 by 1", "column"),
    ],
)
def test_a_law_that_cannot_be_used_is_refused(extra: Callable[[Swing], Any], cause: str, fix: str) -> None:
    with pytest.raises(TranslationError, match=cause) as caught:
        simulate(Swing(extra), until=0.0)
    assert caught.value.path == "extra"
    assert fix in caught.value.fix


@pytest.mark.parametrize(
    "extra",
    [
        lambda m: JointEffort(m.pin, CURVE(m.pin.angle)),
        lambda m: AppliedLoad(m.bob, force=(0, 0, CURVE(time))),
        lambda m: SpringDamper(m.ground, m.bob, k=CURVE(time)),
        lambda m: Drive(m.pin, CURVE(time)),
        lambda m: Output(ca.erfinv(time)),
    ],
)
def test_an_interpolant_is_refused_where_it_is_declared(extra: Callable[[Swing], Any]) -> None:
    with pytest.raises(ModelError, match=r"cannot be compiled.*ca\.pw_lin.*Input\(table=") as caught:
        Swing(extra)
    assert caught.value.path


def test_what_the_message_offers_instead_of_an_interpolant_works() -> None:
    curved = simulate(Swing(lambda m: JointEffort(m.pin, ca.pw_lin(m.pin.angle, GRID, VALUES))), until=0.1)
    chosen = simulate(
        Swing(lambda m: JointEffort(m.pin, ca.if_else(m.pin.angle < 1, m.pin.angle, 3 * m.pin.angle - 2))), until=0.1
    )
    assert np.abs(curved["pin.angle"] - chosen["pin.angle"]).max() < 1e-12
    assert curved["pin.angle"][-1] > 0.5


def test_a_decision_by_a_symbol_while_a_model_is_declared_names_the_component() -> None:
    class Deciding(Swing):
        def __init__(self) -> None:
            super().__init__()
            self.k = Parameter(3.0)
            if self.k > 2:
                self.spring = SpringDamper(self.ground, self.bob, k=self.k)

    with pytest.raises(ModelError, match=r"^Deciding: a Python decision.*ca\.if_else"):
        Deciding()


def test_every_law_of_an_own_joint_is_asked() -> None:
    class Hinge(Joint):
        coordinates = ("swing",)
        wrong = ""

        def pose(self, q: Any) -> Any:
            return Pose(rotation=about(np.array([0.0, 1.0, 0.0]), q[0])) if self.wrong != "pose" else None

        def rate(self, q: Any, v: Any) -> Any:
            return v if self.wrong != "rate" else ca.vertcat(v, v)

        def neutral(self) -> Any:
            return np.zeros(1) if self.wrong != "neutral" else 0.0

        def measure(self, pose: Pose) -> Any:
            return None if self.wrong != "measure" else pose.position

    class Own(Subsystem):
        def __init__(self, wrong: str) -> None:
            self.ground = Ground()
            self.bob = Body(solids.sphere(mass=1.0, radius=0.1))
            self.pin = Hinge(self.ground, self.bob)
            self.pin.wrong = wrong

    for law in ("pose", "rate", "neutral", "measure"):
        with pytest.raises(TranslationError, match=rf"^pin: .*Hinge\.{law}"):
            simulate(Own(law), until=0.0)
    assert simulate(Own(""), until=0.0).status.ok


def test_a_mode_of_an_element_may_be_called_holds() -> None:
    class Breakable(Revolute):
        def __init__(self, *frames: Any, holds: Mode) -> None:
            super().__init__(*frames, axis="y")
            self.holds = holds  # type: ignore[method-assign]

    class Held(Swing):
        def __init__(self) -> None:
            super().__init__()
            self.whole = Mode(1)
            self.second = Breakable(self.ground, self.bob.at(0, 0, 1), holds=self.whole)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the second hinge is redundant
        assert simulate(Held(), until=0.0).status.ok


def test_names_of_coordinates_are_a_tuple() -> None:
    class Hinge(Joint):
        coordinates = "angle"  # type: ignore[assignment]

    with pytest.raises(ModelError, match=r'^Hinge: coordinates = .angle. are no names.*\("angle",\)'):
        Hinge(Ground(), Body(solids.sphere(mass=1.0, radius=0.1)))


@pytest.mark.parametrize(
    ("foreign", "mass", "point"),
    [
        (ca.SX.sym("foreign"), *2 * ["it uses the symbol 'foreign', which is not part of this model.*parameters"]),
        (time, "its mass uses 'time', which is no tunable parameter", "the point of a frame uses 'time', which is no"),
    ],
)
def test_masses_and_points_depend_on_parameters_of_the_model_alone(foreign: ca.SX, mass: str, point: str) -> None:
    class Heavy(Swing):
        def __init__(self) -> None:
            super().__init__()
            self.other = Body(mass=foreign, inertia=(1, 1, 1))

    class Moving(Swing):
        def __init__(self) -> None:
            super().__init__()
            self.spring = SpringDamper(self.ground.at(foreign, 0, 0), self.bob, k=1.0)

    with pytest.raises(KomponoError, match=rf"^other: {mass}"):
        simulate(Heavy(), until=0.0)
    with pytest.raises(KomponoError, match=rf"^spring: {point}"):
        simulate(Moving(), until=0.0)
