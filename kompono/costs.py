"""cost(model) -> Cost: operations per evaluation and per step of every way to move a model, from its kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kompono.compile.cache import DiskShelf
from kompono.errors import RunError
from kompono.given import shown
from kompono.interruption import heeded
from kompono.model.subsystem import Subsystem
from kompono.request import Request
from kompono.sealed.element import Sealed
from kompono.translate import translated
from kompono.translate.counted import operations
from kompono.translate.engines.registry import ENGINES, Feature, engine_named

WAYS = tuple((entry.name, projection) for entry in ENGINES.values() for projection in entry.counted)


@dataclass(frozen=True)
class Way:
    """One engine with its projection: operations of one derivative, of one projection, and of a step of rk2 and rk4."""

    engine: str
    projection: str
    derivative: int
    project: int

    def step(self, stages: int) -> int:
        """Operations of one step of a method with so many stages."""
        return stages * self.derivative + self.project


@dataclass(frozen=True)
class Cost:
    """What each way costs. `str(cost)` is a table."""

    model: str
    ways: tuple[Way, ...]

    def __str__(self) -> str:
        head = f"{'engine':<10}{'projection':<20}{'derivative':>11}{'projection':>11}{'rk2 step':>10}{'rk4 step':>10}"
        rows = [
            f"{w.engine:<10}{w.projection:<20}{w.derivative:>11}{w.project:>11}{w.step(2):>10}{w.step(4):>10}"
            for w in self.ways
        ]
        return "\n".join([f"{self.model}: operations", head, *rows])


def _pairs(ways: Any) -> list[tuple[str, str]]:
    pairs = list(ways) if isinstance(ways, list | tuple) else [ways]
    for pair in pairs:
        if not isinstance(pair, tuple | list) or len(pair) != 2 or not all(isinstance(name, str) for name in pair):
            fix = f"Use e.g. ways=[{WAYS[-1]!r}]."
            raise RunError(f"{shown(pair)} is no engine with its projection.", fix=fix)
    return pairs


def _takes_parts(engine: str, projection: str) -> bool:
    """Whether sealed parts can be solved so: closed parts are projected in one way."""
    entry = ENGINES[engine]
    choice = entry.own.get("projection")
    return entry.refusal(Feature.SEALED_PARTS) is None and (choice is None or projection == choice.default)


@heeded
def cost(model: Subsystem, ways: Sequence[tuple[str, str]] = WAYS) -> Cost:
    """Translate a model for each way and count; what was translated before is taken from the cache. Models with sealed
    parts know fewer.
    """
    found, shelf = [], DiskShelf()
    if ways is WAYS and any(isinstance(element, Sealed) for element in model.walk()):
        ways = [pair for pair in WAYS if _takes_parts(*pair)]
    for engine, projection in _pairs(ways):
        chosen = projection if "projection" in engine_named(engine).own else None
        program = translated(model, Request(engine=engine, projection=chosen), shelf=shelf).program
        counts = [
            operations(program.routines[name], program.kernels) if name in program.routines else 0
            for name in ("derivative", "project")
        ]
        found.append(Way(engine, projection, *counts))
    return Cost(type(model).__name__, tuple(found))
