"""Laws that can never act, because joints leave their bodies no such motion, are not unused in silence.

Nothing opens, closes or rubs between bodies that are one rigid body through joints without freedom: that is warned of
where there is a gap (a list of contacts may have such a pair, when something is held fast for once). And a law of
speeds alone (a clutch, a brake, a freewheel) has none if the joints between its bodies give none in its direction,
whatever they do: the shortest way through them is moved at random a few times; it is refused.
Loops may lock more than that; which freedoms they leave is judged where the machine is assembled.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import casadi as ca
import numpy as np

from kompono.errors import ModelError, ModelWarning, warn
from kompono.model.body import Body, Carrier, Frame
from kompono.model.joint import Joint
from kompono.model.law import PairLaw
from kompono.spatial.pose import Motion, Pose
from kompono.translate.declared.elaborate import Elaborated

POINTS = 3
ONE = "are one rigid body: nothing moves between them"
ACROSS = "never move against each other in that direction: their joints do not let them"
NONE = 1e-9  # speeds [m/s, rad/s] below this are none, where those of joints are about one

Way = list[tuple[Joint, bool]]  # joints, and whether each is gone through from its first frame to its second
_WORLD = object()  # all grounds that stand still are one


def check_idle(model: Elaborated) -> None:
    """Warn of laws with a gap between two bodies that are one; raise ModelError for the first of speeds that can never
    act.
    """
    laws = [law for law in model.laws if isinstance(law, PairLaw)]
    if not laws:
        return
    beside = _neighbours(model.joints)
    for law in laws:
        way = _way(beside, law.first.body, law.second.body)
        if way is None:
            continue
        rigid = not any(joint.freedoms for joint, _ in way)
        gaps = any(unit.gap is not None for unit in law._shapes())
        if rigid and gaps:
            warn(f"{model.path(law)}: it can never act: {_bodies(model, law)} {ONE}.", ModelWarning)
        elif rigid or (not gaps and not _moves(law, way)):
            fix = "Turn its axis, put it between bodies that move against each other, or leave it out."
            raise ModelError(
                f"it can never act: {_bodies(model, law)} {ONE if rigid else ACROSS}.", path=model.path(law), fix=fix
            )


def _bodies(model: Elaborated, law: PairLaw) -> str:
    return " and ".join(model.path(frame.body) for frame in (law.first, law.second))


def _place(body: Carrier) -> object:
    """What a body is for the way: itself, or the world."""
    if isinstance(body, Body):
        return body
    known = body.motion  # type: ignore[attr-defined]
    still = ca.SX(known.position).is_constant() and ca.SX(known.rotation).is_constant()
    return _WORLD if still else body


def _neighbours(joints: Any) -> dict[object, list[tuple[object, Joint, bool]]]:
    """Where joints lead from each body."""
    found: dict[object, list[tuple[object, Joint, bool]]] = {}
    for joint in joints:
        first, second = _place(joint.first.body), _place(joint.second.body)
        found.setdefault(first, []).append((second, joint, True))
        found.setdefault(second, []).append((first, joint, False))
    return found


def _way(beside: dict[object, list[tuple[object, Joint, bool]]], first: Carrier, second: Carrier) -> Way | None:
    """The way through the fewest joints with a freedom from one body to another; None if there is none."""
    start, end = _place(first), _place(second)
    before: dict[object, tuple[object, Joint, bool] | None] = {start: None}
    near, settled = deque([start]), set()
    cost = {start: 0}
    while near:
        here = near.popleft()
        if here in settled:
            continue
        settled.add(here)
        for there, joint, ahead in beside.get(here, ()):
            more = cost[here] + bool(joint.freedoms)
            if more < cost.get(there, len(beside) + 1):
                cost[there], before[there] = more, (here, joint, ahead)
                (near.append if joint.freedoms else near.appendleft)(there)
    if end not in settled:
        return None
    way: Way = []
    while (step := before[end]) is not None:
        end, joint, ahead = step
        way.append((joint, ahead))
    return way[::-1]


def _moves(law: PairLaw, way: Way) -> bool:
    """Whether speeds of a law are other than zero at any of a few random motions of the joints between."""
    generator = np.random.default_rng(7)
    for _ in range(POINTS):
        motion = _motion(law, way, generator)
        speeds = [part for unit in law.units_at(motion) for part in (unit.speed, unit.slip) if part is not None]
        found = _numbers(ca.vertcat(*[ca.vec(ca.SX(part)) for part in speeds]), generator)
        if not np.all(np.abs(found) <= NONE):  # what is no number there is not known to be idle
            return True
    return False


def _motion(law: PairLaw, way: Way, generator: np.random.Generator) -> Motion:
    """How the second frame of a law moves, seen from the first, at random coordinates and speeds."""
    turn, place, speed, spin = np.eye(3), np.zeros(3), np.zeros(3), np.zeros(3)

    def go(pose: tuple[np.ndarray, np.ndarray], linear: np.ndarray, angular: np.ndarray) -> None:
        """On to a frame at a pose seen from this one, whose motion against it [its axes] is given."""
        nonlocal turn, place, speed, spin
        arm = turn @ pose[0]
        turn = turn @ pose[1]
        place, speed, spin = place + arm, speed + np.cross(spin, arm) + turn @ linear, spin + turn @ angular

    def fixed(frame: Frame, *, out: bool) -> None:
        """On from a body to a frame of it, or back."""
        pose = _seen(frame, generator)
        go(pose if out else _back(pose), np.zeros(3), np.zeros(3))

    fixed(law.first, out=False)
    for joint, ahead in way:
        fixed(joint.first if ahead else joint.second, out=True)
        pose, twist = _joint_moves(joint, generator)
        linear, angular = twist[:3], twist[3:]
        if ahead:
            go(pose, linear, angular)
        else:  # the first frame against the second, in its own axes
            back = _back(pose)
            go(back, -pose[1] @ (linear + np.cross(angular, back[0])), -pose[1] @ angular)
        fixed(joint.second if ahead else joint.first, out=False)
    fixed(law.second, out=True)
    return Motion(ca.DM(place), ca.DM(turn), ca.DM(speed), ca.DM(spin))


def _joint_moves(joint: Joint, generator: np.random.Generator) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray]:
    """Pose and twist of a joint at random coordinates and speeds."""
    neutral = np.asarray(joint.neutral(), dtype=float)
    q = ca.DM(joint.normalize(ca.DM(neutral + generator.uniform(0.2, 0.5, len(neutral)))))
    v = ca.DM(generator.uniform(0.3, 1.0, joint.freedoms))
    twist = ca.SX(joint.subspace(q)) @ v
    values = _numbers(ca.vertcat(*_parts(joint.pose(q)), twist), generator)
    return (values[:3], values[3:12].reshape(3, 3, order="F")), values[12:]


def _seen(frame: Frame, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A frame seen from its body, or, of a ground, from the world."""
    pose = frame.pose
    if _place(frame.body) is _WORLD:
        pose = frame.body.motion @ pose  # type: ignore[attr-defined]
    values = _numbers(ca.vertcat(*_parts(pose)), generator)
    return values[:3], values[3:].reshape(3, 3, order="F")


def _parts(pose: Pose) -> list[Any]:
    return [ca.SX(pose.position), ca.vec(ca.SX(pose.rotation))]


def _back(pose: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    return -pose[1].T @ pose[0], pose[1].T


def _numbers(values: ca.SX, generator: np.random.Generator) -> np.ndarray:
    """Expressions as numbers; symbols in them, parameters and modes, are some number."""
    symbols = ca.symvar(values)
    some = [float(generator.uniform(0.3, 0.9)) for _ in symbols]
    return np.asarray(ca.DM(ca.substitute(values, ca.vertcat(*symbols), ca.DM(some)) if symbols else values)).ravel()
