"""Translations kept on disk: found again when nothing changed, made anew when anything did."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest
from reference.support import example

from kompono import Body, Force, Ground, Motion, Parameter, Simulation, Subsystem, Unit, Wrench, simulate, time
from kompono.library import Drive, EndStops, Gravity, Prismatic, Revolute, SpringDamper, solids
from kompono.model.law import PairLaw
from kompono.spatial.rotation import about
from kompono.translate.declared.sameness import Nameless, fingerprint
from kompono.translate.engines.absolute import AbsoluteEngine
from kompono.translate.engines.relative import RelativeEngine

pytestmark = pytest.mark.filterwarnings("ignore::kompono.ModelWarning")
STIFFNESS = 100.0


class Pull(Force):
    """A force of a user, whose code reads a global."""

    def wrench(self, motion: Motion) -> Wrench:
        return Wrench(-STIFFNESS * motion.position, ca.SX.zeros(3))


class Stronger(Force):
    def wrench(self, motion: Motion) -> Wrench:
        return Wrench(-2 * STIFFNESS * motion.position, ca.SX.zeros(3))


class Arm(Subsystem):
    def __init__(self, length: float = 1.0, force: type[Force] = Pull, tag: Any = None) -> None:
        self.ground = Ground()
        self.gravity = Gravity()
        self.rod = Body(solids.rod(mass=1.0, length=length, radius=0.01, axis="x"))
        self.pin = Revolute(self.ground, self.rod.at(-length / 2, 0, 0), axis="y", angle=0.3)
        self.pull = force(self.ground.at(0, 0, 1), self.rod)
        self.tune = Parameter(1.0)
        self.spring = SpringDamper(self.ground.at(1, 0, 0), self.rod, k=10 * self.tune, rest=0.1)
        self.tag = tag


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KOMPONO_CACHE", str(tmp_path))
    return tmp_path


@pytest.fixture
def no_tracing(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    with monkeypatch.context() as patch:
        yield patch


def forbid(patch: pytest.MonkeyPatch) -> None:
    def traced(*_: Any) -> Any:
        raise AssertionError("this was traced again")

    for engine in (RelativeEngine, AbsoluteEngine):
        for name in ("present", "posed", "project"):
            patch.setattr(engine, name, property(traced) if name != "project" else traced)


@pytest.mark.parametrize("engine", ["relative", "absolute"])
@pytest.mark.parametrize("method", ["rk4", "dopri5", "Radau"])
def test_a_second_run_traces_nothing_and_gives_the_same_bits(
    engine: str, method: str, no_tracing: pytest.MonkeyPatch
) -> None:
    model = Arm if (engine, method) == ("absolute", "Radau") else example("reference/four_bar").FourBar  # 16 s else

    def run() -> np.ndarray:
        result = simulate(model(), until=0.05, step=0.01, method=method, engine=engine, channels=["*.position.*"])
        return result.table

    first = run()
    forbid(no_tracing)
    assert np.array_equal(run(), first)


def test_codes_that_come_to_the_same_kernel_are_told_apart() -> None:
    """Where all is driven, rates do not depend on the force of a stop: those with it and without are one kernel."""

    class Driven(Subsystem):
        def __init__(self) -> None:
            self.ground = Ground()
            self.rotors = [Body(mass=1, inertia=(1, 1, 1)) for _ in range(2)]
            self.pins = [Revolute(self.ground, rotor) for rotor in self.rotors]
            self.drives = [Drive(pin, turn) for pin, turn in zip(self.pins, (ca.sin(time), 0.3), strict=True)]
            self.stop = EndStops(self.pins[1], -2.0, 2.0)

    def run() -> np.ndarray:
        return simulate(Driven(), until=1.0, engine="absolute").check().table

    assert np.array_equal(run(), run())


def test_what_is_declared_counts() -> None:
    names = [
        fingerprint(model, options)
        for model, options in (
            (Arm(), 1), (Arm(), 2), (Arm(length=1.1), 1), (Arm(force=Stronger), 1), (Arm(tag="other"), 1),
            (Arm(tag=np.arange(3.0)), 1), (Arm(tag=np.arange(4.0)), 1),
        )
    ]  # fmt: skip
    assert len(set(names)) == len(names)
    assert fingerprint(Arm(), 1) == names[0]


@pytest.mark.parametrize("kind", [ca.DM, np.array, ca.SX])
def test_starts_count_with_all_their_digits(kind: Callable[[float], Any]) -> None:
    """Whatever they were set to after the model was made; as text these kinds show six to eight digits."""
    names = []
    for value in (0.3, 0.3 + 1e-12):
        for place in ("pin", "tune"):
            arm = Arm()
            if place == "pin":
                arm.pin.start["angle"] = kind(value)
            else:
                arm.tune.value = kind(value)
            names.append(fingerprint(arm, 1))
    assert len(set(names)) == 4


def test_code_of_the_user_counts_with_what_it_refers_to(monkeypatch: pytest.MonkeyPatch) -> None:
    before = fingerprint(Arm(), 1)
    monkeypatch.setitem(Pull.wrench.__globals__, "STIFFNESS", 101.0)
    assert fingerprint(Arm(), 1) != before
    monkeypatch.undo()
    assert fingerprint(Arm(), 1) == before
    monkeypatch.setattr(Pull, "wrench", Stronger.wrench)
    assert fingerprint(Arm(), 1) != before


SETTINGS = {"stiffness": 100.0, "calls": 0.0}


class Read(Force):
    """A force whose numbers no walk through its code would find."""

    def wrench(self, motion: Motion) -> Wrench:
        return Wrench(-getattr(self, "".join(("st", "iffness"))) * motion.position)

    def __getattr__(self, name: str) -> Any:
        if name == "stiffness":
            return SETTINGS[name]
        raise AttributeError(name)


def test_a_law_counts_by_what_it_returns(monkeypatch: pytest.MonkeyPatch) -> None:
    before = fingerprint(Arm(force=Read), 1)
    assert fingerprint(Arm(force=Read), 1) == before
    monkeypatch.setitem(SETTINGS, "stiffness", 101.0)
    assert fingerprint(Arm(force=Read), 1) != before


class Says(PairLaw):
    """A law of a user without a number, which says what it is told."""

    def __init__(self, block: Block) -> None:
        super().__init__(block.ground, block.bob)
        self.block = block

    def units(self, motion: Motion) -> Unit:
        return self.block.said(self.block, motion)


class Tells(Force):
    """A force of a user without a number, and what it shows."""

    word, unit = "along", "m"

    def wrench(self, motion: Motion) -> Wrench:
        return Wrench()

    def readings(self, motion: Motion) -> dict[str, Any]:
        return {self.word: (motion.position[0], self.unit)}


class Block(Subsystem):
    """A bob that hangs on a block on a rail."""

    def __init__(self, said: Callable[[Block, Motion], Unit]) -> None:
        self.said = said
        self.ground, self.rough = Ground(), Parameter(0.3)
        self.block, self.bob = (Body(mass=m, inertia=(0.1, 0.2, 0.3)) for m in (1.3, 0.7))
        self.rail = Prismatic(self.ground, self.block, axis="x", displacement=0.1, displacement_rate=-1.0)
        self.pin = Revolute(self.block, self.bob.at(0, 0, 0.3), axis="y")
        self.law, self.tells = Says(self), Tells(self.ground, self.bob)


SAID: dict[str, Callable[[Block, Motion], Unit]] = {
    "speed": lambda block, motion: Unit(speed=motion.velocity[0]),
    "slip": lambda block, motion: Unit(slip=motion.velocity[0]),
    "gap": lambda block, motion: Unit(gap=motion.position[2] + 1, restitution=0.5),
    "newton": lambda block, motion: Unit(gap=motion.position[2] + 1, restitution=0.5, impact="newton"),
    "named": lambda block, motion: Unit("foot", gap=motion.position[2] + 1, restitution=0.5),
    "rail": lambda block, motion: Unit(slip=motion.velocity[0], mu=block.rough, reaction=block.rail),
    "pin": lambda block, motion: Unit(slip=motion.velocity[0], mu=block.rough, reaction=block.pin),
}


def test_a_law_counts_by_all_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [fingerprint(Block(said), 1) for said in SAID.values()]
    for name, other in (("word", "across"), ("unit", "mm")):
        monkeypatch.setattr(Tells, name, other)
        names.append(fingerprint(Block(SAID["pin"]), 1))
    assert len(set(names)) == len(names)


def test_a_law_that_says_something_else_moves_otherwise() -> None:
    ends = [simulate(Block(SAID[said]), until=0.1).end.values["rail.displacement"] for said in ("speed", "slip")]
    assert ends[1] == simulate(Block(SAID["slip"]), until=0.1, cache=False).end.values["rail.displacement"] != ends[0]


def test_a_law_that_changes_from_call_to_call_is_never_kept() -> None:
    class Counting(Force):
        def wrench(self, motion: Motion) -> Wrench:
            SETTINGS["calls"] += 1
            return Wrench(-SETTINGS["calls"] * motion.position)

    with pytest.raises(Nameless, match="each time"):
        fingerprint(Arm(force=Counting), 1)


def test_a_method_nobody_can_trace_makes_a_model_nameless() -> None:
    class Moved(Arm):
        def contains(self, element: Any) -> bool:
            return SETTINGS["stiffness"] > 0 and super().contains(element)

    with pytest.raises(Nameless, match="contains"):
        fingerprint(Moved(), 1)


def test_constants_and_functions_of_the_library_count_where_they_were_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    import kompono.library.joints as joints
    import kompono.model.pairs as pairs

    before = fingerprint(Arm(), 1)
    with monkeypatch.context() as patch:
        patch.setattr(pairs, "_ZERO", np.ones(3))
        assert fingerprint(Arm(), 1) != before
    monkeypatch.setattr(joints, "about", lambda axis, angle: about(axis, 2 * angle))
    with pytest.raises(Nameless, match="replaced"):
        fingerprint(Arm(), 1)


def test_a_routine_traced_after_the_model_changed_is_not_kept_under_the_old_name(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    simulation = Simulation(Arm(force=Read), native=False)
    _ = simulation.program.routines["rates"]
    kept = len(list(folder.glob("*.routine")))
    assert kept
    monkeypatch.setitem(SETTINGS, "stiffness", 200.0)
    _ = simulation.program.routines["jacobian"]
    assert len(list(folder.glob("*.routine"))) == kept


@pytest.mark.parametrize("engine", ["relative", "absolute"])
def test_a_kept_program_is_the_one_a_new_translation_gives(engine: str) -> None:
    def programs(cache: bool) -> dict[str, Any]:
        program = Simulation(Arm(force=Read), engine=engine, native=False, cache=cache).program
        found = {name: program.routines[name] for name in program.routines}
        calls = {name: [program.kernels[call.kernel].serialize() for call in r.calls] for name, r in found.items()}
        return {"calls": calls, "results": {name: routine.result for name, routine in found.items()}}

    fresh, first, second = programs(False), programs(True), programs(True)
    assert fresh == first == second


def test_a_changed_model_is_not_taken_for_the_old_one() -> None:
    ends = [simulate(Arm(length=length), until=0.1).at(0.1)["pin.angle"] for length in (1.0, 1.2, 1.0)]
    assert ends[0] == ends[2] != ends[1]


def test_what_cannot_be_followed_is_translated_each_time(folder: Path) -> None:
    model = Arm(tag=iter([1]))
    with pytest.raises(Nameless):
        fingerprint(model, 1)
    Simulation(model)
    assert not list(folder.glob("*.routine"))


def test_damaged_files_are_made_again(folder: Path) -> None:
    first = simulate(Arm(), until=0.1).table
    for path in folder.glob("*.routine"):
        path.write_bytes(path.read_bytes()[:-1] + b"x")
    assert np.array_equal(simulate(Arm(), until=0.1).table, first)


def test_cache_false_keeps_nothing(folder: Path) -> None:
    simulate(Arm(), until=0.01, cache=False)
    assert not list(folder.iterdir())


class Bumped(Arm):
    """An arm that a stop with modes of its own holds."""

    def __init__(self) -> None:
        super().__init__()
        self.stop = EndStops(self.pin, -0.2, 0.4)


@pytest.mark.parametrize("first", ["soft", "events"])
def test_loops_closed_for_soft_laws_are_not_taken_for_laws_with_events(first: str) -> None:
    last = {"soft": "events", "events": "soft"}[first]
    options = {"until": 0.01, "step": 1e-3, "engine": "absolute"}
    simulate(Bumped(), contact=first, **options)
    found, new = (simulate(Bumped(), contact=last, cache=cache, **options) for cache in (True, False))
    assert np.array_equal(found.table, new.table)
