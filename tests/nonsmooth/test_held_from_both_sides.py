"""What a closed part and its owner hold together is held, lifted and let slip as in the open model: forces at rest to
1e-9 N, events to 1e-12 s, ways to 1e-12 m; nested and sealed as well, whatever is declared first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from elsewhere.caught import Siding
from nonsmooth.held_from_both_sides import BEGIN, END, WAY, Bench, Braked, Hall, Hoist, Hooked, Jaws, Works
from nonsmooth.known import names, times

from kompono import (
    Body,
    Event,
    Mode,
    Parameter,
    Remote,
    Result,
    RunWarning,
    Sealed,
    Simulation,
    State,
    seal,
    simulate,
    simulate_many,
)
from kompono.compile import targets
from kompono.compile.law_state import HOLDS, TIED
from kompono.elsewhere.direct import direct
from kompono.elsewhere.hosts import InProcess
from kompono.elsewhere.serve import opener
from kompono.library import Drive, Prismatic
from kompono.request import Request
from kompono.sealed import keys, load_sealed
from kompono.solve.settings import settings_of
from kompono.starting import closed_start
from kompono.translate import translate
from kompono.translate.parts import inside
from kompono.translate.parts.gauge import gauge

HERE = [targets.fitting(targets.TARGETS) or "wasm32"]
WEAK, BARELY = 15.0, 19.63
ABSOLUTE = {"engine": "absolute"}
Options = dict[str, Any]


@pytest.fixture(scope="module", autouse=True)
def _keys(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KOMPONO_CONFIG", str(tmp_path_factory.mktemp("keys") / "config"))
        keys.make("Ada")
        yield


@pytest.fixture(scope="module")
def sealed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of the jaws."""
    file = tmp_path_factory.mktemp("sealed") / "jaws.part"
    seal(Jaws(), file, targets=HERE)
    return file


@cache
def whole(make: Callable[[], Any], engine: str = "relative") -> Result:
    """The open model."""
    return simulate(make(), until=END, engine=engine).check()


def alike(first: Result, second: Result, after: float = 0.0) -> None:
    """The same events, ways, and forces at rest and in the end; behind an event that follows slip, ways are its."""
    found, other = (sorted(zip(names(r), times(r), strict=True)) for r in (first, second.check()))
    assert [name for name, _ in found] == [name for name, _ in other]
    assert max(abs(a - b) for (_, a), (_, b) in zip(found, other, strict=True)) < 1e-12
    assert len(first.time) == len(second.time)
    for name in set(first) & set(second):
        if "position" in name:
            assert np.abs(first[name] - second[name]).max() < 1e-12, name
        if name.endswith("normal") or ".force." in name:
            assert np.abs((first[name] - second[name])[[0, 1, -1]]).max() < 1e-9, name


@pytest.mark.parametrize(
    ("make", "closed", "options"),
    [
        (Hoist, ["jaws"], {}),
        (Hoist, ["jaws"], ABSOLUTE),
        (Works, ["cell", "cell.jaws"], {}),
        (Works, ["cell", "cell.jaws"], ABSOLUTE),
        (Hall, ["station", "station.jaws"], {}),
        (Hall, ["station", "station.jaws"], ABSOLUTE),
    ],
)
def test_closed_jaws_lift_a_block_off_the_floor_of_their_owner(make: Any, closed: list[str], options: Options) -> None:
    """From within a part, a part of a part, and with the floor in the part around."""
    alike(whole(make, **options), simulate(make(), until=END, closed=closed, **options))


@pytest.mark.parametrize("options", [{}, ABSOLUTE])
def test_brakes_inside_and_outside_share_by_what_they_can_bear(options: Options, tmp_path: Path) -> None:
    """1 Nm and 2 Nm hold until there are 3 Nm, and slip together."""
    file = tmp_path / "wheel.part"
    seal(Braked(), file, targets=HERE)
    for model, closed in ((Bench(), ["part"]), (Bench(lambda: Sealed(file)), [])):
        result = simulate(model, until=END, closed=closed, **options).check()
        assert times(result) == pytest.approx([0.03, 0.03], abs=1e-12)
        held = result.time < 0.03
        assert np.abs(result["clutch.friction"] + 200 / 3 * result.time)[held].max() < 1e-12
        if closed:
            alike(whole(Bench, **options), result)


@pytest.mark.parametrize("options", [{"method": "dopri5"}, {"isolate": ["jaws"]}])
def test_with_other_steps_and_in_another_process(options: Options) -> None:
    method = {name: value for name, value in options.items() if name != "isolate"}
    alike(simulate(Hoist(), until=END, **method), simulate(Hoist(), until=END, closed=["jaws"], **options))


