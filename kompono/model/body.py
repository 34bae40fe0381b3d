"""Bodies, grounds and the frames fixed to them.

The frame of a body is its centre of mass. `body.at(x, y, z, orientation=...)` is a frame fixed on it: the one connector
joints, constraints and forces use. A body or frame also offers its motion as symbols (`position`, `velocity`,
`acceleration`, `angular_velocity`, world axes) for force laws and outputs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import casadi as ca
import numpy as np

from kompono.errors import ModelError
from kompono.given import column, entries_of, has_symbols, number, numbers, scalar, shown
from kompono.model.element import Element
from kompono.model.shape import Shape, shapes_of
from kompono.model.surface import Surfaces
from kompono.model.symbol import Symbol
from kompono.spatial.pose import Pose
from kompono.spatial.rotation import constant_matrix, quaternion_matrix
from kompono.spatial.turns import constant_quaternion
from kompono.spatial.vectors import check_inertia

STARTS = ("position", "orientation", "velocity", "angular_velocity")
SIGNALS = ("position", "velocity", "acceleration", "angular_velocity", "angular_acceleration")


@dataclass(frozen=True)
class MassProperties:
    """Mass [kg] and inertia tensor (3, 3) [kg m^2] about the centre of mass, in body axes; `shape` is for viewers."""

    mass: Any
    inertia: Any
    shape: tuple[str, dict[str, Any]] | None = None

    def __post_init__(self) -> None:
        fix = "Give a number or a tunable parameter [kg]."
        if type(self.mass) is not float:
            known = isinstance(self.mass, ca.SX) and not self.mass.is_constant()
            mass = scalar(self.mass, "mass", fix=fix) if known else number(self.mass, "mass", finite=False, fix=fix)
            object.__setattr__(self, "mass", mass)
        object.__setattr__(self, "inertia", tensor(self.inertia))


_PROPERTIES = "Body(solids.sphere(...)) or Body(mass=..., inertia=...)"
_HERE = Pose.constant()  # shared by all bodies: models may have many


class Frame(Surfaces):
    """A frame fixed on a body: `position` in body axes from the centre of mass [m] and a constant orientation."""

    def __init__(self, body: Carrier, pose: Pose, origin: Frame | None = None) -> None:
        self.body = body
        self.pose = pose
        self._origin = origin  # the frame it was placed from
        self._signals: dict[str, ca.SX] = {}

    def at(self, *position: Any, orientation: Any = None) -> Frame:
        """The frame at `position` (x, y, z) [m] from here, in these axes (those of the body, if it is a body);
        orientation: a quaternion (4,) or matrix (3, 3). Who may use this frame may use that one.
        """
        fix, point = "Use body.at(x, y, z).", position[0] if len(position) == 1 else position
        try:
            if has_symbols(point):
                vector: Any = column(point, 3, "the point", fix=fix)
            else:
                vector = ca.DM(numbers(point, (3,), "the point", fix=fix).tolist())
        except ModelError as error:
            message = f"{shown(point)} is not a point."
            raise ModelError(message, path=self.body.label, fix=error.fix or fix) from None
        try:
            turned = _HERE.rotation if orientation is None else ca.DM(constant_matrix(orientation))
        except ModelError as error:
            raise error.at(f"{self.body.label}.at") from None
        placed = Pose(vector, turned)
        return Frame(self.body, placed if self.body is self else self.pose @ placed, self)

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
        """Acceleration in the world [m/s^2], three symbols; for outputs and events only."""
        return self._signal("acceleration")

    @property
    def angular_velocity(self) -> ca.SX:
        """Angular velocity [rad/s] in world axes, three symbols."""
        return self._signal("angular_velocity")

    @property
    def angular_acceleration(self) -> ca.SX:
        """Angular acceleration [rad/s^2] in world axes, three symbols; for outputs and events only."""
        return self._signal("angular_acceleration")


def check_frames(element: Element, *given: Any, does: str = "connects two frames") -> None:
    """Raise ModelError for what an element shall sit on and is no frame."""
    for each in given:
        if not isinstance(each, Frame):
            inside = " Of a subsystem, use a body that it exposes." if hasattr(each, "exposed") else ""
            message = f"{type(element).__name__} {does}, and {shown(each)} is none."
            raise ModelError(message, fix=f"Use body or body.at(x, y, z).{inside}")


class Carrier(Element, Frame):
    """What frames can be fixed on: a body or a ground. It is itself the frame at its centre."""

    shape: tuple[Shape, ...] | None

    def __init__(self) -> None:
        Frame.__init__(self, self, _HERE)
        self._frames_with_signals: list[Frame] = []

    def _note_signals(self, frame: Frame) -> None:
        if not any(frame is known for known in self._frames_with_signals):
            self._frames_with_signals.append(frame)


_UNTOUCHED = (np.zeros(3).tobytes(), np.array([1.0, 0, 0, 0]).tobytes())  # starts nobody gave, to be known quickly


class Body(Carrier):
    """A rigid body. `Body(solids.box(...))`, or `Body(mass=..., inertia=...)` with moments (3,) or a tensor (3, 3).

    `start_*` place a body at the start: position [m], orientation (quaternion or matrix), velocity [m/s], angular
    velocity [rad/s], all in the world. A body that no joint chain leads to a ground starts there; joints of others
    start where their bodies are nearest to it, unless they have start values of their own. `shape` (one or several,
    see `kompono.library.shapes`) is what viewers draw, if not the solid.
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
                raise ModelError("a body needs mass properties.", fix=_PROPERTIES)
            solid = MassProperties(mass, inertia)
        elif not isinstance(solid, MassProperties) or mass is not None or inertia is not None:
            other = shown(solid) if not isinstance(solid, MassProperties) else "a solid together with mass or inertia"
            raise ModelError(f"{other} is not what a body is made of.", fix=_PROPERTIES)
        self.solid = solid
        self.start_position = _start("position", start_position)
        self.start_orientation = constant_quaternion(start_orientation)
        self.start_velocity = _start("velocity", start_velocity)
        self.start_angular_velocity = _start("angular_velocity", start_angular_velocity)
        values = start_position, start_orientation, start_velocity, start_angular_velocity
        self._given = tuple(kind for kind, value in zip(STARTS, values, strict=True) if value is not None)

    def _vain(self) -> Mapping[str, str]:
        told = "Set .solid, e.g. to solids.sphere(...), or use a Parameter as mass or inertia."
        return dict.fromkeys(("mass", "inertia"), told)

    @property
    def given_start(self) -> tuple[str, ...]:
        """What of its start the user gave: names out of `STARTS`."""
        return tuple(kind for kind in STARTS if kind in self._given or self._differs(kind))

    def _differs(self, kind: str) -> bool:
        """Whether a start was set after the body was made."""
        value = getattr(self, f"start_{kind}")
        if value.tobytes() in _UNTOUCHED:
            return False
        return bool(value[0] != 1.0 or value[1:].any()) if kind == "orientation" else bool(value.any())

    def _check(self, where: str) -> None:
        mass, inertia = self.solid.mass, self.solid.inertia
        if isinstance(mass, ca.SX) or isinstance(inertia, ca.SX):
            return  # checked when parameters have values
        problem = _problem(mass, inertia.shape, inertia.tobytes())
        if problem:
            raise ModelError(
                f"{problem}.", path=where, fix="Check mass [kg] and inertia [kg m^2] about the centre of mass."
            )


