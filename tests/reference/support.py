"""What the reference tests share: example models, published data, degrees of freedom and eigenvalues by plain numpy."""

from __future__ import annotations

import csv
import importlib
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from kompono import Result, Simulation, Subsystem
from kompono.solve.integrate import Settings

ROOT = Path(__file__).parents[2]
DATA = Path(__file__).parent / "data"


def example(file: str) -> Any:
    """A module of `kompono.examples` by its file, e.g. `car` or `reference/bennett`."""
    return importlib.import_module(f"kompono.examples.{file.replace('/', '.')}")


@cache
def table(name: str) -> dict[str, np.ndarray]:
    """Columns of a csv file in `data/`; blank cells are NaN."""
    with (DATA / f"{name}.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    return {key: np.array([float(row[key]) if row[key] else np.nan for row in rows]) for key in rows[0]}


@cache
def document(name: str) -> Any:
    """A json file in `data/`."""
    return json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))


def run(
    simulation: Simulation | Subsystem,
    method: str,
    until: float,
    step: float,
    *,
    rtol: float = 1e-8,
    every: int = 1,
    channels: Any = "*",
    initial: dict[str, float] | None = None,
) -> Result:
    """A run that must succeed."""
    simulation = Simulation(simulation) if isinstance(simulation, Subsystem) else simulation
    settings = Settings(method, until, step, every, rtol, 1e-3 * rtol)
    result = simulation.run(settings, channels=channels, initial=initial, progress=False)
    assert result.status.ok, result.status.message
    return result


@dataclass(frozen=True)
class Freedom:
    """Speeds of the tree, conditions that close its loops, how many of them are independent, what is left to move."""

    speeds: int
    conditions: int
    rank: int

    @property
    def degrees(self) -> int:
        return self.speeds - self.rank

    @property
    def redundant(self) -> int:
        return self.conditions - self.rank


def loop_matrix(simulation: Simulation, state: np.ndarray, time: float = 0.0) -> np.ndarray:
    """G (conditions x speeds) of the loop-closing conditions."""
    g, _, matrix, *_ = simulation.kernel.evaluate("conditions", time, state, np.zeros(0), np.zeros(0))
    return np.asarray(matrix).reshape(len(simulation.program.speeds), len(g)).T


def freedom(simulation: Simulation, state: np.ndarray) -> Freedom:
    """Degrees of freedom at a state, by singular values."""
    matrix = loop_matrix(simulation, state)
    values = np.linalg.svd(matrix, compute_uv=False) if matrix.size else np.zeros(0)
    rank = int(np.sum(values > 1e-8 * max(values.max(initial=0.0), 1e-300)))
    return Freedom(matrix.shape[1], matrix.shape[0], rank)


def derivative(simulation: Simulation, state: np.ndarray, time: float = 0.0) -> np.ndarray:
    """The rate of a state."""
    return simulation.kernel.evaluate("derivative", time, state, np.zeros(0), np.zeros(0))[0]


def eigenvalues(simulation: Simulation, state: np.ndarray) -> np.ndarray:
    """Eigenvalues of the motion linearized at a position of rest, on the tangent of the loop conditions."""
    size, count = len(state), len(simulation.program.speeds)
    jacobian = simulation.kernel.evaluate("jacobian", 0.0, state, np.zeros(0), np.zeros(0))[0].reshape(size, size).T
    matrix = loop_matrix(simulation, state)
    tangent = np.eye(count)
    if matrix.size:
        _, values, rows = np.linalg.svd(matrix)
        tangent = rows[int(np.sum(values > 1e-8 * values[0])) :].T
    stiffness = tangent.T @ jacobian[count:, :count] @ tangent
    damping = tangent.T @ jacobian[count:, count:] @ tangent
    free = tangent.shape[1]
    return np.linalg.eigvals(np.block([[np.zeros((free, free)), np.eye(free)], [stiffness, damping]]))
