"""Networks with symbols in the place of the numbers of their components: resistances, capacities, ratios.

A network is solved as expressions, and what is eliminated first is chosen by the size of factors. So it is solved with
its numbers first, and the choice is part of the pattern a kept translation must have; the same network with symbols in
its equations is solved by the same choice when somebody traces it. Networks that are iterated keep their numbers:
these stand in the closed function that is repeated, and in what that begins from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import casadi as ca

from kompono.model.subsystem import Subsystem
from kompono.translate.declared.networks import Equation, Network
from kompono.translate.declared.open_laws import Known, OpenLaw, opened

if TYPE_CHECKING:
    from kompono.translate.declared.elaborate import Elaborated
    from kompono.translate.numbers import OpenNumbers


class OpenEquations(OpenLaw):
    """Equations of a component, in their order."""


def open_equations(component: Subsystem, model: Elaborated, known: Known | None = None) -> OpenEquations | None:
    """The equations of a component with symbols in the place of numbers, perhaps some that are `known`; nothing where
    there are none, or where one of them stands in a network that is iterated.
    """
    mine = [network for network in model.networks if any(one.owner is component for one in network.equations)]
    if not mine or any(network.done is not None for network in mine):
        return None
    found = opened(component._equations, [], known=known)
    return found and OpenEquations(ca.SX(0, 1), *found)


def begun(network: Network) -> list[float]:
    """Numbers at the start that the iteration of a network begins from: they stand in its equations, too."""
    if network.done is None or network.starts is None:
        return []
    return network.starts(ca.vertcat(ca.SX(0, 1), *ca.symvar(network.system))).tolist()


def open_network(model: Elaborated, network: Network) -> Network:
    """A network, perhaps with symbols of numbers in its equations."""
    numbers = model.numbers
    if numbers is None or network.done is not None:
        return network
    if network not in numbers.networks:
        numbers.networks[network] = _twin(model, network)
    return numbers.networks[network]


def decide_networks(model: Elaborated, numbers: OpenNumbers) -> None:
    """Have what is eliminated in each network among what was decided by numbers."""
    for network in model.networks:
        if open_network(model, network) is not network:
            numbers.decided(f"{model.path(network)} eliminated", network.solved.chosen)


def _twin(model: Elaborated, network: Network) -> Network:
    made = [_equation(model, equation) for equation in network.equations]
    if all(new is old for new, old in zip(made, network.equations, strict=True)):
        return network
    twin = Network(network.owner, network.nodes, made, network.junctions, network.terminals, network.shows)  # type: ignore[arg-type]
    twin.chosen, twin.starts = network.solved.chosen, network.starts
    return twin


def _equation(model: Elaborated, equation: Equation) -> Equation:
    owner = equation.owner
    said = None if owner is None else model.law(owner)
    if not isinstance(said, OpenEquations):
        return equation
    assert owner is not None
    return Equation(owner, equation.number, said.expressions[equation.number], equation.pins)
