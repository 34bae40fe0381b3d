"""Keepers and their frames: the same reply again, snapshots, and whatever else may come over a line."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable

import numpy as np
import pytest
from elsewhere.suppliers import Supplier
from sealed.machines import PAIRS

from kompono import Simulation
from kompono.compile.far import FRAME, HEADER, PINNED, RING, Broken, Op
from kompono.elsewhere.greeting import Hello, PartWelcome
from kompono.elsewhere.keeper import Keeper
from kompono.errors import RemoteError
from kompono.request import Request
from kompono.sealed import load_sealed
from kompono.sealed.kept import Gives, numbered
from kompono.solve.settings import settings_of

pytestmark = pytest.mark.filterwarnings("ignore::kompono.ModelWarning")
Find = Callable[[str], Supplier]


def frame(*operations: list[float], wanted: int = 0, sequence: int = 1) -> bytes:
    words = [word for operation in operations for word in operation]
    data = [FRAME, sequence, HEADER + len(words), wanted, *words]
    return struct.pack(f"<{len(data)}d", *data)


def numbers(reply: bytes) -> np.ndarray:
    return np.frombuffer(reply, dtype="<f8")


def status(reply: bytes) -> int:
    return int(numbers(reply)[2])


@pytest.fixture
def keeper(supplier: Find) -> Keeper:
    """Of a pendulum in a box: two numbers."""
    return supplier("swing").opener("swing", Hello("box").pack(), "Bea")[0]


def start(number: int, *offsets: float) -> list[float]:
    return [Op.START, number, len(offsets), *offsets]


def resolve(keeper: Keeper, number: int, state: int, push: float = 1.0) -> list[float]:
    """The rates at a state, with `push` for all that is given at the ports."""
    k = next(k for k, function in enumerate(keeper.part.functions) if function.gives is Gives.RATE)
    function = keeper.part.functions[k]
    given = [push] * (1 + function.others)
    given[function.before] = state
    return [Op.FUNCTION + k, number, len(given), *given]


def test_evaluations_are_counted_not_frames(supplier: Find) -> None:
    """Many questions in one frame, or of many lanes, do not get past a limit."""
    opened = supplier("swing").opener
    variant = load_sealed(supplier("swing").path).manifest.shape.variant("box")
    op = Op.FUNCTION + numbered(variant.functions)["condense"]
    for lanes in (1, 4):
        keeper, _ = opened("swing", Hello("box", lanes).pack(), "Bea")
        keeper.answer(frame([op, 0, 0], [op, 0, 0], [op + 1, 0, 1, 0.0], [op, 0, 2, 0.0, 0.0]))
        assert keeper.evaluations == 3 * lanes
        keeper.answer(frame([Op.START, 1, 2, 0.0, 0.0]))
        assert keeper.evaluations == 4 * lanes
        for count in (-1.0, np.nan, np.inf, 1e300, 2.0**62):
            keeper.answer(frame([op, 0, count]))
        assert keeper.evaluations == 9 * lanes


def test_sums_are_made_term_by_term(keeper: Keeper) -> None:
    keeper.answer(frame(start(1, 0.1, 0.2), resolve(keeper, 2, 1), [Op.COMBINE, 3, 3, 1, 0.1, 2]))
    x = keeper._ring[:, : keeper.part.size]
    assert np.abs(x[2]).min() > 0.1
    assert np.allclose(x[3], x[1] + 0.1 * x[2], rtol=1e-15)


def test_the_same_frame_gives_the_same_reply(keeper: Keeper, supplier: Find) -> None:
    variant = load_sealed(supplier("swing").path).manifest.shape.variant("box")
    number = numbered(variant.functions)["condense"]
    function = keeper.part.functions[number]
    given = np.random.default_rng(1).uniform(-1, 1, 1 + function.others).tolist()
    given[function.before] = 1  # the number of the state
    asked = frame(start(1, 0.1, 0.2), [Op.FUNCTION + number, 0, len(given), *given], wanted=function.results)
    first = keeper.answer(asked)
    assert status(first) == 0
    keeper.answer(frame(start(2, 0.3, 0.4), sequence=2))
    assert keeper.answer(asked) == first


def test_what_is_not_finite_raises_a_flag(keeper: Keeper) -> None:
    assert numbers(keeper.answer(frame(start(1, 0.0, 1.0), [Op.CHECK, 0, 1, 1])))[HEADER] == 0
    assert numbers(keeper.answer(frame(start(2, 0.0, np.inf), [Op.CHECK, 0, 1, 2])))[HEADER] == 1
    assert numbers(keeper.answer(frame([Op.CHECK, 0, 1, 1])))[HEADER] == 0


def test_vectors_that_are_gone_are_noticed(keeper: Keeper) -> None:
    assert status(keeper.answer(frame([Op.COMBINE, 2, 1, 1]))) == Broken.FORGOTTEN
    keeper.answer(frame(start(1, 0.0, 0.0), [Op.PIN, PINNED, 1, 1]))
    for first in range(2, RING + 2, 256):
        keeper.answer(frame(*[start(number, 0.0, 0.0) for number in range(first, first + 256)]))
    assert status(keeper.answer(frame([Op.COMBINE, RING + 300, 1, 1]))) == Broken.FORGOTTEN
    assert status(keeper.answer(frame([Op.COMBINE, RING + 300, 1, PINNED]))) == 0


def test_a_snapshot_goes_on_with_the_same_bits(supplier: Find) -> None:
    """Each frame of a run is answered by another keeper, which knows a snapshot of the one before."""
    made = supplier("actuator")
    simulation = Simulation(PAIRS["actuator"][1](made.remote()))
    result = simulation.run(settings_of(Request(until=0.02, step=1e-3, method="rk4")))
    assert result.status.ok
    line = made.lines[-1]
    now, _ = made.opener("part", Hello("housing").pack(), "Bea")
    for asked, replied in zip(line.frames, line.replies, strict=True):
        after, _ = made.opener("part", Hello("housing").pack(), "Bea")
        after.restore(now.snapshot())
        assert after.answer(asked) == replied
        now = after
    assert now.evaluations == len(line.frames)


@pytest.mark.parametrize("cut", [0, 7, 39, -1, -8])
def test_a_snapshot_that_does_not_fit_is_refused(keeper: Keeper, cut: int) -> None:
    keeper.answer(frame(start(1, 0.1, 0.2)))
    data = keeper.snapshot()
    with pytest.raises(RemoteError, match="does not fit"):
        keeper.restore(data[:cut])


def test_anything_may_come(keeper: Keeper) -> None:
    """Random, cut and altered frames get a status, and what is kept is still there."""
    rng = random.Random(3)
    keeper.answer(frame(start(1, 0.25, -0.5)))
    before = keeper._ring[1].copy()
    good = frame(
        start(1, 0.25, -0.5), resolve(keeper, 2, 1), [Op.COMBINE, 3, 3, 1, 0.1, 2], [Op.COMPARE, 0, 2, 3, 3], wanted=4
    )
    for _ in range(2000):
        data = bytearray(good)
        kind = rng.randrange(4)
        if kind == 0:
            data = bytearray(rng.randbytes(rng.randrange(200)))
        elif kind == 1:
            del data[rng.randrange(len(data)) :]
        elif kind == 2:
            data[rng.randrange(len(data))] = rng.randrange(256)
        else:
            place = 8 * rng.randrange(len(data) // 8)
            word = rng.choice([np.nan, np.inf, -1.0, 1e300, 2.0**33 + 1, rng.randrange(40), 0.5])
            data[place : place + 8] = struct.pack("<d", word)
        reply = keeper.answer(bytes(data))
        assert len(reply) % 8 == 0
        assert numbers(reply)[0] == FRAME
        keeper._tags[1] = 1
        keeper._ring[1] = before
    assert status(keeper.answer(good)) == 0


@pytest.mark.parametrize(
    "data", [b"", b"{}", b"[1]", b"\\xff" * 9, b'{"protocol":2}', b'{"protocol":1,"base":3,"lanes":1}',
             b'{"protocol":1,"base":null,"lanes":1000}', b"[" * 3000]
)  # fmt: skip
def test_greetings_that_are_none(supplier: Find, data: bytes) -> None:
    with pytest.raises(RemoteError):
        supplier("swing").opener("swing", data, "Bea")
    with pytest.raises(RemoteError):
        PartWelcome.unpack(data, "supplier.example:1/part")


def test_a_port_by_which_it_cannot_be_entered(supplier: Find) -> None:
    with pytest.raises(RemoteError, match="Swing cannot be entered"):
        supplier("swing").opener("swing", Hello("bob").pack(), "Bea")
