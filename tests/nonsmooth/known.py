"""Problems with known answers, where they lie beside the checkout, and events of a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[3] / "shared" / "reference" / "data" / "nonsmooth"


def known(name: str) -> Any:
    """The answers of a problem, numbers that were written as texts made numbers; the test is skipped without them."""
    found = sorted(FOLDER.glob(f"{name}*.json"))
    if not found:
        pytest.skip(f"{name} is not beside this checkout")
    return _numbers(json.loads(found[0].read_text(encoding="utf-8")))


def known_table(name: str) -> Path:
    """A file of published curves; the test is skipped without it."""
    path = FOLDER / name
    if not path.exists():
        pytest.skip(f"{name} is not beside this checkout")
    return path


def _numbers(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _numbers(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_numbers(entry) for entry in value]
    try:
        return float(value)
    except (TypeError, ValueError):
        return value


def times(result: Any, ending: str = "") -> list[float]:
    """Times of events whose names end so."""
    return [time for time, name in result.statistics["events"] if name.endswith(ending)]


def names(result: Any) -> list[str]:
    """Names of all events in turn."""
    return [name for _, name in result.statistics["events"]]
