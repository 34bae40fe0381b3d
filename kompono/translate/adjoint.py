"""The program that goes back along a run: transposed derivatives of all that happens to a state.

A cost c(y, p) at the end of a run has the gradient l = dc/dy there. Whatever took y to Y(y, p) takes l to Y_y^T l on
the way back, and leaves Y_p^T l for the parameters. Behind the state y come l and the sum m of what parameters have got
so far, as states of its own. Routines `pull_derivative` and `pull_project` give the transposed products at a state;
`pull_switch_<k>` goes back through an event, whose time moves with the parameters: the transposed of what `variation`
does there,

    l- = R_y^T l + h_y^T c,    m- = m + R_p^T l + h_p^T c,    c = - l . (R_y f- + R_t - f+) / (h_t + h_y f-)

without f+ where the run ends there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import casadi as ca

from kompono.translate.held import along, pulled
from kompono.translate.program import PULL, Program, Routine
from kompono.translate.routines import Routines
from kompono.translate.slopes import routine_of, symbolic
from kompono.translate.symbolic import Vector
from kompono.translate.variation import reset_of

GRADIENT = "<gradient>."  # how names of l begin, which nobody else has


@dataclass(frozen=True)
class ModelAdjoint:
    """A program, and the numbers of the parameters its gradients are asked for."""

    near: Program
    places: tuple[int, ...]

    def program(self) -> Program:
        """The same model with l and m behind its state."""
        size = self.near.state_size
        names = (*(f"{GRADIENT}{k}" for k in range(size)), *(f"<share>.{k}" for k in range(len(self.places))))
        makers: dict[str, Callable[[], Routine]] = {}
        for name in self.near.routines:
            if name in ("derivative", "project", "gap"):
                makers[name] = lambda name=name: self._same(name)
            if name in ("derivative", "project"):
                makers[PULL + name] = lambda name=name: self._pulled(name)
            if name.startswith("switch_"):
                makers[PULL + name] = lambda name=name: self._switched(name)
        return replace(
            self.near, states=(*self.near.states, *names), routines=Routines(makers), events=(), stops=(), channels=(),
            laws=(),
        )  # fmt: skip

    def add_cost(self, program: Program, selected: str, weights: Sequence[float]) -> str:
        """Offer a routine of a weighted sum of channels, from a routine of the model: c, then dc/dy and dc/dp at the
        places of l and m; its name."""
        name = f"cost_{selected}"

        def make() -> Routine:
            x, own, _ = self._symbols()
            found = symbolic(self.near.kernels, self.near.routines[selected], own)[0]
            cost = ca.dot(found, ca.SX(ca.DM(list(weights))))
            back = self._transposed(cost, own, ca.SX(1), shares=True)
            return self._routine(name, x, {"cost": ca.vertcat(cost, back)})

        program.routines.add(name, make)  # type: ignore[attr-defined]
        return name

    # -- expressions

    def _symbols(self) -> tuple[Vector, Vector, Vector]:
        """The column of inputs of a routine, that of the model's own, and l."""
        _, size, inputs, parameters = (count for _, count in self.near.routines["derivative"].inputs)
        x = ca.SX.sym("x", 1 + 2 * size + len(self.places) + inputs + parameters)
        return x, ca.vertcat(x[: 1 + size], x[1 + 2 * size + len(self.places) :]), x[1 + size : 1 + 2 * size]

    def _transposed(self, value: Vector, own: Vector, seed: Vector, shares: bool = False) -> Vector:
        """The transposed derivative of a value by state and parameters, times a seed; `shares` as of `along`."""
        size, inputs = self.near.state_size, len(self.near.inputs)
        known = ca.vertcat(own[1 : 1 + size], *(own[1 + size + inputs + place] for place in self.places))
        return ca.densify(pulled(value, known, seed, shares))

    def _routine(self, name: str, x: Vector, outputs: dict[str, Vector]) -> Routine:
        sizes = self.near.routines["derivative"].inputs
        whole = (sizes[0], ("state", 2 * sizes[1][1] + len(self.places)), *sizes[2:])
        return routine_of(name, whole, x, outputs, self.near.kernels)  # type: ignore[arg-type]

    def _same(self, routine: str) -> Routine:
        """A routine of the model; l and m have no rate, and are not projected."""
        x, own, _ = self._symbols()
        product = self.near.routines[routine]
        first, *others = symbolic(self.near.kernels, product, own)
        size, behind = self.near.state_size, self.near.state_size + len(self.places)
        if routine == "derivative":
            first = ca.vertcat(first, ca.SX.zeros(behind, 1))
        elif routine == "project":
            first = ca.vertcat(first, x[1 + size : 1 + size + behind])
        labels = [label for label, _ in product.outputs]
        return self._routine(routine, x, dict(zip(labels, [first, *others], strict=True)))

    def _pulled(self, routine: str) -> Routine:
        """The transposed derivative of the first output of a routine, times l, at the places of l and m."""
        x, own, seed = self._symbols()
        first = symbolic(self.near.kernels, self.near.routines[routine], own)[0]
        return self._routine(PULL + routine, x, {"pulled": self._placed(self._transposed(first, own, seed))})

    def _placed(self, pulled: Vector) -> Vector:
        return ca.vertcat(ca.SX.zeros(self.near.state_size, 1), pulled)

    def _switched(self, routine: str) -> Routine:
        """Back through an event."""
        x, own, seed = self._symbols()
        size, routines, kernels = self.near.state_size, self.near.routines, self.near.kernels
        reset = reset_of(self.near, routine, own)
        before = symbolic(kernels, routines["derivative"], own)[0]
        after = symbolic(kernels, routines["derivative"], ca.vertcat(own[0], reset, own[1 + size :]))[0]
        number = int(routine.removeprefix("switch_"))
        after = ca.SX.zeros(size, 1) if number in self.near.stops else after
        guard = symbolic(kernels, routines["guards"], own)[0][number]
        flow = ca.vertcat(1, before)
        speed, passing = (along(value, own[: 1 + size], flow)[1] for value in (guard, reset))
        share = -ca.dot(seed, passing - after) / speed
        whole = self._transposed(reset, own, seed) + self._transposed(guard, own, share)
        return self._routine(PULL + routine, x, {"pulled": self._placed(whole)})
