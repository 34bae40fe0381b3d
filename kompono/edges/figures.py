"""The figures a model declares: drawn into files by its own script, shown in its report, written once.

A model has figures if its class has a method `figures(result)` that gives pictures (a generator will do), `result`
being a run with its `run_defaults`. Whatever else it needs it simulates itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from kompono.edges.plot import Picture
from kompono.model.subsystem import Subsystem
from kompono.result import Result
from kompono.single import simulate


def figures(model: Subsystem, result: Result) -> Iterator[Picture]:
    """The figures a model declares for a run of it, none if it declares none."""
    yield from getattr(model, "figures", lambda _: ())(result)


def write_figures(model: Subsystem, folder: str | Path) -> list[Path]:
    """Run a model with its `run_defaults` and draw its figures into a folder, as png."""
    result = simulate(model, **{"until": 1.0, **model.run_defaults})
    return [picture.save(Path(folder) / f"{picture.name}.png") for picture in figures(model, result)]
