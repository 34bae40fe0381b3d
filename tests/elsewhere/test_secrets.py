"""Whatever frames a customer writes, numbers inside a part do not come back: attacks that must fail.

A balanced wheel turns in a box that is held still: nothing at the ports depends on its angle or its speed. So two
keepers whose wheels stand and turn differently must answer every frame alike.
"""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kompono import Body, Subsystem, seal
from kompono.compile import targets
from kompono.compile.error_level import ESTIMATE
from kompono.compile.far import FRAME, HEADER, Broken, Op
from kompono.elsewhere.greeting import Hello
from kompono.elsewhere.keeper import Keeper
from kompono.elsewhere.serve import opener
from kompono.library import Brake, Revolute, solids
from kompono.sealed import load_sealed
from kompono.sealed.kept import gives, numbered

ANGLE, SPEED = 0.3, 1.7
STILL = [0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]  # pose and twist of the box


class Flywheel(Subsystem):
    """A balanced wheel in a box."""

    def __init__(self) -> None:
        self.box = Body(solids.box(mass=3.0, size=(0.3, 0.3, 0.3)))
        self.wheel = Body(solids.cylinder(mass=1.0, length=0.05, radius=0.1))
        self.axle = Revolute(self.box, self.wheel, axis="z", angle=ANGLE, angle_rate=SPEED)
        self.expose(self.box)


class Rubbing(Flywheel):
    """Its axle rubs: how fast it slips is told, but not where the wheel stands."""

    def __init__(self) -> None:
        super().__init__()
        self.brake = Brake(self.axle, limit=0.5)


class Customer:
    """Writes frames of his own."""

    def __init__(self, keeper: Keeper, numbers: dict[str, int]) -> None:
        self.keeper, self._numbers, self._next = keeper, numbers, 0

    def send(self, *operations: list[float], wanted: int = 0) -> tuple[int, np.ndarray]:
        """Status and values."""
        words = [float(word) for operation in operations for word in operation]
        data = [FRAME, 1.0, HEADER + len(words), wanted, *words]
        reply = np.frombuffer(self.keeper.answer(struct.pack(f"<{len(data)}d", *data)), dtype="<f8")
        return int(reply[2]), reply[HEADER + 1 :]

    def make(self, op: float, *arguments: float, number: int | None = None) -> int:
        """The number of a vector that was asked to be made."""
        self._next += 1
        number = self._next if number is None else number
        self.status, _ = self.send([op, number, len(arguments), *arguments])
        return number

    def start(self, *offsets: float) -> int:
        return self.make(Op.START, *offsets)

    def column(self, name: str, x: float, push: float) -> tuple[float, list[float]]:
        function = self.keeper.part.functions[self._numbers[name]]
        given = [push] * (1 + function.others)
        if function.before >= len(STILL):
            given[: len(STILL)] = STILL
        given[function.before] = x
        return Op.FUNCTION + self._numbers[name], given

    def made(self, name: str, x: float, push: float = 0.0, number: int | None = None) -> int:
        op, given = self.column(name, x, push)
        return self.make(op, *given, number=number)

    def asked(self, name: str, x: float, push: float = 0.0) -> tuple[int, np.ndarray]:
        op, given = self.column(name, x, push)
        function = self.keeper.part.functions[self._numbers[name]]
        return self.send([op, 0, len(given), *given], wanted=function.results)

    def error(self, state: float, end: float, *rates: float, h: float = 0.1, tolerance: float = 1e-6) -> Any:
        return self.send([Op.ERROR, 0, 11, state, end, *rates, h, 0.0, tolerance], wanted=2)

    def compared(self, one: float, other: float) -> tuple[int, np.ndarray]:
        return self.send([Op.COMPARE, 0, 2, one, other], wanted=4)


