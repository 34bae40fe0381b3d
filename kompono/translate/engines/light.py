"""Very light bodies on levers: in absolute coordinates, digits are lost there."""

from __future__ import annotations

from typing import NamedTuple

import casadi as ca
import numpy as np

from kompono.model.body import Body, Frame
from kompono.translate.declared.elaborate import Elaborated

LIGHT = 3e-9  # least moment of inertia, of m l^2


class LightLever(NamedTuple):
    """A body, and what its least moment of inertia is of m l^2 for its longest lever."""

    path: str
    ratio: float


def lightest_lever(model: Elaborated) -> LightLever | None:
    """The body that turns most easily for how hard it is to shift by what holds it, if that is `LIGHT`, as far as
    numbers are known.
    """
    found = [
        LightLever(model.path(frame.body), ratio)
        for element in (*model.joints, *model.constraints)
        for frame in (element.first, element.second)
        if isinstance(frame.body, Body) and (ratio := _ratio(frame.body, frame)) <= LIGHT
    ]
    return min(found, key=lambda lever: lever.ratio, default=None)


def _ratio(body: Body, frame: Frame) -> float:
    numbers = [ca.SX(x) for x in (body.solid.mass, body.solid.inertia, frame.pose.position)]
    if not all(number.is_constant() for number in numbers):
        return np.inf
    mass, inertia, arm = (ca.DM(number).full() for number in numbers)
    lever = mass.item() * float(np.sum(arm**2))
    return float(np.linalg.eigvalsh(inertia)[0]) / lever if lever > 0 else np.inf
