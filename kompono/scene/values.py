"""Numbers of the expressions in declarations: parameters take their values, time is the start."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import casadi as ca
import numpy as np

from kompono.model.body import Frame, Ground
from kompono.model.signal import Parameter, time
from kompono.model.subsystem import Subsystem, relative_path


class SymbolValues:
    """What the symbols of a model stand for while it is drawn."""

    def __init__(self, model: Subsystem, parameters: Mapping[str, float] | None = None) -> None:
        found = [element for element in model.walk() if isinstance(element, Parameter)]
        chosen = parameters or {}
        self._symbols = ca.vertcat(*found) if found else ca.SX(0, 1)
        self._numbers = [float(chosen.get(relative_path(p, model), p.value)) for p in found]

    def settle(self, expression: Any) -> ca.SX:
        """An expression with all parameters replaced by their values."""
        given = ca.SX(expression)
        return ca.substitute(given, self._symbols, ca.DM(self._numbers)) if self._numbers else given

    def array(self, expression: Any) -> np.ndarray | None:
        """The numbers of an expression at the start, None if it depends on more than parameters and time."""
        if not isinstance(expression, ca.SX):
            return np.asarray(expression, dtype=float)
        settled = ca.substitute(self.settle(expression), time, ca.DM(0.0))
        return None if ca.symvar(settled) else np.asarray(ca.evalf(settled), dtype=float)

    def nonzero(self, expression: Any) -> bool:
        """Whether an expression is anything but a plain zero."""
        known = self.array(expression)
        return known is None or bool(np.any(known != 0))

    def place(self, frame: Frame) -> tuple[np.ndarray, np.ndarray]:
        """Position (3,) [m] and rotation (3, 3) of a frame on its body."""
        position = self.array(frame.pose.position)
        turn = self.array(frame.pose.rotation)
        return (np.zeros(3) if position is None else position.ravel()), (np.eye(3) if turn is None else turn)

    def motion(self, ground: Ground, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Positions (n, 3) [m] and rotations (n, 3, 3) of a ground at `times` [s], one row if it does not move."""
        pose = ca.vertcat(ca.densify(ground.motion.position), ca.vec(ca.densify(ground.motion.rotation)))
        settled = self.settle(pose)
        others = [symbol for symbol in ca.symvar(settled) if not ca.is_equal(symbol, time)]
        if others:  # moved by something only a run knows; drawn where it would be without it
            settled = ca.substitute(settled, ca.vertcat(*others), ca.DM.zeros(len(others)))
        instants = times if ca.symvar(settled) else np.zeros(1)
        rows = np.asarray(ca.Function("pose", [time], [settled])(instants.reshape(1, -1))).T
        return rows[:, :3], rows[:, 3:].reshape(-1, 3, 3).transpose(0, 2, 1)