def test_forces_are_those_of_statics() -> None:
    """The owner bears what jaws leave, and they squeeze with 50 N and what feet do not bear of the friction."""
    result = simulate(Hoist(), until=END, closed=["jaws"])
    feet = sum(result[f"feet.{k}.normal"][0] for k in range(3))
    jaws = result["jaws.left.force.z"][0] + result["jaws.right.force.z"][0]
    assert feet + jaws == pytest.approx(2.0 * 9.81, rel=1e-12)
    assert feet == pytest.approx(19.3306, abs=1e-3)
    assert result["jaws.left.force.z"][-1] + result["jaws.right.force.z"][-1] == pytest.approx(
        2.0 * (9.81 + 1.2 * (END - BEGIN)), rel=1e-9
    )


@pytest.mark.parametrize("squeeze", [WEAK, BARELY])
def test_jaws_that_are_too_weak_slip(squeeze: float) -> None:
    """At once, or as the drive accelerates; a block that is not lifted stays."""
    make = partial(Hoist, partial(Jaws, squeeze))
    result = simulate(make(), until=END, closed=["jaws"])
    alike(whole(make), result)
    slips = {f"jaws.{jaw}.{k}.slips" for jaw in ("left", "right") for k in range(2)}
    assert slips <= set(names(result))
    if squeeze == WEAK:
        assert np.abs(result["jaws.block.position.z"] - 0.05).max() < 1e-12


def test_what_is_declared_first_does_not_matter() -> None:
    back = partial(Hoist, partial(Jaws, back=True), back=True)
    alike(whole(Hoist), whole(back))
    alike(whole(Hoist), simulate(back(), until=END, closed=["jaws"]))


def test_sealed_jaws(sealed: Path) -> None:
    alike(whole(Hoist), simulate(Hoist(lambda: Sealed(sealed)), until=END))


