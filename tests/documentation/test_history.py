"""The history of benchmarks tells what has become slower."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def first_step(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(sys, "path", [*sys.path, str(Path(__file__).parents[2] / "benchmarks")])
    return importlib.import_module("first_step")


def test_what_is_slower_than_it_ever_was_is_named(first_step: Any) -> None:
    """Also behind a run that could not be measured, which is named itself."""
    before = [{"kompono": {"car": figures}} for figures in ([0.5, 0.2], [0.6, float("nan")], [0.9, 0.25])]
    assert not first_step.slower(before, {"car": [0.6, 0.29], "new": [3.0, 1.0]})
    assert first_step.slower(before, {"car": [0.7, 0.4]}) == [
        "car, new: 0.70 s, once 0.50 s", "car, edited number: 0.40 s, once 0.20 s",
    ]  # fmt: skip
    assert first_step.slower(before, {"car": [0.5, float("nan")]}) == ["car, edited number: no first step"]
