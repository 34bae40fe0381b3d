"""Remote parts over lines in the same process: the motion of sealed ones, and nothing of the inside on the line."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from elsewhere.suppliers import Supplier
from sealed.machines import PAIRS, Actuator, Pushed

from kompono import Input, Parameter, Remote, Result, Simulation, evaluate, resume, simulate, simulate_many
from kompono.elsewhere.direct import DirectLine
from kompono.elsewhere.greeting import Hello
from kompono.errors import ModelError, RemoteError, RunError
from kompono.examples.car import Car
from kompono.request import Request
from kompono.solve import integrate, journal
from kompono.solve.settings import settings_of

pytestmark = pytest.mark.filterwarnings("ignore::kompono.ModelWarning")
Find = Callable[[str], Supplier]
EXACT = ("actuator", "ball", "swing", "arm")  # where assembly does not move the part, the start is the same to the bit


def same(one: Any, other: Any) -> None:
    assert one.status.ok, one.status
    assert other.status.ok, other.status
    assert list(one) == list(other)
    for name in one:
        assert np.array_equal(one[name], other[name]), name


@pytest.mark.parametrize("name", EXACT)
def test_a_remote_part_moves_as_a_sealed_one_to_the_last_bit(supplier: Find, name: str) -> None:
    owner, made = PAIRS[name][1], supplier(name)
    sealed, remote = Simulation(owner(made.sealed()), errors="parts"), Simulation(owner(made.remote()))
    for method in ("rk2", "rk4", "adams", "dopri5"):
        settings = settings_of(Request(until=0.2, step=1e-3, method=method))
        one, other = sealed.run(settings), remote.run(settings)
        same(one, other)
        assert one.statistics.get("events") == other.statistics.get("events")
    assert made.lines[-1].closed


def test_loops_inside_and_through_the_border(supplier: Find) -> None:
    """The customer assembles offsets, so the start differs by rounding."""
    made, owner = supplier("linkage"), PAIRS["linkage"][1]
    run: dict[str, Any] = {"until": 0.2, "step": 1e-3, "every": 10}
    one, other = simulate(owner(made.sealed()), **run), simulate(owner(made.remote()), **run)
    assert other.status.ok
    assert max(np.abs(one[name] - other[name]).max() for name in one) < 1e-10
    whole = simulate(owner(PAIRS["linkage"][0]()), **run)
    assert max(np.abs(whole[name] - other[name]).max() for name in other if name in whole) < 1e-9


def test_dampers_of_the_car(supplier: Find) -> None:
    made = supplier("damper")
    run: dict[str, Any] = {"until": 0.05, "step": 1e-3}
    one = simulate(Car(damper=made.sealed), **run)
    other = simulate(Car(damper=made.remote), **run)
    same(one, other)
    whole = simulate(Car(), **run)
    assert max(np.abs(whole[name] - other[name]).max() for name in ("body.position.z", "body.velocity.z")) < 1e-11


def test_parameters_and_inputs(supplier: Find) -> None:
    made = supplier("actuator")
    table = ([0.0, 0.1, 0.2], [0.0, 5.0, -5.0])
    run: dict[str, Any] = {"until": 0.2, "step": 1e-3}
    one = simulate(Pushed(made.sealed(gain=5.0, command=Input(table=table))), **run)
    other = simulate(Pushed(made.remote(gain=Parameter(5.0), command=Input(table=table))), **run)
    same(one, other)
    again = simulate(Pushed(made.remote()), parameters={"part.gain": 5.0}, inputs={"part.command": table}, **run)
    same(one, again)
    assert np.array_equal(one["part.stroke"], other["part.stroke"])


def trips(model: Any, steps: int, method: str = "rk4") -> set[int]:
    """Round trips of a run with a record of each step."""
    result = simulate(model, until=steps * 1e-3, step=1e-3, method=method)
    assert result.statistics["steps"] == steps
    return set(result.statistics["round_trips"].values())


@pytest.mark.parametrize(("name", "method", "step"), [
    ("swing", "rk4", 4), ("swing", "adams", 2), ("swing", "rk2", 2),
    ("ball", "rk4", 4 + 1),  # a quaternion inside is projected
])  # fmt: skip
def test_one_round_trip_an_evaluation(
    supplier: Find, monkeypatch: pytest.MonkeyPatch, name: str, method: str, step: int
) -> None:
    """Two more for each record, and one for each chunk: of 1, 5, 21, ... steps while these are quick."""
    monkeypatch.setattr(integrate, "CHUNK_SECONDS", 1e9)
    model = PAIRS[name][1](supplier(name).remote())
    few, many = trips(model, 27, method), trips(model, 27 + 50, method)  # 1 + 5 + 21, and another chunk
    assert {count + 50 * (step + 2) + 1 for count in few} == many
    if method == "rk4":
        assert few == {27 * step + 28 * 2 + 3}


def test_round_trips_with_loops(supplier: Find, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the car: 14 a step of rk4 with its projection, 3 a record, 15 around the run."""
    monkeypatch.setattr(integrate, "CHUNK_SECONDS", 1e9)
    assert trips(Car(damper=supplier("damper").remote), 27) == {27 * 14 + 28 * 3 + 3 + 15}


