"""Networks: pins that meet, and the equations of their components, gathered into systems that can be solved alone.

Unknowns are what is across each node and what goes through each pin that has an equation; equations are those of the
components and, at each node, that nothing is left over. A network is what hangs together by nodes and equations.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import casadi as ca

from kompono.errors import ModelError
from kompono.model.element import Element
from kompono.model.pin import Pin
from kompono.model.subsystem import Subsystem
from kompono.translate.declared.network_solution import solve
from kompono.translate.symbolic import Vector

if TYPE_CHECKING:
    from kompono.translate.declared.elaborate import Elaborated


class Equation(Element):
    """One equation of a component for its pins."""

    def __init__(self, owner: Subsystem, number: int, residual: ca.SX, pins: Sequence[Pin]) -> None:
        self._owner, self._name = owner, f"require({number})"
        self.residual, self.pins = residual, tuple(pins)


class Junction(Element):
    """Pins that an owner connects."""

    def __init__(self, owner: Subsystem, pins: Sequence[Pin]) -> None:
        self._owner, self._name = owner, "connect(...)"
        self.pins = tuple(pins)


class Network(Element):
    """What hangs together: pins by node, and equations. It belongs to the lowest component that has all of it."""

    def __init__(self, owner: Subsystem, nodes: Sequence[Sequence[Pin]], equations: Sequence[Equation]) -> None:
        self._owner = owner
        self.nodes, self.equations = [tuple(node) for node in nodes], tuple(equations)
        self._name = f"network of {self.nodes[0][0].label}"
        told = {pin for equation in equations for pin in equation.pins if pin.owner is equation.owner}
        self.told = tuple(pin for node in self.nodes for pin in node if pin in told)

    @property
    def pins(self) -> tuple[Pin, ...]:
        """All pins, node by node."""
        return tuple(pin for node in self.nodes for pin in node)

    @cached_property
    def unknowns(self) -> Vector:
        """One symbol for each node, then what goes through each pin that has an equation."""
        levels = ca.SX.sym("level", len(self.nodes))
        return ca.vertcat(levels, *[ca.SX(pin.through) for pin in self.told])

    @cached_property
    def system(self) -> Vector:
        """What is zero: the components' equations, then the balance of each node."""
        across = ca.vertcat(*[ca.SX(pin.across) for pin in self.pins])
        levels = ca.vertcat(*[self.unknowns[k] for k, node in enumerate(self.nodes) for _ in node])
        written = ca.vertcat(ca.SX(0, 1), *[equation.residual for equation in self.equations])
        told = set(self.told)
        balances = [sum((ca.SX(pin.through) for pin in node if pin in told), ca.SX(0)) for node in self.nodes]
        return ca.vertcat(ca.substitute(written, across, levels), *balances)

    @cached_property
    def symbols(self) -> Vector:
        """Across and through of all pins, one after the other."""
        return ca.vertcat(*[ca.vertcat(ca.SX(pin.across), ca.SX(pin.through)) for pin in self.pins])

    @cached_property
    def values(self) -> Vector:
        """What these are: expressions of states, signals, time and motion."""
        solution = solve(self.system, self.unknowns)
        flows = {pin: solution[len(self.nodes) + k] for k, pin in enumerate(self.told)}
        found: list[Any] = []
        for k, node in enumerate(self.nodes):
            for pin in node:
                inside = [other for other in node if other in flows and _holds(pin.owner, other)]
                found += [solution[k], flows[pin] if pin in flows else sum((flows[o] for o in inside), ca.SX(0))]
        return ca.vertcat(*found)


def _holds(owner: Subsystem | None, pin: Pin) -> bool:
    return owner is not None and owner.contains(pin)


