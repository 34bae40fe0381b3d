"""Networks across the borders of closed parts: a piece inside each part, and one outside in which parts are answers.

A node that reaches into a part becomes a `Terminal` of it. Inside, what is given there is known, and the equations are
solved for the rest; what is left of them outside is `answer = Y given + s`, one equation for each terminal, with Y and
s as the part says. So a network is condensed as a mechanism is, and resolved when the owner knows what it gives.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import casadi as ca

from kompono.errors import ModelError
from kompono.model.pin import Pin
from kompono.model.subsystem import Subsystem
from kompono.sealed.element import Sealed
from kompono.translate.declared.network_checks import check_linear, choose_given
from kompono.translate.declared.networks import Junction, Network, Terminal, groups, join, uses_of
from kompono.translate.symbolic import Vector

if TYPE_CHECKING:
    from kompono.translate.declared.elaborate import Elaborated

Inside = dict[Subsystem, tuple[Network, ...]]


def answer_at(border: Network, pieces: Iterable[Network]) -> Vector:
    """What a part answers at the terminals of one of its networks, s and then entries of Y; `pieces` are what its
    networks are where closed parts of its own are answers themselves.
    """
    terminals = list(border.terminals)
    found = {t: piece.solution[len(piece.nodes) + len(piece.told) + k]
             for piece in pieces for k, t in enumerate(piece.terminals)}  # fmt: skip
    answers = ca.vertcat(*[found[terminal] for terminal in terminals])
    given = ca.vertcat(*[terminal.given for terminal in terminals])
    matrix = ca.jacobian(answers, given)
    entries = [ca.SX(matrix[row, column]) for row, column in border.border.entries]
    return ca.densify(ca.vertcat(ca.substitute(answers, given, 0), *entries))


def divide_networks(model: Elaborated, parts: Sequence[Subsystem]) -> tuple[Elaborated, Inside]:
    """The model with its networks outside of closed `parts`, and those inside by part. Pins of sealed parts are
    outside: their equations are the answer.
    """
    inside: Inside = dict.fromkeys(parts, ())
    if not model.networks:
        return model, inside
    opened = [part for part in parts if not isinstance(part, Sealed)]
    read = _read(model, opened)
    outside: list[Network] = []
    for network in model.networks:
        whole = next((part for part in opened if all(part.contains(pin) for pin in network.pins)), None)
        if whole is not None and not network.terminals and read.isdisjoint(network.pins):
            inside[whole] += (network,)
        elif any(part.contains(pin) for part in opened for pin in network.pins):
            outer, inner = _split(model, network, opened, read)
            outside += outer
            for part, found in inner.items():
                inside[part] += found
        else:
            outside.append(network)
    every = [*outside, *(network for found in inside.values() for network in found)]
    return replace(model, networks=tuple(outside), uses={**model.uses, **uses_of(every, model.uses)}), inside


def _read(model: Elaborated, parts: Sequence[Subsystem]) -> set[Pin]:
    """Pins inside parts that expressions outside use."""
    written = {equation for network in model.networks for equation in network.equations}
    return {
        pin
        for element, used in model.uses.items()
        if not isinstance(element, Network) and element not in written
        for pin in used
        if isinstance(pin, Pin) and any(part.contains(pin) and not part.contains(element) for part in parts)
    }


def _split(
    model: Elaborated, network: Network, parts: Sequence[Subsystem], read: set[Pin]
) -> tuple[tuple[Network, ...], Inside]:
    """A network outside of parts, and what is inside each of them."""
    beyond = {pin: terminal for terminal in network.terminals for pin in terminal.pins}  # used by an owner of all this
    inside: Inside = {}
    stands_for: dict[Pin, Terminal] = {}
    left = [j for j in network.junctions if not any(part.contains(j) for part in parts)]
    used = {*read, *beyond, *(pin for junction in left for pin in junction.pins)}
    equations = [e for e in network.equations if not any(part.contains(e) for part in parts)]
    for part in parts:
        pins = [pin for pin in network.named if part.contains(pin)]
        if not pins:
            continue
        own = [junction for junction in network.junctions if part.contains(junction)]
        written = [equation for equation in network.equations if part.contains(equation)]
        terminals: dict[Terminal, Pin] = {}
        for node in groups(pins, [junction.pins for junction in own]):
            if any(pin in used for pin in node):
                terminal = Terminal(part, [pin for pin in node if pin in used])
                terminals[terminal] = node[0]
                stands_for |= dict.fromkeys(node, terminal)
        inside[part] = join(part, pins, own, written, terminals)
        for piece in inside[part]:
            if piece.terminals:
                choose_given(model, piece)
                check_linear(model, piece)
                equations += piece.border.equations
    _check_equations(model, network, equations, stands_for)
    pins = [pin for pin in network.pins if not any(part.contains(pin) for part in parts)]
    pins += list(dict.fromkeys(terminal.pin for terminal in stands_for.values()))
    moved = [_moved(junction, stands_for) for junction in left]
    border = {t: stands_for[t.pins[0]].pin if t.pins[0] in stands_for else t.pins[0] for t in network.terminals}
    shows = {pin: stands_for[pin] for pin in _shown(model, read, stands_for, inside)}
    return join(model.model, pins, moved, equations, border, shows), inside


def _moved(junction: Junction, stands_for: Mapping[Pin, Terminal]) -> Junction:
    assert junction.owner is not None
    pins = [stands_for[pin].pin if pin in stands_for else pin for pin in junction.pins]
    return Junction(junction.owner, list(dict.fromkeys(pins)))


def _check_equations(
    model: Elaborated, network: Network, equations: Iterable[object], stands_for: Mapping[Pin, Terminal]
) -> None:
    for equation in network.equations:
        for pin in equation.pins:
            if equation in equations and pin in stands_for:
                raise ModelError(
                    f"it uses {model.path(pin)}, a pin of the closed part {model.path(stands_for[pin].owner)}.",  # type: ignore[arg-type]
                    path=model.path(equation),
                    fix="Give the owner a pin of its own, and connect the two.",
                )


def _shown(model: Elaborated, read: Iterable[Pin], stands_for: Mapping[Pin, Terminal], inside: Inside) -> Iterable[Pin]:
    """Pins that are read outside; what goes through them must be all that goes into the part at that terminal."""
    for pin in read:
        terminal = stands_for.get(pin)
        if terminal is None:
            continue
        part = terminal.owner
        assert part is not None
        node = next(n for piece in inside[part] for n in piece.nodes if pin in n)
        told = [other for piece in inside[part] for other in piece.told if other in node]
        owner = pin.owner
        assert owner is not None
        if not all(other is pin or owner.contains(other) for other in told):
            raise ModelError(
                f"only {model.path(part)} knows what goes through it: it is closed.", path=model.path(pin),
                fix=f"Declare an Output for it in {type(part).__name__}, or leave that open.",
            )  # fmt: skip
        yield pin
