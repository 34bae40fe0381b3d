"""What an edited number costs: which numbers of contact, friction, stops, gravity, signals, samples and networks are
put in after tracing, and which trace or compile anything anew; on the discrete engine, and with soft contact in a
closed part, those of links, points and masses, too.

python benchmarks/edited_numbers.py                 all
python benchmarks/edited_numbers.py rubbing         some

Each number of a machine is made 0.1 % larger, one at a time, with the cache of the machine before that. Told are the
routines that were traced, the objects that were compiled, and the processor time to the first step, in one process,
imports not counted; beside those of the first run with an empty cache, of another mass and of nothing edited.
"""

from __future__ import annotations

import inspect
import os
import sys
import tempfile
import time as clock
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import casadi as ca

from kompono import Body, Electrical, Event, Ground, Mode, Output, State, Subsystem, simulate, time
from kompono.library import (
    PID,
    Ambient,
    Backlash,
    Brake,
    Conductor,
    Contact,
    DCMotor,
    Distance,
    DryFriction,
    Encoder,
    EndStops,
    Gravity,
    HeatCapacity,
    HeatSource,
    Hysteresis,
    JointEffort,
    LowPass,
    Prismatic,
    RateLimiter,
    Reference,
    Resistor,
    Revolute,
    RotationalSpringDamper,
    Saturation,
    Shaft,
    Spherical,
    SpringDamper,
    Switch,
    Table,
    Tether,
    TransferFunction,
    TwoPins,
    VoltageSource,
    solids,
)
from kompono.translate.declared.stored import KeptTranslation

SHARE = 1.001
INERTIA = (0.011, 0.013, 0.017)


class Rubbing(Subsystem):
    """Two links with stops, friction and a brake, and a ball that falls on a floor and a wall."""

    def __init__(
        self, mass: float = 1.3, gravity: float = 9.81, mu: float = 0.3, mu_static: float = 0.41,
        restitution: float = 0.6, radius: float = 0.11, pin: float = 0.013, pin_mu: float = 0.17,
        pin_mu_static: float = 0.23, preload: float = 0.021, stribeck: float = 0.07, lower: float = -0.9,
        upper: float = 1.3, rebound: float = 0.37, limit: float = 0.019, backlash: float = 0.021,
        clearance: float = 0.23, swing: float = 1.1, twist: float = 0.7, rope: float = 1.9, end: float = 2.7,
    ) -> None:  # fmt: skip
        self.ground, self.gravity = Ground(), Gravity((0, 0, -gravity))
        self.first, self.second, self.third = (
            Body(solids.rod(mass=m, length=0.43, radius=0.013, axis="x")) for m in (mass, 0.7, 0.3)
        )
        self.ball = Body(mass=0.31, inertia=INERTIA)
        self.weight = Body(mass=0.4, inertia=INERTIA)
        self.hinge = Revolute(self.ground, self.first.at(-0.215, 0, 0), axis="y", angle=0.3)
        self.elbow = Revolute(self.first.at(0.215, 0, 0), self.second.at(-0.215, 0, 0), axis="y", angle=0.2)
        self.wheel = Revolute(self.ground.at(0, 0.3, 0), self.third.at(0.07, 0, 0), axis="y", angle=-0.69)
        self.stop = EndStops(self.hinge, lower, upper, rebound)
        self.pin = DryFriction(
            self.elbow, mu=pin_mu, mu_static=pin_mu_static, radius=pin, preload=preload, preload_static=3 * preload,
            stribeck=stribeck,
        )  # fmt: skip
        self.brake = Brake(self.hinge, limit=limit)
        self.teeth = Backlash(self.hinge, self.wheel, ratio=-2.3, backlash=backlash)
        self.floor = Contact(
            self.ground.at(0, 0, -0.7).plane(), self.ball.sphere(radius), mu=mu, mu_static=mu_static,
            restitution=restitution,
        )  # fmt: skip
        self.bob = Body(mass=0.2, inertia=INERTIA)
        self.socket = Spherical(
            self.ground.at(0, -0.4, 0), self.bob.at(0, 0, 0.21), limits={"swing": swing, "twist": (-twist, twist)}
        )
        self.rope = Tether(self.ground.at(0, 0.1, 0.3), self.ball, longest=rope)
        self.slide = Prismatic(self.ground.at(0, 0, 2.1), self.weight, axis="z", limits=(-end, 0.7 * end))
        self.bore = Contact(
            self.ground.at(0.58, 0, -0.2).cylinder(clearance, axis="y", inside=True), self.second.point()
        )


