"""Condense and resolve in mobility form: every part answers at its ports v_dot = D tau + r (DESIGN section 3).

The unknowns are the constraint wrenches tau of the bodies. Each joint hangs the wrenches of its two bodies on its own
multipliers, tau = -G^T lambda, and, where the body is still in use, on the wrench tau' that later joints will exert;
then its multipliers are eliminated. What is left couples the wrenches of bodies still in use by -D and -r: the answer
of the part built so far. By component, the joints of the parts come before those of their owner, so that each
component is condensed to its ports before anybody outside looks at it and nothing global is ever assembled; flat, the
cheapest joint comes first. With weights 1 in place of 1/M the same passes give minimal-norm projections.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import casadi as ca

from kompono.model.body import Body
from kompono.model.subsystem import Subsystem
from kompono.translate.closure import Closure
from kompono.translate.elaborate import Elaborated
from kompono.translate.elimination import Elimination, Key, Reference, RightSide
from kompono.translate.sweeps import TOLERANCE
from kompono.translate.tracer import Tracer


@dataclass(frozen=True)
class Level:
    """One closing element in the order of elimination, and the bodies that elements after it still use."""

    element: Any
    ports: frozenset[int]


def levels_by_component(model: Elaborated, closures: dict[int, Closure]) -> list[Level]:
    """Elements component by component, parts before owners, inside each in order of least cost."""
    owned: dict[int, list[Closure]] = {id(subsystem): [] for subsystem in model.subsystems}
    for closure in closures.values():
        owned[id(closure.element.owner)].append(closure)
    groups: list[list[Closure]] = []

    def visit(component: Subsystem) -> None:
        for member in component.members.values():
            if isinstance(member, Subsystem):
                visit(member)
        groups.append(owned[id(component)])

    visit(model.model)
    return _order(groups)


def flat_levels(closures: dict[int, Closure]) -> list[Level]:
    """All elements in order of least cost, whatever component they belong to."""
    return _order([list(closures.values())])


def _order(groups: list[list[Closure]]) -> list[Level]:
    """Greedy: always the element that leaves the fewest bodies coupled; groups one after the other."""
    uses = Counter(key for group in groups for closure in group if closure.size for key in closure.columns)
    cluster: dict[int, frozenset[int]] = {key: frozenset([key]) for key in uses}
    levels = []
    for group in groups:
        remaining = [closure for closure in group if closure.size]
        while remaining:

            def merged(closure: Closure) -> frozenset[int]:
                return frozenset().union(*(cluster[key] for key in closure.columns))

            chosen = min(remaining, key=lambda c: (len(merged(c)), -c.size))
            remaining.remove(chosen)
            together = merged(chosen)
            uses.subtract(chosen.columns.keys())
            live = frozenset(key for key in together if uses[key] > 0)
            for key in together:
                cluster[key] = live
            levels.append(Level(chosen.element, frozenset(key for key in uses if uses[key] > 0)))
    return levels


class Mobility:
    """The conditions of a model, factored for given weights D of its bodies (6x6, by id of body); `references` are what
    pivots of the rows of each element are compared with.
    """

    def __init__(
        self,
        tracer: Tracer,
        model: Elaborated,
        closures: dict[int, Closure],
        weights: dict[int, Any],
        references: dict[int, Reference],
        levels: list[Level],
        tolerance: float = TOLERANCE,
    ) -> None:
        self.tracer, self.model, self.closures, self.weights = tracer, model, closures, weights
        self.references = references
        self.elimination = Elimination(tracer, tolerance)
        self._wrench: dict[int, Key] = {}
        for body in model.bodies:
            key = ("wrench", id(body))
            weight = weights[id(body)]
            block = tracer.call(lambda d: -d, weight, path=model.path(body))
            self.elimination.add(key, weight.shape[0], block)
            self._wrench[id(body)] = key
        for depth, level in enumerate(levels):
            self._condense(closures[id(level.element)], level, depth)

    def _condense(self, closure: Closure, level: Level, depth: int) -> None:
        rows = ("rows", id(closure.element))
        waiting = {self._wrench[key] for key in closure.columns}
        self.elimination.expect_rows(rows, self.references[id(closure.element)], waiting)
        for body in self.model.bodies:
            if id(body) in closure.columns:
                self._hang(body, closure, level, depth)
        self.elimination.pivot(rows, self.model.path(closure.element))

    def _hang(self, body: Body, closure: Closure, level: Level, depth: int) -> None:
        path = self.model.path(closure.element)
        turned = self.tracer.call(lambda g: -g.T, closure.columns[id(body)], path=path)
        maps: dict[Key, Any] = {("rows", id(closure.element)): turned}
        key = self._wrench[id(body)]
        if id(body) in level.ports:
            outer = (f"wrench{depth}", id(body))
            size = self.elimination.sizes[key]
            self.elimination.add(outer, size)
            maps[outer] = ca.SX(ca.DM.eye(size))
            self._wrench[id(body)] = outer
        self.elimination.hang(key, maps, path)

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

    def refined(self, free: dict[int, Any], right: dict[int, Any]) -> tuple[dict[int, Any], dict[int, Any]]:
        """`solve`, then once more for what the first answer left of the conditions: long chains of wrenches cancel."""
        call, path = self.tracer.call, self.model.path
        changes, multipliers = self.solve(free, right)
        left = {}
        for key, closure in self.closures.items():
            rest = right[key]
            for body, block in closure.columns.items():
                rest = call(lambda r, g, a: r + g @ a, rest, block, changes[body], path=path(closure.element))
            left[key] = rest
        more, extra = self.solve({}, left)
        for one, other in ((changes, more), (multipliers, extra)):
            one.update({key: call(lambda a, b: a + b, value, other[key]) for key, value in one.items()})
        return changes, multipliers