def customers(part: Subsystem, folder: Path) -> Any:
    """Customers of the same part, whose wheel begins somewhere."""
    path = folder / "wheel.part"
    seal(part, path, targets=[str(targets.fitting(targets.TARGETS))])
    code = load_sealed(path)
    first, _ = opener(code)("wheel", Hello("box").pack(), "Bea")
    numbers = numbered(code.manifest.shape.in_joints.variant("box").functions)
    start = code.start("box")

    def customer(angle: float = ANGLE, speed: float = SPEED) -> Customer:
        return Customer(Keeper(first.part, {}, np.array([angle, speed, *start[2:]])), numbers)

    assert np.array_equal(start[:2], [ANGLE, SPEED])
    return customer


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return customers(Flywheel(), tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def rubbing(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return customers(Rubbing(), tmp_path_factory.mktemp("rubbing"))


def test_a_state_is_compared_with_nothing_but_its_correction(wheel: Any) -> None:
    """The old way to read coordinates: the distance to a vector one knows."""
    customer = wheel()
    x, other = customer.start(0.0, 0.0), customer.start(-1e3, 0.0)
    rate = customer.made("resolve", x)
    moved = customer.make(Op.COMBINE, x, 0.1, rate)
    for one, two in ((x, 0), (x, other), (other, x), (0, x), (rate, 0), (moved, x), (rate, x), (0, 0)):
        assert customer.compared(one, two)[0] == Broken.REFUSED
    corrected = customer.made("corrected_speed", x, push=0.01)
    status, values = customer.compared(corrected, x)
    assert status == 0
    assert values[0] in (0.0, 1e-6, 1.0)


def test_sums_that_are_no_states_and_no_rates_are_not_made(wheel: Any) -> None:
    customer = wheel()
    x, other = customer.start(0.0, 0.0), customer.start(1.0, 0.0)
    rate, foreign = customer.made("resolve", x), customer.made("resolve", other)
    later = customer.make(Op.COMBINE, x, 0.1, rate)
    assert customer.status == 0
    late = customer.made("resolve", customer.make(Op.COMBINE, later, 0.1, rate))
    for arguments in (
        (0, 2.0, x), (x, 1.0, x), (0, 1.0, x, -1.0, x), (0, 1.0, x, -1.0, other), (x, -1.0, x),  # scaled, differences
        (x, 0.5, foreign), (x, -0.5, x, 0.5, other), (rate, 1.0, foreign),  # of two starts
        (rate, -1.0, late), (0, 1.0, rate), (rate, 1e13, rate), (x, np.nan, rate), (x, np.inf, rate),
    ):  # fmt: skip
        customer.make(Op.COMBINE, *arguments)
        assert customer.status == Broken.REFUSED, arguments
    customer.make(Op.COMBINE_SPEEDS, x, other, 0.1, rate)
    assert customer.status == Broken.REFUSED
    customer.make(Op.COMBINE_SPEEDS, x, rate)
    assert customer.status == Broken.REFUSED


def test_an_error_is_that_of_a_step(wheel: Any) -> None:
    """Rates hold speeds; where these do not cancel, nothing is said."""
    customer = wheel()
    x = customer.start(0.0, 0.0)
    rate = customer.made("resolve", x, push=1.0)
    count = len(ESTIMATE)
    assert customer.error(x, x, *[rate] * count)[1][0] == 2.0**-40  # all alike: nothing is left
    later = customer.make(Op.COMBINE, x, 0.1, rate)
    far = customer.make(Op.COMBINE, later, 0.1, rate)
    late, foreign = customer.made("resolve", far), customer.made("resolve", customer.start(0.0, 1.0))
    double = customer.make(Op.COMBINE, rate, 1.0, rate)
    nothing = customer.make(Op.COMBINE, rate, -1.0, rate)
    for odd in (0, x, late, foreign, double, nothing):
        for place in (0, count - 1):
            rates = [rate] * count
            rates[place] = odd
            assert customer.error(x, x, *rates)[0] == Broken.REFUSED
    assert customer.error(0, x, *[rate] * count)[0] == Broken.REFUSED
    other = customer.make(Op.COMBINE, x, 1.0, rate, number=x)  # another state under the same number
    assert customer.status == 0
    assert customer.error(other, other, *[rate] * count)[0] == Broken.REFUSED


def test_a_jump_is_no_rate(wheel: Any) -> None:
    """It has no rates of coordinates: beside a rate, the speed inside would be left. It makes a state of its own."""
    customer = wheel()
    x = customer.start(0.0, 0.0)
    rate, jump = customer.made("resolve", x), customer.made("moved", x, push=1.0)
    assert customer.status == 0
    rates = [rate] * len(ESTIMATE)
    assert customer.error(x, x, *rates[1:], jump)[0] == Broken.REFUSED
    for arguments in ((x, 1.0, jump), (rate, 1.0, jump), (jump, 1.0, rate), (jump, 1.0, jump)):
        customer.make(Op.COMBINE, *arguments)
        assert customer.status == Broken.REFUSED, arguments
    pushed = customer.make(Op.PUSH, x, 0.5, jump)
    assert customer.status == 0
    assert customer.compared(pushed, x)[0] == Broken.REFUSED
    assert customer.error(x, x, *rates[1:], customer.made("resolve", pushed))[0] == Broken.REFUSED
    for arguments in ((x, 1.0, rate), (x, 1.0, x), (rate, 1.0, jump), (customer.start(1.0, 0.0), 1.0, jump)):
        customer.make(Op.PUSH, *arguments)
        assert customer.status == Broken.REFUSED, arguments


def test_modes_of_another_state_make_a_state_of_its_own(wheel: Any) -> None:
    customer = wheel()
    x = customer.start(0.0, 0.0)
    corrected, jump = customer.made("corrected_speed", x, push=0.01), customer.made("moved", x, push=1.0)
    made = customer.make(Op.MODES_OF, corrected, x)
    assert customer.status == 0
    assert customer.compared(made, corrected)[0] == Broken.REFUSED
    for arguments in ((x, jump), (jump, x), (x, 0), (0, x), (x, customer.start(1.0, 0.0))):
        customer.make(Op.MODES_OF, *arguments)
        assert customer.status == Broken.REFUSED, arguments


def test_what_assembly_asks_is_not_answered_of_a_run(wheel: Any) -> None:
    customer = wheel()
    x = customer.start(0.0, 0.0)
    assert customer.asked("rates", x)[1].tolist() == [0.0]  # not the speed it has
    assert customer.asked("rates", customer.start(0.0, 0.25))[1].tolist() == [0.25]
    run = customer.make(Op.COMBINE, x, 0.1, customer.made("resolve", x))
    for name in ("rates", "masses"):
        assert customer.asked(name, run)[0] == Broken.REFUSED, name
    for name in ("condense", "move"):
        assert customer.asked(name, x)[0] == 0
        assert customer.asked(name, run)[0] == 0


def test_what_is_told_forces_of_laws_keeps_what_it_makes(rubbing: Any) -> None:
    """Rates and corrected states stay with the keeper, as they do without these forces."""
    customer = rubbing()
    x = customer.start(0.0, 0.0, 0.0)
    made = {"tied_resolve", "tied_corrected_rate", "tied_corrected_speed", "tied_corrected_residual"}
    for name in made & set(customer._numbers):
        assert customer.asked(name, x, push=1.0)[0] == Broken.FORM
        assert customer.made(name, x, push=1.0)
        assert customer.status == 0, name
    assert len(made & set(customer._numbers)) == 3
    assert customer.asked("tied_condense", x)[0] == 0


def test_what_is_not_known_is_not_told(rubbing: Any) -> None:
    """A file of a later version may have functions whose names say nothing here."""
    part, numbers = rubbing().keeper.part, rubbing()._numbers
    functions = tuple(
        replace(f, gives=gives("later_resolve")) if k == numbers["resolve"] else f for k, f in enumerate(part.functions)
    )
    customer = Customer(Keeper(replace(part, functions=functions), {}, np.array([ANGLE, SPEED, 0.0])), numbers)
    x = customer.start(0.0, 0.0, 0.0)
    assert customer.asked("resolve", x)[0] == Broken.REFUSED
    customer.made("resolve", x)
    assert customer.status == Broken.REFUSED
    assert customer.asked("condense", x)[0] == 0


def test_looks_are_counted(wheel: Any) -> None:
    """A frame full of looks is as many evaluations."""
    customer = wheel()
    x = customer.start(0.0, 0.0)
    before = customer.keeper.evaluations
    customer.send(*[[Op.COMPARE, 0, 2, x, x]] * 50, wanted=200)
    assert customer.keeper.evaluations - before == 50


_NUMBERS = st.integers(0, 7).map(float)
_FACTORS = st.sampled_from([0.0, 1.0, -1.0, 0.5, -0.5, 2.0, 0.1, 1e-9, 1e6, 1e150, 1e300])
_OFFSETS = st.sampled_from([(0.0, 0.0), (-ANGLE, -SPEED), (2.9, -0.2), (-ANGLE, 1.0), (0.0, -SPEED)])  # lucky guesses
_PUSHES = st.sampled_from([0.0, 1.0, -3.0, 1e6])


@st.composite
def _attacks(draw: Any) -> list[tuple[Any, ...]]:
    """Steps of an attack by names of the methods above; vectors by number, most of which exist."""
    steps: list[tuple[Any, ...]] = [("start", *draw(_OFFSETS)), ("made", "resolve", 1.0, draw(_PUSHES))]
    for _ in range(draw(st.integers(3, 14))):
        kind = draw(
            st.sampled_from(
                ["start", "sum", "rate", "jump", "push", "modes", "corrected", "compare", "error", "ask", "check"]
            )
        )
        x = draw(_NUMBERS)
        if kind == "start":
            steps.append(("start", *draw(_OFFSETS)))
        elif kind == "sum":
            pairs = draw(st.lists(st.tuples(_FACTORS, _NUMBERS), min_size=1, max_size=3))
            steps.append(("make", Op.COMBINE, x, *[v for p in pairs for v in p]))
        elif kind == "rate":
            steps.append(("made", "resolve", x, draw(_PUSHES)))
        elif kind == "jump":
            steps.append(("made", "moved", x, draw(_PUSHES)))
        elif kind == "push":
            steps.append(("make", Op.PUSH, x, draw(_FACTORS), draw(_NUMBERS)))
        elif kind == "modes":
            steps.append(("make", Op.MODES_OF, x, draw(_NUMBERS)))
        elif kind == "corrected":
            steps.append(("made", draw(st.sampled_from(["corrected_speed", "corrected_residual"])), x, draw(_PUSHES)))
        elif kind == "compare":
            steps.append(("compared", x, draw(_NUMBERS)))
        elif kind == "error":
            steps.append(("error", x, x, *draw(st.lists(_NUMBERS, min_size=6, max_size=6))))
        elif kind == "ask":
            steps.append(("asked", draw(st.sampled_from(["rates", "masses", "condense", "gap", "drift"])), x, 1.0))
        else:
            steps.append(("send", [Op.CHECK, 0, 1, x]))
    return steps


@st.composite
def _attacks_on_laws(draw: Any) -> list[tuple[Any, ...]]:
    """The same, with functions that are told forces of laws, and with other modes."""
    made = ["tied_resolve", "tied_corrected_speed", "tied_corrected_residual", "resolve", "law_resolve"]
    asked = [
        "tied_corrected_residual",
        "tied_condense",
        "tied_law_guards",
        "tied_report",
        "tied_violated_residual",
        "law_look",
        "law_respond",
    ]
    steps: list[tuple[Any, ...]] = [("start", *draw(_OFFSETS), 0.0), ("made", "tied_resolve", 1.0, draw(_PUSHES))]
    for step in draw(_attacks()):
        x, kind = draw(_NUMBERS), draw(st.sampled_from(["as before", "made", "asked", "modes"]))
        if kind == "made":
            steps.append(("made", draw(st.sampled_from(made)), x, draw(_PUSHES)))
        elif kind == "asked":
            steps.append(("asked", draw(st.sampled_from(asked)), x, draw(_PUSHES)))
        elif kind == "modes":
            steps.append(("make", Op.SETTLE, x, draw(st.sampled_from([0.0, 1.0, -1.0]))))
        else:
            steps.append((*step, 0.0) if step[0] == "start" else step)
    return steps


@settings(max_examples=100, deadline=None)
@given(_attacks())
def test_no_attack_tells_two_wheels_apart(wheel: Any, attack: list[tuple[Any, ...]]) -> None:
    """Fails at once for a keeper that tells distances or norms."""
    attacked(attack, wheel(), wheel(-2.9, 0.2))


@settings(max_examples=60, deadline=None)
@given(_attacks_on_laws())
def test_no_attack_through_laws_tells_where_a_wheel_stands(rubbing: Any, attack: list[tuple[Any, ...]]) -> None:
    """Fails at once for a keeper that tells what is made for forces of laws."""
    attacked(attack, rubbing(), rubbing(-2.9))


def attacked(attack: list[tuple[Any, ...]], *pair: Customer) -> None:
    """Both keepers give the same replies."""
    for name, *arguments in attack:
        replies = []
        for customer in pair:
            found = getattr(customer, name)(*arguments)
            replies.append(found if isinstance(found, tuple) else (customer.status, np.zeros(0)))
        (status, values), (other_status, other_values) = replies
        assert status == other_status, (name, arguments)
        assert np.allclose(values, other_values, rtol=1e-9, atol=1e-12, equal_nan=True), (name, arguments)