def check_origin() -> None:
    """Raise ModelError if somebody has written into the pose that all bodies share, which is then put right."""
    position, rotation = _HERE.position.full(), _HERE.rotation.full()
    if position.any() or not np.array_equal(rotation, np.eye(3)):
        _HERE.position[:, :], _HERE.rotation[:, :] = np.zeros((3, 1)), np.eye(3)
        fix = "Give it another one: frame.pose = Pose.constant(position, rotation)."
        raise ModelError("the pose of a frame was changed in place, and frames share poses: all would move.", fix=fix)


@lru_cache(maxsize=256)
def _problem(mass: float, shape: tuple[int, ...], inertia: bytes) -> str:
    """What is wrong with mass properties; models may have many equal ones."""
    return check_inertia(mass, np.frombuffer(inertia).reshape(shape))


def _start(kind: str, given: Any) -> np.ndarray:
    if given is None:
        return np.zeros(3)
    return numbers(given, (3,), f"start_{kind}", fix=f"Use start_{kind}=(x, y, z).")


def tensor(inertia: Any) -> Any:
    """Inertia tensor (3, 3) from three moments or a tensor, of numbers (also impossible ones) or expressions."""
    if type(inertia) is np.ndarray and inertia.dtype == float:
        return np.diag(inertia) if inertia.ndim == 1 else inertia
    what, fix = "the inertia", "Give three moments or a 3x3 tensor [kg m^2], of numbers or tunable parameters."
    array = entries_of(inertia)
    symbolic = has_symbols(inertia)
    if array.shape not in ((3,), (3, 3)) and (symbolic or array.ndim == 0):
        raise ModelError(f"{what} {shown(inertia)} is not a 3x3 tensor.", fix=fix)
    if symbolic:
        column = ca.vertcat(*[scalar(entry, what, fix=fix) for entry in array.T.ravel().tolist()])
        return ca.diag(column) if array.ndim == 1 else ca.reshape(column, 3, 3)
    found = [number(entry, what, finite=False, fix=fix) for entry in array.ravel().tolist()]
    result = np.array(found, dtype=float).reshape(array.shape)
    return np.diag(result) if result.ndim == 1 else result


class Ground(Carrier):
    """A body whose motion is prescribed: at rest, or `position` and `orientation` as expressions of `time`.

    orientation: a quaternion or rotation matrix, of numbers or of SX expressions that form one at all times
    (`rotation("z", 2 * time)`).
    `shape` is what viewers draw, as of a body.
    """

    def __init__(self, position: Any = (0.0, 0.0, 0.0), *, orientation: Any = None, shape: Any = None) -> None:
        super().__init__()
        self.shape = shapes_of(shape, "Ground")
        place = column(position, 3, "the position", fix="Use (x, y, z), numbers or expressions of time.")
        turned = _moving_rotation(orientation) if has_symbols(orientation) else ca.SX(constant_matrix(orientation))
        self.motion = Pose(place, turned)


def _moving_rotation(orientation: Any) -> ca.SX:
    """Rotation matrix (3, 3) from a quaternion or matrix of expressions."""
    what, fix = "the orientation", "Use four components of a unit quaternion or a rotation matrix (3, 3)."
    entries = entries_of(orientation)
    if entries.shape == (3, 3):
        return ca.reshape(column(entries.T.ravel(), 9, what, fix=fix), 3, 3)
    return quaternion_matrix(column(orientation, 4, what, fix=fix))
