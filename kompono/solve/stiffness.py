"""How stiff the links of the discrete engine are: as stiff as the step allows, joint by joint.

Condition rows G on bodies with mobility W = M^-1 are held by springs K and dampers C. What they make of accelerations
has the eigenvalues of K A and C A with A = G W G^T. For groups I of like rows (a position, an axis), with the norms
a_IJ = sum_b |G_Ib W_b G_Jb^T| over the bodies b that two groups share,

    s_I = a_II sum_J a_IJ / sqrt(a_II a_JJ),      K_I = KAPPA / (h^2 s_I),      C_I = GAMMA / (h s_I)

bounds all eigenvalues of h^2 K A by KAPPA and of h C A by GAMMA (Gershgorin, block by block, rows scaled by
1 / sqrt(a_II)): 1 / a_II is the mass a group feels, and every neighbour on the same body that it moves counts once more
at most. Norms of points and axes fixed on a body are the same in any position; of rows that turn relative to the body
(a rod at its end, a plane) the largest over the poses their element allows is taken, so what is chosen at the start
holds as long as distances do.
The step is stable below h^2 k + 4 h c = 4 (docs/theory/discrete.md); KAPPA + 4 GAMMA = 2.45 leaves the rest to
the forces of the model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from numbers import Real
from typing import Any

import numpy as np

from kompono.errors import RunError, suggest

KAPPA, GAMMA = 1.25, 0.3
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
    reach: tuple[np.ndarray | None, ...] = ()  # of each block, rows (poses, rows, 6) wherever its element may get

    @property
    def starts(self) -> np.ndarray:
        """First row of each group, and the number of rows at the end."""
        return np.concatenate([[0], np.cumsum([size for _, size in self.groups], dtype=int)]).astype(int)

    def norms(self) -> np.ndarray:
        """a (groups, groups)."""
        starts, result = self.starts, np.zeros((len(self.groups), len(self.groups)))
        on: dict[int, list[tuple[int, np.ndarray]]] = {}
        for (first, body, block), reach in zip(self.blocks, self.reach or (None,) * len(self.blocks), strict=True):
            whole = block[None] if reach is None else np.concatenate([block[None], reach])
            for group in range(np.searchsorted(starts, first), np.searchsorted(starts, first + len(block))):
                rows = whole[:, starts[group] - first : starts[group + 1] - first]
                on.setdefault(body, []).append((group, different(rows)))
        for body, touching in on.items():
            for group, rows in touching:
                for other, columns in touching:
                    products = np.einsum("sri,ij,tqj->strq", rows, self.weights[body], columns, optimize=True)
                    result[group, other] += np.linalg.norm(products, 2, axis=(2, 3)).max()
        return result


def different(rows: np.ndarray) -> np.ndarray:
    """Those of some sets of rows (poses, rows, 6) that differ by more than a rotation among the rows, which no norm
    sees: one for a point or an axis fixed on the body.
    """
    grams = np.einsum("sri,srj->sij", rows, rows).reshape(len(rows), -1)
    kept: list[int] = []
    for k, gram in enumerate(grams):
        scale = 1e-9 * max(np.abs(gram).max(initial=0.0), 1e-300)
        if all(np.abs(gram - grams[other]).max(initial=0.0) > scale for other in kept):
            kept.append(k)
    return rows[kept]


def bounds(norms: np.ndarray) -> np.ndarray:
    """s of each group (1/kg for rows in metres); zero where a group moves nothing."""
    own = np.sqrt(np.diag(norms))
    inverse = np.divide(1.0, own, out=np.zeros_like(own), where=own > 0)
    return own * (norms @ inverse)


def choose(
    table: LinkTable, norms: np.ndarray, step: float, stiffness: Given = None, damping: Given = None
) -> tuple[np.ndarray, np.ndarray]:
    """Stiffness and damping of each row: chosen for the step, or as given (then damped alike)."""
    s = bounds(norms)
    safe = np.where(s > 0, s, np.inf)
    k, c = KAPPA / (step**2 * safe), GAMMA / (step * safe)
    given_k, given_c = (
        given_by_group(table, value, name) for value, name in ((stiffness, "stiffness"), (damping, "damping"))
    )
    c = np.where(np.isnan(given_k), c, GAMMA / np.sqrt(KAPPA) * np.sqrt(np.where(np.isnan(given_k), k, given_k) / safe))
    k, c = np.where(np.isnan(given_k), k, given_k), np.where(np.isnan(given_c), c, given_c)
    sizes = [size for _, size in table.groups]
    return np.repeat(k, sizes), np.repeat(c, sizes)


def given_by_group(table: LinkTable, value: Given, name: str) -> np.ndarray:
    """What a user asks for, by group; not a number where nothing is."""
    result = np.full(len(table.groups), np.nan)
    if value is None:
        return result
    paths = [path for path, _ in table.groups]
    wanted = value if isinstance(value, Mapping) else {"*": value}
    for pattern, numbers in wanted.items():
        chosen = [k for k, path in enumerate(paths) if fnmatchcase(path, pattern)]
        if not chosen and pattern != "*":
            raise RunError(f"{name}: there is no joint or constraint {pattern!r}.", fix=suggest(pattern, set(paths)))
        for path in dict.fromkeys(paths[k] for k in chosen):
            mine = [k for k in chosen if paths[k] == path]
            result[mine] = _numbers(numbers, len(mine), f"{name} of {path}")
    return result


def _numbers(value: Any, count: int, what: str) -> list[float]:
    values = [value] * count if isinstance(value, Real) else list(value)
    if len(values) != count or not all(isinstance(x, Real) and 0 <= float(x) < np.inf for x in values):
        raise RunError(
            f"{what} is {value!r}.",
            fix=f"Give one number that is not negative, or one for each of its {count} groups of conditions.",
        )
    return [float(x) for x in values]