def test_no_number_of_the_inside_crosses(supplier: Find) -> None:
    """Of a part whose inside does not move its port by itself; a port that moves as a coordinate does tells it."""
    made, inside = supplier("swing"), set[float]()
    first, opener = len(made.lines), made.opener

    def watched(*given: Any) -> Any:
        keeper, welcome = opener(*given)
        answer = keeper.answer

        def look(frame: bytes) -> bytes:
            reply = answer(frame)
            for vectors, tags in ((keeper._ring, keeper._tags), (keeper._book, keeper._book_tags)):
                inside.update(vectors[tags > 0, : keeper.part.size].ravel().tolist())
            return reply

        keeper.answer = look
        return keeper, welcome

    made.opener = watched
    try:
        simulate(PAIRS["swing"][1](made.remote()), until=0.02, step=1e-3, method="dopri5")
    finally:
        made.opener = opener
    crossed = set.union(*(line.numbers() for line in made.lines[first:]))
    assert len(inside) > 100
    assert len(crossed) > 1000
    assert not inside & crossed - {0.0}


def test_ensembles_share_messages(supplier: Find) -> None:
    made, gains = supplier("swing"), np.linspace(0.1, 0.4, 6)
    owner = PAIRS["swing"][1]
    run: dict[str, Any] = {"until": 0.05, "step": 1e-3, "threads": 1}
    initial = {"top.angle": gains}
    one = simulate_many(owner(made.sealed()), initial=initial, lanes=4, **run)
    first = len(made.lines)
    other = simulate_many(owner(made.remote()), initial=initial, lanes=4, **run)
    assert not other.failed
    assert one.names == other.names
    assert np.ptp(one["top.torque.y"]) > 0.1  # the pendulum inside moves
    for name in one.names:
        assert np.array_equal(one[name], other[name]), name
    trips = sum(line.round_trips for line in made.lines[first:] if len(line.frames) > 20)
    assert trips < 2 * (4 * 50 + 2 * 51 + 10)  # two groups of four lanes, not six runs


def test_a_lost_link_ends_the_run_with_its_reason_and_all_up_to_it(supplier: Find) -> None:
    made, owner = supplier("swing"), PAIRS["swing"][1]
    simulation = Simulation(owner(made.remote()))
    settings = settings_of(Request(until=4.0, step=1e-3, method="rk4"))
    made.breaks = 10_000
    try:
        with pytest.warns(match="nobody answers"):
            result = simulation.run(settings)
    finally:
        made.breaks = None
    assert not result.status.ok
    assert "part" in result.status.message
    assert len(result.time) > 100
    whole = simulation.run(settings_of(Request(until=float(result.time[-1]), step=1e-3, method="rk4")))
    for name in result:
        assert np.array_equal(result[name], whole[name][: len(result.time)]), name


def test_a_link_that_is_lost_early_loses_little(supplier: Find) -> None:
    """Steps may take long: what a link can lose is a tenth of a second, not hundreds of steps."""
    made, owner = supplier("swing"), PAIRS["swing"][1]
    model = owner(made.remote())
    made.breaks = 200
    try:
        with pytest.warns(match="nobody answers"):
            result = simulate(model, until=1.0, step=1e-3)
    finally:
        made.breaks = None
    assert len(result.time) > 5


