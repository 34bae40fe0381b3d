"""Bodies, grounds and the frames fixed to them.

The frame of a body is its centre of mass. `body.at(x, y, z, orientation=...)` is a frame fixed on it: the one connector
joints, constraints and forces use. A body or frame also offers its motion as symbols (`position`, `velocity`,
`acceleration`, `angular_velocity`, world axes) for force laws and outputs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import isfinite
from typing import Any

import casadi as ca
import numpy as np

from kompono.errors import ModelError
from kompono.model.element import Element
from kompono.model.shape import Shape, shapes_of
from kompono.model.symbol import Symbol
from kompono.spatial.pose import Pose
from kompono.spatial.rotation import constant_matrix, quaternion_matrix, unit_quaternion
from kompono.spatial.vectors import check_inertia

SIGNALS = ("position", "velocity", "acceleration", "angular_velocity", "angular_acceleration")


@dataclass(frozen=True)
class MassProperties:
    """Mass [kg] and inertia tensor (3, 3) [kg m^2] about the centre of mass, in body axes; `shape` is for viewers."""

    mass: Any
    inertia: Any
    shape: tuple[str, dict[str, Any]] | None = None


_HERE = Pose.constant()  # shared by all bodies: models may have many


class Frame:
    """A frame fixed on a body: `position` in body axes from the centre of mass [m] and a constant orientation."""

    def __init__(self, body: Carrier, pose: Pose) -> None:
        self.body = body
        self.pose = pose
        self._signals: dict[str, ca.SX] = {}

    def _signal(self, kind: str) -> ca.SX:
        if kind not in self._signals:
            self._signals[kind] = Symbol.column(kind, 3)
            self.body._note_signals(self)
        return self._signals[kind]

    @property
    def position(self) -> ca.SX:
        """Position in the world [m], three symbols."""
        return self._signal("position")

    @property
    def velocity(self) -> ca.SX:
        """Velocity in the world [m/s], three symbols."""
        return self._signal("velocity")

    @property
    def acceleration(self) -> ca.SX:
        """Acceleration in the world [m/s^2], three symbols; for outputs only."""
        return self._signal("acceleration")

    @property
    def angular_velocity(self) -> ca.SX:
        """Angular velocity [rad/s] in world axes, three symbols."""
        return self._signal("angular_velocity")

    @property
    def angular_acceleration(self) -> ca.SX:
        """Angular acceleration [rad/s^2] in world axes, three symbols; for outputs only."""
        return self._signal("angular_acceleration")


class Carrier(Element, Frame, abstract=True):
    """What frames can be fixed on: a body or a ground. It is itself the frame at its centre."""

    shape: tuple[Shape, ...] | None

    def __init__(self) -> None:
        Frame.__init__(self, self, _HERE)
        self._frames_with_signals: list[Frame] = []

    def at(self, *position: Any, orientation: Any = None) -> Frame:
        """The frame at `position` (x, y, z) [m] in body axes; orientation: a quaternion (4,) or matrix (3, 3)."""
        point: Any = position[0] if len(position) == 1 else position
        if len(position) == 3 and type(position[0]) is type(position[1]) is type(position[2]) is float:
            place: Any = _point(*position)
        elif isinstance(point, ca.SX) or any(isinstance(x, ca.SX) for x in point):
            place = ca.SX(point) if isinstance(point, ca.SX) else ca.vertcat(*point)
        else:
            vector = np.asarray(point, dtype=float)
            place = _point(*vector.tolist()) if vector.shape == (3,) else None
        if place is None:
            raise ModelError(f"{point!r} is not a point.", path=self.label, fix="Use body.at(x, y, z).")
        turned = _HERE.rotation if orientation is None else ca.DM(constant_matrix(orientation))
        return Frame(self, Pose(place, turned))

    def _note_signals(self, frame: Frame) -> None:
        if not any(frame is known for known in self._frames_with_signals):
            self._frames_with_signals.append(frame)


class Body(Carrier):
    """A rigid body. `Body(solids.box(...))`, or `Body(mass=..., inertia=...)` with moments (3,) or a tensor (3, 3).

    `start_*` place an independent body (one no joint chain leads to a ground) at the start: position [m], orientation
    (quaternion), velocity [m/s], angular velocity [rad/s], all in the world. `shape` (one or several, see
    `kompono.library.shapes`) is what viewers draw, if not the solid.
    """

    def __init__(
        self,
        solid: MassProperties | None = None,
        *,
        mass: Any = None,
        inertia: Any = None,
        start_position: Any = None,
        start_orientation: Any = None,
        start_velocity: Any = None,
        start_angular_velocity: Any = None,
        shape: Any = None,
    ) -> None:
        super().__init__()
        self.shape = shapes_of(shape, "Body")
        if solid is None:
            if mass is None or inertia is None:
                raise ModelError(
                    "a body needs mass properties.", fix="Body(solids.sphere(...)) or Body(mass=, inertia=)"
                )
            solid = MassProperties(mass, tensor(inertia))
        self.solid = solid
        self.start_position = _start("position", start_position)
        self.start_orientation = (
            np.array([1.0, 0.0, 0.0, 0.0]) if start_orientation is None else unit_quaternion(start_orientation)
        )
        self.start_velocity = _start("velocity", start_velocity)
        self.start_angular_velocity = _start("angular_velocity", start_angular_velocity)

    def _check(self, where: str) -> None:
        mass, inertia = self.solid.mass, self.solid.inertia
        if isinstance(mass, ca.SX) or isinstance(inertia, ca.SX):
            return
        tensor = np.asarray(inertia, dtype=float)
        problem = _problem(float(mass), tensor.shape, tensor.tobytes())
        if problem:
            raise ModelError(
                f"{problem}.", path=where, fix="Check mass [kg] and inertia [kg m^2] about the centre of mass."
            )


@lru_cache(maxsize=1024)
def _point(x: float, y: float, z: float) -> ca.DM | None:
    """Three numbers as a column, None if one is not finite; models may have many equal ones."""
    return ca.DM([x, y, z]) if isfinite(x) and isfinite(y) and isfinite(z) else None


@lru_cache(maxsize=256)
def _problem(mass: float, shape: tuple[int, ...], inertia: bytes) -> str:
    """What is wrong with mass properties; models may have many equal ones."""
    return check_inertia(mass, np.frombuffer(inertia).reshape(shape))


def _start(kind: str, given: Any) -> np.ndarray:
    if given is None:
        return np.zeros(3)
    vector = np.asarray(given, dtype=float)
    if vector.shape != (3,) or not np.all(np.isfinite(vector)):
        raise ModelError(f"start_{kind} {given!r} is not three finite numbers.", fix=f"Use start_{kind}=(x, y, z).")
    return vector


def tensor(inertia: Any) -> Any:
    """Inertia tensor (3, 3) from three moments or a tensor, of numbers or symbols."""
    if isinstance(inertia, ca.SX):
        return ca.diag(inertia) if inertia.shape == (3, 1) else inertia
    if any(isinstance(entry, ca.SX) for entry in np.ravel(np.asarray(inertia, dtype=object))):
        return ca.diag(ca.vertcat(*inertia))
    array = np.asarray(inertia, dtype=float)
    return np.diag(array) if array.ndim == 1 else array


class Ground(Carrier):
    """A body whose motion is prescribed: at rest, or `position` and `orientation` as expressions of `time`.

    orientation: a constant quaternion or matrix, or four SX expressions that form a unit quaternion at all times.
    `shape` is what viewers draw, as of a body.
    """

    def __init__(self, position: Any = (0.0, 0.0, 0.0), *, orientation: Any = None, shape: Any = None) -> None:
        super().__init__()
        self.shape = shapes_of(shape, "Ground")
        entries = [] if orientation is None or isinstance(orientation, ca.SX) else list(orientation)
        if isinstance(orientation, ca.SX) or any(isinstance(e, ca.SX) for e in entries):
            turned = quaternion_matrix(orientation if isinstance(orientation, ca.SX) else ca.vertcat(*entries))
        else:
            turned = ca.DM(constant_matrix(orientation))
        place = position if isinstance(position, ca.SX) else ca.vertcat(*position)
        self.motion = Pose(ca.SX(place), ca.SX(turned))
