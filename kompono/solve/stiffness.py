"""How stiff the links of the discrete engine are: as stiff as the step allows, joint by joint.

Condition rows G on bodies with mobility W = M^-1 are held by springs K and dampers C. What they make of the accelerations
has the eigenvalues of K A and C A with A = G W G^T. For groups I of like rows (a position, an axis) and the norms
n_Ib = |G_Ib W_b^(1/2)| on each body b,

    s_I = sum_b n_Ib sum_J n_Jb,      K_I = KAPPA / (h^2 s_I),      C_I = GAMMA / (h s_I)

bounds all eigenvalues of h^2 K A by KAPPA and of h C A by GAMMA (Gershgorin, block by block): whatever joints share a
body is counted. The norms are those of points fixed on bodies, so they hold in any position, not only at the start.
The step is stable below h^2 k + 4 h c = 4 (docs/theory/discrete.md); KAPPA + 4 GAMMA = 2.1 leaves half of that to the
forces of the model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from numbers import Real
from typing import Any

import numpy as np

from kompono.errors import RunError, nearest

KAPPA, GAMMA = 0.5, 0.4
LIMIT = 4.0  # of h^2 k + 4 h c

Given = float | Sequence[float] | Mapping[str, Any] | None


@dataclass(frozen=True)
class LinkTable:
    """Links of a model at one state: `groups` of rows (path, rows), blocks (first row, body, G (rows, 6)), weights
    (bodies, 6, 6) = M^-1; all in body axes.
    """

    groups: tuple[tuple[str, int], ...]
    blocks: tuple[tuple[int, int, np.ndarray], ...]
    weights: np.ndarray

    @property
    def starts(self) -> np.ndarray:
        """First row of each group, and the number of rows at the end."""
        return np.concatenate([[0], np.cumsum([size for _, size in self.groups], dtype=int)]).astype(int)

    def norms(self) -> np.ndarray:
        """n (groups, bodies)."""
        starts, result = self.starts, np.zeros((len(self.groups), len(self.weights)))
        for first, body, block in self.blocks:
            weight = self.weights[body]
            for group in range(np.searchsorted(starts, first), np.searchsorted(starts, first + len(block))):
                rows = block[starts[group] - first : starts[group + 1] - first]
                result[group, body] = np.sqrt(max(np.linalg.eigvalsh(rows @ weight @ rows.T)[-1], 0.0))
        return result


def bounds(norms: np.ndarray) -> np.ndarray:
    """s of each group (1/kg for rows in metres)."""
    return norms @ norms.sum(axis=0)


def choose(
    table: LinkTable, norms: np.ndarray, step: float, stiffness: Given = None, damping: Given = None
) -> tuple[np.ndarray, np.ndarray]:
    """Stiffness and damping of each row: chosen for the step, or as given (then damped alike)."""
    s = bounds(norms)
    safe = np.where(s > 0, s, np.inf)
    k, c = KAPPA / (step**2 * safe), GAMMA / (step * safe)
    given_k, given_c = (_given(table, value, name) for value, name in ((stiffness, "stiffness"), (damping, "damping")))
    c = np.where(np.isnan(given_k), c, GAMMA / np.sqrt(KAPPA) * np.sqrt(np.where(np.isnan(given_k), k, given_k) / safe))
    k, c = np.where(np.isnan(given_k), k, given_k), np.where(np.isnan(given_c), c, given_c)
    sizes = [size for _, size in table.groups]
    return np.repeat(k, sizes), np.repeat(c, sizes)


def _given(table: LinkTable, value: Given, name: str) -> np.ndarray:
    """What a user asks for, by group; not a number where nothing is."""
    result = np.full(len(table.groups), np.nan)
    if value is None:
        return result
    paths = [path for path, _ in table.groups]
    wanted = value if isinstance(value, Mapping) else {"*": value}
    for pattern, numbers in wanted.items():
        chosen = [k for k, path in enumerate(paths) if fnmatchcase(path, pattern)]
        if not chosen and pattern != "*":
            raise RunError(f"{name}: there is no joint or constraint {pattern!r}.", fix=nearest(pattern, set(paths)))
        for path in dict.fromkeys(paths[k] for k in chosen):
            mine = [k for k in chosen if paths[k] == path]
            result[mine] = _numbers(numbers, len(mine), f"{name} of {path}")
    return result


def _numbers(value: Any, count: int, what: str) -> list[float]:
    values = [value] * count if isinstance(value, Real) else list(value)
    if len(values) != count or not all(isinstance(x, Real) and np.isfinite(float(x)) and x >= 0 for x in values):
        raise RunError(
            f"{what} is {value!r}.",
            fix=f"Give one number that is not negative, or one for each of its {count} groups of conditions.",
        )
    return [float(x) for x in values]
