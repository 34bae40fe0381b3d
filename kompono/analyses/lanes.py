"""Derivatives of a run on lanes: columns side by side, the motion itself once on each lane.

Lanes cannot be walked (see `compile/tiers`), so native code is made for them: that pays for runs with many steps, where
it would be made in any case. Events, samples and steps of any length run on one lane.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kompono.compile import compile_program
from kompono.compile.tiers import MANY
from kompono.solve.integrate import Problem, Trajectory, integrate
from kompono.solve.settings import Settings
from kompono.translate.program import Program
from kompono.translate.variation import LaneVariation

LANES = 4
METHODS = ("rk2", "rk4", "adams")


def pays(program: Program, settings: Settings, count: int) -> bool:
    """Whether so many derivatives are worth lanes."""
    if settings.method not in METHODS or program.events or program.rates or program.controllers:
        return False
    return count >= LANES and 2 * settings.span / settings.step > MANY


class LaneColumns:
    """The program of a model with derivatives by parameters at `places` (None: a start value), times `scales`."""

    def __init__(
        self, program: Program, places: tuple[int | None, ...], scales: tuple[float, ...], cache: bool
    ) -> None:
        self._near, self._places, self._scales = program, places, scales
        self._width = -(-len(places) // LANES)
        self._varied = tuple(sorted({place for place in places if place is not None}))
        each = (None,) * self._width, (1.0,) * self._width
        self._variation = LaneVariation(program, *each, self._varied)
        self._kernel: Any = compile_program(self._variation.program(), cache=cache)

    def run(
        self, start: np.ndarray, columns: np.ndarray, values: np.ndarray, feed: Any, settings: Settings, read: Any
    ) -> tuple[Trajectory, np.ndarray]:
        """A run from a start (state), with columns (state, names) that begin as given, and its parameters on lanes."""
        size, width = len(start), self._width
        state = np.zeros((size * (1 + width), LANES))
        state[:size] = start[:, None]
        seeds = np.zeros((width, len(self._varied), LANES))
        for column, (place, scale) in enumerate(zip(self._places, self._scales, strict=True)):
            lane, k = divmod(column, width)
            state[size * (1 + k) : size * (2 + k), lane] = columns[:, column]
            if place is not None:
                seeds[k, self._varied.index(place), lane] = scale
        parameters = np.vstack([np.tile(values[:, None], LANES), seeds.reshape(-1, LANES)]).ravel()
        problem = Problem(self._kernel, state.ravel(), parameters, feed, read, lanes=LANES)
        return integrate(problem, settings, None), parameters

    def channels(self, rows: np.ndarray, parameters: np.ndarray, selected: str) -> np.ndarray:
        """Channels (rows, 1 + names, channels) and their derivatives along a run."""
        routine = self._variation.add_channels(self._kernel.program, selected)
        width = LANES * self._kernel.program.state_size
        given = rows[:, 0], rows[:, 1 : 1 + width], rows[:, 1 + width :]
        table = self._kernel.map(routine, *given, parameters, lanes=LANES)
        parts = table.reshape(len(rows), 1 + self._width, -1, LANES)
        moved = np.moveaxis(parts[:, 1:], 3, 1).reshape(len(rows), LANES * self._width, -1)
        return np.concatenate([parts[:, :1, :, 0], moved[:, : len(self._places)]], axis=1)
