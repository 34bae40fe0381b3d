"""Models with FMUs are kept: numbers around one are put in after tracing, another one gives the program a new
translation would give, to the letter, traces nothing and compiles nothing. Another file, or another value given to it,
is another model, and each FMU keeps its own state, however many of one file there are.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fmu.fmu_models import Ball, Latch, Swing
from translate.test_lengths import SLOPES, traced
from translate.test_numbers import Shelf, translated

from kompono import Body, Fmu, Ground, Input, ModelError, Output, Subsystem, simulate
from kompono.library import Gravity, JointEffort, Revolute, SpringDamper
from kompono.translate import Translation
from kompono.translate.texts import written

__all__ = ["traced"]  # a fixture
pytest.importorskip("fmpy")
NUMBERS = {"mass": 1.31, "arm": 0.191, "gravity": 9.83, "k": 31.3, "gain": 0.61}


class Driven(Subsystem):
    """A load whose hinge pulls FMUs, and is pushed by what they answer."""

    def __init__(
        self, *files: Path, mass: float = 1.3, arm: float = 0.19, gravity: float = 9.81, k: float = 31.0,
        gain: float = 0.6, **options: Any,
    ) -> None:  # fmt: skip
        self.ground, self.gravity = Ground(), Gravity((0, -gravity, 0))
        self.load = Body(mass=mass, inertia=(0.02, 0.03, 0.04))
        self.pin = Revolute(self.ground, self.load.at(0, arm, 0), axis="z", angle=0.4)
        self.tie = SpringDamper(self.ground.at(0.3, 0, 0), self.load, k=k, c=0.2, rest=0.37)
        self.plants = [Fmu(file, trust=True, **options) for file in files]
        self.pulls = [Output(gain * (1 + n) * self.pin.angle_rate) for n in range(len(files))]
        self.pushes = [Input() for _ in files]
        self.drives = [JointEffort(self.pin, push) for push in self.pushes]
        for plant, pull, push in zip(self.plants, self.pulls, self.pushes, strict=True):
            self.connect(pull, plant.torque)
            self.connect(plant.height, push)


def kernels(translation: Translation) -> dict[str, Any]:
    """All routines as text."""
    program = translation.program
    with translation.kept_together():
        routines = {name: program.routines[name] for name in program.routines if name not in SLOPES}
    return {
        name: ([written(program.kernels[k.kernel]) for k in one.calls], one.result) for name, one in routines.items()
    }


def end(model: Subsystem, *, cache: bool = True) -> list[float]:
    return list(simulate(model, until=0.02, step=1e-3, cache=cache).end.values.values())


@pytest.mark.parametrize("engine", ["relative", "absolute"])
def test_other_numbers_around_fmus_trace_nothing(exported: Callable[..., Path], engine: str, traced: set[str]) -> None:
    files, shelf = (exported(Swing), exported(Swing)), Shelf()
    first = kernels(translated(Driven(*files), shelf, engine=engine))
    traced.clear()
    assert kernels(translated(Driven(*files), shelf, engine=engine)) == first
    found = kernels(translated(Driven(*files, **NUMBERS), shelf, engine=engine))
    assert not traced
    assert found == kernels(translated(Driven(*files, **NUMBERS), None, engine=engine)) != first


@pytest.mark.parametrize("options", [{}, {"isolate": True}, {"every": 2e-3}])
def test_another_number_compiles_nothing_and_gives_the_bits_of_a_new_run(
    exported: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any],
    traced: set[str],
) -> None:  # fmt: skip
    monkeypatch.setenv("KOMPONO_CACHE", str(tmp_path))
    files = (exported(Swing),) * (1 if options else 2)

    def objects() -> list[str]:
        return sorted(found.name for found in tmp_path.glob("*.o"))

    models = [Driven(*files, **options) for _ in range(2)]  # both are there all the time
    first = end(models[1])
    known = objects()
    traced.clear()
    assert end(models[0]) == first
    for edit in ("mass",) if options else NUMBERS:
        found = end(Driven(*files, **{edit: NUMBERS[edit]}, **options))
        assert not traced
        assert options or objects() == known
        assert found == end(Driven(*files, **{edit: NUMBERS[edit]}, **options), cache=False) != first
        traced.clear()


def test_events_inside_are_those_of_a_new_run(exported: Callable[..., Path], tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("KOMPONO_CACHE", str(tmp_path))

    class Two(Subsystem):
        def __init__(self, mass: float = 2.0) -> None:
            self.ground, self.body = Ground(), Body(mass=mass, inertia=(0.1, 0.1, 0.1))
            self.pin = Revolute(self.ground, self.body.at(0, 0.3, 0), axis="z", angle_rate=1.0)
            self.latch, self.ball = Fmu(exported(Latch), trust=True), Fmu(exported(Ball), trust=True)

    def run(mass: float, *, cache: bool) -> Any:
        return simulate(Two(mass), until=0.7, step=1e-2, method="dopri5", cache=cache)

    for mass in (2.0, 2.0, 2.3):
        found, new = run(mass, cache=True), run(mass, cache=False)
        assert found.statistics["events"] == new.statistics["events"]
        assert len(new.statistics["events"]) > 3
        for name in new:
            assert np.array_equal(found[name], new[name]), name


def test_another_file_or_value_is_another_model(
    exported: Callable[..., Path], tmp_path: Path, traced: set[str]
) -> None:
    class Other(Swing):
        def __init__(self) -> None:
            super().__init__()
            self.more = Output(0.5 * self.bob.position[0])

    shelf, path = Shelf(), tmp_path / "plant.fmu"

    def found(file: Path, **options: Any) -> Translation:
        path.write_bytes(file.read_bytes())
        traced.clear()
        translation = translated(Driven(path, **options), shelf)
        kernels(translation)
        return translation

    found(exported(Swing))
    assert "derivative" in traced
    found(exported(Swing))
    assert not traced
    found(exported(Other))
    assert "derivative" in traced
    found(exported(Swing), values={"pin.angle": 0.3})
    assert "derivative" in traced
    with pytest.raises(ModelError, match="trust=True"):
        Fmu(path)


def test_no_piece_of_a_step_of_the_discrete_engine_asks_one(exported: Callable[..., Path]) -> None:
    with pytest.raises(ModelError, match=r"plants\.0: .*no piece of a step asks") as error:
        simulate(Driven(exported(Swing)), until=1e-3, engine="discrete")
    assert "kind='cs'" in str(error.value.fix)
