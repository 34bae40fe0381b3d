"""Whether the laws of a joint agree with one another, at a few points.

`pose` and `rate` say what a joint is. What else it declares must say the same: its rotation is one, its rate keeps the
coordinates where `normalize` wants them, its subspace is the twist they make, its conditions vanish at its poses and
take away all it does not leave free, and `measure` finds the coordinates of a pose again. A contradiction would give
another motion in the tree than in a loop, or on another engine, without a word. Joints with fewer speeds than
coordinates (rolling) pass: conditions are of positions, so they count the freedoms of the pose.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import casadi as ca
import numpy as np

from kompono.errors import ModelError
from kompono.model.event import Mode
from kompono.model.joint import Joint, derived_subspace, derived_subspace_rate
from kompono.spatial.pose import Pose, pose_jacobian, symbolic_pose
from kompono.translate.declared.elaborate import Elaborated
from kompono.translate.declared.law_checks import different, is_users

POINTS = 3
SPREAD = (0.2, 0.5)  # how far coordinates are from the neutral ones, to either side [rad, m]
NORMALIZING = 12  # a joint's `normalize` may be one step of an iteration
CLOSE = 1e-8  # what laws may differ by, relative to their size
RANK = 1e-6  # singular values below this share of the largest are zero


def check_joints(model: Elaborated) -> None:
    """Raise ModelError where the laws of a user's joint contradict, with what disagrees and by how much."""
    for joint in filter(is_users, different(model.joints)):
        problem = contradiction(joint, (*model.parameters, *model.modes))
        if problem:
            message, fix = problem
            raise ModelError(f"{type(joint).__name__}: {message}.", path=model.path(joint), fix=fix)


def contradiction(joint: Joint, signals: Sequence[Any] = ()) -> tuple[str, str] | None:
    """What the laws of a joint disagree in and how to mend it; parameters and modes have their declared values."""
    laws = _laws(joint, signals)
    if isinstance(laws, str):
        return f"its laws use {laws!r}, which is no signal they may depend on", "Use q, v and tunable parameters."
    generator = np.random.default_rng(1)
    values = [signal.start if isinstance(signal, Mode) else signal.value for signal in signals]
    neutral = np.asarray(joint.neutral(), dtype=float)
    for _ in range(POINTS):
        q = neutral + generator.uniform(*SPREAD, len(neutral)) * generator.choice([-1.0, 1.0], len(neutral))
        for _ in range(NORMALIZING if type(joint).normalize is not Joint.normalize else 0):
            q = np.asarray(ca.DM(joint.normalize(ca.DM(q)))).ravel()
        v = generator.uniform(-1, 1, joint.freedoms)
        found = {name: np.asarray(value) for name, value in laws(q=q, v=v, s=values).items()}
        problem = _problem(found)
        if problem:
            at = ", ".join(f"{name} = {x:.3g}" for name, x in zip(joint.coordinates, q, strict=True))
            return f"{problem[0]} (at {at})" if at else problem[0], problem[1]
    return None


def _laws(joint: Joint, signals: Sequence[Any]) -> ca.Function | str:
    """All laws at coordinates q and speeds v, with values s of the signals; or the name of a symbol that is none of
    these.
    """
    q, v, s = ca.SX.sym("q", len(joint.coordinates)), ca.SX.sym("v", joint.freedoms), ca.SX.sym("s", len(signals))
    q_dot = _dense(joint.rate(q, v))
    declared = joint.pose(q)
    pose = Pose(_dense(declared.position), _dense(declared.rotation))
    turning = pose.rotation.T @ ca.reshape(ca.jtimes(ca.vec(pose.rotation), q, q_dot), 3, 3)
    outputs: dict[str, Any] = {
        "rotation": pose.rotation,
        "stretch": turning + turning.T,
        "off": ca.jtimes(_dense(joint.normalize(q)), q, q_dot) - q_dot,
        "subspace": ca.SX(joint.subspace(q)),
        "derived": derived_subspace(joint, q),
        "bias": _dense(joint.subspace_rate(q, v)),
        "derived_bias": derived_subspace_rate(joint, q, v),
        "free": _twists(pose, q),
    }
    outputs |= _closing(joint, pose, q)
    names, expressions = list(outputs), [ca.densify(ca.SX(value)) for value in outputs.values()]
    if signals:
        expressions = ca.substitute(expressions, [ca.vertcat(*signals)], [s])
    known = {symbol.element_hash() for symbol in ca.symvar(ca.vertcat(q, v, s))}
    for symbol in ca.symvar(ca.veccat(*expressions)):
        if symbol.element_hash() not in known:
            return symbol.name()
    return ca.Function("laws", [q, v, s], expressions, ["q", "v", "s"], names)


