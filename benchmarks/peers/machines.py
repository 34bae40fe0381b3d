"""What is compared: each mechanism once as Kompono's model and once, read from it, as the peers' machine.

Peers are spared what a user of theirs would not model: welded bodies are one, freedoms that the loops lock are left
out, and the robot's gears are ratios between joints. Kompono runs the robot both ways. `until` is short where the
motion is chaotic; `witnesses` are the bodies whose positions are compared.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from math import cos, pi
from pathlib import Path

from parts import Law, Machine
from walk import walk

from kompono import Body, Ground, Subsystem
from kompono.examples import engine, kuka
from kompono.examples.car import Car
from kompono.examples.manipulator import Manipulator
from kompono.examples.reference.n_four_bar import NFourBar
from kompono.library import Revolute

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "benchmarks"))

from chains import Chain  # noqa: E402
from geared import GearedKuka  # noqa: E402

CRANK_SPEED = 100.0  # [rad/s]


class InlineFour(Subsystem):
    """The engine of examples/engine.py without starter, gas and friction: crank, four rods, four pistons, spinning."""

    def __init__(self) -> None:
        self.block = Ground()
        self.crank = Body(mass=12, inertia=(0.2, 0.3, 0.2))
        self.main = Revolute(self.block, self.crank, axis="y", angle=0.0, angle_rate=CRANK_SPEED)
        for k, phase in enumerate(engine.PHASES, start=1):
            y, top = engine.PITCH * (k - 2.5), engine.RADIUS * cos(phase)
            cylinder = engine.Cylinder(y=y, top=top, working=False)
            self.add(f"cylinder{k}", cylinder)
            self.add(f"pin{k}", Revolute(self.crank.at(0, y, top), cylinder.rod.at(0, 0, -0.03), axis="y", angle=0.0))


@dataclass(frozen=True)
class Case:
    """A mechanism, how long to run it, what to look at."""

    name: str
    model: Callable[[], Subsystem]
    machine: Callable[[], Machine]
    until: float
    witnesses: tuple[str, ...]
    conservative: bool = True
    large: bool = False  # few repeats, no comparison of everything
    singular: bool = False  # passes singular positions, where steps must not become tiny


def chain(links: int, until: float) -> Case:
    """A hanging chain of `links` rods; a tree."""
    last = (f"rods.{links - 1}", f"rods.{links // 2}")
    return Case(f"chain, {links}", lambda: Chain(links), lambda: walk(Chain(links)), until, last, large=links > 500)


def four_bars(windows: int) -> Case:
    """N square windows in a row; one loop for each."""
    return Case(
        f"four-bars, {windows}",
        lambda: NFourBar(windows),
        lambda: walk(NFourBar(windows), closing=["right_pins.*"]),
        1.0,
        ("couplers.0", f"uprights.{windows}"),
        singular=True,
    )


def inline_four() -> Case:
    """Crank, rods and pistons; pistons slide on the block, the loops close at the piston pins."""

    def machine() -> Machine:
        return walk(InlineFour(), closing=["cylinder?.pin"], frozen=["cylinder?.bore.angle"])

    watched = ("cylinder1.piston", "cylinder1.rod", "cylinder2.piston", "cylinder2.rod")
    return Case("inline-four", InlineFour, machine, 1.0, watched)


def car() -> Case:
    """Body, suspensions, wheels; the loops close where the dampers meet the body."""

    def machine() -> Machine:
        return walk(Car(), closing=["*_strut"], frozen=["*.damper.slide.angle"])

    return Case("car", Car, machine, 1.5, ("body", "left_wheel.ring", "right_wheel.ring"), conservative=False)


def manipulator() -> Case:
    """Three motors in series, a torque C cos(4 pi t) on each."""

    def machine() -> Machine:
        arm = walk(Manipulator())
        for k, torque in enumerate((-600.0, 300.0, -12.0)):
            joint = arm.index(f"arm.link{k + 1}.motor.bearing.angle")
            arm.laws.append(Law(joint, joint, 1.0, torque, 0.0, 0.0, 0.0, 4 * pi))
        return arm

    return Case("manipulator", Manipulator, machine, 2.0, ("arm.link3.beam",), conservative=False)


def robot(geared: bool) -> Case:
    """Six axes, as the example has them or geared; the peers run both as six times three joints, two of them geared."""

    def machine() -> Machine:
        arm = walk(GearedKuka())
        for i, drive in enumerate(kuka.DRIVES, start=1):
            names = ("motor.bearing", "eccentric", "output_bearing")
            rotor, disc, output = (arm.index(f"axis{i}.{name}.angle") for name in names)
            arm.gears += [(rotor, output, -drive.ratio), (disc, output, 1.0 + drive.ratio)]
            wave = drive.amplitude, 2 * pi / drive.period
            arm.laws.append(Law(rotor, output, -1 / drive.ratio, 0.0, drive.stiffness, drive.damping, *wave))
        return arm

    name, model = ("KUKA, geared", GearedKuka) if geared else ("KUKA", kuka.Kuka)
    return Case(name, model, machine, 1.0, ("axis6.driven", "axis3.driven"), conservative=False)


def cases() -> list[Case]:
    """All of them."""
    return [
        chain(6, 1.0), chain(32, 0.5), chain(100, 0.2), chain(1000, 0.01),
        four_bars(1), four_bars(10), four_bars(40),
        inline_four(), car(), manipulator(), robot(geared=True), robot(geared=False),
    ]  # fmt: skip