def gather(subsystems: Sequence[Subsystem], elements: Iterable[Element]) -> tuple[list[Junction], list[Equation]]:
    """All that is declared of pins."""
    pins = {symbol.element_hash(): pin for pin in elements if isinstance(pin, Pin)
            for symbol in (ca.SX(pin.across), ca.SX(pin.through))}  # fmt: skip
    junctions = [Junction(owner, ends) for owner in subsystems for ends in owner._junctions]  # type: ignore[arg-type]
    equations = []
    for owner in subsystems:
        for number, residual in enumerate(owner._equations):
            used = dict.fromkeys(pins[s.element_hash()] for s in ca.symvar(residual) if s.element_hash() in pins)
            equations.append(Equation(owner, number, residual, tuple(used)))
    return junctions, equations


def find_networks(
    model: Subsystem, elements: Sequence[Element], junctions: Sequence[Junction], equations: Sequence[Equation]
) -> tuple[Network, ...]:
    """What hangs together. Raises ModelError for pins nothing is said of, and where equations are missing."""
    pins = [element for element in elements if isinstance(element, Pin)]
    if not pins and not equations:
        return ()
    for equation in equations:
        if not equation.pins:
            raise ModelError("the equation has no pin in it.", path=equation.path, fix="Use p.across or p.through.")
    nodes = _groups(pins, [junction.pins for junction in junctions])
    of = {pin: k for k, node in enumerate(nodes) for pin in node}
    found = []
    for together in _groups(range(len(nodes)), [[of[pin] for pin in equation.pins] for equation in equations]):
        own = [equation for equation in equations if of[equation.pins[0]] in together]
        network = Network(
            _common(model, [pin for k in together for pin in nodes[k]]), [nodes[k] for k in together], own
        )
        _check_counts(network)
        found.append(network)
    return tuple(found)


def _check_counts(network: Network) -> None:
    """Raise unless every component has an equation for each pin, and every node a component."""
    told = set(network.told)
    for node in network.nodes:
        if not any(pin in told for pin in node):
            raise ModelError(
                "nothing with an equation is connected to this pin.", path=node[0].path,
                fix="Connect it, or write an equation of its component: self.require(...).",
            )  # fmt: skip
    for owner in dict.fromkeys(equation.owner for equation in network.equations):
        wanted = sum(pin.owner is owner for pin in network.told)
        given = sum(equation.owner is owner for equation in network.equations)
        if wanted != given:
            assert owner is not None
            raise ModelError(
                f"it has {wanted} pins in this network, and {given} equations.", path=owner.path or owner.label,
                fix="Write one self.require(...) for each pin; two of them usually say p.through + n.through = 0.",
            )  # fmt: skip


def _groups(items: Iterable[Any], ties: Iterable[Sequence[Any]]) -> list[list[Any]]:
    """Items that are tied to each other, directly or through others, in order."""
    leader = {item: item for item in items}

    def lead(item: Any) -> Any:
        while leader[item] is not item:
            leader[item] = leader[leader[item]]
            item = leader[item]
        return item

    for tie in ties:
        for other in tie[1:]:
            leader[lead(other)] = lead(tie[0])
    found: dict[Any, list[Any]] = {}
    for item in leader:
        found.setdefault(lead(item), []).append(item)
    return list(found.values())


def _common(model: Subsystem, pins: Sequence[Pin]) -> Subsystem:
    """The lowest component that has all pins."""
    owner = pins[0].owner
    while owner is not None and owner is not model and not all(owner.contains(pin) for pin in pins):
        owner = owner.owner
    return owner or model


def uses_of(networks: Sequence[Network], uses: Mapping[Element, Sequence[Any]]) -> dict[Element, tuple[Any, ...]]:
    """What each network uses: what its equations do, and all its pins."""
    return {
        network: tuple(dict.fromkeys([*network.pins, *(u for e in network.equations for u in uses.get(e, ()))]))
        for network in networks
    }


def network_wires(model: Elaborated) -> dict[int, ca.SX]:
    """What the symbols of pins follow from, by hash: all that is in the equations of their network."""
    return {
        symbol.element_hash(): network.system
        for network in model.networks
        for symbol in ca.vertsplit(network.symbols)
    }  # fmt: skip
