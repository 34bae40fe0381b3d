"""Conditions that are linear in joint coordinates: gears, drives, and loops that come to the same.

A condition g whose gradient keeps its direction at all states is a function of one linear form, g = h(c q): a cycloid
disc rolling in its housing, or pins in the holes of a flange, tie angles together as a pair of gears does. The
direction is found at arbitrary states, off the conditions too. Linear conditions that share coordinates make a set,
which is solved for as many coordinates as it has independent conditions,

    q_d = -R q_i + const,        v_dot_d = -R v_dot_i - u,

so that the dependent ones are substituted instead of being held by multipliers. Conditions no coordinate of their loop
can violate (a second bearing on the same axis) need nothing at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from kompono.model.body import Carrier
from kompono.model.constraint import Coupling
from kompono.model.element import Element
from kompono.model.joint import Joint
from kompono.spatial.pose import symbolic_motion
from kompono.translate.declared.elaborate import Elaborated
from kompono.translate.lengths import put_in
from kompono.translate.motion.conditions import Closing, Closure, Laws, trace_closure, trace_violation
from kompono.translate.motion.kinematics import Kinematics
from kompono.translate.structure.topology import Topology, common_owner
from kompono.translate.symbolic import Matrix, Scalar, Vector

SAME = 1e-9  # how far directions of a gradient may differ and still be one, relative
_BROKEN = {  # operations after which one region of states says nothing about another
    ca.OP_IF_ELSE_ZERO, ca.OP_LT, ca.OP_LE, ca.OP_EQ, ca.OP_NE, ca.OP_FMIN, ca.OP_FMAX, ca.OP_FABS, ca.OP_SIGN,
    ca.OP_FLOOR, ca.OP_CEIL,
}  # fmt: skip


@dataclass(frozen=True)
class Form:
    """Conditions `rows` of an element as linear forms (rows, coordinates) of the coordinates of some joints."""

    element: Closing
    joints: tuple[Joint, ...]
    rows: tuple[int, ...]
    matrix: np.ndarray
    measured: bool  # the form stands for a condition of another shape; else it is the condition itself


class Substituted(Coupling):
    """Conditions that give the accelerations of `dependent` joints through those of the others: one row for each."""

    dependent: tuple[Joint, ...] = ()


class SolvedLoop(Substituted):
    """The conditions of an element, solved for joints that they determine wherever the loop goes (see `solvable`)."""

    def __init__(
        self, element: Closing, joints: Sequence[Joint], dependent: Sequence[Joint], model: Elaborated
    ) -> None:
        super().__init__(*joints)
        self._owner = common_owner(model, [element, *joints])
        self.element, self.dependent = element, tuple(dependent)

    def closure(self, closure: Closure[Joint]) -> Closure[Joint]:
        """The rows of the element, live ones alone, with G as it is after solving and what they are solved by."""
        own = ca.horzcat(*[closure.columns[joint] for joint in self.dependent])
        inverse = ca.sparsify(inverse_of_square(own))
        columns = {joint: inverse @ block for joint, block in closure.columns.items()}
        columns |= {joint: ca.SX(ca.DM.eye(closure.size)[:, k]) for k, joint in enumerate(self.dependent)}
        return replace(closure, element=self, columns=columns, inverse=inverse)


def inverse_of_square(matrix: Matrix) -> Matrix:
    """The inverse of a matrix (1, 1) or (2, 2)."""
    if matrix.shape[0] == 1:
        return 1 / matrix
    (a, b), (c, d) = (ca.horzsplit(row) for row in ca.vertsplit(matrix))
    return ca.vertcat(ca.horzcat(d, -b), ca.horzcat(-c, a)) / (a * d - b * c)


class LinearSet(Substituted):
    """Forms that share coordinates, solved for those of `dependent` joints, one for each row of `solved`.

    `solved` (dependent, coordinates of all joints) is the identity on these and R on the others; `combine` (dependent,
    rows of all forms) makes its rows out of those of the forms.
    """

    def __init__(self, forms: Sequence[Form], model: Elaborated) -> None:
        super().__init__(*dict.fromkeys(joint for form in forms for joint in form.joints))
        self._owner = common_owner(model, [*(form.element for form in forms), *self.joints])
        self.forms = tuple(forms)
        self.combine = np.zeros((0, 0))
        self.solved = np.zeros((0, 0))

    def columns(self, joint: Joint) -> np.ndarray:
        """Where the coordinates of a joint are in the columns of `solved`."""
        sizes = np.cumsum([0, *(other.freedoms for other in self.joints)])
        place = next(k for k, other in enumerate(self.joints) if other is joint)
        return np.arange(sizes[place], sizes[place + 1])

    def matrix(self, form: Form) -> np.ndarray:
        """The rows of a form on the coordinates of all joints of the set."""
        matrix = np.zeros((len(form.rows), sum(joint.freedoms for joint in self.joints)))
        matrix[:, np.concatenate([self.columns(joint) for joint in form.joints])] = form.matrix
        return matrix

    def put_in(self, model: Elaborated, name: str, values: np.ndarray) -> Matrix:
        """Numbers (rows, columns) of the set as they are traced."""
        return put_in(model, f"{model.path(self.forms[0].element)} set {name}", values)

    def shares(self, model: Elaborated) -> Matrix:
        """The least changes of all coordinates (columns of `solved`, dependent) that make up for a unit of each row."""
        inverse = np.linalg.pinv(self.solved)
        inverse[np.abs(inverse) < 1e-12 * np.abs(inverse).max()] = 0.0
        return self.put_in(model, "shares", inverse)

    def find_numbers(self, model: Elaborated) -> None:
        """Have all numbers of the set among those of the model."""
        self.shares(model)
        set_closure(model, self, ca.SX(0, 1), ca.SX(0, 1))
        self.put_in(model, "combined", self.combine)
        for form in self.forms:
            if form.measured:
                form_matrix(model, form)
                trial_speeds(model, form)

    def solve(self, wanted: Sequence[Joint]) -> bool:
        """Solve for coordinates of `wanted` joints (of one freedom each), the first ones first; whether it works."""
        rows = np.vstack([self.matrix(form) for form in self.forms])
        work = np.hstack([rows, np.eye(len(rows))])
        count, done, dependent = rows.shape[1], 0, []
        for joint in wanted:
            (column,) = self.columns(joint)
            best = done + int(np.argmax(np.abs(work[done:, column]))) if done < len(rows) else -1
            if best < 0 or abs(work[best, column]) < 1e-9 * np.abs(rows[:, column]).max(initial=1e-300):
                continue
            work[[done, best]] = work[[best, done]]
            work[done] /= work[done, column]
            for k in range(len(rows)):
                if k != done:
                    work[k] -= work[k, column] * work[done]
            dependent.append(joint)
            done += 1
        if np.abs(work[done:, :count]).max(initial=0.0) > SAME * np.abs(rows).max(initial=1e-300):
            return False
        self.dependent, self.solved, self.combine = tuple(dependent), _plain(work[:done, :count]), work[:done, count:]
        return bool(dependent)


def find_forms(
    closures: Iterable[Closure[Joint]], implied: Iterable[Element], symbols: ca.SX, samples: np.ndarray
) -> dict[Element, Form]:
    """Forms of all elements whose conditions are linear, by element; those `implied` have no rows."""
    without = set(implied)
    forms = {}
    for closure in closures:
        element, moved = closure.element, tuple(closure.columns)
        assert isinstance(element, Closing)
        if element in without:
            forms[element] = Form(element, moved, (), np.zeros((0, 0)), True)
        elif moved and all(type(joint).rate is Joint.rate for joint in moved) and not _rolls(element):
            form = _form(element, closure, symbols, samples)
            if form is not None:
                forms[element] = form
    return forms


def _rolls(element: Closing) -> bool:
    """Whether some of its conditions are on velocities alone."""
    return not isinstance(element, Coupling) and bool(element.velocity_conditions(symbolic_motion()))


def _form(element: Closing, closure: Closure[Joint], symbols: ca.SX, samples: np.ndarray) -> Form | None:
    joints = tuple(closure.columns)
    columns = ca.densify(ca.horzcat(*closure.columns.values()))
    if columns.is_constant():
        rows = tuple(range(closure.size))
        coupled = isinstance(element, Coupling)
        return Form(element, joints, rows, ca.DM(columns).full(), False) if coupled else None
    own = {s.element_hash() for joint in joints for s in ca.vertsplit(joint.q)}
    if any(symbol.element_hash() not in own for symbol in ca.symvar(ca.vertcat(ca.vec(columns), closure.residual))):
        return None
    function = ca.Function("form", [symbols], [columns, closure.residual])
    if any(function.instruction_id(k) in _BROKEN for k in range(function.n_instructions())):
        return None
    gradients = np.array([function(sample)[0].full() for sample in samples])  # (samples, rows, coordinates)
    sizes = np.linalg.norm(gradients, axis=2)
    row = int(np.argmax(sizes.min(axis=0)))
    largest = sizes.max()
    if not np.isfinite(largest) or sizes[:, row].min() < 1e-3 * largest:
        return None
    direction = (gradients[:, row] / gradients[:, row, [np.argmax(np.abs(gradients[0, row]))]]).mean(axis=0)
    direction = _plain(direction)
    along = gradients @ direction / (direction @ direction)
    if np.abs(gradients - along[:, :, None] * direction).max() > SAME * largest:
        return None
    return Form(element, joints, (row,), direction[None], True)


def _plain(values: np.ndarray) -> np.ndarray:
    """Values rid of rounding where they are fractions of small numbers, as ratios of gears are."""
    from fractions import Fraction  # a model without such conditions starts without it

    plain = values.copy()
    for place, value in np.ndenumerate(values):
        near = float(Fraction(value).limit_denominator(1000)) if abs(value) < 1e6 else value
        if abs(near - value) <= 1e-12 * max(1.0, abs(value)):
            plain[place] = near
    return plain


def make_sets(
    forms: dict[Element, Form], model: Elaborated, topology: Topology, kept: set[Joint]
) -> tuple[tuple[LinearSet, ...], set[Element]]:
    """Sets of forms that share coordinates, solved for coordinates of joints not in `kept`; and the elements of those
    that could not be solved.
    """
    carried = _carried(topology)
    sets, failed = [], set()
    for group in _connected([form for form in forms.values() if form.rows]):
        candidate = LinearSet(group, model)
        wanted = [joint for joint in candidate.joints if joint.freedoms == 1 and joint not in kept]
        if candidate.solve(sorted(wanted, key=lambda joint: carried[joint])):
            sets.append(candidate)
        else:
            failed |= {form.element for form in group}
    return tuple(sets), failed


def _carried(topology: Topology) -> dict[Joint, int]:
    """How many bodies each tree joint carries: those with few are the cheapest to substitute."""
    carried: dict[Joint, int] = {}
    below: dict[Carrier, int] = {}
    for link in reversed(topology.links):
        count = below.get(link.carrier, 0) + 1
        below[link.parent] = below.get(link.parent, 0) + count
        if link.joint is not None:
            carried[link.joint] = count
    return carried


def _connected(forms: Sequence[Form]) -> list[list[Form]]:
    groups: list[tuple[set[Joint], list[Form]]] = []
    for form in forms:
        joints, members = set(form.joints), [form]
        apart = []
        for known, others in groups:
            if known & joints:
                joints, members = joints | known, [*others, *members]
            else:
                apart.append((known, others))
        groups = [*apart, (joints, members)]
    return [members for _, members in groups]


def form_matrix(model: Elaborated, form: Form) -> Matrix:
    """The rows of a form as they are traced."""
    return put_in(model, f"{model.path(form.element)} form", form.matrix)


def set_closure(model: Elaborated, linear: LinearSet, rate: Vector, bias: Vector) -> Closure[Joint]:
    """The solved rows of a set; how far it is off its conditions is left to projection."""
    solved = linear.put_in(model, "solved", linear.solved)
    columns = {joint: ca.SX(solved[:, linear.columns(joint).tolist()]) for joint in linear.joints}
    return Closure(linear, (len(linear.dependent),), ca.SX(len(linear.dependent), 1), rate, bias, columns)


def trace_level(kinematics: Kinematics, linear: LinearSet, level: str, slopes: Sequence[Vector], laws: Laws) -> Vector:
    """Violation (level "residual"), its rate, or the bias of the solved rows of a set, from those of its forms.

    `slopes` are dh of measured forms, with which g becomes c q less its constant.
    """
    call, parts = kinematics.tracer.call, []
    for form, slope in zip(linear.forms, slopes, strict=True):
        path = kinematics.model.path(form.element)
        if not form.measured:
            parts.append(getattr(trace_closure(kinematics, form.element, laws), level))
        elif level == "residual":
            gap = trace_violation(kinematics, form.element, laws, level)
            parts.append(call(lambda g, h, k=form.rows[0]: _unless_flat(g[k], h[k]), gap, slope, path=path))
        elif level == "rate":
            speeds = [kinematics.v[joint] for joint in form.joints]
            matrix = form_matrix(kinematics.model, form)
            parts.append(call(lambda *v, m=matrix: m @ ca.vertcat(*v), *speeds, path=path))
        else:
            parts.append(ca.SX(len(form.rows), 1))
    combine = linear.put_in(kinematics.model, "combined", linear.combine)
    return call(lambda *values: combine @ ca.vertcat(*values), *parts)


def trial_speeds(model: Elaborated, form: Form) -> dict[Joint, Vector]:
    """Speeds, by joint, at which a measured form changes by one."""
    (row,) = form.matrix
    speeds = put_in(model, f"{model.path(form.element)} trial", (row / (row @ row))[:, None])
    ends = np.cumsum([0, *(joint.freedoms for joint in form.joints)]).tolist()
    return {joint: speeds[a:b, :] for joint, a, b in zip(form.joints, ends[:-1], ends[1:], strict=True)}


def _unless_flat(gap: Scalar, slope: Scalar) -> Scalar:
    """gap / slope, or zero where the condition does not say how far it is violated."""
    return ca.if_else(ca.fabs(slope) > 1e-9, gap / slope, 0)
