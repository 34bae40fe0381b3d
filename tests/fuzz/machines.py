"""Random models, declared through a clerk that writes everything down and here and there hands over a wrong value."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import casadi as ca
import numpy as np
from fuzz.wrong_values import WRONG

from kompono import (
    Body,
    Constraint,
    Coupling,
    Effort,
    Event,
    Field,
    Force,
    Ground,
    Input,
    Joint,
    Mode,
    Motion,
    Output,
    Parameter,
    Pose,
    Sensor,
    Subsystem,
    Wrench,
    rotation,
    time,
)
from kompono.given import shown
from kompono.library import (
    AppliedLoad,
    Bushing,
    Cylindrical,
    Distance,
    Drive,
    Free,
    Gear,
    Gravity,
    JointEffort,
    ParallelAxes,
    Planar,
    PlaneToPlane,
    PointInPlane,
    PointOnLine,
    Prismatic,
    Revolute,
    RotationalSpringDamper,
    Screw,
    Spherical,
    SpringDamper,
    Universal,
    Weld,
    shapes,
    solids,
)
from kompono.spatial.rotation import about


class Clerk:
    """Calls constructors; each argument is replaced by a wrong value with probability `share`."""

    def __init__(self, seed: int, share: float) -> None:
        self.random = np.random.default_rng(seed)
        self.share = share
        self.calls: list[str] = []
        self.wrong = 0

    def value(self, value: Any, label: str) -> tuple[Any, str]:
        """The value, or a wrong one, and its name."""
        if self.random.random() >= self.share:
            return value, label
        name = str(self.random.choice(list(WRONG)))
        self.wrong += 1
        return WRONG[name](), f"<{name}>"

    def make(self, maker: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
        """Declare something."""
        given = [self.value(value, _label(value)) for value in arguments]
        named = {name: self.value(value, _label(value)) for name, value in keywords.items()}
        text = [label for _, label in given] + [f"{name}={label}" for name, (_, label) in named.items()]
        self.calls.append(f"{getattr(maker, '__qualname__', maker)}({', '.join(text)})")
        return maker(*[value for value, _ in given], **{name: value for name, (value, _) in named.items()})

    def pick(self, *choices: Any) -> Any:
        """One of them."""
        return choices[int(self.random.integers(len(choices)))]

    def number(self) -> float:
        """A size."""
        return float(self.random.uniform(0.1, 1.0))

    def point(self) -> tuple[float, ...]:
        """A place."""
        return tuple(self.random.uniform(-0.5, 0.5, 3).tolist())


def _label(value: Any) -> str:
    return shown(value) if isinstance(value, int | float | str | tuple | list | dict | None) else type(value).__name__


class OwnHinge(Joint):
    """A joint of a user; a law of it may be wrong."""

    coordinates = ("swing",)
    units = ("rad",)

    def __init__(self, first: Any, second: Any, *, axis: Any, wrong: Any = None, law: str = "", **start: Any) -> None:
        super().__init__(first, second, start=start)
        self.axis, self.wrong, self.law = axis, wrong, law

    def _given(self, law: str, right: Any) -> Any:
        return self.wrong if law == self.law else right

    def pose(self, q: Any) -> Any:
        turn = self._given("rotation", about(self.axis, q[0]))
        return self._given("pose", Pose(rotation=turn))

    def rate(self, q: Any, v: Any) -> Any:
        return self._given("rate", v)

    def subspace(self, q: Any) -> Any:
        return self._given("subspace", ca.vertcat(ca.SX(3, 1), ca.SX(ca.DM(self.axis))))

    def measure(self, pose: Pose) -> Any:
        return self._given("measure", None)

    def conditions(self, pose: Pose) -> Any:
        return self._given("conditions", None)

    def neutral(self) -> Any:
        return self._given("neutral", np.zeros(1))


class OwnForce(Force):
    """A force of a user; its law may be wrong."""

    def __init__(self, first: Any, second: Any = None, *, wrong: Any = None, law: str = "") -> None:
        super().__init__(first, second)
        self.wrong, self.law = wrong, law

    def wrench(self, motion: Motion) -> Any:
        if self.law == "if" and motion.position[0] > 0:
            return Wrench()
        if self.law == "wrench":
            return self.wrong
        return Wrench(force=self.wrong if self.law == "force" else -motion.position)

    def potential(self, motion: Motion) -> Any:
        return self.wrong if self.law == "potential" else ca.sumsqr(motion.position) / 2


class OwnEffort(Effort):
    """An effort of a user."""

    def __init__(self, joint: Any, *, wrong: Any = None, law: str = "") -> None:
        super().__init__(joint)
        self.wrong, self.law = wrong, law

    def effort(self, q: Any, v: Any) -> Any:
        return self.wrong if self.law == "effort" else -0.1 * v


class OwnField(Field):
    """A field of a user."""

    def __init__(self, wrong: Any = None, law: str = "") -> None:
        self.wrong, self.law = wrong, law

    def acceleration(self, position: Any) -> Any:
        return self.wrong if self.law == "acceleration" else -position


class OwnConstraint(Constraint):
    """A constraint of a user."""

    def __init__(self, first: Any, second: Any, wrong: Any = None, law: str = "") -> None:
        super().__init__(first, second)
        self.wrong, self.law = wrong, law

    def conditions(self, pose: Pose) -> Any:
        return {"": [pose.position[2]], "list": self.wrong, "entry": [self.wrong]}[self.law]


class OwnCoupling(Coupling):
    """A coupling of a user."""

    def __init__(self, *joints: Any, wrong: Any = None, law: str = "") -> None:
        super().__init__(*joints)
        self.wrong, self.law = wrong, law

    def conditions(self) -> Any:
        return {"": [self.joints[0].q[0] - 0.1], "list": self.wrong, "entry": [self.wrong]}[self.law]


class Machine(Subsystem):
    """Some bodies in a chain, loops, forces and signals, as the clerk wills."""

    def __init__(self, clerk: Clerk) -> None:
        self.clerk = clerk
        make = clerk.make
        self.stiffness = make(Parameter, 10.0, unit="N/m")
        self.push = self._input()
        self.mode = make(Mode, 0)
        self.ground = self._ground()
        self.gravity = make(Gravity, (0, 0, -9.81))
        self.bodies = [self._body() for _ in range(clerk.random.integers(1, 4))]
        self.joints = [self._joint(first, second) for first, second in self._chain()]
        self.extras = [self._extra() for _ in range(clerk.random.integers(0, 5))]

    def _chain(self) -> list[tuple[Any, Any]]:
        carriers = [self.ground, *self.bodies]
        return list(pairwise(carriers))

    def _input(self) -> Any:
        make = self.clerk.make
        return self.clerk.pick(
            lambda: make(Input, 0.0, unit="N"),
            lambda: make(Input, table=([0.0, 1.0], [0.0, 2.0])),
            lambda: make(Input, lambda t: 0.0, period=0.01),
        )()

    def _ground(self) -> Any:
        make = self.clerk.make
        turning = ca.vertcat(ca.cos(time), ca.sin(time), 0, 0)
        return self.clerk.pick(
            lambda: make(Ground),
            lambda: make(Ground, (0, 0, 1), orientation=make(rotation, "x", 0.1)),
            lambda: make(Ground, (ca.sin(time), 0, 0), orientation=turning),
        )()

    def _solid(self) -> Any:
        make, n = self.clerk.make, self.clerk.number
        size = self.stiffness * 0.1 if self.clerk.random.random() < 0.2 else n()
        return self.clerk.pick(
            lambda: make(solids.box, mass=n(), size=(n(), n(), n())),
            lambda: make(solids.cylinder, mass=n(), length=size, radius=0.1, axis="x"),
            lambda: make(solids.rod, mass=n(), length=size, radius=0.05),
            lambda: make(solids.tube, mass=n(), length=n(), radius=0.2, wall=0.05),
            lambda: make(solids.ring, mass=size, radius=n()),
            lambda: make(solids.sphere, mass=n(), radius=n()),
            lambda: make(solids.given, mass=n(), inertia=(0.1, 0.1, 0.1)),
        )()

    def _shape(self) -> Any:
        make, n = self.clerk.make, self.clerk.number
        return self.clerk.pick(
            lambda: None,
            lambda: make(shapes.box, (n(), n(), n())),
            lambda: make(shapes.cylinder, length=n(), radius=n(), axis=(0, 1, 0)),
            lambda: make(shapes.tube, length=n(), radius=n(), wall=0.01),
            lambda: make(shapes.cone, length=n(), radius=n(), top=0.1),
            lambda: make(shapes.sphere, n()),
            lambda: make(shapes.ellipsoid, (n(), n(), n())),
            lambda: make(shapes.ring, radius=n(), thickness=0.01),
            lambda: make(shapes.bar, (0, 0, 0), (1, 0, 0), 0.1),
            lambda: make(shapes.plate, [(0, 0), (1, 0), (0, 1)], 0.1, "z"),
            lambda: make(shapes.mesh, "none.stl", scale=1e-3) if self.clerk.share else None,
            lambda: make(make(shapes.sphere, 0.1).at, 0, 0, 1, orientation=(1, 0, 0, 0)),
            lambda: make(make(shapes.sphere, 0.1).coloured, "#0072b2", 0.5),
        )()

    def _body(self) -> Any:
        make, clerk = self.clerk.make, self.clerk
        start: dict[str, Any] = {}
        if clerk.random.random() < 0.4:
            start = {"start_position": clerk.point(), "start_orientation": (1, 0, 0, 0)}
        if clerk.random.random() < 0.3:
            start |= {"start_velocity": clerk.point(), "start_angular_velocity": clerk.point()}
        if clerk.random.random() < 0.3:
            return make(Body, mass=clerk.number(), inertia=clerk.pick((0.1, 0.1, 0.1), np.eye(3)), **start)
        return make(Body, self._solid(), shape=self._shape(), **start)

    def _frame(self, carrier: Any) -> Any:
        make, clerk = self.clerk.make, self.clerk
        return clerk.pick(
            lambda: carrier,
            lambda: make(carrier.at, *clerk.point()),
            lambda: make(carrier.at, clerk.point(), orientation=rotation("y", 0.3)),
            lambda: make(carrier.at, 0.01 * self.stiffness, 0, 0),
        )()

    def _joint(self, first: Any, second: Any) -> Any:
        make, clerk = self.clerk.make, self.clerk
        a, b = self._frame(first), self._frame(second)
        axis = clerk.pick("x", "y", "-z", (0, 0.6, 0.8))
        own = str(clerk.pick("pose", "rotation", "rate", "subspace", "measure", "conditions", "neutral"))
        return clerk.pick(
            lambda: make(Revolute, a, b, axis=axis, angle=clerk.number(), angle_rate=1.0),
            lambda: make(Prismatic, a, b, axis=axis, displacement=0.1),
            lambda: make(Cylindrical, a, b, axis=axis, displacement=0.1, angle=0.2),
            lambda: make(Screw, a, b, axis=axis, pitch=0.1, angle=0.3),
            lambda: make(Universal, a, b, first_axis="x", second_axis="y", angle1=0.1, angle2_rate=0.2),
            lambda: make(Spherical, a, b, e0=1.0, wx=0.3),
            lambda: make(Planar, a, b, normal=axis, x=0.1, angle=0.2),
            lambda: make(Free, a, b, x=0.1, vx=0.2),
            lambda: make(Weld, a, b),
            lambda: make(OwnHinge, a, b, axis=np.array([0.0, 1.0, 0.0]), swing=0.3),
            lambda: self._wrong_law(OwnHinge, own, a, b, axis=np.array([0.0, 1.0, 0.0])),
        )()

    def _wrong_law(self, cls: Any, law: str, *arguments: Any, **keywords: Any) -> Any:
        """An element of a user with a wrong law, if wrong values are wanted."""
        if not self.clerk.share:
            return cls(*arguments, **keywords)
        name = str(self.clerk.random.choice(list(WRONG)))
        self.clerk.wrong += 1
        self.clerk.calls.append(f"{cls.__name__}(..., wrong=<{name}>, law={law!r})")
        return cls(*arguments, **keywords, wrong=WRONG[name](), law=law)

    def _extra(self) -> Any:
        make, clerk = self.clerk.make, self.clerk
        first, second = self._frame(self.ground), self._frame(clerk.pick(*self.bodies))
        pin = clerk.pick(*self.joints)
        name = clerk.pick(None, *pin.coordinates) if isinstance(pin, Joint) else None
        law = clerk.pick(self.push, self.stiffness * ca.sin(time), 1.0, -self.bodies[0].velocity[0])
        return clerk.pick(
            lambda: make(SpringDamper, first, second, k=self.stiffness, c=1.0, rest=0.3),
            lambda: make(RotationalSpringDamper, pin, k=1.0, c=0.1, rest=0.0, coordinate=name),
            lambda: make(Bushing, first, second, k=np.full(6, 10.0), c=np.ones(6)),
            lambda: make(AppliedLoad, second, force=(law, 0, 0), torque=(0, 0, 0.1), axes="body"),
            lambda: make(AppliedLoad, second, force=(0, law, 0), reaction=first, axes="world"),
            lambda: make(JointEffort, pin, law, coordinate=name),
            lambda: make(Drive, pin, 0.1 * time, coordinate=name),
            lambda: make(Gear, pin, self.joints[0], ratio=2.0, offset=0.1, first_coordinate=name),
            lambda: make(Distance, first, second, length=clerk.number()),
            lambda: make(PointOnLine, first, second, axis="x"),
            lambda: make(PointInPlane, first, second, axis="z"),
            lambda: make(PlaneToPlane, first, second, axis="z"),
            lambda: make(ParallelAxes, first, second, axis="y"),
            lambda: make(Sensor, second, base=first, axes=second),
            lambda: make(Output, law, unit="N"),
            lambda: make(Output, self.bodies[0].acceleration[2]),
            lambda: make(Event, self.bodies[0].position[2] - 0.1, {self.mode: 1}),
            lambda: self._wrong_law(OwnForce, clerk.pick("if", "wrench", "force", "potential"), second),
            lambda: self._wrong_law(OwnEffort, "effort", pin),
            lambda: self._wrong_law(OwnField, "acceleration"),
            lambda: self._wrong_law(OwnConstraint, clerk.pick("list", "entry"), first, second),
            lambda: self._wrong_law(OwnCoupling, clerk.pick("list", "entry"), pin),
        )()