@pytest.fixture(scope="module")
def older(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a braked wheel, sealed when parts did not hand on their rows."""
    file = tmp_path_factory.mktemp("older") / "wheel.part"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inside, "TIED", ())
        seal(Braked(), file, targets=HERE)
    assert "tied_condense" not in load_sealed(file).manifest.shape.variants[0].functions
    return file


def test_parts_that_cannot_hand_on_their_rows_are_told(older: Path) -> None:
    """Files of older versions, here and at a supplier's."""
    with pytest.warns(RunWarning, match=r"clutch, part.law_0: some of them hold the same thing"):
        assert not simulate(Bench(lambda: Sealed(older)), until=0.005).status.ok
    remote = partial(Remote, "supplier.example:7443/wheel", connect=direct(opener(load_sealed(older))))
    simulation = Simulation(Bench(remote))
    for _ in range(2):
        with pytest.warns(RunWarning, match=r"clutch, part.law_0: some of them hold the same thing"):
            result = simulation.run(settings_of(Request(until=0.005)))
        assert result.status.kind.value == "open"
        assert result.time[-1] == 0.005  # all rows are there


@pytest.mark.parametrize("lanes", [1, 2])
def test_each_run_of_many_is_told_by_itself(older: Path, lanes: int) -> None:
    """A wheel at rest is held by both brakes, one that turns by none."""
    speeds = np.array([30.0, 0.0, 30.0])
    runs = simulate_many(
        Bench(lambda: Sealed(older)), initial={"part.inside.v0": speeds}, until=0.005, step=1e-3, lanes=lanes, threads=1
    )
    assert [status.ok for status in runs.status] == [True, False, True]


def test_rows_are_handed_on_as_long_as_both_sides_hold() -> None:
    """And no longer: a block that was lifted is the jaws' alone."""
    simulation, levels = Simulation(Hoist(), closed=["jaws"]), []
    kernel = simulation.kernel
    asked = kernel.level

    def level(*given: Any) -> int:
        levels.append(asked(*given))
        return levels[-1]

    kernel.level = level
    assert simulation.run(settings_of(Request(until=END))).status.ok
    assert TIED in levels
    assert levels[-1] == HOLDS


def test_who_owns_a_part_does_not_look_inside() -> None:
    """Nor where rows are handed on: what is asked then are functions of the part, and no others."""
    translation = translate(Hoist(), closed=["jaws"], close=closed_start)
    program = translation.program
    names = [*program.coordinates, *program.speeds, *program.modes]
    within = [k for k, name in enumerate(names) if name.startswith("jaws.") and ".free." not in name]
    program.routines["tied_derivative"]
    (part,) = translation.engine.compartment.parts
    functions = {made.function.name(): name for name, made in part._made.items()}
    found = gauge(program, "tied_derivative", within, functions)
    assert found.closed
    asked = {functions[name] for name in found.calls}
    assert {"tied_condense", "tied_resolve"} <= asked
    assert asked <= {"move", "tied_condense", "tied_resolve", "violated_rate", "corrected_rate"}
    rows, border = part.laws.size, part.border
    told = border.answer + rows * (border.size + 4) + (rows + part.laws.measures) * (1 + border.size + rows)
    assert part.closed("tied_condense").function.nnz_out() == told


def test_models_that_hold_nothing_from_both_sides_have_no_such_routines() -> None:
    for closed, wanted in ((["station"], False), (["station", "station.jaws"], True), ([], False)):
        routines = translate(Hall(), closed=closed, close=closed_start).program.routines
        assert ("tied_derivative" in routines) is wanted


def test_routines_are_traced_when_others_were() -> None:
    """Implicit steps need an engine of their own, and what is tied is traced behind that."""
    model = Bench()
    model.sled = Body(mass=1.0, inertia=(1, 1, 1))
    model.rail = Prismatic(model.ground, model.sled, axis="x")
    model.drive = Drive(model.rail, WAY)
    simulation = Simulation(model, closed=["part"], cache=False)
    result = simulation.run(settings_of(Request(until=0.02, method="esdirk4"))).check()
    assert result["clutch.friction"][-1] == pytest.approx(-4 / 3, rel=1e-12)


class Looked(Bench):
    """Its torque is sampled, ends something, is remembered then, and drives a state."""

    def __init__(self) -> None:
        super().__init__()
        torque = self.clutch.torque[2]
        self.sampled, self.kept, self.sum = Mode(0.0, every=0.003), Mode(0.0), State(0.0)
        self.sampled.next, self.sum.rate = torque, torque
        self.much = Event(torque**2 - 0.5, {self.kept: 3 * torque + self.kept})


@pytest.mark.parametrize("method", ["rk4", "dopri5"])
def test_whoever_looks_at_forces_sees_those_that_are_shared(method: str) -> None:
    run: dict[str, Any] = {"until": 0.02, "step": 1e-3, "method": method}
    one, other = (simulate(Looked(), **run, closed=closed).check() for closed in ([], ["part"]))
    assert one["sampled"][-1] == pytest.approx(-1.2, rel=1e-12)
    for name in ("sampled", "kept", "sum"):
        assert np.abs(one[name] - other[name]).max() < 1e-12
    assert names(one) == names(other) == ["much"]


@pytest.mark.parametrize("apart", [False, True], ids=["closed", "elsewhere"])
@pytest.mark.parametrize("options", [{}, {"sampled": True}, {"opens": 0.0345}], ids=str)
def test_hooks_that_shut_and_open_between_what_rests(options: Options, apart: bool) -> None:
    """No mode of a law changes then. All hold 5.5 N together, what the owner has by itself 0.5 N."""
    one = simulate(Hooked(**options), until=0.07).check()
    there: Options = {"elsewhere": {"part": InProcess()}} if apart else {"closed": ["part"]}
    other = Simulation(Hooked(**options), **there).run(settings_of(Request(until=0.07))).check()
    found = [[(name, when) for when, name in r.statistics["events"] if name.endswith("slips")] for r in (one, other)]
    assert [name for name, _ in found[0]] == [name for name, _ in found[1]]
    assert {round(when, 9) for _, when in (*found[0], *found[1])} == {options.get("opens", 0.068)}
    at = [np.searchsorted(r.time, 0.03) for r in (one, other)]
    assert one["part.rubs.friction"][at[0]] == pytest.approx(-1.7 * 10 / 11, abs=2e-2)
    assert one["part.rubs.friction"][at[0]] == pytest.approx(other["part.rubs.friction"][at[1]], rel=1e-9)


@pytest.mark.parametrize("sampled", [False, True])
def test_such_hooks_are_told_where_parts_cannot_say_so(tmp_path: Path, sampled: bool) -> None:
    file = tmp_path / "siding.part"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inside, "TIED", ())
        seal(Siding(), file, targets=HERE)
    asked = settings_of(Request(until=0.02))
    runs = [Simulation(Hooked(lambda: Sealed(file), sampled=sampled)).run(asked)]
    remote = partial(Remote, "supplier.example:7443/siding", connect=direct(opener(load_sealed(file))))
    runs += [Simulation(Hooked(remote, sampled=sampled)).run(asked)]
    for run in runs:
        assert run.status.kind == "open"
        assert run.status.time == pytest.approx(0.005 if sampled else 0.0123, abs=1e-9)
        assert "hold the same thing" in run.status.message


def test_runs_side_by_side_share_as_well() -> None:
    tops = np.array([1.0, 3.0])
    model = Bench(limit=(top := Parameter(2.0)))
    model.top = top
    runs = simulate_many(model, parameters={"top": tops}, until=0.02, step=1e-3, closed=["part"], lanes=2)
    assert np.abs(runs["clutch.friction"][:, -1] + 2.0 * tops / (1.0 + tops)).max() < 1e-12
