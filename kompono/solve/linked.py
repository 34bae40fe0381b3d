"""The links of one run of the discrete engine: their strength chosen at the start, their stability judged there and
where a run failed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kompono.compile import Interpreter
from kompono.errors import RunError
from kompono.solve.preload import preloaded
from kompono.solve.stability import FastestMode, fastest, shares
from kompono.solve.stiffness import LIMIT, Given, LinkTable, choose, given_by_group

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

    def complete(
        self, state: np.ndarray, inputs: np.ndarray, parameters: np.ndarray, step: float, time: float = 0.0
    ) -> np.ndarray:
        """The model's parameters with the hidden ones behind them; raises if the step is unstable from the start."""
        table = self._table(time, state, inputs, parameters, everywhere=True)
        norms = table.norms()
        program = self.kernel.program
        first, modes = len(program.coordinates) + len(program.speeds), len(program.modes)
        if modes:  # rows that are switched off now count as if they were on
            on = state.copy()
            on[first : first + modes] = 1.0
            norms = np.maximum(norms, self._table(time, on, inputs, parameters, everywhere=True).norms())
        norms = norms + _unknown(table, norms)
        strength = choose(table, norms, step, *self.given)
        whole = np.concatenate([parameters, self.engine.hidden_values(*strength)])
        found = fastest(self.kernel, time, state, inputs, whole, step)
        if not found.stable:
            path, message = self._complaint(table, strength, found, step)
            raise RunError(message, path=path, fix="Leave stiffness= and damping= out, or take a smaller step.")
        return whole

    def loaded(self, state: np.ndarray, inputs: np.ndarray, parameters: np.ndarray, time: float = 0.0) -> np.ndarray:
        """A start state with the deflections that carry the loads there; `parameters` are complete."""
        slips = self.engine.slips()
        if not len(slips):
            return state
        model = parameters[: len(parameters) - self.engine.hidden.numel()]
        strength = self.engine.strengths(parameters[len(model) :])
        free = np.concatenate([model, self.engine.hidden_values(np.zeros(len(slips)), np.zeros(len(slips)))])
        table = self._table(time, state, inputs, model)
        return preloaded(self.kernel, (time, state, inputs), (free, parameters), table, strength, slips)

    def explain(self, rows: np.ndarray, parameters: np.ndarray, step: float) -> str:
        """Why a run ended: the first of its last records (time, state..., inputs...) where the step was unstable."""
        model, end = len(parameters) - self.engine.hidden.numel(), 1 + self.kernel.program.state_size
        for row in rows[np.unique(np.linspace(0, len(rows) - 1, LOOKS).astype(int))]:
            state, inputs = row[1:end], row[end:]
            found = fastest(self.kernel, row[0], state, inputs, parameters, step)
            if np.isfinite(found.size) and not found.stable:
                table = self._table(row[0], state, inputs, parameters[:model])
                strength = self.engine.strengths(parameters[model:])
                path, message = self._complaint(table, strength, found, step)
                return f"{path}: from t = {row[0]:.6g} s on {message}"
        return ""

    def _table(
        self, time: float, state: np.ndarray, inputs: np.ndarray, parameters: np.ndarray, everywhere: bool = False
    ) -> LinkTable:
        """Conditions on bodies at a state, or wherever their elements may get from there."""
        count = self.engine.hidden.numel()
        whole = np.concatenate([parameters, np.zeros(count)])
        numbers, weights = self._plain.evaluate("blocks", time, state, inputs, whole)
        blocks, place = [], 0
        for first, rows, body in self.engine.touched():
            blocks.append((first, body, numbers[place : place + 6 * rows].reshape(6, rows).T))
            place += 6 * rows
        reach = tuple(self.engine.reachable(time, state, parameters)) if everywhere else ()
        return LinkTable(self.engine.link_groups(), tuple(blocks), weights.reshape(-1, 6, 6), reach)

    def _complaint(
        self, table: LinkTable, strength: tuple[np.ndarray, np.ndarray], found: FastestMode, step: float
    ) -> tuple[str, str]:
        """The link or load that makes a motion unstable, and what to do about it."""
        shapes: np.ndarray = found.shape.reshape(-1, 6)
        links = shares(table, *strength, found.size, shapes, step)
        worst = max(links, key=links.__getitem__, default="")
        energy = np.einsum("bi,bij,bj->b", shapes, np.linalg.inv(table.weights), shapes)
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
    result, starts = np.zeros_like(norms), table.starts
    for first, body, block in table.blocks:
        for group in range(np.searchsorted(starts, first), np.searchsorted(starts, first + len(block))):
            if norms[group, group] == 0:
                result[group, group] += np.linalg.eigvalsh(table.weights[body])[-1]
    return result
