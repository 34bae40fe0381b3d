"""1/M of bodies that are placed in the world by their centres of mass.

It is a number among those that are found from a model (`numbers`). Which of its entries are zero, and which are the
same, follows from the pattern of M alone, not from what its digits happen to be: two entries of an inverse that are
equal whatever the numbers are may differ in the last digit with one mass and not with another.
"""

from __future__ import annotations

from functools import lru_cache

import casadi as ca
import numpy as np

from kompono.errors import TranslationError
from kompono.translate.declared.elaborate import Elaborated
from kompono.translate.motion.loads import central_inertia
from kompono.translate.numbers import OpenNumbers, like_places
from kompono.translate.structure.aligned import connected
from kompono.translate.symbolic import Matrix

SAME = 1e-9  # entries of an inverse of arbitrary numbers that are nearer than this are equal whatever these are


def constant_inverse(inertia: Matrix, path: str) -> Matrix:
    """1/M (6, 6) of a body whose M is made of numbers."""
    return ca.sparsify(ca.SX(ca.DM(_checked_inverse(ca.DM(inertia).full(), path))))


def found_inverse(numbers: OpenNumbers, inertia: Matrix, path: str) -> Matrix:
    """The same with symbols for its entries."""
    known = ca.DM(inertia).full()
    return numbers.found(f"{path} 1/M", _checked_inverse(known, path), places=_inverse_places(_pattern(known)))


def find_inverses(model: Elaborated) -> None:
    """Have 1/M of all bodies among the numbers of a model."""
    assert model.numbers is not None
    for body in model.bodies:
        inertia = central_inertia(body)
        if inertia.is_constant():
            found_inverse(model.numbers, inertia, model.path(body))


def _checked_inverse(inertia: np.ndarray, path: str) -> np.ndarray:
    moments = np.linalg.eigvalsh(inertia)
    if moments[0] <= 1e-14 * moments[-1]:
        raise TranslationError(
            "the body has no inertia about some axis, which absolute coordinates need.",
            path=path,
            fix="Give the solid a radius (or a small moment), or use engine='relative'.",
        )
    return _symmetric_inverse(inertia)


def _symmetric_inverse(matrix: np.ndarray) -> np.ndarray:
    """The inverse of a symmetric matrix, symmetric to the last digit, with zeros where it is zero whatever the numbers
    are.
    """
    inverse = np.zeros(matrix.shape)
    for rows in connected(matrix != 0):
        part = np.linalg.inv(matrix[np.ix_(rows, rows)]) if len(rows) > 1 else 1 / matrix[rows, rows][:, None]
        inverse[np.ix_(rows, rows)] = np.triu(part) + np.triu(part, 1).T
    return inverse


def _pattern(inertia: np.ndarray) -> tuple[int, ...]:
    """Which entries of M (6, 6) are zero or equal; a moment of inertia is not taken for a mass."""
    places = np.zeros((6, 6), dtype=int)
    forces, torques = slice(0, 3), slice(3, 6)
    for number, block in enumerate(((forces, forces), (forces, torques), (torques, torques))):
        own = np.array(like_places(inertia[block].ravel().tolist())).reshape(3, 3)
        places[block] = own + 10 * number * np.sign(own)
    places[torques, forces] = places[forces, torques].T
    return tuple(places.ravel().tolist())


@lru_cache(maxsize=1024)
def _inverse_places(pattern: tuple[int, ...]) -> tuple[int, ...]:
    """The same of 1/M, for arbitrary numbers in the place of those of M."""
    random, places = np.random.default_rng(1), np.array(pattern).reshape(6, 6)
    trials = []
    for _ in range(8):
        values = random.uniform(0.5, 1.5, np.abs(places).max() + 1)
        trials.append(np.sign(places) * values[np.abs(places)])
    inverse = _symmetric_inverse(min(trials, key=np.linalg.cond))
    rounded = np.zeros(36)
    for k, value in enumerate(inverse.ravel().tolist()):
        near = [one for one in rounded[:k].tolist() if abs(abs(one) - abs(value)) < SAME]
        rounded[k] = 0.0 if abs(value) < SAME else np.sign(value) * abs(near[0]) if near else value
    return tuple(like_places(rounded.tolist()))
