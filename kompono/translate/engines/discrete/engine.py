"""The discrete engine: tiny explicit steps, nothing to solve (discrete-time paper, DESIGN section 5).

State: position x and rotation matrix R of every body (and angles whose turns are counted), then velocity of the centre
of mass and angular velocity, both in body axes. Joints are visco-elastic links (see `links`). A step is made of two
routines, called by the native loop:

kick    accelerations from the resultants of all forces at the centre of mass (eqs 2 to 4, 7), without gyroscopic terms
drift   free motion by the speeds times the step (eqs 1, 6, 9 to 11), which keeps momentum and angular momentum

Both are tables of small kernels that run over bodies and joints of one kind in lanes (see `cutting`, `pieces` and
`packs`). Stiffness and damping of the links and all numbers of the instances are *hidden* parameters behind those of
the model: another mass, point or spring is another value of such a parameter, for the same routines.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import casadi as ca
import numpy as np

from kompono.translate.declared.elaborate import Elaborated
from kompono.translate.engines.discrete.data import find_data
from kompono.translate.engines.discrete.linked import LinkedEngine
from kompono.translate.numbered import Numbered
from kompono.translate.program import Routine
from kompono.translate.structure.topology import Topology


class DiscreteEngine(LinkedEngine):
    """A step is made of two tables of small kernels."""

    def __init__(self, model: Elaborated, topology: Topology, kernels: dict[str, ca.Function], *, shared: bool) -> None:
        super().__init__(model, topology, kernels, shared=shared)

    @property
    def steps(self) -> Numbered:
        """The routines of a step, as they were kept or cut anew."""
        return self._cut if self.shelved is None else self._known

    @cached_property
    def _known(self) -> Numbered:
        assert self.shelved is not None
        return self.shelved.numbered("steps", lambda: self._cut)

    @cached_property
    def _cut(self) -> Numbered:
        from kompono.translate.engines.discrete.cutting import Cut

        return Cut(self).made()

    def _find_numbers(self) -> None:
        super()._find_numbers()
        find_data(self.model, self.topology)

    # -- hidden parameters

    @cached_property
    def _hidden(self) -> ca.SX:
        """All numbers of the pieces."""
        symbols, places = self.strength_symbols, set(self._back.tolist())
        found = [symbols[k] if place in places else ca.SX.sym("d") for place, k in enumerate(self.steps.gives)]
        return ca.vertcat(ca.SX(0, 1), *found)

    @cached_property
    def strength_symbols(self) -> list[ca.SX]:
        """Stiffness of all rows, damping of all rows, and numbers of levers."""
        kinds = [ca.vertcat(ca.SX(0, 1), *self._symbols(kind)) for kind in ("stiffness", "damping", "levers")]
        return [symbol for column in kinds for symbol in (ca.vertsplit(column) if column.numel() else [])]

    @cached_property
    def _back(self) -> np.ndarray:
        """Where each of these is found among the hidden parameters; -1 if nowhere."""
        place = {k: place for place, k in reversed(list(enumerate(self.steps.gives)))}
        return np.array([place.get(k, -1) for k in range(len(self.strength_symbols))], dtype=int)

    def hidden_values(
        self, stiffness: np.ndarray, damping: np.ndarray, levers: np.ndarray | None = None
    ) -> np.ndarray:  # fmt: skip
        given = super().hidden_values(stiffness, damping, levers)
        given = np.concatenate([given, np.zeros((*stiffness.shape[:-1], 1))], axis=-1)
        places = np.array(self.steps.gives, dtype=int)
        return np.where(places >= 0, given[..., places], self.steps.values)

    def strengths(self, hidden: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return super().strengths(np.concatenate([hidden, np.zeros((*hidden.shape[:-1], 1))], axis=-1)[..., self._back])

    def routines(self) -> dict[str, Callable[[], Routine]]:
        """With the parts of a step."""
        steps = {name: lambda name=name: self.steps.routines[name] for name in ("kick", "drift")}
        return {**super().routines(), **steps}
