"""Components that show a body nothing joins to the rest, which touches something: inside, or at the owner's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kompono import Body, Ground, Subsystem, rotation
from kompono.library import Contact, Gravity, Revolute, SpringDamper, Weld, solids

SIZE = (0.3, 0.2, 0.1)


class Brick(Subsystem):
    """A brick that is thrown."""

    def __init__(self) -> None:
        self.brick = Body(
            solids.box(mass=2.0, size=SIZE), start_position=(0, 0, 0.4), start_velocity=(0.5, 0.2, 0.3),
            start_orientation=rotation("y", 0.3), start_angular_velocity=(7.0, -4.0, 11.0),
        )  # fmt: skip
        self.expose(self.brick)


class Yard(Brick):
    """The same with the floor it falls on."""

    def __init__(self) -> None:
        super().__init__()
        self.floor = Ground()
        self.feet = Contact(self.floor.plane(), self.brick.corners(SIZE), mu=0.3, restitution=0.3)


class Armed(Brick):
    """The brick carries an arm."""

    def __init__(self) -> None:
        super().__init__()
        self.arm = Body(solids.rod(mass=0.3, length=0.3, radius=0.02))
        self.pin = Revolute(self.brick.at(0, 0, 0.05), self.arm.at(0, 0, -0.15), axis="x", angle=0.4)


class Room(Subsystem):
    """A box with a ball that rattles in it."""

    def __init__(self, both: bool = False) -> None:
        turning = {"start_velocity": (0.2, 0.1, 1.0), "start_angular_velocity": (3.0, 5.0, -2.0)}
        self.box = Body(solids.box(mass=3.0, size=(0.4, 0.4, 0.4)), start_position=(0, 0, 0.6), **turning)
        self.ball = Body(
            solids.sphere(mass=0.5, radius=0.05), start_position=(0.02, 0, 0.6), start_velocity=(1.0, 0.3, 1.0),
            start_angular_velocity=(9.0, 0.0, 4.0),
        )  # fmt: skip
        places = [(-0.2, 0, 0), (0, -0.2, 0), (0, 0, -0.2), (0.2, 0, 0), (0, 0.2, 0), (0, 0, 0.2)]
        for k, place in enumerate(places):
            wall = self.box.at(*place).plane("xyz"[k % 3] if k < 3 else "-" + "xyz"[k % 3])
            setattr(self, f"wall{k}", Contact(wall, self.ball.sphere(0.05), mu=0.2, restitution=0.7))
        self.expose(self.box)
        if both:
            self.expose(self.ball)


class Both(Room):
    """The same that shows the ball, too."""

    def __init__(self) -> None:
        super().__init__(both=True)


class Tied(Subsystem):
    """Two bricks on a spring."""

    def __init__(self) -> None:
        self.brick = Body(
            solids.box(mass=2.0, size=SIZE), start_position=(0, 0, 0.4), start_angular_velocity=(3.0, -4.0, 6.0),
        )  # fmt: skip
        self.other = Body(
            solids.box(mass=1.0, size=SIZE), start_position=(0.5, 0, 0.3), start_angular_velocity=(-3.0, 2.0, 5.0),
        )  # fmt: skip
        self.spring = SpringDamper(self.brick, self.other, k=40, c=0.2, rest=0.4)
        self.expose(self.brick, self.other)


class Coin(Subsystem):
    """A coin that rolls on the floor it has along, or its owner's."""

    def __init__(self, floor: bool = True) -> None:
        self.coin = Body(
            solids.cylinder(mass=0.1, radius=0.05, length=0.004), start_position=(0, 0, 0.0495),
            start_orientation=rotation("x", 1.4), start_velocity=(0.6, 0, 0), start_angular_velocity=(0.0, 12.0, 1.0),
        )  # fmt: skip
        if floor:
            self.floor = Ground()
            self.edge = Contact(self.floor.plane(), self.coin.circle(0.05), mu=0.4, restitution=0.1)
        self.expose(self.coin)


class Alone(Subsystem):
    """An owner that only has gravity."""

    def __init__(self, kind: Callable[[], Any] = Yard) -> None:
        self.gravity, self.part = Gravity(), kind()


class Floored(Alone):
    """An owner with a floor for bricks."""

    def __init__(self, kind: Callable[[], Any] = Brick) -> None:
        super().__init__(kind)
        self.ground = Ground()
        for name in ("brick", "other"):
            if hasattr(self.part, name):
                touch = Contact(self.ground.plane(), getattr(self.part, name).corners(SIZE), mu=0.3, restitution=0.3)
                setattr(self, f"touch_{name}", touch)


class Rolled(Alone):
    """An owner with a floor for a coin."""

    def __init__(self, kind: Callable[[], Any] = lambda: Coin(floor=False)) -> None:
        super().__init__(kind)
        self.ground = Ground()
        self.edge = Contact(self.ground.plane(), self.part.coin.circle(0.05), mu=0.4, restitution=0.1)


class Tethered(Alone):
    """An owner that holds the brick on a spring."""

    def __init__(self, kind: Callable[[], Any] = Yard) -> None:
        super().__init__(kind)
        self.ground = Ground()
        self.spring = SpringDamper(self.ground.at(0, 0, 1.0), self.part.brick.at(0.1, 0, 0), k=30, c=0.2, rest=0.5)


class Hinged(Alone):
    """An owner whose arm hangs on the brick."""

    def __init__(self, kind: Callable[[], Any] = Yard) -> None:
        super().__init__(kind)
        self.arm = Body(solids.rod(mass=0.3, length=0.3, radius=0.02))
        self.pin = Revolute(self.part.brick.at(0, 0, 0.05), self.arm.at(0, 0, -0.15), axis="x", angle=0.4)


class Swinging(Alone):
    """An owner on whose pivot the brick hangs."""

    def __init__(self, kind: Callable[[], Any] = Yard) -> None:
        super().__init__(kind)
        self.ground = Ground()
        self.pin = Revolute(self.ground.at(0, 0, 0.3), self.part.brick.at(0.15, 0, 0), axis="y", angle=-1.0)


class Welded(Alone):
    """An owner that welds a weight to the brick."""

    def __init__(self, kind: Callable[[], Any] = Yard) -> None:
        super().__init__(kind)
        self.weight = Body(solids.sphere(mass=0.5, radius=0.03))
        self.weld = Weld(self.part.brick.at(0.1, 0, 0), self.weight)
