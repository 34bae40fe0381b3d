"""A closed part is compiled once, whatever is around it: a changed owner compiles the owner only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kompono import Body, simulate
from kompono.compile import objects
from kompono.examples.car import Car
from kompono.library import Weld

pytestmark = pytest.mark.filterwarnings("ignore::kompono.ModelWarning")


class Loaded(Car):
    """The same suspensions under another car."""

    def __init__(self) -> None:
        super().__init__()
        self.luggage = Body(mass=30.0, inertia=(1.0, 1.0, 1.0))
        self.strap = Weld(self.body.at(0, 0, 0.1), self.luggage)


def test_a_changed_owner_compiles_the_owner_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    texts: list[str] = []
    assemble = objects.assemble_all

    def noted(given: Any) -> Any:
        texts.extend(text for text, _ in given)
        return assemble(given)

    monkeypatch.setenv("KOMPONO_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(objects, "assemble_all", noted)
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
