"""Networks: pins that meet, and the equations of their components, gathered into systems that can be solved alone.

Unknowns are what is across each node and what goes through each pin that has an equation; equations are those of the
components and, at each node, that nothing is left over. A network is what hangs together by nodes and equations.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import casadi as ca

from kompono.errors import ModelError
from kompono.model.element import Element
from kompono.model.pin import Pin
from kompono.model.subsystem import Subsystem, relative_path
from kompono.translate.symbolic import Vector

if TYPE_CHECKING:
    from kompono.translate.declared.elaborate import Elaborated
    from kompono.translate.declared.network_newton import Begun
    from kompono.translate.declared.network_solution import Chosen, Eliminated, Solved


class Equation(Element):
    """One equation of a component for its pins; or of a closed part at its `terminals`."""

    terminals: tuple[Terminal, ...] = ()

    def __init__(self, owner: Subsystem, number: int, residual: ca.SX, pins: Sequence[Pin]) -> None:
        self._owner, self._name, self.number = owner, f"require({number})", number
        self.residual, self.pins = residual, tuple(pins)


class Junction(Element):
    """Pins that an owner connects."""

    def __init__(self, owner: Subsystem, pins: Sequence[Pin]) -> None:
        self._owner, self._name = owner, "connect(...)"
        self.pins = tuple(pins)


class Terminal(Element):
    """A node at the border of a closed part: `pins` inside meet there, and outside it is one `pin` of the part.

    What is across it is given to the part, which answers by what goes through into it; or, where that is not determined
    (a source of voltage), the other way round: `by_through`.
    """

    def __init__(self, part: Subsystem, pins: Sequence[Pin]) -> None:
        self._owner, self._name = part, relative_path(pins[0], part)
        self.pins, self.pin, self.by_through = tuple(pins), type(pins[0])(), False
        self.pin._owner, self.pin._name = part, self._name

    @property
    def given(self) -> ca.SX:
        """What an owner gives."""
        return ca.SX(self.pin.through if self.by_through else self.pin.across)

    @property
    def answer(self) -> ca.SX:
        """What the part says to that."""
        return ca.SX(self.pin.across if self.by_through else self.pin.through)


class NetworkBorder(NamedTuple):
    """How a closed part answers at the terminals of a network: `answer = Y given + s`. `symbols` stand for s and for
    the `entries` (row, column) of Y that are not always zero; `equations` say so to the owner.
    """

    symbols: Vector
    entries: tuple[tuple[int, int], ...]
    equations: tuple[Equation, ...]

    @staticmethod
    def of(terminals: Sequence[Terminal], entries: Iterable[tuple[int, int]]) -> NetworkBorder:
        """For these places of Y."""
        entries = tuple(entries)
        symbols, found = ca.SX.sym("answer", len(terminals) + len(entries)), []
        for k, terminal in enumerate(terminals):
            total, pins = symbols[k], [terminal.pin]
            for number, (row, column) in enumerate(entries):
                if row == k:
                    total += symbols[len(terminals) + number] * terminals[column].given
                    pins.append(terminals[column].pin)
            assert terminal.owner is not None
            made = Equation(terminal.owner, k, terminal.answer - total, tuple(dict.fromkeys(pins)))
            made.terminals = tuple(terminals)
            found.append(made)
        return NetworkBorder(symbols, entries, tuple(found))


class Network(Element):
    """What hangs together: pins by node, and equations. It belongs to the lowest component that has all of it.

    `terminals` are those of its nodes that are at the border of the closed part whose inside this is, by the number of
    the node. `shows` are pins inside closed parts that others read, by the terminal they belong to.
    """

    def __init__(
        self,
        owner: Subsystem,
        nodes: Sequence[Sequence[Pin]],
        equations: Sequence[Equation],
        junctions: Sequence[Junction] = (),
        terminals: Mapping[Terminal, int] | None = None,
        shows: Mapping[Pin, Terminal] | None = None,
    ) -> None:
        self._owner = owner
        self.nodes, self.equations = [tuple(node) for node in nodes], tuple(equations)
        self.junctions, self.terminals, self.shows = tuple(junctions), dict(terminals or {}), dict(shows or {})
        self._name = f"network of {self.nodes[0][0].label}"
        self.begun: Begun | None = None  # where an iteration begins
        self.chosen: Chosen | None = None  # what is eliminated, if it was found before
        told = {pin for equation in equations for pin in equation.pins if pin.owner is equation.owner}
        self.told = tuple(pin for node in self.nodes for pin in node if pin in told)

    @property
    def pins(self) -> tuple[Pin, ...]:
        """All pins, node by node."""
        return tuple(pin for node in self.nodes for pin in node)

    @cached_property
    def named(self) -> tuple[Pin, ...]:
        """Pins that are declared here: all but those that stand for closed parts."""
        borders = {terminal.pin for equation in self.equations for terminal in equation.terminals}
        return tuple(pin for pin in self.pins if pin not in borders)

    @cached_property
    def unknowns(self) -> Vector:
        """One symbol for each node, what goes through each pin that has an equation, and answers at the border."""
        levels = ca.SX.sym("level", len(self.nodes))
        answers = [terminal.answer for terminal in self.terminals]
        return ca.vertcat(levels, *[ca.SX(pin.through) for pin in self.told], *answers)

    @cached_property
    def system(self) -> Vector:
        """What is zero: the components' equations, the balance of each node, and that terminals are nodes."""
        across = ca.vertcat(*[ca.SX(pin.across) for pin in self.pins])
        levels = ca.vertcat(*[self.unknowns[k] for k, node in enumerate(self.nodes) for _ in node])
        written = ca.vertcat(ca.SX(0, 1), *[equation.residual for equation in self.equations])
        told = set(self.told)
        balances = [sum((ca.SX(pin.through) for pin in node if pin in told), ca.SX(0)) for node in self.nodes]
        borders = []
        for terminal, k in self.terminals.items():
            balances[k] -= ca.SX(terminal.pin.through)
            borders.append(ca.SX(terminal.pin.across) - self.unknowns[k])
        return ca.vertcat(ca.substitute(written, across, levels), *balances, *borders)

    @cached_property
    def symbols(self) -> Vector:
        """Across and through of all pins, one after the other, those of closed parts that others read behind."""
        pins = (*self.pins, *self.shows)
        return ca.vertcat(*[ca.vertcat(ca.SX(pin.across), ca.SX(pin.through)) for pin in pins])

    @cached_property
    def left(self) -> Eliminated:
        """What is left of the system."""
        from kompono.translate.declared.network_solution import eliminated

        return eliminated(self.system, self.unknowns, self.chosen)

    @cached_property
    def solved(self) -> Solved:
        """The solution, and how it was found."""
        from kompono.translate.declared.network_newton import Begun
        from kompono.translate.declared.network_solution import solve

        return solve(self.left, self.unknowns, self.begun or Begun())

    @property
    def solution(self) -> Vector:
        """The unknowns as expressions of states, signals, time, motion, and of what is given at the border."""
        return self.solved.solution

    @cached_property
    def linear(self) -> bool:
        """Whether all equations are linear in the unknowns."""
        return not ca.depends_on(ca.jacobian(self.system, self.unknowns), self.unknowns)

    def bent(self, model: Elaborated) -> str:
        """Paths of the components whose equations are not linear."""
        factors = ca.jacobian(self.system, self.unknowns)
        rows = (k for k in range(len(self.equations)) if ca.depends_on(factors[k, :], self.unknowns))
        owners = dict.fromkeys(self.equations[k].owner for k in rows)
        return ", ".join(model.path(owner) or type(owner).__name__ for owner in owners if owner is not None)

    @cached_property
    def iterated(self) -> bool:
        """Whether it has to be iterated."""
        return not self.linear and self.left.iterated

    @property
    def done(self) -> ca.SX:
        """Whether its iteration ends, 1 or 0."""
        return ca.SX(1) if self.solved.done is None else self.solved.done

    @cached_property
    def border(self) -> NetworkBorder:
        """What an owner knows of it."""
        given = ca.vertcat(*[terminal.given for terminal in self.terminals])
        matrix = ca.sparsify(ca.jacobian(self.solution[-len(self.terminals) :], given))
        return NetworkBorder.of(list(self.terminals), zip(*matrix.sparsity().get_triplet(), strict=True))

    @cached_property
    def values(self) -> Vector:
        """What the symbols are."""
        solution = self.solution
        flows = {pin: solution[len(self.nodes) + k] for k, pin in enumerate(self.told)}
        found: list[Any] = []
        places: dict[Pin, int] = {}
        for k, node in enumerate(self.nodes):
            for pin in node:
                inside = [other for other in node if other in flows and _holds(pin.owner, other)]
                found += [solution[k], flows[pin] if pin in flows else sum((flows[o] for o in inside), ca.SX(0))]
                places[pin] = k
        for terminal in self.shows.values():
            found += [solution[places[terminal.pin]], flows[terminal.pin]]
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
    model: Subsystem, elements: Sequence[Element], junctions: Sequence[Junction], equations: Sequence[Equation],
    exposed: Collection[Element] = (),
) -> tuple[Network, ...]:  # fmt: skip
    """What hangs together; pins of `exposed` are the border of a part that is looked at alone. Raises ModelError for
    pins nothing is said of, and where equations are missing.
    """
    pins = [element for element in elements if isinstance(element, Pin)]
    if not pins and not equations:
        return ()
    for equation in equations:
        if not equation.pins:
            raise ModelError("the equation has no pin in it.", path=equation.path, fix="Use p.across or p.through.")
    terminals = [
        Terminal(model, shown)
        for node in groups(pins, [junction.pins for junction in junctions])
        if (shown := [pin for pin in node if pin in exposed])
    ]
    found = join(model, pins, junctions, equations, {terminal: terminal.pins[0] for terminal in terminals})
    for network in found:
        _check_counts(network)
    return found


