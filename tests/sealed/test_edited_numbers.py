"""Models with sealed files are kept: numbers around a file are put in after tracing, another one gives the program a
new translation would give, to the letter, traces nothing and compiles nothing. Another file is another model, whoever
may not use one is refused as ever, and what is locked is locked on the shelf, too.
"""

from __future__ import annotations

import functools
import inspect
import os
import struct
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from parts.numbered import Leg, Stand
from parts.test_edited_numbers import asked
from sealed.machines import PAIRS, Swing
from translate.test_lengths import SLOPES, traced
from translate.test_numbers import Shelf, translated

from kompono import Body, Ground, Sealed, SealedError, Subsystem, seal, simulate
from kompono.compile import targets
from kompono.library import DryFriction, Gravity, Revolute, SpringDamper
from kompono.sealed import keys, trust
from kompono.translate import Translation

__all__ = ["asked", "traced"]  # fixtures
pytestmark = pytest.mark.filterwarnings("ignore::kompono.ModelWarning")
LONG = "KOMPONO_LAWS" in os.environ
long = pytest.mark.skipif(not LONG, reason="all numbers together are enough for every day")
HERE = [str(targets.fitting(targets.TARGETS))]
INSIDE = set(inspect.signature(Leg).parameters)
Make = Callable[..., Subsystem]


def numbers_of(machine: type[Subsystem], inside: Collection[str] = ()) -> dict[str, float]:
    """All numbers of a machine, each a little larger."""
    known = {name: one.default for name, one in inspect.signature(machine).parameters.items()}
    found = {name: value for name, value in known.items() if type(value) is float and name not in inside}
    return {name: (1.001 + 0.0007 * k) * value for k, (name, value) in enumerate(found.items())}


def kernels(translation: Translation) -> dict[str, Any]:
    """All routines; multipliers of what is sealed are known to the file alone."""
    program = translation.program
    with translation.kept_together():
        routines = {name: program.routines[name] for name in program.routines if name not in (*SLOPES, "multipliers")}
    return {
        name: ([program.kernels[call.kernel].serialize() for call in one.calls], one.result, one.inputs)
        for name, one in routines.items()
    }


class Hung(Subsystem):
    """A sealed swing on a hinge, with a load that rubs."""

    def __init__(
        self, file: str | Path, *, mass: float = 1.3, arm: float = 0.19, high: float = 0.17, k: float = 31.0,
        c: float = 0.3, rest: float = 0.37, gravity: float = 9.81, preload: float = 0.07, aside: float = 0.43,
        **options: Any,
    ) -> None:  # fmt: skip
        self.ground, self.gravity, self.part = Ground(), Gravity((0, 0, -gravity)), Sealed(file, **options)
        self.load = Body(mass=mass, inertia=(0.02, 0.03, 0.04))
        self.top = Revolute(self.ground, self.part.box.at(0, 0, high), axis="y", angle=0.3)
        self.hook = Revolute(self.part.box.at(0, 0, -0.13), self.load.at(0, 0, arm), axis="x", angle=0.5)
        self.tie = SpringDamper(self.ground.at(aside, 0, 0), self.load, k=k, c=c, rest=rest)
        self.rubs = DryFriction(self.hook, preload=preload)


def sealed_swing(path: Path, length: float = 0.12, **options: Any) -> Path:
    """A swing with an arm of a length."""

    class Other(Swing):
        def __init__(self) -> None:
            super().__init__()
            self.weight = Body(mass=0.3, inertia=(0.01, 0.02, 0.03))
            self.more = Revolute(self.bob, self.weight.at(0, 0, length), axis="y", angle=0.2)

    seal(Other(), path, targets=HERE, **options)
    return path