def _closing(joint: Joint, pose: Pose, q: Any) -> dict[str, Any]:
    """Conditions and measured pose, at the pose itself."""
    general, found = symbolic_pose(), {}
    groups, measured = joint.conditions(general), joint.measure(general)
    if groups is not None:
        g = ca.densify(ca.vertcat(ca.SX(0, 1), *[ca.vec(ca.SX(group)) for group in groups]))
        found |= {"conditions": g, "matrix": pose_jacobian(g, general)}
    if measured is not None:
        again = joint.pose(_dense(measured))
        found["again"] = ca.vertcat(ca.SX(again.position), ca.vec(ca.SX(again.rotation)))
    old = ca.vertcat(general.position, ca.vec(general.rotation))
    new = ca.vertcat(pose.position, ca.vec(pose.rotation))
    values = ca.substitute([ca.densify(ca.SX(value)) for value in found.values()], [old], [new])
    result = dict(zip(found, values, strict=True))
    if measured is not None:
        result["again"] = result["again"] - new
    return result


def _twists(pose: Pose, q: Any) -> Any:
    """Velocity and angular velocity (6, nq) of the second frame in first-frame axes per unit of each rate of q."""
    columns = []
    for k in range(q.numel()):
        turned = ca.reshape(ca.jacobian(ca.vec(pose.rotation), q[k]), 3, 3) @ pose.rotation.T
        columns.append(ca.vertcat(ca.jacobian(pose.position, q[k]), turned[2, 1], turned[0, 2], turned[1, 0]))
    return ca.horzcat(*columns) if columns else ca.SX(6, 0)


def _dense(value: Any) -> ca.SX:
    return ca.densify(ca.SX(value))


def _problem(found: dict[str, np.ndarray]) -> tuple[str, str] | None:
    """The first disagreement at one point; what is not a number there says nothing."""
    turn = found["rotation"]
    if _off(turn.T @ turn, np.eye(3)) or _off(np.linalg.det(turn), 1.0):
        size = np.abs(turn.T @ turn - np.eye(3)).max()
        fix = "A matrix of small angles is none; make it of ca.sin and ca.cos, or of a unit quaternion."
        return f"the rotation of pose(q) is none: R^T R differs from 1 by {size:.3g}", fix
    if _off(found["off"], 0.0):
        size = np.abs(found["off"]).max()
        fix = "A unit quaternion's rate is across it; check rate(q, v) and normalize(q)."
        return f"rate(q, v) leaves what normalize(q) keeps, by {size:.3g} per unit of speed", fix
    if _off(found["stretch"], 0.0):
        size = np.abs(found["stretch"]).max()
        fix = "Check rate(q, v) against pose(q)."
        return f"the rate of the rotation of pose(q) is no turning, by {size:.3g} per unit of speed", fix
    fix = "Leave it out to have it derived; it is the twist (v, w) of the second frame in its own axes."
    for name, law in (("", "subspace(q)"), ("_bias", "subspace_rate(q, v)")):
        given, derived = found["bias" if name else "subspace"], found[f"derived{name}"]
        if _off(given, derived):
            size = np.abs(given - derived).max()
            return f"{law} contradicts pose(q) and rate(q, v) by {size:.3g}", fix
    return _closing_problem(found)


def _closing_problem(found: dict[str, np.ndarray]) -> tuple[str, str] | None:
    if "conditions" in found and _off(found["conditions"], 0.0):
        size = np.abs(found["conditions"]).max()
        fix = "They are zero wherever the joint can be: check conditions(pose) against pose(q)."
        return f"conditions(pose) do not vanish at a pose of the joint: {size:.3g}", fix
    if "conditions" in found and np.isfinite(found["matrix"]).all() and np.isfinite(found["free"]).all():
        held, free = _rank(found["matrix"]), _rank(found["free"])
        if held + free != 6:
            fix = f"Write {6 - free} independent ones, not squared: their derivatives count."
            return f"conditions(pose) take away {held} freedoms, pose(q) leaves {free} of 6", fix
    if "again" in found and _off(found["again"], 0.0):
        size = np.abs(found["again"]).max()
        fix = "measure(pose) gives the coordinates whose pose that is, angles modulo a turn."
        return f"measure(pose) is not the inverse of pose(q): the pose of what it measures differs by {size:.3g}", fix
    return None


def _off(given: Any, wanted: Any) -> bool:
    """Whether numbers differ by more than rounding; where any is not a number nothing is said."""
    difference = np.abs(np.asarray(given) - np.asarray(wanted))
    if not difference.size or not np.isfinite(difference).all():
        return False
    return bool(difference.max() > CLOSE * (1 + np.abs(np.asarray(given)).max()))


def _rank(matrix: np.ndarray) -> int:
    if not matrix.size:
        return 0
    sizes = np.linalg.svd(matrix, compute_uv=False)
    return int((sizes > RANK * max(sizes[0], 1e-300)).sum()) if sizes[0] > 1e-12 else 0
