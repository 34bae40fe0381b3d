"""Coordinates of joints whose bodies were placed in the world, as CAD systems do: measured between the two places."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from kompono.model.body import Body, Carrier, Frame, Ground
from kompono.model.joint import Joint
from kompono.model.signal import time
from kompono.spatial.pose import Pose
from kompono.spatial.rotation import quaternion_matrix
from kompono.translate.engines.engine import Engine

CLOSE = 1e-6  # how well bodies of which only the position was given must fit a joint to be taken as not turned


def coordinates_of_bodies(engine: Engine) -> dict[Joint, np.ndarray]:
    """Coordinates (nq) by joint, for joints of the tree between bodies with a start, or such a body and a ground.

    Bodies without `start_orientation` count as not turned if that fits the joint.
    """
    found = {}
    for link in engine.topology.links:
        joint, body = link.joint, link.carrier
        if joint is None or link.independent or not joint.coordinates or not _placed(body):
            continue
        beside = joint.owner is None  # what floats beside a base, which is where it is by default
        if not (_placed(link.parent) or not isinstance(link.parent, Body) or beside):
            continue
        ends = _frame_pose(joint.first), _frame_pose(joint.second)
        if ends[0] is None or ends[1] is None:
            continue
        between = ends[0].inverse() @ ends[1]
        measured = joint.measure(Pose(ca.SX(between.position), ca.SX(between.rotation)))
        q = None if measured is None else _numbers(measured)
        if q is None or not np.isfinite(q).all():
            continue
        sure = all("orientation" in c.given_start for c in (body, link.parent) if isinstance(c, Body))
        if sure or _fits(joint, q.ravel(), between):
            found[joint] = q.ravel()
    return found


def _placed(carrier: Carrier) -> bool:
    return isinstance(carrier, Body) and "position" in carrier.given_start


def _fits(joint: Joint, q: np.ndarray, pose: Pose) -> bool:
    found = joint.pose(ca.DM(q))
    parts = (found.position, pose.position), (found.rotation, pose.rotation)
    numbers = [_numbers(a - b) for a, b in parts]
    return all(change is not None and np.abs(change).max() < CLOSE for change in numbers)


def _frame_pose(frame: Frame) -> Pose | None:
    """A frame in the world as its carrier was placed; None where that depends on parameters."""
    carrier = frame.body
    if isinstance(carrier, Body):
        place = Pose(ca.DM(carrier.start_position), ca.DM(quaternion_matrix(carrier.start_orientation)))
    else:
        assert isinstance(carrier, Ground)
        place = carrier.motion
    pose = place @ frame.pose
    position, rotation = _numbers(pose.position), _numbers(pose.rotation)
    return None if position is None or rotation is None else Pose(ca.DM(position), ca.DM(rotation))


def _numbers(value: Any) -> np.ndarray | None:
    """An expression at time 0 as numbers (dense); None if it depends on anything else."""
    column = ca.densify(ca.SX(value))
    if not column.is_constant():
        column = ca.substitute(column, time, ca.SX(0))
        if ca.symvar(column):
            return None
    return np.asarray(ca.evalf(column).full())