class Controlled(Subsystem):
    """An arm whose angle is controlled: blocks, tables, states, events and outputs."""

    def __init__(
        self, mass: float = 1.3, kp: float = 31.0, ki: float = 7.3, kd: float = 1.7, limits: float = 11.0,
        filter: float = 0.013, time_constant: float = 0.031, num: float = 3.1, den: float = 0.17, wanted: float = 0.43,
        frequency: float = 3.3, knot: float = 0.77, lower: float = 0.11, upper: float = 0.29, high: float = 1.9,
        rate: float = 5.7, heat: float = 0.37, capacity: float = 21.0, level: float = 0.61, becomes: float = 3.7,
        shown: float = 57.3, sampled: float = 0.83, saturation: float = 6.1,
    ) -> None:  # fmt: skip
        self.ground, self.gravity, self.gain = Ground(), Gravity(), kp
        self.arm = Body(solids.rod(mass=mass, length=0.9, radius=0.02, axis="x"))
        self.fore = Body(mass=0.4, inertia=INERTIA)
        self.hinge = Revolute(self.ground, self.arm.at(-0.45, 0, 0), axis="y", angle=0.3)
        self.wrist = Revolute(self.arm.at(0.45, 0, 0), self.fore.at(-0.13, 0, 0.02), axis="y")
        self.wanted = wanted * ca.sin(frequency * time)
        self.pid = PID(
            self.wanted - self.hinge.angle, self.hinge.angle_rate, kp=kp, ki=ki, kd=kd, limits=limits, filter=filter
        )
        self.lag = LowPass(self.pid.command, time_constant=time_constant)
        self.shaper = TransferFunction([num], [den, 1.3], input=self.lag.output)
        table = Table([-1.1, 0.0, 0.9, 2.3], [-0.7, 0.1, knot, 1.7])
        self.bent = Output(table(self.shaper.output))
        self.slow = RateLimiter(self.bent, rate=rate, lag=0.017)
        self.clipped = Saturation(self.slow.output, limits=saturation)
        self.push = JointEffort(self.hinge, self.clipped.output)
        self.switch = Hysteresis(self.hinge.angle, lower=lower, upper=upper, high=high)
        self.warmth = State(3.1)
        self.warmth.rate = (heat * self.hinge.angle_rate**2 - self.warmth) / capacity + self.switch.output
        self.count = Mode(0.0)
        self.crossing = Event(self.hinge.angle - level, {self.count: becomes * self.hinge.angle_rate})
        self.held = Mode(0.0, every=1e-3)
        self.held.next = sampled * self.held + self.hinge.angle
        self.degrees = Output(shown * self.hinge.angle)


