"""Models for the tests of FMUs."""

from __future__ import annotations

from kompono import Body, Event, Ground, Input, Mode, Output, Parameter, State, Subsystem
from kompono.library import Gravity, JointEffort, Prismatic, Revolute, solids


class Latch(Subsystem):
    """A cart between springs that events switch, pushed by an input."""

    def __init__(self) -> None:
        self.ground = Ground()
        self.cart = Body(solids.point(mass=2.0))
        self.slide = Prismatic(self.ground, self.cart, axis="x", displacement=0.02, displacement_rate=1.0)
        self.stiffness = Parameter(50.0, unit="N/m")
        self.push = Input(0.5, unit="N")
        self.stage, self.count = Mode(0), Mode(0)
        x, v = self.slide.displacement, self.slide.displacement_rate
        self.up = Event(x - 0.05, {self.stage: 1, self.count: self.count + 1})
        self.down = Event(-0.05 - x, {self.stage: 0})
        self.spring = JointEffort(self.slide, -(self.stiffness + 30 * self.stage) * x + self.push - 0.3 * v)
        self.power = Output(self.push * v, unit="W")


class Servo(Subsystem):
    """A pendulum on a motor whose current is a state of its own; an event cuts the voltage."""

    def __init__(self) -> None:
        self.ground = Ground()
        self.gravity = Gravity((0, -9.81, 0))
        self.bob = Body(solids.point(mass=0.2))
        self.pin = Revolute(self.ground, self.bob.at(0, 0.3, 0), axis="z")
        self.voltage = Input(2.0, unit="V")
        self.on = Mode(1)
        self.current = State(0.1, unit="A")
        self.current.rate = (self.on * self.voltage - 1.0 * self.current - 0.1 * self.pin.angle_rate) / 0.02
        self.off = Event(self.pin.angle - 0.3, {self.on: 0})
        self.drive = JointEffort(self.pin, 0.1 * self.current)
        self.heat = Output(self.current * self.current, unit="W")


class Swing(Subsystem):
    """A pendulum, driven by a torque."""

    def __init__(self) -> None:
        self.ground = Ground()
        self.gravity = Gravity((0, -9.81, 0))
        self.torque = Input(0.0, unit="N m")
        self.bob = Body(solids.point(mass=1.0))
        self.pin = Revolute(self.ground, self.bob.at(0, 1.0, 0), axis="z", angle=1.2)
        self.drive = JointEffort(self.pin, self.torque)
        self.height = Output(self.bob.position[1], unit="m")


class Ball(Subsystem):
    """A ball of two states of its own that bounces, beside a body at rest; an event changes a state and counts."""

    def __init__(self) -> None:
        self.ground = Ground()
        self.rest = Body(solids.point(mass=1.0))
        self.slide = Prismatic(self.ground, self.rest, axis="x")
        self.height, self.speed = State(1.0, unit="m"), State(0.0, unit="m/s")
        self.bounces = Mode(0)
        self.height.rate, self.speed.rate = self.speed, -9.81
        self.bounce = Event(-self.height, {self.speed: -0.9 * self.speed, self.bounces: self.bounces + 1})


class Sampled(Subsystem):
    """A pendulum with a sampled PI controller of two rates."""

    def __init__(self) -> None:
        self.ground = Ground()
        self.gravity = Gravity((0, -9.81, 0))
        self.goal = Input(0.3, unit="rad")
        self.bob = Body(solids.point(mass=1.0))
        self.pin = Revolute(self.ground, self.bob.at(0, 1.0, 0), axis="z")
        self.integral, self.torque = Mode(0.0, every=1e-2), Mode(0.0, every=5e-3, unit="N m")
        error = self.goal - self.pin.angle
        self.integral.next = self.integral + 1e-2 * error
        self.torque.next = 20 * error + 15 * self.integral - 4 * self.pin.angle_rate
        self.drive = JointEffort(self.pin, self.torque)
