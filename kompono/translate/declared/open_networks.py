"""Networks with symbols in the place of the numbers of their components: resistances, capacities, ratios.

A network is solved as expressions, and what is eliminated first is chosen by the size of factors. So it is looked at
with its numbers first, and the choice is part of the pattern a kept translation must have; the same network with
symbols in its equations is solved by the same choice when somebody traces it. Where it is iterated, numbers are given
to the closed function that is repeated, and what that begins from is found anew, as numbers are that follow from
others. Pieces of networks inside closed parts are networks, too; what they answer at the border is part of the pattern.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import casadi as ca

from kompono.model.subsystem import Subsystem
from kompono.translate.declared.networks import Equation, Network
from kompono.translate.declared.open_laws import Known, OpenLaw, opened

if TYPE_CHECKING:
    from kompono.translate.declared.elaborate import Elaborated


class OpenEquations(OpenLaw):
    """Equations of a component, in their order."""


def open_equations(component: Subsystem, known: Known | None = None) -> OpenEquations | None:
    """The equations of a component with symbols in the place of numbers, perhaps some that are `known`; nothing where
    there are none.
    """
    found = opened(component._equations, [], known=known)
    return found and OpenEquations(ca.SX(0, 1), *found)


def open_network(model: Elaborated, network: Network) -> Network:
    """A network, perhaps with symbols of numbers in its equations."""
    numbers = model.numbers
    if numbers is None:
        return network
    key = numbers.scope, network  # one that is inside a closed part is one of the open model, too
    if key not in numbers.networks:
        numbers.networks[key] = _twin(model, network)
    return numbers.networks[key]


def decide_networks(models: Iterable[Elaborated]) -> None:
    """Have what is eliminated in each network, what is known at its border, and what an iteration begins from, among
    what was found and decided by numbers.
    """
    for model in models:
        for network in model.networks:
            twin, numbers = open_network(model, network), model.numbers
            assert numbers is not None
            border = [terminal.by_through for terminal in network.terminals]
            entries = network.border.entries if border else ()
            told = (network.left.chosen, network.iterated, border, entries)
            numbers.decided(f"{model.path(network)} eliminated", told)
            if twin.iterated:
                numbers.decided(f"{model.path(network)} solved", twin.solution.numel())


def _twin(model: Elaborated, network: Network) -> Network:
    made = [_equation(model, equation) for equation in network.equations]
    if not network.iterated and all(new is old for new, old in zip(made, network.equations, strict=True)):
        return network
    from kompono.translate.declared.network_newton import Begun  # others start without it

    twin = Network(network.owner, network.nodes, made, network.junctions, network.terminals, network.shows)  # type: ignore[arg-type]
    told = None if network.begun is None else network.begun.told
    twin.chosen, twin.begun = network.left.chosen, Begun(told, model.numbers, model.path(network))
    return twin


def _equation(model: Elaborated, equation: Equation) -> Equation:
    owner = equation.owner
    said = None if owner is None or equation.terminals else model.law(owner)
    if not isinstance(said, OpenEquations):
        return equation
    assert owner is not None
    return Equation(owner, equation.number, said.expressions[equation.number], equation.pins)