class Wired(Subsystem):
    """A motor on an arm, with a switch, and the heat of its winding."""

    def __init__(
        self, mass: float = 1.3, resistance: float = 0.7, inductance: float = 0.011, k: float = 0.13,
        voltage: float = 12.3, series: float = 0.21, on: float = 1.1e-5, off: float = 1.3e-5,
        capacity: float = 37.0, conductance: float = 0.43, ambient: float = 291.0,
    ) -> None:  # fmt: skip
        self.ground, self.gravity = Ground(), Gravity()
        self.arm = Body(solids.rod(mass=mass, length=0.9, radius=0.02, axis="x"))
        self.fore = Body(mass=0.4, inertia=INERTIA)
        self.hinge = Revolute(self.ground, self.arm.at(-0.45, 0, 0), axis="y", angle=0.3)
        self.wrist = Revolute(self.arm.at(0.45, 0, 0), self.fore.at(-0.13, 0, 0.02), axis="y")
        self.motor = DCMotor(resistance=resistance, inductance=inductance, k=k)
        self.source, self.zero = VoltageSource(voltage), Reference()
        self.wire, self.closed = Resistor(series), Mode(1)
        self.switch = Switch(self.closed, on=on, off=off)
        self.opens = Event(time - 0.4, {self.closed: 0})
        self.shaft = Shaft(self.hinge)
        self.connect(self.source.p, self.wire.p)
        self.connect(self.wire.n, self.switch.p)
        self.connect(self.switch.n, self.motor.p)
        self.connect(self.source.n, self.motor.n, self.zero.pin)
        self.connect(self.motor.shaft, self.shaft.flange)
        self.copper, self.case, self.room = HeatCapacity(capacity), Conductor(conductance), Ambient(ambient)
        self.loss = HeatSource(series * self.wire.p.i**2)
        self.connect(self.loss.pin, self.copper.pin, self.case.p)
        self.connect(self.case.n, self.room.pin)


class Bent(TwoPins):
    """What flows grows exponentially with what is across."""

    kind = Electrical

    def __init__(self, scale: float, volts: float) -> None:
        super().__init__()
        self.require(self.flow - scale * (ca.exp(self.drop / volts) - 1))


class Driven(Subsystem):
    """An arm on a motor behind two diodes that are not linear: a network that is iterated."""

    def __init__(
        self, mass: float = 1.3, place: float = 0.45, inductance: float = 0.011, k: float = 0.13, voltage: float = 3.3,
        pace: float = 7.7, series: float = 0.21, scale: float = 1.3e-4, volts: float = 0.26, back: float = 1.7e-4,
        leak: float = 31.0, gravity: float = 9.81,
    ) -> None:  # fmt: skip
        self.ground, self.gravity = Ground(), Gravity((0, 0, -gravity))
        self.arm = Body(mass=mass, inertia=(0.011, 0.013, 0.017))
        self.hinge = Revolute(self.ground, self.arm.at(-place, 0, 0), axis="y", angle=0.3)
        self.motor, self.shaft = DCMotor(resistance=0.7, inductance=inductance, k=k), Shaft(self.hinge)
        self.source, self.zero = VoltageSource(voltage * ca.sin(pace * time)), Reference()
        self.wire, self.leak = Resistor(series), Resistor(leak)
        self.one, self.back = Bent(scale, volts), Bent(back, 0.27)
        self.connect(self.source.p, self.wire.p)
        self.connect(self.wire.n, self.one.p)
        self.connect(self.one.n, self.motor.p, self.leak.p, self.back.n)
        self.connect(self.source.n, self.motor.n, self.zero.pin, self.leak.n, self.back.p)
        self.connect(self.motor.shaft, self.shaft.flange)


class Clocked(Subsystem):
    """An arm on a sampled controller: periods, an offset, what is worked out of a period."""

    def __init__(
        self, mass: float = 1.3, fast: float = 7e-5, slow: float = 2.3e-4, late: float = 3.1e-5, logged: float = 1.7e-4,
        kp: float = 31.0, kd: float = 1.7, rate: float = 57.0, fade: float = 0.83, level: float = 0.31,
    ) -> None:  # fmt: skip
        self.ground, self.gravity = Ground(), Gravity()
        self.arm = Body(solids.rod(mass=mass, length=0.9, radius=0.02, axis="x"))
        self.hinge = Revolute(self.ground, self.arm.at(-0.45, 0, 0), axis="y", angle=0.3)
        self.encoder = Encoder(self.hinge, counts=4096, every=fast)
        self.ramp = RateLimiter(0.7 - self.encoder.angle, rate=rate, every=slow)
        self.motor = JointEffort(self.hinge, kp * self.ramp.output - kd * self.encoder.rate)
        self.log = Mode(0.0, every=logged, offset=late)
        self.log.next = fade * self.log + self.encoder.angle
        self.latch = Mode(0.0)
        self.passed = Event(self.hinge.angle - level, {self.latch: self.log})


