"""Mass properties: those of several parts together, and the nearest possible ones where a file has impossible ones."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from kompono.files.assembly import Part
from kompono.files.place import Place


def together(parts: Iterable[tuple[Part, Place]]) -> tuple[float, np.ndarray, np.ndarray]:
    """Mass [kg], centre (3) [m] and inertia (3, 3) [kg m^2] about it, of parts at places of a common frame. Some may
    have inertia without mass; together they have mass, or nothing.
    """
    heavy = [(part, place) for part, place in parts if part.mass > 0 or part.inertia.any()]
    mass = float(sum(part.mass for part, _ in heavy))
    centre, inertia = np.zeros(3), np.zeros((3, 3))
    if not mass:
        return 0.0, centre, inertia
    if len(heavy) == 1 and heavy[0][1].upright and not heavy[0][1].position.any():
        part = heavy[0][0]
        return part.mass, part.centre, (part.inertia + part.inertia.T) / 2
    points = [place.position + place.rotation @ part.centre for part, place in heavy]
    centre = sum((part.mass * point for (part, _), point in zip(heavy, points, strict=True)), np.zeros(3)) / mass
    for (part, place), point in zip(heavy, points, strict=True):
        arm = point - centre
        turned = place.rotation @ part.inertia @ place.rotation.T
        inertia += turned + part.mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    return mass, centre, (inertia + inertia.T) / 2


def possible(inertia: np.ndarray) -> np.ndarray:
    """The inertia (3, 3) of a distribution of mass that is nearest to a given one.

    With S = sum of m x x^T the inertia is tr(S) 1 - S: S is what cannot be negative, so its negative part is left out.
    """
    second = np.trace(inertia) / 2 * np.eye(3) - inertia
    values, axes = np.linalg.eigh((second + second.T) / 2)
    second = (axes * np.maximum(values, 0.0)) @ axes.T
    return np.trace(second) * np.eye(3) - second
