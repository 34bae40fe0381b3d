"""Models with parts elsewhere are kept: another number around such a part traces and compiles nothing, and moves as in
a new process to the last bit. A part that does something else is another part, whatever its supplier says that it is.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest
from elsewhere.suppliers import Supplier
from parts.test_edited_numbers import Cased, asked, survey
from sealed.machines import PAIRS
from translate.test_lengths import traced
from translate.test_numbers import Shelf, translated

from kompono import Body, Ground, Output, RemoteError, Simulation, Subsystem, seal
from kompono.compile import targets
from kompono.elsewhere.hosts import InProcess
from kompono.library import DryFriction, EndStops, Gravity, Revolute, SpringDamper, Weld
from kompono.request import Request
from kompono.solve.settings import settings_of
from kompono.starting import closed_start
from kompono.translate import closed_parts
from kompono.translate.far_calls import far_function, find_far
from kompono.translate.parts.far import function_names
from kompono.translate.texts import callbacks, read, written

__all__ = ["asked", "traced"]  # fixtures
pytestmark = pytest.mark.filterwarnings("ignore::kompono.ModelWarning")
Find = Callable[[str], Supplier]
Bits = dict[str, bytes]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where translations and code are kept here."""
    monkeypatch.setenv("KOMPONO_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def objects(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*.o"))


def moved(model: Subsystem, *, cache: bool = True, elsewhere: Any = (), closed: Any = ()) -> Bits:
    """All channels of a short run."""
    hosts = {path: InProcess() for path in elsewhere} or None
    simulation = Simulation(model, cache=cache, elsewhere=hosts, closed=closed)
    result = simulation.run(settings_of(Request(until=0.01, step=1e-3)))
    assert result.status.ok, result.status
    return {name: np.asarray(result[name]).tobytes() for name in result}


class Hung(Subsystem):
    """A part on a hinge, with a load that rubs, a stop and a spring."""

    def __init__(
        self, part: Any, *, mass: float = 1.3, arm: float = 0.19, high: float = 0.47, k: float = 31.0, c: float = 0.3,
        rest: float = 0.37, gravity: float = 9.81, preload: float = 0.07, aside: float = 0.43, limit: float = 0.31,
        angle: float = 0.3,
    ) -> None:  # fmt: skip
        self.ground, self.gravity, self.part = Ground(), Gravity((0, 0, -gravity)), part
        self.load, box = Body(mass=mass, inertia=(0.02, 0.03, 0.04)), next(iter(part.exposed))
        self.top = Revolute(self.ground, box.at(0, 0, high), axis="y", angle=angle)
        self.hook = Revolute(box.at(0, 0, -0.13), self.load.at(0, 0, arm), axis="x", angle=0.5)
        self.tie = SpringDamper(self.ground.at(aside, 0, 0), self.load, k=k, c=c, rest=rest)
        self.rubs, self.stop = DryFriction(self.hook, preload=preload), EndStops(self.top, -0.7, limit)


NUMBERS = {name: one.default for name, one in inspect.signature(Hung).parameters.items() if name != "part"}
EDITED = {name: (1.001 + 0.0007 * k) * value for k, (name, value) in enumerate(NUMBERS.items())}


@pytest.mark.parametrize("name", ["swing", "skid"])
def test_other_numbers_around_a_remote_part_trace_and_compile_nothing(
    supplier: Find, folder: Path, asked: set[str], name: str
) -> None:
    """The part of the skid rubs, too."""
    part = supplier(name).remote
    first = moved(Hung(part()))
    known = objects(folder)
    asked.clear()
    assert moved(Hung(part())) == first
    found = moved(Hung(part(), **EDITED))
    assert not asked
    assert objects(folder) == known
    assert found == moved(Hung(part(), **EDITED), cache=False) != first
    assert asked


def test_public_numbers_of_a_remote_part(supplier: Find, asked: set[str]) -> None:
    """They are parameters of a run."""
    made, owner = supplier("actuator"), PAIRS["actuator"][1]
    first = moved(owner(made.remote()))
    asked.clear()
    found = moved(owner(made.remote(gain=5.7, command=0.3)))
    assert not asked
    assert found == moved(owner(made.remote(gain=5.7, command=0.3)), cache=False) != first


class Bracket(Subsystem):
    """What is welded to a box, and a pendulum: where the one port is, seen from the other, follows from a number."""

    def __init__(self, arm: float = 0.3) -> None:
        self.box, self.other = (Body(mass=m, inertia=(0.1, 0.1, 0.1)) for m in (1.0, 0.5))
        self.bob = Body(mass=0.2, inertia=(0.1, 0.1, 0.1))
        self.weld = Weld(self.box.at(0, 0, arm), self.other)
        self.pin = Revolute(self.other, self.bob.at(0, 0, 0.1), axis="y", angle=0.3)
        self.told = Output(3.3 * arm)
        self.expose(self.box, self.other)


class Held(Subsystem):
    """A part that hangs by its box, with a load on what is welded to that."""

    def __init__(self, part: Any, *more: Any) -> None:
        self.ground, self.gravity, self.part, self.more = Ground(), Gravity(), part, list(more)
        self.load = Body(mass=0.3, inertia=(0.1, 0.1, 0.1))
        self.top = Revolute(self.ground, part.box, axis="y", angle=0.2)
        self.hook = Revolute(part.other.at(0, 0.1, 0), self.load.at(0, 0, 0.1), axis="x", angle=0.1)
        self.tops = [Revolute(self.ground.at(k, 0, 1), one.box, axis="y", angle=0.1) for k, one in enumerate(self.more)]
        self.shown = Output(part.told + self.top.angle)