class Window(Subsystem):
    """A four-bar of which no two sides are equal, on springs, with a weight on a rod."""

    def __init__(
        self, mass: float = 1.3, moment: float = 0.017, crank: float = 0.23, coupler: float = 0.91, base: float = 0.87,
        raised: float = 0.07, rocker: float = 0.31, angle: float = 0.7, k: float = 113.0, c: float = 1.7,
        rest: float = 0.43, stiff: float = 3.1, damper: float = 0.13, turned: float = 0.37, gravity: float = 9.81,
        rod: float = 0.41, hook: float = 0.03,
    ) -> None:  # fmt: skip
        self.ground, self.gravity = Ground(), Gravity((0, 0, -gravity))
        self.crank = Body(mass=mass, inertia=(0.011, moment, 0.019))
        self.coupler, self.rocker = (Body(mass=m, inertia=INERTIA) for m in (0.7, 0.9))
        self.weight = Body(mass=0.3, inertia=INERTIA, start_position=(0.25, 0, -0.3))
        self.a = Revolute(self.ground, self.crank.at(-crank, 0, 0), axis="y", angle=angle)
        self.b = Revolute(self.crank.at(crank, 0, 0), self.coupler.at(-coupler / 2, 0, 0), axis="y", angle=-angle)
        self.c = Revolute(self.ground.at(base, 0, raised), self.rocker.at(-rocker, 0, 0), axis="y", angle=0.6)
        self.d = Revolute(self.rocker.at(rocker, 0, 0), self.coupler.at(coupler / 2, 0, 0), axis="y")
        self.spring = SpringDamper(self.ground.at(0.1, 0, 0.6), self.coupler.at(0, 0, 0.05), k=k, c=c, rest=rest)
        self.coil = RotationalSpringDamper(self.a, k=stiff, c=damper, rest=turned)
        self.rod = Distance(self.coupler.at(hook, 0, -0.02), self.weight.at(0, 0, 0.1), length=rod)


class Landing(Subsystem):
    """A ball on a spring and an arm that touch a floor, with a brake and stops; laws are soft here."""

    def __init__(
        self, mass: float = 0.7, gravity: float = 9.81, mu: float = 0.3, mu_static: float = 0.41,
        restitution: float = 0.6, radius: float = 0.11, limit: float = 0.019, lower: float = -0.53, upper: float = 0.61,
        rebound: float = 0.37, place: float = 0.23, k: float = 31.0, stiffness: float = 1.1e5, high: float = 0.13,
        slide: float = 0.013,
    ) -> None:  # fmt: skip
        self.ground, self.gravity = Ground(), Gravity((0, 0, -gravity))
        self.ball = Body(mass=mass, inertia=INERTIA, start_position=(0, 0, high), start_velocity=(0.3, 0, 0))
        self.arm = Body(mass=0.9, inertia=(0.011, 0.023, 0.031))
        self.hinge = Revolute(self.ground.at(0.5, 0, 0.31), self.arm.at(-place, 0, 0.01), axis="y", angle=0.3)
        self.floor = Contact(
            self.ground.plane(), self.ball.sphere(radius), mu=mu, mu_static=mu_static, restitution=restitution,
            stiffness=stiffness,
        )  # fmt: skip
        self.corner = Contact(self.ground.at(0, 0, 0.13).plane(), self.arm.at(place, 0, slide).point(), mu=mu)
        self.brake, self.stop = Brake(self.hinge, limit=limit), EndStops(self.hinge, lower, upper, rebound)
        self.spring = SpringDamper(self.arm.at(0, 0, 0.1), self.ball, k=k, c=0.3, rest=0.3)


