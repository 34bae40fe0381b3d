"""A machine that rattles for a long time, with clearances, friction and stops: it does not stall, drift or leak.

Ten minutes with KOMPONO_LAWS, else some seconds of it.
"""

from __future__ import annotations

import os
import resource

import casadi as ca
import numpy as np
import pytest

from kompono import Body, Ground, Simulation, Subsystem, time
from kompono.library import Drive, DryFriction, EndStops, Gear, Gravity, JointEffort, Prismatic, Revolute, solids
from kompono.solve.integrate import Settings

LONG = 600.0 if os.environ.get("KOMPONO_LAWS") else 10.0


class Drivetrain(Subsystem):
    """A motor turns a rough load to and fro through a gear with play; a port of its own."""

    def __init__(self) -> None:
        self.frame = Body(solids.box(mass=5.0, size=(0.3, 0.2, 0.2)))
        self.rotor, self.load = (Body(solids.cylinder(mass=m, radius=0.1, length=0.1)) for m in (1.0, 4.0))
        self.motor = Revolute(self.frame, self.rotor, axis="y")
        self.output = Revolute(self.frame.at(0.15, 0, 0), self.load, axis="y")
        self.mesh = Gear(self.motor, self.output, ratio=-0.5, backlash=0.05, restitution=0.3)
        self.rubs = DryFriction(self.output, preload=0.2, preload_static=0.3)
        self.torque = JointEffort(self.motor, 0.6 * ca.sin(7 * time) - 0.05 * self.motor.angle)
        self.expose(self.frame)


class Rattling(Subsystem):
    """The drivetrain on a shaken table, a loose block between walls of it, and a pendulum on a dry pin with stops."""

    def __init__(self) -> None:
        self.ground, self.gravity = Ground(), Gravity()
        self.drivetrain = Drivetrain()
        self.rail = Prismatic(self.ground, self.drivetrain.frame, axis="x", displacement_rate=0.23)
        self.shaker = Drive(self.rail, 0.01 * ca.sin(23 * time))
        self.block = Body(solids.box(mass=0.5, size=(0.05, 0.05, 0.05)))
        self.slot = Prismatic(self.drivetrain.frame, self.block, axis="x", limits=(-0.004, 0.004), restitution=0.5)
        self.slides = DryFriction(self.slot, mu=0.2)
        self.arm = Body(solids.rod(mass=0.3, length=0.4, radius=0.01))
        self.pin = Revolute(self.drivetrain.frame, self.arm.at(0, 0, 0.2), axis="y", angle=0.1)
        self.dry = DryFriction(self.pin, mu=0.1, radius=0.01)
        self.stops = EndStops(self.pin, -0.02, 0.15, restitution=0.6)


@pytest.mark.parametrize("closed", [[], ["drivetrain"]] if LONG > 100 else [["drivetrain"]])
def test_it_rattles_on(closed: list[str]) -> None:
    simulation = Simulation(Rattling(), closed=closed)
    run = Settings("rk4", LONG, 1e-3, 20)
    gaps = [f"{law}.gap" for law in ("slot.limits.lower", "slot.limits.upper", "stops.lower", "stops.upper")]
    gaps += [f"drivetrain.mesh.{flank}.gap" for flank in ("drive", "coast")]
    shown = [*gaps, "drivetrain.motor.angle", "rail.displacement"]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = simulation.run(run, channels=shown, progress=False).check()
    assert result.time[-1] == LONG
    assert "fallback" not in result.statistics
    assert min(result[name].min() for name in gaps) > -1e-9  # nothing sinks in, however long
    shaken = result["rail.displacement"] - 0.01 * np.sin(23 * result.time)
    assert np.abs(shaken).max() < 1e-12
    assert np.abs(result["drivetrain.motor.angle"]).max() < 10.0
    times = np.array([when for when, _ in result.statistics["events"]])
    counts = np.histogram(times, bins=10, range=(0.0, LONG))[0]
    assert counts.min() > 10 * LONG / 10  # it goes on as it began
    assert counts[1:].max() < 2 * counts[1:].min()
    # rows and events are kept, no more: 80 bytes for each number of each
    grown = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    kept = 80 * (len(result.time) * 40 + 40 * len(times))
    assert grown < 60e6 + kept
