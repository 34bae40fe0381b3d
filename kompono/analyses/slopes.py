"""How results of a model change with its state, inputs and parameters.

Exact, by CasADi, where the model is open; with laws, rates are differentiated by the state at fixed modes, in native
code. What else there is of models with laws, and what is closed, sealed or elsewhere, is only known by its values:
there slopes are central differences of sixth order along states that are brought back on the conditions, good to about
ten digits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np

from kompono.analyses.point import Point
from kompono.translate.program import TableRoutine
from kompono.translate.slopes import symbolic

STENCIL = ((1, 45.0 / 60.0), (2, -9.0 / 60.0), (3, 1.0 / 60.0))  # of a first derivative, sixth order
STRIDE = 2e-3  # of one of its steps, relative to the size of what is changed


def is_open(point: Point, routine: str) -> bool:
    """Whether a routine can be differentiated as it is."""
    program = point.simulation.program
    if program.laws or program.away or program.opaque or program.groups or "jacobian" not in program.routines:
        return False
    return not isinstance(program.routines[routine], TableRoutine)


class Slopes:
    """Derivatives of output `number` of a routine at a point."""

    def __init__(self, point: Point, routine: str, number: int = 0) -> None:
        self.point, self.routine, self.number = point, routine, number
        self.exact = is_open(point, routine)

    def along(self, directions: np.ndarray) -> np.ndarray:
        """d output / d state (outputs, k) along directions (state, k)."""
        if self.exact:
            return self._matrix("state") @ directions
        if self._at_fixed_modes:
            count = len(self.point.state)
            return self.point.evaluate("jacobian")[0].reshape(count, count).T @ directions
        return differences(self.point, directions, self._value)

    def of_inputs(self) -> np.ndarray:
        """d output / d inputs (outputs, inputs)."""
        if self.exact:
            return self._matrix("inputs")
        return _columns(
            np.eye(len(self.point.inputs)), lambda d: self.point.with_inputs(self.point.inputs + d), self._value
        )

    def of_parameters(self) -> np.ndarray:
        """d output / d parameters (outputs, parameters)."""
        values = self.point.parameters
        if self.exact:
            return self._matrix("parameters")
        return _columns(np.eye(len(values)), lambda d: self.point.with_parameters(values + d), self._value)

    @property
    def _at_fixed_modes(self) -> bool:
        program = self.point.simulation.program
        others = program.away or program.opaque or program.groups or program.hidden
        return self.routine == "derivative" and bool(program.laws) and not others and "jacobian" in program.routines

    def _value(self, point: Point) -> np.ndarray:
        return np.asarray(point.evaluate(self.routine)[self.number])

    def _matrix(self, kind: str) -> np.ndarray:
        """d output / d (state, inputs or parameters), exact; its function is made once for a model."""
        point, key = self.point, ("slope", self.routine, self.number, kind)
        if key not in point.memo:
            point.memo[key] = _slope(point.simulation.program, *key[1:])
        given = np.concatenate([[point.time], point.state, point.inputs, point.parameters])
        return np.asarray(point.memo[key](given).full())


def differences(point: Point, directions: np.ndarray, value: Callable[[Point], np.ndarray]) -> np.ndarray:
    """d value (m, k) along directions (state, k), on states with loops closed."""
    return _columns(directions, lambda change: point.with_state(point.state + change).closed(), value)


def _columns(
    directions: np.ndarray, moved: Callable[[np.ndarray], Point], value: Callable[[Point], np.ndarray]
) -> np.ndarray:
    columns = []
    for direction in directions.T:
        size = np.abs(direction).max()
        step = STRIDE / size if size else 1.0
        total: Any = 0.0
        for times, weight in STENCIL:
            ahead, behind = (value(moved(sign * times * step * direction)) for sign in (1.0, -1.0))
            total = total + weight * (ahead - behind)
        columns.append(total / step)
    rows = len(columns[0]) if columns else len(value(moved(np.zeros(len(directions)))))
    return np.array(columns).reshape(len(columns), rows).T


def _slope(program: Any, routine: str, number: int, kind: str) -> ca.Function:
    product = program.routines[routine]
    sizes = [size for _, size in product.inputs]
    place = ("time", "state", "inputs", "parameters").index(kind)
    x = ca.SX.sym("x", sum(sizes))
    value = symbolic(program.kernels, product, x)[number]
    return ca.Function("slope", [x], [ca.jacobian(value, x[sum(sizes[:place]) : sum(sizes[: place + 1])])])
