"""The directions a state can change in: minimal coordinates about a point.

Coordinates may change along P, the null space of dg/dq and of the lengths of quaternions, speeds along T, that of G,
and speeds follow coordinates where conditions on them do, G dv = - d(g_dot)/dq dq. Some coordinates and speeds are
chosen as independent, those that make the rest follow with the smallest factors. A change of the state is then B z,
and as z are entries of the state, their rates are entries of its rate: no basis has to be differentiated along a
motion. Redundant conditions change neither P nor T; conditions on velocities alone (rolling) leave P larger than T.
What contact and friction hold are conditions as well (`held_laws`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from kompono.analyses.held_laws import held_matrix
from kompono.analyses.point import Point
from kompono.analyses.slopes import Slopes, differences
from kompono.errors import RunError, suggest
from kompono.translate.program import Program

RANK = 1e-8  # singular values below this, relative to the largest, count as zero


@dataclass(frozen=True)
class Tangent:
    """B (state, z), and which entries of the state z are: coordinates, speeds, own states."""

    point: Point
    basis: np.ndarray
    coordinates: tuple[int, ...]
    speeds: tuple[int, ...]
    states: tuple[int, ...]

    @property
    def chosen(self) -> list[int]:
        """Entries of the state that z are."""
        return [*self.coordinates, *self.speeds, *self.states]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of z: those of coordinates, speeds and own states."""
        program = self.point.simulation.program
        known = (*program.coordinates, *program.speeds, *program.modes, *program.states)
        return tuple(known[k] for k in self.chosen)

    def rates(self) -> np.ndarray:
        """A (z, z): dz/dt = A z about the motion through the point."""
        return Slopes(self.point, "derivative").along(self.basis)[self.chosen]


def null_space(matrix: np.ndarray) -> np.ndarray:
    """An orthonormal basis (n, k) of what a matrix (m, n) maps to zero; rows count by their own size."""
    count = matrix.shape[1]
    sizes = np.linalg.norm(matrix, axis=1)
    rows = matrix[sizes > 0] / sizes[sizes > 0, None]
    if not len(rows) or not count:
        return np.eye(count)
    _, values, right = np.linalg.svd(rows)
    return right[int(np.sum(values > RANK * values[0])) :].T


def find_tangent(point: Point, preferred: Iterable[str] = ()) -> Tangent:
    """The directions at a point, in `preferred` coordinates (by name) as far as they are independent."""
    program, place = point.simulation.program, point.place
    wanted = _numbers(preferred, program.coordinates)
    places, speeds = _position_directions(point), null_space(held_matrix(point))
    chosen_q, chosen_v = _independent(places, wanted), _independent(speeds, _matching(program, wanted))
    places = places @ _inverse(places[chosen_q])
    follow = _following(point, places)
    speeds = speeds @ _inverse(speeds[chosen_v])
    follow = follow - speeds @ follow[chosen_v]
    own = len(program.states)
    basis = np.zeros((len(point.state), places.shape[1] + speeds.shape[1] + own))
    basis[place.q, : places.shape[1]] = places
    basis[place.v, : places.shape[1]] = follow
    basis[place.v, places.shape[1] : places.shape[1] + speeds.shape[1]] = speeds
    basis[place.s, places.shape[1] + speeds.shape[1] :] = np.eye(own)
    return Tangent(
        point,
        basis,
        tuple(chosen_q),
        tuple(place.v.start + k for k in chosen_v),
        tuple(range(place.s.start, place.s.stop)),
    )


def _inverse(square: np.ndarray) -> np.ndarray:
    return np.linalg.inv(square) if square.size else square


def _numbers(preferred: Iterable[str], known: Sequence[str]) -> list[int]:
    found = []
    for name in (preferred,) if isinstance(preferred, str) else preferred:
        if name not in known:
            raise RunError(f"there is no coordinate {name!r}.", fix=suggest(name, known))
        found.append(known.index(name))
    return found


def _matching(program: Program, wanted: Sequence[int]) -> list[int]:
    """Speeds that are rates of coordinates."""
    rates = {name.removesuffix(".rate"): k for k, name in enumerate(program.speeds)}
    return [rates[program.coordinates[k]] for k in wanted if program.coordinates[k] in rates]


def _position_directions(point: Point) -> np.ndarray:
    """P (coordinates, k)."""
    place = point.place
    count = place.q.stop
    units = np.eye(len(point.state))[:, place.q]
    residual, length = Slopes(point, "conditions"), Slopes(point, "normalize")
    turning = point.coordinate_rates()
    if not (residual.exact and length.exact):  # of parts that only answer, conditions are known by their speeds
        return scipy.linalg.orth(turning @ null_space(held_matrix(point)), rcond=RANK)
    moved = length.along(units)
    unit = np.eye(len(moved), count) - moved
    rows = [residual.along(units), unit]
    if len(moved) < count:  # angles that are counted along follow the others
        rows.append(
            np.hstack([-turning[len(moved) :] @ np.linalg.pinv(turning[: len(moved)]), np.eye(count - len(moved))])
        )
    return null_space(np.vstack(rows))


def _following(point: Point, places: np.ndarray) -> np.ndarray:
    """The least changes of speeds (speeds, k) that keep conditions on them while coordinates change along `places`."""
    directions = np.zeros((len(point.state), places.shape[1]))
    directions[point.place.q] = places
    rates, matrix = Slopes(point, "conditions", 1), held_matrix(point)
    if not len(matrix):
        return np.zeros((point.place.v.stop - point.place.v.start, places.shape[1]))
    if not rates.exact:
        return differences(point, directions, lambda there: there.state[point.place.v])
    return -np.linalg.pinv(matrix, rcond=RANK) @ rates.along(directions)


def _independent(basis: np.ndarray, wanted: Sequence[int]) -> list[int]:
    """Rows (as many as columns) of a basis that are well independent, `wanted` ones first."""
    left: np.ndarray = basis.copy()
    chosen: list[int] = []
    for _ in range(basis.shape[1]):
        sizes = np.linalg.norm(left, axis=1)
        sizes[chosen] = 0.0
        good = [row for row in wanted if row not in chosen and sizes[row] > 1e-3 * sizes.max()]
        row = good[0] if good else int(np.argmax(np.round(sizes, 9)))
        chosen.append(row)
        along = left[row] / np.linalg.norm(left[row])
        left = left - np.outer(left @ along, along)
    return sorted(chosen)
