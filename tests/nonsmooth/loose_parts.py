"""Components that show a body which nothing joins to the rest, and which touches something, inside or outside."""

from __future__ import annotations

from collections.abc import Callable
from math import hypot
from typing import Any

from kompono import Body, Ground, Subsystem, rotation
from kompono.library import Contact, Distance, Gravity, Revolute, SpringDamper, Weld, solids

SIZE = (0.3, 0.2, 0.1)
FEET = (0.3, 0.2, 0.0)


def _brick(height: float = 0.12, **more: Any) -> Body:
    thrown: dict[str, Any] = {"start_velocity": (0.8, 0.3, 0.2), "start_angular_velocity": (0.5, -1.0, 14.0), **more}
    turned = rotation((0.6, 0.8, 0), 0.22)
    return Body(solids.box(mass=2.0, size=SIZE), start_position=(0, 0, height), start_orientation=turned, **thrown)


def _feet(body: Body) -> Any:
    return body.at(0, 0, -0.05).corners(FEET)


class Brick(Subsystem):
    """A brick that spins as it is thrown."""

    def __init__(self) -> None:
        self.brick = _brick()
        self.expose(self.brick)


class Yard(Brick):
    """The same with the rough floor it falls on."""

    def __init__(self) -> None:
        super().__init__()
        self.floor = Ground()
        self.feet = Contact(self.floor.plane(), _feet(self.brick), mu=0.3, restitution=0.0)


class Armed(Brick):
    """The brick carries an arm, so it is held by a joint."""

    def __init__(self) -> None:
        super().__init__()
        self.arm = Body(solids.rod(mass=0.3, length=0.3, radius=0.02))
        self.pin = Revolute(self.brick.at(0, 0, 0.05), self.arm.at(0, 0, -0.15), axis="x", angle=0.4)


class Seen(Brick):
    """A brick that shows a frame of itself, too."""

    def __init__(self) -> None:
        super().__init__()
        self.expose(eye=self.brick.at(0.1, 0.05, 0))


class Room(Subsystem):
    """A box that turns in the air with a ball that rattles in it; it may show both."""

    def __init__(self, both: bool = False) -> None:
        flight: dict[str, Any] = {"start_velocity": (0.2, 0.1, 1.0), "start_angular_velocity": (3.0, 5.0, -2.0)}
        self.box = Body(mass=3.0, inertia=(0.1, 0.15, 0.2), start_position=(0, 0, 0.6), **flight)
        self.ball = Body(
            solids.sphere(mass=0.5, radius=0.05), start_position=(0.02, 0, 0.6), start_velocity=(3.0, 0.1, 1.0),
            start_angular_velocity=(9.0, 0.0, 4.0),
        )  # fmt: skip
        self.left = Contact(self.box.at(-0.1, 0, 0).plane("x"), self.ball.sphere(0.05), mu=0.2, restitution=0.7)
        self.right = Contact(self.box.at(0.1, 0, 0).plane("-x"), self.ball.sphere(0.05), restitution=0.7)
        self.expose(self.box, *([self.ball] if both else []))


class Both(Room):
    """A room that shows the ball, too."""

    def __init__(self) -> None:
        super().__init__(both=True)


class Tied(Subsystem):
    """Two bricks on a spring; nothing touches them inside."""

    def __init__(self) -> None:
        self.brick = _brick()
        self.other = Body(
            solids.sphere(mass=1.0, radius=0.05), start_position=(0.5, 0, 0.1), start_angular_velocity=(-3.0, 2.0, 5.0)
        )
        self.spring = SpringDamper(self.brick.at(0.1, 0, 0), self.other.at(0, 0.05, 0), k=40, c=0.2, rest=0.4)
        self.expose(self.brick, self.other)


