"""A stand-in for `kompono.simulate` that records how it was called, so the command line is tested by itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kompono
from kompono.model.subsystem import Subsystem
from kompono.result import Result, Status


class Recorder:
    """Calls of `simulate`, and the status it is to end with."""

    def __init__(self) -> None:
        self.model: Subsystem | None = None
        self.request: dict[str, Any] = {}
        self.status = Status(time=1.0)
        self.rows = 11

    def simulate(self, model: Subsystem, **request: Any) -> Result:
        self.model, self.request = model, request
        time = np.linspace(0, 1, self.rows)
        table = np.column_stack([np.cos(time), 1e-16 * time, 0 * time + 2])
        names = ["rod.position.z", "drift.position", "energy.total"]
        units = {"rod.position.z": "m", "drift.position": "m", "energy.total": "J"}
        name = type(model).__name__
        return Result(time, names, table, units=units, status=self.status, statistics={"steps": 10}, model=name)


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    recorder = Recorder()
    monkeypatch.setattr(kompono, "simulate", recorder.simulate, raising=False)
    return recorder


@pytest.fixture
def model_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Write a file of models into an empty working folder; returns its name."""
    monkeypatch.chdir(tmp_path)

    def write(body: str, name: str = "double_swing.py") -> str:
        head = "from kompono.model.subsystem import Subsystem\nfrom kompono.model.signal import Parameter\n"
        (tmp_path / name).write_text(head + body)
        return name

    return write
