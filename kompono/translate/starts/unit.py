"""Start values of quaternions, made those of a rotation: entries nobody gave yield first, and what was given and could
not be kept is told.
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np

from kompono.errors import RunError
from kompono.model.joint import Joint

ENTRIES = ("e0", "e1", "e2", "e3")
_NOTED = 1e-6  # changes below this are not worth a word
_WHOLE = "Give all four of a unit quaternion, e.g. those of rotation('z', 0.3)."


def unit(entries: np.ndarray, given: np.ndarray, path: str) -> np.ndarray:
    """The unit quaternion (4,) that has the `given` entries (4,), if there is one; else the one in their direction.
    Beside entries of length one, but for rounding, or longer ones, the others are zero.
    """
    left, free = 1.0 - entries[given] @ entries[given], entries[~given] @ entries[~given]
    found = np.where(given, entries, entries * np.sqrt(max(left, 0.0) / free)) if free > 0 else entries
    length = np.linalg.norm(found)
    if length < 1e-12:
        raise RunError("start values of zero alone are no orientation.", path=path, fix=_WHOLE)
    return found / length


def on_manifold(joint: Joint, q: np.ndarray, given: np.ndarray, path: str, said: list[str]) -> np.ndarray:
    """Coordinates (nq) as the joint normalizes them; sentences about `given` ones that changed go into `said`."""
    asked, q = q, q.copy()
    places = [joint.coordinates.index(name) for name in ENTRIES if name in joint.coordinates]
    if len(places) == len(ENTRIES):
        q[places] = unit(q[places], given[places], path)
    q = np.asarray(ca.DM(joint.normalize(ca.DM(q)))).ravel()
    tell(joint.coordinates, asked, q, given, path, said)
    return q


def tell(
    names: Sequence[str], asked: np.ndarray, now: np.ndarray, given: np.ndarray, path: str, said: list[str]
) -> None:
    """Say which given values were not kept."""
    changed = [
        f"{path}.{name} asked {a:.6g}, became {b:.6g}"
        for name, a, b, firm in zip(names, asked, now, given, strict=True)
        if firm and abs(a - b) > _NOTED
    ]
    if changed:
        said.append(f"start values could not be kept: {'; '.join(changed)}. A quaternion has length 1.")
