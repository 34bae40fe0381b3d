"""Condense and resolve in mobility form: every part answers at its ports v_dot = D tau + r (DESIGN section 3).

The unknowns are the constraint wrenches tau of the bodies. A component hangs the wrench of each body it touches on the
multipliers of its own conditions, tau = -G^T lambda, and, where the body is a port in use, on the wrench tau' from
outside. Then it eliminates its own multipliers. What is left couples the wrenches at its ports by -D and -r: its
answer. Flat, all conditions belong to one level; by component, nothing global is ever assembled. With weights 1 in
place of 1/M the same passes give minimal-norm projections.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca

from kompono.model.body import Body
from kompono.model.subsystem import Subsystem
from kompono.translate.closure import Closure
from kompono.translate.elaborate import Elaborated
from kompono.translate.elimination import Elimination, Key, RightSide
from kompono.translate.tracer import Tracer


@dataclass(frozen=True)
class Level:
    """The closing elements of one component, and the bodies its owners still use afterwards."""

    elements: tuple[Any, ...]
    ports: frozenset[int]


def levels_by_component(model: Elaborated, closures: dict[int, Closure]) -> list[Level]:
    """One level per component that has conditions, parts before owners."""
    owned: dict[int, list[Any]] = {id(subsystem): [] for subsystem in model.subsystems}
    for closure in closures.values():
        owner = closure.element.owner
        owned[id(owner)].append(closure.element)
    order: list[Subsystem] = []

    def visit(component: Subsystem) -> None:
        for member in component.members.values():
            if isinstance(member, Subsystem):
                visit(member)
        order.append(component)

    visit(model.model)
    levels = []
    for index, component in enumerate(order):
        later = {key for c in order[index + 1 :] for e in owned[id(c)] for key in closures[id(e)].columns}
        if owned[id(component)]:
            levels.append(Level(tuple(owned[id(component)]), frozenset(later)))
    return levels


def flat_level(closures: dict[int, Closure]) -> list[Level]:
    """All conditions in one level."""
    return [Level(tuple(closure.element for closure in closures.values()), frozenset())]


class Mobility:
    """The conditions of a model, factored for given weights D of its bodies (6x6, by id of body)."""

    def __init__(
        self,
        tracer: Tracer,
        model: Elaborated,
        closures: dict[int, Closure],
        weights: dict[int, Any],
        levels: list[Level],
    ) -> None:
        self.tracer, self.model, self.closures, self.weights = tracer, model, closures, weights
        self.elimination = Elimination(tracer)
        self._wrench: dict[int, Key] = {}
        for body in model.bodies:
            key = ("wrench", id(body))
            self.elimination.add(key, weights[id(body)].shape[0], -ca.SX(weights[id(body)]))
            self._wrench[id(body)] = key
        for depth, level in enumerate(levels):
            self._condense(level, depth)

    def _condense(self, level: Level, depth: int) -> None:
        closures = [self.closures[id(element)] for element in level.elements if self.closures[id(element)].size]
        touched = {key for closure in closures for key in closure.columns}
        for closure in closures:
            waiting = {self._wrench[key] for key in closure.columns}
            self.elimination.expect_rows(("rows", id(closure.element)), closure.groups, self._first(closure), waiting)
        for body in self.model.bodies:
            if id(body) in touched:
                self._hang(body, closures, level, depth)
        self._eliminate({("rows", id(closure.element)) for closure in closures})

    def _first(self, closure: Closure) -> Any:
        """Diagonal of G D G^T with all bodies free: the scale a pivot is compared with."""
        blocks = list(closure.columns.items())
        scales = [ca.SX(ca.diag(ca.SX(self.weights[key]))) for key, _ in blocks]

        def trace(*columns: Any) -> Any:
            return sum((ca.SX(g * g) @ d for g, d in zip(columns, scales, strict=True)), ca.SX(closure.size, 1))

        return self.tracer.call(trace, *[g for _, g in blocks], path=self.model.path(closure.element))

    def _hang(self, body: Body, closures: list[Closure], level: Level, depth: int) -> None:
        path = self.model.path(body)
        maps: dict[Key, Any] = {}
        for closure in closures:
            if id(body) in closure.columns:
                maps["rows", id(closure.element)] = self.tracer.call(
                    lambda g: -g.T, closure.columns[id(body)], path=path
                )
        key = self._wrench[id(body)]
        if id(body) in level.ports:
            outer = (f"wrench{depth}", id(body))
            size = self.elimination.sizes[key]
            self.elimination.add(outer, size)
            maps[outer] = ca.SX(ca.DM.eye(size))
            self._wrench[id(body)] = outer
        self.elimination.hang(key, maps, path)

    def _eliminate(self, rows: set[Key]) -> None:
        """Multipliers of this level, those with the fewest neighbours first."""
        names = {("rows", key): self.model.path(closure.element) for key, closure in self.closures.items()}
        while rows:
            key = min(rows, key=lambda row: (self.elimination.degree(row), self.elimination.order[row]))
            rows.remove(key)
            self.elimination.pivot(key, names[key])

    def solve(self, free: dict[int, Any], right: dict[int, Any]) -> tuple[dict[int, Any], dict[int, Any]]:
        """(changes by body, multipliers by element) with G change + right = 0, change = D tau + free."""
        bias: dict[Key, Any] = {("wrench", key): self.tracer.call(lambda r: -r, value) for key, value in free.items()}
        bias.update({("rows", key): value for key, value in right.items()})
        solution = self.elimination.solve(RightSide(bias))
        changes = {}
        for body in self.model.bodies:
            key = id(body)
            tau = solution.get(("wrench", key), ca.SX(self.weights[key].shape[0], 1))
            weight, start = self.weights[key], free.get(key, ca.SX(*tau.shape))
            changes[key] = self.tracer.call(lambda d, t, r: d @ t + r, weight, tau, start, path=self.model.path(body))
        return changes, {key: solution["rows", key] for key, closure in self.closures.items() if closure.size}
