"""A closed part is compiled once, whatever is around it: a changed owner compiles the owner only."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kompono import Body, Ground, ModelError, Subsystem, simulate
from kompono.compile import objects
from kompono.edges.cli import main
from kompono.examples.car import Car, Damper
from kompono.library import Bench, Gravity, Revolute, Weld

pytestmark = pytest.mark.filterwarnings("ignore::kompono.ModelWarning")


class Loaded(Car):
    """The same suspensions under another car."""

    def __init__(self) -> None:
        super().__init__()
        self.luggage = Body(mass=30.0, inertia=(1.0, 1.0, 1.0))
        self.strap = Weld(self.body.at(0, 0, 0.1), self.luggage)


@pytest.fixture
def texts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """What is compiled, with an empty cache."""
    found: list[str] = []
    assemble = objects.assemble_all

    def noted(given: Any) -> Any:
        found.extend(text for text, _ in given)
        return assemble(given)

    monkeypatch.setenv("KOMPONO_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("KOMPONO_EFFORT", "quick")
    monkeypatch.setattr(objects, "assemble_all", noted)
    return found


def functions(texts: list[str]) -> set[str]:
    """The functions of parts that are compiled in some texts."""
    return {name for text in texts for name in re.findall(r"define void @(kompono\.part_\w+)", text)}


def test_a_changed_owner_compiles_the_owner_only(texts: list[str]) -> None:
    request = {"until": 0.01, "closed": ["left", "right"], "channels": "body.*"}

    def compiled(model: Car) -> list[bool]:
        """Of each object that is made: whether it is a function of a part."""
        texts.clear()
        assert simulate(model, **request).status.ok
        return ["define void @kompono.part_" in text for text in texts]

    first = compiled(Car())
    assert any(first)
    assert not all(first)
    again = compiled(Loaded())
    assert again
    assert not any(again)
    assert not compiled(Loaded())


class Hanging(Subsystem):
    """A damper under a beam that turns: an owner of its own kind."""

    def __init__(self) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.beam = Body(mass=2.0, inertia=(0.1, 0.2, 0.2))
        self.pin = Revolute(self.ground, self.beam.at(-0.5, 0, 0), axis="y", angle=0.2)
        self.damper = Damper(damping=300.0, closed=True)
        self.eye = Revolute(self.beam.at(0.5, 0, 0), self.damper.cylinder.at(0, 0, -0.3), axis="y")


def test_a_part_alone_on_a_bench_runs_on_the_same_machine_code(texts: list[str]) -> None:
    assert simulate(Bench(Damper(damping=300.0), hold="cylinder"), until=0.01, step=1e-3).status.ok
    alone = functions(texts)
    assert len(alone) >= 3  # move, condense, resolve
    texts.clear()
    assert simulate(Hanging(), until=0.01, step=1e-3).status.ok
    assert texts  # the owner
    assert not functions(texts)


def test_a_bench_moves_a_part_as_it_moves_when_open() -> None:
    class Open(Subsystem):
        def __init__(self) -> None:
            self.ground, self.gravity, self.part = Ground(), Gravity(), Damper(damping=300.0)
            self.held = Weld(self.ground, self.part.cylinder)

    by_parts = simulate(Bench(Damper(damping=300.0), hold="cylinder"), until=0.2, step=1e-3)
    whole = simulate(Open(), until=0.2, step=1e-3)
    channel = "part.piston.position.z"
    assert np.ptp(whole[channel]) > 1e-3
    np.testing.assert_allclose(by_parts[channel], whole[channel], rtol=0, atol=1e-12)


def test_a_bench_says_which_ports_there_are() -> None:
    with pytest.raises(ModelError, match=r"no port 'cylinda'; its ports are piston, cylinder\. .*Did you mean"):
        Bench(Damper(), hold="cylinda")
    with pytest.raises(ModelError, match="is no component"):
        Bench(Body(mass=1.0, inertia=(1, 1, 1)))  # type: ignore[arg-type]


def test_a_part_on_a_bench_by_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "examples/car.py:Damper", "--hold", "cylinder", "--until", "0.01"]) == 0
    assert "2 degrees of freedom" in capsys.readouterr().out
    assert main(["run", "examples/car.py:Damper", "--hold", "cylindr"]) != 0
    assert "Did you mean 'cylinder'?" in capsys.readouterr().err