def bracket(folder: Path, arm: float = 0.3) -> Supplier:
    path = folder / f"bracket{arm}.part"
    folder.mkdir(exist_ok=True)
    seal(Bracket(arm), path, public=["told"], targets=[str(targets.fitting(targets.TARGETS))])
    return Supplier(str(path))


def test_another_part_at_the_same_address(tmp_path: Path, asked: set[str]) -> None:
    one, other = bracket(tmp_path), bracket(tmp_path, 0.35)
    first = moved(Held(one.remote()))
    asked.clear()
    found = moved(Held(other.remote()))
    assert asked
    assert found == moved(Held(other.remote()), cache=False) != first
    asked.clear()
    assert moved(Held(one.remote())) == first
    assert not asked


def test_two_parts_that_change_places(tmp_path: Path) -> None:
    one, other = bracket(tmp_path), bracket(tmp_path, 0.35)
    both = moved(Held(one.remote(), other.remote()))
    swapped = moved(Held(other.remote(), one.remote()))
    assert swapped == moved(Held(other.remote(), one.remote()), cache=False) != both


def test_a_changed_part_that_keeps_its_digest(tmp_path: Path, asked: set[str]) -> None:
    """Nobody believes what a part is called: it is asked what it does."""
    honest, changed = bracket(tmp_path), bracket(tmp_path, 0.35)
    first = moved(Held(honest.remote()))
    opener = changed.opener

    def forged(*given: Any) -> Any:
        return opener(*given)[0], honest.opener(*given)[1]

    changed.opener = forged
    assert changed.remote()._code.known_by[:2] == honest.remote()._code.known_by[:2]
    asked.clear()
    found = moved(Held(changed.remote()))
    assert asked
    assert found == moved(Held(changed.remote()), cache=False) != first


def test_a_part_that_is_changed_while_its_model_is_there(tmp_path: Path) -> None:
    one, other = bracket(tmp_path), bracket(tmp_path, 0.35)
    model = Held(one.remote())
    one.opener = other.opener
    with pytest.raises(RemoteError, match="another part there"):
        moved(model)


def test_each_part_is_asked_over_its_own_lines(supplier: Find) -> None:
    """Also by what was kept, of two parts from one file."""
    path = supplier("swing").path
    made = [Supplier(path), Supplier(path)]
    parts: list[Any] = [one.remote() for one in made]
    known = callbacks(zip(("left", "right"), parts, strict=True))
    x = ca.SX.sym("x", parts[0]._code.function("box", "masses").nnz_in())
    for one, part in zip(made, parts, strict=True):
        text = written(ca.Function("f", [x], [part._code.function("box", "masses")(x)]))
        before = [sum(len(line.frames) for line in two.lines) for two in made]
        read(text, known)(np.zeros(x.numel()))
        after = [sum(len(line.frames) for line in two.lines) for two in made]
        assert [two is one for two in made] == [m > n for m, n in zip(after, before, strict=True)]


def test_numbers_of_closed_parts_that_are_elsewhere(asked: set[str]) -> None:
    """Those that nothing else goes with are in what the owner knows."""
    first = moved(Held(Bracket()), elsewhere=["part"])
    asked.clear()
    found = moved(Held(Bracket(0.35)), elsewhere=["part"])
    assert not {name for name in asked if "." not in name}  # of the owner
    assert found == moved(Held(Bracket(0.35)), elsewhere=["part"], cache=False) != first


def test_which_parts_are_elsewhere_counts(asked: set[str]) -> None:
    """Two translations of one model beside each other, with states that are not the same."""
    parts = ["part", "more.0"]

    def model() -> Held:
        return Held(Bracket(), Bracket())

    runs = [(["part"], ["more.0"]), (["more.0"], ["part"]), (parts, []), ([], parts)]
    first = [moved(model(), elsewhere=away, closed=here) for away, here in runs]
    asked.clear()
    again = [moved(model(), elsewhere=away, closed=here) for away, here in runs]
    assert first == again
    assert not {name for name in asked if "." not in name}
    assert all(one == first[0] for one in first)


@pytest.mark.parametrize(
    "make",
    [lambda share: Cased(survey.Clocked, share), lambda share: held_linkage(share)],
    ids=["clocked", "linkage"],
)
def test_a_rank_finds_the_numbers_of_its_parts_by_itself(make: Callable[[float], Subsystem]) -> None:
    """Names of functions tell their code and all their numbers. What a process works out of a part it keeps is what
    the first one knows of that, who may have it from the shelf.
    """
    shelf = Shelf()
    for share in (1.0, 1.003):
        near = translated(make(share), shelf)
        assert near.program.routines["outputs"]
        engine: Any = near.engine
        own = closed_parts(make(share), Request(), closed_start)
        assert [called(part) for part in own] == [called(part) for part in engine.compartment.parts]


def called(part: Any) -> list[str]:
    """Names of all functions of a part, with their numbers."""
    return [part.numbered(name).function.name() for name in function_names(part)]


def held_linkage(share: float) -> Subsystem:
    """A linkage with a loop, closed, some of whose numbers are other ones."""
    made = PAIRS["linkage"][0]()
    made.closed = True
    made.rod.solid = replace(made.rod.solid, mass=share * made.rod.solid.mass)
    return PAIRS["linkage"][1](made)


def test_functions_elsewhere_are_known_by_name() -> None:
    one = far_function(7, True, 18, 42, 5)
    found = find_far(one.name())
    assert found is not None
    assert (found.name(), found.nnz_in(), found.nnz_out()) == (one.name(), 42, 5)
    assert find_far("far_away_23_18_42_5") is None