class Housed(Subsystem):
    """The same in a closed part, with its numbers, beside one that is open."""

    numbers_of = Landing

    def __init__(self, **numbers: float) -> None:
        self.inner, self.other = Landing(**numbers), Landing()
        self.inner.closed = True


MACHINES: dict[str, type[Subsystem]] = {
    "rubbing": Rubbing,
    "controlled": Controlled,
    "wired": Wired,
    "clocked": Clocked,
}
LINKED: dict[str, type[Subsystem]] = {"window": Window, "landing": Landing, "servo": Controlled}
OF_LINKED: dict[str, Any] = {"engine": "discrete", "contact": "soft"}
PARTED: dict[str, type[Subsystem]] = {"housed": Housed}
ITERATED: dict[str, type[Subsystem]] = {"driven": Driven}
ALL = MACHINES | LINKED | PARTED | ITERATED


def numbers_of(machine: type[Subsystem]) -> dict[str, float]:
    """The numbers of a machine by name, as they are unless given."""
    return {
        name: one.default for name, one in inspect.signature(getattr(machine, "numbers_of", machine)).parameters.items()
    }


def edited(machine: type[Subsystem], name: str) -> Subsystem:
    """A machine with one number a little larger; with none for an empty name."""
    return machine(**({name: SHARE * numbers_of(machine)[name]} if name else {}))


def options_of(name: str) -> dict[str, Any]:
    """How a machine is run."""
    if name in LINKED:
        return OF_LINKED | {"until": 1e-4, "step": 1e-5}
    return {"until": 2e-3, "step": 1e-3} | ({"contact": "soft"} if name in PARTED else {})


@contextmanager
def watched(traced: list[str]) -> Iterator[None]:
    """Note the names of routines that are traced meanwhile."""
    routine, numbered = KeptTranslation.routine, KeptTranslation.numbered

    def noted(self: KeptTranslation, name: str, make: Callable[[], Any]) -> Any:
        return routine(self, name, lambda: traced.append(name) or make())

    def together(self: KeptTranslation, name: str, make: Callable[[], Any]) -> Any:
        return numbered(self, name, lambda: traced.append(name) or make())

    KeptTranslation.routine, KeptTranslation.numbered = noted, together  # type: ignore[method-assign]
    try:
        yield
    finally:
        KeptTranslation.routine, KeptTranslation.numbered = routine, numbered  # type: ignore[method-assign]


class Cost(NamedTuple):
    """What a run asked for before its first step."""

    traced: list[str]
    compiled: int
    seconds: float


def cost(model: Subsystem, folder: str, options: dict[str, Any]) -> Cost:
    """The same of one model, with what is kept in a folder."""
    traced: list[str] = []
    before = set(Path(folder).glob("*.o"))
    begin = clock.process_time()
    with watched(traced):
        simulate(model, **options)
    return Cost(traced, len(set(Path(folder).glob("*.o")) - before), clock.process_time() - begin)


def survey(name: str) -> None:
    """Print a line for each number of a machine."""
    machine, options = ALL[name], options_of(name)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["KOMPONO_CACHE"] = folder
        for edit, told in [("", "new"), ("", "the same"), *((one, one) for one in numbers_of(machine))]:
            found = cost(edited(machine, edit), folder, options)
            print(
                f"{name:12} {told:16} traced {len(found.traced):3}  compiled {found.compiled:3}  {found.seconds:7.3f} s"
            )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as away:
        os.environ["KOMPONO_CACHE"] = away
        for name, kind in ALL.items():  # imports are not counted
            simulate(kind(), **options_of(name))
    for chosen in sys.argv[1:] or ALL:
        survey(chosen)
