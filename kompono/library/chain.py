"""Several turns and slides one after the other, without bodies between them: robot files have such joints."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import casadi as ca
import numpy as np

from kompono.errors import ModelError
from kompono.given import numbers, shown, text
from kompono.model.body import Frame
from kompono.model.joint import Joint
from kompono.model.pairs import dotted
from kompono.spatial.pose import Pose
from kompono.spatial.rotation import Axis, about, constant_matrix, unit_axis

_STEPS = 'Use Chain(a, b, turn("yaw", "z"), slide("reach", "x", at=(0, 0, 0.1))).'


@dataclass(frozen=True, eq=False)
class Step:
    """One freedom of a chain: its coordinate, whether it turns, its axis, and its frame seen from the one before."""

    name: str
    turns: bool
    axis: np.ndarray
    place: Pose

    def pose(self, q: Any) -> Pose:
        """The frame behind the step seen from the one before it."""
        return self.place @ (Pose(rotation=about(self.axis, q)) if self.turns else Pose(ca.DM(self.axis) * q))


def turn(name: str, axis: Axis = "z", *, at: Any = (0, 0, 0), orientation: Any = None) -> Step:
    """A step of a `Chain` that turns by the angle `name` [rad] about `axis`, in a frame `at` a place [m] of the frame
    before it.
    """
    return _step(name, True, axis, at, orientation)


def slide(name: str, axis: Axis = "z", *, at: Any = (0, 0, 0), orientation: Any = None) -> Step:
    """A step of a `Chain` that slides by the displacement `name` [m] along `axis`, in a frame `at` a place [m] of the
    frame before it.
    """
    return _step(name, False, axis, at, orientation)


def _step(name: str, turns: bool, axis: Axis, at: Any, orientation: Any) -> Step:
    place = Pose(ca.DM(numbers(at, (3,), "the place", fix="at=(x, y, z)")), ca.DM(constant_matrix(orientation)))
    return Step(text(name, "the name", fix='Name it: turn("yaw", "z").'), turns, unit_axis(axis), place)


class Chain(Joint):
    """Turns and slides one after the other: `Chain(a, b, turn("yaw", "z"), turn("pitch", "y"), yaw=0.3)`.

    Coordinates have the names of the steps. It cannot close a loop: another joint of the loop does.
    """

    steps: tuple[Step, ...] = ()

    def __new__(cls, *given: Any, **_: Any) -> Any:
        steps = given[2:]
        if not steps or not all(isinstance(step, Step) for step in steps):
            raise ModelError(f"a chain of {shown(steps)}.", fix=_STEPS)
        return object.__new__(_kind(cls, tuple((step.name, step.turns) for step in steps)))

    def __init__(
        self, first: Frame, second: Frame, *steps: Step, limits: Any = None, restitution: Any = 0.0,
        **start: float | None,
    ) -> None:  # fmt: skip
        self.steps = steps
        super().__init__(first, second, start=dotted(start), limits=limits, restitution=restitution)

    def pose(self, q: Any) -> Pose:
        return _along(self.steps, q)

    def subspace(self, q: Any) -> Any:
        columns = []
        for k, step in enumerate(self.steps):
            rest = _along(self.steps[k + 1 :], q[k + 1 :])  # the second frame seen from behind the step
            axis, back = ca.DM(step.axis), ca.SX(rest.rotation).T
            linear = back @ (ca.cross(axis, ca.SX(rest.position)) if step.turns else axis)
            columns.append(ca.vertcat(linear, back @ axis if step.turns else ca.SX(3, 1)))
        return ca.horzcat(*columns)


def _along(steps: tuple[Step, ...], q: Any) -> Pose:
    pose = Pose.constant()
    for k, step in enumerate(steps):
        pose = pose @ step.pose(q[k])
    return pose


@cache
def _kind(base: type[Chain], names: tuple[tuple[str, bool], ...]) -> type[Chain]:
    """The class of chains with these coordinates."""
    units = tuple("rad" if turns else "m" for _, turns in names)
    own = {"coordinates": tuple(name for name, _ in names), "units": units, "__module__": base.__module__}
    return type(base.__name__, (base,), {**own, "__new__": lambda cls, *_, **__: object.__new__(cls)})
