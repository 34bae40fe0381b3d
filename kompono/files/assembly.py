"""The one thing every reader makes: what a file says of a machine, in SI units and plain numbers, nothing decided yet.

Parts have mass and shape; instances put parts, or assemblies of parts, into place; connections hold them together:
joints that are sequences of turns and slides, and mates of points, lines and planes. The rest (couplings, springs,
actuators, named starts) speaks of joints by the names the file gives them. `where` is a place in the file for messages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kompono.files.place import Place
from kompono.model.shape import Shape

Path = tuple[str, ...]  # names of instances, from the outer to the inner; () is the assembly itself


def _vector() -> np.ndarray:
    return np.zeros(3)


def _tensor() -> np.ndarray:
    return np.zeros((3, 3))


@dataclass(frozen=True, eq=False)
class Part:
    """A rigid thing: mass [kg], `centre` (3) [m] of mass in its own frame, `inertia` (3, 3) [kg m^2] about that, in its
    own axes; shapes in its own frame; `origin` says where the mass comes from. Without mass it is a mere frame.
    """

    name: str
    mass: float = 0.0
    centre: np.ndarray = field(default_factory=_vector)
    inertia: np.ndarray = field(default_factory=_tensor)
    shapes: tuple[Shape, ...] = ()
    origin: str = "file"
    where: str = ""


@dataclass(frozen=True, eq=False)
class Instance:
    """A part or assembly, by its key, in its owner; `place` in the owner as drawn, None where joints tell.

    `fixed`: held in the frame of its owner. `motion`: velocity of its frame's origin and angular velocity (2, 3).
    """

    name: str
    of: str
    place: Place | None = None
    fixed: bool = False
    motion: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class End:
    """A frame on an instance (of an instance ...), or, with no path, on the assembly itself."""

    path: Path
    place: Place = field(default_factory=Place)


@dataclass(frozen=True, eq=False)
class Step:
    """One motion of a joint: `kind` (turn, slide, ball, cylinder, plane) about or along `axis` of a frame that is at
    `before` of the frame before it. `limits` and `start` are of its coordinate [rad, m].
    """

    kind: str
    name: str
    before: Place = field(default_factory=Place)
    axis: tuple[float, ...] = (0.0, 0.0, 1.0)
    limits: tuple[float | None, float | None] = (None, None)
    start: Any = 0.0  # of a ball a quaternion, if not upright


@dataclass(frozen=True, eq=False)
class Joined:
    """Two ends, the second behind all steps; with no steps it is firm. `merges`: firm parts become one body."""

    name: str
    first: End
    second: End
    steps: tuple[Step, ...] = ()
    merges: bool = False
    where: str = ""


@dataclass(frozen=True, eq=False)
class Geometry:
    """What a mate takes hold of: a point, line, plane, cylinder, circle, sphere or cone, in the frame of its part."""

    path: Path
    kind: str
    point: np.ndarray
    axis: np.ndarray
    radius: float | None = None


@dataclass(frozen=True, eq=False)
class Mate:
    """A condition as CAD systems draw it: coincident, concentric, distance, parallel, perpendicular, angle, tangent.

    `value` [m, rad] where the file has one; what it has not is as drawn.
    """

    name: str
    kind: str
    first: Geometry
    second: Geometry
    value: float | None = None
    where: str = ""


@dataclass(frozen=True)
class Coupled:
    """coordinate of `first` = polynomial (c0, c1, ...) of that of `second`; with no second it is c0."""

    name: str
    first: str
    second: str | None
    coefficients: tuple[float, ...]
    where: str = ""


@dataclass(frozen=True)
class Summed:
    """Sum of factors times coordinates = value."""

    name: str
    terms: tuple[tuple[str, float], ...]
    value: float = 0.0
    where: str = ""


@dataclass(frozen=True)
class Loaded:
    """What acts on the coordinate of a joint: spring [N m/rad, N/m] towards `rest`, damping, dry friction [N m, N],
    inertia that turns along with it [kg m^2, kg].
    """

    joint: str
    stiffness: float = 0.0
    damping: float = 0.0
    rest: float = 0.0
    friction: float = 0.0
    inertia: float = 0.0


@dataclass(frozen=True)
class Actuated:
    """A force gain u + bias (b0, b1, b2) of (1, x, x_dot), u a signal from outside, x the sum of `terms` (joint,
    factor); limits are None where there are none. With a `lag` u follows the signal so many seconds behind, with the
    lag 0 it is its sum over time, held in `level_limits`. One that is `strung` has a term of a rope instead; one with a
    `frame` pushes that along `load`: force [N] and torque [N m] (6) in its axes, for a force of one.
    """

    name: str
    terms: tuple[tuple[str, float], ...]
    gain: float = 1.0
    bias: tuple[float, float, float] = (0.0, 0.0, 0.0)
    control_limits: tuple[float, float] | None = None
    force_limits: tuple[float, float] | None = None
    unit: str = ""
    where: str = ""
    controlled: bool = True  # False: u is zero, it is a spring
    lag: float | None = None
    level_limits: tuple[float, float] | None = None
    strung: bool = False
    frame: End | None = None
    load: tuple[float, ...] = ()


@dataclass(frozen=True, eq=False)
class Pushed:
    """What carries the weight of a `mass` [kg] at a point of an instance, in its frame."""

    name: str
    path: Path
    point: np.ndarray
    mass: float


@dataclass(frozen=True, eq=False)
class Resisted:
    """What resists the motion of a frame in the world, along its axes: `linear` and `quadratic` in its velocity (less
    `wind`, world axes), the same two in its angular velocity, three numbers each.
    """

    name: str
    frame: End
    linear: tuple[float, ...] = (0.0, 0.0, 0.0)
    quadratic: tuple[float, ...] = (0.0, 0.0, 0.0)
    angular: tuple[float, ...] = (0.0, 0.0, 0.0)
    angular_quadratic: tuple[float, ...] = (0.0, 0.0, 0.0)
    wind: tuple[float, ...] = (0.0, 0.0, 0.0)


@dataclass(frozen=True, eq=False)
class Strung:
    """A rope through points, its spans weighed by factors: stiffness [N/m] beyond or below two lengths at rest [m],
    damping [N s/m], and lengths it is held between.
    """

    name: str
    points: tuple[End, ...]
    factors: tuple[float, ...]
    stiffness: float = 0.0
    damping: float = 0.0
    rest: tuple[float, float] = (0.0, 0.0)
    limits: tuple[float, float] | None = None
    where: str = ""


@dataclass(frozen=True)
class Bounded:
    """Sum of factors times coordinates between two limits."""

    name: str
    terms: tuple[tuple[str, float], ...]
    limits: tuple[float, float]
    where: str = ""


@dataclass(frozen=True, eq=False)
class Surfaced:
    """What may touch: a plane across z of `place`, sphere (radius), capsule or cylinder (radius, half its length along
    z) or box (half edges) about it, on an instance, or, with no path, on the assembly itself. Sizes are in [m].
    """

    path: Path
    kind: str
    place: Place = field(default_factory=Place)
    sizes: tuple[float, ...] = ()


@dataclass(frozen=True, eq=False)
class Touching:
    """Two that touch, rigid: anything on a plane, or a sphere on a sphere, with a coefficient of friction."""

    name: str
    first: Surfaced
    second: Surfaced
    friction: float = 0.0
    where: str = ""


@dataclass(frozen=True)
class Noted:
    """A line of the table: what became of something, e.g. ("ignored", "sensors", "12 of them")."""

    fate: str
    name: str
    told: str


Connection = Joined | Mate | Coupled | Summed


@dataclass(frozen=True, eq=False)
class Assembly:
    """Parts and assemblies by key, instances of them, connections between these, and what acts.

    `starts` are named sets of channel values by file name of the joint (numbers) or instance (a `Place`).
    """

    name: str
    parts: Mapping[str, Part | Assembly]
    instances: tuple[Instance, ...]
    connections: tuple[Connection, ...] = ()
    loads: tuple[Loaded, ...] = ()
    actuators: tuple[Actuated, ...] = ()
    pushes: tuple[Pushed, ...] = ()
    resisted: tuple[Resisted, ...] = ()
    strung: tuple[Strung, ...] = ()
    bounded: tuple[Bounded, ...] = ()
    touching: tuple[Touching, ...] = ()
    starts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    gravity: tuple[float, ...] | None = None
    notes: tuple[Noted, ...] = ()
    file: str = ""
    hints: tuple[str, ...] = ()  # what a file of Python shall say at its end; {0}, {1} are bodies