@pytest.mark.parametrize("method", ["rk2", "rk4", "adams", "dopri5"])
@pytest.mark.parametrize("name", ["swing", "actuator"])
def test_a_run_that_lost_its_link_goes_on(supplier: Find, tmp_path: Path, name: str, method: str) -> None:
    """Also by a model that was made anew, with the bits and events of a run that lost nothing."""
    made, owner = supplier(name), PAIRS[name][1]
    run: dict[str, Any] = {"until": 0.4, "step": 1e-3, "method": method}
    whole = simulate(owner(made.remote()), **run)
    model = owner(made.remote())
    made.breaks = whole.statistics["round_trips"]["part"] // 2
    try:
        with pytest.warns(match="nobody answers"):
            lost = simulate(model, hdf5=tmp_path / "run.h5", **run)
    finally:
        made.breaks = None
    assert lost.status.kind == "elsewhere"
    assert 0 < lost.time[-1] < 0.4
    found = resume(owner(made.remote()), tmp_path / "run.h5")
    same(found, whole)
    assert found.statistics.get("events") == whole.statistics.get("events")
    assert found.statistics["steps"] == whole.statistics["steps"]
    same(Result.load(tmp_path / "run.h5"), whole)


def test_a_run_with_parts_elsewhere_writes_itself_down(
    supplier: Find, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    """One whose process ends without a word goes on from its file, more than once."""
    for name in ("FIRST", "PERIOD", "PATIENCE", "SHARE"):
        monkeypatch.setattr(journal, name, 0.0)
    made, owner, files = supplier("swing"), PAIRS["swing"][1], [tmp_path / f"{k}.h5" for k in range(3)]
    run: dict[str, Any] = {"until": 0.5, "step": 1e-3}
    whole = simulate(owner(made.remote()), **run)
    written = journal.Journal.write

    def copied(self: Any, *where: Any) -> None:
        written(self, *where)
        place = int(self.resumed is not None)
        if not files[place].exists():
            shutil.copy(self.path, files[place])  # what a process leaves that is killed now

    monkeypatch.setattr(journal.Journal, "write", copied)
    same(simulate(owner(made.remote()), hdf5=files[2], **run), whole)
    assert not Result.load(files[0]).status.ok
    same(resume(owner(made.remote()), files[0]), whole)
    same(resume(owner(made.remote()), files[1]), whole)


def test_a_run_goes_on_with_the_same_part_only(supplier: Find) -> None:
    hello = Hello(None).pack()
    line = DirectLine(supplier("swing").opener, hello)
    assert DirectLine(supplier("swing").opener, hello, kept=line.keep()).keep() == line.keep()
    with pytest.raises(RemoteError, match="was changed"):
        DirectLine(supplier("arm").opener, hello, kept=line.keep())


def test_a_state_can_be_evaluated(supplier: Find) -> None:
    made, owner = supplier("ball"), PAIRS["ball"][1]
    one = evaluate(Simulation(owner(made.sealed())), {"top.angle": 0.3})
    other = evaluate(Simulation(owner(made.remote())), {"top.angle": 0.3})
    for name in one:
        assert abs(one[name] - other[name]) < 1e-12 * (1 + abs(one[name])), name


@pytest.mark.parametrize(
    ("options", "kind", "text"),
    [
        ({"method": "Radau"}, RunError, "part are elsewhere"),
        ({"native": False}, RunError, "native code"),
        ({"engine": "absolute"}, ModelError, "engine='relative'"),
        ({"realtime": True}, RunError, "real time does not go"),
    ],
)
def test_what_cannot_work_is_refused(
    supplier: Find, options: dict[str, Any], kind: type[Exception], text: str
) -> None:  # fmt: skip
    with pytest.raises(kind, match=text):
        simulate(PAIRS["swing"][1](supplier("swing").remote()), until=0.01, **options)


def test_what_is_wrong_is_said_with_the_path_of_the_part(supplier: Find) -> None:
    with pytest.raises(ModelError, match=r"part.*no parameter or input 'gian'"):
        simulate(Pushed(supplier("actuator").remote(gian=2.0)), until=0.01)

    def refused(_: bytes) -> Any:
        raise RemoteError("you are not allowed to use it.", path="supplier.example:7443/part")

    with pytest.raises(RemoteError, match=r"you are not allowed") as caught:
        Pushed(Remote("supplier.example:7443/part", connect=refused)).part.housing  # noqa: B018
    assert "supplier.example:7443/part" in str(caught.value)


def test_the_open_part_is_what_the_remote_one_is_compared_with(supplier: Find) -> None:
    run: dict[str, Any] = {"until": 0.2, "step": 1e-3}
    whole, other = simulate(Pushed(Actuator()), **run), simulate(Pushed(supplier("actuator").remote()), **run)
    for name in other:
        if name in whole:
            assert np.abs(whole[name] - other[name]).max() < 1e-11 * (1 + np.abs(whole[name]).max()), name