@pytest.fixture(autouse=True, scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Keys and trust of all tests here."""
    folder = tmp_path_factory.mktemp("keys") / "config"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KOMPONO_CONFIG", str(folder))
        keys.make("Ada")
        yield folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("files")


def hung(folder: Path) -> tuple[Make, dict[str, float]]:
    path = folder / "swing.part"
    path.is_file() or sealed_swing(path)
    return functools.partial(Hung, path), numbers_of(Hung)


def stand(folder: Path) -> tuple[Make, dict[str, float]]:
    """A table on two legs with friction, stops, a servo, a state and a closed part inside."""
    path = folder / "leg.part"
    known = {name: one.default for name, one in inspect.signature(Stand).parameters.items()}
    path.is_file() or seal(Leg(**{name: known[name] for name in INSIDE}), path, targets=HERE)
    return functools.partial(Stand, leg=lambda **_: Sealed(path)), numbers_of(Stand, (*INSIDE, "other"))


@pytest.mark.parametrize("machine", [hung, pytest.param(stand, marks=long)])
@pytest.mark.parametrize("engine", ["relative", "absolute"])
def test_other_numbers_around_a_file_trace_nothing(folder: Path, machine: Any, engine: str, asked: set[str]) -> None:
    make, numbers = machine(folder)
    shelf = Shelf()
    first = kernels(translated(make(), shelf, engine=engine))
    asked.clear()
    assert kernels(translated(make(), shelf, engine=engine)) == first
    found = kernels(translated(make(**numbers), shelf, engine=engine))
    assert not asked
    assert found == kernels(translated(make(**numbers), None, engine=engine)) != first
    assert asked


@long
@pytest.mark.parametrize("machine", [hung, stand])
def test_each_number_by_itself(folder: Path, machine: Any, asked: set[str]) -> None:
    make, numbers = machine(folder)
    first = Shelf()
    kernels(translated(make(), first))
    for name, value in numbers.items():
        shelf = Shelf(first)
        asked.clear()
        found = kernels(translated(make(**{name: value}), shelf))
        assert not asked, name
        assert found == kernels(translated(make(**{name: value}), None)), name


def end(model: Subsystem, *, cache: bool = True, **options: Any) -> list[float]:
    return list(simulate(model, until=0.02, step=1e-3, cache=cache, **options).end.values.values())


@pytest.mark.parametrize("wall", ["", "process", "wasm"])
def test_another_number_compiles_nothing_and_gives_the_bits_of_a_new_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wall: str
) -> None:
    monkeypatch.setenv("KOMPONO_CACHE", str(tmp_path / "cache"))
    options = {"wall": wall} if wall else {}
    path = tmp_path / "swing.part"
    sealed_swing(path) if wall != "wasm" else seal(Swing(), path, targets=[*HERE, "wasm32"])

    def objects() -> list[str]:
        return sorted(found.name for found in (tmp_path / "cache").glob("*.o"))

    first, known = end(Hung(path, **options)), objects()
    assert end(Hung(path, **options)) == first
    for edit in ({"mass": 1.31},) if wall else ({"mass": 1.31}, {"arm": 0.191}):
        found = end(Hung(path, **edit, **options))
        assert wall or objects() == known
        assert found == end(Hung(path, **edit, **options), cache=False) != first


def test_a_changed_file_is_another_model(tmp_path: Path, traced: set[str]) -> None:
    """Under the same name, with the same structure and so the same machine code: its numbers are in the file alone."""
    shelf, path = Shelf(), tmp_path / "swing.part"
    first = kernels(translated(Hung(sealed_swing(path)), shelf))
    count = len(shelf.kept)
    traced.clear()
    other = kernels(translated(Hung(sealed_swing(path, 0.14)), shelf))
    assert "derivative" in traced
    assert len(shelf.kept) > count
    assert first != other == kernels(translated(Hung(path), None))
    assert kernels(translated(Hung(sealed_swing(path)), shelf)) == first


def test_trust_is_asked_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KOMPONO_CACHE", str(tmp_path / "cache"))
    path, author = sealed_swing(tmp_path / "swing.part"), keys.needed().card
    monkeypatch.setenv("KOMPONO_CONFIG", str(tmp_path / "other"))
    with pytest.raises(SealedError, match="not trusted"):
        Hung(path)
    trust.add(author.author, author.name)
    first = end(Hung(path))
    trust.remove(author.name)
    with pytest.raises(SealedError, match="not trusted"):
        Hung(path)
    trust.add(author.author, author.name)
    path.write_bytes(path.read_bytes().replace(b"box", b"bux", 1))
    with pytest.raises(SealedError, match=r"altered|damaged"):
        Hung(path)
    path.write_bytes(path.read_bytes().replace(b"bux", b"box", 1))
    assert end(Hung(path)) == first


def test_what_is_locked_is_locked_on_the_shelf(tmp_path: Path, traced: set[str]) -> None:
    shelf, path = Shelf(), tmp_path / "swing.part"
    sealed_swing(path, recipients=[keys.needed().card])
    model = Hung(path)
    first = kernels(translated(model, shelf))
    assert shelf.kept
    assert not any(b"kernels" in data or b"values" in data for data in shelf.kept.values())
    code: Any = model.part._code
    numbers = struct.unpack(f"<{len(code.numbers) // 8}d", code.numbers) + tuple(np.concatenate(code.starts))
    looked = 0
    for number in set(numbers) - {0.0, 1.0}:
        for spelled in (repr(number).encode(), struct.pack("<d", number)):
            if len(spelled) > 5:  # fewer bytes stand in what is locked by chance
                looked += 1
                assert not any(spelled in data for data in shelf.kept.values())
    assert looked
    traced.clear()
    assert kernels(translated(Hung(path), shelf)) == first
    assert kernels(translated(Hung(path, mass=1.41), shelf)) == kernels(translated(Hung(path, mass=1.41), None))
    damaged = Shelf(shelf)
    damaged.kept = {name: data[:-1] + bytes([data[-1] ^ 1]) for name, data in shelf.kept.items()}
    assert kernels(translated(Hung(path), damaged)) == first


@long
@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("engine", ["relative", "absolute"])
def test_whatever_is_inside(tmp_path: Path, name: str, engine: str, traced: set[str]) -> None:
    part, owner = PAIRS[name]
    seal(part(), tmp_path / "inner.part", targets=HERE)
    shelf = Shelf()
    first = kernels(translated(owner(Sealed(tmp_path / "inner.part")), shelf, engine=engine))
    traced.clear()
    assert kernels(translated(owner(Sealed(tmp_path / "inner.part")), shelf, engine=engine)) == first
    assert not traced
