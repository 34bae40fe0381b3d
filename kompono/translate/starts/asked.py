"""What is asked of the start, as plain numbers and names: the product of `start_state`, the task of the assembly."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

BODY = 1  # firmness of what was asked of a body; 0: not asked for. Joints and the call are above it.


@dataclass(frozen=True)
class AskedJoint:
    """Start values of a joint that closes a loop: they can only be measured.

    `names`, `values` and `given` (firmness) are of its coordinates and then its speeds; `units` and `quaternion` of its
    coordinates; `place` and `speed_place` say where it stands in q and s of the routine `measured`.
    """

    names: tuple[str, ...]
    values: np.ndarray
    given: np.ndarray
    units: tuple[str, ...]
    quaternion: tuple[bool, ...]
    place: int
    speed_place: int


@dataclass(frozen=True)
class AskedBody:
    """The start of a body in the world by kind (position [m], orientation, velocity [m/s], angular_velocity [rad/s]).

    `number` is its place among the bodies, `root` where its coordinates and speeds begin in q and v if it is placed in
    the world by them; `level`: its speeds are in world axes.
    """

    path: str
    number: int
    values: Mapping[str, np.ndarray]
    root: tuple[int, int] | None
    level: bool = False


def _no_units() -> tuple[str, ...]:
    return ()


@dataclass(frozen=True)
class RowNames:
    """Names of the conditions: the element of each row, whether it couples coordinates instead of closing a loop, the
    element of each entry of `holds`, and the unit of each row, found when asked for.
    """

    elements: tuple[str, ...] = ()
    coupling: tuple[bool, ...] = ()
    holds: tuple[str, ...] = ()
    units: Callable[[], tuple[str, ...]] = _no_units


@dataclass(frozen=True)
class AskedStart:
    """State (q, v, modes, own states) before assembly, how firmly each entry of q and v was given (0: not), and units
    of q; `neutral` is q where nothing is given.

    `joints` and `bodies` is what was asked beside it, `unused` what cannot be used, in words; `called` says that
    coordinates were given in the call.
    """

    state: np.ndarray
    given_coordinates: np.ndarray
    given_speeds: np.ndarray
    units: tuple[str, ...]
    neutral: np.ndarray
    joints: tuple[AskedJoint, ...] = ()
    bodies: tuple[AskedBody, ...] = ()
    unused: tuple[str, ...] = ()
    called: bool = False
    rows: RowNames = field(default_factory=RowNames)
