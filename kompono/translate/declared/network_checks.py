"""Networks that have no single answer, told by the names of what is wrong in them.

The factors of the unknowns are looked at in numbers: time, parameters, inputs, modes and states as at the start, all
else at random.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from kompono.errors import ModelError
from kompono.model.element import Element
from kompono.model.pin import Pin, Rotational, Translational
from kompono.model.signal import time
from kompono.translate.declared.networks import Network
from kompono.translate.symbolic import Vector

if TYPE_CHECKING:
    from kompono.translate.declared.elaborate import Elaborated

_TAKES_PART = 1e-6  # a smaller share in a dependence is rounding


def check_networks(model: Elaborated) -> None:
    """Raise ModelError for networks that cannot be solved."""
    if not model.networks:
        return
    from kompono.translate.declared.network_solution import dependent

    for network in model.networks:
        if network.terminals:  # of a part that is looked at alone
            choose_given(model, network)
        else:
            found = dependent(_factors(model, network, network.unknowns))
            if found is not None:
                _refuse(model, network, *found)
        check_linear(model, network)


def check_linear(model: Elaborated, network: Network) -> None:
    """Raise ModelError where the answer at a border is not linear."""
    from kompono.translate.declared.network_newton import Begun

    network.begun = Begun(partial(_numbers, model))
    given = ca.vertcat(ca.SX(0, 1), *[terminal.given for terminal in network.terminals])
    for k, terminal in enumerate(network.terminals):
        answer = network.solution[len(network.nodes) + len(network.told) + k]
        if ca.depends_on(ca.jacobian(answer, given), given):
            raise ModelError(
                "what the part answers at this pin is not linear in what is given at its pins, so it cannot be closed.",
                path=terminal.path,
                fix="Let a State inside determine one of the two (a volume, a small capacity), or leave it open.",
            )


def choose_given(model: Elaborated, network: Network) -> None:
    """Let what is across each terminal be given to a part, or what goes through where only that can be: where the part
    itself says what is across.
    """
    from kompono.translate.declared.network_solution import dependent

    for _ in range(len(network.terminals) + 1):
        found = dependent(_factors(model, network, network.unknowns))
        if found is None:
            return
        place = len(network.nodes) + len(network.told)
        shares = [(share, t) for share, t in zip(found[0][place:], network.terminals, strict=True) if not t.by_through]
        share, terminal = max(shares, key=lambda pair: pair[0], default=(0.0, None))
        if terminal is None or share <= _TAKES_PART * found[0].max():
            _refuse(model, network, *found)
            return
        terminal.by_through = True
        del network.unknowns, network.system  # they follow from that


def _factors(model: Elaborated, network: Network, unknowns: Vector) -> np.ndarray:
    """d system / d unknowns in numbers."""
    factors = ca.jacobian(network.system, unknowns)
    symbols = ca.vertcat(ca.SX(0, 1), *ca.symvar(factors))
    evaluate = ca.Function("factors", [symbols], [ca.densify(factors)])
    return np.array(evaluate(_numbers(model, symbols)))


def _numbers(model: Elaborated, symbols: Vector) -> np.ndarray:
    """Values of symbols when a run begins, those that are not known at random."""
    told = {ca.SX(e).element_hash(): float(e.value) for e in model.parameters}
    told |= {ca.SX(e).element_hash(): float(e.start) for e in (*model.modes, *model.states)}
    told |= {ca.SX(e).element_hash(): float(e.value) for e in model.inputs if isinstance(e.value, int | float)}
    told |= {ca.SX(time).element_hash(): 0.0}
    random = np.random.default_rng(1)
    listed = ca.vertsplit(symbols) if symbols.numel() else []
    return np.array([told.get(symbol.element_hash(), random.uniform(0.5, 1.5)) for symbol in listed])


def _refuse(model: Elaborated, network: Network, columns: np.ndarray, rows: np.ndarray) -> None:
    free = columns > _TAKES_PART * columns.max()
    nodes = len(network.nodes)
    where = model.path(network)
    still = ca.sparsify(ca.substitute(network.system, network.unknowns, 0))
    told = [int(k) for k in np.flatnonzero(rows > _TAKES_PART * rows.max()) if k < len(network.equations)]
    given = [k for k in told if still[k].nnz()]  # two that give a value cannot both have their way
    if not given and not free[nodes:].any():
        high = [network.nodes[k][0] for k in np.flatnonzero(free[:nodes])]
        one = high[0]
        raise ModelError(
            f"nothing says what is across {_names(model, high)}: only differences are known.", path=where,
            fix=f"Connect a reference to one of them: self.connect(self.{model.path(one)}, self.zero.pin).",
        )  # fmt: skip
    owners = [network.equations[k].owner for k in given or told]
    pins: list[Pin] = [pin for pin in network.told if pin.owner in owners]
    mechanical = any(isinstance(pin, Rotational | Translational) for pin in pins)
    raise ModelError(
        f"{_names(model, owners)} determine the same thing: ideal sources against each other, inertias or inductors "
        "in series, capacitors side by side, or with a source.",
        path=where,
        fix="Put an elasticity between, make one of them of both, or put inertia on the joint: Rotor(joint, ...)."
        if mechanical
        else "Put a resistance between, or make one of them of both.",
    )


def _names(model: Elaborated, elements: Sequence[Element | None]) -> str:
    paths = dict.fromkeys(model.path(element) or "the model" for element in elements if element is not None)
    return ", ".join(paths)
