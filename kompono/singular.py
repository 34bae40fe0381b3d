"""Whether a run went over a place where the coordinates of a user's joint are none.

z = sqrt(1 - s^2) ends at s = 1, where a point on it still moves: there it moves infinitely fast with s. A step may end
beside that place and go on as if nothing was: the speed of s passes zero smoothly, and what the joint carries turns
round at once, or stays where it is for ever. No number need be wrong. So the records of a run are looked at: near such
a place the subspace of the joint is many times what it was, and its twist jumps by much where its own speeds hardly
change, or it never comes back. Joints of the library have no such place; those whose subspace divides by nothing and
has no root or power are not asked.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from kompono.model.joint import Joint

MANY = 30.0  # times the usual subspace: near a singular place
ENDLESS = 1e7  # times the usual subspace: on it
JUMP = 0.5  # of the greatest twist, between two records
QUIET = 0.05  # of the range of coordinates and speeds: what hardly changes
_OWN = "kompono."  # classes of this package
MOST = 100_000  # records that are looked at, the last ones
_SINGULAR = {
    ca.OP_DIV, ca.OP_INV, ca.OP_SQRT, ca.OP_POW, ca.OP_CONSTPOW, ca.OP_LOG, ca.OP_LOG1P, ca.OP_TAN, ca.OP_ATANH,
}  # fmt: skip


def singular(translation: Any, rows: np.ndarray, parameters: np.ndarray, events: Any) -> tuple[str, float] | None:
    """What to say of the first user's joint that passed a singular place, and when [s]; None if none did.

    `rows` are records (time, state..., inputs...), `events` their (time, name).
    """
    program, model = translation.program, translation.model
    places = {name: 1 + k for k, name in enumerate((*program.coordinates, *program.speeds))}
    rows = rows[-MOST:]
    for joint in model.joints:
        if type(joint).__module__.startswith(_OWN):
            continue
        path = model.path(joint)
        names = [f"{path}.{name}" for name in (*joint.coordinates, *joint.speed_names())]
        if len(rows) < 3 or not all(name in places for name in names):
            continue
        twist = _twist(joint, model.parameters)
        if twist is None or twist.size1_in(2) != len(parameters):
            continue
        count = len(joint.coordinates)
        columns = rows[:, [places[name] for name in names]]
        values = np.broadcast_to(parameters, (len(rows), len(parameters)))
        sizes, moved = (np.asarray(each) for each in twist(columns[:, :count].T, columns[:, count:].T, values.T))
        found = _found(rows[:, 0], columns, sizes.ravel(), moved.T, [float(event[0]) for event in events])
        if found is not None:
            where = ", ".join(f"{name} = {columns[found, k]:.6g}" for k, name in enumerate(names[:count]))
            fix = "take coordinates that are regular there, or keep away from there (limits=)"
            return f"{path}: its motion is singular where {where}: its pose has no rate there; {fix};", rows[found, 0]
    return None


def _twist(joint: Joint, parameters: Any) -> ca.Function | None:
    """Size of the subspace and twist of a joint at (q, v, parameters); None where it has no singular place."""
    q, v, p = ca.SX.sym("q", len(joint.coordinates)), ca.SX.sym("v", joint.freedoms), ca.SX.sym("p", len(parameters))
    subspace = ca.densify(ca.SX(joint.subspace(q)))
    if parameters:
        subspace = ca.substitute(subspace, ca.vertcat(*parameters), p)
    known = ca.symvar(ca.vertcat(q, p))
    if not ca.which_depends(ca.vec(subspace), q) or any(
        not any(ca.is_equal(symbol, other) for other in known) for symbol in ca.symvar(subspace)
    ):
        return None
    kernel = ca.Function("twist", [q, v, p], [ca.norm_fro(subspace), subspace @ v])
    if _SINGULAR.isdisjoint(kernel.instruction_id(k) for k in range(kernel.n_instructions())):
        return None
    return kernel


def _found(
    times: np.ndarray, columns: np.ndarray, sizes: np.ndarray, twists: np.ndarray, events: list[float]
) -> int | None:
    """The first record that is on a singular place, or right before it was passed."""
    usual = min(sizes[0], np.median(sizes)) or np.median(sizes)
    if not usual > 0:
        return None
    on = np.flatnonzero(~(sizes <= ENDLESS * usual))
    near = np.maximum(sizes[1:], sizes[:-1]) > MANY * usual
    spans = np.ptp(columns, axis=0)
    quiet = np.all(np.abs(np.diff(columns, axis=0)) <= QUIET * spans, axis=1)
    jumps = np.zeros(len(near), dtype=bool)
    for part in (twists[:, :3], twists[:, 3:]):
        greatest = np.linalg.norm(part, axis=1).max()
        jumps |= (greatest > 0) & (np.linalg.norm(np.diff(part, axis=0), axis=1) > JUMP * greatest)
    hit = np.searchsorted(times, events)  # the record behind each event
    quiet[np.clip(hit[hit > 0] - 1, 0, len(quiet) - 1)] = False
    passed = np.flatnonzero(near & quiet & jumps)
    both = [*on[:1].tolist(), *passed[:1].tolist()]
    return min(both) if both else None