class Coin(Subsystem):
    """A coin that rolls in a bow on the floor it has along, or that of its owner."""

    def __init__(self, floor: bool = True) -> None:
        self.coin = Body(
            solids.cylinder(mass=0.1, radius=0.05, length=0.004), start_position=(0, 0, 0.0495),
            start_orientation=rotation("x", 1.4), start_velocity=(1.0, 0, 0), start_angular_velocity=(0, 19.7, -3.4),
        )  # fmt: skip
        if floor:
            self.floor = Ground()
            self.edge = Contact(self.floor.plane(), self.coin.circle(0.05), mu=0.4, restitution=0.0)
        self.expose(self.coin)


class Owner(Subsystem):
    """An owner that has gravity only."""

    def __init__(self, kind: Callable[[], Any] = Yard) -> None:
        self.gravity, self.part = Gravity(), kind()


class Floored(Owner):
    """An owner with a floor for what the part shows."""

    def __init__(self, kind: Callable[[], Any] = Brick) -> None:
        super().__init__(kind)
        self.ground = Ground()
        if hasattr(self.part, "coin"):
            self.edge = Contact(self.ground.plane(), self.part.coin.circle(0.05), mu=0.4, restitution=0.0)
            return
        self.feet = Contact(self.ground.plane(), _feet(self.part.brick), mu=0.3, restitution=0.0)
        if hasattr(self.part, "other"):
            self.touch = Contact(self.ground.plane(), self.part.other.sphere(0.05), mu=0.3, restitution=0.0)


class Touched(Owner):
    """An owner whose floor touches the brick through that frame."""

    def __init__(self, kind: Callable[[], Any] = Seen) -> None:
        super().__init__(kind)
        self.ground = Ground()
        under = self.part.eye.at(-0.1, -0.05, -0.05)
        self.feet = Contact(self.ground.plane(), under.corners(FEET), mu=0.3, restitution=0.0)


class Tethered(Owner):
    """An owner that holds the brick on a spring."""

    def __init__(self, kind: Callable[[], Any] = Yard) -> None:
        super().__init__(kind)
        self.ground = Ground()
        self.spring = SpringDamper(self.ground.at(0, 0, 1.0), self.part.brick.at(0.1, 0, 0), k=30, c=0.2, rest=0.9)


class Hinged(Owner):
    """An owner whose arm hangs on the brick."""

    def __init__(self, kind: Callable[[], Any] = Yard) -> None:
        super().__init__(kind)
        self.arm = Body(solids.rod(mass=0.3, length=0.3, radius=0.02))
        self.pin = Revolute(self.part.brick.at(0, 0, 0.05), self.arm.at(0, 0, -0.15), axis="x", angle=0.4)


class Welded(Owner):
    """An owner that welds a weight to the brick."""

    def __init__(self, kind: Callable[[], Any] = Yard) -> None:
        super().__init__(kind)
        self.weight = Body(solids.sphere(mass=0.5, radius=0.03))
        self.weld = Weld(self.part.brick.at(0.1, 0, 0), self.weight)


class Swinging(Owner):
    """An owner on whose pivot the brick hangs."""

    def __init__(self, kind: Callable[[], Any] = Yard) -> None:
        super().__init__(kind)
        self.ground = Ground()
        self.pin = Revolute(
            self.ground.at(0, 0, 0.3), self.part.brick.at(0.15, 0, 0), axis="y", angle=-1.0, angle_rate=-1.0
        )


class Hanging(Owner):
    """An owner that holds the second of two bodies at a distance, and knows where it is."""

    def __init__(self, kind: Callable[[], Any] = Tied) -> None:
        super().__init__(kind)
        self.ground = Ground()
        self.rod = Distance(self.ground.at(0.8, 0, 1.0), self.part.other.at(0, 0, 0.05), length=hypot(0.3, 0.85))


class Wrapped(Subsystem):
    """A component inside another one that shows the same bodies."""

    def __init__(self, kind: Callable[[], Any] = Yard) -> None:
        self.core = kind()
        self.expose(*self.core.exposed)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "core":
            raise AttributeError(name)
        return getattr(self.core, name)
