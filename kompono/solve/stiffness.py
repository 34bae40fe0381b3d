"""How stiff the links of the discrete engine are: as stiff as the step allows, joint by joint.

Condition rows G on bodies with mobility W = M^-1 are held by springs K and dampers C. What they make of accelerations
has the eigenvalues of K A and C A with A = G W G^T. For groups I of like rows (a position, an axis), with the norms
a_IJ = sum_b |G_Ib W_b G_Jb^T| over the bodies b that two groups share,

    s_I = a_II sum_J a_IJ / sqrt(a_II a_JJ),      K_I = KAPPA / (h^2 s_I),      C_I = GAMMA / (h s_I)

bounds all eigenvalues of h^2 K A by KAPPA and of h C A by GAMMA (Gershgorin, block by block, rows scaled by
1 / sqrt(a_II)): 1 / a_II is the mass a group feels, and every neighbour on the same body that it moves counts once more
at most. Norms of points and axes fixed on a body are the same in any position; of rows that turn relative to the body
(a rod at its end, a plane) the largest over the poses their element allows is taken, so what is chosen at the start
holds as long as distances do. Rows whose lever grows as a joint slides are held the softer the longer it is
(`translate/rank/levers.py`); here they are rows times sqrt(phi), at all travels.
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
from kompono.translate.rank.reach import Reach

KAPPA, GAMMA = 1.25, 0.3
LIMIT = 4.0  # of h^2 k + 4 h c

Given = float | Sequence[float] | Mapping[str, Any] | None


@dataclass(frozen=True)
class LinkTable:
    """Links of a model at the states of several runs: `groups` of rows (path, rows), blocks (first row, body, G (runs,
    rows, 6)), weights (runs, bodies, 6, 6) = M^-1; all in body axes. `reach` says of each block where its rows may get.
    """

    groups: tuple[tuple[str, int], ...]
    blocks: tuple[tuple[int, int, np.ndarray], ...]
    weights: np.ndarray
    reach: tuple[Reach | None, ...] = ()

    def times(self, factors: np.ndarray) -> LinkTable:
        """The same with all rows times factors (runs, rows)."""
        blocks = tuple(
            (first, body, factors[:, first : first + block.shape[1], None] * block)
            for first, body, block in self.blocks
        )
        return LinkTable(self.groups, blocks, self.weights, self.reach)

    def of(self, run: int) -> LinkTable:
        """The links of one run."""
        blocks = tuple((first, body, block[run : run + 1]) for first, body, block in self.blocks)
        reach = tuple(part and Reach(part.which[run : run + 1], part.poses) for part in self.reach)
        return LinkTable(self.groups, blocks, self.weights[run : run + 1], reach)

    @property
    def starts(self) -> np.ndarray:
        """First row of each group, and the number of rows at the end."""
        return np.concatenate([[0], np.cumsum([size for _, size in self.groups], dtype=int)]).astype(int)

    def touching(self) -> dict[int, list[TouchingGroup]]:
        """The groups that touch each body."""
        starts, on = self.starts, {}
        for (first, body, block), reach in zip(self.blocks, self.reach or (None,) * len(self.blocks), strict=True):
            groups = range(np.searchsorted(starts, first), np.searchsorted(starts, first + block.shape[1]))
            for place, group in enumerate(groups):
                rows = block[:, starts[group] - first : starts[group + 1] - first]
                on.setdefault(body, []).append(TouchingGroup(group, rows, place, reach))
        return on

    def norms(self) -> np.ndarray:
        """a (runs, groups, groups)."""
        result = np.zeros((len(self.weights), len(self.groups), len(self.groups)))
        for body, touching in self.touching().items():
            weights = self.weights[:, body]
            for k, one in enumerate(touching):
                for other in touching[k:]:
                    found = _norms(one, other, weights)
                    result[:, one.group, other.group] += found
                    if other is not one:
                        result[:, other.group, one.group] += found
        return result


@dataclass(frozen=True)
class TouchingGroup:
    """A group of rows on a body: its number, present rows (runs, rows, 6), its number among those of its element, and
    where they may get.
    """

    group: int
    rows: np.ndarray
    place: int
    reach: Reach | None

    @property
    def turning(self) -> np.ndarray:
        """The number of the poses of each run (runs,); -1 where rows stay as they are."""
        if self.reach is None or not any(poses[self.place] is not None for poses in self.reach.poses):
            return np.full(len(self.rows), -1)
        return self.reach.which

    def all(self, run: int) -> np.ndarray:
        """Rows (poses, rows, 6) that one run may get to, the present ones first."""
        present, which = self.rows[run : run + 1], -1 if self.reach is None else self.reach.which[run]
        others = None if self.reach is None or which < 0 else self.reach.poses[which][self.place]
        return present if others is None else np.concatenate([present, others])


def _norms(one: TouchingGroup, other: TouchingGroup, weights: np.ndarray) -> np.ndarray:
    """The largest |G W G^T| (runs,) of two groups on a body with the mobility W (runs, 6, 6)."""
    found = _largest(one.rows @ weights @ other.rows.swapaxes(1, 2))
    numbers = np.stack([one.turning, other.turning], axis=1)
    turning = np.flatnonzero((numbers >= 0).any(axis=1))
    if not len(turning):
        return found
    numbers = np.hstack([numbers, weights.reshape(len(weights), -1)])
    _, first, member = np.unique(numbers[turning], axis=0, return_index=True, return_inverse=True)
    each = np.zeros(len(first))
    for k, run in enumerate(turning[first]):
        rows, columns = one.all(run) @ weights[run], other.all(run).swapaxes(1, 2)
        # of a group with itself no two poses give more than the larger of them: |A W B^T|^2 <= |A W A^T| |B W B^T|
        each[k] = _largest(rows @ columns if one is other else rows[:, None] @ columns).max()
    found[turning] = each[member.reshape(-1)]
    return found


def _largest(products: np.ndarray) -> np.ndarray:
    """The largest singular value of each of some small matrices (..., rows, columns)."""
    if products.shape[-1] < products.shape[-2]:
        products = products.swapaxes(-1, -2)
    squares = products @ products.swapaxes(-1, -2)
    if squares.shape[-1] == 1:
        return np.sqrt(squares[..., 0, 0])
    if squares.shape[-1] == 2:
        a, b, c = squares[..., 0, 0], squares[..., 0, 1], squares[..., 1, 1]
        return np.sqrt((a + c) / 2 + np.sqrt(((a - c) / 2) ** 2 + b**2))
    return np.linalg.norm(products, 2, axis=(-2, -1))


def bounds(norms: np.ndarray) -> np.ndarray:
    """s of each group (1/kg for rows in metres) in each run, from a; zero where a group moves nothing."""
    own = np.sqrt(np.diagonal(norms, axis1=1, axis2=2))
    inverse = np.divide(1.0, own, out=np.zeros_like(own), where=own > 0)
    return own * np.einsum("rij,rj->ri", norms, inverse)


def choose(
    table: LinkTable, norms: np.ndarray, step: float, stiffness: Given = None, damping: Given = None
) -> tuple[np.ndarray, np.ndarray]:
    """Stiffness and damping (runs, rows) of each row: chosen for the step, or as given (then damped alike)."""
    s = bounds(norms)
    safe = np.where(s > 0, s, np.inf)
    k, c = KAPPA / (step**2 * safe), GAMMA / (step * safe)
    given_k, given_c = (
        given_by_group(table, value, name) for value, name in ((stiffness, "stiffness"), (damping, "damping"))
    )
    c = np.where(np.isnan(given_k), c, GAMMA / np.sqrt(KAPPA) * np.sqrt(np.where(np.isnan(given_k), k, given_k) / safe))
    k, c = np.where(np.isnan(given_k), k, given_k), np.where(np.isnan(given_c), c, given_c)
    sizes = [size for _, size in table.groups]
    return np.repeat(k, sizes, axis=1), np.repeat(c, sizes, axis=1)


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
