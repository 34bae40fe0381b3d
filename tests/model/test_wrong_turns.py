"""What people coming from other programs write: told in words where it is written, and nothing taken in silence."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from math import radians
from pathlib import Path
from typing import Any

import casadi as ca
import pytest

from kompono import (
    Body,
    Controller,
    Electrical,
    Event,
    Ground,
    Input,
    KomponoError,
    Mode,
    ModelError,
    ModelWarning,
    Output,
    RunError,
    RunWarning,
    State,
    Subsystem,
    inspect,
    simulate,
    time,
)
from kompono.library import (
    Capacitor,
    Drive,
    Gear,
    Gravity,
    Inductor,
    JointEffort,
    Revolute,
    SpringDamper,
    Table,
    TwoPins,
    profiles,
    solids,
)


class Bench(Subsystem):
    def __init__(self, make: Callable[[Any], Any] = lambda _: None) -> None:
        self.ground, self.bob = Ground(), Body(solids.sphere(mass=1.0, radius=0.1))
        self.pin = Revolute(self.ground, self.bob.at(0, 0, 1), axis="y", angle=0.3)
        self.stage, self.level = Mode(0), State(0.0)
        self.level.rate = 1.0
        self.what = make(self)


class NoKind(TwoPins):
    """Two pins of no kind."""


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda m: Event(m.pin.angle, {}), "the event does nothing"),
        (lambda m: Event(time == 0.5, {m.stage: 1}), "an equality"),
        (lambda m: Event(m.pin.angle, {m.pin.angle_rate: 0}), "coordinates and speeds do not"),
        (lambda m: Gear(m.pin, m.pin, ratio=2), "the same one"),
        (lambda m: Drive(m.pin, 0.5 * m.pin.angle), "depends on the coordinate it prescribes"),
        (lambda m: Revolute(m.ground, Bench()), r"<Bench> is none.*body that it exposes"),
        (lambda m: SpringDamper(m.ground, m.bob, stiffness=3), "It is called 'k' here"),
        (lambda m: Revolute(m.ground, axis="y"), "'second' is missing"),
        (lambda m: Revolute(m.ground, m.bob, axes="y"), "Did you mean 'axis'"),
        (lambda m: profiles.trapezoidal(0, 1, speed=1), "'acceleration' is missing"),
        (lambda m: Table([0, 1], [0, 1])("x"), "cannot be looked up"),
        (lambda m: NoKind(), "no kind of pins"),
        (lambda m: Capacitor(0.0), "capacitance 0.0 is not positive"),
        (lambda m: Inductor(-1), "inductance -1 is not positive"),
        (lambda m: setattr(m.pin, "angle", 0.3), "^pin: angle was set to 0.3, which does nothing"),
        (lambda m: setattr(m.bob, "mass", 2.0), "^bob: mass was set"),
        (lambda m: setattr(m.stage, "rate", 1.0), "^stage: rate was set"),
        (lambda m: setattr(m.level, "next", 1.0), "^level: next was set"),
        (lambda m: m.add("energy", Named()), r"^energy\.total: two channels have this name"),
        (lambda m: m.add("time", Output(time)), "^time: a channel is called as the times are"),
    ],
)
def test_it_is_refused(make: Callable[[Any], Any], words: str) -> None:
    with pytest.raises(KomponoError, match=words) as caught:
        simulate(Bench(make), until=0.01, cache=False)
    assert caught.value.path
    assert caught.value.fix


class Named(Subsystem):
    def __init__(self) -> None:
        self.total = Output(time)


def test_a_pin_tells_what_it_has() -> None:
    with pytest.raises(AttributeError, match="it has v and i"):
        _ = Electrical().u


@pytest.mark.parametrize("name", ["tend", "t_end", "stopTime"])
def test_arguments_have_other_names_elsewhere(name: str) -> None:
    with pytest.raises(RunError, match="It is called 'until' here"):
        simulate(Bench(), **{name: 1.0})


def test_an_angle_that_is_probably_in_degrees() -> None:
    with pytest.warns(ModelWarning, match=r"angle=45 is in radians, 7\.16 turns"):
        Revolute(Ground(), Body(solids.sphere(mass=1.0, radius=0.1)), angle=45)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Revolute(Ground(), Body(solids.sphere(mass=1.0, radius=0.1)), angle=3 * radians(360), angle_rate=300)


quiet = pytest.mark.filterwarnings("ignore:.*touches this body")


class Falling(Subsystem):
    def __init__(self, *, gravity: bool = True) -> None:
        self.bob = Body(solids.sphere(mass=1.0, radius=0.1))
        if gravity:
            self.gravity = Gravity()


class Around(Subsystem):
    def __init__(self, *, own: int, inner: bool, first: bool) -> None:
        if first:
            self.field = [Gravity() for _ in range(own)]
        self.parts = [Falling(gravity=inner) for _ in range(2)]
        if not first:
            self.field = [Gravity() for _ in range(own)]


@quiet
@pytest.mark.parametrize("first", [True, False])
def test_gravity_that_acts_twice_is_told(first: bool) -> None:
    for own, inner, words in ((2, False, r"field\.0 and field\.1"), (1, True, r"field\.0 and parts\.0\.gravity")):
        with pytest.warns(ModelWarning, match=f"{words} act on the same bodies, and add up"):
            inspect(Around(own=own, inner=inner, first=first), cache=False)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*act on the same bodies")
        inspect(Around(own=0, inner=True, first=first), cache=False)  # one beside the other
        inspect(Around(own=1, inner=False, first=first), cache=False)


def fed(function: Any) -> Callable[[Any], Any]:
    def make(m: Any) -> Any:
        m.torque = Input(function, period=0.002)
        return JointEffort(m.pin, m.torque)

    return make


def asked(function: Any) -> Callable[[Any], Any]:
    def make(m: Any) -> Any:
        m.torque = Input()
        m.motor = JointEffort(m.pin, m.torque)
        return Controller(function, reads=[m.pin.angle], writes=[m.torque], every=0.002)

    return make


def test_a_channel_that_is_not_there_is_told_at_the_line_that_reads_it() -> None:
    with pytest.raises(RunError, match=r"^torque: there is no channel 'pin.angel'.*test_wrong_turns\.py"):
        simulate(Bench(fed(lambda t, read: read("pin.angel"))), until=0.01)
    with pytest.warns(RunWarning):
        late = simulate(Bench(fed(lambda t, read: 0.0 if t < 0.005 else read("pin.angel"))), until=0.01)
    assert "PresentState" not in late.status.message
    assert "test_wrong_turns.py" in late.status.message
    assert late.time[-1] == pytest.approx(0.006)


def test_a_text_is_no_answer() -> None:
    for make, path in ((fed(lambda t: "1"), "torque"), (asked(lambda t, x: "1"), "what")):
        with pytest.warns(RunWarning):
            status = simulate(Bench(make), until=0.01).status
        assert f"{path}: the callable returned '1' instead of a number" in status.message


def test_a_controller_that_takes_something_else_is_refused_before_the_run() -> None:
    with pytest.raises(RunError, match=r"^what: the callable takes \(t\).*1 number that it reads"):
        simulate(Bench(asked(lambda t: 0.0)), until=0.01)


def test_a_place_for_a_run_that_cannot_be_written_is_refused_before_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match=r"cannot write .*Choose another place"):
        simulate(Bench(), until=1e9, step=1.0, channels="pin.angle", hdf5=tmp_path / "file" / "run.h5")
    result = simulate(Bench(), until=0.01)
    with pytest.raises(RunError, match=r"^Result\.to_csv: None is no name of a file"):
        result.to_csv(None)  # type: ignore[arg-type]
    with pytest.raises(RunError, match=r"^Result\.to_csv: cannot write '[^']*': it is a folder\. The"):
        result.to_csv(tmp_path)


def test_a_rate_that_ends_between_two_evaluations_is_named() -> None:
    class Tank(Subsystem):
        def __init__(self) -> None:
            self.level = State(1.0)
            self.level.rate = -ca.sqrt(self.level)

    with pytest.warns(RunWarning):
        result = simulate(Tank(), until=3.0)
    assert result.status.message.startswith("level: its rate is not a number")


def test_a_pose_that_is_written_into_moves_no_other_frame() -> None:
    first = simulate(Bench(), until=0.01).table
    edited = Bench()
    edited.pin.second.pose.rotation[0, 0] = 0.5
    with pytest.raises(ModelError, match="changed in place"):
        simulate(edited, until=0.01)
    assert (simulate(Bench(), until=0.01).table == first).all()
