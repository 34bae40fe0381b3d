"""The links of runs of the discrete engine: their strength chosen at the start, their stability judged there and where
a run failed. All of it is made for several runs at once; one run is a table of one row.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from kompono.compile import Interpreter
from kompono.errors import RunError
from kompono.solve.preload import preloaded
from kompono.solve.stability import FastestMode, fastest, shares
from kompono.solve.stiffness import LIMIT, Given, LinkTable, choose, given_by_group
from kompono.translate.engines.discrete.linked import switches

if TYPE_CHECKING:
    from kompono.translate.rank.lever_table import LeverTable

NAMES = ("stiffness", "damping")
GIVES = 0.03  # of the longest lever, or in rad: what links yield at most
SHORT = 1e-2  # of the largest radius of gyration: a lever that is as good as none
LOOKS = 12  # records before a failure that are looked at for its cause


class Linking:
    """Stiffness and damping for the program of a discrete engine.

    `engine` names and places the links and knows what loads each body. A number, or numbers by path, replace what is
    chosen automatically.
    """

    def __init__(self, kernel: Any, engine: Any, stiffness: Given = None, damping: Given = None) -> None:
        self.kernel, self.engine = kernel, engine
        self.given: tuple[Given, Given] = stiffness, damping
        self._plain = Interpreter(kernel.program)  # for what is asked a few times and not worth compiling
        self.gives = np.zeros((0, 0))  # how far conditions (runs, rows) may be off [m, rad], known when runs begin

    @cached_property
    def _switches(self) -> bool:
        return switches(self.engine)

    def complete(
        self, states: np.ndarray, inputs: np.ndarray, parameters: np.ndarray, step: float, time: float = 0.0
    ) -> tuple[np.ndarray, dict[int, RunError]]:
        """The model's parameters (runs, p) with the hidden ones behind them, for runs that start from `states` (runs,
        n), and those whose step is unstable from the start.
        """
        table, levers = self._everywhere(time, states, inputs, parameters)
        norms = table.norms()
        program = self.kernel.program
        first, modes = len(program.coordinates) + len(program.speeds), len(program.modes)
        if self._switches:  # rows that are switched off now count as if they were on
            on = states.copy()
            on[:, first : first + modes] = 1.0
            norms = np.maximum(norms, self._everywhere(time, on, inputs, parameters)[0].norms())
        self.gives = self._gives(table)
        norms = norms + _unknown(table, norms)
        strength = choose(table, norms, step, *self.given)
        whole = np.hstack([parameters, self.engine.hidden_values(*strength, levers.numbers)])
        failed: dict[int, RunError] = {}
        for run, found in enumerate(fastest(self.kernel, time, states, inputs, whole, step)):
            if not found.stable:
                here = self._table(time, states[run : run + 1], inputs, parameters[run : run + 1])
                now = levers.easing[run]
                path, message = self._complaint(here, (now * strength[0][run], now * strength[1][run]), found, step)
                fix = "Leave stiffness= and damping= out, or take a smaller step."
                failed[run] = RunError(message, path=path, fix=fix)
        return whole, failed

    def loaded(self, states: np.ndarray, inputs: np.ndarray, parameters: np.ndarray, time: float = 0.0) -> np.ndarray:
        """Start states (runs, n) with the deflections that carry the loads there; `parameters` are complete."""
        slips = self.engine.slips()
        if not len(slips):
            return states
        model, none = self._model(parameters), np.zeros((len(states), len(slips)))
        strength = self._strengths(time, states, inputs, parameters)
        free = np.hstack([model, self.engine.hidden_values(none, none)])
        table = self._table(time, states, inputs, model)
        return preloaded(self.kernel, (time, states, inputs), (free, parameters), table, strength, slips)

    def explain(self, rows: np.ndarray, parameters: np.ndarray, step: float) -> str:
        """Why a run ended: the first of its last records (time, state..., inputs...) where the step was unstable."""
        end, whole = 1 + self.kernel.program.state_size, parameters[None]
        model = self._model(whole)
        for row in rows[np.unique(np.linspace(0, len(rows) - 1, LOOKS).astype(int))]:
            state, inputs = row[None, 1:end], row[end:]
            (found,) = fastest(self.kernel, row[0], state, inputs, whole, step)
            if np.isfinite(found.size) and not found.stable:
                table = self._table(row[0], state, inputs, model)
                (stiffness,), (damping,) = self._strengths(row[0], state, inputs, whole)
                path, message = self._complaint(table, (stiffness, damping), found, step)
                return f"{path}: from t = {row[0]:.6g} s on {message}"
        return ""

    def _model(self, parameters: np.ndarray) -> np.ndarray:
        """Those of all parameters (runs, p) that are the model's."""
        return parameters[:, : parameters.shape[1] - len(self.engine.hidden_names())]

    def _strengths(
        self, time: float, states: np.ndarray, inputs: np.ndarray, parameters: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Stiffness and damping (runs, rows) at the states of runs; `parameters` are complete."""
        found = self.engine.strengths(parameters[:, self._model(parameters).shape[1] :])
        if not self.engine.levers:
            return found
        runs = len(states)
        times, fed = np.full((runs, 1), time), np.broadcast_to(inputs, (runs, len(self.kernel.program.inputs)))
        (easing,) = self._plain.evaluate_rows("easing", times, states, fed, parameters)
        return easing * found[0], easing * found[1]

    def _everywhere(
        self, time: float, states: np.ndarray, inputs: np.ndarray, parameters: np.ndarray
    ) -> tuple[LinkTable, LeverTable]:
        """Conditions on bodies wherever their elements may get from the states of runs, as they count there, and the
        levers that say so. Strengths that are given do not depend on levers.
        """
        table = self._table(time, states, inputs, parameters)
        given = [given_by_group(table, value, name) for value, name in zip(self.given, NAMES, strict=True)]
        firm = ~np.isnan(given).all(axis=0)
        reach, levers = self.engine.reachable(time, states, parameters, table.weights, firm)
        return replace(table, reach=tuple(reach)).times(np.sqrt(levers.easing)), levers

    def _table(self, time: float, states: np.ndarray, inputs: np.ndarray, parameters: np.ndarray) -> LinkTable:
        """Conditions on bodies at the states of runs."""
        runs = len(states)
        whole = np.hstack([parameters, np.zeros((runs, len(self.engine.hidden_names())))])
        times, fed = np.full((runs, 1), time), np.broadcast_to(inputs, (runs, len(self.kernel.program.inputs)))
        numbers, weights = self._plain.evaluate_rows("blocks", times, states, fed, whole)
        blocks, place = [], 0
        for first, rows, body in self.engine.touched():
            mine = numbers[:, place : place + 6 * rows].reshape(runs, 6, rows)
            blocks.append((first, body, mine.swapaxes(1, 2)))
            place += 6 * rows
        return LinkTable(self.engine.link_groups(), tuple(blocks), weights.reshape(runs, -1, 6, 6))

    def gives_at(self, row: np.ndarray, parameters: np.ndarray) -> np.ndarray:
        """How far conditions (rows,) of a run may be off, at a record (time, state..., inputs...) of it."""
        end = 1 + self.kernel.program.state_size
        return self._gives(self._table(row[0], row[None, 1:end], row[end:], self._model(parameters[None])))[0]

    def _gives(self, table: LinkTable) -> np.ndarray:
        """How far conditions (runs, rows) may be off, in their own units: angles by so much, lengths by a part of the
        longest lever of the run, or of the size of its bodies; a lever that is next to nothing is none. What is soft by
        a user's wish, or bears by its damping alone, may give way.
        """
        sizes, runs = [size for _, size in table.groups], len(table.weights)
        lever, lengths = np.zeros((runs, 1)), np.zeros((runs, sum(sizes)), dtype=bool)
        least, most = np.full((2, runs, sum(sizes)), np.inf), np.zeros((2, runs, sum(sizes)))
        for first, _, block in table.blocks:
            norms = np.array([np.linalg.norm(part, axis=2) for part in np.split(block, 2, axis=2)])
            (along, about), here = norms, slice(first, first + block.shape[1])
            moves = along > 1e-9 * about
            lengths[:, here] |= moves
            reach = np.where(moves, about / np.where(moves, along, 1.0), 0.0)
            lever = np.maximum(lever, reach.max(axis=1, initial=0.0, keepdims=True))
            least[:, :, here] = np.minimum(least[:, :, here], np.where(norms > 0.0, norms, np.inf))
            most[:, :, here] = np.maximum(most[:, :, here], norms)
        size = _sizes(table.weights).max(axis=1, initial=0.0, keepdims=True)
        lever = np.where(lever > SHORT * size, np.maximum(lever, size), np.inf)
        found = np.where(lengths, GIVES * lever, GIVES)
        unit = np.minimum(np.maximum(least, 1.0), np.where(most > 0.0, most, 1.0))  # 1 m or rad on some body, or all's
        given = np.repeat(given_by_group(table, self.given[0], NAMES[0]), sizes)
        return np.where(self.engine.slips() | ~np.isnan(given), np.inf, found * np.where(lengths, *unit))

    def _complaint(
        self, table: LinkTable, strength: tuple[np.ndarray, np.ndarray], found: FastestMode, step: float
    ) -> tuple[str, str]:
        """The link or load that makes a motion of one run unstable, and what to do about it."""
        shapes: np.ndarray = found.shape.reshape(-1, 6)
        links = shares(table, *strength, found.size, shapes, step)
        worst = max(links, key=links.__getitem__, default="")
        energy = np.einsum("bi,bij,bj->b", shapes, np.linalg.inv(table.weights[0]), shapes)
        loads = self.engine.loads_on(int(np.argmax(energy)))
        by_link = sum(links.values()) > 0.5 or not loads
        what = "its stiffness and damping" if by_link else f"the forces of {', '.join(loads)}"
        cause = f"{what} make a step of {step:.3g} s unstable"
        limit = f"(h^2 k + 4 h c is {found.size:.3g}, the limit is {LIMIT:g})."
        if by_link and np.isnan(given_by_group(table, self.given[0], "stiffness")[_groups(table, worst)]).any():
            softer = self._softer(table, strength[0], worst, found)
            return worst, f"{cause}; a shorter step makes links stiffer still: give stiffness={softer} {limit}"
        advice = f"steps up to {found.step():.2g} s would be stable"
        return worst if by_link else loads[0], f"{cause}; {advice} {limit}"

    def _softer(self, table: LinkTable, stiffness: np.ndarray, path: str, found: FastestMode) -> dict[str, Any]:
        """Stiffness for the groups of a link that would be stable, with room for more of the same."""
        share = 0.3 * LIMIT / found.size
        values = [float(f"{share * stiffness[table.starts[k]]:.2g}") for k in _groups(table, path)]
        return {path: values[0] if len(values) == 1 else tuple(values)}


def _groups(table: LinkTable, path: str) -> list[int]:
    return [k for k, (name, _) in enumerate(table.groups) if name == path]


def _unknown(table: LinkTable, norms: np.ndarray) -> np.ndarray:
    """Norms of groups that vanish at the start: as if their rows were unit rows on the lightest motion of a body."""
    result = np.zeros_like(norms)
    for body, touching in table.touching().items():
        for group in (one.group for one in touching):
            none = norms[:, group, group] == 0
            if none.any():
                result[none, group, group] += np.linalg.eigvalsh(table.weights[none, body])[:, -1]
    return result


def _sizes(weights: np.ndarray) -> np.ndarray:
    """Radii of gyration [m] (runs, bodies), by inverse masses and inertias (runs, bodies, 6, 6), or 0."""
    along, about = (np.trace(weights[..., k : k + 3, k : k + 3], axis1=-2, axis2=-1) for k in (0, 3))
    return np.sqrt(np.where(about > 0.0, along / np.where(about > 0.0, about, 1.0), 0.0))