def join(
    model: Subsystem, pins: Sequence[Pin], junctions: Sequence[Junction], equations: Sequence[Equation],
    terminals: Mapping[Terminal, Pin] | None = None, shows: Mapping[Pin, Terminal] | None = None,
) -> tuple[Network, ...]:  # fmt: skip
    """Networks of these pins; `terminals` by a pin of theirs."""
    nodes = groups(pins, [junction.pins for junction in junctions])
    of = {pin: k for k, node in enumerate(nodes) for pin in node}
    found = []
    for together in groups(range(len(nodes)), [[of[pin] for pin in equation.pins] for equation in equations]):
        own = [equation for equation in equations if of[equation.pins[0]] in together]
        meet = [junction for junction in junctions if of[junction.pins[0]] in together]
        border = {t: together.index(of[pin]) for t, pin in (terminals or {}).items() if of[pin] in together}
        seen = {pin: terminal for pin, terminal in (shows or {}).items() if of[terminal.pin] in together}
        owner = _common(model, [pin for k in together for pin in nodes[k]])
        found.append(Network(owner, [nodes[k] for k in together], own, meet, border, seen))
    return tuple(found)


def _check_counts(network: Network) -> None:
    """Raise unless every component has an equation for each pin, and every node a component."""
    told = set(network.told)
    for k, node in enumerate(network.nodes):
        if not any(pin in told for pin in node) and k not in network.terminals.values():
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


def groups(items: Iterable[Any], ties: Iterable[Sequence[Any]]) -> list[list[Any]]:
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
