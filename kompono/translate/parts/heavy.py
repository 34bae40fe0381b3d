"""Loads on ports of closed parts that are much heavier than what carries them inside: digits are lost there."""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca

from kompono.model.body import Body, Carrier
from kompono.translate.parts.compartment import Compartment
from kompono.translate.parts.inside import Part
from kompono.translate.parts.sealed import SealedPart

HEAVY = 1e6  # times


class HeavyPort(NamedTuple):
    """A port, how many times heavier than what carries it inside is what an owner connects with it, and whether its
    part can be opened.
    """

    path: str
    ratio: float
    opens: bool


def heaviest_port(compartment: Compartment) -> HeavyPort | None:
    """The port with the heaviest load for what carries it, if that is `HEAVY`, as far as masses are numbers."""
    found: list[HeavyPort] = []
    model = compartment.model
    ends = [(e.first.body, e.second.body) for e in (*model.joints, *model.constraints)]
    carried = {body: mass for part in compartment.parts for body, mass in _carrying(part).items()}
    for part in compartment.parts:
        inner = heaviest_port(part.inside) if part.opens else None
        found += [HeavyPort(f"{part.path}.{inner.path}", inner.ratio, inner.opens)] if inner else []
        for port in part.border.ports:
            loads = [b if a is port.body else a for a, b in ends if port.body in (a, b)]
            own = carried.get(port.body, 0.0)
            load = max((carried.get(body, _mass(body)) for body in loads), default=0.0)
            if own and load >= HEAVY * own:
                found.append(HeavyPort(f"{part.path}.{part.inside.whole.path(port.body)}", load / own, part.opens))
    return max(found, key=lambda port: port.ratio, default=None)


def _carrying(part: Part) -> dict[Carrier, float]:
    """Masses [kg] that a load on each port moves first; 0 where they are not known."""
    if isinstance(part, SealedPart) and part.code.shows_states:
        return {body: 1 / max(mobility[0, 0], 1e-300) for body, mobility in part.mobilities().items()}
    return {port.body: _mass(port.body) if part.opens else 0.0 for port in part.border.ports}


def _mass(carrier: Carrier) -> float:
    """Of a body whose mass is a number [kg]; 0 otherwise."""
    mass = ca.SX(carrier.solid.mass) if isinstance(carrier, Body) else ca.SX(0)
    return float(ca.DM(mass)) if mass.is_constant() else 0.0
