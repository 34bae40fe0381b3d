"""Loads on ports of closed parts that are much heavier than what carries them inside: digits are lost there."""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca

from kompono.model.body import Body, Carrier
from kompono.translate.parts.compartment import Compartment

HEAVY = 1e6  # times


class HeavyPort(NamedTuple):
    """A port, and how many times heavier than its body is one that an owner connects with it."""

    path: str
    ratio: float


def heaviest_port(compartment: Compartment) -> HeavyPort | None:
    """The port with the heaviest load for its body, if that is `HEAVY`; of parts that can be opened, as far as masses
    are numbers.
    """
    found: list[HeavyPort] = []
    model = compartment.model
    ends = [(e.first.body, e.second.body) for e in (*model.joints, *model.constraints)]
    for part in compartment.parts:
        if not part.opens:
            continue
        inner = heaviest_port(part.inside)
        found += [HeavyPort(f"{part.path}.{inner.path}", inner.ratio)] if inner else []
        for port in part.border.ports:
            loads = [b if a is port.body else a for a, b in ends if port.body in (a, b)]
            own, load = _mass(port.body), max(map(_mass, loads), default=0.0)
            if own and load >= HEAVY * own:
                found.append(HeavyPort(f"{part.path}.{part.inside.whole.path(port.body)}", load / own))
    return max(found, key=lambda port: port.ratio, default=None)


def _mass(carrier: Carrier) -> float:
    """Of a body whose mass is a number [kg]; 0 otherwise."""
    mass = ca.SX(carrier.solid.mass) if isinstance(carrier, Body) else ca.SX(0)
    return float(ca.DM(mass)) if mass.is_constant() else 0.0
