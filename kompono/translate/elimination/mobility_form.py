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
from functools import cached_property

import casadi as ca

from kompono.model.body import Body
from kompono.model.element import Element
from kompono.model.subsystem import Subsystem
from kompono.translate.declared.elaborate import Elaborated
from kompono.translate.elimination.blocks import Elimination, PivotReference, RightSide
from kompono.translate.elimination.pivots import TOLERANCE
from kompono.translate.elimination.unknowns import Unknown
from kompono.translate.motion.conditions import Closure
from kompono.translate.symbolic import Matrix, Vector
from kompono.translate.tracer import Tracer

_Changes = dict[Body, Vector]
_Multipliers = dict[Element, Vector]


@dataclass(frozen=True)
class MobilityLevel:
    """One closing element in the order of elimination, and the bodies that elements after it still use."""

    element: Element
    ports: frozenset[Body]


def levels_by_component(model: Elaborated, closures: dict[Element, Closure[Body]]) -> list[MobilityLevel]:
    """Elements component by component, parts before owners, inside each in order of least cost."""
    owned: dict[Subsystem, list[Closure[Body]]] = {subsystem: [] for subsystem in model.subsystems}
    for closure in closures.values():
        assert closure.element.owner is not None
        owned[closure.element.owner].append(closure)
    groups: list[list[Closure[Body]]] = []

    def visit(component: Subsystem) -> None:
        for member in component.members.values():
            if isinstance(member, Subsystem):
                visit(member)
        groups.append(owned[component])

    visit(model.model)
    return _order(groups)


def flat_levels(closures: dict[Element, Closure[Body]]) -> list[MobilityLevel]:
    """All elements in order of least cost, whatever component they belong to."""
    return _order([list(closures.values())])


def _order(groups: list[list[Closure[Body]]]) -> list[MobilityLevel]:
    """Greedy: always the element that leaves the fewest bodies coupled; groups one after the other."""
    uses = Counter(key for group in groups for closure in group if closure.size for key in closure.columns)
    cluster: dict[Body, frozenset[Body]] = {key: frozenset([key]) for key in uses}
    levels = []
    for group in groups:
        remaining = [closure for closure in group if closure.size]
        while remaining:

            def merged(closure: Closure[Body]) -> frozenset[Body]:
                return frozenset[Body]().union(*(cluster[key] for key in closure.columns))

            chosen = min(remaining, key=lambda c: (len(merged(c)), -c.size))
            remaining.remove(chosen)
            together = merged(chosen)
            uses.subtract(chosen.columns.keys())
            live = frozenset(key for key in together if uses[key] > 0)
            for key in together:
                cluster[key] = live
            levels.append(MobilityLevel(chosen.element, frozenset(key for key in uses if uses[key] > 0)))
    return levels


class Mobility:
    """The conditions of a model, factored for given weights D of its bodies (6x6, by body); `references` are what
    pivots of the rows of each element are compared with.
    """

    def __init__(
        self,
        tracer: Tracer,
        model: Elaborated,
        closures: dict[Element, Closure[Body]],
        weights: dict[Body, Matrix],
        references: dict[Element, PivotReference],
        levels: list[MobilityLevel],
        tolerance: float = TOLERANCE,
    ) -> None:
        self.tracer, self.model, self.closures, self.weights = tracer, model, closures, weights
        self.references = references
        self.elimination = Elimination(tracer, tolerance)
        self._wrench: dict[Body, Unknown] = {}
        for body in model.bodies:
            key = Unknown.wrench(body)
            weight = weights[body]
            block = tracer.call(lambda d: -d, weight, path=model.path(body))
            self.elimination.add(key, weight.shape[0], block)
            self._wrench[body] = key
        for depth, level in enumerate(levels):
            self._condense(closures[level.element], level, depth)

    @cached_property
    def _one_by_one(self) -> bool:
        """Whether every body is held by one element, and that by conditions which are far from depending on each other:
        there are no chains, and the first answer is as good as its numbers.
        """
        held = [element for element, closure in self.closures.items() if closure.size]
        bodies = [body for element in held for body in self.closures[element].columns]
        alone = len(bodies) == len(held) == len(set(bodies))
        return alone and all(self.references[element].apart for element in held)

    def _condense(self, closure: Closure[Body], level: MobilityLevel, depth: int) -> None:
        rows = Unknown.rows(closure.element)
        waiting = {self._wrench[body] for body in closure.columns}
        self.elimination.expect_rows(rows, self.references[closure.element], waiting)
        for body in self.model.bodies:
            if body in closure.columns:
                self._hang(body, closure, level, depth)
        self.elimination.pivot(rows, self.model.path(closure.element))

    def _hang(self, body: Body, closure: Closure[Body], level: MobilityLevel, depth: int) -> None:
        path = self.model.path(closure.element)
        turned = self.tracer.call(lambda g: -g.T, closure.columns[body], path=path)
        maps: dict[Unknown, Matrix] = {Unknown.rows(closure.element): turned}
        key = self._wrench[body]
        if body in level.ports:
            outer = Unknown.wrench(body, depth + 1)
            size = self.elimination.sizes[key]
            self.elimination.add(outer, size)
            maps[outer] = ca.SX(ca.DM.eye(size))
            self._wrench[body] = outer
        self.elimination.hang(key, maps, path)

    def solve(self, free: dict[Body, Vector], right: dict[Element, Vector]) -> tuple[_Changes, _Multipliers]:
        """(changes by body, multipliers by element) with G change + right = 0, change = D tau + free."""
        bias = {Unknown.wrench(body): self.tracer.call(lambda r: -r, value) for body, value in free.items()}
        bias.update({Unknown.rows(element): value for element, value in right.items()})
        solution = self.elimination.solve(RightSide(bias))
        changes = {}
        for body in self.model.bodies:
            weight = self.weights[body]
            tau = solution.get(Unknown.wrench(body), ca.SX(weight.shape[0], 1))
            start = free.get(body, ca.SX(*tau.shape))
            changes[body] = self.tracer.call(lambda d, t, r: d @ t + r, weight, tau, start, path=self.model.path(body))
        return changes, {e: solution.rows(e) for e, closure in self.closures.items() if closure.size}

    def refined(self, free: dict[Body, Vector], right: dict[Element, Vector]) -> tuple[_Changes, _Multipliers]:
        """`solve`, then once more for what the first answer left of the conditions: long chains of wrenches cancel."""
        call, path = self.tracer.call, self.model.path
        changes, multipliers = self.solve(free, right)
        if self._one_by_one:
            return changes, multipliers
        left = {}
        for key, closure in self.closures.items():
            rest = right[key]
            for body, block in closure.columns.items():
                rest = call(lambda r, g, a: r + g @ a, rest, block, changes[body], path=path(closure.element))
            left[key] = rest
        more, extra = self.solve({}, left)
        changes = {body: call(lambda a, b: a + b, value, more[body]) for body, value in changes.items()}
        return changes, {e: call(lambda a, b: a + b, value, extra[e]) for e, value in multipliers.items()}
