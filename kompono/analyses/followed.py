"""A machine led along paths: positions, speeds and accelerations at all times at once.

Paths are of channels c(q) that depend on positions only: coordinates of joints, positions and orientations of bodies
and sensors. Together with the conditions g of what closes loops,

    g = 0, c = path(t);    A v = rates;    A v_dot = accelerations - bias,    A = [G; dc/dq N]

Redundant rows do no harm; where the paths leave freedoms open, changes are the smallest that follow them. Newton's
method walks along the path once, a tenth of a radian at a time, and then works on all samples together, in native code.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import casadi as ca
import numpy as np

from kompono.analyses.point import Point
from kompono.analyses.slopes import is_open
from kompono.errors import RunError, suggest
from kompono.solve.inputs import Feed
from kompono.translate.program import Program, Routine
from kompono.translate.slopes import routine_of, symbolic

RANK = 1e-9  # singular values below this, relative to the largest, count as zero
NEAR, MOST = 1e-11, 40  # where Newton's method has arrived, and how many steps it may take
STRIDE = 0.1  # [rad, m] from knot to knot of the walk, and a hundredth of the way of each path
LONGEST = 0.5  # [rad, m] change of a coordinate in one step of Newton's
RESIDUAL = 1e-6  # of what is asked for, relative: more is a contradiction


@dataclass(frozen=True)
class Motion:
    """States (n, state), accelerations (n, v), and how many freedoms the paths leave open at most."""

    states: np.ndarray
    accelerations: np.ndarray
    open: int


class Followed:
    """The channels `names` of a model at a point, as what shall be followed."""

    def __init__(self, point: Point, names: Sequence[str], feed: Feed) -> None:
        self.point, self.names, self.program = point, tuple(names), point.simulation.program
        self.kernel, self.feed = point.simulation.kernel, feed
        table = feed.table()
        self.changing = table is not None and len(table[0]) > 1
        known = {channel.name: k for k, channel in enumerate(self.program.channels)}
        for name in names:
            if name not in known and name not in self.program.coordinates:
                raise RunError(f"there is no channel {name!r} to follow.", fix=suggest(name, known))
        self.columns = [known[name] for name in names]
        self.wraps = np.array([self.program.channels[k].angle for k in self.columns], dtype=bool)
        self.rows = dict(self.program.routines["conditions"].outputs)["g"]
        routines = self.program.routines
        for routine in ("conditions", "rates", "derivative"):
            if not is_open(point, routine) or _calls(self.program, routine):
                fix = "Simulate with a Drive."
                raise RunError("what is sealed or solved by iteration cannot be led.", fix=fix)
        self.routine = "led_" + hashlib.sha256(repr(self.columns).encode()).hexdigest()[:12]
        selected = point.simulation.translation.select(self.columns)
        cast(Any, routines).add(self.routine, lambda: _led(self.program, selected, self.columns, self.routine))
        if self.changing and _sees_inputs(self.program, selected):
            raise RunError(
                "conditions or paths depend on an input that changes with time, and nobody knows its rate.",
                fix="Write it as an expression of `time`, or a Table of it.",
            )

    # -- native evaluation, row by row

    def _all(self, times: np.ndarray, states: np.ndarray) -> tuple[np.ndarray, ...]:
        """g and c, their rates, A (n, rows, v) and the bias of accelerations at all times."""
        table = self.map(self.routine, times, states)
        count, speeds = self.rows + len(self.names), len(self.program.speeds)
        value, rate, matrix, bias = np.split(table, np.cumsum([count, count, count * speeds]), axis=1)
        return value, rate, matrix.reshape(len(times), speeds, count).transpose(0, 2, 1), bias

    def map(self, routine: str, times: np.ndarray, states: np.ndarray) -> np.ndarray:
        """The first output of a routine at all times (n, outputs)."""
        if self.changing:
            given = np.array([self.feed.at(float(time)) for time in times])
        else:
            given = np.tile(self.point.inputs, (len(times), 1))
        return self.kernel.map(routine, times, np.ascontiguousarray(states), given, self.point.parameters)

    # -- positions

    def walk(self, times: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """States (n, state) at positions that follow targets (n, paths), from the point on."""
        now = self._all(times[:1], self.point.state[None])[0][0, self.rows :]
        first = now + self._wrapped(targets[0] - now)
        lead = np.vstack([now, first, targets[1:] + (first - targets[0])])
        at = np.concatenate([[times[0]], times])
        size = np.minimum(STRIDE, np.maximum(np.ptp(lead, axis=0), 1e-300) / 100)
        way = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(lead, axis=0) / size).max(axis=1, initial=0.0))])
        marks = np.linspace(0.0, way[-1], int(np.ceil(way[-1])) + 1)
        state, knots = self.point.state[None].copy(), []
        for mark in marks:
            k = min(int(np.searchsorted(way, mark, side="right")) - 1, len(way) - 2)
            share = (mark - way[k]) / (way[k + 1] - way[k]) if way[k + 1] > way[k] else 1.0
            instant = np.array([at[k] + share * (at[k + 1] - at[k])])
            state = self._newton(instant, state, (lead[k] + share * (lead[k + 1] - lead[k]))[None])
            knots.append(state[0])
        nearest = np.abs(marks[:, None] - way[None, 1:]).argmin(axis=0) if len(marks) > 1 else np.zeros(len(times), int)
        return self._newton(times, np.array(knots)[nearest], targets)

    def _wrapped(self, difference: np.ndarray) -> np.ndarray:
        turns = np.where(self.wraps, np.round(difference / (2 * np.pi)), 0.0)
        return difference - 2 * np.pi * turns

    def _newton(self, times: np.ndarray, states: np.ndarray, targets: np.ndarray) -> np.ndarray:
        states = states.copy()
        q, v = self.point.place.q, self.point.place.v
        size = 1.0 + np.abs(targets).max(initial=0.0)
        left = np.full(len(times), np.inf)
        for _ in range(MOST):
            value, _, matrix, _ = self._all(times, states)
            value[:, self.rows :] = self._wrapped(value[:, self.rows :] - targets)
            left = np.abs(value).max(axis=1, initial=0.0)
            if not (left > NEAR * size).any():
                return states
            change = -np.einsum("nij,nj->ni", np.linalg.pinv(matrix, rcond=RANK), value)
            longest = np.abs(change).max(axis=1, initial=0.0)[:, None]
            change *= np.minimum(1.0, LONGEST / np.maximum(longest, 1e-300))
            moved = states.copy()
            moved[:, v] = change
            states[:, q] += self.map("rates", times, moved)
            normal = self.map("normalize", times, states)
            states[:, : normal.shape[1]] = normal
        worst = int(np.argmax(left))
        value = self._all(times, states)[0][worst]
        off = np.abs(self._wrapped(value[self.rows :] - targets[worst]))
        where = f"{self.names[int(np.argmax(off))]} by {off.max():.2g}" if off.size else "its loops do not close"
        raise RunError(
            f"the path cannot be followed at {times[worst]:g} s: it is missed ({where}).",
            fix="The target may be out of reach, or beyond a dead centre; begin nearer, with near={...}.",
        )

    # -- speeds and accelerations

    def motion(self, times: np.ndarray, paths: np.ndarray) -> Motion:
        """The motion along paths (3, n, paths): values, rates, accelerations."""
        states, v = self.walk(times, paths[0]), self.point.place.v
        states[:, v] = 0.0
        _, still, matrix, _ = self._all(times, states)
        inverse = np.linalg.pinv(matrix, rcond=RANK)
        states[:, v] = self._solved(times, matrix, inverse, self._asked(paths[1]) - still, "speeds")
        bias = self._all(times, states)[3]
        accelerations = self._solved(times, matrix, inverse, self._asked(paths[2]) - bias, "accelerations")
        return Motion(states, accelerations, len(self.program.speeds) - int(rank(matrix).min()))

    def _asked(self, path: np.ndarray) -> np.ndarray:
        """Rows of conditions, which ask for nothing, and of paths."""
        return np.hstack([np.zeros((len(path), self.rows)), path])

    def _solved(
        self, times: np.ndarray, matrix: np.ndarray, inverse: np.ndarray, right: np.ndarray, what: str
    ) -> np.ndarray:
        found = np.einsum("nij,nj->ni", inverse, right)
        missed = np.abs(np.einsum("nij,nj->ni", matrix, found) - right).max(axis=1, initial=0.0)
        worst = int(np.argmax(missed)) if len(missed) else 0
        if missed.size and missed[worst] > RESIDUAL * (1.0 + np.abs(right).max()):
            raise RunError(
                f"{what} along the paths contradict each other at {times[worst]:g} s, by {missed[worst]:.2g}.",
                fix="Prescribe fewer channels, or ones that fit together.",
            )
        return found


def rank(matrices: np.ndarray) -> np.ndarray:
    """Of each matrix of (n, rows, columns), by what counts as zero here."""
    if not matrices.size:
        return np.zeros(len(matrices), dtype=int)
    values = np.linalg.svd(matrices, compute_uv=False)
    return np.sum(values > RANK * values.max(axis=1, keepdims=True), axis=1)


def _calls(program: Program, routine: str) -> bool:
    """Whether a routine calls functions that have no derivatives in native code."""
    return any(program.kernels[call.kernel].find_functions() for call in program.routines[routine].calls)


def _sees_inputs(program: Program, selected: str) -> bool:
    """Whether what is followed depends on inputs."""
    conditions = program.routines["conditions"]
    x = ca.SX.sym("x", sum(size for _, size in conditions.inputs))
    first = 1 + program.state_size
    found = [symbolic(program.kernels, program.routines[name], x)[0] for name in ("conditions", selected)]
    return ca.jacobian_sparsity(ca.vertcat(*found), x[first : first + len(program.inputs)]).nnz() > 0


def _led(program: Program, selected: str, columns: Sequence[int], name: str) -> Routine:
    """g and c, their rates, A column by column, and the bias of accelerations, in one output."""
    conditions = program.routines["conditions"]
    sizes = [size for _, size in conditions.inputs]
    x = ca.SX.sym("x", sum(sizes))
    q, speeds = x[1 : 1 + len(program.coordinates)], len(program.speeds)
    v = x[1 + q.numel() : 1 + q.numel() + speeds]
    g, g_dot, matrix, bias = symbolic(program.kernels, conditions, x)
    turning = symbolic(program.kernels, program.routines["rates"], x)[0]
    c = symbolic(program.kernels, program.routines[selected], x)[0]
    c = c if selected != "outputs" else c[list(columns)]
    if not ca.jacobian_sparsity(c, v).nnz() == 0:
        raise RunError("speeds, accelerations and forces cannot be followed.", fix="Name positions and angles.")

    def along(value: ca.SX) -> ca.SX:
        """How a value changes with time while speeds stay."""
        return ca.jtimes(value, q, turning) + ca.jacobian(value, x[0])

    c_dot = along(c)
    rows = ca.vertcat(ca.reshape(matrix, g.numel(), speeds), ca.jacobian(c_dot, v))
    whole = ca.vertcat(g, c, g_dot, c_dot, ca.vec(ca.densify(rows)), bias, along(c_dot))
    return routine_of(name, conditions.inputs, x, {"led": whole}, cast(Any, program.kernels))
